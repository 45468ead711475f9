/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Cuts a stream of frames into clips, as it comes: nobody need know how long it will be
 *
 * It holds as many frames as a decision about the next clip can depend on, at most three times a
 * clip's, and a few more to see a scene's end; that doesn't grow with the video.
 *
 * Thread: any one at a time.
 */

#include "base/cleanup.h"
#include "base/macro.h"
#include "frames/clips/bookmark.h"
#include "frames/clips/clip.h"
#include "frames/frame.h"

struct vrt_cutter;

struct vrt_cutter_params {
    struct vrt_clip_rule rule;
    double scene_threshold;         /* see frames/clips/scene.h; 0: no cuts */
};

/* A clip with its frames. */
struct vrt_cut {
    struct vrt_clip clip;
    struct vrt_frame *frames[VRT_CLIP_FRAMES_MAX];      /* clip.n references */
    struct vrt_share shares[VRT_CLIP_FRAMES_MAX];
    struct vrt_clip_shown shown;    /* where frames are made between, and: */
    int64_t span;                   /* where frames are made between: ticks from the clip's frame to
                                     * the next one, of whatever scene; of the last of all frames
                                     * how long it is shown */
    struct vrt_bookmark behind;     /* where to go on behind it, as far as the cutter knows */
};

/* Return: 0; -ENOMEM. */
int vrt_cutter_new(const struct vrt_cutter_params *params, struct vrt_cutter **ret_cutter)
    VRT_MUST_CHECK;

/* Drops the frames that it holds. Return: NULL. */
struct vrt_cutter *vrt_cutter_free(struct vrt_cutter *cutter);

/* Has a new cutter go on where another one was: the next frame to be pushed is bookmark->first, and
 * nothing is cut before bookmark->n_read are; by then the caller knows that all of the bookmark is
 * as it was marked. Return: 0; -EINVAL: no cutter like it was there. */
int vrt_cutter_go_on(struct vrt_cutter *cutter, const struct vrt_bookmark *bookmark)
    VRT_MUST_CHECK;

/* Takes over the reference to the next frame. Before it, vrt_cutter_next() must have been called
 * until it had nothing more. */
void vrt_cutter_push(struct vrt_cutter *cutter, struct vrt_frame *frame);

/* There are no more frames. */
void vrt_cutter_end(struct vrt_cutter *cutter);

/* The next clip in order, if enough is known to cut it. Return: whether there is one; its frames
 * are the caller's references then. */
bool vrt_cutter_next(struct vrt_cutter *cutter, struct vrt_cut *ret_cut) VRT_MUST_CHECK;

/* Whether the end is known, and vrt_cutter_next() has given out all there is. */
bool vrt_cutter_is_done(const struct vrt_cutter *cutter);

/* Frames that it holds at most. */
int vrt_cutter_capacity(const struct vrt_clip_rule *rule);

VRT_DEFINE_CLEANUP(struct vrt_cutter, vrt_cutter_free)
