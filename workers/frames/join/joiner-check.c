/* SPDX-License-Identifier: MIT */

/* Before and after the joiner's work. */

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "frames/av.h"
#include "frames/join/join-rest.h"
#include "frames/join/join-streams.h"
#include "frames/join/joiner.h"
#include "frames/encode/segment.h"
#include "frames/decode/source.h"

/* Matroska counts in milliseconds, at both ends. */
#define TOLERANCE_NS (2 * VRT_NS_PER_MS)

struct found {
    int64_t n_frames;
    int64_t first, last;            /* presentation times, in the stream's time base */
};

/* Counts the packets of stream `video` to the end of the file. */
static int count_packets(struct vrt_source *source, int video, struct found *found,
                         struct vrt_error *error)
{
    VRT_CLEANUP(vrt_av_packet_freep) AVPacket *packet = av_packet_alloc();
    int r;

    if (!packet)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the output");
    while ((r = vrt_source_next(source, packet, error)) == 0) {
        if (packet->stream_index == video && !(packet->flags & AV_PKT_FLAG_DISCARD)) {
            found->n_frames++;
            found->first = VRT_MIN(found->first, packet->pts);
            found->last = VRT_MAX(found->last, packet->pts);
        }
        av_packet_unref(packet);
    }
    return r < 0 ? vrt_fold(r) : 0;
}

/* By how much times may have been rounded, at both ends: a GIF's count hundredths of a second. */
static int64_t tolerance_ns(const AVStream *stream)
{
    const bool is_gif = stream->codecpar->codec_id == AV_CODEC_ID_GIF;

    return is_gif ? vrt_av_ns(1, stream->time_base) : TOLERANCE_NS;
}

static int compare(const struct vrt_joiner_expected *expected, const AVStream *stream,
                   const struct found *found, struct vrt_error *error)
{
    const int64_t n_frames = found->n_frames;
    const int64_t span_ns = vrt_av_ns(n_frames ? found->last - found->first : 0,
                                      stream->time_base);

    if (n_frames != expected->n_frames)
        return vrt_refuse(error, vrt_raise(-EBADMSG), "output.verify",
                          "the finished file holds %lld frames where %lld were restored: it is "
                          "not to be trusted, run the job again", (long long)n_frames,
                          (long long)expected->n_frames);
    if (expected->span_ns >= 0 &&
        llabs(span_ns - expected->span_ns) > tolerance_ns(stream))
        return vrt_refuse(error, vrt_raise(-EBADMSG), "output.verify",
                          "in the finished file the last frame comes %.3f s after the first "
                          "instead of %.3f s: it is not to be trusted, run the job again",
                          (double)span_ns / 1e9, (double)expected->span_ns / 1e9);
    return 0;
}

int vrt_joiner_preview(const struct vrt_joiner_preview *preview, struct vrt_joiner_rest *ret_rest,
                       struct vrt_warnings *warnings, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_source_closep) struct vrt_source *source = NULL;
    VRT_CLEANUP(vrt_join_streams_done) struct vrt_join_streams plan = {
        .container = preview->container,
    };
    const struct vrt_source_params params = {
        .fd = preview->input_fd,
        .name = preview->input_name,
        .cancel = preview->cancel,
        .deadline_ns = preview->deadline_ns,
        .streams = preview->streams,
    };

    *ret_rest = (struct vrt_joiner_rest){ 0 };
    int r = vrt_source_open(&params, &source, error);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_source_check_rereadable(source, error);
    if (r < 0)
        return vrt_fold(r);
    /* What a picture's file has besides is looked at when it is written. */
    if (vrt_container_is_picture(preview->container))
        return 0;
    plan.source = source;
    r = plan.video = vrt_source_pick_video(source, error);
    if (r < 0)
        return vrt_fold(r);
    if (vrt_join_streams_plan(&plan, VRT_JOIN_EVERYTHING, warnings) < 0)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the output");
    r = preview->span_ns ? vrt_join_rest_estimate(&plan, preview->span_ns, ret_rest, error) : 0;
    vrt_join_streams_list(&plan, &ret_rest->streams);
    return vrt_fold(r);
}

int vrt_joiner_check_segment(int fd, int number, enum vrt_joiner_check check,
                             int64_t *ret_n_frames, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_segment_reader_closep) struct vrt_segment_reader *reader = NULL;
    VRT_CLEANUP(vrt_av_packet_freep) AVPacket *packet = av_packet_alloc();
    struct vrt_segment_packet info;
    int r = vrt_segment_reader_open(fd, number + 1, &reader, error);

    if (r == 0 && !packet)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the output");
    while (r == 0 && check == VRT_JOINER_CHECK_ALL)
        r = vrt_segment_reader_next(reader, &info, packet, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_n_frames = reader->end.n_packets;
    return 0;
}

int vrt_joiner_verify(int output_fd, const struct vrt_joiner_expected *expected,
                      const atomic_bool *cancel, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_source_closep) struct vrt_source *source = NULL;
    const struct vrt_source_params params = {
        .fd = output_fd,
        .name = "the output",
        .cancel = cancel,
        .streams = VRT_JOIN_RESTORED_SPECIFIER,
    };
    struct found found = { .first = INT64_MAX, .last = INT64_MIN };

    int r = vrt_source_open(&params, &source, error);
    if (r < 0)
        return vrt_fold(r);
    int video = vrt_source_pick_video(source, error);
    if (video < 0)
        return vrt_fold(video);
    for (unsigned int i = 0; i < source->format->nb_streams; i++)
        source->format->streams[i]->discard = (int)i == video ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
    r = count_packets(source, video, &found, error);
    if (r < 0)
        return vrt_fold(r);
    return vrt_fold(compare(expected, source->format->streams[video], &found, error));
}
