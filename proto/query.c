/* SPDX-License-Identifier: MIT */
/*
 * The query of a URL, by the same tables as bodies. Its values are numbers and words of ours,
 * nothing that would need an escape: where a '%' stands, something isn't understood.
 */

#include "fields.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"

static int refuse(const char *key, struct vrt_error *error, const char *expected)
{
    vrt_error_set_field(error, key);
    return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REQUEST_QUERY), "%s: expected %s", key,
                      expected);
}

static int take_int(const struct vrt_field *f, const char *value, size_t n, void *object,
                    struct vrt_error *error)
{
    char digits[24], expected[80];
    size_t sign = n > 0 && value[0] == '-';

    size_t n_digits = strspn(value + sign, "0123456789");
    if (n_digits > 0 && n_digits == n - sign && n < sizeof(digits)) {
        snprintf(digits, sizeof(digits), "%.*s", (int)n, value);
        errno = 0;
        long long number = strtoll(digits, NULL, 10);
        if (!errno && number >= f->min && number <= f->max) {
            *(int64_t *)(void *)((char *)object + f->offset) = number;
            return 0;
        }
    }
    snprintf(expected, sizeof(expected), "an integer from %" PRId64 " to %" PRId64, f->min, f->max);
    return refuse(f->key, error, expected);
}

static int take_bool(const struct vrt_field *f, const char *value, size_t n, void *object,
                     struct vrt_error *error)
{
    bool yes = n == 4 && memcmp(value, "true", n) == 0;

    if (!yes && !(n == 5 && memcmp(value, "false", n) == 0))
        return refuse(f->key, error, "true or false");
    *(bool *)((char *)object + f->offset) = yes;
    return 0;
}

/* "a, b or c". */
static const char *list_keys(const struct vrt_field *fields, char *buffer, size_t size)
{
    size_t n = 0;

    for (const struct vrt_field *f = fields; f->key && n < size; f++)
        n += (size_t)snprintf(buffer + n, size - n, "%s%s",
                              f == fields ? "" : f[1].key ? ", " : " or ", f->key);
    return buffer;
}

static int refuse_key(const struct vrt_field *fields, const char *key, size_t n,
                      struct vrt_error *error)
{
    char known[160], text[40], shown[64];

    snprintf(text, sizeof(text), "%.*s", (int)VRT_MIN(n, sizeof(text) - 1), key);
    return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REQUEST_QUERY),
                      "the query may hold %s, not \"%s\"", list_keys(fields, known, sizeof(known)),
                      vrt_printable(text, shown, sizeof(shown)));
}

/* Where the values go, and a bit for each field that was there already. */
struct target {
    const struct vrt_field *fields;
    void *object;
    unsigned seen;
};

/* One "key=value" of n bytes. */
static int take_part(struct target *target, const char *part, size_t n, struct vrt_error *error)
{
    const char *equals = memchr(part, '=', n);
    size_t n_key = equals ? (size_t)(equals - part) : n;
    const struct vrt_field *f = target->fields;

    while (f->key && (strlen(f->key) != n_key || memcmp(f->key, part, n_key) != 0))
        f++;
    if (!f->key)
        return refuse_key(target->fields, part, n_key, error);
    if (!equals)
        return refuse(f->key, error, "a value behind an equals sign");
    unsigned bit = 1U << (f - target->fields);
    if (target->seen & bit)
        return refuse(f->key, error, "one value, got two");
    target->seen |= bit;
    size_t n_value = n - n_key - 1;
    return f->type == VRT_FIELD_BOOL ? take_bool(f, equals + 1, n_value, target->object, error)
                                     : take_int(f, equals + 1, n_value, target->object, error);
}

int vrt_query_parse(const char *query, const struct vrt_field *fields, void *object,
                    struct vrt_error *error)
{
    struct target target = { .fields = fields, .object = object };

    for (const char *part = query; *part;) {
        size_t n = strcspn(part, "&");
        int r = take_part(&target, part, n, error);
        if (r < 0)
            return vrt_fold(r);
        part += n + (part[n] == '&');
    }
    return 0;
}
