/* SPDX-License-Identifier: MIT */
/* What the specification leaves undefined is refused, and said. */

#include "tests/simulators/xpu/tests/bench.h"

#include "base/macro.h"

/* A mistake is made with these, of device 0. */
static struct bench bench;
static ze_command_queue_handle_t queue;
static ze_command_list_handle_t list;

static const char zeros[64];

static void execute_open(void)
{
    expect_int(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL),
               ZE_RESULT_ERROR_INVALID_ARGUMENT);
    expect_ok(zeCommandListClose(list));
    expect_ok(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    expect_ok(zeCommandQueueSynchronize(queue, WAIT_NS));
}

static void append_closed(void)
{
    expect_ok(zeCommandListClose(list));
    expect_int(zeCommandListAppendBarrier(list, NULL, 0, NULL), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    expect_ok(zeCommandListReset(list));
    expect_ok(zeCommandListAppendBarrier(list, NULL, 0, NULL));
}

/* The host's event holds up the queue; until then the list and all it needs are in use. */
static void use_busy(void)
{
    ze_event_handle_t event;
    ze_event_pool_handle_t pool = bench_events(&bench, 1, &event);
    void *memory = bench_alloc(&bench, 0, 64);
    expect_ok(zeCommandListAppendMemoryCopy(list, memory, zeros, 64, NULL, 1, &event));
    expect_ok(zeCommandListClose(list));
    expect_ok(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    expect_int(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL),
               ZE_RESULT_ERROR_INVALID_ARGUMENT);
    expect_int(zeMemFree(bench.context, memory), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
    expect_int(zeCommandListReset(list), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
    expect_int(zeCommandListDestroy(list), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
    expect_int(zeCommandQueueDestroy(queue), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
    expect_int(zeEventDestroy(event), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
    expect_int(zeEventHostReset(event), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
    expect_ok(zeEventHostSignal(event));
    expect_ok(zeCommandQueueSynchronize(queue, WAIT_NS));
    expect_ok(zeEventDestroy(event));
    expect_ok(zeEventPoolDestroy(pool));
    expect_ok(zeMemFree(bench.context, memory));
}

static void signal_twice(void)
{
    ze_event_handle_t event;
    ze_event_pool_handle_t pool = bench_events(&bench, 1, &event);
    expect_ok(zeCommandListAppendBarrier(list, event, 0, NULL));
    bench_execute(queue, list);
    expect_ok(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    expect_ok(zeCommandQueueSynchronize(queue, WAIT_NS));
    expect_ok(zeEventDestroy(event));
    expect_ok(zeEventPoolDestroy(pool));
}

static void keep_fence(void)
{
    const ze_fence_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_FENCE_DESC };
    ze_fence_handle_t fence;
    expect_ok(zeFenceCreate(queue, &desc, &fence));
    expect_ok(zeCommandListClose(list));
    expect_ok(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence));
    expect_ok(zeFenceHostSynchronize(fence, WAIT_NS));
    expect_int(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence),
               ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
    expect_ok(zeFenceDestroy(fence));
}

static void use_freed(void)
{
    void *memory = bench_alloc(&bench, 0, 64);
    expect_ok(zeCommandListAppendMemoryCopy(list, memory, zeros, 64, NULL, 0, NULL));
    expect_ok(zeCommandListClose(list));
    expect_ok(zeMemFree(bench.context, memory));
    expect_int(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL),
               ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

static void free_twice(void)
{
    void *memory = bench_alloc(&bench, 0, 64);
    expect_ok(zeMemFree(bench.context, memory));
    expect_int(zeMemFree(bench.context, memory), ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

static void free_inside(void)
{
    char *memory = bench_alloc(&bench, 0, 64);
    expect_int(zeMemFree(bench.context, memory + 8), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    expect_ok(zeMemFree(bench.context, memory));
}

static void cross_contexts(void)
{
    ze_context_handle_t other = bench_context(bench.driver);
    void *memory = bench_alloc(&bench, 0, 64);
    expect_int(zeMemFree(other, memory), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    expect_ok(zeMemFree(bench.context, memory));
    expect_ok(zeContextDestroy(other));
}

static void copy_beyond(void)
{
    ze_command_list_handle_t immediate = bench_immediate(&bench, 0);
    char *memory = bench_alloc(&bench, 0, 64);
    expect_int(zeCommandListAppendMemoryCopy(immediate, memory + 32, zeros, 33, NULL, 0, NULL),
               ZE_RESULT_ERROR_INVALID_ARGUMENT);
    expect_ok(zeCommandListDestroy(immediate));
    expect_ok(zeMemFree(bench.context, memory));
}

/* A kernel's arguments: memory of the host's own, of another card, of nobody. */
static void point_elsewhere(void)
{
    ze_module_handle_t module = bench_module(&bench, 0);
    ze_kernel_handle_t kernel = bench_kernel(module, "count");
    uint32_t number = 0, *pointer = &number;
    expect_int(zeKernelSetArgumentValue(kernel, 0, 8, &pointer), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    pointer = bench_alloc(&bench, 1, 64);
    expect_int(zeKernelSetArgumentValue(kernel, 0, 8, &pointer), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    expect_ok(zeMemFree(bench.context, pointer));
    expect_ok(zeKernelDestroy(kernel));
    expect_ok(zeModuleDestroy(module));
}

static void forget_argument(void)
{
    ze_module_handle_t module = bench_module(&bench, 0);
    ze_kernel_handle_t kernel = bench_kernel(module, "count");
    const ze_group_count_t groups = { 1, 1, 1 };
    const uint32_t n = 1;
    expect_int(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL),
               ZE_RESULT_ERROR_INVALID_ARGUMENT);
    expect_ok(zeKernelSetGroupSize(kernel, 1, 1, 1));
    bench_argument(kernel, 1, n);
    expect_int(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL),
               ZE_RESULT_ERROR_INVALID_ARGUMENT);
    expect_ok(zeKernelDestroy(kernel));
    expect_ok(zeModuleDestroy(module));
}

static void run_elsewhere(void)
{
    ze_command_list_handle_t other = bench_list(&bench, 1, false);
    expect_ok(zeCommandListClose(other));
    expect_int(zeCommandQueueExecuteCommandLists(queue, 1, &other, NULL),
               ZE_RESULT_ERROR_INVALID_ARGUMENT);
    expect_ok(zeCommandListDestroy(other));
}

static void compute_by_copying(void)
{
    ze_command_queue_handle_t copies = bench_queue(&bench, 0, true);
    expect_ok(zeCommandListClose(list));
    expect_int(zeCommandQueueExecuteCommandLists(copies, 1, &list, NULL),
               ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE);
    expect_ok(zeCommandQueueDestroy(copies));
}

static void leak(void)
{
    bench_alloc(&bench, 0, 1234);
    bench_context(bench.driver);
}

static void (*mistake)(void);

static void make_mistake(void)
{
    bench_init(&bench);
    queue = bench_queue(&bench, 0, false);
    list = bench_list(&bench, 0, false);
    mistake();
    expect_ok(zeCommandListDestroy(list));
    expect_ok(zeCommandQueueDestroy(queue));
    if (mistake != leak)
        bench_done(&bench);
}

static void test_mistakes(void)
{
    static const struct {
        void (*make)(void);
        const char *says;
    } mistakes[] = {
        { execute_open, "zeCommandQueueExecuteCommandLists: the list isn't closed" },
        { append_closed, "zeCommandListAppendBarrier: the list is closed" },
        { use_busy, "zeMemFree: commands that use the memory" },
        { signal_twice, "event 0 of its pool is signaled again without a reset" },
        { keep_fence, "the fence wasn't reset" },
        { use_freed, "it was freed" },
        { free_twice, "was freed already" },
        { free_inside, "begins no memory of this driver" },
        { cross_contexts, "is of another context" },
        { copy_beyond, "33 of 64 bytes from byte 32 on: it ends before" },
        { point_elsewhere, "is of a device that this one can't reach" },
        { forget_argument, "argument 0 of count was never set" },
        { run_elsewhere, "the list is of another device or context than the queue" },
        { compute_by_copying, "the list is for another group than the queue" },
        { leak, "1234 bytes at" },
    };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(mistakes); i++) {
        mistake = mistakes[i].make;
        bench_run(make_mistake, (const char *[]){ "VRT_XPU_DEVICES=2", NULL }, BENCH_MISUSE,
                  mistakes[i].says);
    }
}

TEST_MAIN(
    { "mistakes", test_mistakes },
)
