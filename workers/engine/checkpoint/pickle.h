/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Pickles, read as data
 *
 * A pickle is a program for a small stack machine that, in Python, may call anything. This machine
 * knows a fixed table of names that mean data (tensors, containers, numbers: pickle-globals.c);
 * calling any other name refuses the file, and no name ever runs code. A name that is only
 * mentioned, as a class is when it is a dictionary's key, does no harm.
 *
 * Memory comes from an arena with a budget that follows the pickle's size; nothing recurses, so
 * depth has no limit to hit; values may form circles, and are followed only to a fixed depth.
 */

#include <stdint.h>

#include "engine/checkpoint/format.h"

enum vrt_pickle_type {
    VRT_PICKLE_NONE,
    VRT_PICKLE_BOOL,        /* integer */
    VRT_PICKLE_INT,         /* integer */
    VRT_PICKLE_FLOAT,       /* nothing: none is needed */
    VRT_PICKLE_LONG,        /* text: an integer of more than 8 bytes, little-endian */
    VRT_PICKLE_TEXT,        /* text */
    VRT_PICKLE_BYTES,       /* text */
    VRT_PICKLE_TUPLE,       /* items */
    VRT_PICKLE_LIST,        /* items */
    VRT_PICKLE_DICT,        /* items: key, value, key, value ... */
    VRT_PICKLE_GLOBAL,      /* global */
    VRT_PICKLE_STORAGE,     /* storage */
    VRT_PICKLE_TENSOR,      /* tensor */
    VRT_PICKLE_OPAQUE,      /* nothing: data of no use here, a set or a date */
};

struct vrt_pickle_value {
    enum vrt_pickle_type type;
    union {
        int64_t integer;
        struct vrt_text text;
        struct vrt_pickle_items *items;
        const struct vrt_pickle_global *global;
        struct vrt_pickle_storage *storage;
        const struct vrt_pickle_tensor *tensor;
    };
};

struct vrt_pickle_items {
    struct vrt_pickle_value *values;
    size_t n, capacity;
};

/* A name, and what it means, if anything. */
struct vrt_pickle_global {
    struct vrt_text module, name;
    const struct vrt_pickle_known *known;       /* NULL: nothing */
};

/*
 * What a persistent id refers to: a member of the file, by its key. Many ids may have one key.
 * The machine fills the first group; whoever finds the members fills the second.
 */
struct vrt_pickle_storage {
    struct vrt_text key;
    enum vrt_checkpoint_dtype dtype;    /* u8 where the file says only that it is bytes */
    uint64_t n_bytes;
    uint64_t view_bytes;                /* where in it the view that is meant begins, <= n_bytes */

    struct vrt_pickle_storage *first;   /* of those with this key; the fields below are its alone */
    const void *raw;                    /* where it is as in the file, once it was read */
    const void *data;                   /* the same in the host's byte order */
    size_t element_bytes;               /* what the byte order applies to */
    bool is_wanted;
    uint64_t reached_bytes;             /* of it by wanted tensors, in sum; those in common twice */
};

struct vrt_pickle_tensor {
    struct vrt_pickle_storage *storage;
    enum vrt_checkpoint_dtype dtype;
    int64_t offset;                     /* in elements of dtype */
    int n_dims;
    int64_t dims[VRT_CHECKPOINT_DIMS_MAX], strides[VRT_CHECKPOINT_DIMS_MAX];
};

/* The machine; its values live until vrt_pickle_done(), texts as long as the bytes read. */
struct vrt_pickle {
    struct vrt_checkpoint_source *source;       /* for refusals */
    struct vrt_cp_arena arena;
    const uint8_t *at, *end;
    struct vrt_pickle_items stack, marks, memo; /* marks: stack heights; memo by its number */
    struct vrt_pickle_items storages;           /* every storage of all pickles read */
};

/* A machine for pickles of `size_bytes` in sum. */
void vrt_pickle_init(struct vrt_pickle *pickle, struct vrt_checkpoint_source *source,
                     size_t size_bytes);

/* Frees all its values; a zero-filled one is fine. */
void vrt_pickle_done(struct vrt_pickle *pickle);

/*
 * Reads one pickle from the `size` bytes at `data`, which must stay until vrt_pickle_done();
 * *ret_used_bytes is how many it took.
 * Return: 0; -EINVAL, -ENOMEM with the sentence said.
 */
int vrt_pickle_read(struct vrt_pickle *pickle, const uint8_t *data, size_t size,
                    struct vrt_pickle_value *ret_root, size_t *ret_used_bytes) VRT_MUST_CHECK;

/* The value of a DICT's last entry with this text as its key, or NULL: also for other values. */
const struct vrt_pickle_value *vrt_pickle_find(const struct vrt_pickle_value *dict,
                                               const char *key);

/* Appends a copy of *value. Return: 0; -EINVAL, -ENOMEM with the sentence said. */
int vrt_pickle_append(struct vrt_pickle *pickle, struct vrt_pickle_items *items,
                      const struct vrt_pickle_value *value) VRT_MUST_CHECK;

/* Looks the name up in the table of what is known. Return: NULL if it means nothing. */
const struct vrt_pickle_known *vrt_pickle_find_known(struct vrt_text module, struct vrt_text name);

/*
 * The result of calling `callee` with `args`: a tensor, a container, opaque data. Whether it was
 * to be a plain call or the making of an object is the same here.
 * Return: 0; -EINVAL, -ENOMEM with the sentence said: anything unknown is refused by name.
 */
int vrt_pickle_call(struct vrt_pickle *pickle, const struct vrt_pickle_value *callee,
                    const struct vrt_pickle_value *args,
                    struct vrt_pickle_value *ret_value) VRT_MUST_CHECK;

/* The storage that a persistent id stands for. Return: as vrt_pickle_call(). */
int vrt_pickle_make_storage(struct vrt_pickle *pickle, const struct vrt_pickle_value *id,
                            struct vrt_pickle_value *ret_value) VRT_MUST_CHECK;

/* Refuses a pickle that breaks its own rules. Return: -EINVAL. */
int vrt_pickle_refuse_damaged(const struct vrt_pickle *pickle);
