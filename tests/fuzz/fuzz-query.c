/* SPDX-License-Identifier: MIT */
/*
 * Queries of URLs: what is taken is within the table's bounds, and means the same when it is
 * written in its one plain form.
 */

#include "tests/fuzz/fuzz.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "fields.h"

struct query {
    int64_t after, limit, offset;
    bool active, whole;
};

#define T struct query
static const struct vrt_field fields[] = {
    VRT_FIELD_INT(T, after, 0, 0, INT64_MAX),
    VRT_FIELD_INT(T, limit, 0, 1, 500),
    VRT_FIELD_INT(T, offset, 0, -100, 100),
    VRT_FIELD_BOOL(T, active, 0),
    VRT_FIELD_BOOL(T, whole, 0),
    VRT_FIELDS_END,
};
#undef T

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct query query = { .limit = 7 }, again = query;
    struct vrt_error error = { .id = NULL };
    char plain[200];

    vrt_log_set_level(VRT_LOG_ERROR);
    char *text = malloc(size + 1);
    vrt_assert(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    int r = vrt_query_parse(text, fields, &query, &error);
    free(text);
    if (r < 0) {
        vrt_assert(error.message[0] && error.id);
        return 0;
    }
    vrt_assert(query.after >= 0 && query.limit >= 1 && query.limit <= 500);
    vrt_assert(query.offset >= -100 && query.offset <= 100);
    snprintf(plain, sizeof(plain), "after=%" PRId64 "&limit=%" PRId64 "&offset=%" PRId64
             "&active=%s&whole=%s", query.after, query.limit, query.offset,
             query.active ? "true" : "false", query.whole ? "true" : "false");
    vrt_assert(vrt_query_parse(plain, fields, &again, &error) == 0);
    vrt_assert(query.after == again.after && query.limit == again.limit);
    vrt_assert(query.offset == again.offset && query.active == again.active);
    vrt_assert(query.whole == again.whole);
    return 0;
}
