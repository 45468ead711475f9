/* SPDX-License-Identifier: MIT */
/*
 * Everything is learnt from the stream of events; what is over, or was before the stream began,
 * is then asked for once, since an event holds the short form only. A stream that ends early (the
 * daemon cuts off readers that don't keep up) is opened again: it begins with how things stand,
 * so nothing is lost but the steps between. A daemon that goes away is waited for, as long as for
 * any answer: jobs outlast it, and so does who follows them.
 *
 * SIGINT sets a flag that is looked at between events; the jobs themselves don't notice.
 */

#include "client/watch/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "client/conn.h"
#include "client/watch/watch-impl.h"

#define POLL_MS 200             /* Ctrl-C is answered within it */
#define QUIET_STREAMS_MAX 3     /* that end in a row without an event, until we give up */
#define RETURN_POLL_MS 500      /* between looks whether a daemon is back */

/* A signal has no other way to its reader. */
static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static void watch_done(struct vrt_watch *w)
{
    for (size_t i = 0; i < w->n_jobs; i++) {
        vrt_job_info_done(&w->jobs[i].job);
        free(w->jobs[i].warnings);
    }
    free(w->jobs);
}

const struct vrt_job_info *vrt_watch_next(const struct vrt_watch *w, size_t *at)
{
    while (*at < w->n_jobs) {
        const struct vrt_watched *f = &w->jobs[(*at)++];
        if (!f->over && f->job.state != VRT_UNKNOWN)
            return &f->job;
    }
    return NULL;
}

static struct vrt_watched *find(struct vrt_watch *w, long long id)
{
    for (size_t i = 0; i < w->n_jobs; i++)
        if (w->jobs[i].job.id == id)
            return &w->jobs[i];
    return NULL;
}

/* Return: NULL: no memory. */
static struct vrt_watched *add(struct vrt_watch *w, long long id)
{
    if (w->n_jobs == w->capacity) {
        size_t capacity = w->capacity ? w->capacity * 2 : 16;
        struct vrt_watched *jobs = reallocarray(w->jobs, capacity, sizeof(*jobs));
        if (!jobs)
            return NULL;
        w->jobs = jobs;
        w->capacity = capacity;
    }
    struct vrt_watched *f = &w->jobs[w->n_jobs++];
    *f = (struct vrt_watched){ .said_state = VRT_UNKNOWN };
    f->job.id = id;
    f->job.state = VRT_UNKNOWN;
    return f;
}

/* Shows how things are. The jobs may serve nobody but who runs this program, or reads from it. */
static void look_around(struct vrt_watch *w, bool is_there)
{
    const struct vrt_watch_params *params = w->params;

    if (!params->view)
        vrt_watch_draw(w);
    else if (!params->view->turn(params->context, w, is_there))
        interrupted = 1;
    if (params->is_unwanted && params->is_unwanted(params->context))
        interrupted = 1;
}

static bool all_over(const struct vrt_watch *w)
{
    for (size_t i = 0; i < w->n_jobs; i++)
        if (!w->jobs[i].over)
            return false;
    return w->params->n_ids > 0;
}

/* Events only count a job's warnings: asks for them when there are others. Return: as of
 * vrt_conn_get_job(). */
static int take_warnings(struct vrt_watch *w, struct vrt_watched *f)
{
    const int64_t total = f->job.warnings_total;
    struct vrt_job_info job;
    json_t *json = NULL;

    if (total == VRT_UNKNOWN || total == f->warnings_total)
        return 0;
    int r = total > 0 ? vrt_conn_get_job(w->cli->conn, f->job.id, &job, &json, &w->error) : 0;
    if (r != 0)
        return vrt_fold(r);
    f->warnings_total = total;
    if (total > 0) {
        vrt_watch_say_warnings(w, f, &job);
        vrt_job_info_done(&job);
        json_decref(json);
    }
    return 0;
}

/* A job is over: asks for its end. Return: as of vrt_conn_get_job(). */
static int take_end(struct vrt_watch *w, struct vrt_watched *f)
{
    struct vrt_job_info job;
    json_t *json = NULL;

    int r = vrt_conn_get_job(w->cli->conn, f->job.id, &job, &json, &w->error);
    if (r != 0)
        return vrt_fold(r);
    vrt_job_info_done(&f->job);
    f->job = job;
    /* Somebody may have had it tried again meanwhile. */
    f->over = vrt_job_state_is_final(job.state);
    if (!f->over) {
        json_decref(json);
        return 0;
    }
    if (w->cli->args.json) {
        vrt_screen_clear(&w->screen);
        vrt_cli_print_json(json);
    }
    json_decref(json);
    vrt_watch_say_result(w, f);
    if (w->params->on_end)
        w->params->on_end(w->params->context, &f->job);
    if (f->job.state != VRT_JOB_DONE)
        w->exit = VRT_EXIT_FAILED;
    return 0;
}

/* Gives a job its files again, if they are at hand: once each time that it needs them. */
static bool gives_files(struct vrt_watch *w, struct vrt_watched *f)
{
    bool needed = f->job.state == VRT_JOB_NEEDS_INPUT && w->params->on_needs_input;

    if (!needed || f->asked) {
        f->asked = needed;
        return false;
    }
    f->asked = true;
    vrt_screen_clear(&w->screen);
    return w->params->on_needs_input(w->params->context, &f->job);
}

/* A job as the daemon tells it, in either form. */
static int take_job(struct vrt_watch *w, const json_t *json)
{
    struct vrt_job_info job;

    if (vrt_job_info_decode(json, &job, &w->error) < 0)
        return VRT_CONN_E_BROKEN;
    struct vrt_watched *f = find(w, job.id);
    bool final = vrt_job_state_is_final(job.state);
    if (!f && !w->params->n_ids && job.id > 0 && !final)
        f = add(w, job.id);
    if (!f || f->over) {
        vrt_job_info_done(&job);
        return 0;
    }
    vrt_job_info_done(&f->job);
    f->job = job;
    w->changed = true;
    if (final)
        return take_end(w, f);
    int r = take_warnings(w, f);
    if (r != 0)
        return vrt_fold(r);
    if (gives_files(w, f))
        return 0;
    vrt_watch_say_job(w, f, json);
    return 0;
}

/* Devices matter only to those who watch everything. */
static int take_device(struct vrt_watch *w, const json_t *json)
{
    struct vrt_device_report device;

    vrt_device_report_init(&device);
    if (vrt_fields_decode(vrt_device_fields, json, VRT_FIELDS_LENIENT, &device, &w->error) < 0)
        return VRT_CONN_E_BROKEN;
    bool bad = device.state == VRT_DEVICE_LOST || device.state == VRT_DEVICE_QUARANTINED;
    if (w->params->n_ids == 0 && bad)
        vrt_watch_say_device(w, &device);
    return 0;
}

static int take_event(struct vrt_watch *w, enum vrt_event_kind kind, const struct vrt_buf *data)
{
    json_t *json = NULL;

    int r = vrt_json_parse(data->data, data->size_bytes, &json, &w->error);
    if (r < 0)
        return VRT_CONN_E_BROKEN;
    r = kind == VRT_EVENT_JOB ? take_job(w, json) : take_device(w, json);
    json_decref(json);
    return r;
}

/*
 * Asks for the jobs that the stream would not begin with: those that are over. (The stream of a
 * single job begins with it in any case.)
 */
static int catch_up(struct vrt_watch *w)
{
    for (size_t i = 0; w->params->n_ids > 1 && i < w->n_jobs; i++) {
        json_t *json = NULL;
        if (w->jobs[i].over)
            continue;
        int r = vrt_conn_get(w->cli->conn, &json, &w->error, "/v1/jobs/%" PRId64,
                             w->jobs[i].job.id);
        if (r == 0)
            r = take_job(w, json);
        json_decref(json);
        if (r != 0)
            return vrt_fold(r);
    }
    return 0;
}

/*
 * Jobs outlast a daemon in its state folder; one with another folder has other jobs by the same
 * numbers. Return: 0; VRT_CONN_E_OTHER, VRT_CONN_E_UNREACHABLE, VRT_CONN_E_INTERRUPTED.
 */
static int check_instance(struct vrt_watch *w)
{
    struct vrt_status_report status;
    struct vrt_error error = { 0 };
    json_t *json = NULL;

    int r = vrt_conn_get(w->cli->conn, &json, &error, "/v1/status");
    if (r == VRT_CONN_E_UNREACHABLE || r == VRT_CONN_E_INTERRUPTED) {
        w->error = error;
        return r;
    }
    /* One that doesn't say it can't be told from others. */
    if (r != 0)
        return 0;
    vrt_status_report_init(&status);
    if (vrt_fields_decode(vrt_status_fields, json, VRT_FIELDS_LENIENT, &status, &error) == 0) {
        if (!w->instance[0])
            snprintf(w->instance, sizeof(w->instance), "%s", status.instance);
        else if (status.instance[0] && strcmp(status.instance, w->instance) != 0)
            r = vrt_refuse(&w->error, VRT_CONN_E_OTHER, "client.other",
                           "another vrtd answers at %s now, which knows nothing of these jobs: "
                           "they go on when the one with their state folder is started again",
                           vrt_conn_path(w->cli->conn));
        vrt_fields_done(vrt_status_fields, &status);
    }
    json_decref(json);
    return r;
}

/* The daemon answers, perhaps again. */
static void take_return(struct vrt_watch *w)
{
    if (w->gone_ns)
        vrt_watch_say(w, "vrtd is back");
    w->was_there = true;
    w->gone_ns = 0;
}

/* One stream, until it ends. Return: 0: it ended, or all is over; VRT_CONN_E_*; -errno. */
static int follow_stream(struct vrt_watch *w, int *ret_n_events)
{
    VRT_CLEANUP(vrt_stream_closep) struct vrt_stream *stream = NULL;
    struct vrt_buf data = { 0 };
    enum vrt_event_kind kind;
    int n = 0, got;

    int r = check_instance(w);
    if (r == 0)
        r = vrt_stream_open(w->cli->conn, w->params->n_ids == 1 ? w->params->ids[0] : 0, &stream,
                            &w->error);
    if (r == 0)
        take_return(w);
    if (r == 0)
        r = catch_up(w);
    while (r == 0 && !all_over(w) && !interrupted) {
        look_around(w, true);
        got = vrt_stream_next(stream, POLL_MS, w->params->view ? w->params->view->input_fd : -1,
                              &kind, &data);
        if (got == VRT_STREAM_END)
            break;
        n += got == VRT_STREAM_EVENT;
        if (got == VRT_STREAM_NONE && w->n_jobs == 0)
            vrt_watch_say_nothing(w);
        if (got == VRT_STREAM_EVENT)
            r = take_event(w, kind, &data);
        else if (got < 0)
            r = vrt_refuse_errno(&w->error, got, "reading vrtd's events");
    }
    vrt_buf_done(&data);
    *ret_n_events = n;
    return vrt_fold(r);
}

static int give_up(struct vrt_watch *w)
{
    return vrt_refuse(&w->error, VRT_CONN_E_UNREACHABLE, "client.unreachable",
                      "vrtd at %s closes its stream of events at once",
                      vrt_conn_path(w->cli->conn));
}

/*
 * The daemon is gone, as `r` and the error say: waits a little, until it was gone for too long.
 * Return: 0: it is to be tried again; r.
 */
static int wait_for_return(struct vrt_watch *w, int r)
{
    const struct timespec pause = { .tv_nsec = RETURN_POLL_MS * VRT_NS_PER_MS };
    int64_t now_ns = vrt_clock_now_ns();

    if (r != VRT_CONN_E_UNREACHABLE || !w->was_there)
        return r;
    if (!w->gone_ns) {
        vrt_watch_say(w, "vrtd went away; its jobs go on when it is back, and are followed then");
        w->gone_ns = now_ns;
    }
    if (now_ns - w->gone_ns > w->cli->args.timeout_s * VRT_NS_PER_S)
        return r;
    w->error = (struct vrt_error){ 0 };
    look_around(w, false);
    nanosleep(&pause, NULL);
    return 0;
}

/* Until all is over, or the user has enough. Return: 0; VRT_CONN_E_*; -errno. */
static int follow(struct vrt_watch *w)
{
    int n_quiet = 0, r = 0;

    while (r == 0 && !all_over(w) && !interrupted) {
        int n_events = 0;
        r = follow_stream(w, &n_events);
        n_quiet = n_events || r != 0 ? 0 : n_quiet + 1;
        if (r == 0 && n_quiet >= QUIET_STREAMS_MAX && !all_over(w) && !interrupted)
            r = give_up(w);
        else
            r = wait_for_return(w, r);
    }
    return interrupted && !all_over(w) ? VRT_CONN_E_INTERRUPTED : r;
}

int vrt_watch(struct vrt_cli *cli, const struct vrt_watch_params *params)
{
    struct vrt_watch w = { .cli = cli, .params = params, .changed = params->n_ids == 0 };
    const struct sigaction action = { .sa_handler = on_signal };
    const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    const size_t n_signals = params->is_unwanted || params->view ? VRT_ARRAY_SIZE(signals) : 1;
    struct sigaction before[VRT_ARRAY_SIZE(signals)];
    int r = 0;

    for (size_t i = 0; i < params->n_ids && r == 0; i++)
        if (!find(&w, params->ids[i]) && !add(&w, params->ids[i]))
            r = vrt_refuse_errno(&w.error, vrt_raise(-ENOMEM), "following jobs");
    vrt_screen_init(&w.screen);
    for (size_t i = 0; i < n_signals; i++)
        sigaction(signals[i], &action, &before[i]);
    vrt_conn_set_interrupt(cli->conn, &interrupted);
    if (r == 0)
        r = follow(&w);
    vrt_conn_set_interrupt(cli->conn, NULL);
    for (size_t i = 0; i < n_signals; i++)
        sigaction(signals[i], &before[i], NULL);
    if (params->view)
        params->view->leave(params->context);
    if (r == VRT_CONN_E_INTERRUPTED) {
        if (params->say_how_to_cancel)
            vrt_watch_say_detached(&w);
        w.exit = VRT_EXIT_INTERRUPTED;
    } else if (r != 0) {
        w.exit = vrt_cli_fail(cli, NULL, r, &w.error);
    }
    watch_done(&w);
    return w.exit;
}
