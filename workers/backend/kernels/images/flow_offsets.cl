/* SPDX-License-Identifier: MIT */

/* flow_offsets: of 27 * i[0] channels the first 18 * i[0] become f[0] * tanh(x) + flow, a run of
 * i[1] channels for each flow; the rest sigmoid(x). */

#include "backend/kernels/view.h"

KERNEL(flow_offsets)(ARGS(struct vrt_kernel_flow_offsets, e), OUTPUT(1, out), INPUT(2, x),
                     INPUT(3, flow0), INPUT(4, flow1), INPUT(5, flow2), INPUT(6, flow3),
                     INPUT(7, flow4), INPUT(8, flow5), INPUT(9, flow6) WORK_ITEM)
{
    struct place p;
    const GLOBAL char *flows[7] = { flow0, flow1, flow2, flow3, flow4, flow5, flow6 };

    PLACE_OF(&e.out, &p);
    if (!p.exists)
        return;
    const float value = load_at(&e.in, x, &p);
    if (p.c >= 18 * e.groups) {
        store_at(&e.out, out, &p, 1 / (1 + exp(-value)));
        return;
    }
    /* Pairs are (y, x), a flow's channels x, y. */
    const int k = p.c / e.channels_each;
    const ARG struct vrt_kernel_view *flow = &e.flows[k];
    store_at(&e.out, out, &p,
             e.max_residue * tanh(value) +
                 load(flows[k], flow->dtype, view_at(flow, p.d, p.h, p.w) + 1 - p.c % 2));
}
