/* SPDX-License-Identifier: MIT */

/* A frame that the process still looks at keeps its reference here: they are given up in order. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "frames/process/child-encoder.h"
#include "frames/process/child-impl.h"

/* Without a word for so long an encoder hangs, on the slowest machine. */
#define SILENCE_NS (300 * VRT_NS_PER_S)

/* The same of what is asked before a job is admitted, while others wait for their turn. */
#define LOOK_NS (30 * VRT_NS_PER_S)

/* What a slow machine takes to decode a frame. */
#define SKIP_FRAME_NS VRT_NS_PER_S

/* Frames that an encoder looks at after it took them; those that we use copy them. */
#define HELD_MAX 64

/* What a segment may hold: twice its frames as they are, which no encoder needs, and its head. */
#define FRAME_TIMES_MAX 2
#define HEAD_BYTES_MAX (1 << 20)

static const char encoding[] = "encoding";

struct vrt_child_encoder {
    struct vrt_child *child;
    struct vrt_frame_format format;
    int segment_fd;
    int64_t segment_bytes_max;      /* with the frames that were sent */
    struct vrt_frame_pool *copies;  /* of frames that no other process can see; NULL: none was */
    bool has_sent;
    struct vrt_frame *held[HELD_MAX];   /* in order */
    int n_held;
};

/* A call about an encoder. */
static struct vrt_child_call call_of(size_t size, int fd)
{
    return (struct vrt_child_call){
        .size = size,
        .fds = { fd >= 0, { fd } },
        .limit_ns = SILENCE_NS,
        .doing = encoding,
        .growing_fd = -1,
    };
}

/* Asks what encoder params alone are needed for; `bytes_max` (may be NULL): of what it writes. */
static int ask(struct vrt_child *child, enum vrt_message_kind kind,
               const struct vrt_encoder_params *params, int fd, const int64_t *bytes_max,
               struct vrt_error *error)
{
    struct vrt_message message;
    struct vrt_child_call call = call_of(VRT_MESSAGE_BYTES(encoder), fd);

    vrt_message_init(&message, kind);
    if (params->preset && vrt_preset_find(params->preset) < 0)
        return vrt_refuse(error, vrt_raise(-EINVAL), "output.preset",
                          "there is no such preset: they go from ultrafast over medium to "
                          "veryslow and placebo");
    if (bytes_max)
        call.growing_fd = fd;
    else
        call.limit_ns = LOOK_NS;
    call.growing_bytes_max = bytes_max;
    vrt_wire_put_encoder(params, &message.body.encoder);
    return vrt_fold(vrt_child_ask(child, &call, &message, error));
}

int vrt_child_codec_check(struct vrt_child *child, enum vrt_codec codec, struct vrt_error *error)
{
    struct vrt_message message;
    struct vrt_child_call call = call_of(VRT_MESSAGE_BYTES(pick), -1);

    vrt_message_init(&message, VRT_MESSAGE_ENCODER_CHECK);
    call.limit_ns = LOOK_NS;
    message.body.pick.codec = (int32_t)codec;
    return vrt_fold(vrt_child_ask(child, &call, &message, error));
}

int vrt_child_codec_find(struct vrt_child *child, enum vrt_codec codec,
                         struct vrt_codec_found *ret_found, struct vrt_error *error)
{
    struct vrt_message message;
    struct vrt_child_call call = call_of(VRT_MESSAGE_BYTES(find), -1);

    vrt_message_init(&message, VRT_MESSAGE_ENCODER_FIND);
    call.limit_ns = LOOK_NS;
    message.body.find.codec = (int32_t)codec;
    int r = vrt_child_ask(child, &call, &message, error);
    if (r < 0)
        return vrt_fold(r);
    if (vrt_wire_take_found(&message.body.find, ret_found) < 0)
        return vrt_child_distrust(child, encoding, error);
    return 0;
}

int vrt_child_encoder_pick_format(struct vrt_child *child, const struct vrt_encoder_pick *pick,
                                  struct vrt_frame_format *ret_format,
                                  struct vrt_warnings *warnings, struct vrt_error *error)
{
    struct vrt_message message;
    struct vrt_child_call call = call_of(VRT_MESSAGE_BYTES(pick), -1);
    struct vrt_frame_format format;

    vrt_message_init(&message, VRT_MESSAGE_ENCODER_PICK);
    call.limit_ns = LOOK_NS;
    message.body.pick.codec = (int32_t)pick->codec;
    message.body.pick.width = pick->width;
    message.body.pick.height = pick->height;
    snprintf(message.body.pick.pixel_format, sizeof(message.body.pick.pixel_format), "%s",
             pick->pixel_format ? pick->pixel_format : "");
    vrt_wire_put_format(pick->input, &message.body.pick.format);
    int r = vrt_child_ask(child, &call, &message, error);
    if (r < 0)
        return vrt_fold(r);
    if (vrt_wire_take_format(&message.body.pick.format, &format) < 0 ||
        format.width != pick->width || format.height != pick->height ||
        vrt_wire_take_warnings(&message.body.pick.warnings, warnings) < 0)
        return vrt_child_distrust(child, encoding, error);
    *ret_format = format;
    return 0;
}

int vrt_child_encoder_try(struct vrt_child *child, const struct vrt_encoder_params *params,
                          struct vrt_error *error)
{
    return vrt_fold(ask(child, VRT_MESSAGE_ENCODER_TRY, params, -1, NULL, error));
}

int vrt_child_encoder_check_segment(struct vrt_child *child,
                                    const struct vrt_encoder_params *params, int fd,
                                    struct vrt_error *error)
{
    return vrt_fold(ask(child, VRT_MESSAGE_ENCODER_FITS, params, fd, NULL, error));
}

int vrt_child_encoder_new(struct vrt_child *child, const struct vrt_encoder_params *params, int fd,
                          struct vrt_child_encoder **ret_encoder, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_child_encoder_freep) struct vrt_child_encoder *encoder =
        calloc(1, sizeof(*encoder));

    if (!encoder)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the encoder");
    encoder->child = child;
    encoder->format = params->format;
    encoder->segment_fd = fd;
    encoder->segment_bytes_max = HEAD_BYTES_MAX;
    int r = ask(child, VRT_MESSAGE_ENCODER_NEW, params, fd, &encoder->segment_bytes_max,
                error);
    if (r < 0)
        return vrt_fold(r);
    *ret_encoder = VRT_STEAL(encoder);
    return 0;
}

/* A reference of the frame where another process can see it: itself, or a copy. */
static int share(struct vrt_child_encoder *encoder, struct vrt_frame *frame,
                 struct vrt_frame **ret_shared)
{
    if (frame->share.fd >= 0 && frame->writable) {
        *ret_shared = vrt_frame_ref(frame);
        return 0;
    }
    int r = encoder->copies ? 0 : vrt_frame_pool_new(&encoder->format, &encoder->copies);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_frame_pool_get(encoder->copies, ret_shared);
    if (r < 0)
        return vrt_fold(r);
    vrt_frame_copy_samples(frame, *ret_shared);
    return 0;
}

/* Keeps the last `n` of the frames that were sent. */
static void keep_held(struct vrt_child_encoder *encoder, int n)
{
    const int n_gone = encoder->n_held - n;

    for (int i = 0; i < n_gone; i++)
        vrt_frame_unref(encoder->held[i]);
    memmove(encoder->held, encoder->held + n_gone, (size_t)n * sizeof(*encoder->held));
    encoder->n_held = n;
}

static void watch_segment(const struct vrt_child_encoder *encoder, struct vrt_child_call *call)
{
    call->growing_fd = encoder->segment_fd;
    call->growing_bytes_max = &encoder->segment_bytes_max;
    call->growth_is_life = true;
}

int vrt_child_encoder_send(struct vrt_child_encoder *encoder, struct vrt_frame *frame,
                           struct vrt_error *error)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *shared = NULL;
    struct vrt_message message;

    vrt_message_init(&message, VRT_MESSAGE_ENCODER_SEND);
    if (!vrt_frame_format_scales_to(&frame->format, &encoder->format))
        return vrt_refuse(error, vrt_raise(-EINVAL), "encode.failed",
                          "frame %lld does not follow the one before it in format or time",
                          (long long)frame->index);
    int r = share(encoder, frame, &shared);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "the encoder");
    message.body.encoder_send.frame = (struct vrt_message_frame){
        .offset_bytes = shared->share.offset_bytes,
        .pts = frame->pts,
        .duration = frame->duration,
        .index = frame->index,
        .concealed = frame->concealed,
        .extra = frame->extra,
    };
    vrt_wire_put_format(&frame->format, &message.body.encoder_send.format);
    struct vrt_child_call call = call_of(VRT_MESSAGE_BYTES(encoder_send), shared->share.fd);
    encoder->segment_bytes_max += FRAME_TIMES_MAX * (int64_t)vrt_frame_bytes(&shared->format);
    watch_segment(encoder, &call);
    /* The transparency of a film that goes on is decoded from its beginning. */
    if (encoder->format.has_alpha && !encoder->has_sent)
        call.limit_ns += VRT_MAX(frame->index, 0) * SKIP_FRAME_NS;
    encoder->has_sent = true;
    r = vrt_child_ask(encoder->child, &call, &message, error);
    if (r < 0)
        return vrt_fold(r);
    const int n_held = message.body.encoder_send.n_held;
    if (n_held < 0 || n_held > encoder->n_held + 1 || n_held > HELD_MAX - 1)
        return vrt_child_distrust(encoder->child, encoding, error);
    encoder->held[encoder->n_held++] = VRT_STEAL(shared);
    keep_held(encoder, n_held);
    return 0;
}

int vrt_child_encoder_finish(struct vrt_child_encoder *encoder, int64_t *ret_size_bytes,
                             struct vrt_error *error)
{
    struct vrt_message message;
    struct vrt_child_call call = call_of(VRT_MESSAGE_BYTES(segment), -1);

    vrt_message_init(&message, VRT_MESSAGE_ENCODER_FINISH);
    watch_segment(encoder, &call);
    int r = vrt_child_ask(encoder->child, &call, &message, error);
    if (r < 0)
        return vrt_fold(r);
    /* It may have kept the descriptor: from here on nothing grows. */
    vrt_child_may_write(encoder->child, 0);
    struct stat st;
    if (message.body.segment.number <= 0 || fstat(encoder->segment_fd, &st) < 0 ||
        message.body.segment.number != st.st_size)
        return vrt_child_distrust(encoder->child, encoding, error);
    *ret_size_bytes = message.body.segment.number;
    return 0;
}

struct vrt_child_encoder *vrt_child_encoder_free(struct vrt_child_encoder *encoder)
{
    if (!encoder)
        return NULL;
    keep_held(encoder, 0);
    vrt_frame_pool_free(encoder->copies);
    free(encoder);
    return NULL;
}
