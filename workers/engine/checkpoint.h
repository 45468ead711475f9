/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Checkpoints: the named tensors of a model file, on the host.
 *
 * Read are .safetensors, and .pth as PyTorch writes them (zip archives since 1.6, and the format
 * before). What a file is, its content says, never its name. Nothing in a file is ever executed,
 * and no size in it is trusted: a bad file is refused with one sentence.
 *
 * A checkpoint often holds its tensors in a container: the one used is, in this order,
 * "params_ema", "params", "state_dict", "model_state_dict", "model", "net", "network",
 * "generator", "weights", else the file itself. Entries that are no tensors (counters, strings,
 * optimiser state) are left out, and so are the prefixes "module." and "_orig_mod." where every
 * name has them. Of a file of mmagic's trainers, whose names begin with "generator_ema.",
 * "generator.", "discriminator." and the like, the first of the two that it has is left, without
 * that prefix.
 *
 * Thread: a checkpoint is immutable once open, and may then be read from any thread.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

#define VRT_CHECKPOINT_DIMS_MAX 8

/* error->id of every refusal of a file for what is in it. */
#define VRT_CHECKPOINT_E_INVALID "model.invalid"

struct vrt_checkpoint;

enum vrt_checkpoint_dtype {
    VRT_CHECKPOINT_F32,
    VRT_CHECKPOINT_F16,
    VRT_CHECKPOINT_BF16,
    VRT_CHECKPOINT_F64,
    VRT_CHECKPOINT_I64,
    VRT_CHECKPOINT_I32,
    VRT_CHECKPOINT_I16,
    VRT_CHECKPOINT_I8,
    VRT_CHECKPOINT_U8,
    VRT_CHECKPOINT_BOOL,
    VRT_CHECKPOINT_DTYPE_COUNT,
};

/*
 * One tensor, owned by its checkpoint. Element (i, j, ...) is at data + (i * strides[0] +
 * j * strides[1] + ...) * bytes per element; every such element lies inside the file's data.
 */
struct vrt_checkpoint_tensor {
    const char *name;           /* valid UTF-8 without control characters, not empty, unique */
    enum vrt_checkpoint_dtype dtype;
    int n_dims;                 /* 0: a scalar */
    int64_t dims[VRT_CHECKPOINT_DIMS_MAX];      /* any may be 0 */
    int64_t strides[VRT_CHECKPOINT_DIMS_MAX];   /* in elements, >= 0; 0 where expanded,
                                                 * or where there is nothing to step over */
    int64_t n_elements;         /* the product of dims */
    const void *data;           /* host byte order, of any alignment; NULL where n_elements is 0 */
};

/* Who looks at names, types and shapes of all tensors before their data, of which there may be any
 * amount, are read. Return: 0: go on; -errno, and `error` says why. */
struct vrt_checkpoint_look {
    int (*look)(void *ctx, const struct vrt_checkpoint *checkpoint, struct vrt_error *error);
    void *ctx;
};

/*
 * Reads the checkpoint in the regular file `fd` from its beginning; the descriptor stays the
 * caller's, its position unchanged, and may be closed afterwards. `name` is what messages call
 * the file. `look` may be NULL.
 * Return: 0; -EINVAL where the content was refused (error->id is VRT_CHECKPOINT_E_INVALID);
 * another -errno for failures underneath. `error` says why in every case. Thread: any.
 */
int vrt_checkpoint_open(int fd, const char *name, const struct vrt_checkpoint_look *look,
                        struct vrt_checkpoint **ret_checkpoint,
                        struct vrt_error *error) VRT_MUST_CHECK;

/* The same for `size` bytes at `data`, which must stay as they are until it is freed. */
int vrt_checkpoint_open_memory(const void *data, size_t size, const char *name,
                               struct vrt_checkpoint **ret_checkpoint,
                               struct vrt_error *error) VRT_MUST_CHECK;

/* One entry of a checkpoint's metadata. */
struct vrt_checkpoint_label {
    const char *key, *value;
};

/* A checkpoint of copies of `n` tensors, as f32, and of `label`. Return: 0; -EINVAL, -ENOMEM;
 * `error` says why. */
int vrt_checkpoint_new(const struct vrt_checkpoint_tensor *tensors, int n,
                       const struct vrt_checkpoint_label *label, const char *name,
                       struct vrt_checkpoint **ret_checkpoint,
                       struct vrt_error *error) VRT_MUST_CHECK;

/* Frees it with all its tensors. Return: NULL. */
struct vrt_checkpoint *vrt_checkpoint_free(struct vrt_checkpoint *checkpoint);

VRT_DEFINE_CLEANUP(struct vrt_checkpoint, vrt_checkpoint_free)

/* How many tensors it has: at least 1. */
int vrt_checkpoint_n_tensors(const struct vrt_checkpoint *checkpoint);

/* Tensor `i` of them, in the file's order. */
const struct vrt_checkpoint_tensor *vrt_checkpoint_tensor(const struct vrt_checkpoint *checkpoint,
                                                          int i);

/* The tensor of this name, or NULL. It takes the time of a few comparisons. */
const struct vrt_checkpoint_tensor *vrt_checkpoint_find(const struct vrt_checkpoint *checkpoint,
                                                        const char *name);

/* The value of `key` in the metadata that a .safetensors file may hold, or NULL. */
const char *vrt_checkpoint_metadata(const struct vrt_checkpoint *checkpoint, const char *key);

/*
 * Writes all n_elements of the tensor to `dst`, row-major without gaps, whatever its strides and
 * dtype: integers and f64 rounded to the nearest f32, bool as 0 or 1. Thread: any.
 */
void vrt_checkpoint_read_f32(const struct vrt_checkpoint_tensor *tensor, float *dst);

/* "f32", "f16", "bf16", "f64", "i64", ... */
const char *vrt_checkpoint_dtype_name(enum vrt_checkpoint_dtype dtype);

/* Bytes per element. */
size_t vrt_checkpoint_dtype_bytes(enum vrt_checkpoint_dtype dtype);
