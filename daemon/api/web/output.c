/* SPDX-License-Identifier: MIT */
/*
 * GET /v1/jobs/{id}/output: a result that vrtd keeps, or one range of it (RFC 9110, section 14).
 * Threads read it, a piece when the one before is written, so that neither a slow disk nor a slow
 * reader holds the loop, nor memory. Thread: loop.
 */

#include "daemon/api/job-routes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "api.h"
#include "base/cleanup.h"
#include "daemon/access/quota.h"
#include "daemon/api/web/range.h"
#include "daemon/api/routes.h"
#include "daemon/http/http.h"
#include "daemon/jobs/spool.h"

#define PIECE_BYTES (128 * 1024)

struct sending {
    struct vrt_conn_watch watch;
    struct vrt_api *api;
    uid_t uid;                              /* who is charged for it */
    int fd;
    int64_t at, end;                        /* what is still to be read */
    bool is_reading, is_gone;
    uv_work_t work;
    /* by the work's thread, then the loop's */
    ssize_t n;
    char piece[PIECE_BYTES];
};

static void sending_free(struct sending *sending)
{
    vrt_quota_give(sending->api->quota, VRT_QUOTA_STREAMS, sending->uid);
    vrt_closep(&sending->fd);
    free(sending);
}

static void read_piece(uv_work_t *work)
{
    struct sending *sending = work->data;
    size_t wanted = (size_t)VRT_MIN(sending->end - sending->at, (int64_t)PIECE_BYTES);

    do
        sending->n = pread(sending->fd, sending->piece, wanted, sending->at);
    while (sending->n < 0 && errno == EINTR);
}

static void on_more(struct vrt_conn_watch *watch);

static void on_read(uv_work_t *work, int status)
{
    struct sending *sending = work->data;
    struct vrt_conn *conn = sending->watch.conn;

    (void)status;
    sending->is_reading = false;
    if (sending->is_gone) {
        sending_free(sending);
        return;
    }
    /* What was promised can't be given, or was nothing: the connection ends, which says so. */
    if (sending->n <= 0) {
        vrt_conn_close(conn);
        return;
    }
    sending->at += sending->n;
    sending->watch.more = sending->at < sending->end ? on_more : NULL;
    vrt_conn_stream_write(conn, sending->piece, (size_t)sending->n);
    if (sending->at < sending->end)
        return;
    vrt_conn_stream_end(conn);
    sending_free(sending);
}

static void on_more(struct vrt_conn_watch *watch)
{
    struct sending *sending = vrt_container_of(watch, struct sending, watch);

    watch->more = NULL;
    sending->is_reading = true;
    int r = uv_queue_work(sending->api->loop, &sending->work, read_piece, on_read);
    vrt_assert(r == 0);
}

static void on_gone(struct vrt_conn_watch *watch)
{
    struct sending *sending = vrt_container_of(watch, struct sending, watch);

    if (sending->is_reading)
        sending->is_gone = true;
    else
        sending_free(sending);
}

static const char *type_of(const char *name)
{
    static const struct {
        const char *ending, *type;
    } types[] = {
        { ".mp4", "video/mp4" }, { ".mkv", "video/x-matroska" }, { ".mov", "video/quicktime" },
        { ".webm", "video/webm" }, { ".ts", "video/mp2t" }, { ".mxf", "application/mxf" },
    };
    const char *ending = strrchr(name, '.');

    for (size_t i = 0; ending && i < VRT_ARRAY_SIZE(types); i++)
        if (strcasecmp(types[i].ending, ending) == 0)
            return types[i].type;
    return "application/octet-stream";
}

/* A name that nobody takes for a path or for more of the header: in the plain form what isn't a
 * letter, a digit or one of a few signs is '_'; RFC 8187 has the form for all others. */
static int print_disposition(const char *name, struct vrt_buf *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    int r = vrt_buf_printf(text, "Content-Disposition: attachment; filename=\"");

    for (const char *c = name; r == 0 && *c; c++)
        r = vrt_buf_append(text, strchr(plain, *c) && !(c == name && *c == '.') ? c : "_", 1);
    if (r == 0)
        r = vrt_buf_printf(text, "\"; filename*=UTF-8''");
    for (const char *c = name; r == 0 && *c; c++)
        r = strchr(plain, *c) ? vrt_buf_append(text, c, 1) :
            vrt_buf_printf(text, "%%%02X", (unsigned char)*c);
    return vrt_fold(r);
}

/* The lines of the answer's header. */
static int print_header(const struct vrt_job *job, const struct vrt_range *range, const char *etag,
                        struct vrt_buf *text)
{
    int r = vrt_buf_printf(text, "Accept-Ranges: bytes\r\nETag: %s\r\n", etag);

    if (r == 0 && range->is_part)
        r = vrt_buf_printf(text, "Content-Range: bytes %" PRId64 "-%" PRId64 "/%" PRId64 "\r\n",
                           range->first, range->end - 1, job->info.result_bytes);
    return r < 0 ? vrt_fold(r) : vrt_fold(print_disposition(job->info.output_name, text));
}

/* A download, charged to its user as a stream of events is: one who reads slowly holds a connection
 * for as long as he likes, and there are few. Return: 0; -errno with `error`. */
static int make_sending(const struct vrt_call *call, struct sending **ret_sending,
                        struct vrt_error *error)
{
    struct sending *sending = calloc(1, sizeof(*sending));
    const uid_t uid = call->request->peer->uid;

    int r = sending ? vrt_quota_take(call->api->quota, VRT_QUOTA_STREAMS, uid) :
            vrt_raise(-ENOMEM);
    if (r != 0)
        free(sending);
    if (r > 0)
        return vrt_refuse(error, vrt_raise(-EDQUOT), VRT_E(HTTP_TOO_MANY), "as many downloads and "
                          "streams of events are open as are allowed%s: close some",
                          r == VRT_QUOTA_E_USER ? " to one user" : "");
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "sending the result");
    sending->api = call->api;
    sending->uid = uid;
    sending->fd = -1;
    *ret_sending = sending;
    return 0;
}

/* Begins to send that part of the result. Return: 0; -errno with `error`. */
static int begin(const struct vrt_call *call, const struct vrt_job *job,
                 const struct vrt_range *range, const char *etag, struct vrt_error *error)
{
    struct vrt_buf header = { .limit_bytes = 0 };
    struct sending *sending = NULL;
    struct stat st;

    int r = make_sending(call, &sending, error);
    if (r < 0)
        return vrt_fold(r);
    sending->fd = vrt_spool_open_result(call->api->spool_fd, job->info.id);
    r = sending->fd < 0 || fstat(sending->fd, &st) < 0 ? vrt_raise(-errno) : 0;
    if (r == 0 && st.st_size != job->info.result_bytes)
        r = vrt_raise(-EIO);
    if (r == 0)
        r = print_header(job, range, etag, &header);
    if (r < 0) {
        sending_free(sending);
        vrt_buf_done(&header);
        return vrt_refuse_errno(error, vrt_fold(r), "sending the result");
    }
    sending->work.data = sending;
    sending->at = range->first;
    sending->end = range->end;
    sending->watch.gone = on_gone;
    sending->watch.more = on_more;
    vrt_conn_body_start(call->conn, &sending->watch, &(struct vrt_response){
        .status = range->is_part ? 206 : 200,
        .type = type_of(job->info.output_name),
        .header = header.data,
        .cache = "private, no-cache",
        .body_bytes = (size_t)(range->end - range->first),
    });
    vrt_buf_done(&header);
    if (!sending->watch.conn)               /* HEAD */
        sending_free(sending);
    return 0;
}

void vrt_api_job_output(const struct vrt_call *call)
{
    const struct vrt_http_headers *h = call->request->headers;
    const struct vrt_job *job = vrt_api_find_own_job(call);
    struct vrt_error error = { .id = NULL };
    struct vrt_range range;
    char etag[64], header[80];

    if (!job)
        return;
    if (job->info.result_bytes < 0) {
        vrt_refuse(&error, -ENOENT, VRT_E(OUTPUT_NOT_KEPT), job->keeps_result ? "job %" PRId64
                   " isn't done: there is no result yet" : "job %" PRId64 " wrote its result where "
                   "it was told to: vrtd keeps none", job->info.id);
        vrt_conn_refuse(call->conn, &error);
        return;
    }
    snprintf(etag, sizeof(etag), "\"%s-%" PRId64 "-%" PRId64 "\"",
             call->api->instance ? call->api->instance : "", job->info.id, job->info.result_bytes);
    if (h->if_none_match[0] && strstr(h->if_none_match, etag)) {
        snprintf(header, sizeof(header), "ETag: %s", etag);
        vrt_conn_reply(call->conn, &(struct vrt_response){ .status = 304, .header = header });
        return;
    }
    const bool is_asked = h->range[0] && (!h->if_range[0] || strcmp(h->if_range, etag) == 0);
    if (!vrt_range_parse(is_asked ? h->range : "", job->info.result_bytes, &range)) {
        snprintf(header, sizeof(header), "Content-Range: bytes */%" PRId64,
                 job->info.result_bytes);
        vrt_refuse(&error, -ERANGE, VRT_E(OUTPUT_RANGE), "the result has %" PRId64 " bytes: "
                   "nothing of it is in that range", job->info.result_bytes);
        vrt_conn_refuse_with(call->conn, &error, header);
    } else if (begin(call, job, &range, etag, &error) < 0) {
        vrt_conn_refuse(call->conn, &error);
    }
}
