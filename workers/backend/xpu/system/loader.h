/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Level Zero's loader, as a table of entry points
 *
 * The library is looked for when the program runs, so that it starts without one. Entries have
 * Level Zero's own names; optional ones may be NULL.
 */

#include <level_zero/ze_api.h>
#include <level_zero/zes_api.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/macro.h"

/* What the loader's package installs. */
#define VRT_XPU_LOADER "libze_loader.so.1"

/* X(name, whether nothing works without it) */
#define VRT_XPU_ENTRIES(X)                      \
    X(zeInit, true)                             \
    X(zeDriverGet, true)                        \
    X(zeDriverGetProperties, true)              \
    X(zeDeviceGet, true)                        \
    X(zeDeviceGetSubDevices, true)              \
    X(zeDeviceGetProperties, true)              \
    X(zeDeviceGetComputeProperties, true)       \
    X(zeDeviceGetModuleProperties, true)        \
    X(zeDeviceGetMemoryProperties, true)        \
    X(zeDeviceGetCommandQueueGroupProperties, true) \
    X(zeDeviceCanAccessPeer, true)              \
    X(zeDevicePciGetPropertiesExt, false)       \
    X(zeContextCreate, true)                    \
    X(zeContextDestroy, true)                   \
    X(zeMemAllocDevice, true)                   \
    X(zeMemAllocHost, true)                     \
    X(zeMemFree, true)                          \
    X(zeCommandQueueCreate, true)               \
    X(zeCommandQueueDestroy, true)              \
    X(zeCommandQueueExecuteCommandLists, true)  \
    X(zeCommandListCreate, true)                \
    X(zeCommandListCreateImmediate, true)       \
    X(zeCommandListDestroy, true)               \
    X(zeCommandListClose, true)                 \
    X(zeCommandListReset, true)                 \
    X(zeCommandListAppendBarrier, true)         \
    X(zeCommandListAppendLaunchKernel, true)    \
    X(zeCommandListAppendMemoryCopy, true)      \
    X(zeFenceCreate, true)                      \
    X(zeFenceDestroy, true)                     \
    X(zeFenceHostSynchronize, true)             \
    X(zeFenceReset, true)                       \
    X(zeEventPoolCreate, true)                  \
    X(zeEventPoolDestroy, true)                 \
    X(zeEventCreate, true)                      \
    X(zeEventDestroy, true)                     \
    X(zeEventHostSynchronize, true)             \
    X(zeEventHostReset, true)                   \
    X(zeModuleCreate, true)                     \
    X(zeModuleDestroy, true)                    \
    X(zeModuleGetNativeBinary, false)           \
    X(zeKernelCreate, true)                     \
    X(zeKernelDestroy, true)                    \
    X(zeKernelSetGroupSize, true)               \
    X(zeKernelSetArgumentValue, true)           \
    X(zesDeviceEnumMemoryModules, false)        \
    X(zesMemoryGetState, false)                 \
    X(zesDeviceEnumTemperatureSensors, false)   \
    X(zesTemperatureGetProperties, false)       \
    X(zesTemperatureGetState, false)            \
    X(zesDeviceEnumPowerDomains, false)         \
    X(zesPowerGetEnergyCounter, false)          \
    X(zesPowerGetLimits, false)                 \
    X(zesDeviceEnumEngineGroups, false)         \
    X(zesEngineGetProperties, false)            \
    X(zesEngineGetActivity, false)

struct vrt_xpu_loader {
    void *library;
#define VRT_XPU_MEMBER(name, is_needed) __typeof__(&name) name;
    VRT_XPU_ENTRIES(VRT_XPU_MEMBER)
#undef VRT_XPU_MEMBER
};

/*
 * Loads `library`, which stays loaded for ever: a driver has threads of its own.
 * Return: 0; -ENOENT: it can't be loaded; -ENOSYS: it lacks what is needed. The error says which.
 */
int vrt_xpu_loader_init(struct vrt_xpu_loader *loader, const char *library,
                        struct vrt_error *error);

/*
 * Lists into `array` what `get` knows of `of`, at most as many as it has room for: asks how many
 * there are, and then for these. A driver may believe the caller that there are as many as it is
 * asked for (Intel's zeDeviceGet does, up to libze_intel_gpu 1.3.24595 at least), and what it
 * writes then isn't there. Nothing is read beyond what both answers agree on.
 * Return: ze_result_t; *ret_n: how many are in the array, 0 where it fails.
 */
#define VRT_XPU_LIST(get, of, array, ret_n)                                     \
    ({                                                                          \
        uint32_t n_there_ = 0;                                                  \
        ze_result_t result_ = (get)((of), &n_there_, NULL);                     \
        const uint32_t n_asked_ = VRT_MIN(n_there_, VRT_ARRAY_SIZE(array));     \
        uint32_t n_given_ = n_asked_;                                           \
        if (!result_ && n_asked_)                                               \
            result_ = (get)((of), &n_given_, (array));                          \
        *(ret_n) = result_ ? 0 : VRT_MIN(n_given_, n_asked_);                   \
        result_;                                                                \
    })

/* "out of device memory", ... */
const char *vrt_xpu_result_text(ze_result_t result);
