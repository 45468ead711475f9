/* SPDX-License-Identifier: MIT */

/* flow_offsets: from what a convolution made, and the flows, what deform_conv2d takes. */

#include "backend/cuda/kernels/packet.cuh"

using namespace vrt;

struct flows {
    view all[VRT_OP_MAX_IN - 1];
    vrt_divisor each;               /* by the channels that one flow is added to */
};

/* Runs of channels begin at even ones, and so does each flow's: a pair is (y, x) of one. */
VRT_COVER_KERNEL flow_offsets(vrt_cuda_cover cover, view in, view out, flows f,
                              vrt_op_flow_offsets offsets)
{
    const int n_offsets = 18 * offsets.offset_groups;
    float x[8];
    run r;

    if (!run_find(cover, out.c, &r))
        return;
    packet_load(elements_of(in), run_at(in, r), r.n, x);
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
        if (r.c + i < n_offsets) {
            const view &flow = f.all[vrt_divide(r.c + i, &f.each)];
            const float *at = (const float *)view_data(flow) + view_at(flow, r.d, r.h, r.w);

            x[i] = offsets.max_residue * tanhf(x[i]) + at[1];
            x[i + 1] = offsets.max_residue * tanhf(x[i + 1]) + at[0];
        } else {
            x[i] = 1 / (1 + expf(-x[i]));
            x[i + 1] = 1 / (1 + expf(-x[i + 1]));
        }
    }
    packet_store(x, elements_of(out), run_at(out, r), r.n);
}

int vrt_cuda_flow_offsets(const vrt_cuda_call *call)
{
    const vrt_op_flow_offsets *offsets = &call->op->flow_offsets;
    const vrt_tensor *out = vrt_op_out(call->op, 0);
    const int n = call->op->n_in - 1;
    flows f = {};

    for (int i = 0; i < n; i++)
        f.all[i] = view_of_in(call, 1 + i);
    f.each = vrt_divisor_of(18 * offsets->offset_groups / n);
    return cover_launch(flow_offsets, call, cover_of(out->shape), view_of_in(call, 0),
                        view_of(call, out), f, *offsets);
}
