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

/* What was found on the way to the end. */
struct vrt_reader_end {
    bool is_broken;                 /* the rest cannot be demuxed */
    bool is_cut_off;                /* the file ends before it should */
    bool has_late;                  /* streams began in its midst */
    double end_s, first_missing_s;  /* when, of the video */
    double frame_s;                 /* how long the last frame is shown */
    int64_t n_decoded;              /* frames */
    int64_t n_jumps;                /* of the clock */
    int64_t n_undated, n_repaired;  /* frames without a time, and those with another than theirs */
    int64_t first_repaired;         /* by index */
};

/* The warnings that can only be given at the end: of what was damaged, missing or made up. */
void vrt_reader_info_sum_up(struct vrt_reader_info *info, const struct vrt_reader_end *end);
