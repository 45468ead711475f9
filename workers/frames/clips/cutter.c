/* SPDX-License-Identifier: MIT */

/*
 * Frames lie in a row from the first that a clip may still want: those of the scene at hand, then
 * perhaps a cut and those after it. A frame counts once it is known whether it begins a scene,
 * which takes a few of its followers.
 */

#include "frames/clips/cutter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "frames/clips/scene.h"

/* No video has more, and so many clips of the greatest length don't overflow. */
#define FRAMES_MAX (INT64_MAX / (4 * VRT_CLIP_FRAMES_MAX))

struct vrt_cutter {
    struct vrt_cutter_params params;
    struct vrt_scene scene;
    bool at_end;

    struct vrt_frame **held;        /* n_held references */
    int n_held, capacity;
    int64_t base;                   /* of the video: the first frame held */
    int n_before;                   /* frames to come that are but seen, before that */
    int64_t pts[VRT_SCENE_BEHIND];  /* of the last frames before it */

    int64_t scene_start;            /* of the video: where the scene at hand begins */
    int64_t n_decided;              /* frames of the video of which it is known ... */
    int64_t next_cut;               /* ... where the next scene begins; -1: not among them */
    int64_t index;                  /* of the next clip in its scene */
};

int vrt_cutter_capacity(const struct vrt_clip_rule *rule)
{
    int n = rule->overlap.size;

    if (rule->temporal)
        n += rule->overlap.size + vrt_overlap_ahead(&rule->overlap);
    return n + VRT_SCENE_AHEAD + 1;
}

int vrt_cutter_new(const struct vrt_cutter_params *params, struct vrt_cutter **ret_cutter)
{
    struct vrt_cutter *cutter = calloc(1, sizeof(*cutter));

    if (!cutter)
        return vrt_raise(-ENOMEM);
    cutter->params = *params;
    cutter->next_cut = -1;
    cutter->capacity = vrt_cutter_capacity(&params->rule);
    cutter->held = calloc((size_t)cutter->capacity, sizeof(cutter->held[0]));
    if (!cutter->held) {
        free(cutter);
        return vrt_raise(-ENOMEM);
    }
    *ret_cutter = cutter;
    return 0;
}

struct vrt_cutter *vrt_cutter_free(struct vrt_cutter *cutter)
{
    if (!cutter)
        return NULL;
    for (int i = 0; i < cutter->n_held; i++)
        vrt_frame_unref(cutter->held[i]);
    free(cutter->held);
    free(cutter);
    return NULL;
}

static int64_t n_pushed(const struct vrt_cutter *cutter)
{
    return cutter->base + cutter->n_held;
}

/* Decides about frames until a cut is found: what comes after it is no matter of this scene. */
static void decide(struct vrt_cutter *cutter)
{
    bool looks = cutter->params.scene_threshold > 0;
    int64_t known = n_pushed(cutter) - (cutter->at_end || !looks ? 0 : VRT_SCENE_AHEAD);

    while (cutter->next_cut < 0 && cutter->n_decided < known) {
        if (looks && cutter->n_decided > cutter->scene_start &&
            vrt_scene_is_cut(&cutter->scene, cutter->n_decided, cutter->params.scene_threshold))
            cutter->next_cut = cutter->n_decided;
        else
            cutter->n_decided++;
    }
}

/* Where the time of a frame before those held is kept. */
static int64_t *pts_of(struct vrt_cutter *cutter, int64_t i)
{
    return &cutter->pts[i % VRT_SCENE_BEHIND];
}

int vrt_cutter_go_on(struct vrt_cutter *cutter, const struct vrt_bookmark *bookmark)
{
    if (bookmark->first <= 0 || bookmark->first > bookmark->n_read ||
        bookmark->n_read > FRAMES_MAX)
        return -EINVAL;
    const int64_t base = bookmark->first + VRT_SCENE_BEHIND;
    if (bookmark->n_read < base || bookmark->n_read - base > cutter->capacity ||
        bookmark->scene_start < 0 || bookmark->scene_start > base || bookmark->clip < 1 ||
        bookmark->clip > bookmark->n_read)
        return -EINVAL;
    cutter->scene.n_seen = bookmark->first;
    cutter->n_before = VRT_SCENE_BEHIND;
    cutter->base = cutter->n_decided = base;
    cutter->scene_start = bookmark->scene_start;
    cutter->index = bookmark->clip;
    return 0;
}

void vrt_cutter_push(struct vrt_cutter *cutter, struct vrt_frame *frame)
{
    vrt_assert(cutter->n_held < cutter->capacity && !cutter->at_end);
    if (cutter->params.scene_threshold > 0)
        vrt_scene_see(&cutter->scene, frame);
    if (cutter->n_before > 0) {
        *pts_of(cutter, cutter->base - cutter->n_before--) = frame->pts;
        vrt_frame_unref(frame);
        return;
    }
    cutter->held[cutter->n_held++] = frame;
    decide(cutter);
}

void vrt_cutter_end(struct vrt_cutter *cutter)
{
    cutter->at_end = true;
    decide(cutter);
}

/* Drops what stands before frame `first` of the video. */
static void drop_before(struct vrt_cutter *cutter, int64_t first)
{
    int n = (int)VRT_MIN(VRT_MAX(first - cutter->base, 0), cutter->n_held);

    for (int i = 0; i < n; i++) {
        *pts_of(cutter, cutter->base + i) = cutter->held[i]->pts;
        vrt_frame_unref(cutter->held[i]);
    }
    memmove(cutter->held, cutter->held + n, (size_t)(cutter->n_held - n) * sizeof(*cutter->held));
    cutter->n_held -= n;
    cutter->base += n;
}

/* The scene is cut up: goes on with the next. */
static void begin_scene(struct vrt_cutter *cutter)
{
    cutter->scene_start = cutter->next_cut;
    cutter->next_cut = -1;
    cutter->index = 0;
    drop_before(cutter, cutter->scene_start);
    decide(cutter);
}

static struct vrt_frame *frame_at(const struct vrt_cutter *cutter, int64_t i)
{
    vrt_assert(i >= cutter->base && i < n_pushed(cutter));
    return cutter->held[i - cutter->base];
}

/* Of a clip whose frames become more: they may be needed again by the next one. */
static void fill_between(struct vrt_cutter *cutter, const struct vrt_clip *clip,
                         struct vrt_cut *ret_cut)
{
    const int64_t n = cutter->n_decided - cutter->scene_start;
    const int64_t at = cutter->scene_start + clip->index;
    const struct vrt_frame *frame = frame_at(cutter, at);

    ret_cut->clip = *clip;
    ret_cut->shown = vrt_clip_shown(&cutter->params.rule, at);
    ret_cut->clip.n_new = ret_cut->shown.n;
    for (int i = 0; i < clip->n; i++) {
        int64_t from = vrt_clip_source_between(&cutter->params.rule, clip, n, i);
        ret_cut->frames[i] = vrt_frame_ref(frame_at(cutter, cutter->scene_start + from));
        ret_cut->shares[i] = (struct vrt_share){ 1, 1, 1 };
    }
    ret_cut->span = at + 1 < n_pushed(cutter) ? frame_at(cutter, at + 1)->pts - frame->pts :
                                                VRT_MAX(frame->duration, 1);
    drop_before(cutter, cutter->scene_start + clip->first);
    cutter->index++;
}

static void fill(struct vrt_cutter *cutter, const struct vrt_clip *clip, bool open,
                 struct vrt_cut *ret_cut)
{
    int64_t n_known = cutter->n_decided - cutter->scene_start;
    int64_t first = cutter->scene_start + clip->first;

    ret_cut->clip = *clip;
    for (int i = 0; i < clip->n; i++) {
        ret_cut->frames[i] = vrt_frame_ref(frame_at(cutter, first + i));
        ret_cut->shares[i] = vrt_clip_share(&cutter->params.rule, clip, i, n_known, open);
    }
    /* The last clip of a scene may begin with any frame but this one's first. */
    drop_before(cutter, first + (cutter->params.rule.temporal ? 1 : clip->n));
    cutter->index++;
}

/* Whether frames may still be added to the scene at hand. */
static bool is_open(const struct vrt_cutter *cutter)
{
    return cutter->next_cut < 0 && !(cutter->at_end && cutter->n_decided == n_pushed(cutter));
}

bool vrt_cutter_is_done(const struct vrt_cutter *cutter)
{
    struct vrt_clip clip;

    return cutter->next_cut < 0 && !is_open(cutter) &&
           !vrt_clip_find(&cutter->params.rule, cutter->index,
                          cutter->n_decided - cutter->scene_start, false, &clip);
}

/* Where to go on behind what was cut. */
static void mark(struct vrt_cutter *cutter, struct vrt_bookmark *ret_bookmark)
{
    *ret_bookmark = (struct vrt_bookmark){ .first = 0 };
    if (cutter->base <= VRT_SCENE_BEHIND)
        return;
    ret_bookmark->first = cutter->base - VRT_SCENE_BEHIND;
    ret_bookmark->first_pts = *pts_of(cutter, ret_bookmark->first);
    ret_bookmark->n_read = n_pushed(cutter);
    ret_bookmark->scene_start = cutter->scene_start;
    ret_bookmark->clip = cutter->index;
}

bool vrt_cutter_next(struct vrt_cutter *cutter, struct vrt_cut *ret_cut)
{
    struct vrt_clip clip;

    for (;;) {
        bool open = is_open(cutter);
        int64_t n_known = cutter->n_decided - cutter->scene_start;
        if (vrt_clip_find(&cutter->params.rule, cutter->index, n_known, open, &clip)) {
            if (vrt_clip_is_between(&cutter->params.rule))
                fill_between(cutter, &clip, ret_cut);
            else
                fill(cutter, &clip, open, ret_cut);
            mark(cutter, &ret_cut->behind);
            return true;
        }
        if (open || cutter->next_cut < 0)
            return false;
        begin_scene(cutter);
    }
}
