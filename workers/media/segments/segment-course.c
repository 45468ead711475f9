/* SPDX-License-Identifier: MIT */

#include "workers/media/segments/segment-course.h"

#include "base/error.h"
#include "base/macro.h"

void vrt_segment_course_init(struct vrt_segment_course *course, const struct vrt_clip_rule *rule,
                             int64_t segment_frames)
{
    *course = (struct vrt_segment_course){ .rule = *rule, .segment_frames = segment_frames };
}

/* Forgets frames up to this one: they come in order. */
static void forget(struct vrt_segment_course *course, int64_t index)
{
    int n = 0;

    for (int i = 0; i < course->n_waiting; i++)
        if (course->waiting[i].index > index)
            course->waiting[n++] = course->waiting[i];
    course->n_waiting = n;
}

/* Notes one of n shares in a frame. Return: whether it is the last. */
static bool note_share(struct vrt_segment_course *course, int64_t index, int n)
{
    int i = 0;

    while (i < course->n_waiting && course->waiting[i].index != index)
        i++;
    vrt_assert(i < VRT_SEGMENT_COURSE_FRAMES);
    if (i == course->n_waiting) {
        course->waiting[i].index = index;
        course->waiting[i].shard = course->next_shard;
        course->waiting[i].prime = course->behind;
        course->waiting[i].n = 0;
        course->n_waiting++;
    }
    if (++course->waiting[i].n < n)
        return false;
    forget(course, index);
    return true;
}

static bool end_segment(struct vrt_segment_course *course, struct vrt_segment_plan *ret_plan)
{
    struct vrt_segment_plan plan = {
        .n_frames = course->n_open,
        .next_shard = course->next_shard,
        .prime_shard = course->next_shard,
        .n_concealed = course->n_concealed,
        .prime = course->behind,
    };

    /* They wait in the order of frames, and so of their first shards. */
    if (course->n_waiting > 0) {
        plan.prime_shard = course->waiting[0].shard;
        plan.prime = course->waiting[0].prime;
    }
    course->n_open = 0;
    *ret_plan = plan;
    return plan.n_frames > 0;
}

bool vrt_segment_course_add(struct vrt_segment_course *course, const struct vrt_cut *cut,
                            struct vrt_segment_plan *ret_plan)
{
    const bool is_between = vrt_clip_is_between(&course->rule);
    const int n = is_between ? cut->shown.n : cut->clip.n;

    for (int i = 0; i < n; i++) {
        /* Frames that are made between: only the first is a frame of the video, the one in the
         * clip's middle. */
        const struct vrt_frame *frame = cut->frames[is_between ? (cut->clip.n - 1) / 2 : i];
        const struct vrt_share *share = &cut->shares[i];
        const bool is_shared = course->rule.temporal && !is_between;
        if (is_shared && share->weight == 0)
            continue;
        if (is_shared && share->n > 1 && !note_share(course, frame->index, share->n))
            continue;
        course->n_open++;
        course->n_concealed += frame->concealed && (!is_between || i == 0);
    }
    course->next_shard++;
    course->behind = cut->behind;
    return course->n_open >= course->segment_frames && end_segment(course, ret_plan);
}

bool vrt_segment_course_end(struct vrt_segment_course *course, struct vrt_segment_plan *ret_plan)
{
    return end_segment(course, ret_plan);
}
