/* SPDX-License-Identifier: MIT */

#include "tests/simulators/common/child.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/test.h"

static _Noreturn void be_child(void (*run)(void), const char *const *settings, int standard_error)
{
    const struct rlimit no_core = { 0, 0 };

    setrlimit(RLIMIT_CORE, &no_core);
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

void bench_run(void (*run)(void), const char *const *settings, int end, const char *says)
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
    if ((WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how)) != end)
        test_fail("ended as %#x, not with %d, and said:\n%s", how, end, said);
    if (says)
        expect_contains(said, says);
    else
        expect_str(said, "");
}
