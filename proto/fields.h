/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Tables between JSON objects and structs
 *
 * A message is a struct and a table of its fields, ended by VRT_FIELDS_END. Decoding a request
 * names the field at fault: "priority: expected an integer from -100 to 100, got a string".
 *
 *     type        member                      JSON                   null stands for
 *     BOOL        bool                        true, false            -
 *     INT         int64_t                     integer                -1 (VRT_UNKNOWN)
 *     DOUBLE      double                      number                 NAN
 *     TIME        int64_t, wall clock ns      "2026-01-02T03:04:05.678Z"     0
 *     TEXT        char[size]                  string                 ""
 *     ENUM        int (or an enum)            one of `names`         -1 (VRT_UNKNOWN)
 *     OBJECT      an embedded struct          object                 its bool at `extra` is false
 *     ARRAY       T *, and size_t at extra    array of objects       -
 *     TEXTS       char (*)[size], and size_t  array of strings       -
 *
 * Decoding leaves members alone whose keys are absent: the caller fills in the defaults first.
 * Arrays are allocated by decoding, and freed by vrt_fields_done(); for encoding they may be
 * anyone's. Texts are valid UTF-8 without NUL bytes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"
#include "base/settings.h"

struct json_t;

enum vrt_field_type {
    VRT_FIELD_END,
    VRT_FIELD_BOOL,
    VRT_FIELD_INT,
    VRT_FIELD_DOUBLE,
    VRT_FIELD_TIME,
    VRT_FIELD_TEXT,
    VRT_FIELD_ENUM,
    VRT_FIELD_OBJECT,
    VRT_FIELD_ARRAY,
    VRT_FIELD_TEXTS,
    VRT_FIELD_TYPE_COUNT,
};

enum vrt_field_flags {
    VRT_FIELD_REQUIRED = 1 << 0,    /* decoding refuses its absence */
    VRT_FIELD_NULLABLE = 1 << 1,    /* may be null; without it null is refused */
};

/* How to decode. */
enum vrt_field_mode {
    VRT_FIELDS_STRICT,      /* a request: what isn't in the table is refused */
    VRT_FIELDS_LENIENT,     /* an answer, perhaps of a newer daemon: unknown keys are skipped,
                               unknown words of an enum are VRT_UNKNOWN, absence and null are
                               always allowed, longer texts are cut */
};

struct vrt_field {
    const char *key;
    enum vrt_field_type type;
    unsigned flags;
    size_t offset;
    size_t size;                    /* TEXT, TEXTS: bytes of a text; ARRAY: of an element */
    size_t extra;                   /* offset of an array's size_t, of a nullable object's bool */
    int64_t min, max;               /* INT, DOUBLE: bounds included; ARRAY, TEXTS: max elements */
    const char *const *names;       /* ENUM: ended by NULL */
    const struct vrt_field *fields; /* OBJECT, ARRAY */
};

/* One line of a table each; F: flags. `type` is the struct, `member` its member, and the key. */
#define VRT_FIELD_(t, type, member, f, ...) \
    { #member, VRT_FIELD_##t, (f), offsetof(type, member), __VA_ARGS__ }
#define VRT_FIELD_BOOL(type, member, f) VRT_FIELD_(BOOL, type, member, f)
#define VRT_FIELD_INT(type, member, f, low, high) \
    VRT_FIELD_(INT, type, member, f, .min = (low), .max = (high))
#define VRT_FIELD_DOUBLE(type, member, f, low, high) \
    VRT_FIELD_(DOUBLE, type, member, f, .min = (low), .max = (high))
#define VRT_FIELD_TIME(type, member, f) VRT_FIELD_(TIME, type, member, f)
#define VRT_FIELD_TEXT(type, member, f) \
    VRT_FIELD_(TEXT, type, member, f, .size = sizeof(((type *)0)->member))
#define VRT_FIELD_ENUM(type, member, f, words) VRT_FIELD_(ENUM, type, member, f, .names = (words))
#define VRT_FIELD_OBJECT(type, member, f, table) \
    VRT_FIELD_(OBJECT, type, member, f, .fields = (table))
#define VRT_FIELD_OPTIONAL(type, member, has, table)                                     \
    VRT_FIELD_(OBJECT, type, member, VRT_FIELD_NULLABLE, .extra = offsetof(type, has), \
               .fields = (table))
#define VRT_FIELD_ARRAY(type, member, n, limit, table)                                  \
    VRT_FIELD_(ARRAY, type, member, 0, .size = sizeof(*((type *)0)->member),           \
               .extra = offsetof(type, n), .max = (limit), .fields = (table))
#define VRT_FIELD_TEXTS(type, member, n, limit)                                         \
    VRT_FIELD_(TEXTS, type, member, 0, .size = sizeof(*((type *)0)->member),           \
               .extra = offsetof(type, n), .max = (limit))
/* A member of the struct's member `outer`, beside the struct's own keys. */
#define VRT_FIELD_IN(t, type, outer, member, f, ...) \
    { #member, VRT_FIELD_##t, (f), offsetof(type, outer.member), __VA_ARGS__ }
#define VRT_FIELDS_END { .key = NULL }

/*
 * Parses one JSON text; duplicate keys, NUL bytes and what follows its end are refused.
 * Return: 0, *ret_json is the caller's (json_decref); -EINVAL with the line and column in error;
 * -ENOMEM.
 */
int vrt_json_parse(const void *text, size_t size, struct json_t **ret_json,
                   struct vrt_error *error) VRT_MUST_CHECK;

/* Appends `json` in compact form. Return: 0; -ENOMEM; -EMSGSIZE as vrt_buf_append(). */
int vrt_json_print(const struct json_t *json, struct vrt_buf *buf) VRT_MUST_CHECK;

/*
 * Decodes the object `json` into `object`.
 * Return: 0; -EINVAL, with sentence and field in error, arrays freed; -ENOMEM.
 */
int vrt_fields_decode(const struct vrt_field *fields, const struct json_t *json,
                      enum vrt_field_mode mode, void *object,
                      struct vrt_error *error) VRT_MUST_CHECK;

/*
 * vrt_json_parse() and a strict vrt_fields_decode() of a request's body, into what its caller has
 * filled with what is absent. Return: as these.
 */
int vrt_fields_parse(const struct vrt_field *fields, const void *text, size_t size, void *object,
                     struct vrt_error *error) VRT_MUST_CHECK;

/*
 * The JSON object of `object`, every field of the table in its order; the caller's. Text that is
 * no valid UTF-8 is made printable first. Return: NULL: no memory.
 */
struct json_t *vrt_fields_encode(const struct vrt_field *fields, const void *object);

/* vrt_fields_encode() and vrt_json_print(). Return: 0, -ENOMEM, -EMSGSIZE. */
int vrt_fields_print(const struct vrt_field *fields, const void *object,
                     struct vrt_buf *buf) VRT_MUST_CHECK;

/*
 * Decodes a URL's query, "after=12&active=true", into members of type INT and BOOL; others are not
 * for it. What isn't in the table, is named twice or needs an escape is refused.
 * Return: 0; -EINVAL, with sentence and field in error.
 */
int vrt_query_parse(const char *query, const struct vrt_field *fields, void *object,
                    struct vrt_error *error) VRT_MUST_CHECK;

/* Makes every nullable field null; the others are left alone. */
void vrt_fields_reset(const struct vrt_field *fields, void *object);

/* Frees the arrays that decoding allocated; they are empty afterwards. */
void vrt_fields_done(const struct vrt_field *fields, void *object);

/* The word at `value` in a list ended by NULL; "unknown" where it is outside. */
const char *vrt_name_of(const char *const *names, int value);

/* The index of `word`, or VRT_UNKNOWN. */
int vrt_name_find(const char *const *names, const char *word);

/* "2026-01-02T03:04:05.678Z" in `buffer` of at least 32 bytes. Return: buffer. */
const char *vrt_time_print(int64_t wall_ns, char *buffer, size_t size);

/* The inverse. Return: 0, -EINVAL. */
int vrt_time_parse(const char *text, int64_t *ret_wall_ns);
