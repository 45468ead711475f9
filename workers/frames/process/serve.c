/* SPDX-License-Identifier: MIT */

/* What is done for which question, and the loop that answers them. */

#include "frames/process/serve.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

static int serve_sandbox(struct vrt_server *server, struct vrt_message *message,
                         struct vrt_message_fds *fds, size_t *size, struct vrt_error *error)
{
    (void)fds, (void)error;
    vrt_wire_put_name(server->missing, message->body.missing);
    *size = VRT_MESSAGE_BYTES(missing);
    return 0;
}

static const struct {
    vrt_serve *serve;
    int n_fds;
} questions[VRT_MESSAGE_KIND_COUNT] = {
    [VRT_MESSAGE_READER_OPEN] = { vrt_serve_reader_open, 1 },
    [VRT_MESSAGE_READER_NEXT] = { vrt_serve_reader_next, 1 },
    [VRT_MESSAGE_READER_LOOK] = { vrt_serve_reader_look, 0 },
    [VRT_MESSAGE_READER_TRY] = { vrt_serve_reader_try, 0 },
    [VRT_MESSAGE_ENCODER_CHECK] = { vrt_serve_encoder_check, 0 },
    [VRT_MESSAGE_ENCODER_FIND] = { vrt_serve_encoder_find, 0 },
    [VRT_MESSAGE_ENCODER_PICK] = { vrt_serve_encoder_pick, 0 },
    [VRT_MESSAGE_ENCODER_TRY] = { vrt_serve_encoder_try, 0 },
    [VRT_MESSAGE_ENCODER_NEW] = { vrt_serve_encoder_new, 1 },
    [VRT_MESSAGE_ENCODER_SEND] = { vrt_serve_encoder_send, 1 },
    [VRT_MESSAGE_ENCODER_FINISH] = { vrt_serve_encoder_finish, 0 },
    [VRT_MESSAGE_ENCODER_FITS] = { vrt_serve_encoder_fits, 1 },
    [VRT_MESSAGE_SEGMENT_CHECK] = { vrt_serve_segment_check, 1 },
    [VRT_MESSAGE_JOIN_PREVIEW] = { vrt_serve_join_preview, 1 },
    [VRT_MESSAGE_JOIN] = { vrt_serve_join, 2 },
    [VRT_MESSAGE_JOIN_PICTURE] = { vrt_serve_join_picture, 3 },
    [VRT_MESSAGE_JOIN_VERIFY] = { vrt_serve_join_verify, 1 },
    [VRT_MESSAGE_PREVIEW] = { vrt_serve_preview, 3 },
    [VRT_MESSAGE_COMPARE_OPEN] = { vrt_serve_compare_open, 2 },
    [VRT_MESSAGE_COMPARE_SHOW] = { vrt_serve_compare_show, 1 },
    [VRT_MESSAGE_COMPARE_NEXT] = { vrt_serve_compare_next, 0 },
    [VRT_MESSAGE_SANDBOX] = { serve_sandbox, 0 },
};

static void release_map(struct vrt_frame *frame)
{
    munmap(frame->owner, vrt_frame_bytes(&frame->format));
}

int vrt_serve_map(int fd, const struct vrt_frame_format *format, int64_t offset_bytes,
                  struct vrt_frame **ret_frame)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = vrt_frame_alloc(format);

    if (!frame)
        return vrt_raise(-ENOMEM);
    uint8_t *data = mmap(NULL, vrt_frame_bytes(&frame->format), PROT_READ,
                         MAP_SHARED | MAP_POPULATE, fd, offset_bytes);
    if (data == MAP_FAILED)
        return vrt_raise(-errno);
    frame->owner = data;
    frame->release = release_map;
    vrt_frame_lay_out(frame, data);
    *ret_frame = VRT_STEAL(frame);
    return 0;
}

/* Does what is asked, and answers. Return: 0; -errno: vrtd can't be answered. */
static int answer(struct vrt_server *server, struct vrt_message *message,
                  struct vrt_message_fds *fds)
{
    struct vrt_error error = { .id = NULL };
    size_t size = offsetof(struct vrt_message, body);
    const uint32_t kind = message->kind;
    int r;

    if (!questions[kind].serve || fds->n != questions[kind].n_fds)
        r = vrt_refuse_errno(&error, -EBADMSG, "what vrtd asked");
    else
        r = questions[kind].serve(server, message, fds, &size, &error);
    vrt_message_fds_done(fds);
    message->kind = kind;
    message->result = r;
    if (r < 0) {
        r = vrt_refuse_errno(&error, r, "FFmpeg");
        vrt_wire_put_error(r, &error, message);
    }
    return vrt_message_send(server->socket, message, size, NULL);
}

int vrt_serve_all(int socket, const char *missing)
{
    struct vrt_server server = {
        .socket = socket, .missing = missing, .input_fd = -1, .segment_fd = -1,
        .compare_fds = { -1, -1 },
    };
    VRT_CLEANUP(vrt_freep) struct vrt_message *message = malloc(sizeof(*message));
    struct vrt_message_fds fds;
    int r = message ? 0 : vrt_raise(-ENOMEM);

    while (r == 0) {
        r = vrt_message_receive(socket, -1, message, &fds);
        if (r == 0)
            r = answer(&server, message, &fds);
        else if (r == -EAGAIN)
            r = 0;
    }
    vrt_serve_reader_close(&server);
    vrt_serve_compare_close(&server);
    vrt_encoder_free(server.encoder);
    vrt_closep(&server.segment_fd);
    return r == -EPIPE ? 0 : vrt_fold(r);
}
