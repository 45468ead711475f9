/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The packets of all segments as one stream, with decoding times made anew from the presentation
 * times: encoders restart theirs in each segment. For the joiner alone.
 */

#include <libavcodec/avcodec.h>

#include "base/cleanup.h"
#include "frames/join/joiner.h"
#include "frames/encode/segment.h"

#define VRT_JOIN_WINDOW 256

struct vrt_join_video {
    struct vrt_joiner_segments segments;
    int fd;                             /* of the open segment; -1: none */
    struct vrt_segment_head head;       /* of all segments */
    uint8_t *extradata;                 /* likewise; padded as FFmpeg wants it */
    int extradata_size;

    int64_t n_frames;                   /* of all segments */
    int64_t delay;                      /* of decoding behind presentation order, in frames */
    int64_t n_first, first_pts[VRT_SEGMENT_MAX_DELAY + 1];
    int64_t end_pts;

    int next_segment;                   /* to be opened */
    struct vrt_segment_reader *reader;  /* NULL: between segments */
    int64_t base_index;                 /* of the open segment's first frame */
    int64_t n_packets;                  /* given out */
    int64_t pts[VRT_JOIN_WINDOW];       /* of frame k: pts[k % VRT_JOIN_WINDOW] */
};

/*
 * Looks at the heads and ends of all segments. Return: 0; -EBADMSG, -ENOMEM, -errno with a
 * sentence.
 */
int vrt_join_video_open(const struct vrt_joiner_segments *segments,
                        struct vrt_join_video **ret_video, struct vrt_error *error);

/*
 * Leaves the next packet in `packet`, times in head.time_base.
 * Return: 0; VRT_SEGMENT_END; -EBADMSG, -ENOMEM, -errno with a sentence.
 */
int vrt_join_video_next(struct vrt_join_video *video, AVPacket *packet, struct vrt_error *error);

/*
 * How long the packet that was given out last is to last where a video is as long as its decoding
 * times say, as in MP4: its own duration, unless it is the video's last packet. Then the last frame
 * may be in another one, and the video still ends when that does.
 */
int64_t vrt_join_video_decoded_for(const struct vrt_join_video *video, const AVPacket *packet);

/* Return: NULL. */
struct vrt_join_video *vrt_join_video_close(struct vrt_join_video *video);

VRT_DEFINE_CLEANUP(struct vrt_join_video, vrt_join_video_close)
