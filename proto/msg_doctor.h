/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What is said of an examination: POST /v1/doctor, and what vrtctl adds to its answer. Unknown
 * values: see msg_job.h.
 *
 * An id says what was examined, and stays the same over releases: "device.kernel"; the subject says
 * of what: "cuda:0". docs/operations.md lists them.
 */

#include "api.h"
#include "fields.h"
#include "msg_job.h"

enum vrt_doctor_status {
    VRT_DOCTOR_OK,
    VRT_DOCTOR_NOTE,            /* neither good nor bad: to be known */
    VRT_DOCTOR_WARNING,         /* something isn't used, or will soon be missing */
    VRT_DOCTOR_FAILED,
    VRT_DOCTOR_SKIPPED,         /* not examined: the result says why */
    VRT_DOCTOR_STATUS_COUNT,
};

/* Who examined it: permissions and the environment are not the same for both. */
enum vrt_doctor_by {
    VRT_DOCTOR_BY_VRTD,
    VRT_DOCTOR_BY_VRTCTL,
    VRT_DOCTOR_BY_COUNT,
};

/* POST /v1/doctor. */
struct vrt_doctor_request {
    char device[VRT_API_DEVICE_BYTES];      /* one ("cuda:0") or a kind ("cuda"); "": all */
    struct vrt_file_ref model;              /* as in a job's request: run on each instead of the
                                             * built-in network; name "": that one */
};

struct vrt_doctor_check {
    char id[VRT_API_WORD_BYTES];
    char subject[VRT_API_NAME_BYTES];       /* "": the daemon, or the machine */
    int status;                             /* enum vrt_doctor_status */
    int by;                                 /* enum vrt_doctor_by */
    char result[VRT_API_TEXT_BYTES];        /* for people */
    char cure[VRT_API_TEXT_BYTES];          /* likewise: what to do; "": nothing */
};

struct vrt_doctor_report {
    char version[VRT_API_WORD_BYTES];       /* vrtd's; "": it was not reached, as the next two */
    char user[VRT_API_OWNER_BYTES];         /* as whom it runs */
    int64_t pid;
    int64_t failed, warnings;               /* how many checks ended so */
    struct vrt_doctor_check *checks;
    size_t n_checks;
    bool is_short;                          /* not sent: memory was short for some */
};

extern const char *const vrt_doctor_status_names[];
extern const char *const vrt_doctor_by_names[];

extern const struct vrt_field vrt_doctor_request_fields[];
extern const struct vrt_field vrt_doctor_fields[];

/* Everything unknown; nothing allocated. */
void vrt_doctor_report_init(struct vrt_doctor_report *report);

/* Frees the checks. */
void vrt_doctor_report_done(struct vrt_doctor_report *report);

/* Which kind of device, "cuda", a request's `device` is about, in `buffer`; NULL: any. */
const char *vrt_doctor_kind_of(const char *device, char *buffer, size_t size);

/* A check but for its result. Texts may be NULL for "", and need to live only during the call. */
struct vrt_doctor_line {
    const char *id, *subject;
    enum vrt_doctor_status status;
    enum vrt_doctor_by by;
    const char *cure;
};

/* Adds a check, whose result is the formatted text, and counts it. Texts are made printable, and
 * cut where they are too long; where there is no memory for it the report is short. */
void vrt_doctor_report_add(struct vrt_doctor_report *report, const struct vrt_doctor_line *line,
                           const char *format, ...) VRT_PRINTF(3, 4);

/* Decodes a report, leniently. On 0 `ret_report` needs vrt_doctor_report_done(). */
int vrt_doctor_report_decode(const struct json_t *json, struct vrt_doctor_report *ret_report,
                             struct vrt_error *error) VRT_MUST_CHECK;

/* Decodes the body of POST /v1/doctor. Return: 0; -EINVAL, with id, field and sentence in error;
 * -ENOMEM. */
int vrt_doctor_request_parse(const void *text, size_t size, struct vrt_doctor_request *ret_request,
                             struct vrt_error *error) VRT_MUST_CHECK;
