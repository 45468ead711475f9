/* SPDX-License-Identifier: MIT */

#include "backend/xpu/system/system.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/log.h"

#define VRT_LOG_TOPIC "xpu"

/* The one mutable state of this folder: contexts are the process's, not a device's. */
static struct {
    pthread_mutex_t lock;
    struct vrt_xpu_system *system;  /* NULL: nobody has it open */
    int n_refs;
} of_process = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void destroy(struct vrt_xpu_system *system)
{
    for (int i = 0; system && i < system->n_drivers; i++)
        system->loader.zeContextDestroy(system->drivers[i].context);
    free(system);
}

static void add_unit(struct vrt_xpu_system *system, const struct vrt_xpu_unit *unit)
{
    if (system->n_units < VRT_XPU_MAX_UNITS)
        system->units[system->n_units++] = *unit;
}

/* The tiles of the GPU that was added last. */
static void add_tiles(struct vrt_xpu_system *system)
{
    const int root = system->n_units - 1;
    struct vrt_xpu_unit *gpu = &system->units[root];
    ze_device_handle_t tiles[VRT_XPU_MAX_UNITS];
    uint32_t n;

    if (VRT_XPU_LIST(system->loader.zeDeviceGetSubDevices, gpu->device, tiles, &n) || n < 2)
        return;
    for (uint32_t i = 0; i < n; i++)
        add_unit(system, &(struct vrt_xpu_unit){ gpu->driver, tiles[i], root, (int)i, 0 });
    gpu->n_tiles = system->n_units - root - 1;
}

static ze_result_t add_gpus(struct vrt_xpu_system *system, const struct vrt_xpu_driver *driver)
{
    ze_device_handle_t devices[VRT_XPU_MAX_UNITS];
    uint32_t n;
    ze_result_t r = VRT_XPU_LIST(system->loader.zeDeviceGet, driver->handle, devices, &n);

    for (uint32_t i = 0; !r && i < n; i++) {
        ze_device_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };
        r = system->loader.zeDeviceGetProperties(devices[i], &properties);
        if (r || properties.type != ZE_DEVICE_TYPE_GPU || system->n_units == VRT_XPU_MAX_UNITS)
            continue;
        add_unit(system, &(struct vrt_xpu_unit){ driver, devices[i], -1, 0, 0 });
        add_tiles(system);
    }
    return r;
}

/* A driver that fails is left out: another one may do. */
static void add_driver(struct vrt_xpu_system *system, ze_driver_handle_t handle)
{
    const ze_context_desc_t context = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
    ze_driver_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES };
    struct vrt_xpu_driver *driver = &system->drivers[system->n_drivers];
    ze_result_t r = system->loader.zeDriverGetProperties(handle, &properties);

    if (!r)
        r = system->loader.zeContextCreate(handle, &context, &driver->context);
    if (!r) {
        driver->handle = handle;
        driver->version = properties.driverVersion;
        system->n_drivers++;
        r = add_gpus(system, driver);
    }
    if (r)
        vrt_log_warning("a Level Zero driver fails: %s (0x%x), ignoring", vrt_xpu_result_text(r),
                        (unsigned)r);
}

/* The loader's own list: it belongs to nothing, for VRT_XPU_LIST() to be asked of. */
static ze_result_t get_drivers(const struct vrt_xpu_loader *loader, uint32_t *n,
                               ze_driver_handle_t *handles)
{
    return loader->zeDriverGet(n, handles);
}

static int start(struct vrt_xpu_system *system, struct vrt_error *error)
{
    ze_driver_handle_t handles[VRT_XPU_MAX_DRIVERS];
    uint32_t n = 0;

    int r = vrt_xpu_loader_init(&system->loader, VRT_XPU_LOADER, error);
    if (r)
        return r;
    /* Only what is set before the drivers start makes them tell of temperatures and the like. */
    setenv("ZES_ENABLE_SYSMAN", "1", 0);
    ze_result_t result = system->loader.zeInit(ZE_INIT_FLAG_GPU_ONLY);
    if (!result)
        result = VRT_XPU_LIST(get_drivers, &system->loader, handles, &n);
    if (result == ZE_RESULT_ERROR_UNINITIALIZED || (!result && n == 0))
        return vrt_refuse(error, -ENODEV, "device.failed", "no driver of Level Zero's starts: "
                          "there is no GPU, or not the package libze-intel-gpu1 (Debian 12: "
                          "intel-opencl-icd), which brings Intel's");
    if (result)
        return vrt_refuse(error, -EIO, "device.failed", "Level Zero doesn't start: %s (0x%x)",
                          vrt_xpu_result_text(result), (unsigned)result);
    for (uint32_t i = 0; i < n; i++)
        add_driver(system, handles[i]);
    return 0;
}

static int open_locked(struct vrt_error *error)
{
    if (of_process.system) {
        of_process.n_refs++;
        return 0;
    }
    struct vrt_xpu_system *system = calloc(1, sizeof(*system));
    if (!system)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "Starting Level Zero");
    int r = start(system, error);
    if (r) {
        destroy(system);
        return r;
    }
    of_process.system = system;
    of_process.n_refs = 1;
    return 0;
}

int vrt_xpu_system_open(const struct vrt_xpu_system **ret_system, struct vrt_error *error)
{
    pthread_mutex_lock(&of_process.lock);
    int r = open_locked(error);
    if (!r)
        *ret_system = of_process.system;
    pthread_mutex_unlock(&of_process.lock);
    return r;
}

bool vrt_xpu_system_reaches(const struct vrt_xpu_system *system, const struct vrt_xpu_unit *unit,
                            const struct vrt_xpu_unit *peer)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    ze_bool_t can = false;

    pthread_mutex_lock(&lock);
    const ze_result_t r = system->loader.zeDeviceCanAccessPeer(unit->device, peer->device, &can);
    pthread_mutex_unlock(&lock);
    return !r && can;
}

const struct vrt_xpu_system *vrt_xpu_system_close(const struct vrt_xpu_system *system)
{
    if (!system)
        return NULL;
    pthread_mutex_lock(&of_process.lock);
    if (--of_process.n_refs == 0) {
        destroy(of_process.system);
        of_process.system = NULL;
    }
    pthread_mutex_unlock(&of_process.lock);
    return NULL;
}
