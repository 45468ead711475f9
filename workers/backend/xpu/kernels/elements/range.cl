/* SPDX-License-Identifier: MIT */

/*
 * range: of each frame the smallest and the largest finite value, and how many are not finite
 *
 * A group looks at every so-manieth element of a frame and writes what it found, as three numbers;
 * range_total joins those of a frame.
 */

#include "backend/xpu/kernels/view.clh"

#define ITEMS VRT_XPU_RANGE_ITEMS

/* partials [D,groups,3]: the third is an integer */
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void range(struct vrt_xpu_range e, const __global char *x, __global char *partials)
{
    __local float smallest[ITEMS], largest[ITEMS];
    __local uint n_not_finite[ITEMS];
    const struct vrt_xpu_view *in = &e.in;
    const int t = (int)get_local_id(0), d = (int)get_group_id(1);
    const int group = (int)get_group_id(0), n_groups = (int)get_num_groups(0);
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
        barrier(CLK_LOCAL_MEM_FENCE);
        if (t < apart) {
            smallest[t] = fmin(smallest[t], smallest[t + apart]);
            largest[t] = fmax(largest[t], largest[t + apart]);
            n_not_finite[t] += n_not_finite[t + apart];
        }
    }
    if (t == 0) {
        __global float *to = (__global float *)partials + ((long)d * n_groups + group) * 3;
        to[0] = smallest[0];
        to[1] = largest[0];
        to[2] = as_float(n_not_finite[0]);
    }
}
