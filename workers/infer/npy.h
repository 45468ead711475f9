/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Arrays in NumPy's format (.npy, versions 1 to 3): the part of it that networks exchange,
 * little-endian f32 in C order, up to 8 dimensions
 *
 * Thread: any.
 */

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

#define VRT_NPY_DIMS_MAX 8

struct vrt_npy {
    int n_dims;
    int64_t dims[VRT_NPY_DIMS_MAX];     /* each 1 at least */
    int64_t n_elements;
    float *data;                        /* row-major */
};

/* Frees the data. */
void vrt_npy_done(struct vrt_npy *array);

/*
 * Reads the array in the file at `path`. Return: 0; -EINVAL for what isn't such an array, or
 * another -errno; the error says why.
 */
int vrt_npy_read(const char *path, struct vrt_npy *ret_array,
                 struct vrt_error *error) VRT_MUST_CHECK;

/* A file that an array will be written to. */
struct vrt_npy_file {
    const char *path;
    int fd;
    bool created;                       /* by us, so that it goes again if nothing is written */
};

/*
 * Opens the file at `path`, which must live as long, for writing; what is in it stays until
 * vrt_npy_file_write(). Return: 0, -errno; the error says why.
 */
int vrt_npy_file_open(const char *path, struct vrt_npy_file *ret_file,
                      struct vrt_error *error) VRT_MUST_CHECK;

/* Makes `array` the file's content, and closes it. Return: 0, -errno; the error says why. */
int vrt_npy_file_write(struct vrt_npy_file *file, const struct vrt_npy *array,
                       struct vrt_error *error) VRT_MUST_CHECK;

/* Closes the file; one that we created and wrote nothing to is removed. */
void vrt_npy_file_close(struct vrt_npy_file *file);
