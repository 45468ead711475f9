/* SPDX-License-Identifier: MIT */

/* The CUDA devices that there are, and what is known of them before one is opened. */

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cache.h"
#include "backend/cuda/card.h"
#include "backend/cuda/device.h"
#include "backend/cuda/kind.h"
#include "backend/cuda/libraries/libraries.h"
#include "backend/cuda/nvml.h"

/* Of the threads that a multiprocessor has at a time, which each compute a pixel or more, so many
 * have something to do: fewer can't fill it. */
#define PIXELS_PER_MULTIPROCESSOR 1024

static int version_major(int version)
{
    return version / 1000;
}

static int version_minor(int version)
{
    return version % 1000 / 10;
}

static const struct vrt_finding driver_absent = {
    .backend = "cuda",
    .what = "driver",
    .kind = VRT_FINDING_ABSENT,
    .cure = "install NVIDIA's driver; in a container, hand it in",
};

static const struct vrt_finding driver_silent = {
    .backend = "cuda",
    .what = "driver",
    .kind = VRT_FINDING_UNFIT,
    .cure = "load its kernel module: nvidia-smi says what is wrong",
};

static const struct vrt_finding driver_old = {
    .backend = "cuda",
    .what = "driver",
    .kind = VRT_FINDING_UNFIT,
    .cure = "install a newer driver, or the plugin for an older CUDA",
};

static const struct vrt_finding none_visible = {
    .backend = "cuda",
    .what = "devices",
    .kind = VRT_FINDING_UNFIT,
    .cure = "unset CUDA_VISIBLE_DEVICES for the daemon, or name cards that nvidia-smi -L lists",
};

static const struct vrt_finding none_found = {
    .backend = "cuda",
    .what = "devices",
    .kind = VRT_FINDING_UNFIT,
    .cure = "nvidia-smi says more",
};

static const struct vrt_finding left_out = {
    .backend = "cuda",
    .what = "devices",
    .kind = VRT_FINDING_UNFIT,
};

static const struct vrt_finding no_sensors = {
    .backend = "cuda",
    .what = "sensors",
    .kind = VRT_FINDING_ABSENT,
};

/* Why there seems to be no driver. */
static void explain_absent(struct vrt_findings *findings)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);

    if (library)
        vrt_finding_add(findings, &driver_silent,
                        "no CUDA devices: NVIDIA's driver (libcuda.so.1) does not answer");
    else
        vrt_finding_add(findings, &driver_absent, "no CUDA devices: no driver of NVIDIA's, which "
                        "only its cards need: %s", dlerror());
    if (library)
        dlclose(library);
}

/* Why no device was found. */
static void explain(struct vrt_findings *findings, int error)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int driver = 0, runtime = 0;

    cudaGetLastError();
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (driver == 0)
        explain_absent(findings);
    else if (driver < runtime && error == (int)cudaErrorInsufficientDriver)
        vrt_finding_add(findings, &driver_old, "no CUDA devices: the driver is for CUDA %d.%d, "
                        "this plugin needs %d.%d or a newer one", version_major(driver),
                        version_minor(driver), version_major(runtime), version_minor(runtime));
    else if (visible && error == (int)cudaErrorNoDevice)
        vrt_finding_add(findings, &none_visible, "no CUDA devices: the driver has none that "
                        "CUDA_VISIBLE_DEVICES=\"%s\" names", visible);
    else
        vrt_finding_add(findings, &none_found, "no CUDA devices: the driver says: %s",
                        error ? cudaGetErrorString((cudaError_t)error) : "none is there");
}

/* Which driver it is that works. */
static void tell_driver(struct vrt_findings *findings, const struct vrt_device_info *info)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "cuInit") : NULL;
    Dl_info file = { .dli_fname = NULL };
    const struct vrt_finding finding = {
        .backend = "cuda",
        .what = "driver",
        .kind = VRT_FINDING_THERE,
    };

    if (!symbol || !dladdr(symbol, &file))
        file.dli_fname = "the driver";
    vrt_finding_add(findings, &finding, "%s, for CUDA %s; the plugin was built with CUDA %s",
                    file.dli_fname, info->driver_version, info->runtime_version);
    if (library)
        dlclose(library);
}

static int n_workers_of(const struct vrt_registry_params *params)
{
    return (int)params->options[VRT_CUDA_OPTION_WORKERS];
}

/* "GPU-0a1b2c3d-...", as NVIDIA's tools write it. */
static void print_uuid(const cudaUUID_t *uuid, char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, "GPU");

    for (size_t i = 0; i < sizeof(uuid->bytes) && n < size; i++) {
        const bool begins_group = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        n += (size_t)snprintf(text + n, size - n, "%s%02x", begins_group ? "-" : "",
                              (unsigned char)uuid->bytes[i]);
    }
}

static void print_version(int version, char *text, size_t size)
{
    if (version > 0)
        snprintf(text, size, "%d.%d", version_major(version), version_minor(version));
}

/* What identifies the card, to people and to other programs. */
static void identify(const struct cudaDeviceProp *prop, int ordinal, struct vrt_device_info *info)
{
    int driver = 0, runtime = 0;

    print_uuid(&prop->uuid, info->uuid, sizeof(info->uuid));
    if (cudaDeviceGetPCIBusId(info->pci_address, (int)sizeof(info->pci_address), ordinal) !=
        cudaSuccess) {
        info->pci_address[0] = '\0';
        cudaGetLastError();
    }
    snprintf(info->compute_capability, sizeof(info->compute_capability), "%d.%d", prop->major,
             prop->minor);
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    print_version(driver, info->driver_version, sizeof(info->driver_version));
    print_version(runtime, info->runtime_version, sizeof(info->runtime_version));
}

/* What of NVIDIA's libraries there is for cards that they are wanted on; asked for once. */
struct libraries {
    bool are_known;
    char text[64];
    char folder[VRT_DEVICE_FOLDER_BYTES];   /* where what they compile is kept; "": nowhere */
};

static const struct libraries *find_libraries(struct libraries *libraries,
                                              const struct cudaDeviceProp *prop,
                                              const struct vrt_registry_params *params)
{
    static const struct libraries none;
    const struct vrt_cuda_library_rules rules = {
        .wanted = (enum vrt_cuda_libraries_wanted)params->options[VRT_CUDA_OPTION_LIBRARIES],
        .capability = vrt_cuda_capability(prop),
    };

    if (!vrt_cuda_library_is_wanted(&rules))
        return &none;
    if (!libraries->are_known &&
        vrt_cuda_libraries_describe(&rules, params->findings, libraries->text,
                                    sizeof(libraries->text)))
        vrt_cache_find_folder(params->cache_dir, "cuda", params->findings, libraries->folder);
    libraries->are_known = true;
    return libraries;
}

static void describe(const struct cudaDeviceProp *prop, const struct vrt_registry_params *params,
                     int ordinal, int worker, struct vrt_device_info *info)
{
    const int sm = vrt_cuda_capability(prop), n_workers = n_workers_of(params);

    identify(prop, ordinal, info);
    info->card = ordinal;
    if (params->options[VRT_CUDA_OPTION_TF32] && sm >= 80)
        snprintf(info->short_f32, sizeof(info->short_f32), "TF32");
    info->index = ordinal * n_workers + worker;
    info->n_in_flight = VRT_DEVICE_IN_FLIGHT;
    info->n_pixels = prop->multiProcessorCount * PIXELS_PER_MULTIPROCESSOR;
    info->memory_total_bytes = (int64_t)prop->totalGlobalMem;
    info->preferred_dtype = sm >= 80 ? VRT_DTYPE_BF16 : VRT_DTYPE_F16;
    if (n_workers == 1)
        snprintf(info->name, sizeof(info->name), "cuda:%d", ordinal);
    else
        snprintf(info->name, sizeof(info->name), "cuda:%d.%d", ordinal, worker);
    snprintf(info->description, sizeof(info->description), "%.60s, sm_%d, %d multiprocessors",
             prop->name, sm, prop->multiProcessorCount);
    snprintf(info->packing_id, sizeof(info->packing_id), "cuda");
}

/* Libraries choose by their version and the model of the card, the driver compiles what was built
 * for none. */
static void classify(const struct cudaDeviceProp *prop, const struct libraries *libraries,
                     const int64_t *options, struct vrt_device_info *info)
{
    /* They choose by how much there is of a product, which must not decide on bits. */
    if (libraries->text[0])
        info->n_pixels = 0;
    const bool is_for_all = libraries->text[0] &&
                            options[VRT_CUDA_OPTION_LIBRARIES] == VRT_CUDA_LIBRARIES_ALL;
    const bool is_fma = options[VRT_CUDA_OPTION_F32] == VRT_CUDA_F32_WANTED_FMA;

    snprintf(info->class_id, sizeof(info->class_id),
             "cuda, %.50s, sm_%d, driver %s, CUDA %s%s%s%s%s", prop->name,
             vrt_cuda_capability(prop), info->driver_version, info->runtime_version,
             libraries->text, is_for_all ? " for all" : "", info->short_f32[0] ? ", TF32" : "",
             is_fma ? ", FMA" : "");
}

/* Says once, before any device is opened, whether anybody can tell how it is. */
static void try_sensors(struct vrt_findings *findings, const struct vrt_device_info *info)
{
    struct vrt_cuda_nvml *nvml = NULL;
    struct vrt_error error = { 0 };

    if (vrt_cuda_nvml_open(VRT_CUDA_NVML_LIBRARY, info->pci_address, &nvml, &error) < 0)
        vrt_finding_add(findings, &no_sensors, "utilization, temperature and power of CUDA devices "
                        "are unknown: %s", error.message);
    vrt_cuda_nvml_close(nvml);
}

int vrt_cuda_enumerate(const struct vrt_registry_params *params, struct vrt_device_info **ret_infos,
                   size_t *ret_n_infos)
{
    const int n_workers = n_workers_of(params);
    struct libraries asked = { .are_known = false };
    struct vrt_device_info *infos;
    int n = 0, r = (int)cudaGetDeviceCount(&n);

    *ret_n_infos = 0;
    if (r != 0 || n == 0) {
        explain(params->findings, r);
        return 0;
    }
    n = VRT_MIN(n, VRT_CUDA_MAX_CARDS);
    infos = calloc((size_t)n * (size_t)n_workers, sizeof(*infos));
    if (!infos)
        return vrt_raise(-ENOMEM);
    for (int i = 0; i < n; i++) {
        struct cudaDeviceProp prop;
        r = (int)cudaGetDeviceProperties(&prop, i);
        if (r != 0 || vrt_cuda_capability(&prop) < 75) {
            vrt_finding_add(params->findings, &left_out, "CUDA device %d is left out: %s", i,
                            r != 0 ? cudaGetErrorString((cudaError_t)r) :
                            "it is older than compute capability 7.5");
            cudaGetLastError();
            continue;
        }
        const struct libraries *libraries = find_libraries(&asked, &prop, params);
        for (int k = 0; k < n_workers; k++) {
            struct vrt_device_info *info = &infos[(*ret_n_infos)++];
            describe(&prop, params, i, k, info);
            memcpy(info->kernels_dir, libraries->folder, sizeof(info->kernels_dir));
            classify(&prop, libraries, params->options, info);
        }
    }
    if (*ret_n_infos > 0) {
        tell_driver(params->findings, &infos[0]);
        try_sensors(params->findings, &infos[0]);
    }
    *ret_infos = infos;
    return 0;
}
