/* SPDX-License-Identifier: MIT */
/* In which order commands are done: as events and barriers have it, else in any. */

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
    static const uint32_t zeros[16];
    const uint32_t n = 3;
    const ze_group_count_t groups = { 5, 2, 1 };
    ze_event_handle_t *events = relay->events;

    *relay->result = 99;
    expect_ok(zeKernelSetGroupSize(relay->kernel, 4, 1, 1));
    bench_argument(relay->kernel, 0, relay->memory);
    bench_argument(relay->kernel, 1, n);
    expect_ok(zeCommandListAppendBarrier(relay->lists[0], NULL, 1, &events[0]));
    expect_ok(zeCommandListAppendMemoryCopy(relay->lists[0], relay->memory, zeros, 64, NULL, 0,
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

/* Copies 1, 2 and 3 to one place; what comes of it where nothing orders them, and where it is. */
static void copy_three_times(void)
{
    static const uint32_t numbers[] = { 1, 2, 3 };
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
            if (by == 1)
                expect_ok(zeCommandListAppendBarrier(list, NULL, 0, NULL));
            expect_ok(zeCommandListAppendMemoryCopy(list, memory, &numbers[i], 4,
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
    bench_run(copy_three_times, NULL, 0, NULL);
    bench_run(copy_three_times, (const char *[]){ "VRT_XPU_ORDER=reverse", NULL }, 0, NULL);
    for (int seed = 1; seed < 20; seed += 6) {
        char setting[32];
        snprintf(setting, sizeof(setting), "VRT_XPU_ORDER=random:%d", seed);
        bench_run(add_everywhere, (const char *[]){ setting, NULL }, 0, NULL);
    }
}

TEST_MAIN(
    { "events", test_events },
    { "order", test_order },
)
