/* SPDX-License-Identifier: MIT */

#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void vrt_buf_done(struct vrt_buf *buf)
{
    free(buf->data);
    *buf = (struct vrt_buf){ .limit_bytes = buf->limit_bytes };
}

/* Makes room for `size` more bytes and the NUL behind them. */
static int reserve(struct vrt_buf *buf, size_t size)
{
    size_t limit = buf->limit_bytes ? buf->limit_bytes : SIZE_MAX / 4;

    if (size > limit || buf->size_bytes > limit - size)
        return -EMSGSIZE;
    size_t need = buf->size_bytes + size + 1;
    if (need <= buf->capacity_bytes)
        return 0;
    size_t capacity = VRT_MAX(need, VRT_MAX((size_t)64, buf->capacity_bytes * 2));
    char *data = realloc(buf->data, capacity);
    if (!data)
        return vrt_raise(-ENOMEM);
    buf->data = data;
    buf->capacity_bytes = capacity;
    return 0;
}

int vrt_buf_append(struct vrt_buf *buf, const void *data, size_t size)
{
    int r = reserve(buf, size);
    if (r < 0)
        return r;
    if (size)
        memcpy(buf->data + buf->size_bytes, data, size);
    buf->size_bytes += size;
    buf->data[buf->size_bytes] = '\0';
    return 0;
}

int vrt_buf_printf(struct vrt_buf *buf, const char *format, ...)
{
    va_list args, again;

    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    int r = n < 0 ? -EINVAL : reserve(buf, (size_t)n);
    if (r == 0) {
        vsnprintf(buf->data + buf->size_bytes, (size_t)n + 1, format, again);
        buf->size_bytes += (size_t)n;
    }
    va_end(again);
    va_end(args);
    return r;
}

void vrt_buf_consume(struct vrt_buf *buf, size_t size)
{
    vrt_assert(size <= buf->size_bytes);
    if (!size)
        return;
    buf->size_bytes -= size;
    memmove(buf->data, buf->data + size, buf->size_bytes + 1);
}

char *vrt_buf_steal(struct vrt_buf *buf)
{
    char *data = buf->data ? buf->data : calloc(1, 1);

    buf->data = NULL;
    buf->size_bytes = buf->capacity_bytes = 0;
    return data;
}
