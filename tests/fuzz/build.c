/* SPDX-License-Identifier: MIT */

#include "tests/fuzz/build.h"

#include <string.h>

#include "model/carrier/carrier.h"
#include "model/network.h"

void fuzz_build(const struct vrt_network *network)
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

int fuzz_read(fuzz_reader *read, const uint8_t *data, size_t size)
{
    const struct vrt_dag_file file = {
        .data = data, .size_bytes = size, .name = "file",
        .error = &(struct vrt_error){ 0 },
    };
    struct vrt_network *network = NULL;
    struct vrt_dag *dag = NULL;

    struct vrt_checkpoint *checkpoint = NULL;

    int r = read(&file, &dag);
    vrt_assert(!r == !!dag);
    if (dag)
        r = vrt_network_new_dag(dag, "file", &network, file.error);
    else if (r == VRT_DAG_E_CARRIER)
        r = vrt_carrier_read(&file, &checkpoint);
    if (checkpoint)
        r = vrt_network_new(checkpoint, "file", &network, file.error);
    vrt_checkpoint_free(checkpoint);
    vrt_assert(!r == !!network);
    vrt_assert(!r || (file.error->id && strncmp(file.error->message, "file ", 5) == 0));
    if (network)
        fuzz_build(network);
    vrt_network_unref(network);
    return 0;
}
