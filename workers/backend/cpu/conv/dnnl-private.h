/* SPDX-License-Identifier: MIT */
#pragma once

/* oneDNN's side of the convolutions: what dnnl.c finds out, and conv2d.c uses. */

#include <dnnl.h>
#include <pthread.h>

#include "backend/cpu/conv/conv2d.h"
#include "backend/cpu/conv/dnnl-layout.h"

struct vrt_dnnl {
    dnnl_engine_t engine;
    dnnl_stream_t *streams;         /* one a thread */
    int n_threads;
    bool has_bf16;                  /* fast convolutions in it, */
    bool has_tiles;                 /* by AMX's tiles */
    pthread_mutex_t lock;           /* of the weights made by it, which several devices may use */
};

/* One call's shape: frames 1, stride 1. */
struct vrt_dnnl_shape {
    int in_c, out_c, k;
    int in_h, in_w, pad_top, pad_bottom, pad_side;
    enum vrt_dtype dtype, out_dtype;        /* of input and weights; of the output */
    bool has_bias;
    bool has_activation;            /* fused: x < 0 ? slope * x : x */
    float slope;
};

struct vrt_conv_layout {
    dnnl_memory_t memory;           /* oneDNN owns the bytes */
    struct vrt_conv_layout *next;
};

/* The same weights once for each layout that somebody wants. The one first packed stays: it is what
 * checksums are made of. */
struct vrt_conv_weights {
    struct vrt_dnnl *dnnl;
    struct vrt_dnnl_layout *first;  /* as they were packed */
    struct vrt_conv_layout *layouts;        /* under dnnl->lock; the first one is the last */
};

/* "out of memory" or "some failure" of ours for a status of oneDNN's, logged with `what`. */
int vrt_dnnl_raise(dnnl_status_t status, const char *what);

/* oneDNN's name of a type. */
dnnl_data_type_t vrt_dnnl_type(enum vrt_dtype dtype);

/*
 * The best implementation for `shape` whose weights have the layout `weights` (NULL: any).
 * Return: 0; -ENOENT, where there is none but the slow reference, which is taken only for f32 in
 * any layout; -ENOMEM, -EIO.
 */
int vrt_dnnl_describe(struct vrt_dnnl *dnnl, const struct vrt_dnnl_shape *shape,
                      const struct vrt_dnnl_layout *weights, dnnl_primitive_desc_t *ret_desc);

/* Whether the implementation `name` must not be made for `shape` by oneDNN of this version. */
bool vrt_dnnl_is_faulty(const dnnl_version_t *version, const char *name,
                        const struct vrt_dnnl_shape *shape);

/* The layout that weights of this shape are kept in; freed by the caller. Return: as
 * vrt_dnnl_describe(). */
int vrt_dnnl_weights_layout(struct vrt_dnnl *dnnl, const struct vrt_dnnl_shape *shape,
                            struct vrt_dnnl_layout **ret_layout);

/* For VRT_CLEANUP. */
void vrt_dnnl_descp(dnnl_primitive_desc_t *desc);

/*
 * A handle on the weights as the implementation `desc` wants them; where a rare shape wants another
 * layout, they have that one too from then on. The caller, whose engine it is, destroys
 * *ret_memory, before the weights. Thread: any. Return: 0; -ENOMEM, -EIO.
 */
int vrt_conv_weights_fit(struct vrt_conv_weights *weights, dnnl_engine_t engine,
                         const_dnnl_primitive_desc_t desc, dnnl_memory_t *ret_memory);

/*
 * A convolution is cut into tiles of the output: whole rows where the input is dense, so that it
 * is used in place, or small squares of a view, whose input is copied into scratch memory.
 */
struct vrt_conv_tile {
    int d, y0, y1, x0, x1;
};

/* Memory objects are bound to addresses, so each thread has its own. */
struct vrt_conv_binding {
    dnnl_memory_t in, out, scratchpad;
};

/* One shape that tiles have: those at the edges and the last ones differ from the others. */
struct vrt_conv_variant {
    struct vrt_dnnl_shape shape;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;             /* NULL while there are no weights */
    dnnl_memory_t weights;                  /* a handle on the replica's, almost always */
    struct vrt_conv_binding *bindings;      /* [n_threads] */
};

/* Rows: up to 3 tiles meet the padding above, 3 that below. Squares: whole or cut, each way. */
#define VRT_CONV_MAX_VARIANTS 8

struct vrt_conv {
    struct vrt_dnnl *dnnl;
    struct vrt_conv_params params;          /* params.op points to `op` */
    struct vrt_op op;
    bool gathers;                           /* tiles of the input are copied first */
    bool finishes;                          /* sums go through the epilogue */
    float *slopes;                          /* [O]; NULL: the epilogue has no activation */
    dnnl_memory_t bias;

    int tile_h, tile_w, n_tiles_y, n_tiles_x;
    struct vrt_conv_variant variants[VRT_CONV_MAX_VARIANTS];
    int n_variants;

    /* Places in a thread's scratch memory, whose first part is the copy of the input. */
    size_t sums_offset, rows_offset, scratchpad_offset, scratch_bytes;
};

/* Tile `unit` of all frames. */
struct vrt_conv_tile vrt_conv_tile(const struct vrt_conv *conv, int unit);

/* The variant that computes a tile. */
const struct vrt_conv_variant *vrt_conv_variant(const struct vrt_conv *conv,
                                                const struct vrt_conv_tile *tile);

/* Everything of a convolution that depends on shapes and the device. Return: 0; -ENOMEM, -EIO. */
int vrt_conv_describe(struct vrt_dnnl *dnnl, const struct vrt_op *op,
                      const struct vrt_cpu_isa *isa, struct vrt_conv **ret_conv);
