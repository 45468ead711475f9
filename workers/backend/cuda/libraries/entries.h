/* SPDX-License-Identifier: MIT */
#pragma once

/* A library of NVIDIA's, loaded where it is there: its functions, put into a struct. */

#include <stddef.h>

#include "base/error.h"

struct vrt_cuda_entry {
    const char *name;
    size_t offset;                  /* of the member, a pointer to a function */
};

#define VRT_CUDA_ENTRY(type, name, member) { name, offsetof(type, member) }

/*
 * Loads the library `name` and puts its functions into `to`. It stays loaded for ever: such
 * libraries have threads and exit functions of their own.
 * Return: 0; -ENOENT: it can't be loaded; -ENOSYS: it lacks one of them. The error says which.
 */
int vrt_cuda_entries_load(const char *name, const struct vrt_cuda_entry *entries, size_t n_entries,
                          void *to, struct vrt_error *error);
