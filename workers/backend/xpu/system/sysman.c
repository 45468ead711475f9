/* SPDX-License-Identifier: MIT */

#include "backend/xpu/system/sysman.h"

#define MAX_PARTS 256               /* sensors, engines, ... of one kind */
#define CELSIUS_MAX 1000            /* more is an error's number */

static void find_temperature(struct vrt_xpu_sysman *sysman)
{
    const struct vrt_xpu_loader *loader = sysman->loader;
    zes_temp_handle_t sensors[MAX_PARTS];
    uint32_t n;

    if (!loader->zesDeviceEnumTemperatureSensors || !loader->zesTemperatureGetProperties ||
        !loader->zesTemperatureGetState ||
        VRT_XPU_LIST(loader->zesDeviceEnumTemperatureSensors, sysman->device, sensors, &n))
        return;
    for (uint32_t i = 0; i < n; i++) {
        zes_temp_properties_t properties = { .stype = ZES_STRUCTURE_TYPE_TEMP_PROPERTIES };
        if (loader->zesTemperatureGetProperties(sensors[i], &properties))
            continue;
        if (properties.type == ZES_TEMP_SENSORS_GPU)
            sysman->temperature = sensors[i];
        else if (properties.type == ZES_TEMP_SENSORS_GLOBAL && !sysman->temperature)
            sysman->temperature = sensors[i];
    }
}

static void find_power(struct vrt_xpu_sysman *sysman)
{
    zes_pwr_handle_t domains[MAX_PARTS];
    uint32_t n;

    if (!sysman->loader->zesDeviceEnumPowerDomains || !sysman->loader->zesPowerGetEnergyCounter ||
        VRT_XPU_LIST(sysman->loader->zesDeviceEnumPowerDomains, sysman->device, domains, &n) ||
        n == 0)
        return;
    sysman->power = domains[0];
    if (sysman->loader->zesPowerGetEnergyCounter(sysman->power, &sysman->energy))
        sysman->power = NULL;
}

static void find_engine(struct vrt_xpu_sysman *sysman)
{
    const struct vrt_xpu_loader *loader = sysman->loader;
    zes_engine_handle_t engines[MAX_PARTS];
    uint32_t n;

    if (!loader->zesDeviceEnumEngineGroups || !loader->zesEngineGetProperties ||
        !loader->zesEngineGetActivity ||
        VRT_XPU_LIST(loader->zesDeviceEnumEngineGroups, sysman->device, engines, &n))
        return;
    for (uint32_t i = 0; i < n; i++) {
        zes_engine_properties_t properties = { .stype = ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES };
        if (loader->zesEngineGetProperties(engines[i], &properties))
            continue;
        if (properties.type == ZES_ENGINE_GROUP_COMPUTE_ALL ||
            (properties.type == ZES_ENGINE_GROUP_ALL && !sysman->compute))
            sysman->compute = engines[i];
    }
    if (sysman->compute && loader->zesEngineGetActivity(sysman->compute, &sysman->compute_stats))
        sysman->compute = NULL;
}

void vrt_xpu_sysman_init(struct vrt_xpu_sysman *sysman, const struct vrt_xpu_system *system,
                         const struct vrt_xpu_unit *unit)
{
    *sysman = (struct vrt_xpu_sysman){
        .loader = &system->loader,
        .device = (zes_device_handle_t)unit->device,
    };
    find_temperature(sysman);
    find_power(sysman);
    find_engine(sysman);
}

void vrt_xpu_sysman_memory(const struct vrt_xpu_sysman *sysman, struct vrt_memory_info *ret_info)
{
    zes_mem_handle_t modules[MAX_PARTS];
    int64_t total_bytes = 0, free_bytes = 0;
    uint32_t n;

    *ret_info = (struct vrt_memory_info){ -1, -1 };
    if (!sysman->loader->zesDeviceEnumMemoryModules || !sysman->loader->zesMemoryGetState ||
        VRT_XPU_LIST(sysman->loader->zesDeviceEnumMemoryModules, sysman->device, modules, &n) ||
        n == 0)
        return;
    for (uint32_t i = 0; i < n; i++) {
        zes_mem_state_t state = { .stype = ZES_STRUCTURE_TYPE_MEM_STATE };
        if (sysman->loader->zesMemoryGetState(modules[i], &state))
            return;
        total_bytes += (int64_t)state.size;
        free_bytes += (int64_t)state.free;
    }
    /* A driver without the permission to look answers with zeros. */
    if (total_bytes > 0)
        *ret_info = (struct vrt_memory_info){ total_bytes, free_bytes };
}

/* Microjoules in microseconds are watts. */
static void read_power(struct vrt_xpu_sysman *sysman, struct vrt_device_sensors *sensors)
{
    const zes_power_energy_counter_t before = sysman->energy;
    zes_power_sustained_limit_t limit = { 0 };
    zes_power_energy_counter_t now;

    if (sysman->loader->zesPowerGetEnergyCounter(sysman->power, &now) == ZE_RESULT_SUCCESS &&
        now.timestamp > before.timestamp && now.energy >= before.energy) {
        sensors->power_watts =
            (double)(now.energy - before.energy) / (double)(now.timestamp - before.timestamp);
        sysman->energy = now;
    }
    if (sysman->loader->zesPowerGetLimits &&
        sysman->loader->zesPowerGetLimits(sysman->power, &limit, NULL, NULL) ==
            ZE_RESULT_SUCCESS && limit.enabled && limit.power > 0)
        sensors->power_limit_watts = limit.power / 1000.0;
}

static void read_utilization(struct vrt_xpu_sysman *sysman, struct vrt_device_sensors *sensors)
{
    const zes_engine_stats_t before = sysman->compute_stats;
    zes_engine_stats_t now;

    if (sysman->loader->zesEngineGetActivity(sysman->compute, &now) != ZE_RESULT_SUCCESS ||
        now.timestamp <= before.timestamp || now.activeTime < before.activeTime)
        return;
    sensors->utilization_percent =
        VRT_MIN(100, 100 * (double)(now.activeTime - before.activeTime) /
                         (double)(now.timestamp - before.timestamp));
    sysman->compute_stats = now;
}

void vrt_xpu_sysman_read(struct vrt_xpu_sysman *sysman, struct vrt_device_sensors *ret_sensors)
{
    struct vrt_device_sensors sensors = VRT_DEVICE_SENSORS_UNKNOWN;
    double celsius;

    sensors.are_known = sysman->temperature || sysman->power || sysman->compute;
    if (sysman->temperature &&
        sysman->loader->zesTemperatureGetState(sysman->temperature, &celsius) ==
            ZE_RESULT_SUCCESS && celsius > 0 && celsius < CELSIUS_MAX)
        sensors.temperature_celsius = celsius;
    if (sysman->power)
        read_power(sysman, &sensors);
    if (sysman->compute)
        read_utilization(sysman, &sensors);
    *ret_sensors = sensors;
}
