/* SPDX-License-Identifier: MIT */

/*
 * Small shards: the first frames come out soon, the last ones keep all devices busy to the end, and
 * little memory lies in queues. Large enough that the loop isn't asked thousands of times a second.
 * For a network that sees whole clips their length is a matter of quality and memory, and the
 * recipe's.
 */

#include "frames/clips/clip.h"

#include "base/macro.h"

/* Pixels that a run should have at least, and frames at most. */
#define RUN_PIXELS (1 << 20)
#define RUN_FRAMES_MAX 8

int vrt_clip_frames(int width, int height)
{
    int64_t pixels = (int64_t)width * height;

    if (pixels * RUN_FRAMES_MAX <= RUN_PIXELS)
        return RUN_FRAMES_MAX;
    return pixels >= RUN_PIXELS ? 1 : (int)(RUN_PIXELS / pixels);
}

struct vrt_clip_rule vrt_clip_runs(int frames)
{
    return (struct vrt_clip_rule){ .overlap = { .size = frames }, .least = 1, .multiple = 1 };
}

static int64_t round_up(int64_t value, int64_t multiple)
{
    return value / multiple * multiple + (value % multiple ? multiple : 0);
}

bool vrt_clip_is_between(const struct vrt_clip_rule *rule)
{
    return rule->times > 1;
}

static int every_of(const struct vrt_clip_rule *rule)
{
    return VRT_MAX(rule->every, 1);
}

int vrt_clip_n_new(const struct vrt_clip_rule *rule)
{
    return vrt_clip_is_between(rule) ? (int)vrt_clip_n_shown(rule, 1)
                                     : rule->overlap.size - rule->overlap.shared;
}

struct vrt_clip_shown vrt_clip_shown(const struct vrt_clip_rule *rule, int64_t index)
{
    const int every = every_of(rule);
    /* Of the first `every` frames the remainders are those of all. */
    const int past = (int)(index % every * rule->times % every), first = (every - past) % every;

    return (struct vrt_clip_shown){ first, (rule->times - 1 - first) / every + 1 };
}

int64_t vrt_clip_n_shown(const struct vrt_clip_rule *rule, int64_t n)
{
    const int every = every_of(rule);

    return (n * VRT_MAX(rule->times, 1) + every - 1) / every;
}

int64_t vrt_clip_count(const struct vrt_clip_rule *rule, int64_t n_frames)
{
    if (n_frames <= 0)
        return 0;
    return vrt_clip_is_between(rule) ? n_frames : vrt_overlap_count(&rule->overlap, n_frames);
}

int vrt_clip_depth(const struct vrt_clip_rule *rule, int64_t n_frames)
{
    const int64_t depth = VRT_MIN(round_up(n_frames, rule->multiple), rule->overlap.size);

    return (int)VRT_MAX(depth, rule->least);
}

static bool find_run(const struct vrt_clip_rule *rule, int64_t index, int64_t n_known, bool open,
                     struct vrt_clip *ret_clip)
{
    int64_t first = index * rule->overlap.size, left = n_known - first;
    int n = (int)VRT_MIN(left, rule->overlap.size);

    if (n < 1 || (open && n < rule->overlap.size))
        return false;
    *ret_clip = (struct vrt_clip){ index, first, n, n, n };
    return true;
}

/* Frames before the one whose followers are made; as many follow the next one. */
static int n_before(const struct vrt_clip_rule *rule)
{
    return rule->overlap.size / 2 - 1;
}

static bool find_between(const struct vrt_clip_rule *rule, int64_t index, int64_t n_known,
                         bool open, struct vrt_clip *ret_clip)
{
    const bool is_last = index + 1 == n_known;
    const int size = is_last ? 1 : rule->overlap.size;

    if (index >= n_known || (open && index + rule->overlap.size / 2 >= n_known))
        return false;
    *ret_clip = (struct vrt_clip){
        .index = index,
        .first = is_last ? index : VRT_MAX(index - n_before(rule), 0),
        .n = size,
        .n_new = rule->times,
        .depth = is_last ? 0 : size,
    };
    return true;
}

int64_t vrt_clip_source_between(const struct vrt_clip_rule *rule, const struct vrt_clip *clip,
                                int64_t n_frames, int at)
{
    const int64_t frame = clip->depth ? clip->index - n_before(rule) + at : clip->index;

    if (frame < 0)
        return VRT_MIN(-1 - frame, n_frames - 1);
    return frame < n_frames ? frame : VRT_MAX(2 * n_frames - 1 - frame, 0);
}

bool vrt_clip_find(const struct vrt_clip_rule *rule, int64_t index, int64_t n_known, bool open,
                   struct vrt_clip *ret_clip)
{
    const struct vrt_overlap *overlap = &rule->overlap;
    int64_t length = open ? VRT_OVERLAP_ENDLESS : n_known, first, end, before = 0;

    if (vrt_clip_is_between(rule))
        return find_between(rule, index, n_known, open, ret_clip);
    if (!rule->temporal)
        return find_run(rule, index, n_known, open, ret_clip);
    if (index >= vrt_clip_count(rule, length))
        return false;
    first = vrt_overlap_start(overlap, length, index);
    end = vrt_overlap_end(overlap, length, index);
    if (open && end + vrt_overlap_ahead(overlap) > n_known)
        return false;
    if (index > 0)
        before = vrt_overlap_end(overlap, length, index - 1);
    *ret_clip = (struct vrt_clip){
        .index = index,
        .first = first,
        .n = (int)(end - first),
        .n_new = (int)(end - before),
        .depth = vrt_clip_depth(rule, end - first),
    };
    return true;
}

struct vrt_share vrt_clip_share(const struct vrt_clip_rule *rule, const struct vrt_clip *clip,
                                int i, int64_t n_known, bool open)
{
    if (!rule->temporal || vrt_clip_is_between(rule))
        return (struct vrt_share){ 1, 1, 1 };
    return vrt_overlap_share(&rule->overlap, open ? VRT_OVERLAP_ENDLESS : n_known, clip->index,
                         clip->first + i);
}

int vrt_clip_source(int n, int at)
{
    int place = at % (2 * n);

    return place < n ? place : 2 * n - 1 - place;
}
