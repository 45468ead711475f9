/* SPDX-License-Identifier: MIT */
/*
 * From a tree of values to tensors
 *
 * Trainers wrap the weights in dictionaries of their own choice: {"params_ema": ...}, {"epoch": 3,
 * "state_dict": ...}, or nothing. What is wanted is the one dictionary that has tensors as direct
 * entries and a name that means weights; optimisers keep theirs one level deeper.
 */

#include "engine/checkpoint/torch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How deep the model's dictionary may be: "model", then "state_dict". */
#define LEVELS_MAX 3

/* How many values are looked at in search of it: dictionaries may refer to each other. */
#define LOOKS_MAX (1 << 24)

/* A storage of more bytes has at most so many for each that tensors use. */
#define UNREACHED_BYTES_MIN (UINT64_C(64) << 20)
#define UNREACHED_PER_BYTE_MAX 16

/* What holds the weights, the preferred first. */
static const char *const containers[] = {
    "params_ema", "params", "state_dict", "model_state_dict", "model",
    "net",        "network", "generator",  "weights",
};

struct search {
    size_t looks_left;
};

/* Whether an entry of the dictionary is itself a tensor. */
static bool holds_tensors(struct search *search, const struct vrt_pickle_value *value)
{
    if (!value || value->type != VRT_PICKLE_DICT)
        return false;
    for (size_t i = 1; i < value->items->n && search->looks_left; i += 2, search->looks_left--)
        if (value->items->values[i].type == VRT_PICKLE_TENSOR)
            return true;
    return false;
}

/* The entry of a known name that holds tensors, or NULL. */
static const struct vrt_pickle_value *find_container(struct search *search,
                                                     const struct vrt_pickle_value *dict)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(containers); i++) {
        const struct vrt_pickle_value *value = vrt_pickle_find(dict, containers[i]);

        if (holds_tensors(search, value))
            return value;
    }
    return NULL;
}

/* The entry of whatever name that holds tensors, if it is the only one. */
static const struct vrt_pickle_value *find_only(struct search *search,
                                                const struct vrt_pickle_value *dict, int *ret_n)
{
    const struct vrt_pickle_value *only = NULL;

    *ret_n = 0;
    if (dict->type != VRT_PICKLE_DICT)
        return NULL;
    for (size_t i = 1; i < dict->items->n; i += 2) {
        if (!holds_tensors(search, &dict->items->values[i]))
            continue;
        only = &dict->items->values[i];
        (*ret_n)++;
    }
    return *ret_n == 1 ? only : NULL;
}

/* The entry of a known name that is a dictionary, though without tensors, or NULL. */
static const struct vrt_pickle_value *find_inner(const struct vrt_pickle_value *dict)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(containers); i++) {
        const struct vrt_pickle_value *value = vrt_pickle_find(dict, containers[i]);

        if (value && value->type == VRT_PICKLE_DICT)
            return value;
    }
    return NULL;
}

static int select_dict(struct vrt_pickle *pickle, const struct vrt_pickle_value *root,
                       struct vrt_pickle_value *ret_dict)
{
    struct search search = { .looks_left = LOOKS_MAX };
    const struct vrt_pickle_value *dict = root, *found;

    for (int level = 0; level < LEVELS_MAX && dict; level++) {
        int n_others = 0;

        found = find_container(&search, dict);
        if (!found && holds_tensors(&search, dict))
            found = dict;
        if (!found)
            found = find_only(&search, dict, &n_others);
        if (found) {
            *ret_dict = *found;
            return 0;
        }
        if (n_others)
            return vrt_checkpoint_refuse(pickle->source, "holds %d sets of tensors, none under a "
                                         "known name: save the one to be used as \"params\"",
                                         n_others);
        dict = find_inner(dict);
    }
    return vrt_checkpoint_refuse(pickle->source, "holds no tensors: it is not a model's weights");
}

static int compare_keys(const void *a, const void *b)
{
    const struct vrt_pickle_storage *const *x = a, *const *y = b;

    return vrt_text_compare((*x)->key, (*y)->key);
}

/* One storage of each key stays in the array, and the others know it. */
static int sort_storages(struct vrt_pickle *pickle, struct vrt_torch_selection *selection)
{
    size_t n = pickle->storages.n, n_kept = 0;

    selection->storages = vrt_cp_arena_alloc(&pickle->arena, n, sizeof(*selection->storages));
    if (!selection->storages)
        return vrt_checkpoint_refuse_memory(pickle->source, &pickle->arena);
    for (size_t i = 0; i < n; i++)
        selection->storages[i] = pickle->storages.values[i].storage;
    qsort(selection->storages, n, sizeof(*selection->storages), compare_keys);
    for (size_t i = 0; i < n; i++) {
        struct vrt_pickle_storage *storage = selection->storages[i];
        struct vrt_pickle_storage *last = n_kept ? selection->storages[n_kept - 1] : NULL;

        if (!last || vrt_text_compare(last->key, storage->key) != 0) {
            selection->storages[n_kept++] = storage;
            continue;
        }
        if (storage->n_bytes != last->n_bytes)
            return vrt_pickle_refuse_damaged(pickle);
        storage->first = last;
    }
    selection->n_storages = n_kept;
    return 0;
}

/* The bytes of its storage that a tensor is made of, a storage's at most. */
static uint64_t reach_of(const struct vrt_pickle_tensor *tensor)
{
    const uint64_t n_bytes = tensor->storage->n_bytes;
    uint64_t bytes = vrt_checkpoint_dtype_bytes(tensor->dtype);

    for (int d = 0; d < tensor->n_dims; d++) {
        if (tensor->dims[d] <= 0)
            return 0;
        /* Repeated elements are there once. */
        if (tensor->strides[d] == 0)
            continue;
        if ((uint64_t)tensor->dims[d] > n_bytes / bytes)
            return n_bytes;
        bytes *= (uint64_t)tensor->dims[d];
    }
    return VRT_MIN(bytes, n_bytes);
}

int vrt_torch_check_reach(const struct vrt_checkpoint_source *source,
                          const struct vrt_pickle_storage *storage)
{
    if (storage->n_bytes <= UNREACHED_BYTES_MIN ||
        storage->n_bytes / UNREACHED_PER_BYTE_MAX <= storage->reached_bytes)
        return 0;
    return vrt_checkpoint_refuse(source, "has %llu MiB of data of which its tensors use %llu: save "
                                 "clones of them with PyTorch",
                                 (unsigned long long)(storage->n_bytes >> 20),
                                 (unsigned long long)(storage->reached_bytes >> 20));
}

int vrt_torch_select(struct vrt_pickle *pickle, const struct vrt_pickle_value *root,
                     struct vrt_torch_selection *ret_selection)
{
    struct vrt_torch_selection selection = { 0 };
    int r = select_dict(pickle, root, &selection.dict);

    if (r < 0)
        return r;
    r = sort_storages(pickle, &selection);
    if (r < 0)
        return r;
    for (size_t i = 1; i < selection.dict.items->n; i += 2) {
        const struct vrt_pickle_value *value = &selection.dict.items->values[i];

        if (value->type != VRT_PICKLE_TENSOR)
            continue;
        value->tensor->storage->first->is_wanted = true;
        value->tensor->storage->first->element_bytes =
            vrt_checkpoint_dtype_bytes(value->tensor->dtype);
        value->tensor->storage->first->reached_bytes += reach_of(value->tensor);
    }
    *ret_selection = selection;
    return 0;
}

struct vrt_pickle_storage *vrt_torch_find_storage(const struct vrt_torch_selection *selection,
                                                  struct vrt_text key)
{
    struct vrt_pickle_storage wanted = { .key = key }, *wanted_at = &wanted, **found = NULL;

    if (selection->n_storages)
        found = bsearch(&wanted_at, selection->storages, selection->n_storages,
                        sizeof(*selection->storages), compare_keys);
    return found ? *found : NULL;
}

int vrt_torch_place(struct vrt_checkpoint_source *source, struct vrt_pickle_storage *storage,
                    const void *raw, bool is_little_endian)
{
    static const uint16_t one = 1;
    bool is_host_little = *(const uint8_t *)&one == 1;
    struct vrt_cp_arena *arena = &source->checkpoint->arena;

    storage->raw = storage->data = raw;
    if (is_little_endian == is_host_little || storage->element_bytes == 1 || !storage->n_bytes)
        return 0;
    storage->data = vrt_cp_arena_alloc(arena, storage->n_bytes, 1);
    return storage->data ? 0 : vrt_checkpoint_refuse_memory(source, arena);
}

void vrt_torch_turn(const struct vrt_pickle_storage *storage)
{
    size_t width = storage->element_bytes, n = storage->n_bytes / width;
    const uint8_t *from = storage->raw;
    uint8_t *to = (uint8_t *)(uintptr_t)storage->data;

    if (from == to)
        return;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < width; k++)
            to[i * width + k] = from[i * width + width - 1 - k];
    memset(to + n * width, 0, storage->n_bytes - n * width);
}

int vrt_torch_add_tensors(struct vrt_checkpoint_source *source,
                          const struct vrt_torch_selection *selection)
{
    const struct vrt_pickle_items *items = selection->dict.items;

    for (size_t i = 0; i < items->n; i += 2) {
        const struct vrt_pickle_value *name = &items->values[i];
        const struct vrt_pickle_tensor *tensor = items->values[i + 1].tensor;
        struct vrt_checkpoint_entry entry;
        int r;

        if (items->values[i + 1].type != VRT_PICKLE_TENSOR || name->type != VRT_PICKLE_TEXT)
            continue;
        entry = (struct vrt_checkpoint_entry){
            .name = name->text, .dtype = tensor->dtype, .n_dims = tensor->n_dims,
            .offset = tensor->offset,
            .storage = (const uint8_t *)tensor->storage->first->data + tensor->storage->view_bytes,
            .storage_bytes = tensor->storage->n_bytes - tensor->storage->view_bytes,
        };
        memcpy(entry.dims, tensor->dims, sizeof(entry.dims));
        memcpy(entry.strides, tensor->strides, sizeof(entry.strides));
        r = vrt_checkpoint_add(source, &entry);
        if (r < 0)
            return r;
    }
    return vrt_checkpoint_finish(source);
}
