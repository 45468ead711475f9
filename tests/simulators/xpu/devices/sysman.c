/* SPDX-License-Identifier: MIT */

/*
 * zes*: what a card's sensors show
 *
 * Memory is what is allocated, an engine's activity what its queues were at. A card that computes
 * is warmer and takes more power than one that doesn't.
 */

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "tests/simulators/xpu/driver/calls.h"
#include "tests/simulators/xpu/devices/device.h"

#define IDLE_CELSIUS 41
#define BUSY_CELSIUS 38                 /* more, of one that never rests */
#define IDLE_WATTS 44
#define BUSY_WATTS 150
#define LIMIT_MILLIWATTS 190000
#define NS_PER_US 1000

/* Whether Sysman is answered at all. */
static ze_result_t check_sysman(void)
{
    return drv_settings()->sysman == DRV_SYSMAN_NONE ? ZE_RESULT_ERROR_UNINITIALIZED
                                                     : ZE_RESULT_SUCCESS;
}

/* A device's handle is the same for both APIs. */
static ze_result_t find_device(zes_device_handle_t handle, struct drv_device **ret_device)
{
    ze_result_t r = check_sysman();
    if (r != ZE_RESULT_SUCCESS)
        return r;
    *ret_device = drv_device_find((ze_device_handle_t)(uintptr_t)handle);
    if (!*ret_device)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    return drv_device_is_lost(*ret_device) ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_SUCCESS;
}

/* What one kind of handle may stand for. */
struct range {
    enum drv_sensor_kind first, last;
};

static const struct range memory_range = { DRV_SENSOR_MEMORY, DRV_SENSOR_MEMORY };
static const struct range temperature_range = { DRV_SENSOR_TEMPERATURE_GPU,
                                                DRV_SENSOR_TEMPERATURE_MEMORY };
static const struct range power_range = { DRV_SENSOR_POWER, DRV_SENSOR_POWER };
static const struct range engine_range = { DRV_SENSOR_ENGINE_COMPUTE, DRV_SENSOR_ENGINE_COPY };

/* The sensor `handle`, one of the range, that is asked for `answer`. */
static ze_result_t find_sensor(const void *handle, const struct range *range, const void *answer,
                               const struct drv_sensor **ret_sensor)
{
    ze_result_t r = check_sysman();
    if (r != ZE_RESULT_SUCCESS)
        return r;
    const struct drv_sensor *sensor = drv_object_find(handle, DRV_SENSOR);
    if (!sensor)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (sensor->kind < range->first || sensor->kind > range->last)
        return drv_misuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the handle is of something else");
    if (drv_device_is_lost(sensor->device))
        return ZE_RESULT_ERROR_DEVICE_LOST;
    *ret_sensor = sensor;
    return answer ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_NULL_POINTER;
}

/* As find_sensor(), for what not every user may read. */
static ze_result_t find_readable(const void *handle, const struct range *range, const void *answer,
                                 const struct drv_sensor **ret_sensor)
{
    ze_result_t r = find_sensor(handle, range, answer, ret_sensor);
    return r == ZE_RESULT_SUCCESS && drv_settings()->sysman == DRV_SYSMAN_FORBIDDEN
               ? ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS
               : r;
}

static int64_t busy_ns(const struct drv_device *device)
{
    int64_t n = 0;
    for (int i = 0; i < DRV_QUEUE_GROUP_COUNT; i++)
        n += device->busy_ns[i];
    return VRT_MIN(n, drv_devices_age_ns());
}

/* What an enumeration of the range answers; handles are pointers of any type. */
static ze_result_t list_sensors(zes_device_handle_t handle, const struct range *range,
                                uint32_t *count, void *ret_handles)
{
    struct drv_device *device;
    ze_result_t r = find_device(handle, &device);
    if (r != ZE_RESULT_SUCCESS)
        return r;
    if (!count)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    const uint32_t n = drv_list_count(count, range->last - range->first + 1, ret_handles);
    for (uint32_t i = 0; i < n; i++) {
        const uintptr_t found = (uintptr_t)device->sensors[range->first + i].object.handle;
        memcpy((char *)ret_handles + i * sizeof(found), &found, sizeof(found));
    }
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zesDeviceEnumMemoryModules(zes_device_handle_t handle, uint32_t *count,
                                           zes_mem_handle_t *modules)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    return list_sensors(handle, &memory_range, count, modules);
}

ze_result_t drv_zesDeviceEnumTemperatureSensors(zes_device_handle_t handle, uint32_t *count,
                                                zes_temp_handle_t *sensors)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    return list_sensors(handle, &temperature_range, count, sensors);
}

ze_result_t drv_zesDeviceEnumPowerDomains(zes_device_handle_t handle, uint32_t *count,
                                          zes_pwr_handle_t *domains)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    return list_sensors(handle, &power_range, count, domains);
}

ze_result_t drv_zesDeviceEnumEngineGroups(zes_device_handle_t handle, uint32_t *count,
                                          zes_engine_handle_t *engines)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    return list_sensors(handle, &engine_range, count, engines);
}

ze_result_t drv_zesMemoryGetState(zes_mem_handle_t handle, zes_mem_state_t *state)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    const struct drv_sensor *sensor;
    ze_result_t r = find_readable(handle, &memory_range, state, &sensor);
    if (r != ZE_RESULT_SUCCESS)
        return r;
    state->health = ZES_MEM_HEALTH_OK;
    state->size = sensor->device->memory_bytes;
    state->free = sensor->device->memory_bytes - sensor->device->used_bytes;
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zesTemperatureGetProperties(zes_temp_handle_t handle, zes_temp_properties_t *p)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    const struct drv_sensor *sensor;
    ze_result_t r = find_sensor(handle, &temperature_range, p, &sensor);
    if (r != ZE_RESULT_SUCCESS)
        return r;
    p->type = sensor->kind == DRV_SENSOR_TEMPERATURE_GPU ? ZES_TEMP_SENSORS_GPU
                                                         : ZES_TEMP_SENSORS_MEMORY;
    p->onSubdevice = sensor->device->whole != NULL;
    p->subdeviceId = sensor->device->tile;
    p->maxTemperature = -1;
    p->isCriticalTempSupported = p->isThreshold1Supported = p->isThreshold2Supported = false;
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zesTemperatureGetState(zes_temp_handle_t handle, double *ret_celsius)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    const struct drv_sensor *sensor;
    ze_result_t r = find_readable(handle, &temperature_range, ret_celsius, &sensor);
    if (r != ZE_RESULT_SUCCESS)
        return r;
    const double busy = (double)busy_ns(sensor->device) / (double)(drv_devices_age_ns() + 1);
    *ret_celsius = IDLE_CELSIUS + BUSY_CELSIUS * busy;
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zesPowerGetEnergyCounter(zes_pwr_handle_t handle,
                                         zes_power_energy_counter_t *counter)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    const struct drv_sensor *sensor;
    ze_result_t r = find_readable(handle, &power_range, counter, &sensor);
    if (r != ZE_RESULT_SUCCESS)
        return r;
    /* Microjoules, microseconds. */
    const int64_t age_us = drv_devices_age_ns() / NS_PER_US;
    counter->timestamp = (uint64_t)age_us;
    counter->energy = (uint64_t)(IDLE_WATTS * age_us +
                                 BUSY_WATTS * (busy_ns(sensor->device) / NS_PER_US));
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zesPowerGetLimits(zes_pwr_handle_t handle, zes_power_sustained_limit_t *sustained,
                                  zes_power_burst_limit_t *burst, zes_power_peak_limit_t *peak)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    const struct drv_sensor *sensor;
    ze_result_t r = find_readable(handle, &power_range, handle, &sensor);
    if (r != ZE_RESULT_SUCCESS)
        return r;
    if (sustained)
        *sustained = (zes_power_sustained_limit_t){ .enabled = true, .power = LIMIT_MILLIWATTS };
    if (burst)
        *burst = (zes_power_burst_limit_t){ .enabled = false };
    if (peak)
        *peak = (zes_power_peak_limit_t){ .powerAC = -1, .powerDC = -1 };
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zesEngineGetProperties(zes_engine_handle_t handle, zes_engine_properties_t *p)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    const struct drv_sensor *sensor;
    ze_result_t r = find_sensor(handle, &engine_range, p, &sensor);
    if (r != ZE_RESULT_SUCCESS)
        return r;
    p->type = sensor->kind == DRV_SENSOR_ENGINE_COMPUTE ? ZES_ENGINE_GROUP_COMPUTE_ALL
                                                        : ZES_ENGINE_GROUP_COPY_ALL;
    p->onSubdevice = sensor->device->whole != NULL;
    p->subdeviceId = sensor->device->tile;
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zesEngineGetActivity(zes_engine_handle_t handle, zes_engine_stats_t *stats)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    const struct drv_sensor *sensor;
    ze_result_t r = find_readable(handle, &engine_range, stats, &sensor);
    if (r != ZE_RESULT_SUCCESS)
        return r;
    const int group = sensor->kind == DRV_SENSOR_ENGINE_COMPUTE ? DRV_QUEUE_COMPUTE
                                                                : DRV_QUEUE_COPY;
    stats->activeTime = (uint64_t)(sensor->device->busy_ns[group] / NS_PER_US);
    stats->timestamp = (uint64_t)(drv_devices_age_ns() / NS_PER_US);
    return ZE_RESULT_SUCCESS;
}
