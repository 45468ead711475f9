/* SPDX-License-Identifier: MIT */

/* What is asked about two videos that are compared. */

#include <errno.h>
#include <math.h>
#include <string.h>

#include "frames/compare/compare.h"
#include "frames/process/serve.h"

void vrt_serve_compare_close(struct vrt_server *server)
{
    server->compare = vrt_compare_close(server->compare);
    vrt_pictures_done(&server->shown);
    for (int i = 0; i < 2; i++) {
        vrt_closep(&server->compare_fds[i]);
        server->compare_fds[i] = -1;
    }
}

int vrt_serve_compare_open(struct vrt_server *server, struct vrt_message *message,
                           struct vrt_message_fds *fds, size_t *size, struct vrt_error *error)
{
    struct vrt_compare_params params = { .crop = message->body.compare_open.crop };
    struct vrt_compare_size found;

    vrt_serve_compare_close(server);
    for (int i = 1; i >= 0; i--) {
        if (!memchr(message->body.compare_open.names[i], 0, VRT_MESSAGE_NAME_BYTES))
            return vrt_raise(-EBADMSG);
        params.names[i] = message->body.compare_open.names[i];
        params.fds[i] = server->compare_fds[i] = fds->fds[--fds->n];
    }
    int r = vrt_compare_open(&params, &server->compare, &found, error);
    if (r < 0)
        return vrt_fold(r);
    message->body.compare_open.width = found.width;
    message->body.compare_open.height = found.height;
    *size = VRT_MESSAGE_BYTES(compare_open);
    return 0;
}

int vrt_serve_compare_show(struct vrt_server *server, struct vrt_message *message,
                           struct vrt_message_fds *fds, size_t *size, struct vrt_error *error)
{
    (void)message, (void)size, (void)error;
    if (!server->compare || server->shown.samples)
        return vrt_raise(-EBADMSG);
    int r = vrt_pictures_map(fds->fds[0], &server->shown);
    if (r < 0)
        return vrt_fold(r);
    vrt_compare_show(server->compare, &server->shown);
    return 0;
}

int vrt_serve_compare_next(struct vrt_server *server, struct vrt_message *message,
                           struct vrt_message_fds *fds, size_t *size, struct vrt_error *error)
{
    struct vrt_compared compared;

    (void)fds;
    if (!server->compare)
        return vrt_raise(-EBADMSG);
    int r = vrt_compare_next(server->compare, &compared, error);
    if (r != 0)
        return r < 0 ? vrt_fold(r) : r;
    message->body.compare_next.time_ns = compared.time_ns;
    message->body.compare_next.error_rgb = llrint(compared.quality.error_rgb * 1e9);
    message->body.compare_next.error_y = llrint(compared.quality.error_y * 1e9);
    message->body.compare_next.ssim_rgb = llrint(compared.quality.ssim_rgb * 1e9);
    message->body.compare_next.ssim_y = llrint(compared.quality.ssim_y * 1e9);
    *size = VRT_MESSAGE_BYTES(compare_next);
    return 0;
}
