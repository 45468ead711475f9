/* SPDX-License-Identifier: MIT */

/* A CUDA device's life: found, opened, asked, closed. */

#include "backend/cuda/device.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/card.h"
#include "backend/cuda/plugin.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "cuda"

#define WORKERS_MAX 4

int vrt_cuda_outcome(struct vrt_cuda_device *cuda, int error, const char *what)
{
    if (!error)
        return 0;
    cudaGetLastError();
    if (error == (int)cudaErrorMemoryAllocation)
        return VRT_BACKEND_E_NOMEM;

    /* An error that stays is told again by whatever is asked next. */
    const bool stays = cudaDeviceSynchronize() != cudaSuccess;
    vrt_log_warning("%s: %s failed: %s%s", cuda->base.info ? cuda->base.info->name : "a device",
                    what, cudaGetErrorString((cudaError_t)error),
                    stays ? "; it has to be reset" : "");
    cudaGetLastError();
    if (!stays && error != (int)cudaErrorDevicesUnavailable)
        return VRT_BACKEND_E_FAILED;
    vrt_cuda_card_break(cuda->card);
    return VRT_BACKEND_E_LOST;
}

static int version_major(int version)
{
    return version / 1000;
}

static int version_minor(int version)
{
    return version % 1000 / 10;
}

/* Why there seems to be no driver. */
static void explain_absent(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);

    if (library)
        vrt_log_info("no CUDA devices: NVIDIA's driver (libcuda.so.1) does not answer");
    else
        vrt_log_info("no CUDA devices: no driver of NVIDIA's: %s", dlerror());
    if (library)
        dlclose(library);
}

/* Why no device was found. */
static void explain(int error)
{
    int driver = 0, runtime = 0;

    cudaGetLastError();
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (driver == 0)
        explain_absent();
    else if (driver < runtime && error == (int)cudaErrorInsufficientDriver)
        vrt_log_info("no CUDA devices: the driver is for CUDA %d.%d, this plugin needs %d.%d or a "
                     "newer one", version_major(driver), version_minor(driver),
                     version_major(runtime), version_minor(runtime));
    else
        vrt_log_info("no CUDA devices: the driver says: %s",
                     error ? cudaGetErrorString((cudaError_t)error) : "none is there");
}

static int n_workers_of(const struct vrt_registry_params *params)
{
    return VRT_MIN(VRT_MAX(params->cuda_workers, 1), WORKERS_MAX);
}

static int capability(const struct cudaDeviceProp *prop)
{
    return prop->major * 10 + prop->minor;
}

static void describe(const struct cudaDeviceProp *prop, const struct vrt_registry_params *params,
                     int ordinal, int worker, struct vrt_device_info *info)
{
    const int sm = capability(prop), n_workers = n_workers_of(params);
    int driver = 0, runtime = 0;

    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    info->kind = VRT_DEVICE_CUDA;
    info->card = ordinal;
    info->tf32 = params->cuda_tf32;
    info->index = ordinal * n_workers + worker;
    info->memory_total_bytes = (int64_t)prop->totalGlobalMem;
    info->native_f16 = true;
    info->native_bf16 = sm >= 80;
    if (n_workers == 1)
        snprintf(info->name, sizeof(info->name), "cuda:%d", ordinal);
    else
        snprintf(info->name, sizeof(info->name), "cuda:%d.%d", ordinal, worker);
    snprintf(info->description, sizeof(info->description), "%.60s, sm_%d, %d multiprocessors",
             prop->name, sm, prop->multiProcessorCount);
    /* Libraries choose by the model of the card, the driver compiles what was built for none. */
    snprintf(info->class_id, sizeof(info->class_id),
             "cuda, %.60s, sm_%d, driver %d.%d, CUDA %d.%d%s", prop->name, sm,
             version_major(driver), version_minor(driver), version_major(runtime),
             version_minor(runtime), info->tf32 ? ", TF32" : "");
}

int vrt_cuda_probe(const struct vrt_registry_params *params, struct vrt_device_info **ret_infos,
                   size_t *ret_n_infos)
{
    const int n_workers = n_workers_of(params);
    struct vrt_device_info *infos;
    int n = 0, r = (int)cudaGetDeviceCount(&n);

    *ret_n_infos = 0;
    if (r || n == 0) {
        explain(r);
        return 0;
    }
    n = VRT_MIN(n, VRT_CUDA_MAX_CARDS);
    infos = calloc((size_t)n * (size_t)n_workers, sizeof(*infos));
    if (!infos)
        return vrt_raise(-ENOMEM);
    for (int i = 0; i < n; i++) {
        struct cudaDeviceProp prop;
        r = (int)cudaGetDeviceProperties(&prop, i);
        if (r || capability(&prop) < 75) {
            vrt_log_info("CUDA device %d is left out: %s", i,
                         r ? cudaGetErrorString((cudaError_t)r) :
                         "it is older than compute capability 7.5");
            cudaGetLastError();
            continue;
        }
        for (int k = 0; k < n_workers; k++)
            describe(&prop, params, i, k, &infos[(*ret_n_infos)++]);
    }
    *ret_infos = infos;
    return 0;
}

static void cuda_close(struct vrt_device *device)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    cudaStream_t streams[] = { cuda->upload, cuda->compute, cuda->download };

    vrt_cuda_stages_done(cuda->up);
    vrt_cuda_stages_done(cuda->down);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(streams); i++)
        if (streams[i])
            cudaStreamDestroy(streams[i]);
    vrt_cuda_card_close(cuda->card);
    free(cuda);
}

static int find_limits(int ordinal, struct vrt_cuda_limits *ret_limits)
{
    struct cudaDeviceProp prop;
    int r = (int)cudaGetDeviceProperties(&prop, ordinal);

    if (r)
        return r;
    *ret_limits = (struct vrt_cuda_limits){
        .capability = capability(&prop),
        .n_multiprocessors = prop.multiProcessorCount,
        .shared_bytes = prop.sharedMemPerBlockOptin,
    };
    return 0;
}

static int start(struct vrt_cuda_device *cuda, int ordinal)
{
    cudaStream_t *const streams[] = { &cuda->upload, &cuda->compute, &cuda->download };
    int r = find_limits(ordinal, &cuda->limits);

    for (size_t i = 0; !r && i < VRT_ARRAY_SIZE(streams); i++)
        r = (int)cudaStreamCreateWithFlags(streams[i], cudaStreamNonBlocking);
    if (!r)
        r = vrt_cuda_stages_init(cuda->up);
    if (!r)
        r = vrt_cuda_stages_init(cuda->down);
    return r;
}

static int cuda_open(const struct vrt_device_info *info, struct vrt_device **ret_device)
{
    struct vrt_cuda_device *cuda = calloc(1, sizeof(*cuda));
    int r;

    if (!cuda)
        return vrt_raise(-ENOMEM);
    r = vrt_cuda_card_open(info->card, &cuda->card);
    if (r) {
        free(cuda);
        return r == (int)cudaErrorMemoryAllocation ? VRT_BACKEND_E_NOMEM : VRT_BACKEND_E_LOST;
    }
    cuda->base.info = info;
    cuda->tf32 = info->tf32;
    r = vrt_cuda_outcome(cuda, start(cuda, info->card), "opening it");
    if (r) {
        cuda_close(&cuda->base);
        return r;
    }
    *ret_device = &cuda->base;
    return 0;
}

static int cuda_finish(struct vrt_device *device)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    int r = (int)cudaStreamSynchronize(cuda->upload), failure = cuda->failure;

    if (!r)
        r = (int)cudaStreamSynchronize(cuda->compute);
    if (!r)
        r = (int)cudaStreamSynchronize(cuda->download);
    cuda->failure = 0;
    r = vrt_cuda_outcome(cuda, r, "computing");
    return failure ? failure : r;
}

static int cuda_memory(struct vrt_device *device, struct vrt_memory_info *ret_info)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    size_t free_bytes, total_bytes;
    int r = vrt_cuda_outcome(cuda, (int)cudaMemGetInfo(&free_bytes, &total_bytes),
                             "asking for its memory");

    if (r)
        return r;
    ret_info->total_bytes = (int64_t)total_bytes;
    ret_info->free_bytes = (int64_t)free_bytes;
    return 0;
}

static const struct vrt_backend_ops backend_cuda = {
    .name = "cuda",
    .probe = vrt_cuda_probe,
    .open = cuda_open,
    .close = cuda_close,
    .buffer_new = vrt_cuda_buffer_new,
    .buffer_free = vrt_cuda_buffer_free,
    .buffer_write = vrt_cuda_buffer_write,
    .buffer_read = vrt_cuda_buffer_read,
    .supports = vrt_cuda_supports,
    .workspace_bytes = vrt_cuda_workspace_bytes,
    .replica_new = vrt_cuda_replica_new,
    .replica_free = vrt_cuda_replica_free,
    .replica_bytes = vrt_cuda_replica_bytes,
    .program_new = vrt_cuda_program_new,
    .program_free = vrt_cuda_program_free,
    .program_submit = vrt_cuda_program_submit,
    .finish = cuda_finish,
    .memory = cuda_memory,
};

/* The plugin's entry: see "plugin.h". */
__attribute__((visibility("default"))) vrt_cuda_plugin_fn vrt_cuda_plugin;

const struct vrt_backend_ops *vrt_cuda_plugin(const struct vrt_cuda_host *host)
{
    if (strcmp(host->abi, VRT_CUDA_PLUGIN_ABI) != 0)
        return NULL;
    vrt_log_set_level(host->log_level);
    return &backend_cuda;
}
