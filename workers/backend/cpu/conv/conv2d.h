/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Convolutions by oneDNN, called single-threaded from the pool's threads
 *
 * A tile of the output is one call. Activations stay channels-last: rows of a dense tensor are
 * used in place, squares of a view are copied first, into scratch memory that stays in the
 * second-level cache, because oneDNN has no fast implementation for a view. Where it would leave
 * its fast implementations to fuse something (PReLU, a residual, a strided output), the sums of a
 * tile go to scratch memory instead and the epilogue does the rest from there.
 *
 * Primitives are cached by oneDNN itself, keyed by shape: the same layer of another program, or
 * another layer of the same shape, makes none.
 */

#include "backend/backend.h"
#include "backend/cpu/isa/isa.h"
#include "backend/cpu/threads/order.h"

struct vrt_dnnl;
struct vrt_conv;
struct vrt_conv_weights;

/* Keeps oneDNN from starting threads of its own below the calling thread, once and for all. */
void vrt_dnnl_enter_thread(void);

/* oneDNN for a device of n_threads threads. Thread: the device's. Return: 0; -ENOMEM; -EIO. */
int vrt_dnnl_new(int n_threads, struct vrt_dnnl **ret_dnnl);

/* Return: NULL. */
struct vrt_dnnl *vrt_dnnl_free(struct vrt_dnnl *dnnl);

/* Whether convolutions in `dtype` have a fast implementation here. */
bool vrt_dnnl_supports(const struct vrt_dnnl *dnnl, enum vrt_dtype dtype);

/*
 * A place for a convolution's weights, [O,I,K,K], in the layout of the implementation that will use
 * them. `dnnl` must outlive them, and is used by one thread at a time. Return: 0; -ENOMEM, -EIO.
 */
int vrt_conv_weights_new(struct vrt_dnnl *dnnl, const int dims[4], enum vrt_dtype dtype,
                         struct vrt_conv_weights **ret_weights);

/* Packs them, once; from then on any thread may use them. Return: 0; -ENOMEM, -EIO. */
int vrt_conv_weights_fill(struct vrt_conv_weights *weights, const struct vrt_param *param);

/* Return: NULL. */
struct vrt_conv_weights *vrt_conv_weights_free(struct vrt_conv_weights *weights);

/* Bytes that they take as they are first packed, before some rare shape wants another layout. */
size_t vrt_conv_weights_bytes(const struct vrt_conv_weights *weights);

/* So many bytes, once they are packed. */
const void *vrt_conv_weights_data(const struct vrt_conv_weights *weights);

/* What a convolution is recorded from. The vectors and weights must outlive it. */
struct vrt_conv_params {
    const struct vrt_op *op;
    const struct vrt_cpu_isa *isa;
    struct vrt_conv_weights *weights;
    const float *bias;              /* [O], or NULL */
    const float *slopes;            /* [O]: PReLU */
};

/* Return: 0; -ENOMEM; -EIO, where oneDNN refused it. */
int vrt_conv_new(struct vrt_dnnl *dnnl, const struct vrt_conv_params *params,
                 struct vrt_conv **ret_conv);

/* Return: NULL. */
struct vrt_conv *vrt_conv_free(struct vrt_conv *conv);

/* Its tiles, a unit each: a matter of its shapes, and by AMX of how many threads there are; what it
 * computes is the same. */
struct vrt_cpu_cut vrt_conv_cut(const struct vrt_conv *conv);

/* Scratch memory of one thread. */
size_t vrt_conv_scratch_bytes(const struct vrt_conv *conv);

/* The same before there are weights, for weights of any type. Return: 0; -errno. */
int vrt_conv_measure(struct vrt_dnnl *dnnl, const struct vrt_op *op, const struct vrt_cpu_isa *isa,
                     size_t *ret_scratch_bytes);

/* Computes one tile. Return: 0; -EIO, where oneDNN failed. Thread: `thread` of the pool. */
int vrt_conv_run(const struct vrt_conv *conv, const struct vrt_cpu_call *call, int unit,
                 int thread);

VRT_DEFINE_CLEANUP(struct vrt_dnnl, vrt_dnnl_free)
VRT_DEFINE_CLEANUP(struct vrt_conv, vrt_conv_free)
VRT_DEFINE_CLEANUP(struct vrt_conv_weights, vrt_conv_weights_free)
