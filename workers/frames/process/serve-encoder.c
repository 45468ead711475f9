/* SPDX-License-Identifier: MIT */

/* What is asked about an encoder, of which there is one at a time. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames/process/serve.h"

/* What the frame's end tells the server. */
struct held {
    struct vrt_server *server;
    struct vrt_frame *place;        /* a reference */
};

int vrt_serve_encoder_check(struct vrt_server *server, struct vrt_message *message,
                            struct vrt_message_fds *fds, size_t *size, struct vrt_error *error)
{
    (void)server, (void)fds, (void)size;
    if (message->body.pick.codec < 0 || message->body.pick.codec >= VRT_CODEC_COUNT)
        return vrt_raise(-EBADMSG);
    return vrt_fold(vrt_codec_check((enum vrt_codec)message->body.pick.codec, error));
}

int vrt_serve_encoder_find(struct vrt_server *server, struct vrt_message *message,
                           struct vrt_message_fds *fds, size_t *size, struct vrt_error *error)
{
    struct vrt_codec_found found;
    const int32_t codec = message->body.find.codec;

    (void)server, (void)fds, (void)error;
    if (codec < 0 || codec >= VRT_CODEC_COUNT)
        return vrt_raise(-EBADMSG);
    vrt_codec_find((enum vrt_codec)codec, &found);
    snprintf(message->body.find.encoders, sizeof(message->body.find.encoders), "%s",
             found.encoders);
    snprintf(message->body.find.pixel_formats, sizeof(message->body.find.pixel_formats), "%s",
             found.pixel_formats);
    *size = VRT_MESSAGE_BYTES(find);
    return 0;
}

int vrt_serve_encoder_pick(struct vrt_server *server, struct vrt_message *message,
                           struct vrt_message_fds *fds, size_t *size, struct vrt_error *error)
{
    struct vrt_frame_format input, format;
    struct vrt_warnings warnings = { .n = 0 };

    (void)server, (void)fds;
    if (message->body.pick.codec < 0 || message->body.pick.codec >= VRT_CODEC_COUNT ||
        !memchr(message->body.pick.pixel_format, '\0',
                sizeof(message->body.pick.pixel_format)) ||
        vrt_wire_take_format(&message->body.pick.format, &input) < 0)
        return vrt_raise(-EBADMSG);
    const struct vrt_encoder_pick pick = {
        .codec = (enum vrt_codec)message->body.pick.codec,
        .pixel_format = message->body.pick.pixel_format,
        .input = &input,
        .width = message->body.pick.width,
        .height = message->body.pick.height,
    };
    int r = vrt_encoder_pick_format(&pick, &format, &warnings, error);
    if (r < 0)
        return vrt_fold(r);
    vrt_wire_put_format(&format, &message->body.pick.format);
    vrt_wire_put_warnings(&warnings, &message->body.pick.warnings);
    *size = VRT_MESSAGE_BYTES(pick);
    return 0;
}

int vrt_serve_encoder_try(struct vrt_server *server, struct vrt_message *message,
                          struct vrt_message_fds *fds, size_t *size, struct vrt_error *error)
{
    struct vrt_encoder_params params;

    (void)server, (void)fds, (void)size;
    int r = vrt_wire_take_encoder(&message->body.encoder, &params);
    return r < 0 ? vrt_fold(r) : vrt_fold(vrt_encoder_try(&params, error));
}

int vrt_serve_encoder_fits(struct vrt_server *server, struct vrt_message *message,
                           struct vrt_message_fds *fds, size_t *size, struct vrt_error *error)
{
    struct vrt_encoder_params params;

    (void)server, (void)size;
    int r = vrt_wire_take_encoder(&message->body.encoder, &params);
    return r < 0 ? vrt_fold(r) : vrt_fold(vrt_encoder_check_segment(&params, fds->fds[0], error));
}

int vrt_serve_encoder_new(struct vrt_server *server, struct vrt_message *message,
                          struct vrt_message_fds *fds, size_t *size, struct vrt_error *error)
{
    struct vrt_encoder_params params;
    int r = vrt_wire_take_encoder(&message->body.encoder, &params);

    (void)size;
    if (r < 0)
        return vrt_fold(r);
    server->encoder = vrt_encoder_free(server->encoder);
    vrt_closep(&server->segment_fd);
    server->segment_fd = fds->fds[--fds->n];
    return vrt_fold(vrt_encoder_new(&params, server->segment_fd, &server->encoder, error));
}

static void release_held(struct vrt_frame *frame)
{
    struct held *held = frame->owner;

    atomic_fetch_sub(&held->server->n_held, 1);
    vrt_frame_unref(held->place);
    free(held);
}

/* A frame that is counted for as long as the encoder looks at it. */
static int hold(struct vrt_server *server, struct vrt_frame *place, struct vrt_frame **ret_frame)
{
    struct vrt_frame *frame = vrt_frame_alloc(&place->format);
    struct held *held = malloc(sizeof(*held));

    if (!frame || !held) {
        vrt_frame_unref(frame);
        free(held);
        return vrt_raise(-ENOMEM);
    }
    *held = (struct held){ server, vrt_frame_ref(place) };
    for (int i = 0; i < vrt_frame_format_n_planes(&place->format); i++)
        frame->planes[i] = place->planes[i];
    frame->owner = held;
    frame->release = release_held;
    atomic_fetch_add(&server->n_held, 1);
    *ret_frame = frame;
    return 0;
}

/* Whether the frame is shown no later than that which is encoded. */
static bool has_begun(const struct vrt_server *server, const struct vrt_frame *alpha,
                      const struct vrt_message_frame *told)
{
    return server->alpha.is_made ? alpha->index <= told->index : alpha->pts <= told->pts;
}

/* Goes on with the transparency as far as what is shown with the frame. */
static int find_alpha(struct vrt_server *server, const struct vrt_message_frame *told,
                      struct vrt_error *error)
{
    if (!server->reader)
        return vrt_raise(-EBADMSG);
    while (!server->alpha.ended &&
           (!server->alpha.next || has_begun(server, server->alpha.next, told))) {
        if (server->alpha.next) {
            vrt_frame_unref(server->alpha.shown);
            server->alpha.shown = VRT_STEAL(server->alpha.next);
        }
        int r = vrt_reader_next(server->reader, &server->alpha.next, error);
        if (r < 0)
            return vrt_fold(r);
        server->alpha.ended = r == VRT_READER_END;
    }
    if (server->alpha.is_made &&
        (!server->alpha.shown || server->alpha.shown->index != told->index))
        return vrt_refuse_errno(error, vrt_raise(-EBADMSG), "the restored transparency");
    return 0;
}

int vrt_serve_encoder_send(struct vrt_server *server, struct vrt_message *message,
                           struct vrt_message_fds *fds, size_t *size, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *place = NULL;
    const struct vrt_message_frame *told = &message->body.encoder_send.frame;
    struct vrt_frame *frame = NULL;
    struct vrt_frame_format format;

    if (!server->encoder || !vrt_frame_extra_is_valid(&told->extra) ||
        vrt_wire_take_format(&message->body.encoder_send.format, &format) < 0)
        return vrt_raise(-EBADMSG);
    int r = vrt_serve_map(fds->fds[0], &format, told->offset_bytes, &place);
    if (r == 0)
        r = hold(server, place, &frame);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "the encoder");
    frame->pts = told->pts;
    frame->duration = told->duration;
    frame->index = told->index;
    frame->concealed = told->concealed;
    frame->extra = told->extra;
    if (format.has_alpha)
        r = find_alpha(server, told, error);
    if (server->alpha.shown)
        frame->alpha = vrt_frame_ref(server->alpha.shown);
    if (r == 0)
        r = vrt_encoder_send(server->encoder, frame, error);
    vrt_frame_unref(frame);
    message->body.encoder_send.n_held = atomic_load(&server->n_held);
    *size = VRT_MESSAGE_BYTES(encoder_send);
    return vrt_fold(r);
}

int vrt_serve_encoder_finish(struct vrt_server *server, struct vrt_message *message,
                             struct vrt_message_fds *fds, size_t *size, struct vrt_error *error)
{
    int64_t size_bytes = 0;

    (void)fds;
    if (!server->encoder)
        return vrt_raise(-EBADMSG);
    int r = vrt_encoder_finish(server->encoder, &size_bytes, error);
    server->encoder = vrt_encoder_free(server->encoder);
    vrt_closep(&server->segment_fd);
    server->segment_fd = -1;
    message->body.segment.number = size_bytes;
    *size = VRT_MESSAGE_BYTES(segment);
    return vrt_fold(r);
}
