/* SPDX-License-Identifier: MIT */
/*
 * The format of Server-Sent Events, as far as we write it, and all of it that we may be sent:
 * lines end with LF or CR LF, an event is ended by an empty line, "data" may stand several times.
 * A reader takes whole events only: whatever comes in pieces waits in its buffer.
 */

#include "msg_event.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "fields.h"

const char *const vrt_event_names[] = {
    [VRT_EVENT_JOB] = "job",
    [VRT_EVENT_DEVICE] = "device",
    [VRT_EVENT_KIND_COUNT] = NULL,
};

int vrt_event_print(enum vrt_event_kind kind, const char *json, struct vrt_buf *buf)
{
    return vrt_buf_printf(buf, "event: %s\ndata: %s\n\n", vrt_event_names[kind], json);
}

int vrt_event_print_heartbeat(struct vrt_buf *buf)
{
    return vrt_buf_append(buf, ":\n\n", 3);
}

/* Bytes of the line at `text` without its end; *ret_next: with it. Return: SIZE_MAX: unfinished. */
static size_t line_length(const char *text, size_t size, size_t *ret_next)
{
    const char *end = memchr(text, '\n', size);

    *ret_next = size;
    if (!end)
        return SIZE_MAX;
    size_t length = (size_t)(end - text);
    *ret_next = length + 1;
    return length && text[length - 1] == '\r' ? length - 1 : length;
}

/* Bytes of the first event, its blank line included; 0: it isn't whole yet. */
static size_t event_size(const struct vrt_buf *stream)
{
    size_t at = 0, next;

    while (at < stream->size_bytes) {
        size_t length = line_length(stream->data + at, stream->size_bytes - at, &next);
        if (length == SIZE_MAX)
            return 0;
        at += next;
        if (length == 0)
            return at;
    }
    return 0;
}

/* The value of the line "field: value", or NULL where it has another field. */
static const char *line_value(const char *line, size_t length, const char *field,
                              size_t *ret_length)
{
    size_t n = strlen(field);

    if (length < n + 1 || memcmp(line, field, n) != 0 || line[n] != ':')
        return NULL;
    n += n + 1 < length && line[n + 1] == ' ' ? 2 : 1;
    *ret_length = length - n;
    return line + n;
}

static int kind_of(const char *name, size_t length)
{
    for (int i = 0; i < VRT_EVENT_KIND_COUNT; i++)
        if (strlen(vrt_event_names[i]) == length && memcmp(vrt_event_names[i], name, length) == 0)
            return i;
    return VRT_UNKNOWN;
}

/* Reads one whole event. Return: 0 with *ret_kind, VRT_UNKNOWN where it is none of ours. */
static int read_event(const char *text, size_t size, struct vrt_buf *data, int *ret_kind)
{
    int kind = VRT_UNKNOWN;
    size_t next;

    vrt_buf_consume(data, data->size_bytes);
    for (size_t at = 0; at < size; at += next) {
        size_t n, length = line_length(text + at, size - at, &next);
        const char *value = line_value(text + at, length, "event", &n);
        if (value)
            kind = kind_of(value, n);
        value = line_value(text + at, length, "data", &n);
        int r = value && data->size_bytes ? vrt_buf_append(data, "\n", 1) : 0;
        if (r < 0)
            return vrt_fold(r);
        if (value)
            r = vrt_buf_append(data, value, n);
        if (r < 0)
            return vrt_fold(r);
    }
    *ret_kind = data->size_bytes ? kind : VRT_UNKNOWN;
    return 0;
}

int vrt_event_take(struct vrt_buf *stream, struct vrt_buf *data, enum vrt_event_kind *ret_kind)
{
    size_t size;

    while ((size = event_size(stream)) > 0) {
        int kind = VRT_UNKNOWN, r = read_event(stream->data, size, data, &kind);
        if (r < 0)
            return vrt_fold(r);
        vrt_buf_consume(stream, size);
        if (kind != VRT_UNKNOWN) {
            *ret_kind = (enum vrt_event_kind)kind;
            return 1;
        }
    }
    return stream->size_bytes > VRT_EVENT_MAX_BYTES ? vrt_raise(-EMSGSIZE) : 0;
}
