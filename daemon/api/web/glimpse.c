/* SPDX-License-Identifier: MIT */
/* GET /v1/jobs/{id}/preview: before and after of a job that runs, of a frame of the last seconds.
 * Asking for it has one made. Thread: loop. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "daemon/api/job-routes.h"
#include "daemon/api/routes.h"
#include "daemon/http/http.h"
#include "daemon/pipeline/glimpse.h"

void vrt_api_job_preview(const struct vrt_call *call)
{
    struct vrt_job *job = vrt_api_find_own_job(call);
    struct vrt_error error = { .id = NULL };
    struct vrt_glimpse_picture picture;
    char etag[48], header[64];

    if (!job)
        return;
    if (!vrt_glimpse_look(job->glimpse, &picture)) {
        const bool runs = job->info.state == VRT_JOB_RUNNING;
        vrt_refuse(&error, -ENOENT, VRT_E(PREVIEW_NONE), "job %" PRId64 " %s", job->info.id, runs ?
                   "has restored nothing since somebody looks: ask again in a moment" :
                   "doesn't run: there is a preview only while it does");
        vrt_conn_refuse_with(call->conn, &error, "Retry-After: 2");
        return;
    }
    snprintf(etag, sizeof(etag), "\"%" PRId64 "-%" PRId64 "\"", job->info.id, picture.number);
    snprintf(header, sizeof(header), "ETag: %s", etag);
    const bool is_known = strstr(call->request->headers->if_none_match, etag);
    vrt_conn_reply(call->conn, &(struct vrt_response){
        .status = is_known ? 304 : 200,
        .type = "image/png",
        .header = header,
        .cache = "private, no-cache",
        .body = is_known ? NULL : picture.png->data,
        .body_bytes = is_known ? 0 : picture.png->size_bytes,
    });
}
