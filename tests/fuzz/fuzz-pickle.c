/* SPDX-License-Identifier: MIT */
/*
 * The tree of a .pth archive, past the archive: its checksums would keep a fuzzer out. Each storage
 * that the tree wants is found and holds zeros.
 */

#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "engine/checkpoint/torch.h"

#define STORAGE_BYTES_MAX (1 << 16)

static const uint8_t zeros[STORAGE_BYTES_MAX];

static int fill(struct vrt_checkpoint_source *source, const struct vrt_torch_selection *selection)
{
    for (size_t i = 0; i < selection->n_storages; i++) {
        struct vrt_pickle_storage *storage = selection->storages[i];
        int r;

        vrt_assert(vrt_torch_find_storage(selection, storage->key) == storage);
        if (!storage->is_wanted)
            continue;
        if (storage->n_bytes > STORAGE_BYTES_MAX)
            return vrt_checkpoint_refuse(source, "is larger than what is tried here");
        r = vrt_torch_place(source, storage, zeros, i % 2);
        if (r)
            return r;
    }
    int r = vrt_torch_add_tensors(source, selection);
    for (size_t i = 0; r == 0 && i < selection->n_storages; i++)
        if (selection->storages[i]->is_wanted)
            vrt_torch_turn(selection->storages[i]);
    return r;
}

static void use(const struct vrt_checkpoint *cp)
{
    float values[4096];

    for (int i = 0; i < cp->n_tensors; i++)
        if (cp->tensors[i].n_elements <= 4096)
            vrt_checkpoint_read_f32(&cp->tensors[i], values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vrt_checkpoint *cp = calloc(1, sizeof(*cp));
    struct vrt_error error = { 0 };
    struct vrt_checkpoint_source source = {
        .data = data, .size_bytes = size, .name = "file", .checkpoint = cp, .error = &error,
        .elements_left = 1 << 20,
    };
    struct vrt_torch_selection selection;
    struct vrt_pickle_value root;
    struct vrt_pickle pickle;
    size_t used_bytes;
    int r;

    vrt_assert(cp);
    vrt_cp_arena_init(&cp->arena, 1 << 20);
    vrt_pickle_init(&pickle, &source, size);
    r = vrt_pickle_read(&pickle, data, size, &root, &used_bytes);
    if (!r)
        r = vrt_torch_select(&pickle, &root, &selection);
    if (!r)
        r = fill(&source, &selection);
    vrt_assert(!r == !error.message[0]);
    if (!r)
        use(cp);
    vrt_pickle_done(&pickle);
    vrt_checkpoint_free(cp);
    return 0;
}
