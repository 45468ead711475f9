/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Convolutions to 24 channels, the width of the default network, by loops of our own
 *
 * oneDNN computes 16 channels at a time, so that a quarter of what it multiplies is thrown away,
 * and leaves PReLU and residuals to another pass. Three vectors of 8 hold 24 channels exactly, and
 * everything is done to the sums while they are in registers; inputs and outputs may be views.
 * Used where vectors of 8 are as fast as those of 16 (narrow-x86.c says where).
 */

#include "backend/backend.h"
#include "backend/cpu/isa/isa.h"

#define VRT_NARROW_CHANNELS 24

/* A few neighbouring pixels of one row of the output. Strides are in bytes, from pixel to pixel. */
struct vrt_narrow_tile {
    const char *rows[7];        /* of the input, where the taps of the first pixel begin */
    size_t in_stride;
    int n_rows, k, units;       /* rows inside the picture; K; I, or for bf16 I / 2 */
    const void *weights;        /* from the first of those rows on: [n_rows,K,units,24] */
    const float *bias, *slopes; /* [24] */
    float scale;
    const char *residual;       /* NULL: none */
    size_t residual_stride;
    enum vrt_dtype residual_dtype, out_dtype;
    char *out;
    size_t out_stride;
    int n;                      /* how many pixels are stored; all are computed */
};

/* What an instruction set offers for one type. */
struct vrt_narrow_kernel {
    void (*tile)(const struct vrt_narrow_tile *tile);
    int columns;                /* pixels of a tile */
};

struct vrt_narrow;
struct vrt_narrow_weights;

/* The loops for `dtype` on this machine, or NULL where there are none, or oneDNN is faster. */
const struct vrt_narrow_kernel *vrt_narrow_kernel(enum vrt_dtype dtype);

/* Whether a convolution of [24,I,K,K] weights of this type is done here. */
bool vrt_narrow_fits(const int dims[4], enum vrt_dtype dtype);

/* A place for weights that fit. Return: 0; -ENOMEM. */
int vrt_narrow_weights_new(const int dims[4], enum vrt_dtype dtype,
                           struct vrt_narrow_weights **ret_weights);

/* Packs them, once; from then on any thread may use them. Return: 0; -ENOMEM. */
int vrt_narrow_weights_fill(struct vrt_narrow_weights *weights, const struct vrt_param *param);

/* Return: NULL. */
struct vrt_narrow_weights *vrt_narrow_weights_free(struct vrt_narrow_weights *weights);

/* Bytes that they take. */
size_t vrt_narrow_weights_bytes(const struct vrt_narrow_weights *weights);

/* So many bytes, once they are packed. */
const void *vrt_narrow_weights_data(const struct vrt_narrow_weights *weights);

/* Scratch memory of one thread, for an op that fits. */
size_t vrt_narrow_scratch_bytes(const struct vrt_op *op);

/*
 * Records a convolution. bias and slopes ([24], or NULL) are copied, the weights are not.
 * Return: 0; -ENOMEM.
 */
int vrt_narrow_new(const struct vrt_op *op, const struct vrt_narrow_weights *weights,
                   const float *bias, const float *slopes, struct vrt_narrow **ret_narrow);

/* Return: NULL. */
struct vrt_narrow *vrt_narrow_free(struct vrt_narrow *narrow);

/* Computes rows [y0, y1) of frame d of the output. Thread: any of the pool. */
void vrt_narrow_rows(const struct vrt_narrow *narrow, const struct vrt_cpu_call *call, int d,
                     const int y[2]);

VRT_DEFINE_CLEANUP(struct vrt_narrow, vrt_narrow_free)
VRT_DEFINE_CLEANUP(struct vrt_narrow_weights, vrt_narrow_weights_free)
