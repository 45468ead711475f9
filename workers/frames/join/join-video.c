/* SPDX-License-Identifier: MIT */

/*
 * Each packet knows the number of its frame in presentation order. With that, the decoding time of
 * packet k is the presentation time of frame k - delay: the same for one segment and for many.
 */

#include "frames/join/join-video.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Segments of two recipes, or in another order than they were made. */
static int refuse_unlike(int number, struct vrt_error *error)
{
    return vrt_refuse(error, vrt_raise(-EBADMSG), "segment.damaged",
                      "segment %d of the restored video does not fit the ones before it: retry the "
                      "job", number);
}

/* Takes over what the first segment says, and compares the others with it. */
static int add_segment(struct vrt_join_video *video, struct vrt_segment_reader *reader,
                       struct vrt_error *error)
{
    const struct vrt_segment_end *end = &reader->end;

    if (!video->extradata) {
        video->head = reader->head;
        video->extradata = VRT_STEAL(reader->extradata);
        video->extradata_size = reader->extradata_size;
    } else if (!vrt_frame_format_same_planes(&reader->head.format, &video->head.format) ||
               reader->head.format.has_alpha != video->head.format.has_alpha ||
               reader->head.codec != video->head.codec ||
               reader->head.time_base.num != video->head.time_base.num ||
               reader->head.time_base.den != video->head.time_base.den ||
               reader->extradata_size != video->extradata_size ||
               memcmp(reader->extradata, video->extradata, (size_t)video->extradata_size) != 0) {
        return refuse_unlike(reader->number, error);
    }
    for (int64_t i = 0; i < end->n_first && video->n_first <= VRT_SEGMENT_MAX_DELAY; i++)
        video->first_pts[video->n_first++] = end->first_pts[i];
    video->n_frames += end->n_packets;
    video->delay = VRT_MAX(video->delay, end->delay);
    if (end->n_packets)
        video->end_pts = end->end_pts;
    return 0;
}

/* Opens segment `i`: its file and its reader. Return: 0; -errno with a sentence. */
static int open_segment(const struct vrt_joiner_segments *segments, int i, int *ret_fd,
                        struct vrt_segment_reader **ret_reader, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int fd = segments->open(segments->ctx, i);

    if (fd == -EMFILE || fd == -ENFILE)
        return vrt_refuse_errno(error, vrt_raise(fd), "the output");
    if (fd < 0)
        return vrt_refuse(error, vrt_raise(fd), "segment.damaged",
                          "segment %d of the restored video cannot be opened: %s; retry the job",
                          i + 1, strerror(-fd));
    int r = vrt_segment_reader_open(fd, i + 1, ret_reader, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_fd = VRT_STEAL_FD(fd);
    return 0;
}

int vrt_join_video_open(const struct vrt_joiner_segments *segments,
                        struct vrt_join_video **ret_video, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_join_video_closep) struct vrt_join_video *video = calloc(1, sizeof(*video));

    if (!video)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the output");
    video->segments = *segments;
    video->fd = -1;
    for (int i = 0; i < segments->n; i++) {
        VRT_CLEANUP(vrt_segment_reader_closep) struct vrt_segment_reader *reader = NULL;
        VRT_CLEANUP(vrt_closep) int fd = -1;
        int r = open_segment(segments, i, &fd, &reader, error);
        if (r < 0)
            return vrt_fold(r);
        r = add_segment(video, reader, error);
        if (r < 0)
            return vrt_fold(r);
    }
    if (!video->n_frames)
        return vrt_refuse(error, vrt_raise(-EBADMSG), "segment.damaged",
                          "there are no restored frames to make a file of");
    *ret_video = VRT_STEAL(video);
    return 0;
}

static void close_segment(struct vrt_join_video *video)
{
    video->reader = vrt_segment_reader_close(video->reader);
    vrt_closep(&video->fd);
    video->fd = -1;
}

/* Opens further segments until one has packets left. Return: 0; VRT_SEGMENT_END; -errno. */
static int next_packet(struct vrt_join_video *video, struct vrt_segment_packet *info,
                       AVPacket *packet, struct vrt_error *error)
{
    for (;;) {
        int r;
        if (!video->reader) {
            int i = video->next_segment;
            if (i == video->segments.n)
                return VRT_SEGMENT_END;
            r = open_segment(&video->segments, i, &video->fd, &video->reader, error);
            if (r < 0)
                return vrt_fold(r);
            video->next_segment++;
        }
        r = vrt_segment_reader_next(video->reader, info, packet, error);
        if (r != VRT_SEGMENT_END)
            return vrt_fold(r);
        video->base_index += video->reader->end.n_packets;
        close_segment(video);
    }
}

/* The k-th presentation time of the video, guessed beyond its end; k is at most the delay. */
static int64_t early_pts(const struct vrt_join_video *video, int64_t k)
{
    return k < video->n_first ? video->first_pts[k] : video->end_pts + k - video->n_first;
}

/*
 * The k-th packet is decoded when the frame `delay` places before it is shown: always in time, and
 * increasing as presentation times do. The first packets come before anything is shown.
 */
static int64_t decoding_time(const struct vrt_join_video *video, int64_t k)
{
    if (k >= video->delay)
        return video->pts[(k - video->delay) % VRT_JOIN_WINDOW];
    return early_pts(video, k) - (early_pts(video, video->delay) - early_pts(video, 0));
}

int vrt_join_video_next(struct vrt_join_video *video, AVPacket *packet, struct vrt_error *error)
{
    struct vrt_segment_packet info;
    int64_t k = video->n_packets;

    int r = next_packet(video, &info, packet, error);
    if (r != 0)
        return r < 0 ? vrt_fold(r) : r;
    int64_t index = video->base_index + info.index;
    if (index < k - video->delay || index - k >= VRT_JOIN_WINDOW - VRT_SEGMENT_MAX_DELAY)
        return refuse_unlike(video->reader->number, error);
    video->pts[index % VRT_JOIN_WINDOW] = info.pts;
    packet->pts = info.pts;
    packet->dts = decoding_time(video, k);
    packet->duration = info.duration;
    if (info.key)
        packet->flags |= AV_PKT_FLAG_KEY;
    video->n_packets++;
    return 0;
}

int64_t vrt_join_video_decoded_for(const struct vrt_join_video *video, const AVPacket *packet)
{
    int64_t first_dts = 2 * early_pts(video, 0) - early_pts(video, video->delay);

    if (video->n_packets < video->n_frames)
        return packet->duration;
    return VRT_MAX(packet->duration,
                   video->end_pts - early_pts(video, 0) - (packet->dts - first_dts));
}

struct vrt_join_video *vrt_join_video_close(struct vrt_join_video *video)
{
    if (!video)
        return NULL;
    close_segment(video);
    av_freep(&video->extradata);
    free(video);
    return NULL;
}
