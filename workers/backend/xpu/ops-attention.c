/* SPDX-License-Identifier: MIT */

/*
 * window_attention: a layer makes queries, keys and values of all places, those of the padding
 * included; they meet; a layer makes the output of what comes of it
 *
 * What is in between keeps the clip's own order: only who meets whom depends on windows.
 */

#include "backend/xpu/device.h"
#include "backend/xpu/ops-products.h"

/* How the op's clip is cut, and where in its workspace what is. */
struct cut {
    struct vrt_xpu_attend attend;   /* what both attentions share */
    struct vrt_shape padded;        /* c: of a place's queries, keys and values */
    enum vrt_dtype dtype;           /* as which they are kept */
    size_t qkv, heads, end;         /* offsets in bytes; the norm's numbers are at 0 */
    int n_windows, n_places;        /* of a window */
    bool is_mutual;
};

/* What kernels may read beyond the queries, keys and values: what the last head lacks of a whole
 * number of parts. */
#define READ_BEYOND_BYTES (VRT_XPU_ATTEND_DIM * sizeof(float))

/* Where what comes behind so many bytes begins. */
static size_t rounded(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

static struct cut cut_of(const struct vrt_op *op)
{
    const struct vrt_op_window_attention *attention = &op->window_attention;
    const struct vrt_shape x = op->in[0].shape;
    const int clip[3] = { x.d, x.h, x.w }, *full = attention->window;
    struct cut cut = { .n_windows = 1, .n_places = 1, .is_mutual = attention->mutual >= 0 };
    struct vrt_xpu_attend *e = &cut.attend;

    vrt_op_window(op, e->size, e->shift);
    for (int k = 0; k < 3; k++) {
        e->full[k] = full[k];
        e->padded[k] = (clip[k] + e->size[k] - 1) / e->size[k] * e->size[k];
        e->seam[k] = e->padded[k] - e->shift[k];
        cut.n_windows *= e->padded[k] / e->size[k];
        cut.n_places *= e->size[k];
    }
    e->c = x.c;
    e->along_h = e->padded[1] / e->size[1];
    e->along_w = e->padded[2] / e->size[2];
    e->heads = attention->heads;
    e->dim = x.c / attention->heads;
    e->parts = (e->dim + VRT_XPU_ATTEND_DIM - 1) / VRT_XPU_ATTEND_DIM;
    e->meetings = 1;
    e->width = cut.is_mutual ? 2 * x.c : x.c;
    e->base = ((full[0] - 1) * (2 * full[1] - 1) + full[1] - 1) * (2 * full[2] - 1) + full[2] - 1;
    cut.padded = (struct vrt_shape){ e->padded[0], e->padded[1], e->padded[2], 3 * x.c };
    cut.qkv = vrt_xpu_stats_bytes(op, &attention->norm);
    cut.dtype = op->weight_dtype;
    e->dtype = (int32_t)cut.dtype;
    /* One attention comes after the other. */
    cut.heads = cut.qkv + rounded((size_t)vrt_shape_count(cut.padded) * vrt_dtype_size(cut.dtype));
    cut.end = cut.heads + (size_t)vrt_shape_count(cut.padded) / (size_t)cut.padded.c *
                              (size_t)e->width * vrt_dtype_size(cut.dtype) + READ_BEYOND_BYTES;
    return cut;
}

size_t vrt_xpu_window_attention_workspace_bytes(const struct vrt_op *op)
{
    return cut_of(op).end;
}

bool vrt_xpu_window_attention_is_supported(const struct vrt_op *op)
{
    const struct cut cut = cut_of(op);

    return vrt_shape_count(cut.padded) / cut.padded.c <= INT32_MAX / 2;
}

static ze_result_t make_qkv(const struct vrt_xpu_call *call, const struct cut *cut, bool mutual)
{
    const struct vrt_op_window_attention *op = &call->op->window_attention;
    const struct vrt_tensor *x = vrt_op_in(call->op, 0);
    const struct vrt_xpu_layer layer = {
        .out = vrt_xpu_dense_view(cut->dtype, cut->padded),
        .x = vrt_xpu_view_of(x),
        .out_data = call->workspace + cut->qkv,
        .x_data = vrt_xpu_data_of(call, x),
        .norm = op->norm.weight >= 0 ? &op->norm : NULL,
        .stats = call->workspace,
        .weight = mutual ? op->mutual : op->qkv,
        .bias = mutual ? op->mutual_bias : op->qkv_bias,
        .window = { mutual ? cut->attend.size[1] : 0, mutual ? cut->attend.size[2] : 0 },
        .shift = { cut->attend.shift[1], cut->attend.shift[2] },
        .position = op->position,
    };

    return vrt_xpu_layer(call, &layer);
}

/* Which kernel, of how many queries and items a group. */
struct choice {
    enum vrt_xpu_kernel kernel;
    uint32_t n_queries, n_items;
};

/* Matrix units take two channels at a time. More queries share what is copied for them, where there
 * are as many. */
static struct choice choose(const struct vrt_xpu_call *call, const struct vrt_xpu_attend *args)
{
    static const struct choice choices[][2] = {
        { { VRT_XPU_KERNEL_window_attend_64_f16, 64, 32 },
          { VRT_XPU_KERNEL_window_attend_128_f16, 128, 64 } },
        { { VRT_XPU_KERNEL_window_attend_64_bf16, 64, 32 },
          { VRT_XPU_KERNEL_window_attend_128_bf16, 128, 64 } },
    };
    struct choice choice = { VRT_XPU_KERNEL_window_attend, VRT_XPU_ATTEND_QUERIES,
                             VRT_XPU_ATTEND_QUERIES };

    if (args->parts > 1)
        choice.kernel = VRT_XPU_KERNEL_window_attend_wide;
    else if (call->device->has_dpas && args->dim % 2 == 0 && args->dtype != VRT_DTYPE_F32)
        choice = choices[args->dtype == VRT_DTYPE_BF16][(args->n + 63) / 64 % 2 == 0];
    return choice;
}

static ze_result_t attend(const struct vrt_xpu_call *call, const struct cut *cut,
                          const struct vrt_xpu_attend *args)
{
    const struct choice choice = choose(call, args);
    const struct vrt_xpu_launch launch = {
        .kernel = choice.kernel,
        .args = args,
        .args_bytes = sizeof(*args),
        .data = { call->workspace + cut->heads, call->workspace + cut->qkv,
                  args->has_table ? call->params[call->op->window_attention.bias_table].data
                                  : NULL },
        .n_data = 3,
        .groups = { ((uint32_t)args->n + choice.n_queries - 1) / choice.n_queries,
                    (uint32_t)(args->heads * args->meetings * args->parts),
                    (uint32_t)cut->n_windows },
        .local = { choice.n_items, 1, 1 },
    };

    return vrt_xpu_launch(call, &launch);
}

static ze_result_t attend_plainly(const struct vrt_xpu_call *call, const struct cut *cut)
{
    struct vrt_xpu_attend args = cut->attend;
    ze_result_t r = make_qkv(call, cut, false);

    args.n = cut->n_places;
    args.has_table = 1;
    args.column = cut->is_mutual ? args.c : 0;
    return r != 0 ? r : attend(call, cut, &args);
}

/* The window's two frames attend to each other, each place knowing where in its frame it is. */
static ze_result_t attend_mutually(const struct vrt_xpu_call *call, const struct cut *cut)
{
    struct vrt_xpu_attend args = cut->attend;
    ze_result_t r = make_qkv(call, cut, true);

    args.n = cut->n_places / 2;
    args.meetings = 2;
    args.queries[0] = args.keys[1] = args.rows[1] = args.n;
    return r != 0 ? r : attend(call, cut, &args);
}

ze_result_t vrt_xpu_window_attention(const struct vrt_xpu_call *call)
{
    const struct vrt_op_window_attention *op = &call->op->window_attention;
    const struct cut cut = cut_of(call->op);
    struct vrt_shape heads = cut.padded;

    heads.c = cut.attend.width;
    const struct vrt_xpu_layer proj = {
        .out = vrt_xpu_view_of(&call->op->out),
        .x = vrt_xpu_dense_view(cut.dtype, heads),
        .out_data = vrt_xpu_data_of(call, &call->op->out),
        .x_data = call->workspace + cut.heads,
        .residual = vrt_op_in(call->op, 0),
        .weight = op->proj,
        .bias = op->proj_bias,
    };
    ze_result_t r = vrt_xpu_norm_stats(call, &op->norm, call->workspace);

    if (r != 0)
        return r;
    r = attend_plainly(call, &cut);
    if (r != 0)
        return r;
    if (cut.is_mutual)
        r = attend_mutually(call, &cut);
    return r != 0 ? r : vrt_xpu_layer(call, &proj);
}
