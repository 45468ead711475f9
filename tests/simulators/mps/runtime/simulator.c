/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/runtime/simulator.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "tests/simulators/common/cache.h"
#include "tests/simulators/mps/runtime/faults.h"
#include "tests/simulators/mps/runtime/object.h"
#include "tests/simulators/mps/runtime/settings.h"

#define EXIT_LEAKS 70
#define PATIENCE_NS ((int64_t)VRT_NS_PER_S)

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_once_t once;
    bool is_forked;
    unsigned n_works;
} simulator = { .lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT };

static _Thread_local struct {
    const char *class_name, *selector;
} now;

static void note_fork(void)
{
    simulator.is_forked = true;
}

static void start(void)
{
    pthread_condattr_t by_monotonic;

    pthread_condattr_init(&by_monotonic);
    pthread_condattr_setclock(&by_monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&simulator.changed, &by_monotonic);
    pthread_condattr_destroy(&by_monotonic);
    pthread_atfork(NULL, NULL, note_fork);
    mtl_settings_read();
    mtl_faults_read();
    if (sim_cache_open("VRT_MPS_CACHE", "vrt-mps-sim") != 0)
        mtl_die("no folder for what is compiled: %s", strerror(errno));
}

/* What runs yet may be about to release the last of what is reported; what hangs isn't. */
static void await_works(void)
{
    const int64_t deadline_ns = vrt_clock_now_ns() + PATIENCE_NS;

    mtl_lock();
    while (simulator.n_works && mtl_wait(deadline_ns))
        ;
    mtl_unlock();
}

/* The end of the process, after all that the program does at its end. */
__attribute__((destructor)) static void unload(void)
{
    if (simulator.is_forked)
        return;
    sim_cache_close();
    if (!mtl_settings()->has_report)
        return;
    await_works();
    if (mtl_objects_report())
        _Exit(EXIT_LEAKS);
}

void mtl_start(void)
{
    pthread_once(&simulator.once, start);
    if (simulator.is_forked)
        mtl_die("used after fork()");
}

void mtl_lock(void)
{
    pthread_mutex_lock(&simulator.lock);
}

void mtl_unlock(void)
{
    pthread_mutex_unlock(&simulator.lock);
}

bool mtl_wait(int64_t deadline_ns)
{
    if (deadline_ns == INT64_MAX) {
        pthread_cond_wait(&simulator.changed, &simulator.lock);
        return true;
    }
    const struct timespec until = {
        .tv_sec = deadline_ns / VRT_NS_PER_S,
        .tv_nsec = deadline_ns % VRT_NS_PER_S,
    };
    return pthread_cond_timedwait(&simulator.changed, &simulator.lock, &until) != ETIMEDOUT;
}

void mtl_wait_for(pthread_cond_t *bell)
{
    pthread_cond_wait(bell, &simulator.lock);
}

void mtl_changed(void)
{
    pthread_cond_broadcast(&simulator.changed);
}

void mtl_work_begin(void)
{
    simulator.n_works++;
}

void mtl_work_end(void)
{
    mtl_lock();
    simulator.n_works--;
    mtl_changed();
    mtl_unlock();
}

void mtl_begin(const char *class_name, const char *selector)
{
    now.class_name = class_name;
    now.selector = selector;
}

void mtl_die(const char *format, ...)
{
    char text[512], call[160] = "";
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (now.class_name)
        snprintf(call, sizeof(call), "-[%s %s]: ", now.class_name, now.selector);
    else if (now.selector)
        snprintf(call, sizeof(call), "%s(): ", now.selector);
    fprintf(stderr, "vrt-mps-sim: %s%s\n", call, text);
    abort();
}

void *mtl_allocate(size_t n_bytes)
{
    void *data = calloc(1, n_bytes ? n_bytes : 1);

    if (!data)
        mtl_die("no memory");
    return data;
}

char *mtl_copy(const char *text)
{
    const size_t n = strlen(text) + 1;

    return memcpy(mtl_allocate(n), text, n);
}
