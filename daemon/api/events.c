/* SPDX-License-Identifier: MIT */

/*
 * GET /v1/events: who reads, and what they are told
 *
 * A reader begins with how things are, and is then told what changes: whoever was cut off asks
 * again and has missed nothing that still matters. Jobs report themselves (the queue calls
 * vrt_events_job()). Devices don't: their states are compared, twice a second and only while
 * anybody reads. Each event is printed once, or for a job once with its names and once without,
 * however many readers there are.
 *
 * What there is is told in pieces, in the order of the jobs' numbers, each when the one before is
 * written: a thousand jobs for each of fifty readers who don't read would be much memory. A change
 * of a job that a reader wasn't told of yet is not told: its turn comes.
 *
 * A reader lives as long as its watch. One that is too slow is cut off by its connection, which
 * says so later, from the loop: a reader that was just written to is still there, and the lists
 * below can be walked. It ends here only where the job it asked for is over, with the daemon, or
 * where the request was HEAD.
 */

#include "daemon/api/events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "api.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/api/device-report.h"
#include "daemon/jobs/job.h"
#include "daemon/devices/pool.h"
#include "daemon/jobs/queue.h"
#include "daemon/access/quota.h"
#include "daemon/api/routes.h"
#include "msg_event.h"
#include "workers/plan/device-request.h"

#define VRT_LOG_TOPIC "events"

#define JOBS_PER_PIECE 500          /* of which few may be worth telling */
#define PIECE_BYTES (32 * 1024)     /* written at a time, for each listener */
#define TICK_MS 500     /* how often devices are looked at, and who needs a heartbeat */

struct vrt_events {
    struct vrt_pool *pool;
    int told_states[VRT_DEVICES_MAX];   /* of the devices, as readers know them */
    uv_timer_t tick;                    /* runs while anybody reads */
    struct vrt_list readers;            /* of struct reader.link */
    int n_readers;
    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

struct reader {
    struct vrt_events *events;
    struct vrt_conn_watch watch;
    struct vrt_list link;
    int64_t job_id;                     /* the only job it wants to know of; 0: everything */
    int64_t told_id;                    /* of everything: it was told of the jobs up to this one */
    struct vrt_api *api;
    uid_t uid;
    bool is_admin;                      /* as it was when he began to read */
    bool sees_all;                      /* that there are others' jobs */
    uint64_t told_ms;                   /* when it was last sent something */
};

static void on_timer_closed(uv_handle_t *handle)
{
    struct vrt_events *events = handle->data;
    void (*stopped)(void *ctx) = events->stopped;
    void *ctx = events->stopped_ctx;

    free(events);
    stopped(ctx);
}

int vrt_events_new(struct uv_loop_s *loop, struct vrt_pool *pool, struct vrt_events **ret_events)
{
    struct vrt_events *events = calloc(1, sizeof(*events));

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!events)
        return vrt_raise(-ENOMEM);
    events->pool = pool;
    uv_timer_init(loop, &events->tick);
    events->tick.data = events;
    vrt_list_init(&events->readers);
    *ret_events = events;
    return 0;
}

static void forget_reader(struct reader *reader)
{
    vrt_quota_give(reader->api->quota, VRT_QUOTA_STREAMS, reader->uid);
    vrt_list_remove(&reader->link);
    if (--reader->events->n_readers == 0)
        uv_timer_stop(&reader->events->tick);
    free(reader);
}

static void on_gone(struct vrt_conn_watch *watch)
{
    forget_reader(vrt_container_of(watch, struct reader, watch));
}

/* No more comes: the client gets the rest, then the end of the stream. */
static void end_reader(struct reader *reader)
{
    vrt_conn_stream_end(reader->watch.conn);
    forget_reader(reader);
}

static void send_text(struct reader *reader, const struct vrt_buf *text)
{
    if (text->size_bytes > 0)
        vrt_conn_stream_write(reader->watch.conn, text->data, text->size_bytes);
    reader->told_ms = uv_now(reader->events->tick.loop);
}

/* An event as it is sent; empty where memory is short, which is said. */
static void print(enum vrt_event_kind kind, const struct vrt_buf *json, struct vrt_buf *ret_text)
{
    if (json && vrt_event_print(kind, json->data, ret_text) == 0)
        return;
    vrt_buf_done(ret_text);
    vrt_log_warning("no memory for an event, ignoring");
}

/* How much of the job a reader may see. */
static enum vrt_job_view view_of(const struct reader *reader, const struct vrt_job *job)
{
    return reader->is_admin || reader->uid == job->uid ? VRT_JOB_VIEW_FULL :
                                                         VRT_JOB_VIEW_REDACTED;
}

/* Whether he may know of it at all. */
static bool sees(const struct reader *reader, const struct vrt_job *job)
{
    return reader->sees_all || reader->uid == job->uid;
}

void vrt_events_job(struct vrt_events *events, struct vrt_job *job)
{
    struct vrt_buf texts[VRT_JOB_VIEW_COUNT] = { { .limit_bytes = 0 } };
    bool printed[VRT_JOB_VIEW_COUNT] = { false };
    struct reader *reader;

    vrt_assert_thread(VRT_THREAD_LOOP);
    VRT_LIST_FOREACH(reader, &events->readers, link) {
        enum vrt_job_view view = view_of(reader, job);
        if (!sees(reader, job))
            continue;
        if (reader->job_id ? reader->job_id != job->info.id : reader->told_id < job->info.id)
            continue;
        if (!printed[view])
            print(VRT_EVENT_JOB, vrt_job_short_text(job, view), &texts[view]);
        printed[view] = true;
        send_text(reader, &texts[view]);
        if (reader->job_id && vrt_job_state_is_final(job->info.state))
            end_reader(reader);
    }
    for (int i = 0; i < VRT_JOB_VIEW_COUNT; i++)
        vrt_buf_done(&texts[i]);
}

/* An event about a device. */
static void print_device(const struct vrt_device_snapshot *device, struct vrt_buf *ret_text)
{
    struct vrt_buf json = { .limit_bytes = 0 };
    struct vrt_device_report report;

    vrt_device_report_fill(device, &report);
    int r = vrt_fields_print(vrt_device_fields, &report, &json);
    print(VRT_EVENT_DEVICE, r == 0 ? &json : NULL, ret_text);
    vrt_buf_done(&json);
}

/* Tells everybody of the devices whose state is another than they know. */
static void tell_devices(struct vrt_events *events)
{
    struct vrt_device_snapshot device;
    struct reader *reader;

    for (size_t i = 0; i < vrt_pool_n_devices(events->pool); i++) {
        struct vrt_buf text = { .limit_bytes = 0 };
        vrt_pool_device(events->pool, i, &device);
        if ((int)device.state == events->told_states[i])
            continue;
        events->told_states[i] = device.state;
        print_device(&device, &text);
        VRT_LIST_FOREACH(reader, &events->readers, link)
            if (!reader->job_id)
                send_text(reader, &text);
        vrt_buf_done(&text);
    }
}

static void on_tick(uv_timer_t *timer)
{
    struct vrt_events *events = timer->data;
    struct vrt_buf text = { .limit_bytes = 0 };
    struct reader *reader;

    tell_devices(events);
    if (vrt_event_print_heartbeat(&text) < 0)
        return;
    /* Of a client that closed its half the loop tells nothing more: a write finds it gone. */
    VRT_LIST_FOREACH(reader, &events->readers, link)
        if (uv_now(timer->loop) - reader->told_ms >= VRT_API_HEARTBEAT_S * 1000)
            send_text(reader, &text);
    vrt_buf_done(&text);
}

static void print_devices(const struct vrt_api *api, struct vrt_buf *text)
{
    struct vrt_device_snapshot device;

    for (size_t i = 0; i < vrt_pool_n_devices(api->pool); i++) {
        vrt_pool_device(api->pool, i, &device);
        print_device(&device, text);
    }
}

/* The next piece of what a reader of everything begins with: jobs that aren't over. */
static void tell_more_jobs(struct vrt_conn_watch *watch)
{
    struct reader *reader = vrt_container_of(watch, struct reader, watch);
    struct vrt_buf text = { .limit_bytes = 0 };
    struct vrt_job *job = NULL;

    if (reader->api->queue)
        job = vrt_jobs_after(vrt_queue_jobs(reader->api->queue), reader->told_id);
    for (int n = 0; job && n < JOBS_PER_PIECE && text.size_bytes < PIECE_BYTES; n++) {
        if (!vrt_job_state_is_final(job->info.state) && sees(reader, job))
            print(VRT_EVENT_JOB, vrt_job_short_text(job, view_of(reader, job)), &text);
        reader->told_id = job->info.id;
        job = vrt_jobs_behind(vrt_queue_jobs(reader->api->queue), job);
    }
    if (!job) {
        reader->told_id = INT64_MAX;
        watch->more = NULL;
    }
    send_text(reader, &text);
    vrt_buf_done(&text);
}

/* The job that "job=12" asks for, NULL for "". Return: 0; -errno, and error says why. */
static int parse_query(const struct vrt_call *call, struct vrt_job **ret_job,
                       struct vrt_error *error)
{
    static const char key[] = "job=";
    const char *query = call->request->query;
    char *end = NULL;

    *ret_job = NULL;
    if (!query[0])
        return 0;
    const char *digits = query + sizeof(key) - 1;
    if (strncmp(query, key, sizeof(key) - 1) != 0 || strspn(digits, "0123456789") == 0)
        return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REQUEST_QUERY),
                          "the query must be empty, or job= with a job's number");
    errno = 0;
    long long id = strtoll(digits, &end, 10);
    if (*end)
        return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REQUEST_QUERY),
                          "the query must be empty, or job= with a job's number");
    /* One too large for an int64_t is a number all the same: one that no job has. */
    *ret_job = errno ? NULL : vrt_jobs_find(vrt_queue_jobs(call->api->queue), id);
    if (*ret_job && !vrt_access_may_see(call->api->access, call->request->peer, (*ret_job)->uid))
        *ret_job = NULL;
    if (!*ret_job)
        return vrt_refuse(error, vrt_raise(-ENOENT), VRT_E(JOB_NOT_FOUND),
                          "no job has the number %.20s", digits);
    return 0;
}

/* Return: 0; -errno, and error says why. */
static int make_reader(const struct vrt_call *call, struct reader **ret_reader,
                       struct vrt_error *error)
{
    const struct vrt_peer *peer = call->request->peer;
    struct reader *reader = calloc(1, sizeof(*reader));

    int r = reader ? vrt_quota_take(call->api->quota, VRT_QUOTA_STREAMS, peer->uid) :
            vrt_raise(-ENOMEM);
    if (r != 0)
        free(reader);
    if (r > 0)
        return vrt_refuse(error, vrt_raise(-EDQUOT), VRT_E(HTTP_TOO_MANY),
                          "as many streams of events are open as are allowed%s: close some",
                          r == VRT_QUOTA_E_USER ? " to one user" : "");
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "subscribing");
    *reader = (struct reader){
        .events = call->api->events,
        .api = call->api,
        .watch.gone = on_gone,
        .uid = peer->uid,
        .is_admin = vrt_access_is_admin(call->api->access, peer),
        .sees_all = !vrt_uid_is_web(peer->uid) || vrt_access_is_admin(call->api->access, peer),
    };
    vrt_list_init(&reader->link);
    *ret_reader = reader;
    return 0;
}

void vrt_api_events(const struct vrt_call *call)
{
    struct vrt_events *events = call->api->events;
    struct vrt_error error = { .id = NULL };
    struct vrt_buf text = { .limit_bytes = 0 };
    struct reader *reader = NULL;
    struct vrt_job *job;

    int r = parse_query(call, &job, &error);
    if (r == 0)
        r = make_reader(call, &reader, &error);
    if (r < 0) {
        vrt_conn_refuse(call->conn, &error);
        return;
    }
    /* What the new reader begins with, the others are told now: there is one record of what is
     * known, for all of them. */
    tell_devices(events);
    reader->job_id = job ? job->info.id : 0;
    vrt_list_append(&events->readers, &reader->link);
    if (events->n_readers++ == 0)
        uv_timer_start(&events->tick, on_tick, TICK_MS, TICK_MS);
    reader->told_ms = uv_now(events->tick.loop);
    if (job)
        print(VRT_EVENT_JOB, vrt_job_short_text(job, view_of(reader, job)), &text);
    else
        print_devices(call->api, &text);
    reader->watch.more = job ? NULL : tell_more_jobs;
    vrt_conn_stream_start(call->conn, &reader->watch, text.data, text.size_bytes);
    vrt_buf_done(&text);
    if (!reader->watch.conn)        /* HEAD */
        forget_reader(reader);
    else if (job && vrt_job_state_is_final(job->info.state))
        end_reader(reader);
}

void vrt_events_stop(struct vrt_events *events, void (*stopped)(void *ctx), void *ctx)
{
    struct reader *reader;

    vrt_assert_thread(VRT_THREAD_LOOP);
    VRT_LIST_FOREACH(reader, &events->readers, link)
        end_reader(reader);
    events->stopped = stopped;
    events->stopped_ctx = ctx;
    uv_close((uv_handle_t *)&events->tick, on_timer_closed);
}
