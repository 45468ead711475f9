/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * For the readers of the formats: what they are given, and how they fill a checkpoint.
 *
 * A reader finds its tensors in the bytes of the source and adds each with vrt_checkpoint_add(),
 * which is the one place that decides whether a tensor's shape, place and name can be believed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "engine/checkpoint.h"
#include "engine/checkpoint/arena.h"
#include "engine/checkpoint/image.h"
#include "engine/checkpoint/text.h"

struct vrt_checkpoint {
    struct vrt_image image;
    struct vrt_cp_arena arena;      /* names, metadata, data that is not in the image */
    struct vrt_checkpoint_tensor *tensors;
    int n_tensors, capacity;
    const struct vrt_checkpoint_tensor **by_name;       /* sorted */
    struct vrt_checkpoint_label *metadata;
    int n_metadata;
};

/* What is being read. Lives until the reader returns. */
struct vrt_checkpoint_source {
    const uint8_t *data;                /* of these, what vrt_checkpoint_need() was asked for */
    size_t size_bytes;
    struct vrt_image *image;            /* whose they are; NULL: the caller's, and all there */
    const char *name;                   /* for messages; may hold anything */
    const struct vrt_checkpoint_look *look;     /* NULL: nobody looks */
    struct vrt_checkpoint *checkpoint;  /* to be filled */
    uint64_t elements_left;             /* how many more its tensors may have in sum */
    bool keeps_image;                   /* out: tensors point into `data` */
    struct vrt_error *error;
};

/* A tensor as a file states it: nothing of it is trusted. */
struct vrt_checkpoint_entry {
    struct vrt_text name;
    enum vrt_checkpoint_dtype dtype;
    int n_dims;                                 /* 0 .. VRT_CHECKPOINT_DIMS_MAX */
    int64_t dims[VRT_CHECKPOINT_DIMS_MAX];
    int64_t strides[VRT_CHECKPOINT_DIMS_MAX];   /* in elements */
    int64_t offset;                             /* of its first element, in elements */
    const void *storage;
    uint64_t storage_bytes;
};

/* Refuses the file: the message is the file's name and this text. Return: -EINVAL. */
int vrt_checkpoint_refuse(const struct vrt_checkpoint_source *source, const char *format, ...)
    VRT_PRINTF(2, 3);

/*
 * For an allocation that gave NULL: refuses the file where the arena's budget is spent, else says
 * that there is no memory. Return: -EINVAL, -ENOMEM.
 */
int vrt_checkpoint_refuse_memory(const struct vrt_checkpoint_source *source,
                                 const struct vrt_cp_arena *arena);

/*
 * Adds a tensor whose name (copied) and view of its storage (kept) are checked here.
 * Return: 0; -EINVAL, -ENOMEM with the sentence said.
 */
int vrt_checkpoint_add(struct vrt_checkpoint_source *source,
                       const struct vrt_checkpoint_entry *entry) VRT_MUST_CHECK;

/*
 * After the last tensor, and before their data are read: strips prefixes, makes the index, refuses
 * names that come twice, and asks who wants to look whether it is to go on.
 */
int vrt_checkpoint_finish(struct vrt_checkpoint_source *source) VRT_MUST_CHECK;

/* Has n_bytes of the source's data from `at` on read. Return: 0; -EINVAL, -errno with the sentence
 * said. */
int vrt_checkpoint_need(const struct vrt_checkpoint_source *source, const void *at,
                        size_t n_bytes) VRT_MUST_CHECK;

/* Fills entry->strides for a row-major tensor of its dims, which need not be sensible. */
void vrt_checkpoint_entry_set_row_major(struct vrt_checkpoint_entry *entry);

/* The formats. Return: 0, or -errno with the sentence said; tensors may have been added. */
int vrt_safetensors_read(struct vrt_checkpoint_source *source) VRT_MUST_CHECK;
int vrt_torch_zip_read(struct vrt_checkpoint_source *source) VRT_MUST_CHECK;
int vrt_torch_legacy_read(struct vrt_checkpoint_source *source) VRT_MUST_CHECK;

/* Whether the bytes look like that format: a cheap look at their beginning, which is there. */
bool vrt_safetensors_recognise(const struct vrt_checkpoint_source *source);
