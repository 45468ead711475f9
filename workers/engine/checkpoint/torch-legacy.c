/* SPDX-License-Identifier: MIT */
/*
 * .pth as PyTorch wrote it before 1.6: one pickle after the other, then raw data
 *
 *     magic number, protocol version, {"little_endian": ...}, the tree, [storage keys],
 *     for each key: 8 bytes with the number of elements, the elements
 */

#include <errno.h>
#include <string.h>

#include "engine/checkpoint/torch.h"

#define PROTOCOL_VERSION 1001      /* PROTOCOL_VERSION in torch/serialization.py */
#define COUNT_BYTES 8
#define PICKLE_BYTES_MAX (64 << 20)

static const char magic[] = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";

struct reader {
    struct vrt_checkpoint_source *source;
    struct vrt_pickle pickle;
    size_t at_bytes;            /* how far the file was read */
    bool is_little_endian;
};

static int read_next(struct reader *reader, struct vrt_pickle_value *ret_value)
{
    const uint8_t *at = reader->source->data + reader->at_bytes;
    size_t left_bytes = reader->source->size_bytes - reader->at_bytes, used_bytes;

    left_bytes = VRT_MIN(left_bytes, PICKLE_BYTES_MAX);
    int r = vrt_checkpoint_need(reader->source, at, left_bytes);
    if (r < 0)
        return r;
    r = vrt_pickle_read(&reader->pickle, at, left_bytes, ret_value, &used_bytes);
    if (r < 0)
        return r;
    reader->at_bytes += used_bytes;
    return 0;
}

static int read_prologue(struct reader *reader)
{
    struct vrt_pickle_value value;
    const struct vrt_pickle_value *is_little_endian;
    int r = read_next(reader, &value);

    if (r < 0)
        return r;
    if (value.type != VRT_PICKLE_LONG || !vrt_text_is(value.text, magic))
        return vrt_checkpoint_refuse(reader->source, "is a Python pickle, but not one that "
                                                     "PyTorch's save made");
    r = read_next(reader, &value);
    if (r < 0)
        return r;
    if (value.type != VRT_PICKLE_INT || value.integer != PROTOCOL_VERSION)
        return vrt_checkpoint_refuse(reader->source, "is of an unknown version of PyTorch's old "
                                     "format: load and save it once with a recent PyTorch");
    r = read_next(reader, &value);
    if (r < 0)
        return r;
    is_little_endian = vrt_pickle_find(&value, "little_endian");
    if (!is_little_endian || is_little_endian->type != VRT_PICKLE_BOOL)
        return vrt_pickle_refuse_damaged(&reader->pickle);
    reader->is_little_endian = is_little_endian->integer;
    return 0;
}

/* The number of elements before a storage's data, which is there. */
static uint64_t take_count(struct reader *reader)
{
    const uint8_t *bytes = reader->source->data + reader->at_bytes;
    uint64_t n = 0;

    for (int i = 0; i < COUNT_BYTES; i++)
        n = n << 8 | bytes[reader->is_little_endian ? COUNT_BYTES - 1 - i : i];
    reader->at_bytes += COUNT_BYTES;
    return n;
}

/* Finds the place of the storage of this key, which is next in the file. */
static int place_storage(struct reader *reader, const struct vrt_torch_selection *selection,
                        const struct vrt_pickle_value *key)
{
    struct vrt_pickle_storage *storage = NULL;

    if (key->type == VRT_PICKLE_TEXT)
        storage = vrt_torch_find_storage(selection, key->text);
    if (!storage || storage->data)
        return vrt_pickle_refuse_damaged(&reader->pickle);
    if (reader->source->size_bytes - reader->at_bytes < COUNT_BYTES)
        return vrt_checkpoint_refuse(reader->source, "is cut short: data of its tensors is "
                                                     "missing");
    int r = vrt_checkpoint_need(reader->source, reader->source->data + reader->at_bytes,
                                COUNT_BYTES);
    if (r < 0)
        return r;
    if (take_count(reader) != storage->n_bytes / vrt_checkpoint_dtype_bytes(storage->dtype))
        return vrt_checkpoint_refuse(reader->source, "is damaged: a tensor's data has another "
                                                     "size than the tensor");
    if (storage->n_bytes > reader->source->size_bytes - reader->at_bytes)
        return vrt_checkpoint_refuse(reader->source, "is cut short: data of its tensors is "
                                                     "missing");

    /* What is not wanted has to be passed over: storages follow each other without an index. */
    const uint8_t *data = reader->source->data + reader->at_bytes;
    reader->at_bytes += storage->n_bytes;
    if (storage->is_wanted)
        return vrt_torch_place(reader->source, storage, data, reader->is_little_endian);
    storage->data = data;
    return 0;
}

static int read_file(struct reader *reader)
{
    struct vrt_torch_selection selection;
    struct vrt_pickle_value root, keys;
    int r = read_prologue(reader);

    if (r < 0)
        return r;
    r = read_next(reader, &root);
    if (r < 0)
        return r;
    r = vrt_torch_select(&reader->pickle, &root, &selection);
    if (r < 0)
        return r;
    r = read_next(reader, &keys);
    if (r < 0)
        return r;
    if (keys.type != VRT_PICKLE_LIST)
        return vrt_pickle_refuse_damaged(&reader->pickle);
    for (size_t i = 0; i < keys.items->n; i++) {
        r = place_storage(reader, &selection, &keys.items->values[i]);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < selection.n_storages; i++)
        if (selection.storages[i]->is_wanted && !selection.storages[i]->data)
            return vrt_checkpoint_refuse(reader->source, "is damaged: it lacks data of its "
                                                         "tensors");
    r = vrt_torch_add_tensors(reader->source, &selection);
    for (size_t i = 0; r == 0 && i < selection.n_storages; i++) {
        const struct vrt_pickle_storage *storage = selection.storages[i];
        if (!storage->is_wanted)
            continue;
        r = vrt_checkpoint_need(reader->source, storage->raw, storage->n_bytes);
        if (r == 0)
            vrt_torch_turn(storage);
    }
    return r;
}

int vrt_torch_legacy_read(struct vrt_checkpoint_source *source)
{
    struct reader reader = { .source = source };
    int r;

    source->keeps_image = true;
    vrt_pickle_init(&reader.pickle, source, source->size_bytes);
    r = read_file(&reader);
    vrt_pickle_done(&reader.pickle);
    return r;
}
