/* SPDX-License-Identifier: MIT */

/*
 * The few declarations of NVML that are needed are written down here: its library comes with the
 * driver, which a machine may be without, and its header with the toolkit. They are of its stable
 * interface, version 2 of what has versions.
 */

#include "backend/cuda/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

#define SENSOR_GPU 0                /* of nvmlDeviceGetTemperature() */
#define CELSIUS_MAX 1000            /* more is an error's number */

struct nvml_device;

/* In percent of the last period of sampling. */
struct nvml_utilization {
    unsigned gpu, memory;
};

struct vrt_cuda_nvml {
    void *library;
    struct nvml_device *device;
    bool is_initialised;

    /* Of the library. All return 0, or what went wrong. */
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int error);
    int (*find)(const char *pci_address, struct nvml_device **ret_device);
    int (*utilization)(struct nvml_device *device, struct nvml_utilization *ret_utilization);
    int (*temperature)(struct nvml_device *device, int sensor, unsigned *ret_celsius);
    int (*power)(struct nvml_device *device, unsigned *ret_milliwatts);
    int (*power_limit)(struct nvml_device *device, unsigned *ret_milliwatts);
    int (*throttling)(struct nvml_device *device, unsigned long long *ret_reasons);
};

#define ENTRY(name, member, is_needed) { name, offsetof(struct vrt_cuda_nvml, member), is_needed }

/* Where one place has two names, the second is used where the library lacks the first. */
static const struct {
    const char *name;
    size_t offset;
    bool is_needed;
} entries[] = {
    ENTRY("nvmlInit_v2", init, true),
    ENTRY("nvmlShutdown", shutdown, true),
    ENTRY("nvmlDeviceGetHandleByPciBusId_v2", find, true),
    ENTRY("nvmlErrorString", error_string, false),
    ENTRY("nvmlDeviceGetUtilizationRates", utilization, false),
    ENTRY("nvmlDeviceGetTemperature", temperature, false),
    ENTRY("nvmlDeviceGetPowerUsage", power, false),
    ENTRY("nvmlDeviceGetEnforcedPowerLimit", power_limit, false),
    ENTRY("nvmlDeviceGetCurrentClocksEventReasons", throttling, false),
    ENTRY("nvmlDeviceGetCurrentClocksThrottleReasons", throttling, false),
};

/* Why a card is slower than it could be. That it has nothing to do, or that its clocks were set,
 * isn't among them. */
static const struct {
    unsigned long long bit;
    const char *words;
} reasons[] = {
    { 0x40, "overheating" },            /* the hardware's own brake */
    { 0x20, "temperature" },            /* the driver's, before that */
    { 0x80, "power brake" },
    { 0x04, "power limit" },
    { 0x08, "hardware slowdown" },
    { 0x10, "sync boost" },
};

static int load(struct vrt_cuda_nvml *nvml, const char *library, struct vrt_error *error)
{
    nvml->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!nvml->library)
        return vrt_refuse(error, -ENOENT, "device.failed", "%s", dlerror());
    for (size_t i = 0; i < VRT_ARRAY_SIZE(entries); i++) {
        char *place = (char *)nvml + entries[i].offset;
        void *entry = dlsym(nvml->library, entries[i].name), *found;
        memcpy(&found, place, sizeof(found));
        if (!entry && entries[i].is_needed)
            return vrt_refuse(error, -ENOSYS, "device.failed", "%s lacks %s", library,
                              entries[i].name);
        if (!found)
            memcpy(place, &entry, sizeof(entry));
    }
    return 0;
}

static int refuse(const struct vrt_cuda_nvml *nvml, int r, const char *what,
                  struct vrt_error *error)
{
    return vrt_refuse(error, -EIO, "device.failed", "%s failed: %s (%d)", what,
                      nvml->error_string ? nvml->error_string(r) : "error", r);
}

int vrt_cuda_nvml_open(const char *library, const char *pci_address,
                       struct vrt_cuda_nvml **ret_nvml, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_cuda_nvml_closep) struct vrt_cuda_nvml *nvml = calloc(1, sizeof(*nvml));
    char what[64];

    if (!nvml)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), library);
    int r = load(nvml, library, error);
    if (r < 0)
        return r;
    r = nvml->init();
    if (r != 0)
        return refuse(nvml, r, "starting NVML", error);
    nvml->is_initialised = true;
    r = nvml->find(pci_address, &nvml->device);
    if (r != 0) {
        snprintf(what, sizeof(what), "finding card %s", pci_address);
        return refuse(nvml, r, what, error);
    }
    *ret_nvml = VRT_STEAL(nvml);
    return 0;
}

struct vrt_cuda_nvml *vrt_cuda_nvml_close(struct vrt_cuda_nvml *nvml)
{
    if (!nvml)
        return NULL;
    if (nvml->is_initialised)
        nvml->shutdown();
    if (nvml->library)
        dlclose(nvml->library);
    free(nvml);
    return NULL;
}

static double percent(unsigned value)
{
    return value <= 100 ? value : NAN;
}

static double watts(unsigned milliwatts)
{
    return milliwatts < INT32_MAX ? milliwatts / 1000.0 : NAN;
}

/* The words for `bits`; "none" where no reason is among them. */
static void print_throttling(unsigned long long bits, char *text, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(reasons) && n < size; i++)
        if (bits & reasons[i].bit)
            n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "", reasons[i].words);
    if (!n)
        snprintf(text, size, "none");
}

void vrt_cuda_nvml_read(const struct vrt_cuda_nvml *nvml, struct vrt_device_sensors *ret_sensors)
{
    struct vrt_device_sensors sensors = VRT_DEVICE_SENSORS_UNKNOWN;
    struct nvml_utilization utilization;
    unsigned long long bits;
    unsigned value;

    if (nvml->utilization && nvml->utilization(nvml->device, &utilization) == 0) {
        sensors.utilization_percent = percent(utilization.gpu);
        sensors.memory_utilization_percent = percent(utilization.memory);
    }
    if (nvml->temperature && nvml->temperature(nvml->device, SENSOR_GPU, &value) == 0 &&
        value < CELSIUS_MAX)
        sensors.temperature_celsius = value;
    if (nvml->power && nvml->power(nvml->device, &value) == 0)
        sensors.power_watts = watts(value);
    if (nvml->power_limit && nvml->power_limit(nvml->device, &value) == 0)
        sensors.power_limit_watts = watts(value);
    if (nvml->throttling && nvml->throttling(nvml->device, &bits) == 0)
        print_throttling(bits, sensors.throttling, sizeof(sensors.throttling));
    sensors.are_known = true;
    *ret_sensors = sensors;
}
