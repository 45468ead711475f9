/* SPDX-License-Identifier: MIT */

/*
 * Results are checked frame by frame: a device or driver that has gone wrong often returns black,
 * green or NaN instead of an error, and a film of 100,000 such frames is worse than none.
 */

#include "workers/device/restore.h"

#include "workers/device/device-executor.h"

/* Values of RGB beyond these are no picture any more: 0 to 1 is what can be shown. */
#define WILD_MIN (-16.0f)
#define WILD_MAX 17.0f

/* Whether the frame can be right. Return: 0; VRT_DEVICE_EXECUTOR_E_*, with what is wrong. */
static int check(const struct vrt_session_evidence *seen, bool accepts_odd,
                 struct vrt_error *error)
{
    const int r = VRT_DEVICE_EXECUTOR_E_OUTPUT;

    /* Written so that a NaN fails each of them. */
    if (!(seen->n_not_finite == 0))
        return vrt_refuse(error, r, "device.failed", "%.0f values of the result are not finite",
                          (double)seen->n_not_finite);
    if (!(seen->min >= WILD_MIN && seen->max <= WILD_MAX))
        return vrt_refuse(error, r, "device.failed",
                          "the result reaches from %.3g to %.3g, where 0 to 1 is a picture",
                          (double)seen->min, (double)seen->max);
    const bool is_odd = seen->flaw == VRT_FLAW_BLACK || seen->flaw == VRT_FLAW_CAST;
    if (seen->flaw == VRT_FLAW_NONE || (is_odd && accepts_odd))
        return 0;
    return vrt_refuse(error, is_odd ? VRT_DEVICE_EXECUTOR_E_ODD : r, "device.failed",
                      "the result %s", vrt_flaw_words[seen->flaw]);
}

/* Makes room for the result of frame `i`: as samples where the shard alone makes it up, as pixels
 * where it is one of several, none where it has no share in it. */
static int make_result(const struct vrt_job_spec *spec, struct vrt_shard_frames *frames, int i)
{
    const struct vrt_frame *in = frames->in[i];
    const struct vrt_share *share = &frames->shares[i];
    struct vrt_picture *picture;
    struct vrt_frame *out;
    int r;

    if (spec->rule.temporal && share->weight == 0)
        return 0;
    if (spec->rule.temporal && share->n > 1) {
        r = vrt_picture_new(spec->out.width, spec->out.height, &picture);
        if (r < 0)
            return vrt_fold(r);
        picture->share = *share;
        picture->pts = in->pts;
        picture->duration = in->duration;
        picture->index = in->index;
        picture->concealed = in->concealed;
        frames->shared[i] = picture;
        return 0;
    }
    r = vrt_frame_pool_get(spec->results, &out);
    if (r < 0)
        return vrt_fold(r);
    out->pts = in->pts;
    out->duration = in->duration;
    out->index = in->index;
    out->concealed = in->concealed;
    frames->out[i] = out;
    return 0;
}

/* Restores n frames of the shard from `first` on, of which the network sees `depth`. */
static int restore_clip(struct vrt_session *session, const struct vrt_device_executor_order *order,
                        struct vrt_shard_frames *frames, int first,
                        struct vrt_session_times *times, struct vrt_error *error)
{
    const struct vrt_job_spec *spec = order->spec;
    struct vrt_graph_executor_watch watch = order->watch;
    struct vrt_session_evidence evidence[VRT_CLIP_FRAMES_MAX];
    struct vrt_session_clip clip = {
        .n = spec->rule.temporal ? frames->n : 1,
        .depth = spec->rule.temporal ? frames->depth : 1,
        .in = frames->in + first,
        .out = frames->out + first,
        .shared = frames->shared + first,
    };
    int r = 0;

    for (int i = 0; r == 0 && i < clip.n; i++)
        r = make_result(spec, frames, first + i);
    if (r != 0)
        return r;
    watch.op_times = order->op_times;
    r = vrt_session_run(session, &clip, &watch, times, evidence);
    for (int i = 0; r == 0 && i < clip.n; i++)
        r = check(&evidence[i], order->accepts_odd, error);
    return r;
}

int vrt_restore_shard(struct vrt_session *session, const struct vrt_device_executor_order *order,
                      struct vrt_shard_frames *frames, struct vrt_session_times *times,
                      struct vrt_error *error)
{
    int step = order->spec->rule.temporal ? frames->n : 1, r = 0;

    for (int i = 0; r == 0 && i < frames->n; i += step)
        r = restore_clip(session, order, frames, i, times, error);
    /* Frames before the bad one go as well: the shard is restored elsewhere as a whole, and what a
     * failing device made a moment earlier is no better founded. */
    if (r != 0)
        vrt_shard_frames_drop_out(frames);
    return r;
}
