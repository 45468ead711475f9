/* SPDX-License-Identifier: MIT */

#include "bench.h"

#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void be_child(void (*run)(void), const char *const *settings, int standard_error)
{
    for (; settings && *settings; settings++) {
        if (putenv((char *)(uintptr_t)*settings) != 0)
            test_fail("no memory");
    }
    if (dup2(standard_error, STDERR_FILENO) < 0)
        test_fail("no standard error");
    close(standard_error);
    run();
    exit(0);
}

void bench_run(void (*run)(void), const char *const *settings, int status, const char *says)
{
    char said[16384];
    size_t n = 0;
    int ends[2], how;
    ssize_t got;

    expect_int(pipe(ends), 0);
    pid_t child = fork();
    expect_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        be_child(run, settings, ends[1]);
    }
    close(ends[1]);
    while (n < sizeof(said) - 1 && (got = read(ends[0], said + n, sizeof(said) - 1 - n)) > 0)
        n += (size_t)got;
    said[n] = '\0';
    close(ends[0]);
    expect_int(waitpid(child, &how, 0), child);
    if (!WIFEXITED(how) || WEXITSTATUS(how) != status)
        test_fail("ended as %#x, not with status %d, and said:\n%s", how, status, said);
    if (says)
        expect_contains(said, says);
    else
        expect_str(said, "");
}

unsigned bench_open(unsigned max, ze_driver_handle_t *ret_driver, ze_device_handle_t *ret_devices)
{
    uint32_t n = 1;
    expect_ok(zeInit(ZE_INIT_FLAG_GPU_ONLY));
    expect_ok(zeDriverGet(&n, ret_driver));
    expect_int(n, 1);
    n = max;
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
