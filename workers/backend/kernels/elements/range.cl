/* SPDX-License-Identifier: MIT */

/*
 * range: of each frame the smallest and the largest finite value, and how many are not finite
 *
 * A group looks at every so-manieth element of a frame and writes what it found, as three numbers;
 * range_total joins those of a frame.
 */

#include "backend/kernels/view.h"

#define ITEMS VRT_KERNEL_RANGE_ITEMS

/* partials [D,groups,3]: the third is an integer */
KERNEL_OF(ITEMS, range)(ARGS(struct vrt_kernel_range, e), INPUT(1, x),
                        OUTPUT(2, partials) WORK_ITEM)
{
    LOCAL float smallest[ITEMS], largest[ITEMS];
    LOCAL uint n_not_finite[ITEMS];
    const ARG struct vrt_kernel_view *in = &e.in;
    const int t = LOCAL_ID(0), d = GROUP_ID(1);
    const int group = GROUP_ID(0), n_groups = e.n_groups;
    const long row = (long)in->w * in->c, n = in->h * row;
    float low = INFINITY, high = -INFINITY;
    uint bad = 0;

    for (long i = (long)group * ITEMS + t; i < n; i += (long)n_groups * ITEMS) {
        const int h = (int)(i / row), rest = (int)(i % row);
        const float value = load(x, in->dtype,
                                 view_at(in, d, h, rest / in->c) + rest % in->c);
        if (isfinite(value)) {
            low = fmin(low, value);
            high = fmax(high, value);
        } else {
            bad++;
        }
    }
    smallest[t] = low;
    largest[t] = high;
    n_not_finite[t] = bad;
    for (int apart = ITEMS / 2; apart > 0; apart /= 2) {
        BARRIER();
        if (t < apart) {
            smallest[t] = fmin(smallest[t], smallest[t + apart]);
            largest[t] = fmax(largest[t], largest[t + apart]);
            n_not_finite[t] += n_not_finite[t + apart];
        }
    }
    if (t == 0) {
        GLOBAL float *to = (GLOBAL float *)partials + ((long)d * n_groups + group) * 3;
        to[0] = smallest[0];
        to[1] = largest[0];
        ((GLOBAL uint *)to)[2] = n_not_finite[0];
    }
}
