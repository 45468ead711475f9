/* SPDX-License-Identifier: MIT */

/*
 * POST /v1/preview: the files come as descriptors, a thread decodes them and writes the picture;
 * the client waits for the answer, and who goes away stops it. Few are made at a time, one of a
 * user's, since threads that decode are not many; the others wait for their turns.
 */

#include "daemon/api/errands/errand.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "api.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "daemon/access/descriptors.h"
#include "msg_preview.h"
#include "frames/process/child.h"

/* A client that waits for a picture. */
struct previewing {
    struct vrt_errand errand;               /* of the API's previews */
    struct vrt_preview_request request;
    int before_fd, after_fd, picture_fd;    /* -1: none */
    /* by the work's thread, then the loop's */
    struct vrt_preview preview;
};

static void previewing_free(struct vrt_errand *errand)
{
    struct previewing *previewing = vrt_container_of(errand, struct previewing, errand);

    vrt_closep(&previewing->before_fd);
    vrt_closep(&previewing->after_fd);
    vrt_closep(&previewing->picture_fd);
    free(previewing);
}

static void reply(struct vrt_errand *errand, struct vrt_conn *conn)
{
    const struct previewing *previewing = vrt_container_of(errand, struct previewing, errand);
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };
    const struct vrt_preview_report report = {
        .time_s = (double)previewing->preview.shown_ns / VRT_NS_PER_S,
        .width = previewing->preview.size.width,
        .height = previewing->preview.size.height,
    };

    vrt_api_reply(conn, vrt_fields_print(vrt_preview_fields, &report, &body), &body,
                  "telling of the picture");
}

static int make(struct vrt_errand *errand)
{
    struct previewing *previewing = vrt_container_of(errand, struct previewing, errand);
    const struct vrt_preview_request *request = &previewing->request;

    previewing->preview = (struct vrt_preview){
        .before_fd = previewing->before_fd,
        .after_fd = previewing->after_fd,
        .picture_fd = previewing->picture_fd,
        .before_name = request->before.name,
        .after_name = request->after.name,
        .before_streams = request->streams,
        .start_ns = isnan(request->start_s) ? 0 : llrint(request->start_s * VRT_NS_PER_S),
        .time_ns = isnan(request->time_s) ? -1 : llrint(request->time_s * VRT_NS_PER_S),
    };
    VRT_CLEANUP(vrt_child_freep) struct vrt_child *child = NULL;
    int r = vrt_child_new(&errand->is_gone, &child, &errand->error);
    if (r < 0)
        return vrt_fold(r);
    return vrt_fold(vrt_child_preview(child, &previewing->preview, &errand->error));
}

static int take_files(const struct vrt_call *call, struct previewing *previewing)
{
    struct vrt_peer_files *files = call->request->files;
    const struct vrt_preview_request *request = &previewing->request;
    struct vrt_error *error = &previewing->errand.error;

    const struct {
        int64_t index;
        const char *field;
        int *fd;
    } wanted[] = {
        { request->before.fd, "before.fd", &previewing->before_fd },
        { request->after.fd, "after.fd", &previewing->after_fd },
        { request->picture.fd, "picture.fd", &previewing->picture_fd },
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < VRT_ARRAY_SIZE(wanted); i++)
        r = vrt_descriptors_take(files, wanted[i].index, wanted[i].field, wanted[i].fd, error);
    return vrt_fold(r);
}

static const struct vrt_errand_kind picture = {
    .doing = "making a picture",
    .perform = make,
    .reply = reply,
    .free = previewing_free,
};

void vrt_api_preview(const struct vrt_call *call)
{
    const struct vrt_request *request = call->request;
    struct previewing *previewing = calloc(1, sizeof(*previewing));

    if (!previewing) {
        vrt_errand_refuse(NULL, &picture, 0, call);
        return;
    }
    previewing->before_fd = previewing->after_fd = previewing->picture_fd = -1;
    int r = vrt_preview_request_parse(request->body, request->body_bytes, &previewing->request,
                                      &previewing->errand.error);
    if (r == 0)
        r = take_files(call, previewing);
    if (r < 0)
        vrt_errand_refuse(&previewing->errand, &picture, r, call);
    else
        vrt_errand_begin(&previewing->errand, &picture, &call->api->previews, call);
}
