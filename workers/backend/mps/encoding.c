/* SPDX-License-Identifier: MIT */

/* Kernels put into command buffers, each of bounded work. */

#include <string.h>

#include "backend/mps/device.h"
#include "backend/mps/staging.h"

/* Where kernels find what they have of a launch: its struct, and which group is their first. */
#define ARGS_INDEX 0UL
#define FIRST_GROUP_INDEX 30UL

static void await_bindings(const struct vrt_mps_encoding *encoding)
{
    for (int i = 0; i < encoding->n_bindings; i++)
        if (encoding->bindings[i].buffer)
            vrt_mps_staging_await(encoding->commands,
                                  vrt_mps_buffer_of(encoding->bindings[i].buffer)->staging);
}

/* An open encoder of compute commands. Return: 0, or an outcome. */
static int open_encoder(struct vrt_mps_encoding *encoding)
{
    if (encoding->encoder)
        return 0;
    encoding->commands = vrt_mps_queue_begin(&encoding->device->compute);
    if (!encoding->has_begun && encoding->commands)
        await_bindings(encoding);
    encoding->has_begun = true;
    encoding->encoder = VRT_METAL(compute_encoder, encoding->commands);
    encoding->flops = 0;
    return encoding->encoder ? 0 : VRT_BACKEND_E_NOMEM;
}

/* Commits what is open. Return: 0, or an outcome. */
static int commit(struct vrt_mps_encoding *encoding)
{
    struct vrt_mps_device *mps = encoding->device;

    VRT_METAL(end, encoding->encoder);
    encoding->encoder = NULL;
    return vrt_mps_commit(mps, &mps->compute, encoding->commands, "starting work");
}

int vrt_mps_encoding_finish(struct vrt_mps_encoding *encoding)
{
    struct vrt_mps_device *mps = encoding->device;

    if (!encoding->encoder)
        return 0;
    VRT_METAL(end, encoding->encoder);
    encoding->encoder = NULL;
    if (mps->progress)
        VRT_METAL(signal, encoding->commands, mps->progress, ++mps->n_programs);
    return vrt_mps_commit(mps, &mps->compute, encoding->commands, "starting work");
}

void vrt_mps_encoding_abandon(struct vrt_mps_encoding *encoding)
{
    if (encoding->encoder)
        VRT_METAL(end, encoding->encoder);
    encoding->encoder = NULL;
}

/* How many parts a launch is cut into, along which dimension: the one of most groups. */
static uint32_t parts_of(const struct vrt_mps_encoding *encoding,
                         const struct vrt_kernel_launch *launch, int *ret_dimension)
{
    const double parts = encoding->op_flops / encoding->device->work_flops;
    int most = 0;

    for (int i = 1; i < 3; i++)
        most = launch->groups[i] > launch->groups[most] ? i : most;
    *ret_dimension = most;
    return parts < 1 ? 1 : parts < launch->groups[most] ? (uint32_t)parts + 1 :
           launch->groups[most];
}

/* Everything but how many groups. */
static void set_up(const struct vrt_mps_encoding *encoding, vrt_metal_id pipeline,
                   const struct vrt_kernel_launch *launch)
{
    const vrt_metal_id encoder = encoding->encoder;

    VRT_METAL(set_pipeline, encoder, pipeline);
    VRT_METAL(set_bytes, encoder, launch->args, launch->args_bytes, ARGS_INDEX);
    for (int i = 0; i < launch->n_data; i++) {
        const struct vrt_kernel_place *place = &launch->data[i];
        const vrt_metal_id memory = place->memory;
        VRT_METAL(set_buffer, encoder, memory ? memory : encoding->device->kernels.nothing,
                  memory ? place->offset_bytes : 0UL, (unsigned long)i + 1);
    }
}

/* Encodes groups first .. first + n - 1 along a dimension, in a command buffer that has room for
 * them. */
static int encode(struct vrt_mps_encoding *encoding, vrt_metal_id pipeline,
                  const struct vrt_kernel_launch *launch, int dimension, uint32_t first, uint32_t n)
{
    const struct vrt_metal_size local = { launch->local[0], launch->local[1], launch->local[2] };
    const double flops = encoding->op_flops * n / launch->groups[dimension];
    uint32_t groups[3], first_group[4] = { 0 };
    int r = 0;

    if (encoding->encoder && encoding->flops + flops > encoding->device->work_flops)
        r = commit(encoding);
    if (r != 0)
        return r;
    r = open_encoder(encoding);
    if (r != 0)
        return r;
    memcpy(groups, launch->groups, sizeof(groups));
    groups[dimension] = n;
    first_group[dimension] = first;
    set_up(encoding, pipeline, launch);
    VRT_METAL(set_bytes, encoding->encoder, first_group, sizeof(first_group), FIRST_GROUP_INDEX);
    VRT_METAL(dispatch, encoding->encoder,
              ((struct vrt_metal_size){ groups[0], groups[1], groups[2] }), local);
    encoding->flops += flops;
    return 0;
}

int vrt_mps_encode(struct vrt_mps_encoding *encoding, vrt_metal_id pipeline,
                   const struct vrt_kernel_launch *launch)
{
    int dimension, r = 0;
    const uint32_t n_parts = parts_of(encoding, launch, &dimension);
    const uint32_t n = launch->groups[dimension], each = (n + n_parts - 1) / n_parts;

    for (uint32_t first = 0; r == 0 && first < n; first += each)
        r = encode(encoding, pipeline, launch, dimension, first, VRT_MIN(each, n - first));
    return r;
}
