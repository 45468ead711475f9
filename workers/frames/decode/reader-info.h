/* SPDX-License-Identifier: MIT */
#pragma once

/* What a reader can tell of its video: from the container at first, at the end from experience. */

#include <libavformat/avformat.h>

#include "frames/decode/reader.h"
#include "frames/decode/source.h"

/* Fills what the container says; info is zero before, info->format is set by the first frame. */
void vrt_reader_info_fill(struct vrt_reader_info *info, const struct vrt_source *source,
                          const AVStream *stream);

/* Warnings about what the first frame shows: alpha, odd colour systems, interlacing. */
void vrt_reader_info_look(struct vrt_reader_info *info, const AVFrame *frame,
                          enum AVFieldOrder field_order);

/* What is said once, when it is first seen; all but the first two members zero-initialised. */
struct vrt_reader_watch {
    const struct vrt_source *source;
    AVStream *stream;
    unsigned int said;              /* bit i: about kind i of reader-info.c */
    enum AVColorSpace first_space;
    enum AVColorRange first_range;
};

/*
 * Looks at frame `index`, the first one too: warns of what it carries that the output won't have,
 * and of what changes in the midst of a video and is taken as it was at first.
 */
void vrt_reader_info_watch(struct vrt_reader_info *info, struct vrt_reader_watch *watch,
                           AVFrame *frame, int64_t index);

/* Counts the frame of `index` as concealed. */
void vrt_reader_info_conceal(struct vrt_reader_info *info, int64_t index);

/* The warning that lists the concealed frames, if there are any. */
void vrt_reader_info_list_concealed(struct vrt_reader_info *info);
