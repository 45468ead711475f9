/* SPDX-License-Identifier: MIT */

/* A CUDA device's life: opened, asked, closed. */

#include "backend/cuda/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/card.h"
#include "backend/cuda/kind.h"
#include "backend/cuda/libraries/libraries.h"
#include "backend/cuda/nccl.h"
#include "backend/cuda/nvml.h"
#include "backend/cuda/plugin.h"
#include "backend/cuda/staging.h"
#include "backend/packed-blob.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "cuda"

int vrt_cuda_outcome(struct vrt_cuda_device *cuda, int error, const char *what)
{
    if (!error)
        return 0;
    cudaGetLastError();
    if (error == (int)cudaErrorMemoryAllocation)
        return VRT_BACKEND_E_NOMEM;

    /*
     * An error that stays is told again by whatever is asked next. That must be nothing that waits:
     * a group's kernels end when it is broken off, which may be what comes next. Nor may it ask the
     * whole card: that fails, and spoils it, while another of its devices records a program.
     */
    const cudaError_t again = cudaStreamQuery(cuda->compute);
    const bool stays = again != cudaSuccess && again != cudaErrorNotReady;
    vrt_log_warning("%s: %s failed: %s%s", cuda->base.info ? cuda->base.info->name : "a device",
                    what, cudaGetErrorString((cudaError_t)error),
                    stays ? "; the card will be reset before it is used again" : "");
    cudaGetLastError();
    if (!stays && error != (int)cudaErrorDevicesUnavailable)
        return VRT_BACKEND_E_FAILED;
    vrt_cuda_card_break(cuda->card);
    return VRT_BACKEND_E_LOST;
}

static void cuda_close(struct vrt_device *device)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    cudaStream_t streams[] = { cuda->upload, cuda->compute, cuda->download };

    /* Libraries wait for the whole card before they let go. */
    vrt_cuda_card_lock(cuda->card);
    vrt_cuda_libraries_close(cuda->libraries);
    vrt_cuda_card_unlock(cuda->card);
    vrt_cuda_stages_done(cuda->up);
    vrt_cuda_stages_done(cuda->down);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(streams); i++)
        if (streams[i])
            cudaStreamDestroy(streams[i]);
    vrt_cuda_card_close(cuda->card);
    vrt_cuda_nvml_close(cuda->nvml);
    vrt_cuda_nccl_close(cuda->nccl);
    free(cuda);
}

static int find_limits(int ordinal, struct vrt_cuda_limits *ret_limits)
{
    struct cudaDeviceProp prop;
    int code, r = (int)cudaGetDeviceProperties(&prop, ordinal);

    if (r != 0)
        return r;
    r = vrt_cuda_code(&code);
    if (r != 0)
        return r;
    *ret_limits = (struct vrt_cuda_limits){
        .capability = vrt_cuda_capability(&prop),
        .code = code,
        .n_multiprocessors = prop.multiProcessorCount,
        .shared_bytes = prop.sharedMemPerBlockOptin,
    };
    return 0;
}

/* How f32 is multiplied: as suits the card, if its kernels are compiled for such a one. */
static enum vrt_cuda_f32_products f32_products(const struct vrt_cuda_device *cuda)
{
    const enum vrt_cuda_f32_products best = vrt_cuda_f32_products(cuda->limits.capability);

    if (cuda->base.info->options[VRT_CUDA_OPTION_F32] == VRT_CUDA_F32_WANTED_FMA ||
        vrt_cuda_f32_products(cuda->limits.code) != best)
        return VRT_CUDA_F32_FMA;
    return best;
}

static int start(struct vrt_cuda_device *cuda, int ordinal)
{
    cudaStream_t *const streams[] = { &cuda->upload, &cuda->compute, &cuda->download };
    int r = find_limits(ordinal, &cuda->limits);

    for (size_t i = 0; r == 0 && i < VRT_ARRAY_SIZE(streams); i++)
        r = (int)cudaStreamCreateWithFlags(streams[i], cudaStreamNonBlocking);
    if (r != 0)
        return r;
    r = vrt_cuda_stages_init(cuda->up);
    if (r != 0)
        return r;
    return vrt_cuda_stages_init(cuda->down);
}

/* Of use where there are several cards, and said once. */
static void open_nccl(struct vrt_cuda_device *cuda)
{
    struct vrt_error error = { .id = NULL };
    int n = 0;

    if (cudaGetDeviceCount(&n) != cudaSuccess || n < 2)
        return;
    if (vrt_cuda_nccl_open(VRT_CUDA_NCCL, &cuda->nccl, &error) < 0 &&
        cuda->base.info->index == 0)
        vrt_log_info("weights are copied to each card by itself: %s", error.message);
}

static void open_libraries(struct vrt_cuda_device *cuda)
{
    const struct vrt_cuda_library_rules rules = {
        .wanted = (enum vrt_cuda_libraries_wanted)
                  cuda->base.info->options[VRT_CUDA_OPTION_LIBRARIES],
        .capability = cuda->limits.capability,
        .tf32 = cuda->tf32,
    };

    vrt_cuda_card_lock(cuda->card);
    cuda->libraries = vrt_cuda_libraries_open(&rules, cuda->base.info, cuda->compute);
    vrt_cuda_card_unlock(cuda->card);
}

static int cuda_open(const struct vrt_device_info *info, struct vrt_device **ret_device)
{
    struct vrt_cuda_device *cuda = calloc(1, sizeof(*cuda));
    int r;

    if (!cuda)
        return vrt_raise(-ENOMEM);
    r = vrt_cuda_card_open(info->card, &cuda->card);
    if (r != 0) {
        free(cuda);
        return r == (int)cudaErrorMemoryAllocation ? VRT_BACKEND_E_NOMEM : VRT_BACKEND_E_LOST;
    }
    cuda->base.info = info;
    r = vrt_cuda_outcome(cuda, start(cuda, info->card), "opening it");
    if (r != 0) {
        cuda_close(&cuda->base);
        return r;
    }
    cuda->tf32 = info->short_f32[0] && cuda->limits.code >= 80;
    cuda->f32 = f32_products(cuda);
    /* Without it nothing is missing but what probing said. */
    r = vrt_cuda_nvml_open(VRT_CUDA_NVML_LIBRARY, info->pci_address, &cuda->nvml, NULL);
    if (r < 0)
        vrt_log_debug("%s: nobody tells how it is, ignoring", info->name);
    open_nccl(cuda);
    open_libraries(cuda);
    *ret_device = &cuda->base;
    return 0;
}

static int cuda_finish(struct vrt_device *device)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    int r = (int)cudaStreamSynchronize(cuda->upload);

    if (r == 0)
        r = (int)cudaStreamSynchronize(cuda->compute);
    if (r == 0)
        r = (int)cudaStreamSynchronize(cuda->download);
    return vrt_cuda_outcome(cuda, r, "computing");
}

static int cuda_memory(struct vrt_device *device, struct vrt_memory_info *ret_info)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    size_t free_bytes, total_bytes;
    int r = vrt_cuda_outcome(cuda, (int)cudaMemGetInfo(&free_bytes, &total_bytes),
                             "asking for its memory");

    if (r != 0)
        return r;
    ret_info->total_bytes = (int64_t)total_bytes;
    ret_info->free_bytes = (int64_t)free_bytes;
    return 0;
}

static void cuda_sensors(struct vrt_device *device, struct vrt_device_sensors *ret_sensors)
{
    const struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);

    if (cuda->nvml)
        vrt_cuda_nvml_read(cuda->nvml, ret_sensors);
}

static const struct vrt_backend_ops backend_cuda = {
    .enumerate = vrt_cuda_enumerate,
    .open = cuda_open,
    .close = cuda_close,
    .buffer_new = vrt_cuda_buffer_new,
    .buffer_free = vrt_cuda_buffer_free,
    .buffer_write = vrt_cuda_buffer_write,
    .buffer_read = vrt_cuda_buffer_read,
    .staging_new = vrt_cuda_staging_new,
    .staging_free = vrt_cuda_staging_free,
    .staging_push = vrt_cuda_staging_push,
    .staging_pull = vrt_cuda_staging_pull,
    .staging_wait = vrt_cuda_staging_wait,
    .supports = vrt_cuda_supports,
    .workspace_bytes = vrt_cuda_workspace_bytes,
    .packed_new = vrt_cuda_packed_new,
    .packed_fill = vrt_packed_blob_fill,
    .packed_free = vrt_packed_blob_free,
    .replica_begin = vrt_cuda_replica_begin,
    .replica_free = vrt_cuda_replica_free,
    .replica_fill = vrt_cuda_replica_fill,
    .replica_checksum = vrt_cuda_replica_checksum,
    .replica_can_receive = vrt_cuda_replica_can_receive,
    .replica_receive = vrt_cuda_replica_receive,
    .group_is_possible = vrt_cuda_group_is_possible,
    .group_key_new = vrt_cuda_group_key_new,
    .group_join = vrt_cuda_group_join,
    .group_spread = vrt_cuda_group_spread,
    .group_finish = vrt_cuda_group_finish,
    .group_free = vrt_cuda_group_free,
    .program_new = vrt_cuda_program_new,
    .program_free = vrt_cuda_program_free,
    .program_submit = vrt_cuda_program_submit,
    .finish = cuda_finish,
    .memory = cuda_memory,
    .sensors = cuda_sensors,
};

/* The plugin's entry: see "plugin.h". */
__attribute__((visibility("default"))) vrt_cuda_plugin_fn vrt_cuda_plugin;

const struct vrt_backend_ops *vrt_cuda_plugin(const struct vrt_cuda_host *host)
{
    if (strcmp(host->abi, VRT_CUDA_PLUGIN_ABI) != 0)
        return NULL;
    vrt_log_set_host(host->log);
    return &backend_cuda;
}
