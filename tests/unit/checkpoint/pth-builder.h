/* SPDX-License-Identifier: MIT */
#pragma once

/* Pickles and checkpoint files byte by byte, right or wrong as a test wants them. */

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "engine/checkpoint.h"

/* A tensor of f32 over the storage of this key, as a pickle states it. */
struct pth_tensor {
    const char *name;
    const char *key;            /* NULL: "0" */
    const char *storage;        /* NULL: "FloatStorage" */
    int64_t n_storage;          /* elements that the storage is said to have */
    int64_t offset;
    int n_dims;
    int64_t dims[10], strides[10];
};

/* Bytes as they are; the literal's own NUL is left out. */
#define pth_ops(buf, literal) pth_bytes(buf, literal, sizeof(literal) - 1)

void pth_bytes(struct vrt_buf *buf, const void *data, size_t size);

/* BINUNICODE. */
void pth_text(struct vrt_buf *buf, const char *text);

/* BININT1 where it is that small, else LONG1 of 8 bytes. */
void pth_int(struct vrt_buf *buf, int64_t value);

/* GLOBAL. */
void pth_global(struct vrt_buf *buf, const char *module, const char *name);

/* The storage's persistent id, resolved. */
void pth_storage(struct vrt_buf *buf, const struct pth_tensor *tensor);

/* The call that makes the tensor, without its name. */
void pth_tensor(struct vrt_buf *buf, const struct pth_tensor *tensor);

/* The name and the tensor: two values. */
void pth_entry(struct vrt_buf *buf, const struct pth_tensor *tensor);

/* What a file of the old format begins with, up to the tree. */
void pth_prologue(struct vrt_buf *buf, int is_little_endian);

/* What it ends with: the one key "0" and its n floats, 0, 1, 2 ... */
void pth_epilogue(struct vrt_buf *buf, int n);

/* An 8-byte little-endian number. */
void pth_u64(struct vrt_buf *buf, uint64_t value);

/* What came of opening some bytes; ended by pth_close(). */
struct pth_opened {
    int r;
    struct vrt_error error;
    struct vrt_checkpoint *checkpoint;  /* NULL: refused */
    void *copy;
};

/*
 * Opens a copy of the bytes that has not one byte to spare, so that a sanitizer sees reads beyond
 * it, and holds the loader to its contract: success with tensors, all of which are then read
 * (those of up to a million elements), or one sentence. `what` is named where it breaks it.
 */
void pth_open(const void *data, size_t size, const char *what, struct pth_opened *ret_opened);

/* Frees the checkpoint and the copy. */
void pth_close(struct pth_opened *opened);

/* Opens the bytes, which have to be refused with a sentence that has this part in it. */
void pth_expect_refused(const struct vrt_buf *buf, const char *what, const char *part);

/* Reads the tensor of this name, which has exactly n elements, and compares them. */
void pth_expect_values(const struct vrt_checkpoint *checkpoint, const char *name,
                       const float *values, int n);
