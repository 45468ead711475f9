/* SPDX-License-Identifier: MIT */

#include "daemon/pipeline/patience.h"

#include "base/clock.h"
#include "base/macro.h"

/* What is submitted doesn't wait longer for a device, however long jobs may: vrtctl waits for 60 s,
 * and is to be told why. */
#define SUBMIT_PATIENCE_S 45.0

bool vrt_patience_is_over(struct vrt_patience *patience, bool any)
{
    int64_t now_ns = vrt_clock_now_ns();
    double patience_s = vrt_pool_params(patience->pool)->patience_s;

    if (patience->is_submission)
        patience_s = VRT_MIN(patience_s, SUBMIT_PATIENCE_S);
    if (any)
        patience->since_ns = 0;
    else if (!patience->since_ns)
        patience->since_ns = now_ns;
    return !any && (double)(now_ns - patience->since_ns) > patience_s * VRT_NS_PER_S;
}
