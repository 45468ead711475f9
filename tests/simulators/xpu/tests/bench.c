/* SPDX-License-Identifier: MIT */

#include "tests/simulators/xpu/tests/bench.h"

#include "base/macro.h"

unsigned bench_open(unsigned max, ze_driver_handle_t *ret_driver, ze_device_handle_t *ret_devices)
{
    uint32_t n = 1;
    expect_ok(zeInit(ZE_INIT_FLAG_GPU_ONLY));
    expect_ok(zeDriverGet(&n, ret_driver));
    expect_int(n, 1);
    n = 0;
    expect_ok(zeDeviceGet(*ret_driver, &n, NULL));
    n = VRT_MIN(n, max);
    expect_ok(zeDeviceGet(*ret_driver, &n, ret_devices));
    return n;
}

ze_context_handle_t bench_context(ze_driver_handle_t driver)
{
    const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
    ze_context_handle_t context;
    expect_ok(zeContextCreate(driver, &desc, &context));
    return context;
}

void bench_init(struct bench *bench)
{
    bench->n_devices = bench_open(8, &bench->driver, bench->devices);
    bench->context = bench_context(bench->driver);
}

void bench_done(struct bench *bench)
{
    expect_ok(zeContextDestroy(bench->context));
}

void *bench_alloc(const struct bench *bench, int i, size_t n_bytes)
{
    const ze_device_mem_alloc_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC,
    };
    const ze_host_mem_alloc_desc_t host = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
    void *address;
    if (i < 0)
        expect_ok(zeMemAllocHost(bench->context, &host, n_bytes, 64, &address));
    else
        expect_ok(zeMemAllocDevice(bench->context, &desc, n_bytes, 64, bench->devices[i],
                                   &address));
    return address;
}

ze_command_queue_handle_t bench_queue(const struct bench *bench, int i, bool copies)
{
    const ze_command_queue_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
        .ordinal = copies,
        .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
    };
    ze_command_queue_handle_t queue;
    expect_ok(zeCommandQueueCreate(bench->context, bench->devices[i], &desc, &queue));
    return queue;
}

ze_command_list_handle_t bench_list(const struct bench *bench, int i, bool copies)
{
    const ze_command_list_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
        .commandQueueGroupOrdinal = copies,
    };
    ze_command_list_handle_t list;
    expect_ok(zeCommandListCreate(bench->context, bench->devices[i], &desc, &list));
    return list;
}

ze_command_list_handle_t bench_immediate(const struct bench *bench, int i)
{
    const ze_command_queue_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
        .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS,
    };
    ze_command_list_handle_t list;
    expect_ok(zeCommandListCreateImmediate(bench->context, bench->devices[i], &desc, &list));
    return list;
}

ze_module_handle_t bench_module(const struct bench *bench, int i)
{
    static uint8_t spirv[65536];
    FILE *file = fopen(KERNELS, "rb");
    expect_true(file != NULL);
    const ze_module_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
        .format = ZE_MODULE_FORMAT_IL_SPIRV,
        .inputSize = fread(spirv, 1, sizeof(spirv), file),
        .pInputModule = spirv,
    };
    fclose(file);
    ze_module_handle_t module;
    expect_ok(zeModuleCreate(bench->context, bench->devices[i], &desc, &module, NULL));
    return module;
}

ze_kernel_handle_t bench_kernel(ze_module_handle_t module, const char *name)
{
    const ze_kernel_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
        .pKernelName = name,
    };
    ze_kernel_handle_t kernel;
    expect_ok(zeKernelCreate(module, &desc, &kernel));
    return kernel;
}

ze_event_pool_handle_t bench_events(const struct bench *bench, unsigned n, ze_event_handle_t *ret)
{
    const ze_event_pool_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
        .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
        .count = n,
    };
    ze_event_pool_handle_t pool;
    expect_ok(zeEventPoolCreate(bench->context, &desc, 0, NULL, &pool));
    for (unsigned i = 0; i < n; i++) {
        const ze_event_desc_t event = {
            .stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
            .index = i,
            .signal = ZE_EVENT_SCOPE_FLAG_HOST,
        };
        expect_ok(zeEventCreate(pool, &event, &ret[i]));
    }
    return pool;
}

void bench_execute(ze_command_queue_handle_t queue, ze_command_list_handle_t list)
{
    expect_ok(zeCommandListClose(list));
    expect_ok(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    expect_ok(zeCommandQueueSynchronize(queue, WAIT_NS));
}

void bench_copy(const struct bench *bench, int i, void *to, const void *from, size_t n_bytes)
{
    ze_command_list_handle_t list = bench_immediate(bench, i);
    expect_ok(zeCommandListAppendMemoryCopy(list, to, from, n_bytes, NULL, 0, NULL));
    expect_ok(zeCommandListDestroy(list));
}
