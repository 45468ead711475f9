/* SPDX-License-Identifier: MIT */

/* What is asked about videos to be read, and about pictures of them. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "frames/decode/interlacing.h"
#include "frames/decode/places.h"
#include "frames/hwaccel/hwdec.h"
#include "frames/preview/preview.h"
#include "frames/process/serve.h"

void vrt_serve_reader_close(struct vrt_server *server)
{
    server->given = vrt_frame_unref(server->given);
    server->reader = vrt_reader_close(server->reader);
    server->places = vrt_places_free(server->places);
    server->alpha.shown = vrt_frame_unref(server->alpha.shown);
    server->alpha.next = vrt_frame_unref(server->alpha.next);
    server->alpha.ended = false;
    vrt_closep(&server->input_fd);
    server->input_fd = -1;
}

/* Asks vrtd for more of what comes by a pipe. Return: 0; -errno. */
static int ask_for_more(void *ctx, struct vrt_feed_state *state, struct vrt_error *error)
{
    const struct vrt_server *server = ctx;
    VRT_CLEANUP(vrt_freep) struct vrt_message *message = calloc(1, sizeof(*message));
    struct vrt_message_fds fds;

    (void)error;
    if (!message)
        return vrt_raise(-ENOMEM);
    message->kind = VRT_MESSAGE_READER_MORE;
    message->body.reader_more.size_bytes = state->size_bytes;
    message->body.reader_more.n_spent = state->n_spent;
    memcpy(message->body.reader_more.spent, state->spent, sizeof(state->spent));
    int r = vrt_message_send(server->socket, message, VRT_MESSAGE_BYTES(reader_more), NULL);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_message_receive(server->socket, -1, message, &fds);
    if (r < 0)
        return vrt_fold(r);
    vrt_message_fds_done(&fds);
    state->size_bytes = message->body.reader_more.size_bytes;
    state->at_end = message->body.reader_more.at_end;
    return 0;
}

int vrt_serve_reader_open(struct vrt_server *server, struct vrt_message *message,
                          struct vrt_message_fds *fds, size_t *size, struct vrt_error *error)
{
    const struct vrt_reader_params params = {
        .n_threads = message->body.reader_open.n_threads,
        .range = { message->body.reader_open.start_ns, message->body.reader_open.duration_ns },
        .first = message->body.reader_open.first,
        .first_pts = message->body.reader_open.first_pts,
        .tonemap = (enum vrt_tonemap)message->body.reader_open.tonemap,
        .fields = {
            (enum vrt_deinterlace)message->body.reader_open.deinterlace,
            (enum vrt_field_order)message->body.reader_open.field_order,
        },
        .streams = message->body.reader_open.streams,
        .strict = message->body.reader_open.strict,
        .hwdec = (enum vrt_hwdec)message->body.reader_open.hwdec,
        .keeps_extra = message->body.reader_open.keeps_extra,
        .is_alpha = message->body.reader_open.is_alpha,
        .name = message->body.reader_open.name,
        .open_deadline_ns = message->body.reader_open.limit_ns ?
                            vrt_clock_now_ns() + message->body.reader_open.limit_ns : 0,
        .feed = message->body.reader_open.is_fed ? &server->feed : NULL,
    };

    vrt_serve_reader_close(server);
    server->input_fd = fds->fds[--fds->n];
    server->alpha.is_made = !params.is_alpha;
    server->feed = (struct vrt_feed){ ask_for_more, server };
    int r = vrt_reader_open(server->input_fd, &params, &server->reader, error);
    if (r != 0)
        return vrt_fold(r);
    vrt_wire_put_info(vrt_reader_info(server->reader), &message->body.info);
    *size = VRT_MESSAGE_BYTES(info);
    return 0;
}

int vrt_serve_reader_try(struct vrt_server *server, struct vrt_message *message,
                         struct vrt_message_fds *fds, size_t *size, struct vrt_error *error)
{
    const int32_t codec = message->body.reader_try.codec, hwdec = message->body.reader_try.hwdec;

    (void)server, (void)fds, (void)size;
    if (codec < 0 || codec >= VRT_CODEC_COUNT || hwdec <= VRT_HWDEC_AUTO ||
        hwdec >= VRT_HWDEC_COUNT)
        return vrt_raise(-EBADMSG);
    return vrt_fold(vrt_hwdec_try((enum vrt_hwdec)hwdec, (enum vrt_codec)codec, error));
}

int vrt_serve_reader_next(struct vrt_server *server, struct vrt_message *message,
                          struct vrt_message_fds *fds, size_t *size, struct vrt_error *error)
{
    if (!server->reader)
        return vrt_refuse_errno(error, -EBADMSG, "the input");
    const struct vrt_reader_info *info = vrt_reader_info(server->reader);
    int r = server->places ? 0 : vrt_places_new(fds->fds[0], &info->format, &server->places);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "the input");
    vrt_reader_decode_into(server->reader, server->places);
    server->given = vrt_frame_unref(server->given);
    r = vrt_reader_next(server->reader, &server->given, error);
    if (r == VRT_READER_END) {
        vrt_wire_put_info(info, &message->body.info);
        *size = VRT_MESSAGE_BYTES(info);
    }
    if (r != 0)
        return r < 0 ? vrt_fold(r) : r;
    const struct vrt_frame *frame = server->given;
    vrt_places_show(server->places, frame, message->body.reader_next.planes);
    message->body.reader_next.frame = (struct vrt_message_frame){
        .pts = frame->pts,
        .duration = frame->duration,
        .index = frame->index,
        .concealed = frame->concealed,
        .extra = frame->extra,
    };
    message->body.reader_next.n_frames = info->n_frames;
    message->body.reader_next.n_concealed = info->n_concealed;
    message->body.reader_next.n_decoded = info->n_decoded;
    message->body.reader_next.can_go_on = info->can_go_on;
    *size = VRT_MESSAGE_BYTES(reader_next);
    return 0;
}

int vrt_serve_reader_look(struct vrt_server *server, struct vrt_message *message,
                          struct vrt_message_fds *fds, size_t *size, struct vrt_error *error)
{
    const enum vrt_deinterlace asked = (enum vrt_deinterlace)message->body.reader_look.deinterlace;
    struct vrt_reader_info info;

    (void)fds;
    if (!server->reader)
        return vrt_refuse_errno(error, -EBADMSG, "the input");
    int r = vrt_interlacing_look(server->reader, asked, &info, error);
    if (r < 0)
        return vrt_fold(r);
    vrt_wire_put_info(&info, &message->body.info);
    *size = VRT_MESSAGE_BYTES(info);
    return 0;
}

int vrt_serve_preview(struct vrt_server *server, struct vrt_message *message,
                      struct vrt_message_fds *fds, size_t *size, struct vrt_error *error)
{
    struct vrt_preview preview = {
        .before_fd = fds->fds[0],
        .after_fd = fds->fds[1],
        .picture_fd = fds->fds[2],
        .before_name = message->body.preview.before,
        .after_name = message->body.preview.after,
        .before_streams = message->body.preview.streams,
        .start_ns = message->body.preview.start_ns,
        .time_ns = message->body.preview.time_ns,
    };

    (void)server;
    int r = vrt_preview_make(&preview, error);
    if (r < 0)
        return vrt_fold(r);
    message->body.preview.shown_ns = preview.shown_ns;
    message->body.preview.width = preview.size.width;
    message->body.preview.height = preview.size.height;
    *size = VRT_MESSAGE_BYTES(preview);
    return 0;
}
