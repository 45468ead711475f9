/* SPDX-License-Identifier: MIT */

/*
 * What an MPS device exchanges with the host
 *
 * Where memory is unified that is one buffer, and a wait is for the programs that had it bound.
 * Else events keep three queues in order, without the host: programs wait for what was pushed, what
 * is pulled waits for the programs.
 */

#include "backend/mps/staging.h"

#include <errno.h>
#include <stdlib.h>

static struct vrt_mps_staging *staging_of(struct vrt_staging *base)
{
    return vrt_container_of(base, struct vrt_mps_staging, base);
}

/* The host's side of a GPU with memory of its own. */
static int make_shared(struct vrt_mps_device *mps, size_t size_bytes,
                       struct vrt_mps_staging *staging)
{
    int r = vrt_mps_memory_new(mps, size_bytes, VRT_METAL_SHARED, &staging->shared);

    if (r != 0)
        return r;
    staging->pushed = VRT_METAL(new_event, mps->device);
    if (!staging->pushed)
        return VRT_BACKEND_E_NOMEM;
    staging->base.host = VRT_METAL(contents, staging->shared);
    return 0;
}

int vrt_mps_staging_new(struct vrt_device *device, size_t size_bytes,
                        struct vrt_staging **ret_staging)
{
    VRT_METAL_POOL;
    struct vrt_mps_device *mps = vrt_mps_device_of(device);
    struct vrt_mps_staging *staging = calloc(1, sizeof(*staging));

    if (!staging)
        return vrt_raise(-ENOMEM);
    int r = vrt_mps_buffer_new(device, size_bytes, &staging->base.buffer);
    if (r != 0) {
        free(staging);
        return r;
    }
    struct vrt_mps_buffer *buffer = vrt_mps_buffer_of(staging->base.buffer);
    buffer->staging = staging;
    staging->told = vrt_mps_now(mps);
    staging->base.host = (uint8_t *)buffer->host;
    if (!mps->is_unified)
        r = make_shared(mps, size_bytes, staging);
    if (r != 0) {
        vrt_mps_staging_free(device, &staging->base);
        return r;
    }
    *ret_staging = &staging->base;
    return 0;
}

/* Waits until no copy has to do with it, nor a program. */
static int settle(struct vrt_mps_device *mps, struct vrt_mps_staging *staging)
{
    const struct vrt_mps_buffer *buffer = vrt_mps_buffer_of(staging->base.buffer);
    int r = vrt_mps_await(mps, &mps->compute, buffer->used, "computing");

    if (r != 0 || mps->is_unified)
        return r;
    r = vrt_mps_await(mps, &mps->upload, staging->last_push, "copying to it");
    return r != 0 ? r : vrt_mps_await(mps, &mps->download, staging->pulled.download,
                                      "copying from it");
}

void vrt_mps_staging_free(struct vrt_device *device, struct vrt_staging *base)
{
    VRT_METAL_POOL;
    struct vrt_mps_device *mps = vrt_mps_device_of(device);
    struct vrt_mps_staging *staging = staging_of(base);

    if (!device->lost)
        settle(mps, staging);
    if (!mps->is_stuck) {
        vrt_metal_drop(&staging->shared);
        vrt_metal_drop(&staging->pushed);
    }
    vrt_mps_buffer_free(device, base->buffer);
    free(staging);
}

/* Encodes a copy. Return: 0, or an outcome. */
static int copy(vrt_metal_id commands, vrt_metal_id from, vrt_metal_id to, size_t size_bytes)
{
    vrt_metal_id encoder = VRT_METAL(copy_encoder, commands);

    if (!encoder)
        return VRT_BACKEND_E_NOMEM;
    /* In whole words, which both sides have room for. */
    VRT_METAL(copy, encoder, from, 0UL, to, 0UL, (size_bytes + 3) / 4 * 4);
    VRT_METAL(end, encoder);
    return 0;
}

int vrt_mps_staging_push(struct vrt_device *device, struct vrt_staging *base, size_t size_bytes)
{
    VRT_METAL_POOL;
    struct vrt_mps_device *mps = vrt_mps_device_of(device);
    struct vrt_mps_staging *staging = staging_of(base);
    int r = settle(mps, staging);

    if (r != 0 || mps->is_unified)
        return r;
    vrt_metal_id commands = vrt_mps_queue_begin(&mps->upload);
    r = copy(commands, staging->shared, vrt_mps_buffer_of(base->buffer)->memory, size_bytes);
    if (r != 0)
        return r;
    VRT_METAL(signal, commands, staging->pushed, ++staging->n_pushed);
    r = vrt_mps_commit(mps, &mps->upload, commands, "copying to it");
    staging->last_push = mps->upload.n_committed;
    return r;
}

void vrt_mps_staging_await(vrt_metal_id commands, const struct vrt_mps_staging *staging)
{
    if (staging && staging->n_pushed > 0)
        VRT_METAL(wait_for, commands, staging->pushed, staging->n_pushed);
}

int vrt_mps_staging_pull(struct vrt_device *device, struct vrt_staging *base, size_t size_bytes)
{
    VRT_METAL_POOL;
    struct vrt_mps_device *mps = vrt_mps_device_of(device);
    struct vrt_mps_staging *staging = staging_of(base);
    const struct vrt_mps_buffer *buffer = vrt_mps_buffer_of(base->buffer);

    staging->pulled = vrt_mps_now(mps);
    if (mps->is_unified)
        return 0;
    vrt_metal_id commands = vrt_mps_queue_begin(&mps->download);
    VRT_METAL(wait_for, commands, mps->progress, buffer->program);
    int r = copy(commands, buffer->memory, staging->shared, size_bytes);
    if (r != 0)
        return r;
    r = vrt_mps_commit(mps, &mps->download, commands, "copying from it");
    staging->pulled = vrt_mps_now(mps);
    return r;
}

/* Program by program: for each there is as much patience. */
int vrt_mps_staging_wait(struct vrt_device *device, struct vrt_staging *base)
{
    VRT_METAL_POOL;
    struct vrt_mps_staging *staging = staging_of(base);

    return vrt_mps_settle_all(vrt_mps_device_of(device), &staging->told, &staging->pulled);
}
