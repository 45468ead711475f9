/* SPDX-License-Identifier: MIT */

/* linear: a norm, the product with the weights, GELU, the residual; block by block */

#include "backend/cpu/isa/isa.h"
#include "backend/cpu/isa/exp.h"
#include "backend/cpu/products/tokens.h"

/* A thread's memory. */
struct scratch {
    float *in, *out;                /* [I], [O][VRT_BLOCK_TOKENS] */
    vrt_unit *panel;                /* [rows of I][VRT_BLOCK_TOKENS] */
    float *row;
    struct vrt_place *places;
};

static size_t linear_scratch_bytes(const struct vrt_op *op)
{
    const size_t I = (size_t)op->in[0].shape.c, O = (size_t)op->out.shape.c;
    const size_t rows = I + vrt_panel_rows((int)I) + O;

    return VRT_BLOCK_TOKENS * (sizeof(struct vrt_place) + sizeof(float) * rows) +
           sizeof(float) * VRT_MAX(I, O);
}

static struct scratch divide(const struct vrt_cpu_call *call)
{
    const size_t I = (size_t)call->op->in[0].shape.c, O = (size_t)call->op->out.shape.c;
    struct scratch s = { .in = call->scratch };

    s.panel = (vrt_unit *)(s.in + I * VRT_BLOCK_TOKENS);
    s.out = (float *)(s.panel + vrt_panel_rows((int)I) * VRT_BLOCK_TOKENS);
    s.row = s.out + O * VRT_BLOCK_TOKENS;
    s.places = (struct vrt_place *)(void *)(s.row + VRT_MAX(I, O));
    return s;
}

static void run_block(const struct vrt_cpu_call *call, const struct vrt_place *places, int n)
{
    const struct scratch s = divide(call);
    const struct vrt_op_linear *linear = &call->op->linear;
    const int I = call->op->in[0].shape.c, O = call->op->out.shape.c;
    const struct vrt_token_run in = vrt_tokens_run(call, 0, places, n);
    const struct vrt_token_run more = vrt_tokens_run(call, 1, places, n);
    const struct vrt_token_run out = vrt_tokens_run(call, -1, places, n);
    const struct vrt_weight_rows rows =
        vrt_tokens_weight_rows(call, linear->weight, linear->bias, 0);

    vrt_tokens_gather(&in, s.in, s.row);
    vrt_tokens_norm(call, &linear->norm, &in, s.in);
    vrt_tokens_put(s.in, I, s.panel, VRT_BLOCK_TOKENS);
    vrt_tokens_expect(&out);
    vrt_tokens_multiply(&rows, O, s.panel, VRT_BLOCK_TOKENS, s.out);
    if (linear->activation == VRT_ACTIVATION_GELU)
        for (int i = 0; i < O * VRT_BLOCK_TOKENS; i++)
            s.out[i] = vrt_cpu_gelu(s.out[i]);
    vrt_tokens_scatter(&out, more.base ? &more : NULL, s.out, s.row);
}

static void linear_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    vrt_tokens_each(call, (int[3]){ d, y0, y1 }, divide(call).places, run_block);
}

const struct vrt_cpu_kernel vrt_cpu_op_linear_tokens = {
    .rows = linear_rows,
    .scratch_bytes = linear_scratch_bytes,
};
