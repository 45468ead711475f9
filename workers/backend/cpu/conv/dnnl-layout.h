/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What differs between oneDNN 2 and 3: layouts of memory, a struct of the caller's in the one and
 * an object in the other, and how implementations are asked for
 *
 * dnnl-2.c or dnnl-3.c, whichever the library is, is compiled. Both layouts and offers are opaque,
 * those of oneDNN behind other names. Thread: any.
 */

#include <dnnl.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

/* How a tensor lies in memory: its type, its sizes, and the order of its elements. */
struct vrt_dnnl_layout;

/* Of a tensor without gaps; dnnl_format_tag_any leaves the order to an implementation. Freed by the
 * caller. Return: oneDNN's status. */
dnnl_status_t vrt_dnnl_layout_new(int n_dims, const dnnl_dims_t dims, dnnl_data_type_t type,
                                  dnnl_format_tag_t tag, struct vrt_dnnl_layout **ret_layout);

/* Freed by the caller. Return: oneDNN's status. */
dnnl_status_t vrt_dnnl_layout_copy(const struct vrt_dnnl_layout *layout,
                                   struct vrt_dnnl_layout **ret_layout);

/* Return: NULL. */
struct vrt_dnnl_layout *vrt_dnnl_layout_free(struct vrt_dnnl_layout *layout);

/* That of argument `index` of the kind `what` of an implementation, which owns it. */
const struct vrt_dnnl_layout *vrt_dnnl_layout_of(const_dnnl_primitive_desc_t desc,
                                                 dnnl_query_t what, int index);

/* That of a memory object, which owns it. */
const struct vrt_dnnl_layout *vrt_dnnl_memory_layout(const_dnnl_memory_t memory);

/* Whether bytes in the one can be taken for bytes in the other. */
bool vrt_dnnl_layout_equals(const struct vrt_dnnl_layout *a, const struct vrt_dnnl_layout *b);

/* The bytes that it takes. */
size_t vrt_dnnl_layout_bytes(const struct vrt_dnnl_layout *layout);

/* A memory object over `data`, DNNL_MEMORY_ALLOCATE or DNNL_MEMORY_NONE; dnnl_memory_destroy() is
 * the caller's. Return: oneDNN's status. */
dnnl_status_t vrt_dnnl_memory_new(const struct vrt_dnnl_layout *layout, dnnl_engine_t engine,
                                  void *data, dnnl_memory_t *ret_memory);

/* What copies from one layout to another. Return: oneDNN's status. */
dnnl_status_t vrt_dnnl_reorder_describe(dnnl_engine_t engine, const struct vrt_dnnl_layout *from,
                                        const struct vrt_dnnl_layout *to,
                                        dnnl_primitive_desc_t *ret_desc);

/* Adds x < 0 ? slope * x : x to what follows a convolution. Return: oneDNN's status. */
dnnl_status_t vrt_dnnl_append_relu(dnnl_post_ops_t post_ops, float slope);

/* Of strides of 1; borrowed. Paddings are rows, columns. */
struct vrt_dnnl_convolution {
    const struct vrt_dnnl_layout *in, *weights, *out;
    const struct vrt_dnnl_layout *bias;     /* NULL: none */
    dnnl_dims_t pad_first, pad_last;
};

/* What oneDNN offers to compute a convolution by, at the best of it at first. */
struct vrt_dnnl_offers;

/* Freed by the caller. `attr` may be NULL. Return: oneDNN's status, dnnl_unimplemented where there
 * are none. */
dnnl_status_t vrt_dnnl_offers_new(dnnl_engine_t engine,
                                  const struct vrt_dnnl_convolution *convolution,
                                  const_dnnl_primitive_attr_t attr,
                                  struct vrt_dnnl_offers **ret_offers);

/* The one that it is at, which outlives the offers: the caller's to destroy. Return: NULL: no
 * memory. */
dnnl_primitive_desc_t vrt_dnnl_offers_take(const struct vrt_dnnl_offers *offers);

/* Goes to the next best. Return: whether there is one. */
bool vrt_dnnl_offers_next(struct vrt_dnnl_offers *offers);

/* Return: NULL. */
struct vrt_dnnl_offers *vrt_dnnl_offers_free(struct vrt_dnnl_offers *offers);

VRT_DEFINE_CLEANUP(struct vrt_dnnl_layout, vrt_dnnl_layout_free)
VRT_DEFINE_CLEANUP(struct vrt_dnnl_offers, vrt_dnnl_offers_free)
