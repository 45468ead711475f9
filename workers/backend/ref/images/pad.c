/* SPDX-License-Identifier: MIT */

#include "backend/ref/ops.h"
#include "backend/ref/run.h"

/* `i` mirrored into [0, n) at the edge samples, repeated or not, as often as it takes. */
static int mirrored(int i, int n, bool repeated)
{
    const int period = 2 * n - (repeated ? 0 : 2);
    const int k = period ? ((i % period) + period) % period : 0;
    return k < n ? k : period - k - (repeated ? 1 : 0);
}

static int source(enum vrt_pad_mode mode, int i, int n)
{
    return mode == VRT_PAD_REFLECT || mode == VRT_PAD_MIRROR
               ? mirrored(i, n, mode == VRT_PAD_MIRROR)
               : vrt_ref_clamp(i, n);
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
        vrt_ref_put(&run->out[0], at,
                    vrt_ref_get(&run->in[0], at[0], source(pad->mode, y, in.h),
                                source(pad->mode, x, in.w), at[3]));
    }
}
