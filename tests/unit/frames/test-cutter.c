/* SPDX-License-Identifier: MIT */

/* Scene cuts, and a stream of frames cut into clips: what is a cut and what only looks like one;
 * every frame in the clips that it belongs to, and none held for longer than it is needed. */

#include <errno.h>

#include "base/cleanup.h"
#include "frames/clips/cutter.h"
#include "frames/clips/scene.h"
#include "tests/unit/test.h"

#define W 80
#define H 48
#define N_MAX 200

static const struct vrt_frame_format format_8 = {
    .width = W, .height = H, .depth = 8, .layout = VRT_LAYOUT_GRAY,
    .chroma_location = VRT_CHROMA_LOCATION_LEFT,
};

/* A gray frame of a scene: shading and texture that depend on the scene and move by `shift`. */
static struct vrt_frame *draw(const struct vrt_frame_format *format, int scene, int shift,
                              int light)
{
    struct vrt_frame *frame = NULL;
    int up = format->depth - 8;

    expect_int(vrt_frame_new(format, &frame), 0);
    for (int y = 0; y < format->height; y++) {
        uint8_t *row = frame->planes[0].data + (size_t)y * frame->planes[0].stride_bytes;
        for (int x = 0; x < format->width; x++) {
            double v = 110 + light + 60 * sin(0.07 * (scene % 5 + 1) * (x + shift) + scene) *
                                     cos(0.09 * (scene % 3 + 1) * y + 2 * scene);
            int sample = (int)fmin(fmax(v, 0), 255) << up;
            if (up)
                ((uint16_t *)(void *)row)[x] = (uint16_t)sample;
            else
                row[x] = (uint8_t)sample;
        }
    }
    return frame;
}

struct shot {
    int scene, n, speed, light;
};

/* The video of these shots, and where cuts are found in it. Return: how many. */
static int find_cuts(const struct vrt_frame_format *format, const struct shot *shots, int n_shots,
                     int64_t *cuts)
{
    struct vrt_scene *scene = calloc(1, sizeof(*scene));
    int n = 0;
    int64_t at = 0;

    expect_true(scene != NULL);
    for (int s = 0; s < n_shots; s++) {
        for (int i = 0; i < shots[s].n; i++) {
            struct vrt_frame *frame = draw(format, shots[s].scene, i * shots[s].speed,
                                           shots[s].light);
            vrt_scene_see(scene, frame);
            vrt_frame_unref(frame);
            for (; at < scene->n_seen - VRT_SCENE_AHEAD; at++)
                if (vrt_scene_is_cut(scene, at, VRT_SCENE_THRESHOLD_DEFAULT))
                    cuts[n++] = at;
        }
    }
    for (; at < scene->n_seen; at++)
        if (vrt_scene_is_cut(scene, at, VRT_SCENE_THRESHOLD_DEFAULT))
            cuts[n++] = at;
    free(scene);
    return n;
}

static void expect_cuts(const struct shot *shots, int n_shots, const char *wanted)
{
    struct vrt_frame_format deep = format_8;
    int64_t cuts[N_MAX];

    deep.depth = 10;
    for (int i = 0; i < 2; i++) {
        char found[200] = "";
        int n = find_cuts(i ? &deep : &format_8, shots, n_shots, cuts);
        for (int k = 0; k < n; k++)
            snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s%d", k ? " " : "",
                     (int)cuts[k]);
        expect_str(found, wanted);
    }
}

static void test_cuts(void)
{
    expect_cuts((struct shot[]){ { 1, 9, 0, 0 }, { 2, 9, 0, 0 } }, 2, "9");
    expect_cuts((struct shot[]){ { 1, 9, 2, 0 }, { 2, 9, 2, 0 }, { 1, 5, 1, 0 } }, 3, "9 18");
    expect_cuts((struct shot[]){ { 1, 3, 0, 0 }, { 2, 3, 0, 0 }, { 4, 3, 0, 0 } }, 3, "3 6");
    expect_cuts((struct shot[]){ { 1, 1, 0, 0 } }, 1, "");
    expect_cuts((struct shot[]){ { 1, 40, 3, 0 } }, 1, "");
}

/* Light for one or two frames, also where it comes at a cut; motion; a slow change. */
static void test_no_cuts(void)
{
    struct shot fade[20];

    expect_cuts((struct shot[]){ { 1, 9, 0, 0 }, { 1, 1, 0, 120 }, { 1, 9, 0, 0 } }, 3, "");
    expect_cuts((struct shot[]){ { 1, 9, 0, 0 }, { 1, 2, 0, 120 }, { 1, 9, 0, 0 } }, 3, "");
    expect_cuts((struct shot[]){ { 1, 9, 0, 0 }, { 2, 2, 0, 0 }, { 1, 9, 0, 0 } }, 3, "");
    expect_cuts((struct shot[]){ { 1, 9, 0, 0 }, { 1, 12, 40, 0 }, { 1, 9, 0, 0 } }, 3, "");
    for (int i = 0; i < 20; i++)
        fade[i] = (struct shot){ 1, 1, 0, i * -6 };
    expect_cuts(fade, 20, "");
}

static void test_sketch(void)
{
    struct vrt_scene_sketch a, b;
    struct vrt_frame *frame = draw(&format_8, 1, 0, 0);

    vrt_scene_draw(frame, &a);
    expect_near(vrt_scene_difference(&a, &a), 0, 0);
    memset(frame->planes[0].data, 255, frame->planes[0].stride_bytes * H);
    vrt_scene_draw(frame, &a);
    memset(frame->planes[0].data, 0, frame->planes[0].stride_bytes * H);
    vrt_scene_draw(frame, &b);
    expect_near(vrt_scene_difference(&a, &b), 1, 1e-9);
    vrt_frame_unref(frame);

    /* Smaller than a sketch. */
    struct vrt_frame_format tiny = format_8;
    tiny.width = tiny.height = 1;
    frame = draw(&tiny, 1, 0, 0);
    vrt_scene_draw(frame, &a);
    expect_int(a.parts[0], frame->planes[0].data[0]);
    expect_int(a.parts[VRT_SCENE_ROWS * VRT_SCENE_COLUMNS - 1], a.parts[0]);
    vrt_frame_unref(frame);
}

/* What came out of a cutter, clip after clip. */
struct seen {
    int n_clips, n_frames;
    int64_t first[N_MAX], scene[N_MAX];     /* of the video */
    int n[N_MAX], depth[N_MAX];
    double sums[N_MAX];                     /* of each frame's weights over totals */
};

static void take(struct vrt_cutter *cutter, struct seen *seen)
{
    struct vrt_cut *cut = calloc(1, sizeof(*cut));

    expect_true(cut != NULL);
    while (vrt_cutter_next(cutter, cut)) {
        int64_t first = cut->frames[0]->index;
        expect_true(seen->n_clips < N_MAX);
        seen->first[seen->n_clips] = first;
        seen->scene[seen->n_clips] = first - cut->clip.first;
        seen->n[seen->n_clips] = cut->clip.n;
        seen->depth[seen->n_clips++] = cut->clip.depth;
        for (int i = 0; i < cut->clip.n; i++) {
            expect_int(cut->frames[i]->index, first + i);
            seen->sums[first + i] += (double)(cut->shares[i].weight / cut->shares[i].total);
            vrt_frame_unref(cut->frames[i]);
        }
        seen->n_frames += cut->clip.n_new;
        expect_int(seen->n_frames, first + cut->clip.n);
    }
    free(cut);
}

/* Cuts a video of these shots up. The frames' references are followed: none is left. */
static void cut_up(struct vrt_clip_rule rule, double threshold, const struct shot *shots,
                   int n_shots, struct seen *ret_seen)
{
    const struct vrt_cutter_params params = { rule, threshold };
    struct vrt_frame *frames[N_MAX];
    struct vrt_cutter *cutter;
    int n = 0, n_held_max = 0;

    *ret_seen = (struct seen){ 0 };
    expect_int(vrt_cutter_new(&params, &cutter), 0);
    for (int s = 0; s < n_shots; s++) {
        for (int i = 0; i < shots[s].n; i++) {
            int n_held = 0;
            frames[n] = draw(&format_8, shots[s].scene, i, 0);
            frames[n]->index = n;
            vrt_cutter_push(cutter, vrt_frame_ref(frames[n]));
            n++;
            take(cutter, ret_seen);
            for (int k = 0; k < n; k++)
                n_held += atomic_load(&frames[k]->n_refs) - 1;
            n_held_max = n_held > n_held_max ? n_held : n_held_max;
        }
    }
    expect_true(n_held_max <= vrt_cutter_capacity(&rule));
    expect_true(!vrt_cutter_is_done(cutter));
    vrt_cutter_end(cutter);
    expect_int(vrt_cutter_is_done(cutter), ret_seen->n_frames == n);
    take(cutter, ret_seen);
    expect_true(vrt_cutter_is_done(cutter));
    expect_int(ret_seen->n_frames, n);
    for (int i = 0; i < n; i++)
        expect_near(ret_seen->sums[i], 1, 1e-6);
    vrt_cutter_free(cutter);
    for (int i = 0; i < n; i++) {
        expect_int(atomic_load(&frames[i]->n_refs), 1);
        vrt_frame_unref(frames[i]);
    }
}

static void test_streams(void)
{
    struct seen seen;

    for (int size = 1; size <= 8; size++) {
        for (int n = 0; n < 26; n++) {
            const struct shot one = { 1, n, 0, 0 };
            for (int kind = 0; kind < 6; kind++) {
                struct vrt_clip_rule rule = vrt_clip_runs(size);
                rule.temporal = kind > 1;
                rule.overlap.shared = kind > 1 ? size / 2 : 0;
                rule.overlap.averaged = kind > 3;
                cut_up(rule, kind % 2 ? VRT_SCENE_THRESHOLD_DEFAULT : 0, &one, 1, &seen);
                expect_int(seen.n_clips, vrt_clip_count(&rule, n));
            }
        }
    }
}

/* The grid begins anew at each cut, and no clip reaches over one. */
static void test_scenes(void)
{
    struct shot shots[] = { { 1, 11, 1, 0 }, { 2, 4, 1, 0 }, { 4, 7, 1, 0 } };
    struct vrt_clip_rule rule = { { .size = 6, .shared = 2 }, true, 2, 3 };
    static const int firsts[] = { 0, 4, 5, 11, 15, 16 }, lengths[] = { 6, 6, 6, 4, 6, 6 };
    static const int depths[] = { 6, 6, 6, 6, 6, 6 }, starts[] = { 0, 0, 0, 11, 15, 15 };
    struct seen seen;

    for (int averaged = 0; averaged < 2; averaged++) {
        rule.overlap.averaged = averaged;
        cut_up(rule, VRT_SCENE_THRESHOLD_DEFAULT, shots, 3, &seen);
        expect_int(seen.n_clips, 6);
        for (int i = 0; i < 6; i++) {
            expect_int(seen.first[i], firsts[i]);
            expect_int(seen.n[i], lengths[i]);
            expect_int(seen.depth[i], depths[i]);
            expect_int(seen.scene[i], starts[i]);
        }
        /* However short the last one is. */
        for (shots[2].n = 1; shots[2].n < 7; shots[2].n++)
            cut_up(rule, VRT_SCENE_THRESHOLD_DEFAULT, shots, 3, &seen);
        cut_up(rule, 0, shots, 3, &seen);
        expect_int(seen.n_clips, 5);
        expect_int(seen.scene[4], 0);
    }
}

/* The clips of frames that are made between: one of each frame, of those around it in its scene. */
static void test_between(void)
{
    const struct vrt_cutter_params params = {
        .rule = { .overlap = { .size = 4 }, .temporal = true, .times = 2 },
        .scene_threshold = VRT_SCENE_THRESHOLD_DEFAULT,
    };
    static const struct shot shots[] = { { 1, 3, 1, 0 }, { 2, 2, 1, 0 }, { 4, 4, 1, 0 } };
    static const int around[][4] = {
        { 0, 0, 1, 2 }, { 0, 1, 2, 2 }, { 2 }, { 3, 3, 4, 4 }, { 4 }, { 5, 5, 6, 7 },
        { 5, 6, 7, 8 }, { 6, 7, 8, 8 }, { 8 },
    };
    struct vrt_cut *cut = calloc(1, sizeof(*cut));
    struct vrt_cutter *cutter;
    int n = 0, n_clips = 0;

    expect_true(cut != NULL);
    expect_int(vrt_cutter_new(&params, &cutter), 0);
    for (int pass = 0; pass < 10; pass++) {
        const int scene = pass < 3 ? 0 : pass < 5 ? 1 : 2;
        if (pass < 9) {
            struct vrt_frame *frame = draw(&format_8, shots[scene].scene, n, 0);
            frame->index = n;
            frame->pts = 10 * n * n;
            frame->duration = 7;
            vrt_cutter_push(cutter, frame);
            n++;
        } else {
            vrt_cutter_end(cutter);
        }
        while (vrt_cutter_next(cutter, cut)) {
            const bool is_held = n_clips == 2 || n_clips == 4 || n_clips == 8;
            expect_int(cut->clip.n, is_held ? 1 : 4);
            expect_int(cut->clip.depth, is_held ? 0 : 4);
            expect_int(cut->clip.n_new, 2);
            expect_int(cut->span, n_clips == 8 ? 7 : 10 * (2 * n_clips + 1));
            for (int i = 0; i < cut->clip.n; i++) {
                expect_int(cut->frames[i]->index, around[n_clips][i]);
                vrt_frame_unref(cut->frames[i]);
            }
            n_clips++;
        }
    }
    expect_int(n_clips, 9);
    expect_true(vrt_cutter_is_done(cutter));
    vrt_cutter_free(cutter);
    free(cut);
}

/* What a cutter gave out, and how many frames were pushed by then. */
struct cutting {
    int n;
    struct vrt_cut cuts[N_MAX];     /* without references */
    int64_t indexes[N_MAX][8];      /* of their frames */
};

static void take_cuts(struct vrt_cutter *cutter, struct cutting *cutting)
{
    struct vrt_cut *cut = &cutting->cuts[cutting->n];

    for (; vrt_cutter_next(cutter, cut); cut = &cutting->cuts[++cutting->n])
        for (int i = 0; i < cut->clip.n; i++) {
            cutting->indexes[cutting->n][i] = cut->frames[i]->index;
            cut->frames[i] = vrt_frame_unref(cut->frames[i]);
        }
}

/* Cuts frames from `from` on, none before so many were pushed. */
static void cut_from(struct vrt_cutter *cutter, struct vrt_frame *const *frames, int from, int n,
                     int n_least, struct cutting *cutting)
{
    for (int i = from; i < n; i++) {
        vrt_cutter_push(cutter, vrt_frame_ref(frames[i]));
        if (i + 1 >= n_least)
            take_cuts(cutter, cutting);
    }
    vrt_cutter_end(cutter);
    take_cuts(cutter, cutting);
    expect_true(vrt_cutter_is_done(cutter));
    vrt_cutter_free(cutter);
}

/* Behind each clip another cutter, which sees few of the frames before, goes on to the same.
 * Return: behind how many it can. */
static int expect_goes_on(struct vrt_clip_rule rule, double threshold, const struct shot *shots,
                          int n_shots)
{
    const struct vrt_cutter_params params = { rule, threshold };
    static struct cutting whole, rest;
    struct vrt_frame *frames[N_MAX];
    struct vrt_cutter *cutter;
    int n = 0, n_places = 0;

    for (int s = 0; s < n_shots; s++)
        for (int i = 0; i < shots[s].n; i++, n++) {
            frames[n] = draw(&format_8, shots[s].scene, i, shots[s].light);
            frames[n]->index = n;
            frames[n]->pts = 7 + 5 * n * n;
            frames[n]->duration = 3;
        }
    whole.n = 0;
    expect_int(vrt_cutter_new(&params, &cutter), 0);
    cut_from(cutter, frames, 0, n, 0, &whole);
    for (int k = 0; k < whole.n; k++) {
        const struct vrt_bookmark *behind = &whole.cuts[k].behind;
        if (!behind->first)
            continue;
        expect_int(behind->first_pts, frames[behind->first]->pts);
        expect_true(behind->n_read - behind->first <=
                    vrt_cutter_capacity(&rule) + VRT_SCENE_BEHIND);
        rest.n = 0;
        expect_int(vrt_cutter_new(&params, &cutter), 0);
        expect_int(vrt_cutter_go_on(cutter, behind), 0);
        cut_from(cutter, frames, (int)behind->first, n, (int)behind->n_read, &rest);
        expect_int(rest.n, whole.n - k - 1);
        for (int i = 0; i < rest.n; i++) {
            const struct vrt_cut *is = &rest.cuts[i], *was = &whole.cuts[k + 1 + i];
            expect_int(is->clip.index, was->clip.index);
            expect_int(is->clip.first, was->clip.first);
            expect_int(is->clip.n, was->clip.n);
            expect_int(is->clip.n_new, was->clip.n_new);
            expect_int(is->clip.depth, was->clip.depth);
            expect_true(memcmp(&is->shown, &was->shown, sizeof(is->shown)) == 0);
            expect_true(memcmp(rest.indexes[i], whole.indexes[k + 1 + i],
                               (size_t)is->clip.n * sizeof(rest.indexes[i][0])) == 0);
            expect_true(!rule.times || is->span == was->span);
            expect_int(is->behind.first, was->behind.first);
            expect_int(is->behind.first_pts, was->behind.first_pts);
            for (int at = 0; at < is->clip.n; at++)
                expect_true(is->shares[at].weight == was->shares[at].weight &&
                            is->shares[at].total == was->shares[at].total &&
                            is->shares[at].n == was->shares[at].n);
        }
        n_places++;
    }
    for (int i = 0; i < n; i++) {
        expect_int(atomic_load(&frames[i]->n_refs), 1);
        vrt_frame_unref(frames[i]);
    }
    return n_places;
}

static void test_goes_on(void)
{
    const struct shot shots[] = { { 1, 9, 1, 0 }, { 2, 3, 1, 0 }, { 4, 7, 1, 0 }, { 4, 1, 0, 120 },
                                  { 4, 5, 1, 0 }, { 3, 1, 1, 0 }, { 1, 11, 1, 0 } };

    for (int size = 1; size <= 8; size++)
        for (int kind = 0; kind < 6; kind++) {
            struct vrt_clip_rule rule = vrt_clip_runs(size);
            rule.temporal = kind > 1;
            rule.overlap.shared = kind > 1 ? size / 2 : 0;
            rule.overlap.averaged = kind > 3;
            expect_true(expect_goes_on(rule, kind % 2 ? VRT_SCENE_THRESHOLD_DEFAULT : 0, shots,
                                       VRT_ARRAY_SIZE(shots)) > 0);
        }
    for (int size = 2; size <= 4; size += 2) {
        const struct vrt_clip_rule rule = { .overlap = { .size = size }, .temporal = true,
                                            .times = 5, .every = 2 };
        expect_true(expect_goes_on(rule, VRT_SCENE_THRESHOLD_DEFAULT, shots,
                                   VRT_ARRAY_SIZE(shots)) > 20);
    }
}

/* Numbers that no cutter has said. */
static void test_nowhere(void)
{
    static const struct vrt_bookmark wrong[] = {
        { .first = 0, .clip = 1 }, { .first = -4, .n_read = 9, .clip = 1 },
        { .first = 5, .n_read = 7, .clip = 1 }, { .first = 5, .n_read = 800, .clip = 1 },
        { .first = 5, .n_read = 9, .scene_start = 9, .clip = 1 },
        { .first = 5, .n_read = 9, .scene_start = -1, .clip = 1 },
        { .first = 5, .n_read = 9, .clip = -1 }, { .first = 5, .n_read = 9, .clip = 0 },
        { .first = 5, .n_read = 9, .clip = 10 },
        { .first = INT64_MAX / 4, .n_read = INT64_MAX / 4 + 4, .clip = INT64_MAX / 4 },
        { .first = INT64_MAX - 1, .n_read = INT64_MAX, .clip = 1 },
    };
    const struct vrt_bookmark right = { .first = 5, .n_read = 9, .clip = 1 };
    const struct vrt_cutter_params params = { .rule = vrt_clip_runs(4) };
    struct vrt_cutter *cutter;

    expect_int(vrt_cutter_new(&params, &cutter), 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(wrong); i++)
        expect_int(vrt_cutter_go_on(cutter, &wrong[i]), -EINVAL);
    expect_int(vrt_cutter_go_on(cutter, &right), 0);
    vrt_cutter_free(cutter);
}

/* However long a video is, and wherever its end is known: as many clips as frames. */
static void test_between_lengths(void)
{
    const struct vrt_clip_rule rule = { .overlap = { .size = 4 }, .temporal = true, .times = 2 };
    struct vrt_clip open, closed;

    expect_int(vrt_clip_n_new(&rule), 2);
    for (int64_t n = 0; n < 9; n++) {
        expect_int(vrt_clip_count(&rule, n), n);
        for (int64_t i = 0; i < 12; i++) {
            expect_int(vrt_clip_find(&rule, i, n, false, &closed), i < n);
            expect_int(vrt_clip_find(&rule, i, n, true, &open), i + 2 < n);
            if (i + 2 < n)
                expect_true(open.first == closed.first && open.n == closed.n &&
                            open.depth == closed.depth && open.n_new == closed.n_new);
            for (int at = 0; i < n && at < closed.n; at++) {
                const int64_t from = vrt_clip_source_between(&rule, &closed, n, at);
                const int64_t wanted = closed.depth ? i - 1 + at : i;
                expect_int(from, wanted < 0 ? 0 : wanted < n ? wanted : n - 1);
            }
        }
    }
}

/* Of all places, each frame's `times` of them, every so many-th: counted one by one. */
static void test_between_rates(void)
{
    for (int times = 2; times <= 16; times++)
        for (int every = 0; every <= times; every++) {
            const struct vrt_clip_rule rule = { .overlap = { .size = 2 }, .temporal = true,
                                                .times = times, .every = every };
            int64_t n_shown = 0, next = 0;

            for (int64_t i = 0; i < 3 * times; i++) {
                const struct vrt_clip_shown shown = vrt_clip_shown(&rule, i);

                expect_int(shown.first, next - i * times);
                for (int k = 0; k < shown.n; k++, n_shown++)
                    next += VRT_MAX(every, 1);
                expect_true(shown.n > 0 && shown.n <= vrt_clip_n_new(&rule));
                expect_true(next >= (i + 1) * times);
                expect_int(vrt_clip_n_shown(&rule, i + 1), n_shown);
            }
        }
}

TEST_MAIN(
    { "between", test_between }, { "between-lengths", test_between_lengths },
    { "between-rates", test_between_rates }, { "sketch", test_sketch }, { "cuts", test_cuts },
    { "no-cuts", test_no_cuts }, { "streams", test_streams }, { "scenes", test_scenes },
    { "goes-on", test_goes_on }, { "nowhere", test_nowhere },
)
