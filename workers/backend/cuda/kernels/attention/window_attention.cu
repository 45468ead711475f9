/* SPDX-License-Identifier: MIT */

/*
 * window_attention: some windows at a time, their queries, keys and values are made, then attended
 * with; at last all results are projected and added to x
 *
 * Why not all in one kernel, from a window's places to its heads' results? Take C = 120, 6 heads,
 * windows of 384 places, an f32 clip of 6 x 180 x 320 places (P). A window's normed places would be
 * 104 KB of shared memory beside a head's 74 KB of q, k and v: that is more than any device before
 * sm_90 has, and there leaves one block a multiprocessor. With a block for every window and head
 * each place is read and normed six times, 6 * 480 B * P = 1.0 GB through the second-level cache.
 * Rows of q, k, v (3 * 6 heads * 24 halves = 864 B a place) are 0.3 GB written; with a tile of 96
 * queries q is read once, k and v four times: 0.9 GB, no norm twice, no flop twice. And they never
 * need leave that cache, as only so many windows as VRT_WINDOWS_CHUNK_BYTES hold are under way at
 * a time. Places are gathered straight from x by index arithmetic; scores exist in registers only.
 */

#include "backend/cuda/kernels/compose.cuh"
#include "backend/cuda/kernels/attention/windows_attend.cuh"
#include "backend/cuda/kernels/attention/windows_plain.cuh"
#include "backend/cuda/kernels/attention/windows_project.cuh"
#include "backend/cuda/kernels/attention/windows_split.cuh"

/* About what the second-level cache of a large device holds, and enough windows to fill it. */
#define VRT_WINDOWS_CHUNK_BYTES (48 << 20)

#define THREADS 256

using namespace vrt;

/* How an op is computed, and where in its workspace what is. */
struct plan {
    vrt_cuda_windows windows;
    vrt_dtype dtype;                /* of the weights, and of normed places */
    vrt_dtype row_dtype;            /* of rows and results */
    bool is_fused;                  /* in halves, from x to rows by one kernel */
    int C, heads, dim, n_layers;
    int head_channels;              /* of a row: dim, or filled up */
    int64_t row_elements, layer_elements;       /* of q, k, v */
    int64_t normed_elements;        /* of a normed place, for one layer */
    int64_t result_elements;
    int n_at_once;                  /* windows */
    size_t table, results, rows, normed, more, end;     /* more: for the products of linear */
};

static int64_t multiple_of_8(int64_t n)
{
    return (n + 7) / 8 * 8;
}

static bool is_fused(const vrt_cuda_limits *limits, const vrt_op *op)
{
    const vrt_cuda_windows windows = vrt_cuda_windows_of(op);
    const int C = op->in[0].shape.c;

    return op->weight_dtype != VRT_DTYPE_F32 && project_tile(limits, 1, C).rows &&
           attend_kernel_for<__half>(&windows, C / op->window_attention.heads).shared_bytes <=
               limits->shared_bytes;
}

/* q, k and v of layer `i` as linear makes them of the normed rows of n windows. */
static vrt_op layer_op(const plan &plan, const vrt_cuda_call *call, const vrt_op *op, int i, int n)
{
    const vrt_op_window_attention *attention = &op->window_attention;
    const size_t normed = (size_t)(i * plan.normed_elements) * vrt_dtype_size(plan.dtype);
    const size_t rows = (size_t)(i * plan.layer_elements) * vrt_dtype_size(plan.row_dtype);
    const vrt_tensor x = workspace_tensor(
        call, plan.normed + normed, plan.dtype,
        { 1, n, plan.windows.n_places, plan.C }, plan.n_layers * plan.normed_elements);
    const vrt_tensor out = workspace_tensor(
        call, plan.rows + rows, plan.row_dtype,
        { 1, n, plan.windows.n_places, 3 * plan.C }, plan.row_elements);

    return linear_of(op, x, i ? attention->mutual : attention->qkv,
                     i ? attention->mutual_bias : attention->qkv_bias, NULL, out);
}

static vrt_op proj_op(const plan &plan, const vrt_cuda_call *call, const vrt_op *op)
{
    vrt_shape shape = op->in[0].shape;

    shape.c *= plan.n_layers;
    return linear_of(op,
                     workspace_tensor(call, plan.results, plan.row_dtype, shape,
                                      plan.result_elements),
                     op->window_attention.proj, op->window_attention.proj_bias, &op->in[0],
                     op->out);
}

static plan plan_of(const vrt_cuda_limits *limits, const vrt_op *op)
{
    const vrt_op_window_attention *attention = &op->window_attention;
    plan p = {};

    p.windows = vrt_cuda_windows_of(op);
    p.dtype = op->weight_dtype;
    p.is_fused = is_fused(limits, op);
    p.row_dtype = p.is_fused ? p.dtype : VRT_DTYPE_F32;
    p.C = op->in[0].shape.c;
    p.heads = attention->heads;
    p.dim = p.C / p.heads;
    p.n_layers = attention->mutual < 0 ? 1 : 2;
    p.head_channels = p.is_fused ? 8 * attend_eights(p.dim) : p.dim;
    p.layer_elements = multiple_of_8(3 * (int64_t)p.heads * p.head_channels);
    p.row_elements = p.n_layers * p.layer_elements;
    p.normed_elements = p.is_fused ? 0 : multiple_of_8(p.C);
    p.result_elements = multiple_of_8(p.n_layers * p.C);

    const size_t row = (size_t)p.row_elements * vrt_dtype_size(p.row_dtype);
    const size_t normed = (size_t)(p.n_layers * p.normed_elements) * vrt_dtype_size(p.dtype);
    const size_t window = (row + normed) * (size_t)p.windows.n_places;
    p.n_at_once = window < VRT_WINDOWS_CHUNK_BYTES ? (int)(VRT_WINDOWS_CHUNK_BYTES / window) : 1;
    if (p.n_at_once > p.windows.n_windows)
        p.n_at_once = p.windows.n_windows;

    const size_t n_rows = (size_t)p.n_at_once * (size_t)p.windows.n_places;
    const size_t n_places = (size_t)vrt_shape_count(op->in[0].shape) / (size_t)p.C;
    p.table = workspace_take(&p.end, sizeof(float) * (size_t)p.heads *
                                         (size_t)vrt_cuda_windows_n_biases(&p.windows));
    p.results = workspace_take(&p.end, n_places * (size_t)p.result_elements *
                                           vrt_dtype_size(p.row_dtype));
    p.rows = workspace_take(&p.end, n_rows * row);
    p.normed = workspace_take(&p.end, n_rows * normed);

    /* The projection comes when the rows are done with, the layers don't. */
    const vrt_op proj = proj_op(p, NULL, op), layer = layer_op(p, NULL, op, 0, p.n_at_once);
    const size_t for_proj = vrt_cuda_linear_workspace_bytes(limits, &proj);
    const size_t for_layer = p.is_fused ? 0 : vrt_cuda_linear_workspace_bytes(limits, &layer);
    p.more = workspace_take(&p.end, for_proj > for_layer ? for_proj : for_layer);
    return p;
}

/* to [heads][n] = from [n][heads] * log2(e). */
static __global__ void __launch_bounds__(THREADS) turn_table(const float *from, int n, int heads,
                                                             float *to)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;

    if (i < n * heads)
        to[i] = from[i % n * heads + i / n] * ATTEND_LOG2E;
}

/* A vector or table, or NULL. */
static const float *floats_of(const vrt_cuda_call *call, int param)
{
    return param < 0 ? NULL : (const float *)call->params[param].data;
}

static tile_norm norm_of(const vrt_cuda_call *call)
{
    const vrt_op_norm *norm = &call->op->window_attention.norm;

    return { floats_of(call, norm->weight), floats_of(call, norm->weight < 0 ? -1 : norm->bias) };
}

static project project_of(const vrt_cuda_call *call, const plan &plan)
{
    const vrt_op_window_attention *op = &call->op->window_attention;
    const vrt_cuda_param *qkv = &call->params[op->qkv];
    project p = {};

    p.x = view_of_in(call, 0);
    p.windows = plan.windows;
    p.is_wide = tile_is_wide(p.x);
    p.norm = norm_of(call);
    p.layers[0] = { qkv->data, (int)qkv->row_elements, floats_of(call, op->qkv_bias), NULL };
    if (plan.n_layers > 1) {
        const vrt_cuda_param *mutual = &call->params[op->mutual];
        p.layers[1] = { mutual->data, (int)mutual->row_elements,
                        floats_of(call, op->mutual_bias), floats_of(call, op->position) };
    }
    p.heads = plan.heads;
    p.dim = plan.dim;
    p.dim8 = plan.head_channels;
    p.by_dim8 = vrt_divisor_of(p.dim8);
    p.scale = ATTEND_LOG2E / sqrtf((float)plan.dim);
    p.out = call->workspace + plan.rows;
    p.out_row_elements = plan.row_elements;
    p.layer_elements = plan.layer_elements;
    return p;
}

static attend attend_of(const vrt_cuda_call *call, const plan &plan)
{
    attend a = {};

    a.windows = plan.windows;
    a.rows = call->workspace + plan.rows;
    a.row_elements = plan.row_elements;
    a.layer_elements = plan.layer_elements;
    a.table = floats_of(call, call->op->window_attention.bias_table);
    a.n_biases = vrt_cuda_windows_n_biases(&plan.windows);
    a.heads = plan.heads;
    a.dim = plan.dim;
    a.is_mutual = plan.n_layers > 1;
    a.out = call->workspace + plan.results;
    a.out_row_elements = plan.result_elements;
    return a;
}

/* Enqueues the turning of a's table. Return: 0, cudaError_t. */
static int turn(const vrt_cuda_call *call, const plan &plan, attend *a)
{
    const int n = a->n_biases * plan.heads;
    float *turned = (float *)(call->workspace + plan.table);
    const int r = vrt_launch(turn_table, (unsigned)((n + THREADS - 1) / THREADS), THREADS, 0,
                             call->stream, a->table, a->n_biases, plan.heads, turned);

    a->table = turned;
    return r;
}

/* The results of all windows, by the fused kernels. */
static int attend_fused(const vrt_cuda_call *call, const plan &plan)
{
    project p = project_of(call, plan);
    attend a = attend_of(call, plan);
    int r = turn(call, plan, &a);

    for (int i = 0; !r && i < plan.windows.n_windows; i += plan.n_at_once) {
        const int left = plan.windows.n_windows - i;
        const int n_windows = left < plan.n_at_once ? left : plan.n_at_once;

        p.first_window = a.first_window = i;
        p.n_rows = n_windows * plan.windows.n_places;
        r = project_launch(call, &p, plan.n_layers, plan.dtype);
        if (!r)
            r = attend_launch(call, &a, n_windows, plan.dtype);
    }
    return r;
}

/* Whether tensor cores attend with rows that are f32. */
static bool is_split(const vrt_cuda_call *call, const plan &plan)
{
    return call->f32 == VRT_CUDA_F32_SPLIT && plan.dim <= ATTEND_SPLIT_MOST &&
           attend_split_shared_bytes(&plan.windows, plan.dim) <= call->limits->shared_bytes;
}

/* The same, by products of linear, and plain kernels or split f32. */
static int attend_composed(const vrt_cuda_call *call, const plan &plan)
{
    attend a = attend_of(call, plan);
    windows_gather gather = {};
    const bool split = is_split(call, plan);
    int r = split ? turn(call, plan, &a) : 0;

    gather.x = view_of_in(call, 0);
    gather.windows = plan.windows;
    gather.norm = norm_of(call);
    gather.position = plan.n_layers > 1 ? floats_of(call, call->op->window_attention.position)
                                        : NULL;
    gather.out = call->workspace + plan.normed;
    gather.dtype = plan.dtype;
    gather.row_elements = plan.n_layers * plan.normed_elements;
    gather.layer_elements = plan.normed_elements;
    for (int i = 0; !r && i < plan.windows.n_windows; i += plan.n_at_once) {
        const int left = plan.windows.n_windows - i;
        const int n_windows = left < plan.n_at_once ? left : plan.n_at_once;

        gather.first_window = a.first_window = i;
        gather.n_rows = n_windows * plan.windows.n_places;
        r = gather_launch(call, gather);
        for (int layer = 0; !r && layer < plan.n_layers; layer++)
            r = launch_part(call, vrt_cuda_linear,
                            layer_op(plan, call, call->op, layer, n_windows), plan.more);
        if (!r)
            r = split ? attend_split_launch(call, &a, n_windows)
                      : plain_launch(call, &a, n_windows);
    }
    return r;
}

int vrt_cuda_window_attention(const vrt_cuda_call *call)
{
    const plan plan = plan_of(call->limits, call->op);
    int r = check_workspace(call, plan.end);

    if (!r)
        r = plan.is_fused ? attend_fused(call, plan) : attend_composed(call, plan);
    return r ? r : launch_part(call, vrt_cuda_linear, proj_op(plan, call, call->op), plan.more);
}

size_t vrt_cuda_window_attention_workspace_bytes(const vrt_cuda_limits *limits, const vrt_op *op)
{
    return plan_of(limits, op).end;
}
