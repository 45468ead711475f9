/* SPDX-License-Identifier: MIT */

/* Where segments end: every frame in one of them, and each frame that waits at an end has all its
 * shares from the shards behind prime_shard, and none before it can be left out. */

#include "base/macro.h"
#include "tests/unit/test.h"
#include "workers/media/segments/segment-course.h"

#define FRAMES_MAX 120
#define SHARDS_MAX 200

/* The first and the last shard with a share in each frame. */
struct shares {
    int64_t first[FRAMES_MAX], last[FRAMES_MAX];
};

/* The segment is what the shares say. */
static void check(const struct shares *shares, int n_frames, int64_t begins, int64_t done,
                  const struct vrt_segment_plan *plan)
{
    int64_t n = 0, prime = plan->next_shard;

    for (int i = 0; i < n_frames; i++) {
        n += shares->last[i] >= begins && shares->last[i] < plan->next_shard;
        if (shares->first[i] < plan->next_shard && shares->last[i] >= plan->next_shard)
            prime = VRT_MIN(prime, shares->first[i]);
    }
    expect_int(plan->n_frames, n);
    expect_int(plan->prime_shard, prime);
    expect_int(plan->prime.first, prime);
    /* Every third is concealed. */
    expect_int(plan->n_concealed, (done + n + 2) / 3);
}

/* Cuts scenes of these lengths, ended by 0, notes who has a share in which frame, and follows the
 * course. */
static void expect_course(const struct vrt_clip_rule *rule, const int *scenes,
                          int64_t segment_frames)
{
    static struct vrt_frame frames[FRAMES_MAX];
    static struct vrt_segment_plan plans[SHARDS_MAX];
    struct shares shares;
    struct vrt_segment_course course;
    int64_t shard = 0, begins = 0, done = 0;
    int from = 0, n_plans = 0;

    vrt_segment_course_init(&course, rule, segment_frames);
    for (int i = 0; i < FRAMES_MAX; i++) {
        frames[i].index = i;
        frames[i].concealed = i % 3 == 0;
        shares.first[i] = shares.last[i] = -1;
    }
    for (; *scenes; from += *scenes++) {
        for (int64_t k = 0; k < vrt_clip_count(rule, *scenes); k++, shard++) {
            struct vrt_cut cut = { .behind = { .first = shard + 1 } };
            expect_true(vrt_clip_find(rule, k, *scenes, false, &cut.clip));
            for (int i = 0; i < cut.clip.n; i++) {
                int at = from + (int)cut.clip.first + i;
                cut.frames[i] = &frames[at];
                cut.shares[i] = vrt_clip_share(rule, &cut.clip, i, *scenes, false);
                if (rule->temporal && cut.shares[i].weight == 0)
                    continue;
                shares.first[at] = shares.first[at] < 0 ? shard : shares.first[at];
                shares.last[at] = shard;
            }
            n_plans += vrt_segment_course_add(&course, &cut, &plans[n_plans]);
        }
    }
    n_plans += vrt_segment_course_end(&course, &plans[n_plans]);
    for (int i = 0; i < n_plans; i++) {
        check(&shares, from, begins, done, &plans[i]);
        expect_true(plans[i].n_frames >= (i + 1 < n_plans ? segment_frames : 1));
        begins = plans[i].next_shard;
        done += plans[i].n_frames;
    }
    expect_int(done, from);
    expect_int(begins, shard);
}

static void test_rules(void)
{
    static const int scenes[][5] = {
        { 1 }, { 40 }, { 7, 1, 2, 30 }, { 13, 12, 11, 10 }, { 3, 3, 3, 3 },
    };
    struct vrt_clip_rule rules[] = {
        vrt_clip_runs(1), vrt_clip_runs(8),
        { { .size = 6 }, .temporal = true, .least = 1, .multiple = 1 },
        { { .size = 3, .shared = 1 }, .temporal = true, .least = 1, .multiple = 1 },
        { { .size = 6, .shared = 2 }, .temporal = true, .least = 1, .multiple = 1 },
        { { .size = 6, .shared = 3 }, .temporal = true, .least = 1, .multiple = 1 },
        { { .size = 6, .shared = 3, .averaged = true }, .temporal = true, .least = 1,
          .multiple = 1 },
        { { .size = 8, .shared = 4, .averaged = true, .drop_first = 1, .drop_last = 1 },
          .temporal = true, .least = 1, .multiple = 1 },
    };

    for (size_t r = 0; r < VRT_ARRAY_SIZE(rules); r++)
        for (size_t s = 0; s < VRT_ARRAY_SIZE(scenes); s++)
            for (int64_t segment_frames = 1; segment_frames < 20; segment_frames += 3)
                expect_course(&rules[r], scenes[s], segment_frames);
}

TEST_MAIN(
    { "rules", test_rules },
)
