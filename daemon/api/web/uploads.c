/* SPDX-License-Identifier: MIT */
/*
 * POST /v1/uploads: a video streams into the spool, piece by piece as fast as it is written; what
 * its user may not have is refused before the first byte, where he says how much will come. Thread:
 * loop.
 */

#include "daemon/api/web-routes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api.h"
#include "base/log.h"
#include "daemon/api/routes.h"
#include "daemon/http/http.h"
#include "daemon/uploads/uploads.h"
#include "web/msg_upload.h"

#define VRT_LOG_TOPIC "api"

struct receiving {
    struct vrt_conn_watch watch;
    struct vrt_upload *upload;              /* NULL: it is over */
    int64_t id;
};

static void on_gone(struct vrt_conn_watch *watch)
{
    struct receiving *receiving = vrt_container_of(watch, struct receiving, watch);

    /* While the last of it is being written `done` still comes; then nobody hears of it, and the
     * upload goes after an hour. */
    if (!receiving->upload)
        return;
    vrt_log_debug("upload %" PRId64 ": its sender went away", receiving->id);
    vrt_upload_drop(receiving->upload);
    free(receiving);
}

static bool on_piece(struct vrt_conn_watch *watch, const char *data, size_t size)
{
    struct receiving *receiving = vrt_container_of(watch, struct receiving, watch);
    struct vrt_error error = { .id = NULL };

    if (size == 0) {
        vrt_upload_finish(VRT_STEAL(receiving->upload));
        return true;
    }
    int r = vrt_upload_write(receiving->upload, data, size, &error);
    if (r < 0) {
        vrt_upload_drop(receiving->upload);
        vrt_conn_refuse(watch->conn, &error);
        free(receiving);
    }
    return r == 0;
}

static void on_more(void *ctx)
{
    struct receiving *receiving = ctx;

    vrt_conn_receive_on(receiving->watch.conn);
}

static void on_done(void *ctx, int64_t size_bytes, const struct vrt_error *error)
{
    struct receiving *receiving = ctx;
    struct vrt_conn *conn = receiving->watch.conn;
    const struct vrt_upload_report report = { receiving->id, size_bytes };
    struct vrt_buf body = { .limit_bytes = 0 };
    char header[64];

    if (conn && error) {
        vrt_conn_refuse(conn, error);
    } else if (conn) {
        snprintf(header, sizeof(header), "Location: /v1/uploads/%" PRId64, receiving->id);
        vrt_api_reply_as(conn, vrt_fields_print(vrt_upload_fields, &report, &body), &body,
                         (struct vrt_response){ .status = 201, .header = header },
                         "printing the upload");
    }
    free(receiving);
}

void vrt_api_upload_create(const struct vrt_call *call)
{
    const struct vrt_request *request = call->request;
    struct receiving *receiving = calloc(1, sizeof(*receiving));
    struct vrt_error error = { .id = NULL };

    int r = receiving ? 0 : vrt_raise(-ENOMEM);
    if (r == 0)
        r = vrt_upload_begin(call->api->uploads, request->peer->uid, request->headers->body_bytes,
                             &(struct vrt_upload_events){ on_more, on_done, receiving },
                             &receiving->upload, &error);
    if (r < 0) {
        free(receiving);
        vrt_refuse_errno(&error, vrt_fold(r), "uploading");
        vrt_conn_refuse(call->conn, &error);
        return;
    }
    receiving->id = vrt_upload_id(receiving->upload);
    receiving->watch.gone = on_gone;
    receiving->watch.piece = on_piece;
    vrt_conn_receive(call->conn, &receiving->watch);
}

void vrt_api_upload_drop(const struct vrt_call *call)
{
    struct vrt_error error = { .id = NULL };

    if (vrt_uploads_remove(call->api->uploads, call->job_id, call->request->peer->uid) == 0) {
        vrt_conn_reply(call->conn, &(struct vrt_response){ .status = 204 });
        return;
    }
    vrt_refuse(&error, -ENOENT, VRT_E(UPLOAD_NOT_FOUND), "no upload of yours has the number "
               "%" PRId64, call->job_id);
    vrt_conn_refuse(call->conn, &error);
}
