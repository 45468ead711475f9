/* SPDX-License-Identifier: MIT */

/* flow_offsets: of 27 * i[0] channels the first 18 * i[0] become f[0] * tanh(x) + flow, a run of
 * i[1] channels for each flow; the rest sigmoid(x). */

#include "backend/xpu/kernels/view.clh"

__kernel void flow_offsets(struct vrt_xpu_flow_offsets e, __global char *out,
                           const __global char *x, const __global char *flow0,
                           const __global char *flow1, const __global char *flow2,
                           const __global char *flow3, const __global char *flow4,
                           const __global char *flow5, const __global char *flow6)
{
    struct place p;
    const __global char *flows[7] = { flow0, flow1, flow2, flow3, flow4, flow5, flow6 };

    place_of(&e.out, &p);
    if (!p.exists)
        return;
    const float value = load_at(&e.in, x, &p);
    if (p.c >= 18 * e.groups) {
        store_at(&e.out, out, &p, 1 / (1 + exp(-value)));
        return;
    }
    /* Pairs are (y, x), a flow's channels x, y. */
    const int k = p.c / e.channels_each;
    const struct vrt_xpu_view *flow = &e.flows[k];
    store_at(&e.out, out, &p,
             e.max_residue * tanh(value) +
                 load(flows[k], flow->dtype, view_at(flow, p.d, p.h, p.w) + 1 - p.c % 2));
}
