/* SPDX-License-Identifier: MIT */

/*
 * NVIDIA's management library as far as it is used, on a machine with one card at 0000:01:00.0
 *
 * FAKE_INIT: what starting it returns. FAKE_LEVEL: 0: only what is needed; 1: an old driver's; 2: a
 * new one's, whose older name for why clocks are low gives an error; 3: a new one's on a card that
 * tells nonsense. The file that FAKE_NVML_CELSIUS names, where it does, holds the temperature.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOT_FOUND 6
#define NOT_SUPPORTED 3

struct nvml_device;

int fake_nvml_n_started;

static char card;

int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int error);
int nvmlDeviceGetHandleByPciBusId_v2(const char *address, struct nvml_device **ret_device);

int nvmlInit_v2(void)
{
    fake_nvml_n_started += FAKE_INIT == 0;
    return FAKE_INIT;
}

int nvmlShutdown(void)
{
    fake_nvml_n_started--;
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *address, struct nvml_device **ret_device)
{
    if (strcmp(address, "0000:01:00.0") != 0)
        return NOT_FOUND;
    *ret_device = (struct nvml_device *)&card;
    return 0;
}

#if FAKE_LEVEL > 0
#define NONSENSE (FAKE_LEVEL == 3)

struct nvml_utilization {
    unsigned gpu, memory;
};

int nvmlDeviceGetUtilizationRates(struct nvml_device *device, struct nvml_utilization *ret_rates);
int nvmlDeviceGetTemperature(struct nvml_device *device, int sensor, unsigned *ret_celsius);
int nvmlDeviceGetPowerUsage(struct nvml_device *device, unsigned *ret_milliwatts);
int nvmlDeviceGetEnforcedPowerLimit(struct nvml_device *device, unsigned *ret_milliwatts);
int nvmlDeviceGetCurrentClocksThrottleReasons(struct nvml_device *device,
                                              unsigned long long *ret_reasons);
int nvmlDeviceGetCurrentClocksEventReasons(struct nvml_device *device,
                                           unsigned long long *ret_reasons);

const char *nvmlErrorString(int error)
{
    return error == NOT_FOUND ? "Not Found" : "Driver Not Loaded";
}

static int is_card(const struct nvml_device *device)
{
    return (const char *)device == &card;
}

int nvmlDeviceGetUtilizationRates(struct nvml_device *device, struct nvml_utilization *ret_rates)
{
    *ret_rates = (struct nvml_utilization){ NONSENSE ? 4000000000 : 97, NONSENSE ? 101 : 0 };
    return is_card(device) ? 0 : NOT_FOUND;
}

int nvmlDeviceGetTemperature(struct nvml_device *device, int sensor, unsigned *ret_celsius)
{
    const char *path = getenv("FAKE_NVML_CELSIUS");
    FILE *file = path ? fopen(path, "r") : NULL;

    *ret_celsius = NONSENSE ? 4294967295u : 71;
    if (file && fscanf(file, "%u", ret_celsius) != 1)
        *ret_celsius = 0;
    if (file)
        fclose(file);
    return is_card(device) && sensor == 0 ? 0 : NOT_FOUND;
}

int nvmlDeviceGetPowerUsage(struct nvml_device *device, unsigned *ret_milliwatts)
{
    *ret_milliwatts = NONSENSE ? 4294967295u : 319500;
    return is_card(device) ? 0 : NOT_FOUND;
}

int nvmlDeviceGetEnforcedPowerLimit(struct nvml_device *device, unsigned *ret_milliwatts)
{
    *ret_milliwatts = 350000;
    return is_card(device) && !NONSENSE ? 0 : NOT_SUPPORTED;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(struct nvml_device *device,
                                              unsigned long long *ret_reasons)
{
    *ret_reasons = 0x1;
    return is_card(device) && FAKE_LEVEL == 1 ? 0 : NOT_SUPPORTED;
}

#if FAKE_LEVEL > 1
int nvmlDeviceGetCurrentClocksEventReasons(struct nvml_device *device,
                                           unsigned long long *ret_reasons)
{
    *ret_reasons = NONSENSE ? ~0ull : 0x4 | 0x20 | 0x2;
    return is_card(device) ? 0 : NOT_FOUND;
}
#endif
#endif
