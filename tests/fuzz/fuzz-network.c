/* SPDX-License-Identifier: MIT */
/* A checkpoint of any names and shapes: no network, with a sentence, or one that can be built. */

#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "engine/checkpoint.h"
#include "model/network.h"

static void build(const struct vrt_network *network)
{
    const struct vrt_network_info *info = vrt_network_info(network);
    const struct vrt_shape in = { info->min_frames, 5, 7, info->in_channels };
    const struct vrt_shape out = vrt_network_out_shape(network, in);
    struct vrt_graph *graph;

    vrt_assert(info->scale >= 1 && info->multiple >= 1 && info->radius >= 1);
    vrt_assert(info->n_parameters > 0 && info->description[0]);
    vrt_assert(vrt_graph_new(&graph) == 0);
    struct vrt_tensor x = vrt_graph_input(graph, VRT_DTYPE_F32, in);
    struct vrt_tensor y = vrt_graph_output(graph, VRT_DTYPE_F32, out);
    vrt_assert(vrt_network_build(network, graph, &x, &y,
                                 &(struct vrt_network_use){ .dtype = VRT_DTYPE_BF16 }) == 0);
    vrt_assert(vrt_graph_flops(graph) > 0);
    vrt_graph_free(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vrt_checkpoint *checkpoint = NULL;
    struct vrt_network *network = NULL;
    struct vrt_error error = { 0 };

    if (vrt_checkpoint_open_memory(data, size, "file", &checkpoint, NULL) != 0)
        return 0;
    int r = vrt_network_new(checkpoint, "file", &network, &error);
    vrt_checkpoint_free(checkpoint);
    vrt_assert(!r == !!network);
    vrt_assert(!r || (error.id && strncmp(error.message, "file ", 5) == 0));
    if (network)
        build(network);
    vrt_network_unref(network);
    return 0;
}
