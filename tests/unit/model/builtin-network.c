/* SPDX-License-Identifier: MIT */

#include "tests/unit/model/builtin-network.h"

#include "engine/checkpoint.h"
#include "models/builtin.h"
#include "tests/unit/test.h"

struct vrt_network *builtin_network(void)
{
    const struct vrt_builtin_model *model = vrt_builtin_model_at(0);
    VRT_CLEANUP(vrt_checkpoint_freep) struct vrt_checkpoint *checkpoint = NULL;
    struct vrt_network *network = NULL;

    expect_int(vrt_checkpoint_open_memory(model->data, model->size_bytes, model->name, &checkpoint,
                                          NULL), 0);
    expect_int(vrt_network_new(checkpoint, model->name, &network, NULL), 0);
    return network;
}
