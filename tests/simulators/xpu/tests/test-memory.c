/* SPDX-License-Identifier: MIT */
/* What memory can be had, and who may touch it. */

#include "tests/simulators/xpu/tests/bench.h"

#include <signal.h>
#include <unistd.h>

#include "base/macro.h"

static ze_result_t allocate(const struct bench *bench, size_t n_bytes, bool relaxed, void **ret)
{
    const ze_device_mem_alloc_desc_t desc = bench_device_memory(relaxed);

    return zeMemAllocDevice(bench->context, &desc, n_bytes, 64, bench->devices[0], ret);
}

static void fill_up(void)
{
    struct bench bench;
    void *memory[3];
    bench_init(&bench);
    expect_int(allocate(&bench, 5ull << 30, false, &memory[0]), ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
    expect_ok(allocate(&bench, 5ull << 30, true, &memory[0]));
    expect_int(allocate(&bench, 4ull << 30, true, &memory[1]),
               ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
    expect_ok(allocate(&bench, 3ull << 30, false, &memory[1]));
    expect_int(allocate(&bench, 1, false, &memory[2]), ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
    expect_ok(zeMemFree(bench.context, memory[1]));
    expect_ok(allocate(&bench, 1, false, &memory[2]));
    expect_ok(zeMemFree(bench.context, memory[0]));
    expect_ok(zeMemFree(bench.context, memory[2]));
    expect_int(allocate(&bench, 0, false, &memory[0]), ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
    bench_done(&bench);
}

static void test_limits(void)
{
    bench_run(fill_up, (const char *[]){ "VRT_XPU_MEMORY_MIB=8192", NULL }, 0, NULL);
}

/* From device to device: at once where they reach each other, else by the host. */
static void copy_over(void)
{
    struct bench bench;
    uint32_t numbers[64], got[64] = { 0 };
    bench_init(&bench);
    void *memory[2] = { bench_alloc(&bench, 0, 256), bench_alloc(&bench, 1, 256) };
    void *host = bench_alloc(&bench, -1, 256);
    ze_bool_t can;
    for (uint32_t i = 0; i < 64; i++)
        numbers[i] = 3 * i;
    bench_copy(&bench, 0, memory[0], numbers, 256);
    expect_ok(zeDeviceCanAccessPeer(bench.devices[1], bench.devices[0], &can));
    if (can) {
        bench_copy(&bench, 1, memory[1], memory[0], 256);
    } else {
        bench_copy(&bench, 0, host, memory[0], 256);
        bench_copy(&bench, 1, memory[1], host, 256);
    }
    bench_copy(&bench, 1, got, memory[1], 256);
    expect_true(memcmp(numbers, got, 256) == 0);
    for (int i = 0; i < 2; i++)
        expect_ok(zeMemFree(bench.context, memory[i]));
    expect_ok(zeMemFree(bench.context, host));
    bench_done(&bench);
}

/* What crosses from where to where is counted. */
static void test_peers(void)
{
    static const struct {
        const char *peer, *counted[3];
    } cases[] = {
        { "VRT_XPU_PEER=0", { "0 from_host_bytes 256", "1 from_host_bytes 256",
                              "1 from_card_bytes 0" } },
        { "VRT_XPU_PEER=1", { "0 from_host_bytes 256", "1 from_host_bytes 0",
                              "1 from_card_bytes 256" } },
    };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        char path[] = "/tmp/test-xpu-driver.XXXXXX", setting[64], text[4096];
        int fd = mkstemp(path);
        expect_true(fd >= 0);
        snprintf(setting, sizeof(setting), "VRT_XPU_REPORT=%s", path);
        bench_run(copy_over, (const char *[]){ "VRT_XPU_DEVICES=2", setting, cases[i].peer, NULL },
                  0, NULL);
        ssize_t n = read(fd, text, sizeof(text) - 1);
        expect_true(n > 0);
        text[n] = '\0';
        for (size_t k = 0; k < VRT_ARRAY_SIZE(cases[i].counted); k++)
            expect_contains(text, cases[i].counted[k]);
        expect_contains(text, "0 allocs 1\n");
        expect_contains(text, "all misuses 0\n");
        close(fd);
        unlink(path);
    }
}

static void end_well(int signal_number)
{
    (void)signal_number;
    _exit(42);
}

static void touch(void)
{
    struct bench bench;
    signal(SIGSEGV, end_well);
    bench_init(&bench);
    volatile char *memory = bench_alloc(&bench, 0, 100);
    memory[0] = 1;
}

/* A kernel that writes one float too many, at the end of a page. */
static void overrun(void)
{
    struct bench bench;
    signal(SIGSEGV, end_well);
    bench_init(&bench);
    float *memory = bench_alloc(&bench, 0, 8192);
    ze_module_handle_t module = bench_module(&bench, 0);
    ze_kernel_handle_t kernel = bench_kernel(module, "values");
    ze_command_list_handle_t list = bench_immediate(&bench, 0);
    const float number = 1, v[4] = { 0 };
    const uint16_t n = 8192 / 4 + 1;
    const ze_group_count_t groups = { n, 1, 1 };
    expect_ok(zeKernelSetGroupSize(kernel, 1, 1, 1));
    bench_argument(kernel, 0, memory);
    bench_argument(kernel, 1, number);
    bench_argument(kernel, 2, v);
    bench_argument(kernel, 3, n);
    expect_ok(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
}

static void test_guards(void)
{
    bench_run(touch, NULL, 42, NULL);
    bench_run(overrun, NULL, 42, NULL);
}

TEST_MAIN(
    { "limits", test_limits },
    { "peers", test_peers },
    { "guards", test_guards },
)
