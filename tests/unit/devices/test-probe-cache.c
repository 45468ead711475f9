/* SPDX-License-Identifier: MIT */

/* What devices answered is known for a while, to the very same question only. */

#include "tests/unit/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/macro.h"
#include "base/thread.h"
#include "daemon/devices/probe-cache.h"
#include "tests/unit/model/builtin-network.h"
#include "workers/device/speed.h"

#define D 3                 /* the device that is asked */

struct bench {
    struct vrt_probe_cache *cache;
    int64_t now_ns;
    struct vrt_job_spec *spec;
};

static void bench_init(struct bench *bench)
{
    VRT_CLEANUP(vrt_network_unrefp) struct vrt_network *network = builtin_network();

    vrt_thread_set_role(VRT_THREAD_LOOP, "loop");
    bench->now_ns = 1;
    bench->cache = vrt_probe_cache_new();
    expect_true(bench->cache);
    expect_int(vrt_speed_spec_new(network, 64, 48, &bench->spec), 0);
}

static void bench_done(struct bench *bench)
{
    vrt_job_spec_unref(bench->spec);
    vrt_probe_cache_free(bench->cache);
}

static struct vrt_probe question(const struct bench *bench)
{
    return (struct vrt_probe){ .spec = bench->spec };
}

/* The device answers; `planned_bytes` tells one answer from another. */
static void answer(struct bench *bench, int64_t planned_bytes)
{
    struct vrt_probe probe = question(bench);

    probe.size = vrt_job_spec_size(bench->spec);
    probe.size.frames = 5;
    probe.dtype = VRT_DTYPE_BF16;
    probe.replica_bytes = 11;
    probe.planned_bytes = planned_bytes;
    probe.tile_flops = 13;
    probe.allowed_bytes = 14;
    probe.batch = 15;
    vrt_probe_cache_put(bench->cache, D, &probe, bench->now_ns);
}

/* What it is known to plan for the question as it is now; -1: it isn't known. */
static int64_t recall(const struct bench *bench)
{
    struct vrt_probe probe = question(bench);

    probe.planned_bytes = -1;
    if (!vrt_probe_cache_get(bench->cache, D, &probe, bench->now_ns))
        expect_int(probe.planned_bytes, -1);
    return probe.planned_bytes;
}

static void test_answer(void)
{
    struct vrt_probe probe;
    struct bench bench;

    bench_init(&bench);
    probe = question(&bench);
    expect_true(!vrt_probe_cache_get(bench.cache, D, &probe, bench.now_ns));
    answer(&bench, 12);
    probe.speed_over_flops = 7;      /* measured anew or not, the answer is the same */
    probe.flops_per_s[VRT_DTYPE_F32] = 1e9;
    expect_true(vrt_probe_cache_get(bench.cache, D, &probe, bench.now_ns));
    expect_int(probe.size.frames, 5);
    expect_int(probe.size.grid.x.size, bench.spec->grid.x.size);
    expect_int(probe.dtype, VRT_DTYPE_BF16);
    expect_int(probe.replica_bytes, 11);
    expect_int(probe.planned_bytes, 12);
    expect_int(probe.tile_flops, 13);
    expect_int(probe.allowed_bytes, 14);
    expect_int(probe.batch, 15);
    /* The question is left as it is. */
    expect_true(probe.spec == bench.spec && probe.speed_over_flops == 7);
    expect_near(probe.flops_per_s[VRT_DTYPE_F32], 1e9, 0);
    bench_done(&bench);
}

/* An answer that would be another if the device had more room for a moment is given once. */
static void test_makeshift(void)
{
    struct bench bench;

    bench_init(&bench);
    struct vrt_probe probe = question(&bench);
    probe.is_makeshift = true;
    vrt_probe_cache_put(bench.cache, D, &probe, bench.now_ns);
    expect_int(recall(&bench), -1);
    answer(&bench, 12);
    vrt_probe_cache_put(bench.cache, D, &probe, bench.now_ns);
    expect_int(recall(&bench), 12);
    bench_done(&bench);
}

#define OF_PROBE(field) { #field, true, offsetof(struct vrt_probe, field) }
#define OF_WORK(field) { #field, false, offsetof(struct vrt_job_spec, field) }

/* Whatever is asked otherwise, even by one bit, is another question. */
static void test_question(void)
{
    static const struct {
        const char *name;
        bool of_probe;              /* else of its work */
        size_t at;
    } fields[] = {
        OF_PROBE(is_fixed), OF_PROBE(smaller), OF_PROBE(is_due), OF_PROBE(memory_fraction),
        OF_PROBE(fastest), OF_PROBE(wanted_batch), OF_WORK(rule.times), OF_WORK(rule.every),
        OF_WORK(recipe.exact_tile), OF_WORK(recipe.exact_clip), OF_WORK(recipe.precision),
        OF_WORK(in.width), OF_WORK(in.height), OF_WORK(in.depth), OF_WORK(in.layout),
        OF_WORK(in.chroma_shift_x), OF_WORK(in.chroma_shift_y), OF_WORK(in.matrix),
        OF_WORK(in.full_range), OF_WORK(in.chroma_location), OF_WORK(out.width),
        OF_WORK(out.height), OF_WORK(out.depth), OF_WORK(out.chroma_location),
        OF_WORK(rule.overlap.size), OF_WORK(rule.overlap.shared), OF_WORK(rule.overlap.averaged),
        OF_WORK(rule.overlap.drop_first), OF_WORK(rule.overlap.drop_last), OF_WORK(rule.temporal),
        OF_WORK(rule.least), OF_WORK(rule.multiple), OF_WORK(grid.x.frame), OF_WORK(grid.x.size),
        OF_WORK(grid.x.n), OF_WORK(grid.x.step), OF_WORK(grid.x.cut), OF_WORK(grid.y.frame),
        OF_WORK(grid.y.size), OF_WORK(grid.y.n), OF_WORK(grid.y.step), OF_WORK(grid.y.cut),
        OF_WORK(needs.joint), OF_WORK(needs.multiple), OF_WORK(needs.overlap),
        OF_WORK(needs.least), OF_WORK(noise),
    };
    struct bench bench;

    bench_init(&bench);
    answer(&bench, 12);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(fields); i++) {
        struct vrt_probe probe = question(&bench);
        uint8_t *base = fields[i].of_probe ? (uint8_t *)&probe : (uint8_t *)bench.spec;
        base[fields[i].at] ^= 1;
        if (vrt_probe_cache_get(bench.cache, D, &probe, bench.now_ns))
            test_fail("another %s is the same question", fields[i].name);
        base[fields[i].at] ^= 1;
        expect_int(recall(&bench), 12);
    }
    struct vrt_probe probe = question(&bench);
    expect_true(!vrt_probe_cache_get(bench.cache, D + 1, &probe, bench.now_ns));
    bench_done(&bench);
}

/* Memory that was free may be taken: an old answer is none, until it is given again. */
static void test_age(void)
{
    struct bench bench;

    bench_init(&bench);
    answer(&bench, 12);
    bench.now_ns += 60 * VRT_NS_PER_S;
    expect_int(recall(&bench), 12);
    bench.now_ns++;
    expect_int(recall(&bench), -1);
    answer(&bench, 15);
    expect_int(recall(&bench), 15);
    bench_done(&bench);
}

/* The oldest are forgotten where there is no room. */
static void test_many(void)
{
    struct bench bench;

    bench_init(&bench);
    for (int i = 0; i < 2 * VRT_PROBE_CACHE_MAX; i++) {
        bench.spec->noise = (float)i;
        answer(&bench, 100 + i);
    }
    for (int i = 0; i < 2 * VRT_PROBE_CACHE_MAX; i++) {
        bench.spec->noise = (float)i;
        expect_int(recall(&bench), i < VRT_PROBE_CACHE_MAX ? -1 : 100 + i);
    }
    bench_done(&bench);
}

TEST_MAIN(
    { "answer", test_answer },
    { "makeshift", test_makeshift },
    { "question", test_question },
    { "age", test_age },
    { "many", test_many },
)
