/* SPDX-License-Identifier: MIT */
#pragma once

/* What a reader can tell of its video: from the container at first, at the end from experience. */

#include <libavformat/avformat.h>

#include "frames/decode/reader.h"
#include "frames/decode/source.h"
#include "frames/filter/deinterlacer.h"
#include "frames/filter/tonemapper.h"

/* Fills what the container says; info is zero before, info->format is set by the first frame. */
void vrt_reader_info_fill(struct vrt_reader_info *info, const struct vrt_source *source,
                          const AVStream *stream);

/* Says of `frame` which fields `decoded` has: as it says itself, else as its stream does. */
void vrt_reader_info_note_fields(const AVStream *stream, const AVFrame *decoded,
                                 struct vrt_frame *frame);

/* Frames are given out as `fields` says: of each field one makes twice as many. */
void vrt_reader_info_deinterlace(struct vrt_reader_info *info, const struct vrt_fields *fields);

/*
 * Has fields become frames and HDR become SDR, as `params` says, by filters of the caller's. They
 * stay NULL where there is nothing to do: of a video that isn't HDR that is warned of.
 * Return: 0; -ENOTSUP, -ENOMEM with a sentence.
 */
int vrt_reader_info_filter(struct vrt_reader_info *info, const struct vrt_reader_params *params,
                           struct vrt_deinterlacer **ret_deinterlacer,
                           struct vrt_tonemapper **ret_tonemapper, struct vrt_error *error);

/* What is said once. */
enum vrt_reader_says {
    VRT_READER_SAYS_ASPECT,
    VRT_READER_SAYS_COLOUR,
    VRT_READER_SAYS_INTERLACED,
    VRT_READER_SAYS_HDR,
    VRT_READER_SAYS_WINDOWS,
    VRT_READER_SAYS_CARRIED,        /* from here on: each of side-data.c's kinds */
};

/* What is said once, when it is first seen; all but the first two members zero-initialised. */
struct vrt_reader_watch {
    const struct vrt_source *source;
    AVStream *stream;
    bool keeps_extra;               /* captions and HDR10+ go with the frames */
    bool is_alpha;                  /* pictures without any may be among those with transparency */
    bool drops_hdr;                 /* HDR's pictures become others, of which it isn't true */
    unsigned int said;              /* bit i: that of enum vrt_reader_says */
    enum AVPixelFormat first_pixfmt;
    enum AVColorSpace first_space;
    enum AVColorRange first_range;
};

/*
 * What the first frame tells: the format of all, whether it has fields; warnings about odd colour
 * systems, and as vrt_reader_info_watch(). Return: 0; -ENOTSUP with a sentence.
 */
int vrt_reader_info_begin(struct vrt_reader_info *info, struct vrt_reader_watch *watch,
                          AVFrame *frame, struct vrt_error *error);

/*
 * Looks at frame `index`, the first one too: warns of what it carries that the output won't have,
 * and of what changes in the midst of a video and is taken as it was at first.
 */
void vrt_reader_info_watch(struct vrt_reader_info *info, struct vrt_reader_watch *watch,
                           AVFrame *frame, int64_t index);

/* Whether it was not said yet; from now on it is. */
bool vrt_reader_info_is_news(struct vrt_reader_watch *watch, unsigned int what);

/* Return: 0; -ENOTSUP with a sentence if frame `index` is unlike the first one. */
int vrt_reader_info_check_frame(const struct vrt_reader_info *info,
                                const struct vrt_reader_watch *watch, const AVFrame *frame,
                                int64_t index, struct vrt_error *error);

/* Numbers a frame that is given out, and counts it. */
void vrt_reader_info_count(struct vrt_reader_info *info, struct vrt_frame *frame);

/* When frames are shown: as they say themselves, or as their neighbours have it. All but the first
 * members zero-initialised. */
struct vrt_reader_times {
    AVRational time_base;
    struct vrt_rational fps;        /* of what is decoded; 0/1: unknown */
    bool may_lack;                  /* only some have a time, as MPEG's streams are made */
    bool has_dated;                 /* the next two are known */
    int64_t last_pts;               /* of the last frame noted */
    int64_t last_duration;          /* likewise; at least 1 */
    int64_t n_repaired;             /* frames whose time stamp was repaired */
    int64_t first_repaired;
    int64_t n_undated;              /* those that had none at all */
    int64_t n_guessed;              /* those whose packets had none, or another */
    int64_t n_gaps;                 /* frames for which there is time, but which never came */
    int64_t first_gap;              /* time stamp of the first of them */
};

/* When frame `index` is shown: later than the last one, as the container says where that is so. */
int64_t vrt_reader_times_repair(struct vrt_reader_times *times, const AVFrame *decoded,
                                int64_t index);

/* How long it is shown, which matters for the last frame, and where a time stamp is missing; at
 * least one tick. */
int64_t vrt_reader_times_duration(const struct vrt_reader_times *times, const AVFrame *decoded);

/* Counts frames for which the time stamps leave room before `pts`. */
void vrt_reader_times_measure(struct vrt_reader_times *times, int64_t pts);

/* The frame is shown at `pts`, and is the last one from now on. */
void vrt_reader_times_note(struct vrt_reader_times *times, const AVFrame *decoded, int64_t pts);

/* Until when the last frame is shown: seconds. */
double vrt_reader_times_end_s(const struct vrt_reader_times *times);

/* What was repaired is of no matter: it is before what is given out. */
void vrt_reader_times_forget(struct vrt_reader_times *times);

/* Refuses a video for the damage of frame `index`, the next one. Return: -EBADMSG. */
int vrt_reader_info_refuse_damage(const struct vrt_reader_watch *watch,
                                  const struct vrt_reader_times *times, int64_t index,
                                  struct vrt_error *error);

/* What was found on the way to the end. */
struct vrt_reader_end {
    bool is_broken;                 /* the rest cannot be demuxed */
    bool is_cut_off;                /* the file ends before it should */
    bool has_late;                  /* streams began in its midst */
    int64_t first_missing;          /* time stamp of the first frame that never came */
    int64_t n_decoded;              /* frames */
    int64_t n_jumps;                /* of the clock */
    const struct vrt_reader_times *times;   /* of its frames */
};

/* The warnings that can only be given at the end: of what was damaged, missing or made up. */
void vrt_reader_info_sum_up(struct vrt_reader_info *info, const struct vrt_reader_end *end);
