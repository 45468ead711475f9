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

/* "out of device memory", ... */
const char *vrt_xpu_result_text(ze_result_t result);
