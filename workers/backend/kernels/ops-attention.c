/* SPDX-License-Identifier: MIT */

/*
 * window_attention: a layer makes queries, keys and values of all places, those of the padding
 * included; they meet; a layer makes the output of what comes of it
 *
 * What is in between keeps the clip's own order: only who meets whom depends on windows.
 */

#include "backend/kernels/ops-products.h"

/* How the op's clip is cut, and where in its workspace what is. */
struct cut {
    struct vrt_kernel_attend attend;   /* what both attentions share */
    struct vrt_shape padded;        /* c: of a place's queries, keys and values */
    enum vrt_dtype dtype;           /* as which they are kept */
    size_t qkv, heads, end;         /* offsets in bytes; the norm's numbers are at 0 */
    int n_windows, n_places;        /* of a window */
    bool is_mutual;
};

/* What kernels may read beyond the queries, keys and values: what the last head lacks of a whole
 * number of parts. */
#define READ_BEYOND_BYTES (VRT_KERNEL_ATTEND_DIM * sizeof(float))

static struct cut cut_of(const struct vrt_op *op)
{
    const struct vrt_op_window_attention *attention = &op->window_attention;
    const struct vrt_shape x = op->in[0].shape;
    const int clip[3] = { x.d, x.h, x.w }, *full = attention->window;
    struct cut cut = { .n_windows = 1, .n_places = 1, .is_mutual = attention->mutual >= 0 };
    struct vrt_kernel_attend *e = &cut.attend;

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
    e->parts = (e->dim + VRT_KERNEL_ATTEND_DIM - 1) / VRT_KERNEL_ATTEND_DIM;
    e->meetings = 1;
    e->width = cut.is_mutual ? 2 * x.c : x.c;
    e->base = ((full[0] - 1) * (2 * full[1] - 1) + full[1] - 1) * (2 * full[2] - 1) + full[2] - 1;
    cut.padded = (struct vrt_shape){ e->padded[0], e->padded[1], e->padded[2], 3 * x.c };
    cut.qkv = vrt_kernel_stats_bytes(op, &attention->norm);
    cut.dtype = op->weight_dtype;
    e->dtype = (int32_t)cut.dtype;
    /* One attention comes after the other. */
    cut.heads = cut.qkv + vrt_kernel_aligned((size_t)vrt_shape_count(cut.padded) *
                                             vrt_dtype_size(cut.dtype));
    cut.end = cut.heads + (size_t)vrt_shape_count(cut.padded) / (size_t)cut.padded.c *
                              (size_t)e->width * vrt_dtype_size(cut.dtype) + READ_BEYOND_BYTES;
    return cut;
}

size_t vrt_kernel_window_attention_workspace_bytes(const struct vrt_op *op)
{
    return cut_of(op).end;
}

bool vrt_kernel_window_attention_is_supported(const struct vrt_op *op)
{
    const struct cut cut = cut_of(op);

    return vrt_shape_count(cut.padded) / cut.padded.c <= INT32_MAX / 2;
}

static int make_qkv(const struct vrt_kernel_call *call, const struct cut *cut, bool mutual)
{
    const struct vrt_op_window_attention *op = &call->op->window_attention;
    const struct vrt_tensor *x = vrt_op_in(call->op, 0);
    const struct vrt_kernel_layer layer = {
        .out = vrt_kernel_dense_view(cut->dtype, cut->padded),
        .x = vrt_kernel_view_of(call, x),
        .out_data = vrt_kernel_workspace(call, cut->qkv),
        .x_data = vrt_kernel_place_of(call, x),
        .norm = op->norm.weight >= 0 ? &op->norm : NULL,
        .stats = vrt_kernel_workspace(call, 0),
        .weight = mutual ? op->mutual : op->qkv,
        .bias = mutual ? op->mutual_bias : op->qkv_bias,
        .window = { mutual ? cut->attend.size[1] : 0, mutual ? cut->attend.size[2] : 0 },
        .shift = { cut->attend.shift[1], cut->attend.shift[2] },
        .position = op->position,
    };

    return vrt_kernel_layer(call, &layer);
}

static struct vrt_kernel_attention choose(const struct vrt_kernel_call *call,
                                          const struct vrt_kernel_attend *args)
{
    static const struct vrt_kernel_attention wide = {
        VRT_KERNEL_window_attend_wide, VRT_KERNEL_ATTEND_QUERIES, VRT_KERNEL_ATTEND_QUERIES,
    };

    return args->parts > 1 ? wide : call->target->attention(call, args);
}

static int attend(const struct vrt_kernel_call *call, const struct cut *cut,
                          const struct vrt_kernel_attend *args)
{
    const struct vrt_kernel_attention choice = choose(call, args);
    const struct vrt_kernel_launch launch = {
        .kernel = choice.kernel,
        .factors = (enum vrt_dtype)args->dtype,
        .args = args,
        .args_bytes = sizeof(*args),
        .data = { vrt_kernel_workspace(call, cut->heads), vrt_kernel_workspace(call, cut->qkv),
                  args->has_table ? call->params[call->op->window_attention.bias_table].place
                                  : (struct vrt_kernel_place){ NULL, 0 } },
        .n_data = 3,
        .groups = { ((uint32_t)args->n + choice.n_queries - 1) / choice.n_queries,
                    (uint32_t)(args->heads * args->meetings * args->parts),
                    (uint32_t)cut->n_windows },
        .local = { choice.n_items, 1, 1 },
    };

    return call->target->launch(call, &launch);
}

static int attend_plainly(const struct vrt_kernel_call *call, const struct cut *cut)
{
    struct vrt_kernel_attend args = cut->attend;
    int r = make_qkv(call, cut, false);

    args.n = cut->n_places;
    args.has_table = 1;
    args.column = cut->is_mutual ? args.c : 0;
    return r != 0 ? r : attend(call, cut, &args);
}

/* The window's two frames attend to each other, each place knowing where in its frame it is. */
static int attend_mutually(const struct vrt_kernel_call *call, const struct cut *cut)
{
    struct vrt_kernel_attend args = cut->attend;
    int r = make_qkv(call, cut, true);

    args.n = cut->n_places / 2;
    args.meetings = 2;
    args.queries[0] = args.keys[1] = args.rows[1] = args.n;
    return r != 0 ? r : attend(call, cut, &args);
}

int vrt_kernel_window_attention(const struct vrt_kernel_call *call)
{
    const struct vrt_op_window_attention *op = &call->op->window_attention;
    const struct cut cut = cut_of(call->op);
    struct vrt_shape heads = cut.padded;

    heads.c = cut.attend.width;
    const struct vrt_kernel_layer proj = {
        .out = vrt_kernel_view_of(call, &call->op->out),
        .x = vrt_kernel_dense_view(cut.dtype, heads),
        .out_data = vrt_kernel_place_of(call, &call->op->out),
        .x_data = vrt_kernel_workspace(call, cut.heads),
        .residual = vrt_op_in(call->op, 0),
        .weight = op->proj,
        .bias = op->proj_bias,
    };
    int r = vrt_kernel_norm_stats(call, &op->norm, vrt_kernel_workspace(call, 0));

    if (r != 0)
        return r;
    r = attend_plainly(call, &cut);
    if (r != 0)
        return r;
    if (cut.is_mutual)
        r = attend_mutually(call, &cut);
    return r != 0 ? r : vrt_kernel_layer(call, &proj);
}
