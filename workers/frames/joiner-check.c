/* SPDX-License-Identifier: MIT */

/* Before and after the joiner's work. */

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "frames/av.h"
#include "frames/join-streams.h"
#include "frames/joiner.h"
#include "frames/source.h"

/* Matroska counts in milliseconds, at both ends. */
#define TOLERANCE_NS (2 * VRT_NS_PER_MS)

struct found {
    int64_t n_frames;
    int64_t start, end;             /* presentation times, in the stream's time base */
};

/* Counts the packets of stream `video` to the end of the file. */
static int count_packets(struct vrt_source *source, int video, struct found *found,
                         struct vrt_error *error)
{
    VRT_CLEANUP(vrt_av_packet_freep) AVPacket *packet = av_packet_alloc();
    int r;

    if (!packet)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the output");
    *found = (struct found){ .start = INT64_MAX, .end = INT64_MIN };
    while ((r = vrt_source_next(source, packet, error)) == 0) {
        if (packet->stream_index == video && !(packet->flags & AV_PKT_FLAG_DISCARD)) {
            found->n_frames++;
            found->start = VRT_MIN(found->start, packet->pts);
            found->end = VRT_MAX(found->end, packet->pts + VRT_MAX(packet->duration, 0));
        }
        av_packet_unref(packet);
    }
    return r < 0 ? vrt_fold(r) : 0;
}

/* A frame's time is allowed: containers guess how long the last one stays. */
static int compare(const struct vrt_joiner_expected *expected, int64_t n_frames,
                   int64_t duration_ns, struct vrt_error *error)
{
    int64_t tolerance_ns = TOLERANCE_NS;

    if (expected->fps.num > 0)
        tolerance_ns += av_rescale(VRT_NS_PER_S, expected->fps.den, expected->fps.num);
    if (n_frames != expected->n_frames)
        return vrt_refuse(error, vrt_raise(-EBADMSG), "output.verify",
                          "the finished file holds %lld frames where %lld were restored: it is "
                          "not to be trusted, run the job again", (long long)n_frames,
                          (long long)expected->n_frames);
    if (llabs(duration_ns - expected->duration_ns) > tolerance_ns)
        return vrt_refuse(error, vrt_raise(-EBADMSG), "output.verify",
                          "the finished file lasts %.3f s instead of %.3f s: it is not to be "
                          "trusted, run the job again", (double)duration_ns / 1e9,
                          (double)expected->duration_ns / 1e9);
    return 0;
}

int vrt_joiner_preview(int input_fd, const char *input_name, enum vrt_container container,
                       struct vrt_warnings *warnings, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_source_closep) struct vrt_source *source = NULL;
    VRT_CLEANUP(vrt_join_streams_done) struct vrt_join_streams plan = { .container = container };
    const struct vrt_source_params params = { input_fd, input_name, NULL };

    int r = vrt_source_open(&params, &source, error);
    if (r == 0)
        r = vrt_source_check_rereadable(source, error);
    if (r < 0)
        return vrt_fold(r);
    plan.source = source;
    r = plan.video = vrt_source_pick_video(source, error);
    if (r < 0)
        return vrt_fold(r);
    if (vrt_join_streams_plan(&plan, VRT_JOIN_EVERYTHING, warnings) < 0)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the output");
    return 0;
}

int vrt_joiner_verify(int output_fd, const struct vrt_joiner_expected *expected,
                      const atomic_bool *cancel, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_source_closep) struct vrt_source *source = NULL;
    const struct vrt_source_params params = { output_fd, "the output", cancel };
    struct found found = { 0 };

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
    int64_t duration = found.n_frames ? found.end - found.start : 0;
    return vrt_fold(compare(expected, found.n_frames,
                            vrt_av_ns(duration, source->format->streams[video]->time_base), error));
}
