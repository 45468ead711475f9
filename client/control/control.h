/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What is asked of one job that is there, and what it says to that: nothing is printed here
 *
 * Functions return 0, and `ret_said` has to be given to vrt_said_done(); VRT_CONN_E_*; -errno;
 * whenever it isn't 0, error holds a sentence with the cure.
 */

#include <stdint.h>

#include "client/cli.h"

struct json_t;

/* What became of it. */
struct vrt_said {
    struct json_t *json;                    /* the job, as the daemon answered */
    char text[VRT_API_TEXT_BYTES];          /* "job 7 (video.mp4) was paused" */
};

void vrt_said_done(struct vrt_said *said);

int vrt_control_pause(struct vrt_cli *cli, long long id, struct vrt_said *ret_said,
                      struct vrt_error *error);

/* A placeholder of its output, which holds nothing, goes too. */
int vrt_control_cancel(struct vrt_cli *cli, long long id, struct vrt_said *ret_said,
                       struct vrt_error *error);

int vrt_control_set_priority(struct vrt_cli *cli, long long id, int64_t priority,
                             struct vrt_said *ret_said, struct vrt_error *error);

/* In which states a job can be resumed, and retried: 1U << each enum vrt_job_state. */
#define VRT_CONTROL_RESUMABLE \
    (1U << VRT_JOB_PAUSED | 1U << VRT_JOB_NEEDS_INPUT | 1U << VRT_JOB_DISK_FULL)
#define VRT_CONTROL_RETRIABLE (1U << VRT_JOB_FAILED | 1U << VRT_JOB_CANCELLED)

/*
 * With the files that are named, `input` (NULL: none) and those of the command line's options, and
 * those that the daemon lacks, opened where the job says that they were.
 */
int vrt_control_resume(struct vrt_cli *cli, long long id, const char *input,
                       struct vrt_said *ret_said, struct vrt_error *error);
int vrt_control_retry(struct vrt_cli *cli, long long id, const char *input,
                      struct vrt_said *ret_said, struct vrt_error *error);
