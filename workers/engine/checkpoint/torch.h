/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What PyTorch's two formats share: tensors in a tree of containers, their data in storages.
 *
 * 1. the format's reader runs the pickle;
 * 2. vrt_torch_select() decides which dictionary of the tree is the model's, finds the storages
 *    that its tensors need, and sorts all of them by key;
 * 3. the reader says where the data of those that are wanted will be, vrt_torch_place();
 * 4. vrt_torch_add_tensors(), after which somebody may look, and refuse the file;
 * 5. the reader reads the data, and has each turned, vrt_torch_turn().
 */

#include "engine/checkpoint/pickle.h"

struct vrt_torch_selection {
    struct vrt_pickle_value dict;               /* the model's tensors, by name */
    struct vrt_pickle_storage **storages;       /* one of each key, sorted */
    size_t n_storages;
};

/*
 * Step 2. The selection lives as long as the machine's values.
 * Return: 0; -EINVAL, -ENOMEM with the sentence said.
 */
int vrt_torch_select(struct vrt_pickle *pickle, const struct vrt_pickle_value *root,
                     struct vrt_torch_selection *ret_selection) VRT_MUST_CHECK;

/* The storage of this key, or NULL. */
struct vrt_pickle_storage *vrt_torch_find_storage(const struct vrt_torch_selection *selection,
                                                  struct vrt_text key);

/*
 * Before a storage is unpacked: views of a large tensor are saved with all of it, but all of it
 * isn't worth a few elements. Return: 0; -EINVAL with the sentence said.
 */
int vrt_torch_check_reach(const struct vrt_checkpoint_source *source,
                          const struct vrt_pickle_storage *storage) VRT_MUST_CHECK;

/*
 * Step 3: the storage's n_bytes will be those at `raw`, which stay as long as the checkpoint; where
 * the byte order isn't the host's, a turned copy of them.
 * Return: 0; -EINVAL, -ENOMEM with the sentence said.
 */
int vrt_torch_place(struct vrt_checkpoint_source *source, struct vrt_pickle_storage *storage,
                    const void *raw, bool is_little_endian) VRT_MUST_CHECK;

/* Step 5: they are there. */
void vrt_torch_turn(const struct vrt_pickle_storage *storage);

/* Step 4, with vrt_checkpoint_finish(). Return: 0; -EINVAL, -ENOMEM with the sentence said. */
int vrt_torch_add_tensors(struct vrt_checkpoint_source *source,
                          const struct vrt_torch_selection *selection) VRT_MUST_CHECK;
