/* SPDX-License-Identifier: MIT */
#pragma once

/* A byte buffer that grows up to a limit; embedded by value, zero-initialised is empty. */

#include <stddef.h>

#include "base/macro.h"

struct vrt_buf {
    char *data;             /* always followed by a NUL byte once anything was appended */
    size_t size_bytes;
    size_t capacity_bytes;
    size_t limit_bytes;     /* 0: no limit */
};

/* Frees what it holds; it is empty and usable afterwards, its limit kept. */
void vrt_buf_done(struct vrt_buf *buf);

/*
 * Appends `size` bytes at `data`.
 * Return: 0; -EMSGSIZE if the limit would be passed (nothing was appended); -ENOMEM.
 */
int vrt_buf_append(struct vrt_buf *buf, const void *data, size_t size) VRT_MUST_CHECK;

/* Appends formatted text. Return: as vrt_buf_append(). */
int vrt_buf_printf(struct vrt_buf *buf, const char *format, ...) VRT_PRINTF(2, 3);

/* Removes the first `size` bytes; at most size_bytes of them. */
void vrt_buf_consume(struct vrt_buf *buf, size_t size);

/* The bytes as a string owned by the caller ("" where there are none); buf is empty afterwards.
 * NULL: no memory. */
char *vrt_buf_steal(struct vrt_buf *buf);
