/* SPDX-License-Identifier: MIT */

/* The driver itself and the devices it has: the first calls that any program makes. */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "tests/simulators/common/cache.h"
#include "tests/simulators/xpu/driver/calls.h"
#include "tests/simulators/xpu/driver/faults.h"
#include "tests/simulators/xpu/queue/order.h"

static struct {
    struct drv_object object;
    bool is_made;
    ze_result_t made;                   /* what zeInit() came to */
} platform;

/* What PoCL is told, and what it tells hwloc, before there are threads: a new variable may move the
 * environment that others read. The thread that enqueues a kernel is to be the one that runs it. */
static bool set_environment(const char *folder)
{
    return setenv("POCL_CACHE_DIR", folder, 1) == 0 && setenv("POCL_DEVICES", "basic", 1) == 0 &&
           setenv("OCL_ICD_VENDORS", "/etc/OpenCL/vendors/pocl.icd", 0) == 0 &&
           setenv("HWLOC_PLUGINS_PATH", "/dev/null", 1) == 0;
}

/* The folder of what is compiled, where PoCL keeps its own as well. */
static bool open_cache(void)
{
    char pocl[PATH_MAX + 8];

    if (sim_cache_open("VRT_XPU_CACHE", "vrt-xpu-driver") != 0)
        return false;
    snprintf(pocl, sizeof(pocl), "%s/pocl", sim_cache_path());
    if (mkdir(pocl, 0700) != 0 && errno != EEXIST)
        return false;
    return set_environment(pocl);
}

static ze_result_t make(void)
{
    if (!drv_settings_read() || !drv_faults_read() || !drv_order_read() || !open_cache())
        return ZE_RESULT_ERROR_UNINITIALIZED;
    drv_object_add(&platform.object, DRV_DRIVER, NULL);
    return drv_devices_make();
}

ze_result_t drv_zeInit(ze_init_flags_t flags)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    if (flags && !(flags & ZE_INIT_FLAG_GPU_ONLY))
        return ZE_RESULT_ERROR_UNINITIALIZED;
    if (!platform.is_made)
        platform.made = make();
    platform.is_made = true;
    return platform.made;
}

ze_result_t drv_zeDriverGet(uint32_t *count, ze_driver_handle_t *drivers)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    if (!count)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (!platform.is_made)
        return drv_misuse(ZE_RESULT_ERROR_UNINITIALIZED, "before zeInit()");
    if (drv_list_count(count, platform.made == ZE_RESULT_SUCCESS, drivers))
        drivers[0] = DRV_HANDLE(ze_driver_handle_t, &platform);
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeDriverGetProperties(ze_driver_handle_t handle, ze_driver_properties_t *p)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    if (!drv_object_find(handle, DRV_DRIVER))
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (!p)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (p->stype != ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES)
        return drv_misuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "stype isn't set");
    p->driverVersion = DRV_VERSION_BASE | drv_settings()->version;
    memset(&p->uuid, 0, sizeof(p->uuid));
    memcpy(p->uuid.id, "vrt-xpu", 7);
    memcpy(p->uuid.id + 8, &p->driverVersion, sizeof(p->driverVersion));
    return ZE_RESULT_SUCCESS;
}

/* What zeDeviceGet() and zeDeviceGetSubDevices() answer. */
static ze_result_t list_devices(struct drv_device *const *devices, uint32_t n, uint32_t *count,
                                ze_device_handle_t *ret_handles)
{
    if (!count)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    n = drv_list_count(count, n, ret_handles);
    for (uint32_t i = 0; i < n; i++)
        ret_handles[i] = DRV_HANDLE(ze_device_handle_t, devices[i]);
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeDeviceGet(ze_driver_handle_t handle, uint32_t *count, ze_device_handle_t *devices)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    if (!drv_object_find(handle, DRV_DRIVER))
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    uint32_t n, wanted = count && devices ? *count : 0;
    struct drv_device *const *seen = drv_devices(&n);
    const ze_result_t r = list_devices(seen, n, count, devices);
    /* As Intel's: it believes a count that is too large. What isn't there has no real handle. */
    for (uint32_t i = n; !r && i < wanted; i++) {
        devices[i] = (ze_device_handle_t)DRV_NO_HANDLE;
        *count = wanted;
    }
    return r;
}

ze_result_t drv_zeDeviceGetSubDevices(ze_device_handle_t handle, uint32_t *count,
                                      ze_device_handle_t *devices)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    const struct drv_device *device = drv_device_find(handle);
    if (!device)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    return list_devices(device->tiles, device->n_tiles, count, devices);
}

ze_result_t drv_zeDeviceCanAccessPeer(ze_device_handle_t a, ze_device_handle_t b, ze_bool_t *can)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    const struct drv_device *device = drv_device_find(a), *peer = drv_device_find(b);
    if (!device || !peer)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (!can)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    *can = drv_device_reaches(device, peer);
    return ZE_RESULT_SUCCESS;
}
