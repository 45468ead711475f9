/* SPDX-License-Identifier: MIT */

/*
 * POST /v1/preview: the files come as descriptors, a thread decodes them and writes the picture;
 * the client waits for the answer, and who goes away stops it. Few are made at a time, one of a
 * user's, since threads that decode are not many; the others wait for their turns.
 */

#include "daemon/api/routes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <uv.h>

#include "api.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "daemon/access/descriptors.h"
#include "msg_preview.h"
#include "frames/process/child.h"

/* A client that waits for a picture. */
struct previewing {
    struct vrt_turn turn;                   /* of the API's previews */
    struct vrt_api *api;
    struct vrt_preview_request request;
    struct vrt_conn_watch watch;
    uv_work_t work;
    atomic_bool is_gone;
    int before_fd, after_fd, picture_fd;    /* -1: none */
    /* by the work's thread, then the loop's */
    struct vrt_preview preview;
    struct vrt_error error;
    int r;
};

static void begin_making(struct vrt_api *api);

static void previewing_free(struct previewing *previewing)
{
    vrt_closep(&previewing->before_fd);
    vrt_closep(&previewing->after_fd);
    vrt_closep(&previewing->picture_fd);
    free(previewing);
}

/* The client is told, if it is still there; then it is the next one's turn. */
static void end(struct previewing *previewing)
{
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };
    struct vrt_conn *conn = previewing->watch.conn;
    struct vrt_api *api = previewing->api;
    const struct vrt_preview_report report = {
        .time_s = (double)previewing->preview.shown_ns / VRT_NS_PER_S,
        .width = previewing->preview.size.width,
        .height = previewing->preview.size.height,
    };

    if (conn && previewing->r < 0)
        vrt_conn_refuse(conn, &previewing->error);
    else if (conn)
        vrt_api_reply(conn, vrt_fields_print(vrt_preview_fields, &report, &body), &body,
                      "telling of the picture");
    vrt_turns_leave(&api->previews, &previewing->turn);
    previewing_free(previewing);
    begin_making(api);
}

static void make(uv_work_t *work)
{
    struct previewing *previewing = work->data;
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
    previewing->r = vrt_child_new(&previewing->is_gone, &child, &previewing->error);
    if (previewing->r == 0)
        previewing->r = vrt_child_preview(child, &previewing->preview, &previewing->error);
}

static void on_made(uv_work_t *work, int status)
{
    (void)status;
    end(work->data);
}

/* Begins those whose turn it is. */
static void begin_making(struct vrt_api *api)
{
    struct vrt_turn *turn;

    while ((turn = vrt_turns_next(&api->previews))) {
        struct previewing *previewing = vrt_container_of(turn, struct previewing, turn);
        int r = uv_queue_work(api->loop, &previewing->work, make, on_made);
        vrt_assert(r == 0);
    }
}

/* One that waits isn't made any more. */
static void on_gone(struct vrt_conn_watch *watch)
{
    struct previewing *previewing = vrt_container_of(watch, struct previewing, watch);

    atomic_store(&previewing->is_gone, true);
    if (previewing->turn.is_going)
        return;
    vrt_turns_leave(&previewing->api->previews, &previewing->turn);
    previewing_free(previewing);
}

static int take_files(const struct vrt_call *call, struct previewing *previewing)
{
    struct vrt_peer_files *files = call->request->files;
    const struct vrt_preview_request *request = &previewing->request;
    struct vrt_error *error = &previewing->error;

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

void vrt_api_preview(const struct vrt_call *call)
{
    const struct vrt_request *request = call->request;
    struct previewing *previewing = calloc(1, sizeof(*previewing));
    struct vrt_error error = { .id = NULL };

    if (!previewing) {
        vrt_refuse_errno(&error, vrt_raise(-ENOMEM), "making a picture");
        vrt_conn_refuse(call->conn, &error);
        return;
    }
    *previewing = (struct previewing){ .api = call->api, .before_fd = -1, .after_fd = -1,
                                       .picture_fd = -1 };
    vrt_list_init(&previewing->turn.link);
    previewing->work.data = previewing;
    previewing->watch.gone = on_gone;
    int r = vrt_preview_request_parse(request->body, request->body_bytes, &previewing->request,
                                      &previewing->error);
    if (r == 0)
        r = take_files(call, previewing);
    if (r < 0) {
        vrt_refuse_errno(&previewing->error, r, "making a picture");
        vrt_conn_refuse(call->conn, &previewing->error);
        previewing_free(previewing);
        return;
    }
    vrt_conn_watch(call->conn, &previewing->watch);
    vrt_turns_wait(&call->api->previews, &previewing->turn, request->peer->uid);
    begin_making(call->api);
}
