/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The params that an architecture takes over from a checkpoint, one by one, by name and shape
 *
 * Each vrt_params_take() copies one tensor; what is asked for and isn't there, isn't of that
 * shape, or isn't made of finite numbers is refused, and so is, at the end, a tensor that nobody
 * asked for: a network that is nearly a known one would give nearly the right picture.
 *
 * Thread: any one at a time.
 */

#include "backend/backend.h"
#include "base/error.h"

struct vrt_checkpoint;
struct vrt_checkpoint_tensor;

#define VRT_PARAMS_DIMS_MAX 5

/* No known network has a quarter of this; a tensor expanded by a stride of 0 may have any size. */
#define VRT_PARAMS_VALUES_MAX (INT64_C(1) << 28)

struct vrt_params {
    /* While they are taken. */
    const struct vrt_checkpoint *checkpoint;
    const char *source;             /* what messages call the checkpoint */
    const char *network;            /* what messages call the architecture: "SRVGGNetCompact" */
    struct vrt_error *error;

    struct vrt_param *items;        /* in the order of taking; names and data are owned */
    size_t n_items, capacity;
    const struct vrt_checkpoint_tensor **taken;     /* what was asked for, params or not */
    size_t n_taken, capacity_taken;
    int64_t n_values;               /* of all params that were learned */
};

/* A tensor that a network has, and what becomes of it. */
struct vrt_params_want {
    int n_dims;
    int dims[VRT_PARAMS_DIMS_MAX];
    int left_out;                   /* a dimension of extent 1 that the param doesn't have, counted
                                     * from 1; 0: none */
    enum vrt_param_use use;
};

/* Frees the params; it is empty afterwards. */
void vrt_params_done(struct vrt_params *params);

/*
 * Copies the tensor whose name `format` makes and whose shape is `dims` (n_dims of them, 1 to 4).
 * Return: 0; -EINVAL if it is refused (params->error says why); -ENOMEM.
 */
int vrt_params_take(struct vrt_params *params, const int *dims, int n_dims, const char *format,
                    ...) VRT_PRINTF(4, 5) VRT_MUST_CHECK;

/* The same, for what isn't kept as it is. */
int vrt_params_take_as(struct vrt_params *params, const struct vrt_params_want *want,
                       const char *format, ...) VRT_PRINTF(3, 4) VRT_MUST_CHECK;

/* Takes "<layer>.weight" as `weight` says and "<layer>.bias", with an element for each of its rows;
 * `format` makes the layer's name. Return: as vrt_params_take(). */
int vrt_params_take_layer(struct vrt_params *params, const struct vrt_params_want *weight,
                          const char *format, ...) VRT_PRINTF(3, 4) VRT_MUST_CHECK;

/*
 * Takes a tensor as vrt_params_take_as() does, for what a network computes its params of: *ret_data
 * are its numbers, row by row, the caller's to free.
 * Return: as vrt_params_take().
 */
int vrt_params_read(struct vrt_params *params, const struct vrt_params_want *want, float **ret_data,
                    const char *format, ...) VRT_PRINTF(4, 5) VRT_MUST_CHECK;

/*
 * Takes a buffer: numbers that were never learned, and that PyTorch stores all the same. They are
 * `values`, one for each element, or within `tolerance` of them; of any type.
 * Return: as vrt_params_take().
 */
int vrt_params_check(struct vrt_params *params, const struct vrt_params_want *want,
                     const float *values, float tolerance, const char *format, ...)
    VRT_PRINTF(5, 6) VRT_MUST_CHECK;

/*
 * Takes the buffer `name` of an attention in windows of `window` places (d, h, w): the row of its
 * bias table that each place uses for each other, as docs/ops.md numbers them.
 * Return: as vrt_params_take().
 */
int vrt_params_check_window(struct vrt_params *params, const int window[3], const char *name)
    VRT_MUST_CHECK;

/* Leaves out the buffer `name`, if it is there, whatever it holds: nothing follows from it.
 * Return: 0; -ENOMEM. */
int vrt_params_leave(struct vrt_params *params, const char *name) VRT_MUST_CHECK;

/* Appends a param that no checkpoint holds, of copies of `name` and `values`. Return: 0; -EINVAL
 * where a value isn't finite; -ENOMEM. */
int vrt_params_add(struct vrt_params *params, const struct vrt_params_want *want,
                   const float *values, const char *name) VRT_MUST_CHECK;

/* A 3x3 convolution of stride 2, `strided` [O,I,3,3], as one of what has its squares of 2x2 samples
 * folded into channels, in the order of pixel_unshuffle: `weight` [O,4*I,3,3], zeros before. */
void vrt_params_fold_stride(const float *strided, int c_out, int c_in, float *weight);

/* Return: 0; -EINVAL if the checkpoint has a tensor that wasn't taken (the error names it). */
int vrt_params_finish(struct vrt_params *params) VRT_MUST_CHECK;

/* Fills the error with a sentence "SOURCE is an NETWORK ...". Return: -EINVAL. */
int vrt_params_refuse(struct vrt_params *params, const char *format, ...) VRT_PRINTF(2, 3);

/* The largest N of the checkpoint's names "<prefix>N" and "<prefix>N.<more>"; -1 if none is so. */
int vrt_params_last_index(const struct vrt_checkpoint *checkpoint, const char *prefix);

/* Extent `dim` of the tensor `name` if that has `n_dims` of them, all sensible; 0 otherwise. */
int vrt_params_extent(const struct vrt_checkpoint *checkpoint, const char *name, int n_dims,
                      int dim);
