/* SPDX-License-Identifier: MIT */

/*
 * Convolutions to 24 channels: weights, rows, and the edges of the picture
 *
 * Tiles inside the picture read it in place. One at the left or right edge reads a copy of its
 * rows that is continued with zeros; rows above and below the picture are left out.
 */

#include "backend/cpu/conv/narrow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHANNELS VRT_NARROW_CHANNELS
#define ALIGN 64

struct vrt_narrow_weights {
    size_t size_bytes;
    int in_c, k;
    enum vrt_dtype dtype;
    void *data;                 /* [K,K,I,24] f32, or [K,K,I/2,24,2] bf16 */
};

struct vrt_narrow {
    struct vrt_op op;
    const struct vrt_narrow_kernel *kernel;
    const struct vrt_narrow_weights *weights;
    float bias[CHANNELS], slopes[CHANNELS];
    size_t in_element, out_element, residual_element;
};

bool vrt_narrow_fits(const int dims[4], enum vrt_dtype dtype)
{
    /* bf16 is multiplied in pairs of channels. */
    return dims[0] == CHANNELS && (dtype != VRT_DTYPE_BF16 || dims[1] % 2 == 0) &&
           vrt_narrow_kernel(dtype);
}

/* To nearest, ties to even; weights are finite or may become what they like. */
static uint16_t to_bf16(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* from [24,I,K,K] to the layouts of struct vrt_narrow_weights */
static void pack(const float *from, struct vrt_narrow_weights *to, enum vrt_dtype dtype)
{
    const int I = to->in_c, K = to->k;
    uint16_t *bf16 = to->data;
    float *f32 = to->data;

    for (int tap = 0; tap < K * K; tap++)
    for (int i = 0; i < I; i++)
    for (int o = 0; o < CHANNELS; o++) {
        const float w = from[(o * I + i) * K * K + tap];

        if (dtype == VRT_DTYPE_BF16)
            bf16[((tap * I / 2 + i / 2) * CHANNELS + o) * 2 + i % 2] = to_bf16(w);
        else
            f32[(tap * I + i) * CHANNELS + o] = w;
    }
}

int vrt_narrow_weights_new(const int dims[4], enum vrt_dtype dtype,
                           struct vrt_narrow_weights **ret_weights)
{
    struct vrt_narrow_weights *weights = calloc(1, sizeof(*weights));
    const size_t n = (size_t)CHANNELS * (size_t)dims[1] * (size_t)dims[2] * (size_t)dims[2];

    if (!weights)
        return vrt_raise(-ENOMEM);
    weights->in_c = dims[1];
    weights->k = dims[2];
    weights->dtype = dtype;
    weights->size_bytes = (n * vrt_dtype_size(dtype) + ALIGN - 1) / ALIGN * ALIGN;
    *ret_weights = weights;
    return 0;
}

int vrt_narrow_weights_fill(struct vrt_narrow_weights *weights, const struct vrt_param *param)
{
    weights->data = aligned_alloc(ALIGN, weights->size_bytes);
    if (!weights->data)
        return vrt_raise(-ENOMEM);
    /* What rounding adds counts in checksums. */
    memset(weights->data, 0, weights->size_bytes);
    pack(param->data, weights, weights->dtype);
    return 0;
}

struct vrt_narrow_weights *vrt_narrow_weights_free(struct vrt_narrow_weights *weights)
{
    if (!weights)
        return NULL;
    free(weights->data);
    free(weights);
    return NULL;
}

size_t vrt_narrow_weights_bytes(const struct vrt_narrow_weights *weights)
{
    return weights->size_bytes;
}

const void *vrt_narrow_weights_data(const struct vrt_narrow_weights *weights)
{
    return weights->data;
}

/* Of a row of an edge tile: its pixels, and those that its taps reach. */
static size_t edge_row_bytes(const struct vrt_op *op, const struct vrt_narrow_kernel *kernel)
{
    const struct vrt_tensor *in = &op->in[0];

    return (size_t)(kernel->columns + op->conv2d.kernel - 1) * (size_t)in->shape.c *
           vrt_dtype_size(in->dtype);
}

size_t vrt_narrow_scratch_bytes(const struct vrt_op *op)
{
    return edge_row_bytes(op, vrt_narrow_kernel(op->in[0].dtype)) * (size_t)op->conv2d.kernel;
}

int vrt_narrow_new(const struct vrt_op *op, const struct vrt_narrow_weights *weights,
                   const float *bias, const float *slopes, struct vrt_narrow **ret_narrow)
{
    const struct vrt_tensor *residual = vrt_op_in(op, 1);
    struct vrt_narrow *narrow = calloc(1, sizeof(*narrow));

    if (!narrow)
        return vrt_raise(-ENOMEM);
    narrow->op = *op;
    narrow->kernel = vrt_narrow_kernel(op->in[0].dtype);
    narrow->weights = weights;
    narrow->in_element = vrt_dtype_size(op->in[0].dtype);
    narrow->out_element = vrt_dtype_size(op->out.dtype);
    narrow->residual_element = residual ? vrt_dtype_size(residual->dtype) : 0;
    for (int i = 0; i < CHANNELS; i++) {
        const float slope[] = {
            [VRT_ACTIVATION_NONE] = 1,
            [VRT_ACTIVATION_RELU] = 0,
            [VRT_ACTIVATION_LEAKY_RELU] = op->conv2d.slope,
            [VRT_ACTIVATION_PRELU] = slopes ? slopes[i] : 0,
        };

        narrow->slopes[i] = slope[op->conv2d.activation];
        narrow->bias[i] = bias ? bias[i] : 0;
    }
    *ret_narrow = narrow;
    return 0;
}

struct vrt_narrow *vrt_narrow_free(struct vrt_narrow *narrow)
{
    free(narrow);
    return NULL;
}

/*
 * Copies what lies inside the picture of the tile's rows, which begin at column x (maybe outside),
 * to scratch memory, zeros elsewhere, and has the tile read that.
 */
static void copy_edge(const struct vrt_narrow *narrow, const struct vrt_cpu_call *call, int x,
                      struct vrt_narrow_tile *tile)
{
    const struct vrt_tensor *in = &narrow->op.in[0];
    const size_t pixel = (size_t)in->shape.c * narrow->in_element;
    const size_t row_bytes = edge_row_bytes(&narrow->op, narrow->kernel);
    const int n = narrow->kernel->columns + tile->k - 1;
    const int first = VRT_MAX(0, -x), last = VRT_MIN(n, in->shape.w - x);

    memset(call->scratch, 0, row_bytes * (size_t)tile->n_rows);
    for (int i = 0; i < tile->n_rows; i++) {
        char *dst = (char *)call->scratch + (size_t)i * row_bytes;
        const char *src = tile->rows[i];

        for (int k = first; k < last; k++)
            memcpy(dst + (size_t)k * pixel, src + (ptrdiff_t)k * (ptrdiff_t)tile->in_stride,
                   pixel);
        tile->rows[i] = dst;
    }
    tile->in_stride = pixel;
}

/* The part of a tile that is the same all along row y of frame d. */
static struct vrt_narrow_tile begin_row(const struct vrt_narrow *narrow,
                                        const struct vrt_cpu_call *call, int d, int y)
{
    const struct vrt_op *op = &narrow->op;
    const struct vrt_tensor *out = &op->out, *residual = &op->in[1];
    const int k = op->conv2d.kernel, side = k / 2, h = out->shape.h;
    const int first = VRT_MAX(side - y, 0), last = VRT_MIN(k, h + side - y);
    const size_t weights_row = (size_t)k * (size_t)op->in[0].shape.c * CHANNELS *
                               narrow->in_element;
    struct vrt_narrow_tile tile = {
        .n_rows = last - first,
        .k = k,
        .units = op->in[0].dtype == VRT_DTYPE_BF16 ? op->in[0].shape.c / 2 : op->in[0].shape.c,
        .weights = (const char *)narrow->weights->data + (size_t)first * weights_row,
        .bias = narrow->bias,
        .slopes = narrow->slopes,
        .scale = op->conv2d.scale,
        .out_dtype = out->dtype,
        .out = (char *)call->out + (size_t)(d * out->stride_d + y * out->stride_h) *
                                       narrow->out_element,
        .out_stride = (size_t)out->stride_w * narrow->out_element,
    };

    if (call->in[1]) {
        tile.residual_dtype = residual->dtype;
        tile.residual = (const char *)call->in[1] +
                        (size_t)(d * residual->stride_d + y * residual->stride_h) *
                            narrow->residual_element;
        tile.residual_stride = (size_t)residual->stride_w * narrow->residual_element;
    }
    return tile;
}

static void run_row(const struct vrt_narrow *narrow, const struct vrt_cpu_call *call, int d, int y)
{
    const struct vrt_tensor *in = &narrow->op.in[0];
    const struct vrt_narrow_tile row = begin_row(narrow, call, d, y);
    const int k = row.k, side = k / 2, columns = narrow->kernel->columns, w = in->shape.w;
    const int first_y = VRT_MAX(y - side, 0);

    for (int x = 0; x < w; x += columns) {
        struct vrt_narrow_tile tile = row;

        tile.n = VRT_MIN(columns, w - x);
        tile.out += (size_t)x * row.out_stride;
        if (row.residual)
            tile.residual += (size_t)x * row.residual_stride;
        tile.in_stride = (size_t)in->stride_w * narrow->in_element;
        for (int i = 0; i < row.n_rows; i++)
            tile.rows[i] = (const char *)call->in[0] +
                           (d * in->stride_d + (first_y + i) * in->stride_h +
                            (x - side) * in->stride_w) * (int64_t)narrow->in_element;
        if (x < side || x + columns + side > w)
            copy_edge(narrow, call, x - side, &tile);
        narrow->kernel->tile(&tile);
    }
}

void vrt_narrow_rows(const struct vrt_narrow *narrow, const struct vrt_cpu_call *call, int d,
                     const int y[2])
{
    for (int i = y[0]; i < y[1]; i++)
        run_row(narrow, call, d, i);
}
