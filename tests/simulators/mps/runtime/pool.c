/* SPDX-License-Identifier: MIT */
/* Autorelease pools: a stack for each thread, of which a pool is what lies above a place. */

#include <pthread.h>
#include <stdlib.h>

#include "tests/simulators/mps/runtime/runtime.h"

struct pools {
    mtl_object *objects;                /* handles; NULL: where a pool begins */
    size_t n, n_room, n_pools;
};

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void end_thread(void *opaque)
{
    struct pools *pools = opaque;

    mtl_begin(NULL, "the end of a thread");
    if (pools->n_pools)
        mtl_die("%zu of its pools were never popped", pools->n_pools);
    free(pools->objects);
    free(pools);
}

static void make_key(void)
{
    pthread_key_create(&key, end_thread);
}

static struct pools *mine(void)
{
    pthread_once(&once, make_key);
    struct pools *pools = pthread_getspecific(key);
    if (!pools) {
        pools = mtl_allocate(sizeof(*pools));
        pthread_setspecific(key, pools);
    }
    return pools;
}

static void push(struct pools *pools, mtl_object handle)
{
    if (pools->n == pools->n_room) {
        pools->n_room = pools->n_room ? 2 * pools->n_room : 64;
        pools->objects = realloc(pools->objects, pools->n_room * sizeof(pools->objects[0]));
        if (!pools->objects)
            mtl_die("no memory");
    }
    pools->objects[pools->n++] = handle;
}

mtl_object mtl_autorelease(void *object)
{
    struct pools *pools = mine();

    if (!pools->n_pools)
        mtl_die("a %s is autoreleased on a thread without a pool",
                ((struct mtl_base *)object)->class->name);
    push(pools, mtl_handle(object));
    return mtl_handle(object);
}

MTL_EXPORT void *objc_autoreleasePoolPush(void)
{
    mtl_begin(NULL, __func__);
    mtl_start();
    struct pools *pools = mine();
    push(pools, NULL);
    pools->n_pools++;
    return (void *)pools->n;
}

MTL_EXPORT void objc_autoreleasePoolPop(void *pool)
{
    const size_t first = (size_t)pool;

    mtl_begin(NULL, __func__);
    mtl_start();
    struct pools *pools = mine();
    if (!first || first > pools->n || pools->objects[first - 1])
        mtl_die("it is no pool of this thread, or was popped before");
    while (pools->n >= first) {
        mtl_object handle = pools->objects[--pools->n];
        if (handle)
            mtl_release(mtl_find_any(handle));
        else
            pools->n_pools--;
    }
}

MTL_EXPORT void *_NSConcreteGlobalBlock[32];
