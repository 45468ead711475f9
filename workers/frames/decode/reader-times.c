/* SPDX-License-Identifier: MIT */

/* What a file says of times is believed as long as it makes sense: no frame is shown before the
 * last one. */

#include "base/macro.h"
#include "frames/av.h"
#include "frames/decode/reader-info.h"

int64_t vrt_reader_times_repair(struct vrt_reader_times *times, const AVFrame *decoded,
                                int64_t index)
{
    int64_t pts = decoded->best_effort_timestamp;
    bool missing = pts == AV_NOPTS_VALUE;

    times->n_guessed += decoded->pts == AV_NOPTS_VALUE || decoded->pts != pts;
    if (!missing && (!times->has_dated || pts > times->last_pts))
        return pts;
    times->n_undated += missing;
    bool is_usual = missing && times->has_dated && times->may_lack;
    if (!is_usual && !times->n_repaired++)
        times->first_repaired = index;
    if (!times->has_dated)
        return 0;
    return times->last_pts + (missing ? times->last_duration : 1);
}

int64_t vrt_reader_times_duration(const struct vrt_reader_times *times, const AVFrame *decoded)
{
    int64_t duration = vrt_av_frame_duration(decoded);
    struct vrt_rational fps = times->fps;

    if (duration <= 0 && fps.num > 0)
        duration = av_rescale_q(1, (AVRational){ fps.den, fps.num }, times->time_base);
    return VRT_MAX(duration, 1);
}

void vrt_reader_times_measure(struct vrt_reader_times *times, int64_t pts)
{
    int64_t gap = pts - times->last_pts - times->last_duration;

    if (gap <= times->last_duration / 2)
        return;
    if (!times->n_gaps)
        times->first_gap = times->last_pts + times->last_duration;
    times->n_gaps += VRT_MAX(gap / times->last_duration, 1);
}

void vrt_reader_times_note(struct vrt_reader_times *times, const AVFrame *decoded, int64_t pts)
{
    times->last_duration = vrt_reader_times_duration(times, decoded);
    times->last_pts = pts;
    times->has_dated = true;
}

void vrt_reader_times_forget(struct vrt_reader_times *times)
{
    times->n_repaired = times->n_undated = times->n_guessed = 0;
}

double vrt_reader_times_end_s(const struct vrt_reader_times *times)
{
    return (double)(times->last_pts + times->last_duration) * av_q2d(times->time_base);
}
