/* SPDX-License-Identifier: MIT */

#include "tests/conformance/devices.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/environment.h"
#include "tests/unit/test.h"

struct conf_thread {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;

    /* under lock */
    void (*job)(void *context);     /* NULL: there is none */
    void *context;
    bool is_over;
};

static void *work(void *arg)
{
    struct conf_thread *thread = arg;

    pthread_mutex_lock(&thread->lock);
    while (!thread->is_over) {
        if (thread->job)
            thread->job(thread->context);
        thread->job = NULL;
        pthread_cond_broadcast(&thread->changed);
        pthread_cond_wait(&thread->changed, &thread->lock);
    }
    pthread_mutex_unlock(&thread->lock);
    return NULL;
}

static struct conf_thread *thread_new(void)
{
    struct conf_thread *thread = calloc(1, sizeof(*thread));

    expect_true(thread != NULL);
    pthread_mutex_init(&thread->lock, NULL);
    pthread_cond_init(&thread->changed, NULL);
    expect_int(pthread_create(&thread->thread, NULL, work, thread), 0);
    return thread;
}

static void thread_free(struct conf_thread *thread)
{
    pthread_mutex_lock(&thread->lock);
    thread->is_over = true;
    pthread_cond_broadcast(&thread->changed);
    pthread_mutex_unlock(&thread->lock);
    pthread_join(thread->thread, NULL);
    pthread_cond_destroy(&thread->changed);
    pthread_mutex_destroy(&thread->lock);
    free(thread);
}

void conf_guise_do(struct conf_guise *guise, void (*job)(void *context), void *context)
{
    struct conf_thread *thread = guise->thread;

    pthread_mutex_lock(&thread->lock);
    thread->job = job;
    thread->context = context;
    pthread_cond_broadcast(&thread->changed);
    while (thread->job)
        pthread_cond_wait(&thread->changed, &thread->lock);
    pthread_mutex_unlock(&thread->lock);
}

struct opening {
    struct conf_guise *guise;
    const char *name;
};

static void open_device(void *context)
{
    const struct opening *opening = context;
    struct conf_guise *guise = opening->guise;
    const int r = vrt_device_open(guise->registry,
                                  vrt_registry_find(guise->registry, opening->name),
                                  &guise->device);

    if (r)
        test_fail("%s can't be opened: %s", opening->name, vrt_backend_strerror(r));
}

static void close_device(void *context)
{
    vrt_device_close(context);
}

/* Opens `name` of a registry made with `params`, if it is there. */
static void add(struct conf_devices *devices, const struct vrt_registry_params *params,
                const char *name, const char *suffix, int plain)
{
    struct conf_guise *guise = &devices->guises[devices->n];
    struct vrt_registry_params told = *params;
    struct vrt_error error = { 0 };

    expect_true(devices->n < CONF_MAX_GUISES);
    if (!told.values)
        told.values = test_backend_values();
    told.cache_dir = test_cache_dir();
    if (vrt_registry_new(&told, &guise->registry, &error))
        test_fail("%s", error.message);
    if (!vrt_registry_find(guise->registry, name)) {
        guise->registry = vrt_registry_free(guise->registry);
        return;
    }
    guise->thread = thread_new();
    conf_guise_do(guise, open_device, &(struct opening){ guise, name });
    guise->plain = plain < 0 ? devices->n : plain;
    snprintf(guise->label, sizeof(guise->label), "%s%s", name, suffix);
    devices->n++;
}

/* What else a device may be, its results the same. */
static void add_guises(struct conf_devices *devices, int plain)
{
    const char *name = vrt_device_info(devices->guises[plain].device)->name;

    add(devices, &(struct vrt_registry_params){ .fault = "" }, name, "/fault", plain);
    if (strcmp(vrt_device_info(devices->guises[plain].device)->kind, "cpu") != 0)
        return;
    for (int n = 1; n <= 3; n += 2) {
        char suffix[16];
        snprintf(suffix, sizeof(suffix), "/threads=%d", n);
        add(devices, &(struct vrt_registry_params){ .values = TEST_CPUS(1, n) }, name, suffix,
            plain);
    }
    add(devices, &(struct vrt_registry_params){ .values = TEST_CPUS(2, 1) }, "cpu:1", "/devices=2",
        plain);
}

void conf_devices_open(struct conf_devices *devices)
{
    const struct vrt_registry_params params = { 0 };
    VRT_CLEANUP(vrt_registry_freep) struct vrt_registry *registry = NULL;
    size_t n_infos;

    devices->n = 0;
    add(devices, &params, "ref:0", "", -1);
    expect_int(devices->n, 1);
    expect_int(vrt_registry_new(&params, &registry, NULL), 0);
    const struct vrt_device_info *const *infos = vrt_registry_devices(registry, &n_infos);
    for (size_t i = 0; i < n_infos; i++)
        if (strcmp(infos[i]->kind, "ref") != 0)
            add(devices, &params, infos[i]->name, "", -1);
    for (int i = 0, n = devices->n; i < n; i++)
        add_guises(devices, i);
}

void conf_devices_close(struct conf_devices *devices)
{
    for (int i = 0; i < devices->n; i++) {
        conf_guise_do(&devices->guises[i], close_device, devices->guises[i].device);
        thread_free(devices->guises[i].thread);
        vrt_registry_free(devices->guises[i].registry);
    }
}

bool conf_devices_select(struct conf_devices *devices, const char *filter, bool is_plain)
{
    const size_t n = strlen(filter);
    bool any = false;

    for (int i = 0; i < devices->n; i++) {
        struct conf_guise *guise = &devices->guises[i];
        const bool begins = strncmp(guise->label, filter, n) == 0;
        guise->selected = (n == 0 || (begins && strchr(":/", guise->label[n]) != NULL)) &&
                          (!is_plain || guise->plain == i);
        any |= guise->selected;
    }
    return any;
}

bool conf_devices_needed(const struct conf_devices *devices, int i)
{
    for (int k = 0; k < devices->n; k++)
        if (devices->guises[k].selected &&
            (k == i || (test_looks_at_results() && (i == 0 || devices->guises[k].plain == i))))
            return true;
    return false;
}
