/* SPDX-License-Identifier: MIT */
/* workers/backend/cuda/nccl.c: three simulated cards come by the same weights. */

#include "tests/unit/test.h"

#include <dlfcn.h>
#include <pthread.h>

#include "backend/kind.h"
#include "base/clock.h"
#include "base/macro.h"
#include "engine/replica.h"
#include "tests/simulators/cuda/libraries/fake-nccl/fake-nccl.h"

enum { N_CARDS = 3, N_PARAMS = 12, N_OUT = 40, N_IN = 37 };

struct card {
    struct bench *bench;
    const struct vrt_device_info *info;
    pthread_t thread;
    int result;
};

struct bench {
    struct vrt_registry *registry;
    struct vrt_replica_store *store;
    float numbers[N_PARAMS][N_OUT * N_IN];
    struct vrt_param params[N_PARAMS];
    struct vrt_replica_want want;
    struct card cards[N_CARDS];
    pthread_barrier_t gate;
};

/* NULL: there is none. */
static struct vrt_fake_nccl *find_fake(void)
{
    void *library = dlopen("libnccl-sim.so.2", RTLD_NOW | RTLD_LOCAL);

    return library ? dlsym(library, "vrt_fake_nccl") : NULL;
}

static void *take(void *ctx)
{
    struct card *card = ctx;
    struct bench *bench = card->bench;
    struct vrt_replica_seat *seat;
    struct vrt_replica_hold *hold = NULL;
    struct vrt_device *device;

    expect_int(vrt_device_open(bench->registry, card->info, &device), 0);
    expect_int(vrt_replica_seat_new(bench->store, device, &seat), 0);
    pthread_barrier_wait(&bench->gate);
    card->result = vrt_replica_seat_take(seat, &bench->want, &hold);
    pthread_barrier_wait(&bench->gate);
    vrt_replica_hold_free(hold);
    vrt_replica_seat_free(seat);
    vrt_device_close(device);
    return NULL;
}

/* Every card gets the weights, and says so by their checksum, or the call would have failed. */
static void spread(const char *what, int64_t patience_ns)
{
    const struct vrt_replica_store_params params = {
        .chunk_bytes = 4096, .group_min_bytes = 1, .gather_ns = 10 * VRT_NS_PER_S,
        .patience_ns = patience_ns,
    };
    struct vrt_error error = { 0 };
    struct bench bench = { .registry = NULL };
    char name[16];

    expect_int(vrt_replica_store_new(&params, &bench.store), 0);
    if (vrt_registry_new(&(struct vrt_registry_params){ .leave_out = 1u << VRT_DEVICE_REFERENCE },
                         &bench.registry, &error))
        test_fail("%s", error.message);
    for (int i = 0; i < N_PARAMS; i++) {
        for (int k = 0; k < N_OUT * N_IN; k++)
            bench.numbers[i][k] = (float)(i * 7919 + k) / 1024;
        bench.params[i] = (struct vrt_param){
            .n_dims = 2, .dims = { N_OUT, N_IN }, .data = bench.numbers[i],
            .use = VRT_PARAM_WEIGHT,
        };
    }
    bench.want.pack = (struct vrt_pack){ bench.params, N_PARAMS, VRT_DTYPE_F32 };
    pthread_barrier_init(&bench.gate, NULL, N_CARDS);
    for (int i = 0; i < N_CARDS; i++) {
        snprintf(name, sizeof(name), "cuda:%d", i);
        bench.cards[i] = (struct card){
            .bench = &bench, .info = vrt_registry_find(bench.registry, name),
        };
        if (!bench.cards[i].info)
            test_fail("there is no %s", name);
        expect_int(pthread_create(&bench.cards[i].thread, NULL, take, &bench.cards[i]), 0);
    }
    for (int i = 0; i < N_CARDS; i++) {
        pthread_join(bench.cards[i].thread, NULL);
        if (bench.cards[i].result)
            test_fail("%s: %s: %s", what, bench.cards[i].info->name,
                      vrt_backend_strerror(bench.cards[i].result));
    }
    pthread_barrier_destroy(&bench.gate);
    vrt_replica_store_unref(bench.store);
    vrt_registry_free(bench.registry);
}

static void test_groups(void)
{
    static const struct {
        const char *what;
        struct vrt_fake_nccl faults;
        int n_broadcasts;           /* -1: fewer than all */
    } groups[] = {
        { "all is well", { .fail_init = 0 }, N_PARAMS * N_CARDS },
        { "a rank can't be made", { .fail_init = 1 }, 0 },
        { "a rank never comes", { .silent_rank = 2 }, 0 },
        { "a rank fails at the first chunk", { .fail_rank = 2, .fail_chunk = 1 }, -1 },
        { "a rank fails at chunk 5", { .fail_rank = 1, .fail_chunk = 5 }, -1 },
        { "wrong bytes on a rank", { .wrong_rank = 2 }, N_PARAMS * N_CARDS },
        { "all is well again", { .fail_init = 0 }, N_PARAMS * N_CARDS },
    };
    struct vrt_fake_nccl *fake = find_fake();

    if (!fake)
        test_fail("the library in NCCL's place was not found");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(groups); i++) {
        fake->fail_init = groups[i].faults.fail_init;
        fake->fail_rank = groups[i].faults.fail_rank;
        fake->fail_chunk = groups[i].faults.fail_chunk;
        fake->wrong_rank = groups[i].faults.wrong_rank;
        fake->silent_rank = groups[i].faults.silent_rank;
        atomic_store(&fake->n_broadcasts, 0);
        spread(groups[i].what, groups[i].faults.silent_rank ? VRT_NS_PER_S : 0);
        const int n = atomic_load(&fake->n_broadcasts);
        if (groups[i].n_broadcasts >= 0 ? n != groups[i].n_broadcasts
                                        : n >= N_PARAMS * N_CARDS)
            test_fail("%s: %d broadcasts, not %d", groups[i].what, n, groups[i].n_broadcasts);
        expect_int(atomic_load(&fake->n_communicators), 0);
    }
}

static void test_absent(void)
{
    expect_true(!find_fake());
    spread("there is no NCCL", 0);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        { "groups", test_groups }, { "absent", test_absent },
    };

    if (argc != 2)
        test_fail("usage: test-nccl groups|absent");
    return test_main(argc, argv, cases, VRT_ARRAY_SIZE(cases));
}
