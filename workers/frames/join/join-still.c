/* SPDX-License-Identifier: MIT */

/* A picture is a packet: of a folder's one among others, else the only one of its video. */

#include "frames/join/join-still.h"

#include <errno.h>
#include <unistd.h>

#include "base/buf.h"
#include "frames/av.h"
#include "frames/encode/sink.h"
#include "frames/join/join-video.h"
#include "frames/still/still.h"

static int write_out(int fd, const struct vrt_buf *file, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_sink_closep) struct vrt_sink *sink = NULL;
    int r = vrt_sink_open(fd, &sink, error);

    if (r < 0)
        return vrt_fold(r);
    avio_write(sink->io, (const uint8_t *)file->data, (int)file->size_bytes);
    return vrt_fold(vrt_sink_sync(sink, error));
}

static int make_file(const struct vrt_joiner_params *params, struct vrt_join_video *video,
                     struct vrt_joiner_result *result, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_av_packet_freep) AVPacket *packet = av_packet_alloc();
    VRT_CLEANUP(vrt_buf_done) struct vrt_buf file = { .limit_bytes = INT32_MAX };

    if (!packet)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the output");
    int r = vrt_join_video_next(video, packet, error);
    if (r < 0)
        return vrt_fold(r);
    const struct vrt_still_params still = {
        .packet = packet,
        .container = params->container,
        .format = &video->head.format,
        .original = { .fd = params->input_fd, .name = params->input_name,
                      .cancel = params->cancel },
    };
    r = vrt_still_make(&still, &file, &result->warnings, error);
    if (r == 0)
        r = write_out(params->output_fd, &file, error);
    result->n_frames = 1;
    result->size_bytes = (int64_t)file.size_bytes;
    return vrt_fold(r);
}

/* Leaves the packet of the picture in `packet`. Return: 0; -errno with a sentence. */
static int find_packet(struct vrt_segment_reader *reader, int64_t index, AVPacket *packet,
                       struct vrt_error *error)
{
    struct vrt_segment_packet info;
    int r = 0;

    for (int64_t i = 0; r == 0 && i < index; i++)
        r = vrt_segment_reader_skip(reader, error);
    if (r == 0)
        r = vrt_segment_reader_next(reader, &info, packet, error);
    if (r == VRT_SEGMENT_END)
        return vrt_refuse(error, vrt_raise(-EBADMSG), "segment.damaged",
                          "a segment of the restored pictures lacks one: retry the job");
    return vrt_fold(r);
}

int vrt_joiner_picture(const struct vrt_joiner_picture *picture, int64_t *ret_size_bytes,
                       struct vrt_warnings *warnings, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_segment_reader_closep) struct vrt_segment_reader *reader = NULL;
    VRT_CLEANUP(vrt_av_packet_freep) AVPacket *packet = av_packet_alloc();
    VRT_CLEANUP(vrt_buf_done) struct vrt_buf file = { .limit_bytes = INT32_MAX };

    vrt_av_log_install();
    if (!packet)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the output");
    int r = vrt_segment_reader_open(picture->segment_fd, 1, &reader, error);
    if (r < 0)
        return vrt_fold(r);
    r = find_packet(reader, picture->index, packet, error);
    if (r < 0)
        return vrt_fold(r);
    const struct vrt_still_params still = {
        .packet = packet,
        .container = picture->container,
        .format = &reader->head.format,
        .original = { .fd = picture->original_fd, .name = picture->original_name },
    };
    r = vrt_still_make(&still, &file, warnings, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_size_bytes = (int64_t)file.size_bytes;
    return vrt_fold(write_out(picture->output_fd, &file, error));
}

int vrt_join_still(const struct vrt_joiner_params *params, struct vrt_joiner_result *ret_result,
                   struct vrt_error *error)
{
    VRT_CLEANUP(vrt_join_video_closep) struct vrt_join_video *video = NULL;
    struct vrt_joiner_result result = { .n_frames = 0 };

    vrt_av_log_install();
    int r = vrt_join_video_open(&params->segments, &video, error);
    if (r < 0)
        return vrt_fold(r);
    if (video->n_frames != 1)
        return vrt_refuse(error, vrt_raise(-EINVAL), "output.container",
                          ".%s holds one picture, and the input has %lld: name the output .mkv",
                          vrt_container_name(params->container),
                          (long long)video->n_frames);
    r = make_file(params, video, &result, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_result = result;
    return 0;
}
