/* SPDX-License-Identifier: MIT */

/* What devices answered is known for a while, to the very same question only. */

#include "test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/macro.h"
#include "base/thread.h"
#include "daemon/devices/pool-impl.h"
#include "engine/checkpoint.h"
#include "models/builtin.h"
#include "workers/device/speed.h"

#define D 3                 /* the device that is asked */

/* The pool's memory of surveys needs nothing else of it. */
struct bench {
    struct vrt_pool *pool;
    struct vrt_work *work;
};

static void bench_init(struct bench *bench)
{
    const struct vrt_builtin_model *model = vrt_builtin_model_at(0);
    VRT_CLEANUP(vrt_checkpoint_freep) struct vrt_checkpoint *checkpoint = NULL;
    VRT_CLEANUP(vrt_network_unrefp) struct vrt_network *network = NULL;

    vrt_thread_set_role(VRT_THREAD_LOOP, "loop");
    bench->pool = calloc(1, sizeof(*bench->pool));
    expect_true(bench->pool);
    expect_int(vrt_checkpoint_open_memory(model->data, model->size_bytes, model->name, &checkpoint,
                                          NULL), 0);
    expect_int(vrt_network_new(checkpoint, model->name, &network, NULL), 0);
    expect_int(vrt_speed_work_new(network, 64, 48, &bench->work), 0);
}

static void bench_done(struct bench *bench)
{
    vrt_work_unref(bench->work);
    free(bench->pool);
}

static struct vrt_survey question(const struct bench *bench)
{
    return (struct vrt_survey){ .work = bench->work, .precision = VRT_PRECISION_AUTO };
}

/* The device answers; `planned_bytes` tells one answer from another. */
static void answer(struct bench *bench, int64_t planned_bytes)
{
    struct vrt_survey survey = question(bench);

    survey.size = vrt_work_size(bench->work);
    survey.size.frames = 5;
    survey.dtype = VRT_DTYPE_BF16;
    survey.replica_bytes = 11;
    survey.planned_bytes = planned_bytes;
    survey.tile_flops = 13;
    survey.allowed_bytes = 14;
    vrt_pool_note_survey(bench->pool, D, &survey);
}

/* What it is known to plan for the question as it is now; -1: it isn't known. */
static int64_t recall(const struct bench *bench)
{
    struct vrt_survey survey = question(bench);

    survey.planned_bytes = -1;
    if (!vrt_pool_recall_survey(bench->pool, D, &survey))
        expect_int(survey.planned_bytes, -1);
    return survey.planned_bytes;
}

static void test_answer(void)
{
    struct vrt_survey survey;
    struct bench bench;

    bench_init(&bench);
    survey = question(&bench);
    expect_true(!vrt_pool_recall_survey(bench.pool, D, &survey));
    answer(&bench, 12);
    survey.wants_speed = true;      /* measured anew or not, the answer is the same */
    survey.flops_per_s[VRT_DTYPE_F32] = 1e9;
    expect_true(vrt_pool_recall_survey(bench.pool, D, &survey));
    expect_int(survey.size.frames, 5);
    expect_int(survey.size.grid.x.size, bench.work->grid.x.size);
    expect_int(survey.dtype, VRT_DTYPE_BF16);
    expect_int(survey.replica_bytes, 11);
    expect_int(survey.planned_bytes, 12);
    expect_int(survey.tile_flops, 13);
    expect_int(survey.allowed_bytes, 14);
    /* The question is left as it is. */
    expect_true(survey.work == bench.work && survey.wants_speed);
    expect_near(survey.flops_per_s[VRT_DTYPE_F32], 1e9, 0);
    bench_done(&bench);
}

/* An answer that would be another if the device had more room for a moment is given once. */
static void test_makeshift(void)
{
    struct bench bench;

    bench_init(&bench);
    struct vrt_survey survey = question(&bench);
    survey.is_makeshift = true;
    vrt_pool_note_survey(bench.pool, D, &survey);
    expect_int(recall(&bench), -1);
    answer(&bench, 12);
    vrt_pool_note_survey(bench.pool, D, &survey);
    expect_int(recall(&bench), 12);
    bench_done(&bench);
}

#define OF_SURVEY(field) { #field, true, offsetof(struct vrt_survey, field) }
#define OF_WORK(field) { #field, false, offsetof(struct vrt_work, field) }

/* Whatever is asked otherwise, even by one bit, is another question. */
static void test_question(void)
{
    static const struct {
        const char *name;
        bool of_survey;             /* else of its work */
        size_t at;
    } fields[] = {
        OF_SURVEY(exact_grid), OF_SURVEY(exact_clip), OF_SURVEY(smaller), OF_SURVEY(is_due),
        OF_SURVEY(precision),
        OF_WORK(in.width), OF_WORK(in.height), OF_WORK(in.depth), OF_WORK(in.layout),
        OF_WORK(in.chroma_shift_x), OF_WORK(in.chroma_shift_y), OF_WORK(in.matrix),
        OF_WORK(in.full_range), OF_WORK(in.chroma_location), OF_WORK(out.width),
        OF_WORK(out.height), OF_WORK(out.depth), OF_WORK(out.chroma_location),
        OF_WORK(rule.lap.size), OF_WORK(rule.lap.overlap), OF_WORK(rule.lap.averaged),
        OF_WORK(rule.lap.drop_first), OF_WORK(rule.lap.drop_last), OF_WORK(rule.temporal),
        OF_WORK(rule.least), OF_WORK(rule.multiple), OF_WORK(grid.x.frame), OF_WORK(grid.x.size),
        OF_WORK(grid.x.n), OF_WORK(grid.x.step), OF_WORK(grid.x.cut), OF_WORK(grid.y.size),
        OF_WORK(grid.y.cut), OF_WORK(needs.joint), OF_WORK(needs.multiple),
        OF_WORK(needs.overlap), OF_WORK(needs.least), OF_WORK(noise),
    };
    struct bench bench;

    bench_init(&bench);
    answer(&bench, 12);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(fields); i++) {
        struct vrt_survey survey = question(&bench);
        uint8_t *base = fields[i].of_survey ? (uint8_t *)&survey : (uint8_t *)bench.work;
        base[fields[i].at] ^= 1;
        if (vrt_pool_recall_survey(bench.pool, D, &survey))
            test_fail("another %s is the same question", fields[i].name);
        base[fields[i].at] ^= 1;
        expect_int(recall(&bench), 12);
    }
    struct vrt_survey survey = question(&bench);
    expect_true(!vrt_pool_recall_survey(bench.pool, D + 1, &survey));
    bench_done(&bench);
}

/* Memory that was free may be taken: an old answer is none, until it is given again. */
static void test_age(void)
{
    struct bench bench;

    bench_init(&bench);
    answer(&bench, 12);
    bench.pool->surveys[0].noted_ns -= 50 * VRT_NS_PER_S;
    expect_int(recall(&bench), 12);
    bench.pool->surveys[0].noted_ns -= 11 * VRT_NS_PER_S;
    expect_int(recall(&bench), -1);
    answer(&bench, 15);
    expect_int(recall(&bench), 15);
    /* It took the old one's place. */
    expect_int(bench.pool->n_surveys, 1);
    bench_done(&bench);
}

/* The oldest are forgotten where there is no room. */
static void test_many(void)
{
    struct bench bench;

    bench_init(&bench);
    for (int i = 0; i < 2 * VRT_POOL_SURVEYS_MAX; i++) {
        bench.work->noise = (float)i;
        answer(&bench, 100 + i);
    }
    for (int i = 0; i < 2 * VRT_POOL_SURVEYS_MAX; i++) {
        bench.work->noise = (float)i;
        expect_int(recall(&bench), i < VRT_POOL_SURVEYS_MAX ? -1 : 100 + i);
    }
    bench_done(&bench);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        { "answer", test_answer },
        { "makeshift", test_makeshift },
        { "question", test_question },
        { "age", test_age },
        { "many", test_many },
    };

    return test_main(argc, argv, cases, VRT_ARRAY_SIZE(cases));
}
