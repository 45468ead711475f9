/* SPDX-License-Identifier: MIT */

/* What is asked about segments and the finished file. */

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "frames/join/joiner.h"
#include "frames/process/serve.h"

static bool is_container(int32_t container)
{
    return container >= 0 && container < VRT_CONTAINER_COUNT;
}

int vrt_serve_segment_check(struct vrt_server *server, struct vrt_message *message,
                            struct vrt_message_fds *fds, size_t *size, struct vrt_error *error)
{
    const enum vrt_joiner_check check = message->body.segment.check == VRT_JOINER_CHECK_ALL ?
                                        VRT_JOINER_CHECK_ALL : VRT_JOINER_CHECK_ENDS;
    int64_t n_frames = 0;

    (void)server;
    int r = vrt_joiner_check_segment(fds->fds[0], (int)message->body.segment.number, check,
                                     &n_frames, error);
    message->body.segment.number = n_frames;
    *size = VRT_MESSAGE_BYTES(segment);
    return vrt_fold(r);
}

int vrt_serve_join_preview(struct vrt_server *server, struct vrt_message *message,
                           struct vrt_message_fds *fds, size_t *size, struct vrt_error *error)
{
    struct vrt_warnings warnings = { .n = 0 };

    (void)server;
    if (!is_container(message->body.join.container))
        return vrt_raise(-EBADMSG);
    const struct vrt_joiner_preview preview = {
        .input_fd = fds->fds[0],
        .input_name = message->body.join.name,
        .container = (enum vrt_container)message->body.join.container,
        .streams = message->body.join.streams,
        .deadline_ns = message->body.join.limit_ns ?
                       vrt_clock_now_ns() + message->body.join.limit_ns : 0,
        .span_ns = message->body.join.span_ns,
    };
    struct vrt_joiner_rest rest = { 0 };
    int r = vrt_joiner_preview(&preview, &rest, &warnings, error);
    message->body.previewed.n_packets = rest.n_packets;
    message->body.previewed.size_bytes = rest.size_bytes;
    message->body.previewed.streams = rest.streams;
    vrt_wire_put_warnings(&warnings, &message->body.previewed.warnings);
    *size = VRT_MESSAGE_BYTES(previewed);
    return vrt_fold(r);
}

/* Asks vrtd for a segment. Return: its descriptor; -errno. */
static int open_segment(void *ctx, int number)
{
    const struct vrt_server *server = ctx;
    struct vrt_message_fds fds;
    struct vrt_message *message = calloc(1, sizeof(*message));

    if (!message)
        return vrt_raise(-ENOMEM);
    message->kind = VRT_MESSAGE_JOIN_SEGMENT;
    message->body.segment.number = number;
    int r = vrt_message_send(server->socket, message, VRT_MESSAGE_BYTES(segment), NULL);
    if (r == 0)
        r = vrt_message_receive(server->socket, -1, message, &fds);
    if (r == 0)
        r = message->result < 0 ? message->result : fds.n == 1 ? fds.fds[0] : -EBADMSG;
    free(message);
    return r;
}

int vrt_serve_join(struct vrt_server *server, struct vrt_message *message,
                   struct vrt_message_fds *fds, size_t *size, struct vrt_error *error)
{
    struct vrt_joiner_result *result = calloc(1, sizeof(*result));
    struct vrt_hdr hdr;

    if (!result || !is_container(message->body.join.container) ||
        vrt_wire_take_hdr(&message->body.join.hdr, &hdr) < 0) {
        free(result);
        return vrt_raise(result ? -EBADMSG : -ENOMEM);
    }
    const struct vrt_joiner_params params = {
        .segments = { .open = open_segment, .ctx = server,
                      .n = (int)message->body.join.n_segments },
        .input_fd = fds->fds[0],
        .input_name = message->body.join.name,
        .output_fd = fds->fds[1],
        .container = (enum vrt_container)message->body.join.container,
        .is_part = message->body.join.is_part,
        .is_bare = message->body.join.is_bare,
        .streams = message->body.join.streams,
        .hdr = hdr,
    };
    int r = vrt_joiner_run(&params, result, error);
    message->body.joined.n_frames = result->n_frames;
    message->body.joined.duration_ns = result->duration_ns;
    message->body.joined.late_ns = result->late_ns;
    message->body.joined.size_bytes = result->size_bytes;
    vrt_wire_put_warnings(&result->warnings, &message->body.joined.warnings);
    *size = VRT_MESSAGE_BYTES(joined);
    free(result);
    return vrt_fold(r);
}

int vrt_serve_join_verify(struct vrt_server *server, struct vrt_message *message,
                          struct vrt_message_fds *fds, size_t *size, struct vrt_error *error)
{
    const struct vrt_joiner_expected expected = {
        .n_frames = message->body.join.n_frames,
        .span_ns = message->body.join.span_ns,
    };

    (void)server, (void)size;
    return vrt_fold(vrt_joiner_verify(fds->fds[0], &expected, NULL, error));
}

int vrt_serve_join_picture(struct vrt_server *server, struct vrt_message *message,
                           struct vrt_message_fds *fds, size_t *size, struct vrt_error *error)
{
    struct vrt_warnings warnings = { .n = 0 };
    int64_t size_bytes = 0;

    (void)server;
    if (!is_container(message->body.picture.container) ||
        !vrt_container_is_picture((enum vrt_container)message->body.picture.container))
        return vrt_raise(-EBADMSG);
    const struct vrt_joiner_picture picture = {
        .segment_fd = fds->fds[0],
        .index = message->body.picture.index,
        .container = (enum vrt_container)message->body.picture.container,
        .original_fd = message->body.picture.has_original ? fds->fds[1] : -1,
        .original_name = message->body.picture.name,
        .output_fd = fds->fds[2],
    };
    int r = vrt_joiner_picture(&picture, &size_bytes, &warnings, error);
    message->body.joined.n_frames = 1;
    message->body.joined.size_bytes = size_bytes;
    vrt_wire_put_warnings(&warnings, &message->body.joined.warnings);
    *size = VRT_MESSAGE_BYTES(joined);
    return vrt_fold(r);
}
