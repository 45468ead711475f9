/* SPDX-License-Identifier: MIT */
/* Who touches memory that isn't theirs is stopped. */

#include "tests/simulators/xpu/tests/bench.h"

#include <signal.h>
#include <unistd.h>

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
    { "guards", test_guards },
)
