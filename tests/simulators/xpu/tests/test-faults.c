/* SPDX-License-Identifier: MIT */
/* Failures on a schedule. */

#include "tests/simulators/xpu/tests/bench.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/macro.h"

/* Nothing but a card that is there. */
static void open_only(void)
{
    struct bench bench;
    bench_init(&bench);
    bench_done(&bench);
}

static void open_nothing(void)
{
    expect_int(zeInit(0), ZE_RESULT_ERROR_UNINITIALIZED);
}

static void test_grammar(void)
{
    static const char *const right[] = {
        "VRT_XPU_FAULTS=", "VRT_XPU_FAULTS=0 alloc:3 fail",
        "VRT_XPU_FAULTS=1 call:200- lost; run:every=5 delay=2ms;63 copy:2-7 slow=5 ;",
        "VRT_XPU_FAULTS=copy:1 lost=20ms; run:1 hang; call:1 mend; build:1 fail",
    };
    static const char *const wrong[] = {
        "0 alloc fail", "64 alloc:1 fail", "alloc:0 fail", "alloc:3-2 fail", "alloc:1 hang",
        "run:1 fail", "run:1", "run:1 slow", "run:1 delay=5", "run:1 slow=0", "run:every=0 flip",
        "walk:1 flip", "run:1 flip run:2 flip", "run:1 flip=2", ";", "run:1flip",
    };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(right); i++)
        bench_run(open_only, (const char *[]){ right[i], NULL }, 0, NULL);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(wrong); i++) {
        char setting[128];
        snprintf(setting, sizeof(setting), "VRT_XPU_FAULTS=%s", wrong[i]);
        bench_run(open_nothing, (const char *[]){ setting, NULL }, 0, "of the faults is nonsense");
    }
}

static void run_out(void)
{
    struct bench bench;
    bench_init(&bench);
    const ze_device_mem_alloc_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
    void *memory[3];
    for (int i = 0; i < 3; i++)
        expect_int(zeMemAllocDevice(bench.context, &desc, 64, 64, bench.devices[0], &memory[i]),
                   i == 1 ? ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY : ZE_RESULT_SUCCESS);
    expect_ok(zeMemFree(bench.context, memory[0]));
    expect_ok(zeMemFree(bench.context, memory[2]));
    bench_done(&bench);
}

static void fail_to_build(void)
{
    struct bench bench;
    bench_init(&bench);
    const ze_module_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
        .format = ZE_MODULE_FORMAT_IL_SPIRV,
        .inputSize = 4,
        .pInputModule = (const uint8_t *)"none",
    };
    ze_module_handle_t module = bench_module(&bench, 0), none;
    expect_int(zeModuleCreate(bench.context, bench.devices[0], &desc, &none, NULL),
               ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
    expect_ok(zeModuleDestroy(module));
    bench_done(&bench);
}

static void test_refusals(void)
{
    bench_run(run_out, (const char *[]){ "VRT_XPU_FAULTS=alloc:2 fail", NULL }, 0, NULL);
    bench_run(fail_to_build, (const char *[]){ "VRT_XPU_FAULTS=build:2 fail", NULL }, 0, NULL);
}

/* Three kernels on card 0, which signal an event and a fence at the end. */
struct trio {
    uint32_t *memory;
    ze_module_handle_t module;
    ze_kernel_handle_t kernel;
    ze_command_queue_handle_t queue;
    ze_command_list_handle_t list;
    ze_fence_handle_t fence;
    ze_event_handle_t event;
    ze_event_pool_handle_t pool;
};

static void trio_init(struct trio *trio, const struct bench *bench)
{
    const ze_fence_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_FENCE_DESC };
    const ze_group_count_t groups = { 1, 1, 1 };
    const uint32_t n = 1;

    trio->memory = bench_alloc(bench, 0, 64);
    trio->module = bench_module(bench, 0);
    trio->kernel = bench_kernel(trio->module, "count");
    trio->queue = bench_queue(bench, 0, false);
    trio->list = bench_list(bench, 0, false);
    trio->pool = bench_events(bench, 1, &trio->event);
    expect_ok(zeFenceCreate(trio->queue, &desc, &trio->fence));
    expect_ok(zeKernelSetGroupSize(trio->kernel, 1, 1, 1));
    bench_argument(trio->kernel, 0, trio->memory);
    bench_argument(trio->kernel, 1, n);
    for (int i = 0; i < 3; i++)
        expect_ok(zeCommandListAppendLaunchKernel(trio->list, trio->kernel, &groups, NULL, 0,
                                                  NULL));
    expect_ok(zeCommandListAppendSignalEvent(trio->list, trio->event));
    expect_ok(zeCommandListClose(trio->list));
}

static void trio_done(const struct trio *trio, const struct bench *bench)
{
    expect_ok(zeMemFree(bench->context, trio->memory));
    expect_ok(zeFenceDestroy(trio->fence));
    expect_ok(zeCommandListDestroy(trio->list));
    expect_ok(zeCommandQueueDestroy(trio->queue));
    expect_ok(zeKernelDestroy(trio->kernel));
    expect_ok(zeModuleDestroy(trio->module));
    expect_ok(zeEventDestroy(trio->event));
    expect_ok(zeEventPoolDestroy(trio->pool));
}

/* Card 0, which was lost, works again. */
static void expect_back(const struct bench *bench)
{
    uint32_t number = 5, got = 0;

    expect_ok(zeDeviceGetStatus(bench->devices[0]));
    uint32_t *memory = bench_alloc(bench, 0, 64);
    bench_copy(bench, 0, memory, &number, 4);
    bench_copy(bench, 0, &got, memory, 4);
    expect_int(got, 5);
    expect_ok(zeMemFree(bench->context, memory));
}

/* Work on card 0, of which its fifth kernel is to lose it, and what is left of it then. */
static void lose(void)
{
    struct bench bench;
    struct trio trio;

    bench_init(&bench);
    trio_init(&trio, &bench);
    expect_ok(zeCommandQueueExecuteCommandLists(trio.queue, 1, &trio.list, trio.fence));
    expect_ok(zeFenceHostSynchronize(trio.fence, WAIT_NS));
    expect_ok(zeFenceReset(trio.fence));
    expect_ok(zeEventHostReset(trio.event));
    expect_ok(zeDeviceGetStatus(bench.devices[0]));

    expect_ok(zeCommandQueueExecuteCommandLists(trio.queue, 1, &trio.list, trio.fence));
    expect_int(zeFenceHostSynchronize(trio.fence, WAIT_NS), ZE_RESULT_ERROR_DEVICE_LOST);
    expect_int(zeEventHostSynchronize(trio.event, WAIT_NS), ZE_RESULT_ERROR_DEVICE_LOST);
    expect_int(zeCommandQueueSynchronize(trio.queue, WAIT_NS), ZE_RESULT_ERROR_DEVICE_LOST);
    expect_int(zeCommandQueueExecuteCommandLists(trio.queue, 1, &trio.list, NULL),
               ZE_RESULT_ERROR_DEVICE_LOST);
    expect_int(zeDeviceGetStatus(bench.devices[0]), ZE_RESULT_ERROR_DEVICE_LOST);
    /* The other one goes on. */
    expect_ok(zeDeviceGetStatus(bench.devices[1]));
    expect_ok(zeMemFree(bench.context, bench_alloc(&bench, 1, 64)));

    trio_done(&trio, &bench);
    if (getenv("COMES_BACK")) {
        usleep(100000);
        expect_back(&bench);
    }
    bench_done(&bench);
}

static void test_loss(void)
{
    bench_run(lose, (const char *[]){ "VRT_XPU_DEVICES=2", "VRT_XPU_FAULTS=0 run:5 lost", NULL }, 0,
              NULL);
    bench_run(lose, (const char *[]){ "VRT_XPU_DEVICES=2", "VRT_XPU_FAULTS=0 run:5 lost=100ms",
                                      "COMES_BACK=1", NULL }, 0, NULL);
}

/* The first copy never ends; nobody waits for ever, and the process ends in spite of it. */
static void hang(void)
{
    struct bench bench;
    bench_init(&bench);
    void *memory = bench_alloc(&bench, 0, 64);
    ze_command_queue_handle_t queue = bench_queue(&bench, 0, true);
    ze_command_list_handle_t list = bench_list(&bench, 0, true);
    expect_ok(zeCommandListAppendMemoryFill(list, memory, "", 1, 64, NULL, 0, NULL));
    expect_ok(zeCommandListClose(list));
    expect_ok(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    expect_int(zeCommandQueueSynchronize(queue, 50000000), ZE_RESULT_NOT_READY);
    /* Other queues of the card still work. */
    uint32_t got = 0;
    uint32_t *other = bench_alloc(&bench, 0, 64);
    bench_copy(&bench, 0, &got, other, 4);
    expect_int(got, 0xffffffff);
}

static void test_hang(void)
{
    bench_run(hang, (const char *[]){ "VRT_XPU_FAULTS=copy:1 hang", NULL }, 0, NULL);
}

/* Of three copies and three kernels each the second one is wrong by a bit. */
static void flip(void)
{
    struct bench bench;
    bench_init(&bench);
    float number = 1, got, *memory = bench_alloc(&bench, 0, 4096);
    for (int i = 0; i < 2; i++) {
        bench_copy(&bench, 0, memory, &number, 4);
        bench_copy(&bench, 0, &got, memory, 4);
        expect_true((got == number) == (i == 1));
    }
    ze_module_handle_t module = bench_module(&bench, 0);
    ze_kernel_handle_t kernel = bench_kernel(module, "add");
    ze_command_list_handle_t list = bench_immediate(&bench, 0);
    float *sums = memory + 512, three[3];
    const uint32_t n = 3;
    const ze_group_count_t groups = { 3, 1, 1 };
    expect_ok(zeKernelSetGroupSize(kernel, 1, 1, 1));
    bench_argument(kernel, 0, memory);
    bench_argument(kernel, 1, memory);
    bench_argument(kernel, 2, sums);
    bench_argument(kernel, 3, n);
    for (int i = 0; i < 3; i++) {
        expect_ok(zeCommandListAppendMemoryFill(list, memory, &number, 4, 4096, NULL, 0, NULL));
        expect_ok(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
        expect_ok(zeCommandListAppendMemoryCopy(list, three, sums, 12, NULL, 0, NULL));
        expect_true((three[0] == 2) == (i != 1));
        expect_near(three[1], 2, 0);
        expect_near(three[2], 2, 0);
    }
    expect_ok(zeCommandListDestroy(list));
    expect_ok(zeKernelDestroy(kernel));
    expect_ok(zeModuleDestroy(module));
    expect_ok(zeMemFree(bench.context, memory));
    bench_done(&bench);
}

static void test_flip(void)
{
    bench_run(flip, (const char *[]){ "VRT_XPU_FAULTS=copy:2 flip; run:2 flip", NULL }, 0, NULL);
}

/* How long card `i` takes for a copy of 2 MiB: the shortest of ten, as others use the CPU, too. */
static double copy_for_s(const struct bench *bench, int i)
{
    enum { BYTES = 2 << 20 };
    char *memory = bench_alloc(bench, i, 2 * BYTES);
    ze_command_list_handle_t list = bench_immediate(bench, i);
    int64_t shortest_ns = INT64_MAX;
    for (int k = 0; k < 10; k++) {
        const int64_t start_ns = vrt_clock_now_ns();
        expect_ok(zeCommandListAppendMemoryCopy(list, memory, memory + BYTES, BYTES, NULL, 0,
                                                NULL));
        const int64_t taken_ns = vrt_clock_now_ns() - start_ns;
        shortest_ns = VRT_MIN(shortest_ns, taken_ns);
    }
    expect_ok(zeCommandListDestroy(list));
    expect_ok(zeMemFree(bench->context, memory));
    return (double)shortest_ns / 1e9;
}

static void compare_speeds(void)
{
    struct bench bench;
    bench_init(&bench);
    double slow = copy_for_s(&bench, 1), fast = copy_for_s(&bench, 0);
    if (getenv("IS_DELAYED"))
        expect_true(slow >= 0.02);
    else if (!(slow > 4 * fast))
        test_fail("card 1 took %g s, card 0 %g s", slow, fast);
    bench_done(&bench);
}

static void test_slow(void)
{
    bench_run(compare_speeds, (const char *[]){ "VRT_XPU_DEVICES=2",
                                                "VRT_XPU_FAULTS=1 copy:1- slow=9", NULL }, 0, NULL);
    bench_run(compare_speeds, (const char *[]){ "VRT_XPU_DEVICES=2", "IS_DELAYED=1",
                                                "VRT_XPU_FAULTS=1 copy:1- delay=20ms", NULL },
              0, NULL);
}

static char control[] = "/tmp/test-xpu-driver.XXXXXX";

static void write_control(const char *rules)
{
    FILE *file = fopen(control, "w");
    expect_true(file && fputs(rules, file) >= 0 && fclose(file) == 0);
}

/* The process itself says when. */
static void steer(void)
{
    struct bench bench;
    bench_init(&bench);
    for (int i = 0; i < 10; i++)
        expect_ok(zeDeviceGetStatus(bench.devices[0]));
    write_control("0 call:2 lost");
    expect_ok(zeDeviceGetStatus(bench.devices[0]));
    expect_int(zeDeviceGetStatus(bench.devices[0]), ZE_RESULT_ERROR_DEVICE_LOST);
    expect_ok(zeDeviceGetStatus(bench.devices[1]));
    expect_int(zeDeviceGetStatus(bench.devices[0]), ZE_RESULT_ERROR_DEVICE_LOST);
    write_control("0 call:1 mend");
    expect_ok(zeDeviceGetStatus(bench.devices[0]));
    bench_done(&bench);
}

static void test_control(void)
{
    char setting[64];
    int fd = mkstemp(control);
    expect_true(fd >= 0);
    close(fd);
    snprintf(setting, sizeof(setting), "VRT_XPU_CONTROL=%s", control);
    bench_run(steer, (const char *[]){ "VRT_XPU_DEVICES=2", setting, NULL }, 0, NULL);
    unlink(control);
}

TEST_MAIN(
    { "grammar", test_grammar },
    { "refusals", test_refusals },
    { "loss", test_loss },
    { "hang", test_hang },
    { "flip", test_flip },
    { "slow", test_slow },
    { "control", test_control },
)
