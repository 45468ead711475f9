/* SPDX-License-Identifier: MIT */
/* What Sysman shows of a card, with permission and without. */

#include "tests/simulators/xpu/tests/bench.h"

#include <level_zero/zes_api.h>

#include "base/macro.h"

struct sensors {
    zes_mem_handle_t memory;
    zes_temp_handle_t temperature;
    zes_pwr_handle_t power;
    zes_engine_handle_t engine;
};

static struct sensors find(ze_device_handle_t device)
{
    zes_device_handle_t sysman = (zes_device_handle_t)device;
    struct sensors sensors;
    uint32_t n = 0;
    expect_ok(zesDeviceEnumMemoryModules(sysman, &n, NULL));
    expect_int(n, 1);
    expect_ok(zesDeviceEnumMemoryModules(sysman, &n, &sensors.memory));
    n = 1;
    expect_ok(zesDeviceEnumTemperatureSensors(sysman, &n, &sensors.temperature));
    n = 1;
    expect_ok(zesDeviceEnumPowerDomains(sysman, &n, &sensors.power));
    n = 1;
    expect_ok(zesDeviceEnumEngineGroups(sysman, &n, &sensors.engine));
    return sensors;
}

/* Kernels for `n` million counts. */
static void compute(const struct bench *bench, uint32_t n)
{
    void *memory = bench_alloc(bench, 1, 64);
    ze_module_handle_t module = bench_module(bench, 1);
    ze_kernel_handle_t kernel = bench_kernel(module, "count");
    ze_command_list_handle_t list = bench_immediate(bench, 1);
    const ze_group_count_t groups = { 1000, 1, 1 };
    n *= 1000;
    expect_ok(zeKernelSetGroupSize(kernel, 1, 1, 1));
    bench_argument(kernel, 0, memory);
    bench_argument(kernel, 1, n);
    expect_ok(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
    expect_ok(zeCommandListDestroy(list));
    expect_ok(zeKernelDestroy(kernel));
    expect_ok(zeModuleDestroy(module));
    expect_ok(zeMemFree(bench->context, memory));
}

static void watch(void)
{
    struct bench bench;
    bench_init(&bench);
    struct sensors idle = find(bench.devices[0]), busy = find(bench.devices[1]);

    zes_mem_state_t state = { .stype = ZES_STRUCTURE_TYPE_MEM_STATE };
    void *memory = bench_alloc(&bench, 0, 100 << 20);
    expect_ok(zesMemoryGetState(idle.memory, &state));
    expect_int(state.size, 1024 << 20);
    expect_int(state.free, 924 << 20);
    expect_ok(zeMemFree(bench.context, memory));
    expect_ok(zesMemoryGetState(idle.memory, &state));
    expect_int(state.free, 1024 << 20);

    zes_engine_properties_t engine = { .stype = ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES };
    expect_ok(zesEngineGetProperties(busy.engine, &engine));
    expect_int(engine.type, ZES_ENGINE_GROUP_COMPUTE_ALL);
    zes_engine_stats_t before, after;
    zes_power_energy_counter_t energy[2];
    expect_ok(zesEngineGetActivity(busy.engine, &before));
    expect_ok(zesPowerGetEnergyCounter(busy.power, &energy[0]));
    compute(&bench, 10);
    expect_ok(zesEngineGetActivity(busy.engine, &after));
    expect_ok(zesPowerGetEnergyCounter(busy.power, &energy[1]));
    expect_true(after.activeTime > before.activeTime);
    expect_true(after.activeTime - before.activeTime <= after.timestamp - before.timestamp);
    const double watts = (double)(energy[1].energy - energy[0].energy) /
                         (double)(energy[1].timestamp - energy[0].timestamp);
    expect_true(watts > 44 && watts < 194);

    double celsius[2];
    expect_ok(zesTemperatureGetState(idle.temperature, &celsius[0]));
    expect_ok(zesTemperatureGetState(busy.temperature, &celsius[1]));
    expect_near(celsius[0], 41, 0);
    expect_true(celsius[1] > 41 && celsius[1] < 80);
    zes_power_sustained_limit_t limit;
    expect_ok(zesPowerGetLimits(idle.power, &limit, NULL, NULL));
    expect_int(limit.power, 190000);
    bench_done(&bench);
}

static void test_values(void)
{
    bench_run(watch, (const char *[]){ "VRT_XPU_DEVICES=2", "VRT_XPU_MEMORY_MIB=1024", NULL }, 0,
              NULL);
}

static void find_nothing(void)
{
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    uint32_t n = 0;
    bench_open(1, &driver, &device);
    expect_int(zesDeviceEnumMemoryModules((zes_device_handle_t)device, &n, NULL),
               ZE_RESULT_ERROR_UNINITIALIZED);
}

static void read_nothing(void)
{
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    zes_mem_state_t state = { .stype = ZES_STRUCTURE_TYPE_MEM_STATE };
    zes_engine_stats_t stats;
    double celsius;
    bench_open(1, &driver, &device);
    struct sensors sensors = find(device);
    expect_int(zesMemoryGetState(sensors.memory, &state), ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS);
    expect_int(zesEngineGetActivity(sensors.engine, &stats),
               ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS);
    expect_int(zesTemperatureGetState(sensors.temperature, &celsius),
               ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS);
}

static void test_silence(void)
{
    bench_run(find_nothing, (const char *[]){ "VRT_XPU_SYSMAN=0", NULL }, 0, NULL);
    bench_run(find_nothing, (const char *[]){ "ZES_ENABLE_SYSMAN=0", NULL }, 0, NULL);
    bench_run(read_nothing, (const char *[]){ "VRT_XPU_SYSMAN=2", NULL }, 0, NULL);
}

TEST_MAIN(
    { "values", test_values },
    { "silence", test_silence },
)
