/* SPDX-License-Identifier: MIT */

#include "tests/unit/pipeline/clip-trail.h"

#include "model/architecture.h"
#include "model/parts/layers.h"

/* Each frame with half of what was there before it; or after it, backwards. */
static struct vrt_tensor trail(struct vrt_graph *graph, const struct vrt_tensor *x, bool forward)
{
    struct vrt_tensor trails = vrt_graph_tensor(graph, VRT_DTYPE_F32, x->shape);
    const int n = x->shape.d;

    for (int i = 0; i < n; i++) {
        const int at = forward ? i : n - 1 - i;
        const struct vrt_tensor here = vrt_tensor_frames(x, at, 1);
        const struct vrt_tensor out = vrt_tensor_frames(&trails, at, 1);

        if (i == 0) {
            vrt_layer_copy(graph, &here, &out);
            continue;
        }
        const struct vrt_tensor before = vrt_tensor_frames(&trails, forward ? at - 1 : at + 1, 1);
        vrt_layer_add(graph, &before, 0.5f, &here, &out);
    }
    return trails;
}

/* An eighth of the size. */
static struct vrt_tensor reduce(struct vrt_graph *graph, struct vrt_tensor x)
{
    for (int i = 0; i < 3; i++) {
        const struct vrt_shape half = { x.shape.d, x.shape.h / 2, x.shape.w / 2, x.shape.c };
        const struct vrt_tensor halved = vrt_graph_tensor(graph, VRT_DTYPE_F32, half);

        vrt_layer_halve(graph, &x, &halved);
        x = halved;
    }
    return x;
}

static void build(const struct vrt_network *network, struct vrt_graph *graph,
                  const struct vrt_tensor *in, const struct vrt_tensor *out,
                  const struct vrt_network_use *use)
{
    const struct vrt_tensor past = trail(graph, in, true), future = trail(graph, in, false);
    const struct vrt_tensor both = vrt_graph_tensor(graph, VRT_DTYPE_F32, in->shape);
    const struct vrt_tensor blurred = vrt_graph_tensor(graph, VRT_DTYPE_F32, out->shape);
    const struct vrt_tensor large = vrt_graph_tensor(graph, VRT_DTYPE_F32, out->shape);
    const struct vrt_tensor sum = vrt_graph_tensor(graph, VRT_DTYPE_F32, out->shape);
    struct vrt_op_affine affine = { { 0 }, { 0 } };

    (void)network;
    vrt_layer_add(graph, &past, 0.7f, &future, &both);
    const struct vrt_tensor small = reduce(graph, both);
    vrt_layer_resize(graph, &small, VRT_RESIZE_BILINEAR_CORNERS, &blurred);
    vrt_layer_resize(graph, in, VRT_RESIZE_NEAREST, &large);
    vrt_layer_add(graph, &blurred, 0.3f, &large, &sum);
    for (int c = 0; c < 3; c++) {
        affine.scale[c] = 0.45f;
        affine.shift[c] = 0.02f * (float)c + use->noise;
    }
    vrt_layer_affine(graph, &sum, &affine, out);
}

void trail_replace(struct vrt_network *network)
{
    static const struct vrt_architecture architecture = {
        .name = "trail",
        .network = "trails",
        .pad_mode = VRT_PAD_MIRROR,
        .build = build,
    };

    network->architecture = &architecture;
}
