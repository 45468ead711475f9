/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The parts of the CPU backend that are compiled once for each instruction set
 *
 * Plain loops are left to the compiler to vectorise, so their files are built several times, with
 * other flags and, through VRT_CPU_NAME(), other names; a table gathers what one of the builds
 * offers, and a device picks its table when it is opened.
 *
 * All ops work on rows [y0, y1) of frame d of their output: what a unit of the pool's work is.
 */

#include <stdbool.h>
#include <stddef.h>

#include "backend/op/op.h"

#define VRT_CPU_PASTE2(isa, name) vrt_cpu_##isa##_##name
#define VRT_CPU_PASTE(isa, name) VRT_CPU_PASTE2(isa, name)

/* The name of `name` in this build: vrt_cpu_avx2_add for "add". VRT_CPU_ISA comes from meson. */
#define VRT_CPU_NAME(name) VRT_CPU_PASTE(VRT_CPU_ISA, name)

struct vrt_conv_weights;

/* A param: the weights of a convolution, packed for oneDNN; those that our own loops multiply
 * (product.h, winograd.h); or any other array. */
struct vrt_cpu_param {
    struct vrt_conv_weights *weights;
    float *values;
    size_t n_values;
    enum vrt_dtype dtype;       /* to which the values are rounded, and what they multiply, too */
    bool is_split;              /* into two bf16, which stand for f32: product.h */
    void *matrix;               /* [O][row_units], or as deform.h or winograd.h says: its own, or
                                 * `values` */
    size_t row_units, n_halves; /* n_halves: what it takes of its own, 2 bytes each */
};

/* One run of one op: the op, where its tensors are (element (0,0,0,0) of each), and scratch. */
struct vrt_cpu_call {
    const struct vrt_op *op;
    const struct vrt_cpu_param *params;     /* the replica's, by the op's indices */
    const void *in[VRT_OP_MAX_IN];
    void *out, *out_more[2];
    void *scratch;              /* of this thread: scratch_bytes(op), aligned to 64 */
    void *shared;               /* of all: shared_bytes(op) */
};

/* Bytes of a row's elements. */
static inline size_t vrt_cpu_tensor_row_bytes(const struct vrt_tensor *t)
{
    return (size_t)t->shape.w * (size_t)t->shape.c * vrt_dtype_size(t->dtype);
}

struct vrt_cpu_kernel {
    /* Computes rows [y0, y1) of frame d of the output (rgb_to_yuv: of the first plane), or looks
     * at those of in[0]. */
    void (*rows)(const struct vrt_cpu_call *call, int d, int y0, int y1);

    /* Of each thread. NULL: none. */
    size_t (*scratch_bytes)(const struct vrt_op *op);

    /* Of all threads together. NULL: none. */
    size_t (*shared_bytes)(const struct vrt_op *op);

    /* Optional: called for each frame of the output once all rows are done. */
    void (*join)(const struct vrt_cpu_call *call, int d);

    /* Bands begin at multiples of this many rows. NULL: 1. */
    int (*align_rows)(const struct vrt_op *op);

    /* What a row costs, as bytes that a plain op would have to write in that time. NULL: those of
     * a row of what is cut. */
    size_t (*row_bytes)(const struct vrt_op *op);

    bool cuts_input;            /* the rows are in[0]'s: the output is a few numbers */
    /* Optional: what the op is cut into, where that isn't bands of rows. Then rows() is called
     * with d = 0 and the units [y0, y1). */
    int (*n_units)(const struct vrt_op *op);
};

/* What follows a convolution's sums: out = activation(sums) * scale + residual. */
struct vrt_cpu_epilogue {
    const float *sums;          /* [n,O] dense: of one row */
    const float *slopes;        /* [O], or NULL: no activation */
    float scale;
    const struct vrt_tensor *residual, *out;
    const void *residual_base;  /* NULL: none */
    void *out_base;
    float *scratch;             /* vrt_cpu_isa.epilogue_scratch_bytes() of it */
};

struct vrt_cpu_isa {
    const char *name;
    const struct vrt_cpu_kernel *kernels[VRT_OP_KIND_COUNT];    /* conv2d: by Winograd's way */

    /* Around convolutions: finishes n pixels from (d, y, x) = first on. */
    void (*epilogue)(const struct vrt_cpu_epilogue *e, const int first[3], int n);
    size_t (*epilogue_scratch_bytes)(int channels);

    /* Copies n pixels from (d, y, x) = at on to dst, [n,C] dense. */
    void (*gather)(const struct vrt_tensor *t, const void *base, const int at[3], int n,
                   void *dst);
};

/* The kernel of an op whose weights are bf16, for machines that multiply these; NULL: none. */
const struct vrt_cpu_kernel *vrt_cpu_bf16_kernel(enum vrt_op_kind kind);

/* Of an op whose weights are f32 in a replica of bf16, for machines that multiply split numbers in
 * less time than f32. Their weights are packed for it where there is one: NULL: there are none. */
const struct vrt_cpu_kernel *vrt_cpu_split_kernel(enum vrt_op_kind kind);

/* That of weights that are bf16, by vectors alone. */
const struct vrt_cpu_kernel *vrt_cpu_bf16_vectors(enum vrt_op_kind kind);

/* The best of those built that this machine has, and that oneDNN was not told to do without. */
const struct vrt_cpu_isa *vrt_cpu_isa_best(void);
