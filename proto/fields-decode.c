/* SPDX-License-Identifier: MIT */
/*
 * JSON -> struct: every refusal names the field, what was expected and what came.
 *
 * Where a field is inside the message is a chain of places on the stack, printed only when
 * something is refused. Keys are taken in the order they came, so that the first mistake of a
 * request is the one that is told; what is required is looked for afterwards.
 *
 * Members are written as they are decoded. After a refusal the arrays are freed, but the rest is
 * half of a message: callers decode into a struct of their own and copy it when all was good.
 *
 * Recursion follows the tables, not the message: however deep a client nests its arrays, what isn't
 * in a table is refused or skipped where it begins.
 */

#include "fields.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"

#define EXPECTED_BYTES 200
#define EXACT_MAX 9007199254740992.0    /* 2^53: doubles hold every integer up to it */

/* Where in a message decoding is: "devices[2].name" from the inside out. */
struct place {
    const struct place *outer;
    const char *key;
    size_t index;               /* of an element; SIZE_MAX: none */
};

struct decoding {
    enum vrt_field_mode mode;
    struct vrt_error *error;
};

/* From the outside in. Where the buffer ends the place is cut: it is for a sentence. */
static const char *place_print(const struct place *place, char *buffer, size_t size)
{
    buffer[0] = '\0';
    if (!place)
        return buffer;
    place_print(place->outer, buffer, size);
    size_t n = strlen(buffer);
    n += (size_t)snprintf(buffer + n, size - n, "%s%s", n ? "." : "", place->key);
    if (place->index != SIZE_MAX && n < size)
        snprintf(buffer + n, size - n, "[%zu]", place->index);
    return buffer;
}

static const char *type_name(const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:   return "an object";
    case JSON_ARRAY:    return "an array";
    case JSON_STRING:   return "a string";
    case JSON_INTEGER:  return "an integer";
    case JSON_REAL:     return "a number with a fraction";
    case JSON_TRUE:     return "true";
    case JSON_FALSE:    return "false";
    case JSON_NULL:     return "null";
    }
    return "something else";
}

/* What came instead, as short as it stays telling. */
static const char *got(const json_t *json, char *buffer, size_t size)
{
    char text[80];

    if (json_is_integer(json))
        snprintf(buffer, size, "%" JSON_INTEGER_FORMAT, json_integer_value(json));
    else if (json_is_real(json))
        snprintf(buffer, size, "%.9g", json_real_value(json));
    else if (json_is_string(json))
        snprintf(buffer, size, "\"%s\"",
                 vrt_printable(json_string_value(json), text, sizeof(text)));
    else
        snprintf(buffer, size, "%s", type_name(json));
    return buffer;
}

/* Refuses `json` at `place`: its type if that is wrong, else its value. */
static int refuse(const struct decoding *d, const struct place *place, const json_t *json,
                  const char *expected, bool type_is_wrong)
{
    char where[128], text[128];
    const char *what = type_is_wrong ? type_name(json) : got(json, text, sizeof(text));

    place_print(place, where, sizeof(where));
    int r = vrt_refuse(d->error, -EINVAL, VRT_E(REQUEST_FIELD), "%s: expected %s, got %s", where,
                       expected, what);
    vrt_error_set_field(d->error, where);
    return vrt_raise(r);
}

static int decode_bool(const struct decoding *d, const struct vrt_field *f,
                       const struct place *place, const json_t *json, void *member)
{
    (void)f;
    if (!json_is_boolean(json))
        return refuse(d, place, json, "true or false", true);
    *(bool *)member = json_is_true(json);
    return 0;
}

static const char *bounds(const struct vrt_field *f, const char *what, char *buffer, size_t size)
{
    bool low = f->min != INT64_MIN, high = f->max != INT64_MAX;

    if (low && high)
        snprintf(buffer, size, "%s from %" PRId64 " to %" PRId64, what, f->min, f->max);
    else if (low)
        snprintf(buffer, size, "%s of at least %" PRId64, what, f->min);
    else if (high)
        snprintf(buffer, size, "%s of at most %" PRId64, what, f->max);
    else
        snprintf(buffer, size, "%s", what);
    return buffer;
}

/* JSON has but one type of number: 5.0 is the integer 5. */
static bool is_whole(const json_t *json)
{
    return json_is_integer(json) || json_real_value(json) == floor(json_real_value(json));
}

static int decode_int(const struct decoding *d, const struct vrt_field *f,
                      const struct place *place, const json_t *json, void *member)
{
    char expected[EXPECTED_BYTES];

    bounds(f, "an integer", expected, sizeof(expected));
    if (!json_is_number(json) || !is_whole(json))
        return refuse(d, place, json, expected, true);
    /* Beyond 2^53 another integer than was written would be taken, or undefined behaviour. */
    if (json_is_real(json) && !(fabs(json_real_value(json)) <= EXACT_MAX))
        return refuse(d, place, json, expected, false);
    int64_t value = json_is_real(json) ? (int64_t)json_real_value(json)
                                       : json_integer_value(json);
    if (value < f->min || value > f->max)
        return refuse(d, place, json, expected, false);
    *(int64_t *)member = value;
    return 0;
}

static int decode_double(const struct decoding *d, const struct vrt_field *f,
                         const struct place *place, const json_t *json, void *member)
{
    char expected[EXPECTED_BYTES];

    bounds(f, "a number", expected, sizeof(expected));
    if (!json_is_number(json))
        return refuse(d, place, json, expected, true);
    double value = json_number_value(json);
    if (!isfinite(value) || value < (double)f->min || value > (double)f->max)
        return refuse(d, place, json, expected, false);
    *(double *)member = value;
    return 0;
}

static int decode_time(const struct decoding *d, const struct vrt_field *f,
                       const struct place *place, const json_t *json, void *member)
{
    static const char expected[] = "a time such as \"2026-01-02T03:04:05Z\"";

    (void)f;
    if (!json_is_string(json))
        return refuse(d, place, json, expected, true);
    if (vrt_time_parse(json_string_value(json), member) < 0)
        return refuse(d, place, json, expected, false);
    return 0;
}

/* Also for the elements of TEXTS. */
static int decode_text(const struct decoding *d, const struct vrt_field *f,
                       const struct place *place, const json_t *json, void *member)
{
    char expected[EXPECTED_BYTES];

    snprintf(expected, sizeof(expected), "a string of at most %zu bytes", f->size - 1);
    if (!json_is_string(json))
        return refuse(d, place, json, expected, true);
    if (json_string_length(json) >= f->size && d->mode == VRT_FIELDS_STRICT)
        return refuse(d, place, json, expected, false);
    snprintf(member, f->size, "%s", json_string_value(json));
    return 0;
}

static int decode_enum(const struct decoding *d, const struct vrt_field *f,
                       const struct place *place, const json_t *json, void *member)
{
    char expected[EXPECTED_BYTES];
    size_t n = 0;

    for (int i = 0; f->names[i] && n < sizeof(expected); i++)
        n += (size_t)snprintf(expected + n, sizeof(expected) - n, "%s\"%s\"",
                              i == 0 ? "" : f->names[i + 1] ? ", " : " or ", f->names[i]);
    if (!json_is_string(json))
        return refuse(d, place, json, expected, true);
    int value = vrt_name_find(f->names, json_string_value(json));
    if (value == VRT_UNKNOWN && d->mode == VRT_FIELDS_STRICT)
        return refuse(d, place, json, expected, false);
    *(int *)member = value;
    return 0;
}

static int decode_fields(const struct decoding *d, const struct vrt_field *fields,
                         const struct place *place, const json_t *json, void *object);

static int decode_object(const struct decoding *d, const struct vrt_field *f,
                         const struct place *place, const json_t *json, void *member)
{
    return decode_fields(d, f->fields, place, json, member);
}

static void set_null(const struct vrt_field *f, void *object)
{
    char *member = (char *)object + f->offset;

    switch (f->type) {
    case VRT_FIELD_INT:     *(int64_t *)member = VRT_UNKNOWN; break;
    case VRT_FIELD_DOUBLE:  *(double *)member = NAN; break;
    case VRT_FIELD_TIME:    *(int64_t *)member = 0; break;
    case VRT_FIELD_TEXT:    *member = '\0'; break;
    case VRT_FIELD_ENUM:    *(int *)member = VRT_UNKNOWN; break;
    case VRT_FIELD_OBJECT:
        if (f->flags & VRT_FIELD_NULLABLE)
            *(bool *)((char *)object + f->extra) = false;
        break;
    default:                break;      /* nothing of these is null: they keep their default */
    }
}

void vrt_fields_reset(const struct vrt_field *fields, void *object)
{
    for (const struct vrt_field *f = fields; f->key; f++) {
        if (f->type == VRT_FIELD_OBJECT)
            vrt_fields_reset(f->fields, (char *)object + f->offset);
        if (f->flags & VRT_FIELD_NULLABLE)
            set_null(f, object);
    }
}

static void release_elements(const struct vrt_field *f, void *object)
{
    void **pointer = (void **)(void *)((char *)object + f->offset);
    size_t *n = (size_t *)(void *)((char *)object + f->extra);

    for (size_t i = 0; f->type == VRT_FIELD_ARRAY && i < *n; i++)
        vrt_fields_done(f->fields, (char *)*pointer + i * f->size);
    free(*pointer);
    *pointer = NULL;
    *n = 0;
}

/* ARRAY and TEXTS: replaces what was there. */
static int decode_elements(const struct decoding *d, const struct vrt_field *f,
                           const struct place *place, const json_t *json, void *object)
{
    void **pointer = (void **)(void *)((char *)object + f->offset);
    size_t *n = (size_t *)(void *)((char *)object + f->extra);
    struct place inner = *place;
    char expected[EXPECTED_BYTES];

    snprintf(expected, sizeof(expected), "an array of at most %" PRId64 " elements", f->max);
    if (!json_is_array(json))
        return refuse(d, place, json, expected, true);
    size_t count = json_array_size(json);
    /* Before anything is allocated: what an element takes may be far more than its JSON. */
    if (count > (size_t)f->max)
        return refuse(d, place, json, expected, true);
    char *elements = calloc(count + 1, f->size);
    if (!elements)
        return vrt_raise(-ENOMEM);
    /* The object owns them before they are decoded, as zeros: a refusal in the middle frees all. */
    release_elements(f, object);
    *pointer = elements;
    *n = count;
    for (size_t i = 0; i < count; i++) {
        const json_t *element = json_array_get(json, i);
        inner.index = i;
        if (f->type == VRT_FIELD_ARRAY)
            vrt_fields_reset(f->fields, elements + i * f->size);
        int r = f->type == VRT_FIELD_TEXTS
                    ? decode_text(d, f, &inner, element, elements + i * f->size)
                    : decode_fields(d, f->fields, &inner, element, elements + i * f->size);
        if (r < 0)
            return r;
    }
    return 0;
}

/* By type; arrays have decode_elements() instead, which needs their count too. */
static int (*const decoders[VRT_FIELD_TYPE_COUNT])(const struct decoding *,
                                                   const struct vrt_field *, const struct place *,
                                                   const json_t *, void *) = {
    [VRT_FIELD_BOOL] = decode_bool,
    [VRT_FIELD_INT] = decode_int,
    [VRT_FIELD_DOUBLE] = decode_double,
    [VRT_FIELD_TIME] = decode_time,
    [VRT_FIELD_TEXT] = decode_text,
    [VRT_FIELD_ENUM] = decode_enum,
    [VRT_FIELD_OBJECT] = decode_object,
};

static int decode_one(const struct decoding *d, const struct vrt_field *f,
                      const struct place *outer, const json_t *json, void *object)
{
    const struct place place = { .outer = outer, .key = f->key, .index = SIZE_MAX };
    bool optional = (f->flags & VRT_FIELD_NULLABLE) || d->mode == VRT_FIELDS_LENIENT;

    if (json_is_null(json) && optional) {
        set_null(f, object);
        return 0;
    }
    if (f->type == VRT_FIELD_ARRAY || f->type == VRT_FIELD_TEXTS)
        return decode_elements(d, f, &place, json, object);
    int r = decoders[f->type](d, f, &place, json, (char *)object + f->offset);
    if (r < 0)
        return r;
    if (f->type == VRT_FIELD_OBJECT && (f->flags & VRT_FIELD_NULLABLE))
        *(bool *)((char *)object + f->extra) = true;
    return 0;
}

static const struct vrt_field *find(const struct vrt_field *fields, const char *key)
{
    for (; fields->key; fields++)
        if (strcmp(fields->key, key) == 0)
            return fields;
    return NULL;
}

/* A field that isn't in the table: says which there are. */
static int refuse_unknown(const struct decoding *d, const struct vrt_field *fields,
                          const struct place *outer, const char *key)
{
    char name[64], where[128], known[300] = "";
    size_t n = 0, n_others = 0;

    vrt_printable(key, name, sizeof(name));
    const struct place place = { .outer = outer, .key = name, .index = SIZE_MAX };
    place_print(&place, where, sizeof(where));
    for (const struct vrt_field *f = fields; f->key; f++)
        if (n + strlen(f->key) < sizeof(known) - sizeof(", and 99 more"))
            n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", n ? ", " : "", f->key);
        else
            n_others++;
    if (n_others > 0)
        snprintf(known + n, sizeof(known) - n, " and %zu more", n_others);
    int r = vrt_refuse(d->error, -EINVAL, VRT_E(REQUEST_FIELD),
                       "%s: no such field; there are %s", where, known);
    vrt_error_set_field(d->error, where);
    return vrt_raise(r);
}

static int refuse_absent(const struct decoding *d, const struct vrt_field *f,
                         const struct place *outer)
{
    const struct place place = { .outer = outer, .key = f->key, .index = SIZE_MAX };
    char where[128];

    place_print(&place, where, sizeof(where));
    int r = vrt_refuse(d->error, -EINVAL, VRT_E(REQUEST_FIELD), "%s: this field is required",
                       where);
    vrt_error_set_field(d->error, where);
    return vrt_raise(r);
}

static int decode_fields(const struct decoding *d, const struct vrt_field *fields,
                         const struct place *place, const json_t *json, void *object)
{
    if (!json_is_object(json)) {
        static const struct place top = { .key = "the body", .index = SIZE_MAX };
        return refuse(d, place ? place : &top, json, "an object", true);
    }
    void *iterator = json_object_iter((json_t *)json);
    for (; iterator; iterator = json_object_iter_next((json_t *)json, iterator)) {
        const char *key = json_object_iter_key(iterator);
        const struct vrt_field *f = find(fields, key);
        if (!f && d->mode == VRT_FIELDS_LENIENT)
            continue;
        if (!f)
            return refuse_unknown(d, fields, place, key);
        int r = decode_one(d, f, place, json_object_iter_value(iterator), object);
        if (r < 0)
            return r;
    }
    for (const struct vrt_field *f = fields; f->key && d->mode == VRT_FIELDS_STRICT; f++)
        if ((f->flags & VRT_FIELD_REQUIRED) && !json_object_get(json, f->key))
            return refuse_absent(d, f, place);
    return 0;
}

int vrt_fields_decode(const struct vrt_field *fields, const struct json_t *json,
                      enum vrt_field_mode mode, void *object, struct vrt_error *error)
{
    const struct decoding d = { .mode = mode, .error = error };

    int r = decode_fields(&d, fields, NULL, json, object);
    if (r == -ENOMEM)
        vrt_refuse_errno(error, r, "decoding a message");
    if (r < 0)
        vrt_fields_done(fields, object);
    return r;
}

int vrt_fields_parse(const struct vrt_field *fields, const void *text, size_t size, void *object,
                     struct vrt_error *error)
{
    json_t *json = NULL;

    int r = vrt_json_parse(text, size, &json, error);
    if (r == 0)
        r = vrt_fields_decode(fields, json, VRT_FIELDS_STRICT, object, error);
    json_decref(json);
    return vrt_fold(r);
}

void vrt_fields_done(const struct vrt_field *fields, void *object)
{
    for (const struct vrt_field *f = fields; f->key; f++) {
        if (f->type == VRT_FIELD_OBJECT)
            vrt_fields_done(f->fields, (char *)object + f->offset);
        else if (f->type == VRT_FIELD_ARRAY || f->type == VRT_FIELD_TEXTS)
            release_elements(f, object);
    }
}

int vrt_json_parse(const void *text, size_t size, struct json_t **ret_json,
                   struct vrt_error *error)
{
    json_error_t e;
    char reason[JSON_ERROR_TEXT_LENGTH];

    /* Of two fields with one name no two programs take the same: better none. */
    json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &e);
    /* An integer over 64 bits is well-formed all the same: it is for its field to refuse it. */
    if (!json && json_error_code(&e) == json_error_numeric_overflow)
        json = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &e);
    if (json) {
        *ret_json = json;
        return 0;
    }
    if (json_error_code(&e) == json_error_out_of_memory)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "parsing JSON");
    return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REQUEST_JSON),
                      "not well-formed JSON at line %d, column %d: %s", e.line, e.column,
                      vrt_printable(e.text, reason, sizeof(reason)));
}
