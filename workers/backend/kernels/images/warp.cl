/* SPDX-License-Identifier: MIT */

/* warp: each place taken from where its flow points, between four places or beside them. */

#include "backend/kernels/view.h"

#include "backend/op/position.h"

/* Channel c at row y, column x; 0 outside. What is no number is outside. */
static float sample(const ARG struct vrt_kernel_view *in, const GLOBAL char *data, int d, float y,
                    float x, int c)
{
    if (!(y >= 0 && x >= 0 && y < (float)in->h && x < (float)in->w))
        return 0;
    return load(data, in->dtype, view_at(in, d, (int)y, (int)x) + c);
}

/* `at`, moved by the mode to where floors and weights of it are harmless. */
static float bounded(float at, int n, bool border)
{
    const float position = vrt_position_warped(at, n);

    return border ? fmin(fmax(position, 0.0f), (float)(n - 1))
                  : fmin(fmax(position, -2.0f), (float)n + 1);
}

KERNEL(warp)(ARGS(struct vrt_kernel_elements, e), OUTPUT(1, out), INPUT(2, data),
             INPUT(3, flow) WORK_ITEM)
{
    struct place p;
    const ARG struct vrt_kernel_view *in = &e.in[0];
    const bool border = e.mode == VRT_WARP_BILINEAR_BORDER;
    float sum = 0;

    PLACE_OF(&e.out, &p);
    if (!p.exists)
        return;
    const long to = view_at(&e.in[1], p.d, p.h, p.w);
    const float y = (float)p.h + load(flow, VRT_DTYPE_F32, to + 1);
    const float x = (float)p.w + load(flow, VRT_DTYPE_F32, to);
    if (e.mode == VRT_WARP_NEAREST4) {
        const int k = p.c / in->c;
        sum = sample(in, data, p.d, k % 2 ? ceil(y) : floor(y), k / 2 ? ceil(x) : floor(x),
                     p.c % in->c);
        store_at(&e.out, out, &p, sum);
        return;
    }
    const float row = bounded(y, in->h, border), column = bounded(x, in->w, border);
    const float top = floor(row), left = floor(column), v = row - top, u = column - left;
    for (int k = 0; k < 4; k++)
        sum += (k / 2 ? v : 1 - v) * (k % 2 ? u : 1 - u) *
               sample(in, data, p.d, top + (float)(k / 2), left + (float)(k % 2), p.c);
    store_at(&e.out, out, &p, sum);
}
