/* SPDX-License-Identifier: MIT */

/*
 * Plans of cuDNN's, kept from one run to the next, and shared by the cards of a machine
 *
 * To compile one takes half a second, for each shape of convolution, on each card, at each start of
 * the daemon. A plan can be had as text, in which the compiled program is; made of that, it is
 * there in a millisecond. An engine that can't be had so compiles nothing either.
 *
 * Cards of one model want the same shapes at the same time. So that one of them compiles, and the
 * others find what it kept, they take turns. A turn ends after a while, whoever has it: the thread
 * of a card that hangs never comes back from it.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/cuda/libraries/cudnn-impl.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"

#define VRT_LOG_TOPIC "cuda"

#define TURN_NS (10 * VRT_NS_PER_S)  /* a compiler takes seconds; then nobody waits on */

/* Who compiles: the process's, as the folder is. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    uint64_t number;                /* of the last turn */
    int64_t until_ns;               /* it ends then; 0: it has ended */
} turns = { .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER };

/* Return: the number of the caller's turn. */
static uint64_t begin_turn(void)
{
    pthread_mutex_lock(&turns.lock);
    while (vrt_clock_now_ns() < turns.until_ns) {
        const struct timespec until = {
            .tv_sec = turns.until_ns / VRT_NS_PER_S, .tv_nsec = turns.until_ns % VRT_NS_PER_S,
        };
        pthread_cond_clockwait(&turns.ended, &turns.lock, CLOCK_MONOTONIC, &until);
    }
    turns.until_ns = vrt_clock_now_ns() + TURN_NS;
    const uint64_t number = ++turns.number;
    pthread_mutex_unlock(&turns.lock);
    return number;
}

static void end_turn(uint64_t number)
{
    pthread_mutex_lock(&turns.lock);
    if (number == turns.number) {
        turns.until_ns = 0;
        pthread_cond_broadcast(&turns.ended);
    }
    pthread_mutex_unlock(&turns.lock);
}

/* All of what is convolved, as one line. */
static void print_conv(const struct vrt_cuda_conv *conv, char *text, size_t size)
{
    const int64_t *numbers = (const int64_t *)conv;
    size_t at = strlen(text);

    _Static_assert(sizeof(*conv) % sizeof(*numbers) == 0, "nothing but numbers, without gaps");
    for (size_t i = 0; i < sizeof(*conv) / sizeof(*numbers) && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%lld", i ? "," : "; convolution ",
                               (long long)numbers[i]);
}

/* What was asked for is part of it: the next vrtd may compute the same by other operations, or take
 * other engines. */
static void print_key(const struct vrt_cuda_conv_way *way, const char *made_for,
                      struct vrt_cache_key *ret_key)
{
    const struct vrt_cuda_conv *conv = &way->conv;
    struct vrt_cache_key key = { .name = "" };

    snprintf(key.name, sizeof(key.name), "conv%lldx%lld-%lld-%lld", (long long)conv->kernel,
             (long long)conv->kernel, (long long)conv->n_in, (long long)conv->n_out);
    snprintf(key.text, sizeof(key.text), "%s; asked for as %016llx", made_for,
             (unsigned long long)way->asked);
    print_conv(conv, key.text, sizeof(key.text));
    *ret_key = key;
}

/* Makes the plan of text that was kept: *ret_plan is NULL where there is none that can be used.
 * Return: 0; a status that says that there is no memory for it. */
static int load(const struct vrt_cudnn_interface *lib, struct vrt_cudnn_handle *handle,
                const struct vrt_cache *cache, const struct vrt_cache_key *key, void **ret_plan)
{
    struct vrt_cache_item item;
    void *plan = NULL;

    *ret_plan = NULL;
    if (vrt_cache_load(cache, key, &item))
        return 0;
    const struct vrt_cudnn_attribute attributes[] = {
        { VRT_CUDNN_PLAN_HANDLE, VRT_CUDNN_IS_HANDLE, 1, &handle },
        { VRT_CUDNN_PLAN_TEXT, VRT_CUDNN_IS_CHAR, (int64_t)item.size_bytes, item.data },
    };
    const int r = vrt_cudnn_make(lib, VRT_CUDNN_PLAN, attributes, VRT_ARRAY_SIZE(attributes),
                                 &plan);
    free(item.file);
    if (r == 0 && vrt_cudnn_plan_fits(lib, plan)) {
        *ret_plan = plan;
        return 0;
    }
    if (plan)
        lib->descriptor_destroy(plan);
    if (vrt_cudnn_is_full(r))
        return r;
    vrt_log_debug("the kept plan %s is refused: %s, ignoring", key->name, lib->error_string(r));
    vrt_cache_drop(cache, key);
    return 0;
}

/* Keeps a plan, where the library gives its text. */
static void store(const struct vrt_cudnn_interface *lib, struct vrt_cache *cache,
                  const struct vrt_cache_key *key, void *plan)
{
    int64_t n = 0, n_got = 0;

    if (lib->get(plan, VRT_CUDNN_PLAN_TEXT, VRT_CUDNN_IS_CHAR, 0, &n, NULL) || n <= 0 ||
        (uint64_t)n > VRT_CACHE_ITEM_BYTES)
        return;
    VRT_CLEANUP(vrt_freep) char *text = malloc((size_t)n);
    if (text && !lib->get(plan, VRT_CUDNN_PLAN_TEXT, VRT_CUDNN_IS_CHAR, n, &n_got, text) &&
        n_got > 0)
        vrt_cache_store(cache, key, text, (size_t)VRT_MIN(n, n_got));
}

static int build(const struct vrt_cudnn_interface *lib, struct vrt_cudnn_handle *handle,
                 const struct vrt_cache_key *key, struct vrt_cuda_conv_way *way)
{
    const int64_t began_ns = vrt_clock_now_ns();
    const int r = vrt_cudnn_build(lib, handle, way);

    if (r != 0)
        return r;
    if (way->plan)
        vrt_log_debug("cuDNN compiled %s in %lld ms", key->name,
                      (long long)((vrt_clock_now_ns() - began_ns) / VRT_NS_PER_MS));
    return 0;
}

static int load_or_build(const struct vrt_cudnn_interface *lib, struct vrt_cudnn_handle *handle,
                         struct vrt_cache *cache, const struct vrt_cache_key *key,
                         struct vrt_cuda_conv_way *way)
{
    int r = load(lib, handle, cache, key, &way->plan);

    if (r != 0 || way->plan)
        return r;
    r = build(lib, handle, key, way);
    if (r != 0)
        return r;
    if (way->plan)
        store(lib, cache, key, way->plan);
    return 0;
}

int vrt_cudnn_find_plan(const struct vrt_cudnn_interface *lib, struct vrt_cudnn_handle *handle,
                        struct vrt_cache *cache, const char *made_for,
                        struct vrt_cuda_conv_way *way)
{
    struct vrt_cache_key key;
    int r = vrt_cudnn_describe(lib, way);

    if (r != 0)
        return r;
    print_key(way, made_for, &key);
    if (!cache->folder[0])
        return build(lib, handle, &key, way);
    const uint64_t turn = begin_turn();
    r = load_or_build(lib, handle, cache, &key, way);
    end_turn(turn);
    return r;
}

void vrt_cudnn_forget_plan(const struct vrt_cache *cache, const char *made_for,
                           const struct vrt_cuda_conv_way *way)
{
    struct vrt_cache_key key;

    print_key(way, made_for, &key);
    vrt_cache_drop(cache, &key);
}
