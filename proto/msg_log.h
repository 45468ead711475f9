/* SPDX-License-Identifier: MIT */
#pragma once

/* GET /v1/jobs/{id}/log: what the daemon logged about a job since it began, as far as it is kept */

#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "fields.h"

/* Lines that the daemon keeps, of all jobs. */
#define VRT_API_LOG_LINES 10000

struct vrt_log_entry {
    int64_t at;                             /* wall clock, ns */
    int level;                              /* enum vrt_log_level */
    char topic[32];
    char text[1024];
};

struct vrt_log_report {
    struct vrt_log_entry *lines;
    size_t n_lines;
};

extern const struct vrt_field vrt_log_fields[];
