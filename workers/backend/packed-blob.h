/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Weights packed into one block, for devices with memory of their own
 *
 * What is packed on the host is, byte for byte, what a device gets, so that any part of it can be
 * copied by itself. On the host a matrix is [outputs][inputs][taps]; the backend's rule says in
 * which order its elements are in the block. Vectors and tables are f32 and as they were. Each
 * param begins at a multiple of 256 bytes, and what the rule adds is zeros.
 *
 * Threads: as of the functions of struct vrt_backend_ops that these are, or are called by.
 */

#include <stddef.h>

#include "backend/backend-impl.h"

enum vrt_packed_order {
    VRT_PACKED_TAPS_INPUTS_OUTPUTS,
    VRT_PACKED_OUTPUTS_TAPS_INPUTS,
    VRT_PACKED_SLABS,
};

/*
 * Slabs: for each tap one of `slab_inputs` inputs after the other, of all outputs, these filled up.
 * Within it inputs come before outputs in f32, and after them in 16 bits. The last has the last
 * inputs, and zeros for those that the one before it has already.
 */
struct vrt_packed_rule {
    enum vrt_packed_order order;    /* of a matrix; the last changes fastest */
    size_t align_elements;          /* to a multiple of which that last is filled up */
    size_t slab_inputs;             /* of slabs */
};

/* Where a param's elements are, in elements from its place. */
struct vrt_packed_layout {
    enum vrt_dtype dtype;
    size_t outputs, inputs, taps;   /* of a vector or a table: 1, 1 and all */
    size_t output_stride, input_stride, tap_stride;
    size_t slab_inputs, slab_stride;        /* without slabs: all inputs, 0 */
    size_t n_elements;              /* with the zeros */
};

/* The layout of a param, whose data isn't looked at, in a replica whose weights are `dtype`. */
struct vrt_packed_layout vrt_packed_layout_of(const struct vrt_packed_rule *rule,
                                              const struct vrt_param *param,
                                              enum vrt_dtype dtype);

/* Where an element is. */
size_t vrt_packed_layout_at(const struct vrt_packed_layout *layout, size_t output, size_t input,
                            size_t tap);

/* What a backend's packed_new() does, once it knows that the device has the type. */
int vrt_packed_blob_new(const struct vrt_packed_rule *rule, const struct vrt_pack *pack,
                        struct vrt_packed_place *places, struct vrt_packed **ret_packed);

/* See struct vrt_backend_ops: packed_fill(), packed_free(), for what vrt_packed_blob_new() made. */
int vrt_packed_blob_fill(struct vrt_packed *packed, const struct vrt_pack *pack, size_t i);
void vrt_packed_blob_free(struct vrt_packed *packed);

/* The block: size_bytes of it, of which those are final that were filled. */
const char *vrt_packed_blob_bytes(const struct vrt_packed *packed);
