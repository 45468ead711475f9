/* SPDX-License-Identifier: MIT */

/*
 * geglu: in halves one kernel; in f32, or where a place has too many channels for that, some rows
 * of the clip at a time, by a norm, two products, the gate, and a third product
 */

#include "backend/cuda/kernels/compose.cuh"
#include "backend/cuda/kernels/linear/geglu_fused.cuh"

/* What may be under way of the hidden channels; about what a second-level cache holds. */
#define VRT_GEGLU_CHUNK_BYTES (48 << 20)

#define THREADS 256

using namespace vrt;

/* How an op is computed by others, and where in its workspace what is. */
struct plan {
    vrt_dtype dtype;                /* of the weights, and of what is multiplied with them */
    int n_frames, n_rows;           /* at a time: either the rows are all, or the frame is one */
    int64_t normed_elements, hidden_elements;
    size_t normed, a, b, gated, more, end;      /* a, b: f32; more: for the products of linear */
};

/* How fused kernels see an op's outputs in pairs of channels. */
static bool is_paired(const view &v)
{
    return v.c % 2 == 0 && view_is_aligned(v, 2 * (int64_t)vrt_dtype_size((vrt_dtype)v.dtype));
}

/* Some frames and rows of t. */
static vrt_tensor part_of(const vrt_tensor &t, int frame, int n_frames, int row, int n_rows)
{
    vrt_tensor part = t;

    part.shape.d = n_frames;
    part.shape.h = n_rows;
    part.offset_bytes += (size_t)(frame * t.stride_d + row * t.stride_h) * vrt_dtype_size(t.dtype);
    return part;
}

/* The ops that some frames and rows are made by, `normed` the first. */
struct parts {
    vrt_op normed, a, b, out;
    int64_t n_places;
};

static parts parts_of(const plan &p, const vrt_cuda_call *call, const vrt_op *op, int frame,
                      int row)
{
    const vrt_op_geglu *geglu = &op->geglu;
    const vrt_tensor *residual = vrt_op_in(op, 1);
    const vrt_shape all = op->in[0].shape;
    const int d = all.d - frame < p.n_frames ? all.d - frame : p.n_frames;
    const int h = all.h - row < p.n_rows ? all.h - row : p.n_rows;
    const vrt_shape wide = { d, h, all.w, geglu->hidden };
    const vrt_tensor x = part_of(op->in[0], frame, d, row, h);
    const vrt_tensor normed = workspace_tensor(call, p.normed, p.dtype, x.shape,
                                               p.normed_elements);
    const vrt_tensor a = workspace_tensor(call, p.a, VRT_DTYPE_F32, wide, p.hidden_elements);
    const vrt_tensor b = workspace_tensor(call, p.b, VRT_DTYPE_F32, wide, p.hidden_elements);
    const vrt_tensor gated = workspace_tensor(call, p.gated, p.dtype, wide, p.hidden_elements);
    vrt_tensor more = {};
    parts parts;

    if (residual)
        more = part_of(*residual, frame, d, row, h);
    parts.normed = op_of(geglu->norm.weight < 0 ? VRT_OP_COPY : VRT_OP_LAYERNORM, x, normed);
    if (geglu->norm.weight >= 0)
        parts.normed.layernorm.norm = geglu->norm;
    parts.a = linear_of(op, normed, geglu->fc11, geglu->fc11_bias, NULL, a);
    parts.b = linear_of(op, normed, geglu->fc12, geglu->fc12_bias, NULL, b);
    parts.out = linear_of(op, gated, geglu->fc2, geglu->fc2_bias, residual ? &more : NULL,
                          part_of(op->out, frame, d, row, h));
    parts.n_places = (int64_t)d * h * all.w;
    return parts;
}

static plan plan_of(const vrt_cuda_limits *limits, const vrt_op *op)
{
    const vrt_shape shape = op->in[0].shape;
    const size_t size = vrt_dtype_size(op->weight_dtype);
    plan p = {};

    p.dtype = op->weight_dtype;
    p.normed_elements = (shape.c + 7) / 8 * 8;
    p.hidden_elements = (op->geglu.hidden + 7) / 8 * 8;

    const size_t row = (size_t)shape.w * (2 * sizeof(float) + size) * (size_t)p.hidden_elements;
    const size_t n = VRT_GEGLU_CHUNK_BYTES / row ? VRT_GEGLU_CHUNK_BYTES / row : 1;
    p.n_frames = (int)(n / (size_t)shape.h < (size_t)shape.d ? n / (size_t)shape.h
                                                             : (size_t)shape.d);
    p.n_rows = shape.h;
    if (!p.n_frames) {
        p.n_frames = 1;
        p.n_rows = (int)n;
    }
    const size_t places = (size_t)p.n_frames * (size_t)p.n_rows * (size_t)shape.w;
    p.normed = workspace_take(&p.end, places * (size_t)p.normed_elements * size);
    p.a = workspace_take(&p.end, places * (size_t)p.hidden_elements * sizeof(float));
    p.b = workspace_take(&p.end, places * (size_t)p.hidden_elements * sizeof(float));
    p.gated = workspace_take(&p.end, places * (size_t)p.hidden_elements * size);

    const parts parts = parts_of(p, NULL, op, 0, 0);
    size_t most = 0;
    for (const vrt_op *linear : { &parts.a, &parts.b, &parts.out }) {
        const size_t bytes = vrt_cuda_linear_workspace_bytes(limits, linear);
        most = bytes > most ? bytes : most;
    }
    p.more = workspace_take(&p.end, most);
    return p;
}

/* to = gelu(a) * b, n of them. */
static __global__ void __launch_bounds__(THREADS) gate(const float *a, const float *b, int64_t n,
                                                       char *to, int dtype)
{
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n;
         i += gridDim.x * (int64_t)THREADS)
        store(to, dtype, i, gelu(a[i]) * b[i]);
}

static int compose_part(const vrt_cuda_call *call, const plan &p, const parts &parts)
{
    const int64_t n = parts.n_places * p.hidden_elements, blocks = (n + THREADS - 1) / THREADS;
    int r = launch_part(call, parts.normed.kind == VRT_OP_COPY ? vrt_cuda_copy
                                                               : vrt_cuda_layernorm,
                        parts.normed, p.more);

    if (!r)
        r = launch_part(call, vrt_cuda_linear, parts.a, p.more);
    if (!r)
        r = launch_part(call, vrt_cuda_linear, parts.b, p.more);
    if (!r)
        r = vrt_launch(gate, (unsigned)(blocks < 65535 ? blocks : 65535), THREADS, 0,
                       call->stream, (const float *)(call->workspace + p.a),
                       (const float *)(call->workspace + p.b), n, call->workspace + p.gated,
                       (int)p.dtype);
    return r ? r : launch_part(call, vrt_cuda_linear, parts.out, p.more);
}

static int compose(const vrt_cuda_call *call)
{
    const plan p = plan_of(call->limits, call->op);
    const vrt_shape shape = call->op->in[0].shape;
    int r = check_workspace(call, p.end);

    for (int frame = 0; !r && frame < shape.d; frame += p.n_frames)
        for (int row = 0; !r && row < shape.h; row += p.n_rows)
            r = compose_part(call, p, parts_of(p, call, call->op, frame, row));
    return r;
}

static geglu_layer layer_of(const vrt_cuda_call *call, int weight, int bias)
{
    const vrt_cuda_param *param = &call->params[weight];

    return { param->data, (int)param->row_elements,
             bias < 0 ? NULL : (const float *)call->params[bias].data };
}

static geglu geglu_of(const vrt_cuda_call *call)
{
    const vrt_op_geglu *op = &call->op->geglu;
    geglu p = {};

    p.x = view_of_in(call, 0);
    p.residual = view_of_in(call, 1);
    p.out = view_of(call, vrt_op_out(call->op, 0));
    p.is_wide = tile_is_wide(p.x);
    p.residual_is_paired = is_paired(p.residual);
    p.out_is_paired = is_paired(p.out);
    if (op->norm.weight >= 0)
        p.norm = { (const float *)call->params[op->norm.weight].data,
                   (const float *)call->params[op->norm.bias].data };
    p.hidden_channels = op->hidden;
    p.fc11 = layer_of(call, op->fc11, op->fc11_bias);
    p.fc12 = layer_of(call, op->fc12, op->fc12_bias);
    p.fc2 = layer_of(call, op->fc2, op->fc2_bias);
    return p;
}

/* The tile of the fused kernel for this op; without rows: others compute it. */
static tile_size fused_tile(const vrt_cuda_limits *limits, const vrt_op *op)
{
    const vrt_shape shape = op->in[0].shape;

    if (op->weight_dtype == VRT_DTYPE_F32)
        return {};
    return geglu_tile_for(limits, (int64_t)shape.d * shape.h * shape.w, shape.c, op->out.shape.c);
}

int vrt_cuda_geglu(const vrt_cuda_call *call)
{
    const tile_size size = fused_tile(call->limits, call->op);

    if (!size.rows)
        return compose(call);
    geglu p = geglu_of(call);
    return geglu_launch(call, size, &p, call->op->weight_dtype);
}

size_t vrt_cuda_geglu_workspace_bytes(const vrt_cuda_limits *limits, const vrt_op *op)
{
    return fused_tile(limits, op).rows ? 0 : plan_of(limits, op).end;
}
