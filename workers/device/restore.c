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
        picture->extra = in->extra;
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
    out->extra = in->extra;
    frames->out[i] = out;
    return 0;
}

/* Frame `i` of those that one becomes: times are in ticks of which the input's has `times`. The
 * frame itself, and where scenes change those that would be between, have its samples. */
static int make_between(const struct vrt_job_spec *spec, struct vrt_shard_frames *frames, int i)
{
    const struct vrt_frame *in = frames->in[vrt_shard_at(frames)];
    struct vrt_frame *out;
    int r = vrt_frame_pool_get(spec->results, &out);

    if (r < 0)
        return vrt_fold(r);
    const int place = vrt_shard_place(frames, i), every = VRT_MAX(frames->every, 1);
    out->pts = frames->times * in->pts + place * frames->span;
    out->duration = every * frames->span;
    out->index = (frames->times * in->index + place) / every;
    out->concealed = i == 0 && in->concealed;
    /* Captions are spelled out once. */
    if (i == 0)
        out->extra = in->extra;
    frames->out[i] = out;
    if (spec->passes && (place == 0 || frames->depth == 0))
        vrt_frame_copy_samples(in, out);
    return 0;
}

/* Makes room for all results of the n computed frames from `first` on. */
static int make_results(const struct vrt_device_executor_shard *shard, int first, int n)
{
    const struct vrt_job_spec *spec = shard->order.spec;
    struct vrt_shard_frames *frames = shard->frames;
    const bool is_between = vrt_clip_is_between(&spec->rule);
    int r = 0;

    if (is_between)
        n = vrt_shard_n_out(frames);
    for (int i = 0; r == 0 && i < n; i++) {
        const int at = is_between ? i : frames->computed.at[first + i];
        r = is_between ? make_between(spec, frames, at) : make_result(spec, frames, at);
        frames->computed.out[first + i] = frames->out[at];
    }
    return r;
}

/* Where scenes change and the frame had to be converted, those that would follow are the same. */
static void hold(const struct vrt_job_spec *spec, struct vrt_shard_frames *frames)
{
    if (!vrt_clip_is_between(&spec->rule) || spec->passes || frames->depth)
        return;
    for (int i = 1; i < vrt_shard_n_out(frames); i++)
        vrt_frame_copy_samples(frames->out[0], frames->out[i]);
}

/* Chooses what is computed: in a network that sees each frame by itself equal ones become equal. */
static void choose_computed(const struct vrt_device_executor_shard *shard)
{
    struct vrt_shard_frames *frames = shard->frames;
    const bool skips = frames->n_repeated > 0 && !shard->order.spec->rule.temporal;

    frames->computed.n = 0;
    for (int i = 0; i < frames->n; i++) {
        if (skips && i > 0 && frames->in[i]->repeats)
            continue;
        frames->computed.in[frames->computed.n] = frames->in[i];
        frames->computed.at[frames->computed.n++] = i;
    }
}

/* Makes the frames that weren't computed. */
static int repeat(const struct vrt_device_executor_shard *shard)
{
    struct vrt_shard_frames *frames = shard->frames;

    for (int i = 1; frames->computed.n < frames->n && i < frames->n; i++) {
        if (!frames->in[i]->repeats)
            continue;
        int r = make_result(shard->order.spec, frames, i);
        if (r < 0)
            return vrt_fold(r);
        vrt_frame_copy_samples(frames->out[i - 1], frames->out[i]);
    }
    return 0;
}

/* Whether nothing of the shard is for the device. */
static bool is_made(const struct vrt_job_spec *spec, const struct vrt_shard_frames *frames)
{
    return vrt_clip_is_between(&spec->rule) && spec->passes && !frames->depth;
}

/* Frames that go through the session together, where so many went before. */
static int step_of(const struct vrt_device_executor_shard *shard, int n_before)
{
    const int n = shard->frames->computed.n - n_before;

    return shard->order.spec->rule.temporal ? n : VRT_MIN(n, vrt_session_depth(shard->session));
}

void vrt_restore_init(struct vrt_device_executor_shard *shard, struct vrt_session *session)
{
    shard->session = session;
    shard->n_begun = shard->n_ended = 0;
    choose_computed(shard);
    shard->result = 0;
}

bool vrt_restore_has_more(const struct vrt_device_executor_shard *shard)
{
    return shard->result == 0 && shard->n_begun < shard->frames->computed.n;
}

static bool is_in_flight(const struct vrt_device_executor_shard *shard)
{
    return shard->n_begun > shard->n_ended;
}

bool vrt_restore_is_done(const struct vrt_device_executor_shard *shard)
{
    return !is_in_flight(shard) &&
           (shard->result != 0 || shard->n_ended == shard->frames->computed.n);
}

/* Frames before the bad one go as well: the shard is restored elsewhere as a whole, and what a
 * failing device made a moment earlier is no better founded. Those in flight still are written
 * to. */
static void settle(struct vrt_device_executor_shard *shard)
{
    if (shard->result == 0 || is_in_flight(shard))
        return;
    vrt_shard_frames_drop_out(shard->frames);
    int ignored = vrt_refuse(shard->error, shard->result, "device.failed", "%s",
                             vrt_backend_strerror(shard->result));
    (void)ignored;
}

static void begin(struct vrt_device_executor_shard *shard)
{
    const struct vrt_job_spec *spec = shard->order.spec;
    struct vrt_shard_frames *frames = shard->frames;
    struct vrt_graph_executor_watch watch = shard->order.watch;
    const int first = shard->n_begun, n = step_of(shard, first);
    const struct vrt_session_clip clip = {
        .n = n,
        .depth = spec->rule.temporal ? frames->depth : n,
        .first = frames->first,
        .n_between = vrt_shard_n_out(frames),
        .in = frames->computed.in + first,
        .out = frames->computed.out + first,
        .shared = frames->shared + first,
    };
    int r = make_results(shard, first, n);

    watch.op_times = shard->order.op_times;
    if (r == 0 && is_made(spec, frames))
        shard->n_ended += n;
    else if (r == 0)
        r = vrt_session_begin(shard->session, &clip, &watch, shard->times);
    if (r == 0)
        shard->n_begun += clip.n;
    shard->result = r;
    settle(shard);
}

static void end(struct vrt_device_executor_shard *shard)
{
    struct vrt_session_evidence evidence[VRT_CLIP_FRAMES_MAX];
    const int n = step_of(shard, shard->n_ended);
    const struct vrt_job_spec *spec = shard->order.spec;
    const int n_out = vrt_clip_is_between(&spec->rule) ? vrt_shard_n_out(shard->frames) : n;
    int r = vrt_session_end(shard->session, shard->times,
                            shard->result == 0 ? evidence : NULL);

    shard->n_ended += n;
    for (int i = 0; r == 0 && shard->result == 0 && i < n_out; i++)
        r = check(&evidence[i], shard->order.accepts_odd, shard->error);
    if (r == 0 && shard->result == 0)
        hold(spec, shard->frames);
    if (r == 0 && shard->result == 0 && shard->n_ended == shard->frames->computed.n)
        r = repeat(shard);
    if (shard->result == 0)
        shard->result = r;
    settle(shard);
}

void vrt_restore_advance(struct vrt_device_executor_shard *const *shards, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (vrt_restore_has_more(shards[i]) && vrt_session_has_room(shards[i]->session)) {
            begin(shards[i]);
            return;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (is_in_flight(shards[i])) {
            end(shards[i]);
            return;
        }
    }
}
