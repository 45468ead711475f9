/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The memory of a case: two buffers full of tensors with guard bytes between them, as images on
 * the host. The first is the program's arena, the second what its bindings point into.
 */

#include "tests/conformance/conformance.h"

#define CONF_MAX_TENSORS 16
#define CONF_N_IMAGES 2

struct conf_image {
    unsigned char *data;
    size_t size_bytes, capacity_bytes;
};

struct conf_tensor {
    struct vrt_tensor tensor;
    float *values;              /* inputs, [D,H,W,C]; NULL: an output */
};

struct conf_memory {
    struct conf_image images[CONF_N_IMAGES];
    struct conf_tensor tensors[CONF_MAX_TENSORS];
    int n_tensors;
    size_t binding_offsets[CONF_MAX_TENSORS];   /* in image 1, by slot - 1 */
    int n_bindings;
};

/* Reserves the place of a tensor, filled with poison. `values` (or NULL) is owned from now on. */
struct vrt_tensor conf_memory_add(struct conf_memory *memory, struct conf_spec spec,
                                  float *values);

/* Reserves workspace in the arena. Return: its offset. */
size_t conf_memory_workspace(struct conf_memory *memory, size_t size_bytes);

/* Writes the inputs' values into the images. */
void conf_memory_fill(struct conf_memory *memory);

/* Element (d,h,w,c) of `t`, of images as they were read back from a device. */
double conf_memory_get(const struct conf_memory *memory, unsigned char *const *images,
                       const struct vrt_tensor *t, const int at[4]);

/*
 * Compares with the images everything but the outputs of `op` and [workspace, + workspace_bytes)
 * of the arena. Return: whether nothing changed there; if not, says where.
 */
bool conf_memory_intact(const struct conf_memory *memory, unsigned char *const *images,
                        const struct vrt_op *op, size_t workspace_bytes);

/* How many of the last bytes of [workspace, + workspace_bytes) nobody wrote to. */
size_t conf_memory_unused(const struct conf_memory *memory, unsigned char *const *images,
                          const struct vrt_op *op, size_t workspace_bytes);

/* Frees everything. */
void conf_memory_done(struct conf_memory *memory);
