/* SPDX-License-Identifier: MIT */
#pragma once

/* How long a job waits where no device works for it. Thread: the loop's. */

#include <stdbool.h>
#include <stdint.h>

#include "daemon/devices/pool-job.h"

struct vrt_patience {
    const struct vrt_pool *pool;        /* whose configuration says how long */
    bool is_submission;                 /* somebody waits to be told whether the job is taken */
    int64_t since_ns;                   /* since when there is no device; 0: there is one */
};

/* Whether there has been none for longer than that. `any`: there is one now. */
bool vrt_patience_is_over(struct vrt_patience *patience, bool any);
