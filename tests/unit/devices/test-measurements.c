/* SPDX-License-Identifier: MIT */

/* What was measured of networks and devices is known again at the next start. */

#include <math.h>

#include "daemon/devices/pool-job.h"
#include "tests/unit/model/builtin-network.h"
#include "tests/unit/store/store-fixture.h"
#include "tests/unit/test.h"
#include "workers/device/speed.h"

#define CHECKSUM UINT64_C(0xfedcba9876543210)
/* A tile of 64 for frames of 640 x 4096. */
#define FIGURE ((double)(UINT64_C(639) << 39 | UINT64_C(4095) << 25 | 64 << 10))

#define REFERENCE "vrtd " VRT_VERSION "; ref; 1 threads"

static void on_stopped(void *ctx)
{
    *(bool *)ctx = true;
}

/* A pool with a store; *ret_d is the reference device. */
static struct vrt_pool *pool_open(struct bench *bench, size_t *ret_d)
{
    struct vrt_device_snapshot device;
    struct vrt_error error = { 0 };
    struct vrt_pool *pool;

    bench_open(bench);
    if (vrt_pool_new(&(struct vrt_pool_params){ .loop = &bench->loop, .store = bench->store },
                     &pool, &error))
        test_fail("%s", error.message);
    for (*ret_d = 0; ; (*ret_d)++) {
        expect_true(*ret_d < vrt_pool_n_devices(pool));
        vrt_pool_device(pool, *ret_d, &device);
        if (strcmp(device.info->class_id, "ref") == 0)
            return pool;
    }
}

static void pool_close(struct bench *bench, struct vrt_pool *pool)
{
    bool stopped = false;

    vrt_pool_stop(pool, on_stopped, &stopped);
    while (!stopped)
        uv_run(&bench->loop, UV_RUN_ONCE);
    vrt_pool_free(pool);
    bench_close(bench);
}

/* How many writes the store has done, after those that wait. */
static uint64_t n_writes(struct bench *bench)
{
    struct vrt_store_counts counts;

    vrt_store_remove_job(bench->store, 1, bench_done(bench));
    bench_wait(bench);
    vrt_store_counts(bench->store, &counts);
    return counts.n_writes;
}

static const double *fidelity(const struct vrt_pool *pool, uint64_t checksum, size_t d)
{
    return vrt_measurements_fidelity(vrt_pool_measurements(pool), checksum, d);
}

static const double *speed(const struct vrt_pool *pool, uint64_t checksum, size_t d)
{
    return vrt_measurements_speed(vrt_pool_measurements(pool), checksum, d);
}

static double speedup(const struct vrt_pool *pool, size_t d)
{
    return vrt_measurements_f32_speedup(vrt_pool_measurements(pool), CHECKSUM, d);
}

/* A probe came back that found the fidelity as it is in `probe`, and this speed. */
static void note(const struct vrt_pool *pool, size_t d, struct vrt_probe probe,
                 enum vrt_dtype dtype, double flops_per_s)
{
    probe.dtype = dtype;
    probe.flops_per_s[dtype] = flops_per_s;
    vrt_measurements_note_probe(vrt_pool_measurements(pool), CHECKSUM, d, &probe);
}

static void test_kept(void)
{
    struct vrt_probe probe = { .f32_speedup = NAN };
    struct bench bench;
    struct vrt_pool *pool;
    size_t d;

    for (int i = 0; i < VRT_DTYPE_COUNT; i++)
        probe.fidelity_db[i] = NAN;
    probe.fidelity_db[VRT_DTYPE_BF16] = 61.5;
    probe.fidelity_db[VRT_DTYPE_F32] = INFINITY;
    bench_init(&bench);
    pool = pool_open(&bench, &d);
    expect_true(isnan(fidelity(pool, CHECKSUM, d)[VRT_DTYPE_BF16]));
    note(pool, d, probe, VRT_DTYPE_F32, 1e9);
    expect_int(n_writes(&bench), 4);
    /* Nothing new. */
    note(pool, d, probe, VRT_DTYPE_F32, 5e9);
    note(pool, d, probe, VRT_DTYPE_F16, NAN);
    expect_int(n_writes(&bench), 5);
    /* Which of two types is faster is found out once. */
    expect_true(isnan(speedup(pool, d)));
    probe.f32_speedup = 1.25;
    note(pool, d, probe, VRT_DTYPE_F16, NAN);
    probe.f32_speedup = 0.75;
    note(pool, d, probe, VRT_DTYPE_F16, NAN);
    expect_near(speedup(pool, d), 1.25, 0);
    expect_int(n_writes(&bench), 7);
    pool_close(&bench, pool);

    pool = pool_open(&bench, &d);
    expect_near(speedup(pool, d), 1.25, 0);
    expect_near(fidelity(pool, CHECKSUM, d)[VRT_DTYPE_BF16], 61.5, 0);
    expect_true(isinf(fidelity(pool, CHECKSUM, d)[VRT_DTYPE_F32]));
    expect_true(isnan(fidelity(pool, CHECKSUM, d)[VRT_DTYPE_F16]));
    expect_near(speed(pool, CHECKSUM, d)[VRT_DTYPE_F32], 1e9, 0);
    expect_true(isnan(speed(pool, CHECKSUM, d)[VRT_DTYPE_F16]));
    expect_true(isnan(speed(pool, CHECKSUM + 1, d)[VRT_DTYPE_F32]));
    note(pool, d, probe, VRT_DTYPE_F16, NAN);
    expect_int(n_writes(&bench), 1);
    pool_close(&bench, pool);
    bench_remove(&bench);
}

/* The tile that a user's jobs on frames of this width have; 0: none was kept. */
static int tile_for(const struct vrt_pool *pool, size_t d, uid_t uid, int width)
{
    struct vrt_measured_cut cut;

    return vrt_measurements_cut(vrt_pool_measurements(pool), CHECKSUM, d, uid, width, 4096, &cut) ?
           cut.tile : 0;
}

/* Figures of other devices, of other versions, and such that make no sense. */
static void test_strange(void)
{
    static const struct vrt_store_measure strange[] = {
        { "fedcba9876543210", "vrtd 0.0.1; ref; 1 threads", "flops_per_s.f32", 1 },
        { "fedcba9876543210", "", "flops_per_s.f32", 2 },
        { "fedcba987654321x", REFERENCE, "flops_per_s.f32", 3 },
        { "fedcba9876543210", REFERENCE, "flops_per_s.f99", 4 },
        { "fedcba9876543210", REFERENCE, "flops_per_s", 5 },
        { "fedcba9876543210", REFERENCE, "flops_per_s.f16", -6 },
        { "fedcba9876543210", REFERENCE, "flops_per_s.bf16", INFINITY },
        { "fedcba9876543210", REFERENCE, "", 7 },
        { "fedcba9876543210", REFERENCE, "f32_speedup", -1 },
        { "fedcba9876543210", REFERENCE, "cut_of_1000.16.0", FIGURE },
        { "fedcba9876543210", REFERENCE, "cut_of_1000.-1.0", FIGURE },
        { "fedcba9876543210", REFERENCE, "cut_of_1000.0.-1", FIGURE },
        { "fedcba9876543210", REFERENCE, "cut_of_1000.1.10000", FIGURE },
        { "fedcba9876543210", REFERENCE, "cut_of_1000", FIGURE },
        { "fedcba9876543210", REFERENCE, "cut_of_1000.2.0", -1 },
        { "fedcba9876543210", REFERENCE, "cut_of_1000.4.0", FIGURE + (UINT64_C(1) << 53) },
    };
    static const struct vrt_store_measure good[] = {
        { "fedcba9876543210", REFERENCE, "flops_per_s.f32", 8 },
        { "fedcba9876543210", REFERENCE, "cut_of_1000.15", FIGURE },
    };
    struct bench bench;
    struct vrt_pool *pool;
    size_t d;

    bench_init(&bench);
    for (int round = 0; round < 2; round++) {
        bench_open(&bench);
        for (size_t i = 0; i < VRT_ARRAY_SIZE(strange); i++)
            vrt_store_put_measure(bench.store, &strange[i]);
        for (int i = 0; round == 1 && i < 2; i++)
            vrt_store_put_measure(bench.store, &good[i]);
        bench_close(&bench);
        pool = pool_open(&bench, &d);
        for (int i = 0; i < VRT_DTYPE_COUNT; i++)
            if (round == 1 && i == VRT_DTYPE_F32)
                expect_near(speed(pool, CHECKSUM, d)[i], 8, 0);
            else
                expect_true(isnan(speed(pool, CHECKSUM, d)[i]));
        expect_int(tile_for(pool, d, 1000, 640), round == 1 ? 64 : 0);
        pool_close(&bench, pool);
    }
    bench_remove(&bench);
}

/* Networks are forgotten in the order in which they came. */
static void test_many(void)
{
    struct vrt_probe probe = { .f32_speedup = 2 };
    struct bench bench;
    size_t d;

    bench_init(&bench);
    struct vrt_pool *pool = pool_open(&bench, &d);
    struct vrt_measurements *measurements = vrt_pool_measurements(pool);
    for (uint64_t i = 1; i <= 65; i++)
        vrt_measurements_note_probe(measurements, i, d, &probe);
    for (uint64_t i = 65; i >= 1; i--)
        expect_int(isnan(vrt_measurements_f32_speedup(measurements, i, d)), i == 1);
    pool_close(&bench, pool);
    bench_remove(&bench);
}

/* Shards that take as long as others did are no news; the store hears of a tenth more or less. */
static void test_speed(void)
{
    static const struct {
        double ms;
        uint64_t n_writes;
    } shards[] = { { 100, 2 }, { 100, 3 }, { 101, 4 }, { 10, 6 }, { 1000, 8 } };
    VRT_CLEANUP(vrt_network_unrefp) struct vrt_network *network = builtin_network();
    struct vrt_worker_run *run;
    struct vrt_job_spec *spec;
    struct bench bench;
    struct vrt_pool *pool;
    double last;
    size_t d;

    expect_int(vrt_speed_spec_new(network, 64, 64, &spec), 0);
    run = vrt_worker_run_new(spec, VRT_DTYPE_F32, 0);
    expect_true(run);
    expect_int(vrt_speed_shard_init(spec, 2, &run->frames), 0);
    run->tile_flops = 1000000;
    run->base.task.outcome = VRT_TASK_DONE;

    bench_init(&bench);
    pool = pool_open(&bench, &d);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(shards); i++) {
        run->times.compute_ns = (int64_t)(shards[i].ms * 1e6);
        vrt_measurements_note_run(vrt_pool_measurements(pool), d, run);
        expect_int(n_writes(&bench), shards[i].n_writes);
    }
    last = speed(pool, vrt_network_checksum(network), d)[VRT_DTYPE_F32];
    expect_true(last > 0);
    /* Nothing is learnt of what went op by op, failed, was only passed on, or took no time. */
    for (int i = 0; i < 4; i++) {
        run->by_ops = i == 0;
        run->base.task.outcome = i == 1 ? VRT_TASK_FAILED : VRT_TASK_DONE;
        run->tile_flops = i == 2 ? 0 : 1000000;
        run->times.compute_ns = i == 3 ? 0 : 1;
        vrt_measurements_note_run(vrt_pool_measurements(pool), d, run);
        expect_near(speed(pool, vrt_network_checksum(network), d)[VRT_DTYPE_F32], last, 0);
    }
    pool_close(&bench, pool);
    pool = pool_open(&bench, &d);
    expect_near(speed(pool, vrt_network_checksum(network), d)[VRT_DTYPE_F32], last, 0);
    pool_close(&bench, pool);
    vrt_worker_task_free(&run->base);
    vrt_job_spec_unref(spec);
    bench_remove(&bench);
}

static void keep_tile(const struct vrt_pool *pool, size_t d, uid_t uid, int width, int tile)
{
    const struct vrt_measured_cut cut = { .tile = tile, .clip = 128,
                                          .precision = VRT_PRECISION_BF16, .batch = 8 };

    vrt_measurements_keep_cut(vrt_pool_measurements(pool), CHECKSUM, d, uid, width, 4096, &cut);
}

/* What is fastest, for one user and for all. */
static void test_cuts(void)
{
    struct vrt_measured_cut cut;
    struct bench bench;
    struct vrt_pool *pool;
    size_t d;

    bench_init(&bench);
    pool = pool_open(&bench, &d);
    keep_tile(pool, d, VRT_MEASURED_FOR_ALL, 16384, 16384);
    expect_int(tile_for(pool, d, 1000, 16384), 16384);
    expect_int(tile_for(pool, d, 1000, 8), 0);
    keep_tile(pool, d, 1000, 16384, 96);
    expect_int(tile_for(pool, d, 1000, 16384), 96);
    expect_int(tile_for(pool, d, 1001, 16384), 16384);
    /* One who keeps without end loses his own, and fills nothing of others'. */
    keep_tile(pool, d, 1001, 640, 77);
    for (int width = 8; width < 1000; width++)
        keep_tile(pool, d, 1000, width, 64);
    expect_int(tile_for(pool, d, 1000, 999), 64);
    expect_int(tile_for(pool, d, 1000, 984), 64);
    expect_int(tile_for(pool, d, 1000, 983), 0);
    expect_int(tile_for(pool, d, 1000, 16384), 16384);
    expect_int(tile_for(pool, d, 1001, 640), 77);
    /* Not even many of them together. */
    for (uid_t uid = 2000; uid < 2100; uid++)
        for (int width = 8; width < 16; width++)
            keep_tile(pool, d, uid, width, 64);
    expect_int(tile_for(pool, d, 1001, 16384), 16384);
    expect_int(tile_for(pool, d, 2099, 15), 64);
    pool_close(&bench, pool);

    pool = pool_open(&bench, &d);
    expect_int(tile_for(pool, d, 1002, 16384), 16384);
    expect_true(vrt_measurements_cut(vrt_pool_measurements(pool), CHECKSUM, d, 2099, 15, 4096,
                                     &cut));
    expect_int(cut.tile, 64);
    expect_int(cut.clip, 128);
    expect_int(cut.precision, VRT_PRECISION_BF16);
    expect_int(cut.batch, 8);
    pool_close(&bench, pool);
    bench_remove(&bench);
}

/* Kept anew after a restart one takes no other's place in the store, in whatever order that had
 * them. */
static void test_cuts_stay(void)
{
    struct bench bench;
    struct vrt_pool *pool;
    size_t d;

    bench_init(&bench);
    pool = pool_open(&bench, &d);
    for (int i = 0; i < 12; i++)
        keep_tile(pool, d, 1000, 640 + i, 64);
    pool_close(&bench, pool);
    pool = pool_open(&bench, &d);
    keep_tile(pool, d, 1000, 650, 96);
    pool_close(&bench, pool);
    pool = pool_open(&bench, &d);
    for (int i = 0; i < 12; i++)
        expect_int(tile_for(pool, d, 1000, 640 + i), i == 10 ? 96 : 64);
    pool_close(&bench, pool);
    bench_remove(&bench);
}

TEST_MAIN(
    { "kept", test_kept },
    { "cuts", test_cuts },
    { "cuts-stay", test_cuts_stay },
    { "strange", test_strange },
    { "many", test_many },
    { "speed", test_speed },
)
