/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Assertions for tests: always on, print both sides, end the test on failure.
 *
 *     TEST_MAIN(
 *         { "append", test_append },
 *         ...
 *     )
 *
 * is the program of these cases, TEST_MAIN_AFTER(fixture_init(), ...) one that calls that first.
 * None may leave a file or socket open, unless it sets test_has_driver. An argument runs only the
 * case of that name. test_skip("why") ends the whole program with 77, which meson counts as
 * skipped.
 */

#include <dirent.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct test_case {
    const char *name;
    void (*run)(void);
};

#define test_fail(...)                                          \
    do {                                                        \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);         \
        fprintf(stderr, __VA_ARGS__);                           \
        fputc('\n', stderr);                                    \
        exit(1);                                                \
    } while (0)

#define test_skip(why)                          \
    do {                                        \
        fprintf(stderr, "skipped: %s\n", why);  \
        exit(77);                               \
    } while (0)

#define expect_true(condition)                                  \
    do {                                                        \
        if (!(condition))                                       \
            test_fail("%s does not hold", #condition);          \
    } while (0)

#define expect_int(actual, wanted)                                                      \
    do {                                                                                \
        long long a_ = (long long)(actual), w_ = (long long)(wanted);                   \
        if (a_ != w_)                                                                   \
            test_fail("%s is %lld, not %s = %lld", #actual, a_, #wanted, w_);           \
    } while (0)

#define expect_str(actual, wanted)                                                      \
    do {                                                                                \
        const char *a_ = (actual), *w_ = (wanted);                                      \
        if (!a_ || !w_ || strcmp(a_, w_) != 0)                                          \
            test_fail("%s is \"%s\", not \"%s\"", #actual, a_ ? a_ : "(null)",          \
                      w_ ? w_ : "(null)");                                              \
    } while (0)

#define expect_contains(actual, part)                                                   \
    do {                                                                                \
        const char *a_ = (actual), *p_ = (part);                                        \
        if (!a_ || !strstr(a_, p_))                                                     \
            test_fail("%s is \"%s\", without \"%s\"", #actual, a_ ? a_ : "(null)", p_); \
    } while (0)

#define expect_near(actual, wanted, tolerance)                                          \
    do {                                                                                \
        double a_ = (actual), w_ = (wanted);                                            \
        if (!(fabs(a_ - w_) <= (tolerance)))                                            \
            test_fail("%s is %.9g, not %.9g within %g", #actual, a_, w_,                \
                      (double)(tolerance));                                             \
    } while (0)

static inline void test_sleep_ms(int ms)
{
    const struct timespec time = { ms / 1000, ms % 1000 * 1000000L };

    nanosleep(&time, NULL);
}

/* A driver of devices has files of its own, of which nothing is known. */
static bool test_has_driver;

/* How many files and sockets are open, where a system tells, but for vrt-media's program, which is
 * opened once. (libuv keeps a pipe.) */
static inline int test_open_fds(void)
{
    DIR *folder = opendir("/proc/self/fd");
    char is[256];
    int n = 0;

    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL; ) {
        const ssize_t length = readlinkat(dirfd(folder), entry->d_name, is, sizeof(is) - 1);
        is[length > 0 ? length : 0] = '\0';
        test_has_driver |= strstr(is, "/dev/nvidia") || strstr(is, "/dev/dri");
        n += length > 0 && strncmp(is, "pipe:", 5) != 0 && !strstr(is, "/vrt-media");
    }
    if (folder)
        closedir(folder);
    return n;
}

static inline int test_main(int argc, char **argv, const struct test_case *cases, size_t n_cases)
{
    size_t n_run = 0;

    for (size_t i = 0; i < n_cases; i++) {
        if (argc > 1 && strcmp(argv[1], cases[i].name) != 0)
            continue;
        fprintf(stderr, "%s\n", cases[i].name);
        const int n_fds = test_open_fds();
        cases[i].run();
        const int n_left = test_open_fds();
        if (!test_has_driver)
            expect_int(n_left, n_fds);
        n_run++;
    }
    if (!n_run)
        test_fail("no case is named %s", argc > 1 ? argv[1] : "at all");
    return 0;
}

#define TEST_MAIN_AFTER(begin, ...)                                                     \
    int main(int argc, char **argv)                                                     \
    {                                                                                   \
        static const struct test_case cases_[] = { __VA_ARGS__ };                       \
        begin;                                                                          \
        return test_main(argc, argv, cases_, sizeof(cases_) / sizeof(cases_[0]));       \
    }

#define TEST_MAIN(...) TEST_MAIN_AFTER((void)0, __VA_ARGS__)
