/* SPDX-License-Identifier: MIT */

/* Memory of an MPS device, and copies to and from it while the host waits. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/mps/device.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "mps"

/* Metal copies whole words between buffers, from whole words on. */
#define WORD 4UL

static size_t whole_words(size_t bytes)
{
    return (bytes + WORD - 1) / WORD * WORD;
}

int vrt_mps_memory_new(struct vrt_mps_device *mps, size_t size_bytes, unsigned long mode,
                       vrt_metal_id *ret_memory)
{
    const uint64_t used = VRT_METAL(allocated_bytes, mps->device);
    const uint64_t total = VRT_METAL(working_set_bytes, mps->device);

    /* Metal promises more than there is, and then swaps. */
    if (size_bytes > VRT_METAL(max_buffer_bytes, mps->device) || size_bytes > total ||
        used > total - size_bytes)
        return VRT_BACKEND_E_NOMEM;
    *ret_memory = VRT_METAL(new_buffer, mps->device, VRT_MAX(whole_words(size_bytes), WORD), mode);
    return *ret_memory ? 0 : VRT_BACKEND_E_NOMEM;
}

int vrt_mps_buffer_new(struct vrt_device *device, size_t size_bytes,
                       struct vrt_buffer **ret_buffer)
{
    VRT_METAL_POOL;
    struct vrt_mps_device *mps = vrt_mps_device_of(device);
    struct vrt_mps_buffer *buffer = calloc(1, sizeof(*buffer));

    if (!buffer)
        return vrt_raise(-ENOMEM);
    int r = vrt_mps_memory_new(mps, size_bytes,
                               mps->is_unified ? VRT_METAL_SHARED : VRT_METAL_PRIVATE,
                               &buffer->memory);
    if (r != 0) {
        free(buffer);
        return r;
    }
    buffer->host = mps->is_unified ? VRT_METAL(contents, buffer->memory) : NULL;
    buffer->mark = mps->compute.n_committed;
    *ret_buffer = &buffer->base;
    return 0;
}

void vrt_mps_buffer_free(struct vrt_device *device, struct vrt_buffer *base)
{
    VRT_METAL_POOL;
    struct vrt_mps_device *mps = vrt_mps_device_of(device);
    struct vrt_mps_buffer *buffer = vrt_mps_buffer_of(base);

    if (!device->lost)
        vrt_mps_await(mps, &mps->compute, buffer->used, "computing");
    if (!mps->is_stuck)
        vrt_metal_drop(&buffer->memory);
    free(buffer);
}

void vrt_mps_stages_done(struct vrt_mps_device *mps)
{
    for (int i = 0; i < VRT_MPS_STAGES; i++) {
        vrt_metal_drop(&mps->up[i].memory);
        vrt_metal_drop(&mps->down[i].memory);
    }
}

/* Makes a stage ready to be written by the host: there, and in no copy's way. */
static int prepare(struct vrt_mps_device *mps, struct vrt_mps_queue *queue,
                   struct vrt_mps_stage *stage)
{
    if (!stage->memory) {
        int r = vrt_mps_memory_new(mps, VRT_MPS_STAGE_BYTES, VRT_METAL_SHARED, &stage->memory);
        if (r != 0)
            return r;
        stage->host = VRT_METAL(contents, stage->memory);
    }
    return vrt_mps_await(mps, queue, stage->used, "copying");
}

/* One side of a copy. */
struct side {
    vrt_metal_id memory;
    size_t offset_bytes;
};

/* Has a queue copy what `stage` is one side of. */
static int start_copy(struct vrt_mps_device *mps, struct vrt_mps_queue *queue,
                      struct vrt_mps_stage *stage, struct side from, struct side to,
                      size_t size_bytes)
{
    vrt_metal_id commands = vrt_mps_queue_begin(queue);
    vrt_metal_id encoder = VRT_METAL(copy_encoder, commands);

    if (!encoder)
        return VRT_BACKEND_E_NOMEM;
    VRT_METAL(copy, encoder, from.memory, from.offset_bytes, to.memory, to.offset_bytes,
              size_bytes);
    VRT_METAL(end, encoder);
    int r = vrt_mps_commit(mps, queue, commands, "copying");
    stage->used = queue->n_committed;
    return r;
}

static int upload(struct vrt_mps_device *mps, vrt_metal_id to, size_t offset_bytes,
                  const char *from, size_t size_bytes)
{
    struct vrt_mps_queue *queue = &mps->upload;
    uint64_t mark = queue->n_committed;
    int r = 0;

    for (size_t at = 0, i = 0; r == 0 && at < size_bytes; at += VRT_MPS_STAGE_BYTES, i++) {
        struct vrt_mps_stage *stage = &mps->up[i % VRT_MPS_STAGES];
        const size_t n = VRT_MIN(size_bytes - at, VRT_MPS_STAGE_BYTES);
        r = prepare(mps, queue, stage);
        if (r != 0)
            break;
        memcpy(stage->host, from + at, n);
        r = start_copy(mps, queue, stage, (struct side){ stage->memory, 0 },
                       (struct side){ to, offset_bytes + at }, n);
    }
    return r != 0 ? r : vrt_mps_settle(mps, queue, &mark, queue->n_committed, "copying to it");
}

/* One piece is on its way while the one before is copied on. */
static int download(struct vrt_mps_device *mps, vrt_metal_id from, size_t offset_bytes, char *to,
                    size_t size_bytes)
{
    const size_t step = VRT_MPS_STAGE_BYTES, n = (size_bytes + step - 1) / step;
    uint64_t mark = mps->download.n_committed;
    int r = 0;

    for (size_t i = 0; r == 0 && i < n + VRT_MPS_STAGES; i++) {
        struct vrt_mps_stage *stage = &mps->down[i % VRT_MPS_STAGES];
        const size_t done = i - VRT_MPS_STAGES;     /* the piece that it held before, if any */
        r = prepare(mps, &mps->download, stage);
        if (r != 0)
            return r;
        if (i >= VRT_MPS_STAGES && done < n)
            memcpy(to + done * step, stage->host, VRT_MIN(size_bytes - done * step, step));
        if (i < n)
            r = start_copy(mps, &mps->download, stage,
                           (struct side){ from, offset_bytes + i * step },
                           (struct side){ stage->memory, 0 },
                           VRT_MIN(size_bytes - i * step, step));
    }
    return r != 0 ? r : vrt_mps_settle(mps, &mps->download, &mark, mps->download.n_committed,
                                       "copying from it");
}

/* The same where words are cut: by way of the whole words around it. */
static int upload_part(struct vrt_mps_device *mps, vrt_metal_id to, size_t offset_bytes,
                       const char *from, size_t size_bytes)
{
    const size_t first = offset_bytes / WORD * WORD;
    const size_t n = whole_words(offset_bytes + size_bytes) - first;
    VRT_CLEANUP(vrt_freep) char *words = malloc(n);

    if (!words)
        return vrt_raise(-ENOMEM);
    int r = download(mps, to, first, words, n);
    if (r != 0)
        return r;
    memcpy(words + (offset_bytes - first), from, size_bytes);
    return upload(mps, to, first, words, n);
}

static int download_part(struct vrt_mps_device *mps, vrt_metal_id from, size_t offset_bytes,
                         char *to, size_t size_bytes)
{
    const size_t first = offset_bytes / WORD * WORD;
    const size_t n = whole_words(offset_bytes + size_bytes) - first;
    VRT_CLEANUP(vrt_freep) char *words = malloc(n);

    if (!words)
        return vrt_raise(-ENOMEM);
    int r = download(mps, from, first, words, n);
    if (r != 0)
        return r;
    memcpy(to, words + (offset_bytes - first), size_bytes);
    return 0;
}

static bool is_whole(size_t offset_bytes, size_t size_bytes)
{
    return (offset_bytes | size_bytes) % WORD == 0;
}

int vrt_mps_buffer_write(struct vrt_device *device, struct vrt_buffer *dst, size_t offset_bytes,
                         const void *src, size_t size_bytes)
{
    VRT_METAL_POOL;
    struct vrt_mps_device *mps = vrt_mps_device_of(device);
    struct vrt_mps_buffer *buffer = vrt_mps_buffer_of(dst);
    int r = vrt_mps_await(mps, &mps->compute, buffer->used, "computing");

    if (r != 0)
        return r;
    if (!buffer->host)
        return (is_whole(offset_bytes, size_bytes) ? upload : upload_part)(
            mps, buffer->memory, offset_bytes, src, size_bytes);
    memcpy(buffer->host + offset_bytes, src, size_bytes);
    return 0;
}

int vrt_mps_buffer_read(struct vrt_device *device, const struct vrt_buffer *src,
                        size_t offset_bytes, void *dst, size_t size_bytes)
{
    VRT_METAL_POOL;
    struct vrt_mps_device *mps = vrt_mps_device_of(device);
    struct vrt_mps_buffer *buffer = vrt_mps_buffer_of(src);
    int r = vrt_mps_settle(mps, &mps->compute, &buffer->mark, buffer->used, "computing");

    if (r != 0)
        return r;
    if (!buffer->host)
        return (is_whole(offset_bytes, size_bytes) ? download : download_part)(
            mps, buffer->memory, offset_bytes, dst, size_bytes);
    memcpy(dst, buffer->host + offset_bytes, size_bytes);
    return 0;
}
