/* SPDX-License-Identifier: MIT */
/*
 * .safetensors: 8 bytes with the length of a JSON header, the header, the data
 *
 *     {"__metadata__":{"key":"value"}, "name":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}
 *
 * Offsets count from the end of the header. The format demands that the tensors cover the data
 * without holes and overlaps: a file that keeps to it can hide nothing and cannot be cut short.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint/format.h"
#include "engine/checkpoint/json.h"

#define LENGTH_BYTES 8             /* of the header's, at the beginning */
#define HEADER_BYTES_MAX 100000000      /* the format's own limit */
#define METADATA_MAX 4096
#define METADATA_KEY_BYTES_MAX 256

struct span {
    int64_t begin, end;
};

struct reader {
    struct vrt_checkpoint_source *source;
    const char *text;           /* the header */
    struct vrt_json json;       /* ... as far as it was read */
    const uint8_t *data;
    uint64_t data_bytes;
    struct span *spans;         /* of each tensor, in the header's order */
    size_t n_spans, capacity;
};

static uint64_t header_bytes(const struct vrt_checkpoint_source *source)
{
    uint64_t n = 0;

    for (int i = LENGTH_BYTES - 1; i >= 0; i--)
        n = n << 8 | source->data[i];
    return n;
}

bool vrt_safetensors_recognise(const struct vrt_checkpoint_source *source)
{
    return source->size_bytes > LENGTH_BYTES && source->data[LENGTH_BYTES] == '{' &&
           header_bytes(source) <= HEADER_BYTES_MAX;
}

/* The header breaks the grammar, or a string found no memory. */
static int refuse_header(const struct reader *reader)
{
    if (reader->json.arena->is_exhausted || reader->json.arena->lacks_memory)
        return vrt_checkpoint_refuse_memory(reader->source, reader->json.arena);
    return vrt_checkpoint_refuse(reader->source, "is damaged: its header is not that of a "
                                 ".safetensors file (near byte %lld)",
                                 (long long)(reader->json.at - reader->text) + LENGTH_BYTES);
}

static int read_dtype(struct reader *reader, struct vrt_text tensor,
                      enum vrt_checkpoint_dtype *ret_dtype)
{
    static const struct {
        const char *name;
        enum vrt_checkpoint_dtype dtype;
    } names[] = {
        { "F32", VRT_CHECKPOINT_F32 }, { "F16", VRT_CHECKPOINT_F16 },
        { "BF16", VRT_CHECKPOINT_BF16 }, { "F64", VRT_CHECKPOINT_F64 },
        { "I64", VRT_CHECKPOINT_I64 }, { "I32", VRT_CHECKPOINT_I32 },
        { "I16", VRT_CHECKPOINT_I16 }, { "I8", VRT_CHECKPOINT_I8 },
        { "U8", VRT_CHECKPOINT_U8 }, { "BOOL", VRT_CHECKPOINT_BOOL },
    };
    struct vrt_text_shown shown_type, shown_tensor;
    struct vrt_text text;

    if (!vrt_json_string(&reader->json, &text))
        return refuse_header(reader);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(names); i++) {
        if (vrt_text_is(text, names[i].name)) {
            *ret_dtype = names[i].dtype;
            return 0;
        }
    }
    return vrt_checkpoint_refuse(reader->source, "holds tensor \"%s\" of type %s, which cannot be "
                                 "used: save it as F32 or F16",
                                 vrt_text_show(tensor, &shown_tensor),
                                 vrt_text_show(text, &shown_type));
}

/* [n, n, ...] of at most `n_max`; -1 where it is not that. */
static int read_sizes(struct reader *reader, int64_t *sizes, int n_max)
{
    int n = 0;

    if (!vrt_json_take(&reader->json, '['))
        return -1;
    if (vrt_json_take(&reader->json, ']'))
        return 0;
    do {
        if (n == n_max || !vrt_json_size(&reader->json, &sizes[n++]))
            return -1;
    } while (vrt_json_take(&reader->json, ','));
    return vrt_json_take(&reader->json, ']') ? n : -1;
}

enum { HAS_DTYPE = 1 << 0, HAS_SHAPE = 1 << 1, HAS_OFFSETS = 1 << 2, HAS_ALL = (1 << 3) - 1 };

/* One "key":value of a tensor's object. `seen` says which came already. */
static int read_field(struct reader *reader, struct vrt_checkpoint_entry *entry,
                      struct span *span, unsigned *seen)
{
    struct vrt_text key;
    unsigned bit;
    int r = 0;

    if (!vrt_json_string(&reader->json, &key) || !vrt_json_take(&reader->json, ':'))
        return refuse_header(reader);
    if (vrt_text_is(key, "dtype")) {
        bit = HAS_DTYPE;
        r = read_dtype(reader, entry->name, &entry->dtype);
    } else if (vrt_text_is(key, "shape")) {
        bit = HAS_SHAPE;
        entry->n_dims = read_sizes(reader, entry->dims, VRT_CHECKPOINT_DIMS_MAX);
        r = entry->n_dims < 0;
    } else if (vrt_text_is(key, "data_offsets")) {
        int64_t offsets[2];

        bit = HAS_OFFSETS;
        r = read_sizes(reader, offsets, 2) != 2;
        if (r == 0)
            *span = (struct span){ offsets[0], offsets[1] };
    } else {
        return refuse_header(reader);
    }
    /* What is said of a type already stands. */
    if (r != 0 || *seen & bit)
        return refuse_header(reader);
    *seen |= bit;
    return 0;
}

static int keep_span(struct reader *reader, struct span span)
{
    if (reader->n_spans == reader->capacity) {
        size_t capacity = reader->capacity ? reader->capacity * 2 : 64;
        struct span *spans = reallocarray(reader->spans, capacity, sizeof(*spans));

        if (!spans)
            return vrt_checkpoint_refuse_memory(reader->source, NULL);
        reader->spans = spans;
        reader->capacity = capacity;
    }
    reader->spans[reader->n_spans++] = span;
    return 0;
}

/* The object of one tensor, after its name and the colon. */
static int read_tensor(struct reader *reader, struct vrt_text name)
{
    struct vrt_checkpoint_entry entry = { .name = name };
    struct vrt_text_shown shown;
    struct span span = { 0 };
    unsigned seen = 0;
    int64_t n_bytes;
    int r;

    if (!vrt_json_take(&reader->json, '{'))
        return refuse_header(reader);
    do {
        r = read_field(reader, &entry, &span, &seen);
        if (r != 0)
            return r;
    } while (vrt_json_take(&reader->json, ','));
    if (!vrt_json_take(&reader->json, '}') || seen != HAS_ALL)
        return refuse_header(reader);

    n_bytes = (int64_t)vrt_checkpoint_dtype_bytes(entry.dtype);
    for (int d = 0; d < entry.n_dims; d++)
        if (n_bytes >= 0 && __builtin_mul_overflow(n_bytes, entry.dims[d], &n_bytes))
            n_bytes = -1;
    if (span.begin > span.end || n_bytes != span.end - span.begin)
        return vrt_checkpoint_refuse(reader->source, "is damaged: the shape of tensor \"%s\" does "
                                     "not fit its place in the file",
                                     vrt_text_show(name, &shown));
    if ((uint64_t)span.end > reader->data_bytes)
        return vrt_checkpoint_refuse(reader->source, "is cut short: tensor \"%s\" lies beyond its "
                                     "end", vrt_text_show(name, &shown));
    vrt_checkpoint_entry_set_row_major(&entry);
    entry.storage = reader->data + span.begin;
    entry.storage_bytes = (uint64_t)(span.end - span.begin);
    r = vrt_checkpoint_add(reader->source, &entry);
    return r != 0 ? r : keep_span(reader, span);
}

/* The object under "__metadata__": strings by name. */
static int read_metadata(struct reader *reader)
{
    struct vrt_checkpoint *cp = reader->source->checkpoint;

    if (cp->metadata || !vrt_json_take(&reader->json, '{'))
        return refuse_header(reader);
    cp->metadata = vrt_cp_arena_alloc(&cp->arena, METADATA_MAX, sizeof(*cp->metadata));
    if (!cp->metadata)
        return vrt_checkpoint_refuse_memory(reader->source, &cp->arena);
    if (vrt_json_take(&reader->json, '}'))
        return 0;
    do {
        struct vrt_text key, value;

        if (cp->n_metadata == METADATA_MAX || !vrt_json_string(&reader->json, &key) ||
            !vrt_json_take(&reader->json, ':') || !vrt_json_string(&reader->json, &value) ||
            key.size_bytes > METADATA_KEY_BYTES_MAX)
            return refuse_header(reader);
        if (vrt_checkpoint_metadata(cp, key.data))
            return vrt_checkpoint_refuse(reader->source, "is damaged: a key of its metadata comes "
                                                         "twice");
        cp->metadata[cp->n_metadata++] = (struct vrt_checkpoint_label){ key.data, value.data };
    } while (vrt_json_take(&reader->json, ','));
    return vrt_json_take(&reader->json, '}') ? 0 : refuse_header(reader);
}

static int read_header(struct reader *reader)
{
    int r;

    if (!vrt_json_take(&reader->json, '{'))
        return refuse_header(reader);
    if (vrt_json_take(&reader->json, '}'))
        return vrt_json_is_done(&reader->json) ? 0 : refuse_header(reader);
    do {
        struct vrt_text name;

        if (!vrt_json_string(&reader->json, &name) || !vrt_json_take(&reader->json, ':'))
            return refuse_header(reader);
        r = vrt_text_is(name, "__metadata__") ? read_metadata(reader) : read_tensor(reader, name);
        if (r != 0)
            return r;
    } while (vrt_json_take(&reader->json, ','));
    if (!vrt_json_take(&reader->json, '}') || !vrt_json_is_done(&reader->json))
        return refuse_header(reader);
    return 0;
}

static int compare_spans(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    int order = (x->begin > y->begin) - (x->begin < y->begin);

    return order ? order : (x->end > y->end) - (x->end < y->end);
}

/* Whether the tensors cover the data exactly. */
static int check_spans(struct reader *reader)
{
    int64_t at = 0;

    if (reader->n_spans)
        qsort(reader->spans, reader->n_spans, sizeof(*reader->spans), compare_spans);
    for (size_t i = 0; i < reader->n_spans; i++) {
        if (reader->spans[i].begin != at)
            return vrt_checkpoint_refuse(reader->source, "is damaged: its tensors %s",
                                         reader->spans[i].begin < at ? "overlap"
                                                                     : "leave holes between them");
        at = reader->spans[i].end;
    }
    if ((uint64_t)at != reader->data_bytes)
        return vrt_checkpoint_refuse(reader->source, "is damaged: %llu bytes at its end belong to "
                                     "no tensor", (unsigned long long)reader->data_bytes -
                                                  (unsigned long long)at);
    return 0;
}

int vrt_safetensors_read(struct vrt_checkpoint_source *source)
{
    uint64_t n_header = header_bytes(source);
    int r;

    if (n_header > source->size_bytes - LENGTH_BYTES)
        return vrt_checkpoint_refuse(source, "is cut short: it ends within its header");
    r = vrt_checkpoint_need(source, source->data + LENGTH_BYTES, n_header);
    if (r != 0)
        return r;
    const char *text = (const char *)source->data + LENGTH_BYTES;

    struct reader reader = {
        .source = source,
        .text = text,
        .json = { .at = text, .end = text + n_header, .arena = &source->checkpoint->arena },
        .data = source->data + LENGTH_BYTES + n_header,
        .data_bytes = source->size_bytes - LENGTH_BYTES - n_header,
    };
    source->keeps_image = true;
    r = read_header(&reader);
    if (r == 0)
        r = check_spans(&reader);
    free(reader.spans);
    if (r != 0)
        return r;
    r = vrt_checkpoint_finish(source);
    return r != 0 ? r : vrt_checkpoint_need(source, reader.data, reader.data_bytes);
}
