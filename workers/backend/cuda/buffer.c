/* SPDX-License-Identifier: MIT */

/*
 * Memory of a CUDA device, and copies to and from it
 *
 * Copies go through pinned memory, which the device reads and writes by itself: a write returns
 * when the last piece is on its way. Events order what touches the same buffer, in whichever
 * stream: a copy waits for the programs that had the buffer bound, a program for the copies to it.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/device.h"

int vrt_cuda_stages_init(struct vrt_cuda_stage *stages)
{
    int r = 0;

    for (int i = 0; r == 0 && i < VRT_CUDA_STAGES; i++) {
        r = (int)cudaMallocHost((void **)&stages[i].host, VRT_CUDA_STAGE_BYTES);
        if (r != 0)
            return r;
        r = (int)cudaEventCreateWithFlags(&stages[i].done, cudaEventDisableTiming);
    }
    return r;
}

void vrt_cuda_stages_done(struct vrt_cuda_stage *stages)
{
    for (int i = 0; i < VRT_CUDA_STAGES; i++) {
        if (stages[i].done) {
            cudaEventSynchronize(stages[i].done);
            cudaEventDestroy(stages[i].done);
        }
        if (stages[i].host)
            cudaFreeHost(stages[i].host);
    }
}

static struct vrt_cuda_buffer *buffer_of(const struct vrt_buffer *base)
{
    return vrt_container_of(base, struct vrt_cuda_buffer, base);
}

int vrt_cuda_buffer_new(struct vrt_device *device, size_t size_bytes,
                        struct vrt_buffer **ret_buffer)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    struct vrt_cuda_buffer *buffer = calloc(1, sizeof(*buffer));
    int r;

    if (!buffer)
        return vrt_raise(-ENOMEM);
    r = (int)cudaMalloc((void **)&buffer->data, VRT_MAX(size_bytes, (size_t)1));
    if (r == 0)
        r = (int)cudaEventCreateWithFlags(&buffer->written, cudaEventDisableTiming);
    if (r == 0)
        r = (int)cudaEventCreateWithFlags(&buffer->used, cudaEventDisableTiming);
    r = vrt_cuda_outcome(cuda, r, "allocating memory");
    if (r != 0) {
        vrt_cuda_buffer_free(device, &buffer->base);
        return r;
    }
    *ret_buffer = &buffer->base;
    return 0;
}

void vrt_cuda_buffer_free(struct vrt_device *device, struct vrt_buffer *base)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    struct vrt_cuda_buffer *buffer = buffer_of(base);

    /* What is under way in this device's own streams may still read or write it. */
    cudaStreamSynchronize(cuda->upload);
    cudaStreamSynchronize(cuda->compute);
    if (buffer->written)
        cudaEventDestroy(buffer->written);
    if (buffer->used)
        cudaEventDestroy(buffer->used);
    cudaFree(buffer->data);
    free(buffer);
}

/* Fills one stage and sends it on its way. */
static int send(struct vrt_cuda_device *cuda, char *to, const char *from, size_t size_bytes)
{
    struct vrt_cuda_stage *stage = &cuda->up[cuda->next_up];
    int r = stage->busy ? (int)cudaEventSynchronize(stage->done) : 0;

    if (r != 0)
        return r;
    cuda->next_up = (cuda->next_up + 1) % VRT_CUDA_STAGES;
    memcpy(stage->host, from, size_bytes);
    r = (int)cudaMemcpyAsync(to, stage->host, size_bytes, cudaMemcpyHostToDevice, cuda->upload);
    if (r != 0)
        return r;
    stage->busy = true;
    return (int)cudaEventRecord(stage->done, cuda->upload);
}

int vrt_cuda_upload(struct vrt_cuda_device *cuda, char *to, const char *from, size_t size_bytes)
{
    int r = 0;

    for (size_t at = 0; r == 0 && at < size_bytes; at += VRT_CUDA_STAGE_BYTES)
        r = send(cuda, to + at, from + at, VRT_MIN(size_bytes - at, VRT_CUDA_STAGE_BYTES));
    return r;
}

int vrt_cuda_buffer_write(struct vrt_device *device, struct vrt_buffer *dst, size_t offset_bytes,
                          const void *src, size_t size_bytes)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    struct vrt_cuda_buffer *buffer = buffer_of(dst);
    int r = 0;

    if (buffer->is_used)
        r = (int)cudaStreamWaitEvent(cuda->upload, buffer->used, 0);
    if (r == 0)
        r = vrt_cuda_upload(cuda, buffer->data + offset_bytes, src, size_bytes);
    if (r == 0)
        r = (int)cudaEventRecord(buffer->written, cuda->upload);
    buffer->is_written = true;
    return vrt_cuda_outcome(cuda, r, "copying to it");
}

/* Asks for one piece. */
static int fetch(struct vrt_cuda_device *cuda, struct vrt_cuda_stage *stage, const char *from,
                 size_t size_bytes)
{
    int r = (int)cudaMemcpyAsync(stage->host, from, size_bytes, cudaMemcpyDeviceToHost,
                                 cuda->download);

    return r != 0 ? r : (int)cudaEventRecord(stage->done, cuda->download);
}

/* Several pieces are on their way while the first that came is copied on. */
static int receive(struct vrt_cuda_device *cuda, const char *from, char *to, size_t size_bytes)
{
    const size_t step = VRT_CUDA_STAGE_BYTES, n = (size_bytes + step - 1) / step;
    int r = 0;

    for (size_t i = 0; r == 0 && i < n + VRT_CUDA_STAGES; i++) {
        struct vrt_cuda_stage *stage = &cuda->down[i % VRT_CUDA_STAGES];
        if (i >= VRT_CUDA_STAGES) {
            const size_t at = (i - VRT_CUDA_STAGES) * step;
            if (at >= size_bytes)
                break;
            r = (int)cudaEventSynchronize(stage->done);
            if (r == 0)
                memcpy(to + at, stage->host, VRT_MIN(size_bytes - at, step));
        }
        if (r != 0)
            return r;
        if (i < n)
            r = fetch(cuda, stage, from + i * step, VRT_MIN(size_bytes - i * step, step));
    }
    return r;
}

int vrt_cuda_buffer_read(struct vrt_device *device, const struct vrt_buffer *src,
                         size_t offset_bytes, void *dst, size_t size_bytes)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    const struct vrt_cuda_buffer *buffer = buffer_of(src);
    int r = 0;

    if (buffer->is_used)
        r = (int)cudaStreamWaitEvent(cuda->download, buffer->used, 0);
    if (r == 0 && buffer->is_written)
        r = (int)cudaStreamWaitEvent(cuda->download, buffer->written, 0);
    if (r == 0)
        r = receive(cuda, buffer->data + offset_bytes, dst, size_bytes);
    if (r != 0)      /* nothing may write to the stages after this */
        cudaStreamSynchronize(cuda->download);
    return vrt_cuda_outcome(cuda, r, "copying from it");
}
