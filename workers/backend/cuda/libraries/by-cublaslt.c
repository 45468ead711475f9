/* SPDX-License-Identifier: MIT */

/* A linear layer by cuBLASLt: rows as they are, or made a band after the other. */

#include "backend/cuda/libraries/by-library.h"

/* What cuBLASLt asks for at most, and what params and workspaces have. */
#define ALIGN_MAX 256

/* A layer's places, and how many of them are multiplied at a time. */
struct layer {
    struct vrt_cuda_rows rows;      /* of `band` places */
    struct vrt_cuda_rows_data data; /* of the first band */
    int64_t n_places, band;
    bool makes_rows;
};

static const char *at(const struct vrt_cuda_call *call, const struct vrt_tensor *t)
{
    return call->arena + t->offset_bytes;
}

static int64_t align_of(const void *data)
{
    return vrt_cuda_align_of((uint64_t)(uintptr_t)data, ALIGN_MAX);
}

/* Where a matrix begins from band to band. */
static int64_t align_of_bands(const struct layer *layer, const void *data, int64_t stride,
                              enum vrt_dtype dtype)
{
    const int64_t step = layer->band * stride * (int64_t)vrt_dtype_size(dtype);

    return vrt_cuda_align_of((uint64_t)(uintptr_t)data |
                             (layer->band < layer->n_places ? (uint64_t)step : 0), ALIGN_MAX);
}

static void take_rows(struct layer *layer, const struct vrt_cuda_call *call)
{
    const struct vrt_op *op = call->op;
    const struct vrt_cuda_param *weight = &call->params[op->linear.weight];

    layer->makes_rows = vrt_cuda_linear_makes_rows(op);
    layer->n_places = vrt_shape_count(op->out.shape) / op->out.shape.c;
    layer->band = layer->n_places;
    layer->rows.k = op->in[0].shape.c;
    layer->rows.row_stride = op->in[0].stride_w;
    layer->data.rows = at(call, &op->in[0]);
    if (layer->makes_rows) {
        layer->band = VRT_MIN(layer->n_places, vrt_cuda_linear_band(op));
        layer->rows.k = layer->rows.row_stride = vrt_cuda_linear_row_elements(op);
        layer->data.rows = call->workspace;
    }
    layer->rows.dtype = weight->dtype;
    layer->rows.m = layer->band;
    layer->rows.row_align = align_of(layer->data.rows);
    layer->rows.weight_stride = weight->row_elements;
    layer->rows.weight_align = align_of(weight->data);
    layer->data.weight = weight->data;
}

static struct layer layer_of(const struct vrt_cuda_call *call)
{
    const struct vrt_op *op = call->op;
    const struct vrt_tensor *residual = vrt_op_in(op, 1), *out = &op->out;
    struct layer layer = { .band = 0 };
    struct vrt_cuda_rows *rows = &layer.rows;

    take_rows(&layer, call);
    rows->n = out->shape.c;
    rows->out_dtype = out->dtype;
    rows->out_stride = out->stride_w;
    layer.data.out = call->arena + out->offset_bytes;
    rows->out_align = align_of_bands(&layer, layer.data.out, out->stride_w, out->dtype);
    if (residual) {
        rows->has_residual = 1;
        rows->residual_stride = residual->stride_w;
        layer.data.residual = at(call, residual);
        rows->residual_align = align_of_bands(&layer, layer.data.residual, residual->stride_w,
                                              residual->dtype);
    }
    if (op->linear.bias >= 0) {
        rows->has_bias = 1;
        layer.data.bias = call->params[op->linear.bias].data;
    }
    return layer;
}

/* How the band from place `first` on, the last of which may be smaller, is multiplied. Return: as
 * vrt_cuda_cublaslt_find(). */
static int find(struct vrt_cuda_cublaslt *cublaslt, const struct layer *layer, int64_t first,
                const struct vrt_cuda_rows_way **ret_way)
{
    struct vrt_cuda_rows rows = layer->rows;

    rows.m = VRT_MIN(layer->band, layer->n_places - first);
    return vrt_cuda_cublaslt_find(cublaslt, &rows, layer->data.bias, ret_way);
}

int vrt_cuda_cublaslt_can(struct vrt_cuda_cublaslt *cublaslt, const struct vrt_cuda_call *call,
                          bool *ret_can)
{
    const struct layer layer = layer_of(call);
    const int64_t last = (layer.n_places - 1) / layer.band * layer.band;
    const struct vrt_cuda_rows_way *way;
    int r = find(cublaslt, &layer, 0, &way);

    if (!r && way)
        r = find(cublaslt, &layer, last, &way);
    if (!r)
        *ret_can = way != NULL;
    return r;
}

/* The band from place `first` on. */
static struct vrt_cuda_rows_data data_of(const struct layer *layer, int64_t first)
{
    const struct vrt_cuda_rows *rows = &layer->rows;
    const int64_t size = (int64_t)vrt_dtype_size((enum vrt_dtype)rows->out_dtype);
    struct vrt_cuda_rows_data data = layer->data;

    data.out = (char *)data.out + first * rows->out_stride * size;
    if (data.residual)
        data.residual = (const char *)data.residual + first * rows->residual_stride * size;
    return data;
}

int vrt_cuda_cublaslt_linear(struct vrt_cuda_cublaslt *cublaslt, const struct vrt_cuda_call *call,
                             char *scratch)
{
    struct layer layer = layer_of(call);
    int r = 0;

    layer.data.scratch = scratch;
    for (int64_t first = 0; !r && first < layer.n_places; first += layer.band) {
        const struct vrt_cuda_rows_data data = data_of(&layer, first);
        const struct vrt_cuda_rows_way *way;
        if (layer.makes_rows)
            r = vrt_cuda_linear_make_rows(call, first,
                                          VRT_MIN(layer.band, layer.n_places - first));
        if (!r)
            r = find(cublaslt, &layer, first, &way);
        if (!r)
            r = vrt_cuda_cublaslt_run(cublaslt, way, &data, call->stream);
    }
    return r;
}
