/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Clips: how a video is cut in time. Pure.
 *
 * A clip is what one shard holds. The grid is the recipe's, so that the same video is always cut
 * alike, whatever devices there are; it begins anew with each scene.
 *
 * Networks that see each frame by itself get runs of frames: clip k of a scene holds the frames
 * [k * frames, (k + 1) * frames) that exist. Those that see a whole clip at once get clips which
 * overlap (frames/clips/overlap.h), and a scene that is shorter than a clip is extended at its end
 * by its own mirror image, the last frame repeated.
 *
 * Those that make frames between two get one clip for each frame, of as many frames before it and
 * behind it as they see; clip k makes what is shown from frame k until frame k + 1. Beyond both
 * ends of a scene they see its mirror image. Nothing is made between two scenes: the clip of a
 * scene's last frame holds that alone, and it is shown on.
 */

#include <stdbool.h>
#include <stdint.h>

#include "frames/clips/overlap.h"

/* No clip has more frames. */
#define VRT_CLIP_FRAMES_MAX 128

struct vrt_clip_rule {
    struct vrt_overlap overlap;     /* its size: frames of a clip */
    bool temporal;                  /* the network sees a clip at once; else frame by frame */
    int least;                      /* temporal: it needs so many frames, at most overlap.size */
    int multiple;                   /* temporal: to which a short scene is extended; 1: not */
    int times;                      /* temporal: over 1, each frame becomes so many: itself, and
                                     * those between it and the next; 0 and 1 are the same */
    int every;                      /* of all of those, one of so many is shown, the video's first
                                     * frame being the first; at most times; 0 and 1: each */
};

/* Which of the `times` that frame of the video becomes are shown: of those from 0, which is the
 * frame itself, `first`, first + every and so on, n of them, which is never none. */
struct vrt_clip_shown {
    int first, n;
};

/* One clip of a scene. */
struct vrt_clip {
    int64_t index;                  /* in its scene */
    int64_t first;                  /* frame of the scene */
    int n;                          /* frames of the scene that it holds */
    int n_new;                      /* of them, the last so many are in no clip before it; where
                                     * frames are made between: what it becomes */
    int depth;                      /* frames that the network sees: n and their mirror images; 0:
                                     * nothing is made between */
};

/* Frames of a clip, for a network that sees each by itself and frames of this size: 1 for large
 * ones, more where frames are small, so that handing a shard on costs little beside computing
 * it. */
int vrt_clip_frames(int width, int height);

/* The rule for such a network: runs of so many frames. */
struct vrt_clip_rule vrt_clip_runs(int frames);

/* Whether frames are made between those of the video. */
bool vrt_clip_is_between(const struct vrt_clip_rule *rule);

/* The n_new of a clip in the midst of a scene; where that differs, the most. */
int vrt_clip_n_new(const struct vrt_clip_rule *rule);

/* What is shown of frame `index` of the video, where frames are made between. */
struct vrt_clip_shown vrt_clip_shown(const struct vrt_clip_rule *rule, int64_t index);

/* How many of n frames' are: n * times / every, rounded up. Any rule. */
int64_t vrt_clip_n_shown(const struct vrt_clip_rule *rule, int64_t n);

/* Clips of a scene, or of a video without cuts, of n_frames (0: none). */
int64_t vrt_clip_count(const struct vrt_clip_rule *rule, int64_t n_frames);

/*
 * Clip `index` of a scene of which `n_known` frames are known, and whether it has more (`open`).
 * Return: whether there is enough to say; *ret_clip is set only then. A scene that is over has
 * vrt_clip_count() clips.
 */
bool vrt_clip_find(const struct vrt_clip_rule *rule, int64_t index, int64_t n_known, bool open,
                   struct vrt_clip *ret_clip);

/* The share that the clip has in its frame `i`, of 0 to n - 1. n_known and open as it was found. */
struct vrt_share vrt_clip_share(const struct vrt_clip_rule *rule, const struct vrt_clip *clip,
                                int i, int64_t n_known, bool open);

/* Frames of a scene of n frames that the network sees: n and, if they are too few, some of them
 * again. */
int vrt_clip_depth(const struct vrt_clip_rule *rule, int64_t n_frames);

/* Which of a clip's n frames stands at place `at` of what the network sees. */
int vrt_clip_source(int n, int at);

/* The same where frames are made between: which frame of a scene of n. */
int64_t vrt_clip_source_between(const struct vrt_clip_rule *rule, const struct vrt_clip *clip,
                                int64_t n_frames, int at);
