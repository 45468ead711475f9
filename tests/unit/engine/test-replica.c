/* SPDX-License-Identifier: MIT */
/* workers/engine/replica: several devices, each on its thread, come by the same weights. */

#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "engine/replica.h"
#include "tests/unit/barrier.h"
#include "tests/unit/engine/far-device.h"
#include "tests/unit/environment.h"

#define MAX_DEVICES 4

enum { N_PARAMS = 9, N_NUMBERS = 1000, ID = 77 };

/* One device's thread: takes its seat, takes the weights, waits at the gate, lets go. */
struct taker {
    struct bench *bench;
    struct vrt_device *device;
    pthread_t thread;
    const atomic_bool *after;           /* it begins when this is true; NULL: at once */
    int delay_ms;
    atomic_bool is_over;
    int result;
    struct vrt_packed *packed;          /* shared with others; NULL: bytes of its own */
    bool is_right;                      /* these are those that were packed */
    int n_looks, max_looks;             /* of the watch; 0: as many as it likes */
};

struct bench {
    struct vrt_replica_store *store;
    struct vrt_registry *registry;
    float numbers[N_PARAMS][N_NUMBERS];
    struct vrt_param params[N_PARAMS];
    struct vrt_replica_want want;
    struct far_device fars[MAX_DEVICES];
    struct taker takers[MAX_DEVICES];
    int n;
    struct test_barrier gate;           /* all have taken, or failed; then: all may let go */
};

static void setup(struct bench *bench, const struct vrt_replica_store_params *params, int n)
{
    memset(bench, 0, sizeof(*bench));
    expect_int(vrt_replica_store_new(params, &bench->store), 0);
    for (int i = 0; i < N_PARAMS; i++) {
        for (int k = 0; k < N_NUMBERS; k++)
            bench->numbers[i][k] = (float)(i * N_NUMBERS + k) / 512;
        bench->params[i] = (struct vrt_param){
            .n_dims = 1, .dims = { N_NUMBERS }, .data = bench->numbers[i],
            .use = VRT_PARAM_TABLE,
        };
    }
    bench->want.weights = ID;
    bench->want.pack = (struct vrt_pack){ bench->params, N_PARAMS, VRT_DTYPE_F32 };
    bench->n = n;
    for (int i = 0; i < n; i++) {
        far_device_init(&bench->fars[i], i);
        bench->takers[i].bench = bench;
        bench->takers[i].device = far_device_wrap(&bench->fars[i]);
    }
    test_barrier_init(&bench->gate, (unsigned)n + 1);
}

/* The devices of a registry instead. */
static void setup_cpu(struct bench *bench, const char *fault, int n)
{
    struct vrt_error error = { 0 };
    const struct vrt_registry_params params = { .values = TEST_CPUS(n, 1), .fault = fault };
    char name[16];

    setup(bench, &(struct vrt_replica_store_params){ .chunk_bytes = 8000 }, n);
    if (vrt_registry_new(&params, &bench->registry, &error))
        test_fail("%s", error.message);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "cpu:%d", i);
        const struct vrt_device_info *info = vrt_registry_find(bench->registry, name);
        if (!info)
            test_skip("this build has no CPU device");
        bench->takers[i].device = vrt_device_close(bench->takers[i].device);
    }
}

static void teardown(struct bench *bench)
{
    expect_true(!vrt_replica_store_unref(bench->store));
    expect_true(!vrt_replica_store_unref(NULL) && !vrt_replica_seat_free(NULL));
    for (int i = 0; i < bench->n; i++)
        vrt_device_close(bench->takers[i].device);
    vrt_registry_free(bench->registry);
    test_barrier_done(&bench->gate);
    expect_int(atomic_load(&far_n_packed_alive), 0);
}

static bool look(void *ctx)
{
    struct taker *taker = ctx;

    return !taker->max_looks || ++taker->n_looks <= taker->max_looks;
}

static bool is_right(const struct bench *bench, const struct vrt_replica *replica)
{
    const unsigned char *data = far_replica_data(replica);

    for (int i = 0; i < N_PARAMS; i++)
        if (memcmp(data + (size_t)i * 4096, bench->numbers[i], sizeof(bench->numbers[i])) != 0)
            return false;
    return true;
}

static void wait_until(const atomic_bool *is_so)
{
    while (!atomic_load(is_so))
        test_sleep_ms(1);
}

static void *take(void *ctx)
{
    struct taker *taker = ctx;
    struct bench *bench = taker->bench;
    const bool is_cpu = !taker->device;
    struct vrt_replica_want want = bench->want;
    struct vrt_replica_hold *hold = NULL;
    struct vrt_replica_seat *seat;
    char name[16];

    want.watch = (struct vrt_replica_watch){ look, taker };
    if (is_cpu) {
        snprintf(name, sizeof(name), "cpu:%d", (int)(taker - bench->takers));
        expect_int(vrt_device_open(bench->registry, vrt_registry_find(bench->registry, name),
                                   &taker->device), 0);
    }
    expect_int(vrt_replica_seat_new(bench->store, taker->device, &seat), 0);
    test_barrier_wait(&bench->gate);
    if (taker->after)
        wait_until(taker->after);
    test_sleep_ms(taker->delay_ms);
    taker->result = vrt_replica_seat_take(seat, &want, &hold);
    if (!taker->result) {
        taker->packed = vrt_replica_packed(vrt_replica_hold_get(hold));
        taker->is_right = is_cpu || is_right(bench, vrt_replica_hold_get(hold));
    }
    atomic_store(&taker->is_over, true);
    test_barrier_wait(&bench->gate);
    test_barrier_wait(&bench->gate);
    vrt_replica_hold_free(hold);
    vrt_replica_seat_free(seat);
    expect_int(vrt_device_used_bytes(taker->device), 0);
    if (is_cpu)
        taker->device = vrt_device_close(taker->device);
    return NULL;
}

/* Starts all, waits until each has its weights or failed; end() lets them go. */
static void begin(struct bench *bench)
{
    for (int i = 0; i < bench->n; i++)
        expect_int(pthread_create(&bench->takers[i].thread, NULL, take, &bench->takers[i]), 0);
    test_barrier_wait(&bench->gate);
    test_barrier_wait(&bench->gate);
}

static void end(struct bench *bench)
{
    test_barrier_wait(&bench->gate);
    for (int i = 0; i < bench->n; i++)
        pthread_join(bench->takers[i].thread, NULL);
    teardown(bench);
}

static int n_entries(struct bench *bench, enum vrt_replica_state state)
{
    struct vrt_replica_entry *entries;
    size_t n;
    int found = 0;

    expect_int(vrt_replica_store_list(bench->store, &entries, &n), 0);
    for (size_t i = 0; i < n; i++) {
        expect_true(entries[i].weights == ID);
        expect_int(entries[i].dtype, VRT_DTYPE_F32);
        found += entries[i].state == state;
    }
    free(entries);
    return found;
}

/* How many times a param was packed, all devices together. */
static int n_packed(const struct bench *bench)
{
    int n = 0;

    for (int i = 0; i < bench->n; i++)
        n += atomic_load(&bench->fars[i].n_packed);
    return n;
}

static void expect_all_right(const struct bench *bench)
{
    for (int i = 0; i < bench->n; i++) {
        expect_int(bench->takers[i].result, 0);
        expect_true(bench->takers[i].is_right);
    }
}

/* CPU devices have one copy among them. */
static void test_shared(void)
{
    struct bench bench;

    setup_cpu(&bench, NULL, 3);
    begin(&bench);
    expect_all_right(&bench);
    expect_true(bench.takers[0].packed && bench.takers[1].packed == bench.takers[0].packed &&
                bench.takers[2].packed == bench.takers[0].packed);
    expect_int(n_entries(&bench, VRT_REPLICA_READY), 3);
    end(&bench);
}

/* The devices that a schedule hits fail as it says, cpu:1 always; the others go on. */
static void test_faults(void)
{
    static const struct {
        const char *fault;
        int result;
    } faults[] = {
        { "cpu:1 pack:1- nomem; cpu:1 replica:1 nomem", VRT_BACKEND_E_NOMEM },
        { "cpu:1 replica:1 fail", VRT_BACKEND_E_FAILED },
        { "cpu:1 copy:1 fail", VRT_BACKEND_E_FAILED },
        { "cpu:1 copy:1 lost revive=never", VRT_BACKEND_E_LOST }, { "cpu:1 copy:1 corrupt", 0 },
        { "cpu:1 copy:1- corrupt", VRT_BACKEND_E_FAILED },
        { "cpu:1 checksum:1 lost", VRT_BACKEND_E_LOST },
        { "cpu:1 checksum:1 fail", VRT_BACKEND_E_FAILED },
        { "cpu:1 copy:1 delay=30ms; cpu:0 copy:1 delay=20ms", 0 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(faults); i++) {
        struct bench bench;
        setup_cpu(&bench, faults[i].fault, 3);
        begin(&bench);
        expect_int(bench.takers[0].result, 0);
        expect_int(bench.takers[1].result, faults[i].result);
        expect_int(bench.takers[2].result, 0);
        expect_int(n_entries(&bench, VRT_REPLICA_READY), 2 + (faults[i].result == 0));
        end(&bench);
    }
}

/* Who comes late takes the bytes from a device, else from the host. */
static void test_late(void)
{
    static const struct {
        struct far_faults faults;
        int n_received, n_packed;
    } lates[] = {
        { { .fail_fill = 0 }, 1, N_PARAMS }, { { .no_receive = true }, 0, 2 * N_PARAMS },
        { { .fail_receive = true }, 0, 2 * N_PARAMS },
        { { .corrupt_receive = true }, 1, 2 * N_PARAMS },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(lates); i++) {
        struct bench bench;
        setup(&bench, &(struct vrt_replica_store_params){ .chunk_bytes = 4096 }, 2);
        bench.takers[1].after = &bench.takers[0].is_over;
        bench.fars[1].faults = lates[i].faults;
        begin(&bench);
        expect_all_right(&bench);
        expect_int(atomic_load(&bench.fars[1].n_received), lates[i].n_received);
        expect_int(n_packed(&bench), lates[i].n_packed);
        end(&bench);
    }
}

/* A device's own failures, with memory of its own. */
static void test_failures(void)
{
    static const struct {
        struct far_faults faults;
        int result;
    } failures[] = {
        { { .fail_fill = 2 }, VRT_BACKEND_E_FAILED },
        { { .fail_begin = true }, VRT_BACKEND_E_NOMEM }, { { .corrupt_fill = 1 }, 0 },
        { { .corrupt_fill = 9, .corrupt_fill_twice = 10 }, VRT_BACKEND_E_FAILED },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(failures); i++) {
        struct bench bench;
        setup(&bench, &(struct vrt_replica_store_params){ .chunk_bytes = 4096 }, 3);
        for (int k = 0; k < 3; k++)
            bench.fars[k].faults.no_receive = true;
        bench.fars[1].faults = failures[i].faults;
        bench.fars[1].faults.no_receive = true;
        /* First, so that it packs each chunk, and copies it, by itself. */
        bench.takers[0].after = bench.takers[2].after = &bench.takers[1].is_over;
        begin(&bench);
        expect_int(bench.takers[1].result, failures[i].result);
        expect_true(bench.takers[0].is_right && bench.takers[2].is_right);
        end(&bench);
    }
}

/* All that come at the same time are a group where it's worth its making; one that fails ends it,
 * and nobody else fails. Packed once, nothing stays on the host. */
static void test_groups(void)
{
    static const struct {
        const char *what;
        struct far_faults faults;
        int n_in_group;             /* of three; 0: it falls apart */
        int card;                   /* of the last device */
        bool is_root;               /* the first device has the fault, and comes first: rank 0 */
        bool is_small;              /* the weights are, for a group */
    } groups[] = {
        { "all is well", { .fail_fill = 0 }, 3, 2 },
        { "two on one card", { .fail_fill = 0 }, 2, 1 },
        { "one can't", { .no_group = true }, 2, 2 },
        { "fails to join", { .fail_join = true }, 0, 2 },
        { "never joins", { .never_joins = true }, 0, 2 },
        { "fails at the first chunk", { .fail_spread = 1 }, 0, 2 },
        { "fails at chunk 5", { .fail_spread = 5 }, 0, 2 },
        { "wrong bytes", { .corrupt_spread = 3 }, 3, 2 },
        { "the root fails", { .fail_fill = 3 }, 0, 2, true },
        { "a copy each", { .fail_fill = 0 }, 0, 2, .is_small = true },
    };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(groups); i++) {
        /* Only where one never comes the others' patience shall end. */
        const struct vrt_replica_store_params params = {
            .chunk_bytes = 4096, .group_min_bytes = !groups[i].is_small,
            .gather_ns = 60 * VRT_NS_PER_S,
            .patience_ns = groups[i].faults.never_joins ? 500 * VRT_NS_PER_MS : 0,
        };
        struct bench bench;
        const int64_t n_warned = vrt_log_count(VRT_LOG_WARNING);
        int n = 0, n_fills = 0;
        setup(&bench, &params, 3);
        bench.fars[groups[i].is_root ? 0 : 2].faults = groups[i].faults;
        bench.fars[2].info.card = groups[i].card;
        for (int k = 0; k < 3; k++) {
            bench.fars[k].faults.no_receive = true;
            bench.fars[k].faults.pack_ms = groups[i].is_root ? 10 : 3;
            bench.takers[k].delay_ms = groups[i].is_root && k > 0 ? 20 : 0;
        }
        begin(&bench);
        expect_all_right(&bench);
        for (int k = 0; k < 3; k++) {
            n += atomic_load(&bench.fars[k].n_spread) == N_PARAMS;
            n_fills += atomic_load(&bench.fars[k].n_fills);
            if (groups[i].is_small)
                expect_int(atomic_load(&bench.fars[k].n_spread), 0);
        }
        /* The host gives each chunk once, if nothing goes wrong and no card has two devices. */
        expect_true(i == 0 ? n_fills == N_PARAMS : n_fills > N_PARAMS);
        if (groups[i].n_in_group && n != groups[i].n_in_group)
            test_fail("%s: %d spread all, not %d", groups[i].what, n, groups[i].n_in_group);
        /* Whoever falls out of a group knows it, without a look at the bytes. */
        expect_int(vrt_log_count(VRT_LOG_WARNING) > n_warned, groups[i].faults.corrupt_spread > 0);
        expect_int(n_packed(&bench), N_PARAMS);
        expect_int(atomic_load(&far_n_packed_alive), 0);
        end(&bench);
    }
}

/* One hangs while it packs: the others wait a while, then begin anew. */
static void test_stuck(void)
{
    static const struct vrt_replica_store_params params = {
        .chunk_bytes = 4096, .patience_ns = 150 * VRT_NS_PER_MS,
    };
    atomic_bool hangs = true;
    struct bench bench;

    setup(&bench, &params, 3);
    bench.fars[0].faults.hang_pack = &hangs;
    bench.takers[1].after = bench.takers[2].after = &bench.fars[0].is_held;
    for (int i = 0; i < 3; i++)
        expect_int(pthread_create(&bench.takers[i].thread, NULL, take, &bench.takers[i]), 0);
    test_barrier_wait(&bench.gate);
    wait_until(&bench.takers[1].is_over);
    wait_until(&bench.takers[2].is_over);
    expect_true(!atomic_load(&bench.takers[0].is_over));
    expect_true(n_entries(&bench, VRT_REPLICA_PACKING) == 1);
    expect_true(n_entries(&bench, VRT_REPLICA_READY) == 2);
    atomic_store(&hangs, false);
    test_barrier_wait(&bench.gate);
    expect_all_right(&bench);
    end(&bench);
}

/* One hangs while bytes are copied to it: nobody waits for that, and it may be forgotten. */
static void test_forgotten(void)
{
    atomic_bool hangs = true;
    struct bench bench;

    setup(&bench, &(struct vrt_replica_store_params){ .chunk_bytes = 4096 }, 3);
    bench.fars[0].faults.hang_fill = &hangs;
    bench.fars[0].faults.no_receive = true;
    for (int i = 0; i < 3; i++)
        expect_int(pthread_create(&bench.takers[i].thread, NULL, take, &bench.takers[i]), 0);
    test_barrier_wait(&bench.gate);
    wait_until(&bench.takers[1].is_over);
    wait_until(&bench.takers[2].is_over);
    wait_until(&bench.fars[0].is_held);
    expect_int(n_entries(&bench, VRT_REPLICA_COPYING), 1);
    vrt_replica_store_forget(bench.store, &bench.fars[0].info);
    expect_int(n_entries(&bench, VRT_REPLICA_COPYING), 0);
    expect_int(n_entries(&bench, VRT_REPLICA_READY), 2);
    atomic_store(&hangs, false);
    test_barrier_wait(&bench.gate);
    expect_true(bench.takers[0].result == 0 || bench.takers[0].result == -ECANCELED);
    end(&bench);
}

static void test_cancelled(void)
{
    struct bench bench;

    setup(&bench, &(struct vrt_replica_store_params){ .chunk_bytes = 4096 }, 2);
    bench.takers[0].max_looks = 2;
    bench.takers[1].after = &bench.takers[0].is_over;
    begin(&bench);
    expect_int(bench.takers[0].result, -ECANCELED);
    expect_int(bench.takers[1].result, 0);
    expect_true(bench.takers[1].is_right);
    end(&bench);
}

/* A replica that another device copies from is not freed meanwhile. */
static void test_loan(void)
{
    struct bench bench;
    struct vrt_replica_seat *seat;
    struct vrt_replica_hold *hold;
    struct far_device lender;

    setup(&bench, &(struct vrt_replica_store_params){ .chunk_bytes = 4096 }, 1);
    far_device_init(&lender, 3);
    expect_int(vrt_replica_seat_new(bench.store, &lender.base, &seat), 0);
    expect_int(vrt_replica_seat_take(seat, &bench.want, &hold), 0);
    vrt_replica_hold_mark(hold, true);
    expect_int(n_entries(&bench, VRT_REPLICA_IN_USE), 1);
    vrt_replica_hold_mark(hold, false);
    expect_int(n_entries(&bench, VRT_REPLICA_IDLE), 1);
    bench.fars[0].faults.receive_ms = 100;
    expect_int(pthread_create(&bench.takers[0].thread, NULL, take, &bench.takers[0]), 0);
    test_barrier_wait(&bench.gate);
    wait_until(&bench.fars[0].is_held);
    expect_true(!vrt_replica_hold_free(hold));
    expect_int(atomic_load(&bench.fars[0].n_received), 1);
    test_barrier_wait(&bench.gate);
    expect_all_right(&bench);
    expect_int(n_packed(&bench), 0);
    vrt_replica_seat_free(seat);
    end(&bench);
}

static void *borrow(void *ctx)
{
    struct taker *taker = ctx;
    struct vrt_replica_seat *seat;
    struct vrt_replica_hold *hold;

    expect_int(vrt_replica_seat_new(taker->bench->store, taker->device, &seat), 0);
    expect_int(vrt_replica_seat_take(seat, &taker->bench->want, &hold), 0);
    vrt_replica_hold_free(hold);
    vrt_replica_seat_free(seat);
    return NULL;
}

/* Who lends goes, and who copied from it right after that: the weights with it. */
static void test_loan_of_the_last(void)
{
    struct bench bench;
    struct vrt_replica_seat *seat;
    struct vrt_replica_hold *hold;

    setup(&bench, &(struct vrt_replica_store_params){ .chunk_bytes = 4096 }, 2);
    bench.fars[0].faults.receive_ms = 1;
    for (int i = 0; i < 100; i++) {
        atomic_store(&bench.fars[0].is_held, false);
        expect_int(vrt_replica_seat_new(bench.store, bench.takers[1].device, &seat), 0);
        expect_int(vrt_replica_seat_take(seat, &bench.want, &hold), 0);
        expect_int(pthread_create(&bench.takers[0].thread, NULL, borrow, &bench.takers[0]), 0);
        wait_until(&bench.fars[0].is_held);
        vrt_replica_hold_free(hold);
        pthread_join(bench.takers[0].thread, NULL);
        vrt_replica_seat_free(seat);
    }
    expect_int(atomic_load(&bench.fars[0].n_received), 100);
    teardown(&bench);
}

/* No weights at all, and weights of the same number but another type. */
static void test_kinds(void)
{
    struct bench bench;
    struct vrt_replica_seat *seat;
    struct vrt_replica_hold *holds[2];
    struct vrt_replica_want want;
    struct far_device far;

    setup(&bench, &(struct vrt_replica_store_params){ .chunk_bytes = 0 }, 0);
    far_device_init(&far, 0);
    expect_int(vrt_replica_seat_new(bench.store, &far.base, &seat), 0);
    want = bench.want;
    want.pack.n_params = 0;
    expect_int(vrt_replica_seat_take(seat, &want, &holds[0]), 0);
    want = bench.want;
    want.pack.dtype = VRT_DTYPE_BF16;
    expect_int(vrt_replica_seat_take(seat, &want, &holds[1]), 0);
    expect_true(vrt_replica_hold_get(holds[0]) != vrt_replica_hold_get(holds[1]));
    vrt_replica_hold_free(holds[0]);
    vrt_replica_hold_free(holds[1]);
    want.pack.dtype = VRT_DTYPE_U16;
    expect_int(vrt_replica_seat_take(seat, &want, &holds[0]), -EINVAL);
    expect_true(!vrt_replica_seat_free(seat));
    test_barrier_wait(&bench.gate);
    teardown(&bench);
}

/* Takes and lets go of two networks' weights, over and over. */
static void *churn(void *ctx)
{
    struct taker *taker = ctx;
    struct bench *bench = taker->bench;
    struct vrt_replica_want want = bench->want;
    unsigned random = (unsigned)(taker - bench->takers) * 7919 + 1;
    struct vrt_replica_seat *seat;

    expect_int(vrt_replica_seat_new(bench->store, taker->device, &seat), 0);
    for (int i = 0; i < 60; i++) {
        struct vrt_replica_hold *hold;
        random = random * 1103515245 + 12345;
        want.weights = random >> 16 & 1;
        expect_int(vrt_replica_seat_take(seat, &want, &hold), 0);
        expect_true(is_right(bench, vrt_replica_hold_get(hold)));
        vrt_replica_hold_mark(hold, true);
        nanosleep(&(struct timespec){ 0, (random >> 18 & 3) * 100000 }, NULL);
        vrt_replica_hold_free(hold);
    }
    vrt_replica_seat_free(seat);
    return NULL;
}

static void test_churn(void)
{
    static const struct vrt_replica_store_params params = {
        .chunk_bytes = 4096, .group_min_bytes = 1, .gather_ns = VRT_NS_PER_MS,
    };
    struct bench bench;

    setup(&bench, &params, 4);
    bench.fars[3].faults.no_group = true;
    bench.fars[2].faults.no_receive = true;
    for (int i = 0; i < 4; i++)
        expect_int(pthread_create(&bench.takers[i].thread, NULL, churn, &bench.takers[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(bench.takers[i].thread, NULL);
    teardown(&bench);
}

TEST_MAIN(
    { "shared", test_shared },         { "faults", test_faults },
    { "late", test_late },             { "failures", test_failures }, { "groups", test_groups },
    { "stuck", test_stuck },           { "forgotten", test_forgotten },
    { "cancelled", test_cancelled },   { "loan", test_loan },
    { "kinds", test_kinds },           { "churn", test_churn },
    { "loan-of-the-last", test_loan_of_the_last },
)
