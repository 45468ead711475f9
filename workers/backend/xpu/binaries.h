/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Compiled kernels, kept in a folder from one run to the next
 *
 * A driver takes seconds, for a network minutes, to compile what it compiled for the last run, too.
 * Its binaries are kept in files, one each, by all that they depend on: the key.
 *
 * A file is code that runs on the GPU: folder and file must be of the process's own user, and
 * nobody else may write to them. What is torn, damaged, of another key or of no meaning is as good
 * as absent: no run needs what is here. Several processes may share the folder. It takes no more
 * than VRT_XPU_BINARIES_BYTES: what was used longest ago goes first.
 *
 * Thread: any; a struct vrt_xpu_binaries is of one.
 */

#include <stdbool.h>
#include <stddef.h>

#include "backend/backend.h"

#define VRT_XPU_BINARIES_BYTES ((size_t)64 << 20)
#define VRT_XPU_BINARIES_FILES 2048

/* The largest that is kept. */
#define VRT_XPU_BINARY_BYTES ((size_t)16 << 20)

struct vrt_xpu_binaries {
    const char *folder;             /* lives as long; "": nothing is kept */
    bool has_failed;                /* nothing can be kept, as was said */
};

/* What a binary is of, and for. */
struct vrt_xpu_binary_key {
    char name[48];                  /* the kernel's */
    char text[704];                 /* everything else that it depends on */
};

struct vrt_xpu_binary {
    void *file;                     /* the caller frees it by free() */
    const unsigned char *data;      /* in the file */
    size_t size_bytes;
};

/*
 * Makes the folder, and those above it, if need be, and looks whether it is fit.
 * Return: 0; -errno, and `error` says why not.
 */
int vrt_xpu_binaries_check(const char *folder, struct vrt_error *error);

/* Return: 0, with a whole binary of this very key; -ENOENT: there is none; -errno: none that can be
 * used. */
int vrt_xpu_binaries_load(const struct vrt_xpu_binaries *binaries,
                          const struct vrt_xpu_binary_key *key, struct vrt_xpu_binary *ret_binary);

/* Keeps it in the place of what there was; one warning says why nothing is kept any more. */
void vrt_xpu_binaries_keep(struct vrt_xpu_binaries *binaries, const struct vrt_xpu_binary_key *key,
                           const void *data, size_t size_bytes);

/* Removes what there is of this key. */
void vrt_xpu_binaries_drop(const struct vrt_xpu_binaries *binaries,
                           const struct vrt_xpu_binary_key *key);

/* FNV-1a 64 of some bytes: against damage and mistakes. Against forgery nothing helps but whose the
 * files are. */
uint64_t vrt_xpu_binaries_hash(const void *data, size_t size_bytes);
