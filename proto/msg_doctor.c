/* SPDX-License-Identifier: MIT */

#include "msg_doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NULLABLE VRT_FIELD_NULLABLE

const char *const vrt_doctor_status_names[] = {
    [VRT_DOCTOR_OK] = "ok",
    [VRT_DOCTOR_NOTE] = "note",
    [VRT_DOCTOR_WARNING] = "warning",
    [VRT_DOCTOR_FAILED] = "failed",
    [VRT_DOCTOR_SKIPPED] = "skipped",
    [VRT_DOCTOR_STATUS_COUNT] = NULL,
};

const char *const vrt_doctor_by_names[] = {
    [VRT_DOCTOR_BY_VRTD] = "vrtd",
    [VRT_DOCTOR_BY_VRTCTL] = "vrtctl",
    [VRT_DOCTOR_BY_COUNT] = NULL,
};

#define T struct vrt_doctor_request
const struct vrt_field vrt_doctor_request_fields[] = {
    VRT_FIELD_TEXT(T, device, NULLABLE),
    VRT_FIELD_OBJECT(T, model, 0, vrt_job_model_ref_fields),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_doctor_check
static const struct vrt_field check_fields[] = {
    VRT_FIELD_TEXT(T, id, 0),
    VRT_FIELD_TEXT(T, subject, NULLABLE),
    VRT_FIELD_ENUM(T, status, 0, vrt_doctor_status_names),
    VRT_FIELD_ENUM(T, by, 0, vrt_doctor_by_names),
    VRT_FIELD_TEXT(T, result, 0),
    VRT_FIELD_TEXT(T, cure, NULLABLE),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_doctor_report
const struct vrt_field vrt_doctor_fields[] = {
    VRT_FIELD_TEXT(T, version, NULLABLE),
    VRT_FIELD_TEXT(T, user, NULLABLE),
    VRT_FIELD_INT(T, pid, NULLABLE, 0, INT64_MAX),
    VRT_FIELD_INT(T, failed, 0, 0, INT64_MAX),
    VRT_FIELD_INT(T, warnings, 0, 0, INT64_MAX),
    VRT_FIELD_ARRAY(T, checks, n_checks, VRT_API_CHECKS_MAX, check_fields),
    VRT_FIELDS_END,
};
#undef T

void vrt_doctor_report_init(struct vrt_doctor_report *report)
{
    *report = (struct vrt_doctor_report){ 0 };
    vrt_fields_reset(vrt_doctor_fields, report);
}

void vrt_doctor_report_done(struct vrt_doctor_report *report)
{
    vrt_fields_done(vrt_doctor_fields, report);
}

const char *vrt_doctor_kind_of(const char *device, char *buffer, size_t size)
{
    if (!device[0] || strcmp(device, "auto") == 0)
        return NULL;
    snprintf(buffer, size, "%.*s", (int)strcspn(device, ":"), device);
    return buffer;
}

static void take_text(char *buffer, size_t size, const char *text)
{
    vrt_printable(text ? text : "", buffer, (int)size);
}

void vrt_doctor_report_add(struct vrt_doctor_report *report, const struct vrt_doctor_line *line,
                           const char *format, ...)
{
    struct vrt_doctor_check *checks = report->n_checks >= VRT_API_CHECKS_MAX ? NULL :
        reallocarray(report->checks, report->n_checks + 1, sizeof(checks[0]));
    char text[2 * VRT_API_TEXT_BYTES];
    va_list arguments;

    report->failed += line->status == VRT_DOCTOR_FAILED;
    report->warnings += line->status == VRT_DOCTOR_WARNING;
    if (!checks) {
        report->is_short = true;
        return;
    }
    report->checks = checks;
    struct vrt_doctor_check *check = &checks[report->n_checks++];
    *check = (struct vrt_doctor_check){ .status = (int)line->status, .by = (int)line->by };
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    take_text(check->id, sizeof(check->id), line->id);
    take_text(check->subject, sizeof(check->subject), line->subject);
    take_text(check->result, sizeof(check->result), text);
    take_text(check->cure, sizeof(check->cure), line->cure);
}

int vrt_doctor_report_decode(const struct json_t *json, struct vrt_doctor_report *ret_report,
                             struct vrt_error *error)
{
    struct vrt_doctor_report report;

    vrt_doctor_report_init(&report);
    int r = vrt_fields_decode(vrt_doctor_fields, json, VRT_FIELDS_LENIENT, &report, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_report = report;
    return 0;
}

int vrt_doctor_request_parse(const void *text, size_t size, struct vrt_doctor_request *ret_request,
                             struct vrt_error *error)
{
    struct vrt_doctor_request request = { 0 };

    vrt_fields_reset(vrt_doctor_request_fields, &request);
    int r = vrt_fields_parse(vrt_doctor_request_fields, text, size, &request, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_request = request;
    return 0;
}
