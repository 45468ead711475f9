/* SPDX-License-Identifier: MIT */

#include "workers/media/target-size.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/macro.h"

/* What segments' files have beyond their packets (frames/encode/segment.h): a frame's head and
 * checksum; the file's head and end, with the encoder's own head. */
#define FRAME_BYTES 36
#define SEGMENT_BYTES 500

/* What is left to what nobody foresees. */
#define MARGIN 0.995

/* "1.4 MB", and so in sentences alone. */
static const char *size_text(double bytes, char text[32])
{
    static const char *const units[] = { "bytes", "kB", "MB", "GB", "TB", "PB" };
    size_t i = 0;

    /* From there on three digits would say 1e+03. */
    while (bytes >= 999.5 && i + 1 < VRT_ARRAY_SIZE(units)) {
        bytes /= 1000;
        i++;
    }
    snprintf(text, 32, "%.3g %s", bytes, units[i]);
    return text;
}

/* How large all of its frames become at the codec's worst quality. */
static double least_bytes(const struct vrt_target_size *target)
{
    struct vrt_encoder_params worst = *target->encoder;

    worst.bitrate = VRT_UNKNOWN;
    worst.quality = vrt_codec_facts(worst.codec)->quality_max;
    return vrt_encoder_frame_bytes(&worst) * (double)target->n_frames;
}

static int refuse_smallness(const struct vrt_target_size *target, double other_bytes,
                            double video_bytes, struct vrt_error *error)
{
    char asked[32], other[32], enough[32];

    return vrt_refuse(error, vrt_raise(-EINVAL), "output.quality",
                      "%s is too small for %lld frames of %dx%d pixels in %s, with %s of sound and "
                      "what else there is: ask for %s or more, or leave streams out",
                      size_text((double)target->size_bytes, asked), (long long)target->n_frames,
                      target->encoder->format.width, target->encoder->format.height,
                      vrt_codec_facts(target->encoder->codec)->title,
                      size_text(other_bytes, other),
                      size_text(ceil((other_bytes + video_bytes) / MARGIN * 1.005), enough));
}

int vrt_target_size_bitrate(const struct vrt_target_size *target, int64_t *ret_bitrate,
                            struct vrt_warnings *warnings, struct vrt_error *error)
{
    const struct vrt_encoder_params *encoder = target->encoder;
    const struct vrt_rational fps = encoder->fps;
    char shown[32];

    if (!vrt_codec_facts(encoder->codec)->has_bitrate)
        return vrt_refuse(error, vrt_raise(-EINVAL), "output.quality", "%s has no bitrate that a "
                          "target size could follow from: use H.264, HEVC, AV1 or VP9",
                          vrt_codec_facts(encoder->codec)->title);
    if (target->n_frames <= 0 || fps.num <= 0)
        return vrt_refuse(error, vrt_raise(-EINVAL), "output.quality", "a target size needs a "
                          "video whose length is known, and this one's container doesn't tell: "
                          "ask for a bitrate instead");
    const double frames_per_s = (double)fps.num / fps.den;
    const double duration_s = (double)target->n_frames / frames_per_s;
    const double other_bytes =
        (double)target->rest.size_bytes +
        vrt_container_overhead_bytes(target->container, &(struct vrt_container_load){
            .n_frames = (double)target->n_frames,
            .n_packets = (double)target->rest.n_packets,
            .frame_bytes = (double)(target->size_bytes - target->rest.size_bytes),
            .packet_bytes = (double)target->rest.size_bytes,
            .duration_s = duration_s,
        });
    const double video_bytes = (double)target->size_bytes * MARGIN - other_bytes;
    const double raw_bytes = (double)vrt_frame_format_size_bytes(&encoder->format) *
                             (double)target->n_frames;
    const double least = VRT_MAX(least_bytes(target), VRT_BITRATE_MIN / 8 * duration_s);
    if (video_bytes < least)
        return refuse_smallness(target, other_bytes, least, error);
    const double most = VRT_MIN(raw_bytes, (double)VRT_BITRATE_MAX / 8 * duration_s);
    if (video_bytes > most)
        vrt_warnings_add(warnings, "the result will be smaller than %s: nothing makes so much of "
                         "%lld frames", size_text((double)target->size_bytes, shown),
                         (long long)target->n_frames);
    *ret_bitrate = llrint(VRT_MIN(video_bytes, most) * 8 / duration_s);
    return 0;
}

static double frame_bytes(const struct vrt_target_size_course *course, int64_t bitrate)
{
    return (double)bitrate / 8 * course->fps.den / course->fps.num;
}

int64_t vrt_target_size_next(const struct vrt_target_size_course *course)
{
    const double least = 1.0 / VRT_TARGET_SIZE_TIMES_MAX, most = VRT_TARGET_SIZE_TIMES_MAX;
    const double all_bytes = frame_bytes(course, course->bitrate) * (double)course->n_frames;
    const int64_t n_left = course->n_frames - course->n_done;
    /* There may be more frames than were foreseen. */
    double times = n_left <= 0 ? least :
                   (all_bytes - course->took_bytes) / (double)n_left /
                   frame_bytes(course, course->bitrate);

    if (course->took_bytes > 0)
        times *= VRT_MIN(VRT_MAX(course->told_bytes / course->took_bytes, least), most);
    return llrint((double)course->bitrate * VRT_MIN(VRT_MAX(times, least), most));
}

void vrt_target_size_note(struct vrt_target_size_course *course, int64_t n_frames,
                          int64_t size_bytes)
{
    course->told_bytes += frame_bytes(course, vrt_target_size_next(course)) * (double)n_frames;
    course->took_bytes += VRT_MAX((double)(size_bytes - SEGMENT_BYTES - FRAME_BYTES * n_frames), 0);
    course->n_done += n_frames;
}
