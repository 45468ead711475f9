/* SPDX-License-Identifier: MIT */

#include "backend/ref/ops.h"
#include "backend/ref/run.h"

/* `i` mirrored into [0, n) at the edge samples, which are not repeated, as often as it takes. */
static int reflected(int i, int n)
{
    if (n == 1)
        return 0;
    const int period = 2 * (n - 1);
    const int k = ((i % period) + period) % period;
    return k < n ? k : period - k;
}

void vrt_ref_pad(const struct vrt_ref_run *run)
{
    const struct vrt_op_pad *pad = &run->op->pad;
    const struct vrt_shape in = run->op->in[0].shape, out = run->op->out.shape;

    for (int at[4] = { 0 }; at[0] < out.d; vrt_ref_step(at, out)) {
        int y = at[1] - pad->top, x = at[2] - pad->left;
        if (pad->mode == VRT_PAD_ZERO && (y < 0 || y >= in.h || x < 0 || x >= in.w)) {
            vrt_ref_put(&run->out[0], at, 0);
            continue;
        }
        y = pad->mode == VRT_PAD_REFLECT ? reflected(y, in.h) : vrt_ref_clamp(y, in.h);
        x = pad->mode == VRT_PAD_REFLECT ? reflected(x, in.w) : vrt_ref_clamp(x, in.w);
        vrt_ref_put(&run->out[0], at, vrt_ref_get(&run->in[0], at[0], y, x, at[3]));
    }
}
