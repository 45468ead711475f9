/* SPDX-License-Identifier: MIT */

/*
 * geglu: a norm, two products, the gate, a third product, the residual; block by block
 *
 * The hidden values of a block are made a few rows at a time and rounded at once, so that only the
 * panel that the last product reads is ever whole.
 */

#include "backend/cpu/isa/isa.h"
#include "backend/cpu/isa/exp.h"
#include "backend/cpu/products/tokens.h"

/* A thread's memory. */
struct scratch {
    float *in, *out;                /* [I], [O][VRT_BLOCK_TOKENS] */
    vrt_unit *panel;                /* [rows of I][VRT_BLOCK_TOKENS] */
    vrt_unit *hidden;               /* [rows of hidden][VRT_BLOCK_TOKENS] */
    float *row;
    struct vrt_place *places;
};

static size_t geglu_scratch_bytes(const struct vrt_op *op)
{
    const size_t I = (size_t)op->in[0].shape.c, O = (size_t)op->out.shape.c;
    const size_t rows = I + vrt_panel_rows((int)I) + vrt_panel_rows(op->geglu.hidden) + O;

    return VRT_BLOCK_TOKENS * (sizeof(struct vrt_place) + sizeof(float) * rows) +
           sizeof(float) * VRT_MAX(I, O);
}

static struct scratch divide(const struct vrt_cpu_call *call)
{
    const size_t I = (size_t)call->op->in[0].shape.c, O = (size_t)call->op->out.shape.c;
    struct scratch s = { .in = call->scratch };

    s.panel = (vrt_unit *)(s.in + I * VRT_BLOCK_TOKENS);
    s.hidden = s.panel + vrt_panel_rows((int)I) * VRT_BLOCK_TOKENS;
    s.out = (float *)(s.hidden + vrt_panel_rows(call->op->geglu.hidden) * VRT_BLOCK_TOKENS);
    s.row = s.out + O * VRT_BLOCK_TOKENS;
    s.places = (struct vrt_place *)(void *)(s.row + VRT_MAX(I, O));
    return s;
}

/* All hidden rows: gelu(fc11 * panel) times fc12 * panel. */
static void gate(const struct vrt_cpu_call *call, const struct scratch *s)
{
    const struct vrt_op_geglu *geglu = &call->op->geglu;
    float a[VRT_BLOCK_ROWS][VRT_BLOCK_TOKENS], b[VRT_BLOCK_ROWS][VRT_BLOCK_TOKENS];

    for (int i = 0; i < geglu->hidden; i += VRT_BLOCK_ROWS) {
        const int n = VRT_MIN(VRT_BLOCK_ROWS, geglu->hidden - i);
        const struct vrt_weight_rows fc11 =
            vrt_tokens_weight_rows(call, geglu->fc11, geglu->fc11_bias, i);
        const struct vrt_weight_rows fc12 =
            vrt_tokens_weight_rows(call, geglu->fc12, geglu->fc12_bias, i);

        vrt_tokens_multiply(&fc11, n, s->panel, VRT_BLOCK_TOKENS, a[0]);
        vrt_tokens_multiply(&fc12, n, s->panel, VRT_BLOCK_TOKENS, b[0]);
        for (int k = 0; k < n; k++)
            for (int t = 0; t < VRT_BLOCK_TOKENS; t++)
                a[k][t] = vrt_cpu_gelu(a[k][t]) * b[k][t];
        vrt_tokens_put(a[0], n, s->hidden + vrt_panel_row_at(i) * VRT_BLOCK_TOKENS,
                       VRT_BLOCK_TOKENS);
    }
}

static void run_block(const struct vrt_cpu_call *call, const struct vrt_place *places, int n)
{
    const struct scratch s = divide(call);
    const struct vrt_op_geglu *geglu = &call->op->geglu;
    const struct vrt_token_run in = vrt_tokens_run(call, 0, places, n);
    const struct vrt_token_run more = vrt_tokens_run(call, 1, places, n);
    const struct vrt_token_run out = vrt_tokens_run(call, -1, places, n);
    const struct vrt_weight_rows fc2 = vrt_tokens_weight_rows(call, geglu->fc2, geglu->fc2_bias, 0);

    vrt_tokens_gather(&in, s.in, s.row);
    vrt_tokens_norm(call, &geglu->norm, &in, s.in);
    vrt_tokens_put(s.in, in.t->shape.c, s.panel, VRT_BLOCK_TOKENS);
    gate(call, &s);
    vrt_tokens_expect(&out);
    vrt_tokens_multiply(&fc2, out.t->shape.c, s.hidden, VRT_BLOCK_TOKENS, s.out);
    vrt_tokens_scatter(&out, more.base ? &more : NULL, s.out, s.row);
}

static void geglu_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    vrt_tokens_each(call, (int[3]){ d, y0, y1 }, divide(call).places, run_block);
}

const struct vrt_cpu_kernel vrt_cpu_op_geglu_tokens = {
    .rows = geglu_rows,
    .scratch_bytes = geglu_scratch_bytes,
};
