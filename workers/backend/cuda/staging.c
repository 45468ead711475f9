/* SPDX-License-Identifier: MIT */

/*
 * What a CUDA device exchanges with the host: its memory, and pinned memory of the host's
 *
 * The copies are enqueued, and wait in their streams for what they need of the others: nobody on
 * the host waits but for what was fetched.
 */

#include "backend/cuda/staging.h"

#include <errno.h>
#include <stdlib.h>

struct staging {
    struct vrt_staging base;
    cudaEvent_t pulled;
};

static struct staging *staging_of(struct vrt_staging *base)
{
    return vrt_container_of(base, struct staging, base);
}

static struct vrt_cuda_buffer *buffer_of(const struct vrt_staging *base)
{
    return vrt_container_of(base->buffer, struct vrt_cuda_buffer, base);
}

int vrt_cuda_staging_new(struct vrt_device *device, size_t size_bytes,
                         struct vrt_staging **ret_staging)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    struct staging *staging = calloc(1, sizeof(*staging));

    if (!staging)
        return vrt_raise(-ENOMEM);
    int r = vrt_cuda_buffer_new(device, size_bytes, &staging->base.buffer);
    if (r != 0) {
        free(staging);
        return r;
    }
    r = (int)cudaMallocHost((void **)&staging->base.host, size_bytes);
    if (r == 0)
        r = (int)cudaEventCreateWithFlags(&staging->pulled, cudaEventDisableTiming);
    r = vrt_cuda_outcome(cuda, r, "allocating pinned memory");
    if (r != 0) {
        vrt_cuda_staging_free(device, &staging->base);
        return r;
    }
    *ret_staging = &staging->base;
    return 0;
}

void vrt_cuda_staging_free(struct vrt_device *device, struct vrt_staging *base)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    struct staging *staging = staging_of(base);

    /* The buffer's end waits for the other streams, which may use the host's side as well. */
    cudaStreamSynchronize(cuda->download);
    vrt_cuda_buffer_free(device, base->buffer);
    if (staging->pulled)
        cudaEventDestroy(staging->pulled);
    if (base->host)
        cudaFreeHost(base->host);
    free(staging);
}

int vrt_cuda_staging_push(struct vrt_device *device, struct vrt_staging *base, size_t size_bytes)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    struct vrt_cuda_buffer *buffer = buffer_of(base);
    int r = (int)cudaMemcpyAsync(buffer->data, base->host, size_bytes, cudaMemcpyHostToDevice,
                                 cuda->upload);

    if (r == 0)
        r = (int)cudaEventRecord(buffer->written, cuda->upload);
    buffer->is_written = true;
    return vrt_cuda_outcome(cuda, r, "copying to it");
}

int vrt_cuda_staging_pull(struct vrt_device *device, struct vrt_staging *base, size_t size_bytes)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    const struct vrt_cuda_buffer *buffer = buffer_of(base);
    int r = 0;

    if (buffer->is_used)
        r = (int)cudaStreamWaitEvent(cuda->download, buffer->used, 0);
    if (r == 0)
        r = (int)cudaMemcpyAsync(base->host, buffer->data, size_bytes, cudaMemcpyDeviceToHost,
                                 cuda->download);
    if (r == 0)
        r = (int)cudaEventRecord(staging_of(base)->pulled, cuda->download);
    return vrt_cuda_outcome(cuda, r, "copying from it");
}

int vrt_cuda_staging_wait(struct vrt_device *device, struct vrt_staging *base)
{
    return vrt_cuda_outcome(vrt_cuda_device_of(device),
                            (int)cudaEventSynchronize(staging_of(base)->pulled), "computing");
}
