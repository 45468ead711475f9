/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A folder of what was compiled, kept from one run to the next
 *
 * A driver takes seconds, for a network minutes, to compile what it compiled for the last run, too.
 * What came of it is kept in files, one each, by all that it depends on: the key.
 *
 * A file is code that runs on the GPU: folder and file must be of the process's own user, and
 * nobody else may write to them. What is torn, damaged, of another key or of no meaning is as good
 * as absent: no run needs what is here. Several processes may share the folder. It takes no more
 * than VRT_CACHE_BYTES: what was used longest ago goes first.
 *
 * Thread: any; a struct vrt_cache is of one.
 */

#include <stdbool.h>
#include <stddef.h>

#include "backend/backend.h"

#define VRT_CACHE_BYTES ((size_t)64 << 20)
#define VRT_CACHE_FILES 2048

/* The largest that is kept. */
#define VRT_CACHE_ITEM_BYTES ((size_t)16 << 20)

struct vrt_cache {
    const char *folder;             /* lives as long; "": nothing is kept */
    bool has_failed;                /* nothing can be kept, as was said */
};

/* What an item is of, and for. */
struct vrt_cache_key {
    char name[48];                  /* the kernel's */
    char text[704];                 /* everything else that it depends on */
};

struct vrt_cache_item {
    void *file;                     /* the caller frees it by free() */
    const unsigned char *data;      /* in the file */
    size_t size_bytes;
};

/*
 * Where a backend, called as `backend`, keeps what is compiled: a folder of its name in `cache_dir`
 * (NULL: nowhere), which is made if need be, and those above it. "" in `ret_folder` where nothing
 * can be kept, or is to be; the findings say which folder it is, or why it isn't fit.
 */
void vrt_cache_find_folder(const char *cache_dir, const char *backend,
                           struct vrt_findings *findings, char ret_folder[VRT_DEVICE_FOLDER_BYTES]);

/* Return: 0, with a whole item of this very key; -ENOENT: there is none; -errno: none that can be
 * used. */
int vrt_cache_load(const struct vrt_cache *cache, const struct vrt_cache_key *key,
                   struct vrt_cache_item *ret_item);

/* Keeps it in the place of what there was; one warning says why nothing is kept any more. */
void vrt_cache_store(struct vrt_cache *cache, const struct vrt_cache_key *key, const void *data,
                     size_t size_bytes);

/* Removes what there is of this key. */
void vrt_cache_drop(const struct vrt_cache *cache, const struct vrt_cache_key *key);

/* FNV-1a 64 of some bytes: against damage and mistakes. Against forgery nothing helps but whose the
 * files are. */
uint64_t vrt_cache_hash(const void *data, size_t size_bytes);
