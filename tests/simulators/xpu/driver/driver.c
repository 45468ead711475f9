/* SPDX-License-Identifier: MIT */

/* The lock, and what is said of misuse. */

#include "tests/simulators/xpu/driver/driver.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/simulators/common/cache.h"
#include "tests/simulators/xpu/devices/device.h"
#include "tests/simulators/xpu/memory/memory.h"
#include "tests/simulators/xpu/driver/object.h"
#include "tests/simulators/xpu/queue/queue.h"
#include "tests/simulators/xpu/driver/report.h"
#include "tests/simulators/xpu/driver/settings.h"

#define EXIT_MISUSE 70
#define FUNCTION_PREFIX 4               /* of "drv_" */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned n_misuses;
    bool hung;                          /* something did, when the process came to its end */
} driver = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local const char *function_now;

/* The beginning of the end: threads that still run are none that a leak checker likes to see. */
static void end(void)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter("drv_the end of the process");
    driver.hung = drv_devices_hang();
    drv_queues_end();
}

/* Before any call: a condition that goes by the monotonic clock has no static initialiser. */
__attribute__((constructor)) static void load(void)
{
    pthread_condattr_t by_monotonic;
    pthread_condattr_init(&by_monotonic);
    pthread_condattr_setclock(&by_monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&driver.changed, &by_monotonic);
    pthread_condattr_destroy(&by_monotonic);
    atexit(end);
}

/* The end of the process, after all that the program does at its end. */
__attribute__((destructor)) static void unload(void)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter("drv_the end of the process");
    /* What a device that hangs has can't be freed. */
    if (!driver.hung) {
        drv_memory_report_leaks();
        drv_object_report_leaks();
    }
    drv_report_write(driver.n_misuses);
    sim_cache_close();
    if (driver.n_misuses && drv_settings()->is_strict)
        _exit(EXIT_MISUSE);
}

struct drv_call drv_enter(const char *function)
{
    struct drv_call call = { .outer = function_now };
    function_now = function + FUNCTION_PREFIX;
    pthread_mutex_lock(&driver.lock);
    return call;
}

void drv_leave(const struct drv_call *call)
{
    pthread_mutex_unlock(&driver.lock);
    function_now = call->outer;
}

void drv_unlock(void)
{
    pthread_mutex_unlock(&driver.lock);
}

void drv_relock(void)
{
    pthread_mutex_lock(&driver.lock);
}

bool drv_wait(int64_t deadline_ns)
{
    if (deadline_ns == INT64_MAX) {
        pthread_cond_wait(&driver.changed, &driver.lock);
        return true;
    }
    struct timespec until = {
        .tv_sec = deadline_ns / VRT_NS_PER_S,
        .tv_nsec = deadline_ns % VRT_NS_PER_S,
    };
    return pthread_cond_timedwait(&driver.changed, &driver.lock, &until) != ETIMEDOUT;
}

void drv_wait_for(pthread_cond_t *bell)
{
    pthread_cond_wait(bell, &driver.lock);
}

void drv_sleep(int64_t ns)
{
    const int64_t until_ns = vrt_clock_now_ns() + ns;
    while (vrt_clock_now_ns() < until_ns)
        drv_wait(until_ns);
}

int64_t drv_deadline(uint64_t timeout_ns)
{
    int64_t now_ns = vrt_clock_now_ns();
    return timeout_ns >= (uint64_t)(INT64_MAX - now_ns) ? INT64_MAX : now_ns + (int64_t)timeout_ns;
}

void drv_changed(void)
{
    pthread_cond_broadcast(&driver.changed);
}

ze_result_t drv_misuse(ze_result_t result, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "vrt-xpu-driver: misuse: %s: %s\n", function_now ? function_now : "?", text);
    driver.n_misuses++;
    return result;
}

uint32_t drv_list_count(uint32_t *count, uint32_t have, const void *array)
{
    if (!array || !*count) {
        *count = have;
        return 0;
    }
    /* It is allowed, and yet: there are drivers that believe it. */
    if (*count > have)
        drv_misuse(ZE_RESULT_SUCCESS, "%u of %u were asked for", *count, have);
    *count = VRT_MIN(*count, have);
    return *count;
}
