/* SPDX-License-Identifier: MIT */
/* What devices do: kernels and copies, recorded, replayed, asynchronous, ordered by events. */

#include "tests/simulators/xpu/tests/bench.h"

#include "base/macro.h"

enum { N = 1000 };

/* c = a + b, whatever the card; the list is executed three times, with other numbers each time. */
static void add_on(const struct bench *bench, int i)
{
    float *a = bench_alloc(bench, i, N * sizeof(float)), *b = bench_alloc(bench, i, 2 * N * 4);
    float *staging = bench_alloc(bench, -1, 3 * N * sizeof(float));
    float *second = b + N;
    const uint32_t n = N;
    ze_module_handle_t module = bench_module(bench, i);
    ze_kernel_handle_t kernel = bench_kernel(module, "add");
    ze_command_queue_handle_t queue = bench_queue(bench, i, false);
    ze_command_list_handle_t list = bench_list(bench, i, false);
    const ze_fence_desc_t fence_desc = { .stype = ZE_STRUCTURE_TYPE_FENCE_DESC };
    ze_fence_handle_t fence;

    expect_ok(zeFenceCreate(queue, &fence_desc, &fence));
    expect_ok(zeKernelSetGroupSize(kernel, 64, 1, 1));
    bench_argument(kernel, 0, a);
    bench_argument(kernel, 1, b);
    bench_argument(kernel, 2, second);
    bench_argument(kernel, 3, n);
    expect_ok(zeCommandListAppendMemoryCopy(list, a, staging, N * 4, NULL, 0, NULL));
    expect_ok(zeCommandListAppendMemoryCopy(list, b, staging + N, N * 4, NULL, 0, NULL));
    expect_ok(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    const ze_group_count_t groups = { (N + 63) / 64, 1, 1 };
    expect_ok(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
    expect_ok(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    expect_ok(zeCommandListAppendMemoryCopy(list, staging + 2 * N, second, N * 4, NULL, 0, NULL));
    expect_ok(zeCommandListClose(list));
    /* What was recorded is what the arguments were then. */
    bench_argument(kernel, 0, b);

    for (int round = 0; round < 3; round++) {
        for (int k = 0; k < N; k++) {
            staging[k] = (float)(k * (round + 1));
            staging[N + k] = 0.5f * (float)(k + i);
        }
        expect_ok(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence));
        expect_ok(zeFenceHostSynchronize(fence, WAIT_NS));
        expect_ok(zeFenceReset(fence));
        for (int k = 0; k < N; k++)
            expect_near(staging[2 * N + k], (float)(k * (round + 1)) + 0.5f * (float)(k + i), 0);
    }
    expect_ok(zeFenceDestroy(fence));
    expect_ok(zeCommandListDestroy(list));
    expect_ok(zeCommandQueueDestroy(queue));
    expect_ok(zeKernelDestroy(kernel));
    expect_ok(zeModuleDestroy(module));
    expect_ok(zeMemFree(bench->context, a));
    expect_ok(zeMemFree(bench->context, b));
    expect_ok(zeMemFree(bench->context, staging));
}

static void add_everywhere(void)
{
    struct bench bench;
    bench_init(&bench);
    for (unsigned i = 0; i < bench.n_devices; i++)
        add_on(&bench, (int)i);
    bench_done(&bench);
}

static void test_add(void)
{
    bench_run(add_everywhere, (const char *[]){ "VRT_XPU_DEVICES=2", NULL }, 0, NULL);
}

/* Kernels of card 0 and an immediate list of it. */
struct kernels {
    struct bench bench;
    float *memory;                      /* 4096 bytes */
    ze_module_handle_t module;
    ze_command_list_handle_t list;
};

static void open_kernels(struct kernels *kernels)
{
    bench_init(&kernels->bench);
    kernels->memory = bench_alloc(&kernels->bench, 0, 4096);
    kernels->module = bench_module(&kernels->bench, 0);
    kernels->list = bench_immediate(&kernels->bench, 0);
}

static void close_kernels(struct kernels *kernels)
{
    expect_ok(zeModuleDestroy(kernels->module));
    expect_ok(zeCommandListDestroy(kernels->list));
    expect_ok(zeMemFree(kernels->bench.context, kernels->memory));
    bench_done(&kernels->bench);
}

/* Runs the kernel on `n` groups, then copies what is at `from` to the host. */
static void run_and_copy(const struct kernels *kernels, ze_kernel_handle_t kernel, uint32_t n,
                         const float *from, float *to, size_t n_bytes)
{
    const ze_group_count_t groups = { n, 1, 1 };
    expect_ok(zeCommandListAppendLaunchKernel(kernels->list, kernel, &groups, NULL, 0, NULL));
    expect_ok(zeCommandListAppendMemoryCopy(kernels->list, to, from, n_bytes, NULL, 0, NULL));
}

static void pass_values(void)
{
    struct kernels kernels;
    open_kernels(&kernels);
    ze_kernel_handle_t values = bench_kernel(kernels.module, "values");
    const float number = 0.25f, v[4] = { 1, 2, 3, 4 };
    const uint16_t n = 200;
    float numbers[256];

    expect_ok(zeKernelSetGroupSize(values, 16, 1, 1));
    bench_argument(values, 0, kernels.memory);
    bench_argument(values, 1, number);
    bench_argument(values, 2, v);
    bench_argument(values, 3, n);
    run_and_copy(&kernels, values, 13, kernels.memory, numbers, sizeof(numbers));
    for (int i = 0; i < 200; i++)
        expect_near(numbers[i], 2.25, 0);
    /* Memory that nobody wrote. */
    expect_true(isnan(numbers[200]));

    expect_int(zeKernelSetGroupSize(values, 2048, 1, 1),
               ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION);
    expect_int(zeKernelSetArgumentValue(values, 1, 8, &number),
               ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE);
    expect_int(zeKernelSetArgumentValue(values, 4, 4, &number),
               ZE_RESULT_ERROR_INVALID_ARGUMENT);
    expect_ok(zeKernelDestroy(values));
    close_kernels(&kernels);
}

static void pass_local(void)
{
    struct kernels kernels;
    open_kernels(&kernels);
    ze_kernel_handle_t sum = bench_kernel(kernels.module, "sum");
    const float one = 1, *out = kernels.memory + 512;
    float numbers[2];

    expect_ok(zeCommandListAppendMemoryFill(kernels.list, kernels.memory, &one, 4, 512, NULL, 0,
                                            NULL));
    bench_argument(sum, 0, kernels.memory);
    bench_argument(sum, 1, out);
    expect_ok(zeKernelSetArgumentValue(sum, 2, 64 * sizeof(float), NULL));
    run_and_copy(&kernels, sum, 2, out, numbers, sizeof(numbers));
    expect_near(numbers[0], 64, 0);
    expect_near(numbers[1], 64, 0);
    expect_int(zeKernelSetGroupSize(sum, 32, 1, 1), ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION);
    expect_int(zeKernelSetArgumentValue(sum, 2, 4, &one),
               ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE);
    expect_ok(zeKernelDestroy(sum));
    close_kernels(&kernels);
}

static void pass_struct(void)
{
    struct kernels kernels;
    open_kernels(&kernels);
    ze_kernel_handle_t turn = bench_kernel(kernels.module, "turn");
    const float *out = kernels.memory + 512;
    float numbers[5] = { 0, 1, 2, 3, 4 };
    const struct {
        int n;
        float scale;
        _Alignas(8) short more[4];
        char last;
    } shape = { 5, 2, { 0, 0, 7, 0 }, 1 };

    bench_argument(turn, 0, kernels.memory);
    bench_argument(turn, 1, out);
    bench_argument(turn, 2, shape);
    expect_ok(zeCommandListAppendMemoryCopy(kernels.list, kernels.memory, numbers, 20, NULL, 0,
                                            NULL));
    run_and_copy(&kernels, turn, 1, out, numbers, sizeof(numbers));
    for (int i = 0; i < 5; i++)
        expect_near(numbers[i], (4 - i) * 2 + 7 + 1, 0);
    expect_ok(zeKernelDestroy(turn));
    close_kernels(&kernels);
}

static void test_arguments(void)
{
    bench_run(pass_values, NULL, 0, NULL);
    bench_run(pass_local, NULL, 0, NULL);
    bench_run(pass_struct, NULL, 0, NULL);
}

/* A kernel on the compute queue, and behind it a copy of its result on the copy queue. */
struct relay {
    struct bench bench;
    uint32_t *memory, *result;          /* on the device, on the host */
    ze_command_queue_handle_t queues[2];
    ze_command_list_handle_t lists[2];
    ze_module_handle_t module;
    ze_kernel_handle_t kernel;
    ze_event_handle_t events[3];        /* to begin, between the two, at the end */
    ze_event_pool_handle_t pool;
};

static void relay_init(struct relay *relay)
{
    const struct bench *bench = &relay->bench;

    bench_init(&relay->bench);
    relay->memory = bench_alloc(bench, 0, 64);
    relay->result = bench_alloc(bench, -1, 64);
    for (int i = 0; i < 2; i++) {
        relay->queues[i] = bench_queue(bench, 0, i == 1);
        relay->lists[i] = bench_list(bench, 0, i == 1);
    }
    relay->module = bench_module(bench, 0);
    relay->kernel = bench_kernel(relay->module, "count");
    relay->pool = bench_events(bench, 3, relay->events);
}

/* Enqueues what counts, which comes to 5 * 2 * 4 * 3; the copy first. */
static void relay_start(struct relay *relay)
{
    const uint32_t n = 3, zero = 0;
    const ze_group_count_t groups = { 5, 2, 1 };
    ze_event_handle_t *events = relay->events;

    *relay->result = 99;
    expect_ok(zeKernelSetGroupSize(relay->kernel, 4, 1, 1));
    bench_argument(relay->kernel, 0, relay->memory);
    bench_argument(relay->kernel, 1, n);
    expect_ok(zeCommandListAppendWaitOnEvents(relay->lists[0], 1, &events[0]));
    expect_ok(zeCommandListAppendMemoryFill(relay->lists[0], relay->memory, &zero, 4, 64, NULL, 0,
                                            NULL));
    expect_ok(zeCommandListAppendBarrier(relay->lists[0], NULL, 0, NULL));
    expect_ok(zeCommandListAppendLaunchKernel(relay->lists[0], relay->kernel, &groups, events[1],
                                              0, NULL));
    expect_ok(zeCommandListAppendMemoryCopy(relay->lists[1], relay->result, relay->memory, 4,
                                            events[2], 1, &events[1]));
    for (int i = 1; i >= 0; i--) {
        expect_ok(zeCommandListClose(relay->lists[i]));
        expect_ok(zeCommandQueueExecuteCommandLists(relay->queues[i], 1, &relay->lists[i], NULL));
    }
}

static void relay_done(struct relay *relay)
{
    for (int i = 0; i < 3; i++)
        expect_ok(zeEventDestroy(relay->events[i]));
    expect_ok(zeEventPoolDestroy(relay->pool));
    for (int i = 0; i < 2; i++) {
        expect_ok(zeCommandListDestroy(relay->lists[i]));
        expect_ok(zeCommandQueueDestroy(relay->queues[i]));
    }
    expect_ok(zeKernelDestroy(relay->kernel));
    expect_ok(zeModuleDestroy(relay->module));
    expect_ok(zeMemFree(relay->bench.context, relay->memory));
    expect_ok(zeMemFree(relay->bench.context, relay->result));
    bench_done(&relay->bench);
}

/*
 * The copy queue waits for an event of the compute queue, which waits for one of the host: nothing
 * is done until that is signaled, and waits that end in between say so.
 */
static void chain(void)
{
    struct relay relay;

    relay_init(&relay);
    relay_start(&relay);
    ze_event_handle_t *events = relay.events;
    expect_int(zeEventQueryStatus(events[2]), ZE_RESULT_NOT_READY);
    expect_int(zeEventHostSynchronize(events[2], 2000000), ZE_RESULT_NOT_READY);
    expect_int(zeCommandQueueSynchronize(relay.queues[1], 2000000), ZE_RESULT_NOT_READY);
    expect_int(zeCommandQueueSynchronize(relay.queues[0], 0), ZE_RESULT_NOT_READY);
    expect_int(*relay.result, 99);
    expect_ok(zeEventHostSignal(events[0]));
    expect_ok(zeEventHostSynchronize(events[2], WAIT_NS));
    expect_int(*relay.result, 5 * 2 * 4 * 3);
    expect_ok(zeEventQueryStatus(events[1]));
    for (int i = 0; i < 2; i++)
        expect_ok(zeCommandQueueSynchronize(relay.queues[i], WAIT_NS));
    relay_done(&relay);
}

static void test_events(void)
{
    bench_run(chain, NULL, 0, NULL);
}

/* Fills the number with 1, 2 and 3; what comes of it where nothing orders them, and where it is. */
static void fill_three_times(void)
{
    struct bench bench;
    bench_init(&bench);
    const bool is_forward = !getenv("VRT_XPU_ORDER");
    uint32_t *memory = bench_alloc(&bench, 0, 64), got;
    ze_command_queue_handle_t queue = bench_queue(&bench, 0, false);
    ze_event_handle_t events[3];
    ze_event_pool_handle_t pool = bench_events(&bench, 3, events);

    for (int by = 0; by < 3; by++) {        /* nothing, barriers, events */
        ze_command_list_handle_t list = bench_list(&bench, 0, false);
        for (uint32_t i = 0; i < 3; i++) {
            const uint32_t number = i + 1;
            if (by == 1)
                expect_ok(zeCommandListAppendBarrier(list, NULL, 0, NULL));
            expect_ok(zeCommandListAppendMemoryFill(list, memory, &number, 4, 4,
                                                    by == 2 ? events[i] : NULL, by == 2 && i,
                                                    &events[by == 2 && i ? i - 1 : 0]));
        }
        bench_execute(queue, list);
        bench_copy(&bench, 0, &got, memory, 4);
        expect_int(got, by == 0 && !is_forward ? 1 : 3);
        expect_ok(zeCommandListDestroy(list));
    }
    for (int i = 0; i < 3; i++)
        expect_ok(zeEventDestroy(events[i]));
    expect_ok(zeEventPoolDestroy(pool));
    expect_ok(zeCommandQueueDestroy(queue));
    expect_ok(zeMemFree(bench.context, memory));
    bench_done(&bench);
}

static void test_order(void)
{
    bench_run(fill_three_times, NULL, 0, NULL);
    bench_run(fill_three_times, (const char *[]){ "VRT_XPU_ORDER=reverse", NULL }, 0, NULL);
    for (int seed = 1; seed < 20; seed += 6) {
        char setting[32];
        snprintf(setting, sizeof(setting), "VRT_XPU_ORDER=random:%d", seed);
        bench_run(add_everywhere, (const char *[]){ setting, NULL }, 0, NULL);
    }
}

/* Eight cards at once, each with a list of many kernels that is executed again and again. */
static void work_together(void)
{
    enum { CARDS = 8, LAUNCHES = 20, ROUNDS = 5 };
    struct bench bench;
    ze_module_handle_t modules[CARDS];
    ze_kernel_handle_t kernels[CARDS];
    ze_command_queue_handle_t queues[CARDS];
    ze_command_list_handle_t lists[CARDS];
    uint32_t *memory[CARDS], got, zero = 0;
    bench_init(&bench);
    expect_int(bench.n_devices, CARDS);
    for (int i = 0; i < CARDS; i++) {
        const uint32_t n = (uint32_t)i + 1;
        const ze_group_count_t groups = { 10, 1, 1 };
        memory[i] = bench_alloc(&bench, i, 64);
        bench_copy(&bench, i, memory[i], &zero, 4);
        modules[i] = bench_module(&bench, i);
        kernels[i] = bench_kernel(modules[i], "count");
        queues[i] = bench_queue(&bench, i, false);
        lists[i] = bench_list(&bench, i, false);
        expect_ok(zeKernelSetGroupSize(kernels[i], 4, 1, 1));
        bench_argument(kernels[i], 0, memory[i]);
        bench_argument(kernels[i], 1, n);
        for (int k = 0; k < LAUNCHES; k++)
            expect_ok(zeCommandListAppendLaunchKernel(lists[i], kernels[i], &groups, NULL, 0,
                                                      NULL));
        expect_ok(zeCommandListClose(lists[i]));
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CARDS; i++)
            expect_ok(zeCommandQueueExecuteCommandLists(queues[i], 1, &lists[i], NULL));
        for (int i = 0; i < CARDS; i++)
            expect_ok(zeCommandQueueSynchronize(queues[i], WAIT_NS));
    }
    for (int i = 0; i < CARDS; i++) {
        bench_copy(&bench, i, &got, memory[i], 4);
        expect_int(got, ROUNDS * LAUNCHES * 10 * 4 * (i + 1));
        expect_ok(zeCommandListDestroy(lists[i]));
        expect_ok(zeCommandQueueDestroy(queues[i]));
        expect_ok(zeKernelDestroy(kernels[i]));
        expect_ok(zeModuleDestroy(modules[i]));
        expect_ok(zeMemFree(bench.context, memory[i]));
    }
    bench_done(&bench);
}

static void test_together(void)
{
    bench_run(work_together, (const char *[]){ "VRT_XPU_DEVICES=8", NULL }, 0, NULL);
}

/* A binary that the driver made of a module makes the same module again. */
static void go_native(void)
{
    struct bench bench;
    bench_init(&bench);
    ze_module_handle_t module = bench_module(&bench, 0), again;
    static uint8_t binary[1 << 16];
    size_t n = 0;
    expect_ok(zeModuleGetNativeBinary(module, &n, NULL));
    expect_true(n > 0 && n <= sizeof(binary));
    expect_ok(zeModuleGetNativeBinary(module, &n, binary));
    ze_module_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
        .format = ZE_MODULE_FORMAT_NATIVE,
        .inputSize = n,
        .pInputModule = binary,
    };
    expect_ok(zeModuleCreate(bench.context, bench.devices[0], &desc, &again, NULL));
    expect_ok(zeKernelDestroy(bench_kernel(again, "count")));
    expect_ok(zeModuleDestroy(again));
    binary[8]++;                        /* of another version of the driver */
    expect_int(zeModuleCreate(bench.context, bench.devices[0], &desc, &again, NULL),
               ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
    desc.inputSize = 5;
    expect_int(zeModuleCreate(bench.context, bench.devices[0], &desc, &again, NULL),
               ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);

    /* What isn't SPIR-V, and what only begins as it does. */
    static const uint32_t nonsense[] = { 0x07230203, 0x10000, 0, 8, 0, 0x00ff00ff };
    desc.format = ZE_MODULE_FORMAT_IL_SPIRV;
    /* (The loader, where its layers are on, gives out a log's handle that it then doesn't know.) */
    const bool has_log = !getenv("ZE_ENABLE_LOADER_INTERCEPT");
    for (size_t i = 1; i <= VRT_ARRAY_SIZE(nonsense); i++) {
        ze_module_build_log_handle_t log;
        char text[256] = "";
        desc.inputSize = i * 4;
        desc.pInputModule = (const uint8_t *)nonsense;
        expect_int(zeModuleCreate(bench.context, bench.devices[0], &desc, &again,
                                  has_log ? &log : NULL),
                   ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
        if (!has_log)
            continue;
        n = sizeof(text);
        expect_ok(zeModuleBuildLogGetString(log, &n, text));
        expect_true(strlen(text) > 0);
        expect_ok(zeModuleBuildLogDestroy(log));
    }
    expect_ok(zeModuleDestroy(module));
    bench_done(&bench);
}

static void test_modules(void)
{
    bench_run(go_native, NULL, 0, NULL);
}

TEST_MAIN(
    { "add", test_add },
    { "arguments", test_arguments },
    { "events", test_events },
    { "order", test_order },
    { "together", test_together },
    { "modules", test_modules },
)
