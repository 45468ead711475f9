/* SPDX-License-Identifier: MIT */
/*
 * struct -> JSON
 *
 * The tree is built whole before it is printed: where memory ends half-way nothing was appended,
 * and a reader never gets half an object.
 */

#include "fields.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Digits of a number with a fraction: seconds to the microsecond for a day. */
#define PRECISION 12

static json_t *text_or_null(const char *text, bool nullable)
{
    if (!text[0] && nullable)
        return json_null();
    json_t *json = json_string(text);
    if (json)
        return json;
    /* Refused for its bytes, or there is no memory: then this fails too. */
    size_t size = strlen(text) + 4;
    VRT_CLEANUP(vrt_freep) char *printable = malloc(size);
    return printable ? json_string(vrt_printable(text, printable, (int)size)) : NULL;
}

static json_t *elements(const struct vrt_field *f, const void *object)
{
    const char *const bytes = object;
    const char *first = *(const char *const *)(const void *)(bytes + f->offset);
    size_t n = *(const size_t *)(const void *)(bytes + f->extra);
    json_t *array = json_array();

    for (size_t i = 0; array && i < n; i++) {
        const char *element = first + i * f->size;
        json_t *json = f->type == VRT_FIELD_TEXTS ? text_or_null(element, false)
                                                  : vrt_fields_encode(f->fields, element);
        if (json_array_append_new(array, json) < 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *encode_bool(const struct vrt_field *f, const void *member)
{
    (void)f;
    return json_boolean(*(const bool *)member);
}

static json_t *encode_int(const struct vrt_field *f, const void *member)
{
    int64_t value = *(const int64_t *)member;
    bool null = value == VRT_UNKNOWN && (f->flags & VRT_FIELD_NULLABLE);

    return null ? json_null() : json_integer(value);
}

static json_t *encode_double(const struct vrt_field *f, const void *member)
{
    double value = *(const double *)member;

    (void)f;
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *encode_time(const struct vrt_field *f, const void *member)
{
    int64_t wall_ns = *(const int64_t *)member;
    char text[40];

    (void)f;
    return wall_ns ? json_string(vrt_time_print(wall_ns, text, sizeof(text))) : json_null();
}

static json_t *encode_text(const struct vrt_field *f, const void *member)
{
    return text_or_null(member, f->flags & VRT_FIELD_NULLABLE);
}

static json_t *encode_enum(const struct vrt_field *f, const void *member)
{
    int value = *(const int *)member;
    bool null = value == VRT_UNKNOWN && (f->flags & VRT_FIELD_NULLABLE);

    return null ? json_null() : json_string(vrt_name_of(f->names, value));
}

static json_t *encode_object(const struct vrt_field *f, const void *member)
{
    return vrt_fields_encode(f->fields, member);
}

/* By type; arrays have elements() instead, which needs their count too. */
static json_t *(*const encoders[VRT_FIELD_TYPE_COUNT])(const struct vrt_field *, const void *) = {
    [VRT_FIELD_BOOL] = encode_bool,
    [VRT_FIELD_INT] = encode_int,
    [VRT_FIELD_DOUBLE] = encode_double,
    [VRT_FIELD_TIME] = encode_time,
    [VRT_FIELD_TEXT] = encode_text,
    [VRT_FIELD_ENUM] = encode_enum,
    [VRT_FIELD_OBJECT] = encode_object,
};

static json_t *encode_one(const struct vrt_field *f, const void *object)
{
    const char *bytes = object;

    if (f->type == VRT_FIELD_ARRAY || f->type == VRT_FIELD_TEXTS)
        return elements(f, object);
    if (f->type == VRT_FIELD_OBJECT && (f->flags & VRT_FIELD_NULLABLE) &&
        !*(const bool *)(bytes + f->extra))
        return json_null();
    return encoders[f->type](f, bytes + f->offset);
}

struct json_t *vrt_fields_encode(const struct vrt_field *fields, const void *object)
{
    json_t *json = json_object();

    for (const struct vrt_field *f = fields; json && f->key; f++) {
        if (json_object_set_new_nocheck(json, f->key, encode_one(f, object)) < 0) {
            json_decref(json);
            return NULL;
        }
    }
    return json;
}

struct output {
    struct vrt_buf *buf;
    int r;
};

static int append(const char *data, size_t size, void *context)
{
    struct output *output = context;

    output->r = vrt_buf_append(output->buf, data, size);
    return output->r;
}

int vrt_json_print(const struct json_t *json, struct vrt_buf *buf)
{
    struct output output = { .buf = buf };
    size_t before = buf->size_bytes;
    int flags = JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(PRECISION);

    if (json_dump_callback(json, append, &output, flags) == 0)
        return 0;
    buf->size_bytes = before;
    if (buf->data)
        buf->data[before] = '\0';
    return vrt_raise(output.r < 0 ? output.r : -ENOMEM);
}

int vrt_fields_print(const struct vrt_field *fields, const void *object, struct vrt_buf *buf)
{
    json_t *json = vrt_fields_encode(fields, object);
    if (!json)
        return vrt_raise(-ENOMEM);

    int r = vrt_json_print(json, buf);
    json_decref(json);
    return vrt_fold(r);
}
