/* SPDX-License-Identifier: MIT */
/*
 * Everything is learnt from the stream of events; what is over, or was before the stream began,
 * is then asked for once, since an event holds the short form only. A stream that ends early (the
 * daemon cuts off readers that don't keep up) is opened again: it begins with how things stand,
 * so nothing is lost but the steps between. A daemon that goes away is waited for, as long as for
 * any answer: jobs outlast it, and so does who follows them.
 *
 * On a terminal the block of bars is drawn at most five times a second, however many events come.
 * SIGINT sets a flag that is looked at between events; the jobs themselves don't notice.
 */

#include "client/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "client/cli.h"
#include "client/conn.h"
#include "client/progress.h"
#include "client/screen.h"
#include "msg_device.h"

#define DRAW_PERIOD_NS (200 * VRT_NS_PER_MS)
#define LINE_PERIOD_NS (5 * VRT_NS_PER_S)
#define POLL_MS 200
#define BARREN_STREAMS_MAX 3    /* that end in a row without an event, until we give up */
#define NAMED_MAX 20            /* jobs in one sentence */
#define RETURN_POLL_MS 500      /* between looks whether a daemon is back */

/* One job that is followed. */
struct followed {
    struct vrt_job_info job;
    bool over;
    bool asked;                 /* for its files, in this state */
    int said_state;             /* of its last line, where lines follow each other */
    int64_t said_ns;
};

struct watch {
    struct vrt_cli *cli;
    const struct vrt_watch_params *params;
    struct vrt_screen screen;
    struct followed *jobs;
    size_t n_jobs, capacity;
    int64_t drawn_ns;
    bool changed;               /* since it was drawn */
    bool was_there;             /* the daemon answered once: if it goes, it may come back */
    int64_t gone_ns;            /* since when it doesn't answer; 0: it does */
    int exit;
    struct vrt_error error;
};

/* A signal has no other way to its reader. */
static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static void watch_done(struct watch *w)
{
    for (size_t i = 0; i < w->n_jobs; i++)
        vrt_job_info_done(&w->jobs[i].job);
    free(w->jobs);
}

static struct followed *find(struct watch *w, long long id)
{
    for (size_t i = 0; i < w->n_jobs; i++)
        if (w->jobs[i].job.id == id)
            return &w->jobs[i];
    return NULL;
}

/* Return: NULL: no memory. */
static struct followed *add(struct watch *w, long long id)
{
    if (w->n_jobs == w->capacity) {
        size_t capacity = w->capacity ? w->capacity * 2 : 16;
        struct followed *jobs = reallocarray(w->jobs, capacity, sizeof(*jobs));
        if (!jobs)
            return NULL;
        w->jobs = jobs;
        w->capacity = capacity;
    }
    struct followed *f = &w->jobs[w->n_jobs++];
    *f = (struct followed){ .said_state = VRT_UNKNOWN };
    vrt_job_info_init(&f->job);
    f->job.id = id;
    f->job.state = VRT_UNKNOWN;
    return f;
}

static bool all_over(const struct watch *w)
{
    for (size_t i = 0; i < w->n_jobs; i++)
        if (!w->jobs[i].over)
            return false;
    return w->params->n_ids > 0;
}

/* The block of lines: jobs at work first, then those that wait, as many as fit. */
static int print_block(const struct watch *w, struct vrt_buf *buf)
{
    struct vrt_progress_style style = { .utf8 = w->screen.utf8 };
    int rows, n = 0, n_more = 0, r = 0;

    vrt_screen_size(&style.width, &rows);
    for (size_t i = 0; i < w->n_jobs; i++)
        if (!w->jobs[i].over)
            style.name_width = VRT_MAX(style.name_width,
                                       vrt_progress_name_width(&w->jobs[i].job));
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < w->n_jobs && r == 0; i++) {
            const struct vrt_job_info *job = &w->jobs[i].job;
            bool waits = job->state != VRT_JOB_RUNNING && job->state != VRT_JOB_FINISHING;
            if (w->jobs[i].over || job->state == VRT_UNKNOWN || waits != (pass == 1))
                continue;
            if (n >= rows - 2) {
                n_more++;
                continue;
            }
            r = vrt_progress_bar(job, &style, buf);
            r = r < 0 ? r : vrt_buf_append(buf, "\n", 1);
            n++;
        }
    }
    if (r == 0 && n_more)
        r = vrt_buf_printf(buf, "and %d more\n", n_more);
    if (r == 0 && n == 0)
        r = vrt_buf_printf(buf, "no job is waiting or running\n");
    return r;
}

static void draw(struct watch *w)
{
    struct vrt_buf buf = { 0 };
    int64_t now_ns = vrt_clock_now_ns();

    bool shown = w->screen.terminal && !w->params->quiet && !w->cli->args.json;
    if (!shown || !w->changed || now_ns - w->drawn_ns < DRAW_PERIOD_NS)
        return;
    w->changed = false;
    w->drawn_ns = now_ns;
    if (print_block(w, &buf) == 0)
        vrt_screen_draw(&w->screen, buf.data);
    vrt_buf_done(&buf);
}

/* Where lines follow each other: one when the state changes, else every few seconds. */
static void say_progress(struct watch *w, struct followed *f)
{
    struct vrt_buf buf = { 0 };
    int64_t now_ns = vrt_clock_now_ns();

    if (w->screen.terminal ||
        (f->job.state == f->said_state && now_ns - f->said_ns < LINE_PERIOD_NS))
        return;
    f->said_state = f->job.state;
    f->said_ns = now_ns;
    if (vrt_progress_line(&f->job, &buf) == 0) {
        puts(buf.data);
        fflush(stdout);
    }
    vrt_buf_done(&buf);
}

static void say_failure(const struct vrt_job_info *job, const char *sentence)
{
    char name[VRT_API_NAME_BYTES];
    struct vrt_error error = { 0 };

    vrt_progress_name(job, name, sizeof(name));
    vrt_refuse(&error, -EINVAL, "job", "%s", sentence);
    vrt_cli_complain(name, &error);
}

/* How a job ended. */
static void say_result(struct watch *w, const struct vrt_job_info *job)
{
    struct vrt_buf buf = { 0 };
    char text[VRT_API_TEXT_BYTES];

    vrt_screen_clear(&w->screen);
    if (job->state == VRT_JOB_DONE) {
        if (!w->cli->args.json && vrt_progress_result(job, &buf) == 0)
            puts(buf.data);
        fflush(stdout);
        vrt_cli_warn(job->input_name, job->warnings, job->n_warnings);
    } else if (job->state == VRT_JOB_FAILED) {
        say_failure(job, job->has_error && job->error.message[0]
                             ? vrt_printable(job->error.message, text, sizeof(text))
                             : "the job failed, and the daemon doesn't say why");
    } else {
        say_failure(job, "the job was cancelled");
    }
    vrt_buf_done(&buf);
}

/* A job is over: asks for all that is known of it. Return: 0; VRT_CONN_E_*; -errno. */
static int take_end(struct watch *w, struct followed *f)
{
    struct vrt_job_info job;
    json_t *json = NULL;

    int r = vrt_conn_get(w->cli->conn, &json, &w->error, "/v1/jobs/%" PRId64, f->job.id);
    if (r == 0 && vrt_job_info_decode(json, &job, &w->error) < 0)
        r = VRT_CONN_E_BROKEN;
    if (r) {
        json_decref(json);
        return vrt_fold(r);
    }
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
    say_result(w, &f->job);
    if (w->params->on_end)
        w->params->on_end(w->params->context, &f->job);
    if (f->job.state != VRT_JOB_DONE)
        w->exit = VRT_EXIT_FAILED;
    w->changed = true;
    return 0;
}

static bool needs_somebody(int state)
{
    return state == VRT_JOB_PAUSED || state == VRT_JOB_NEEDS_INPUT || state == VRT_JOB_DISK_FULL;
}

/* Who only waits for the end must hear that it will not come by itself. */
static void say_stalled(struct followed *f)
{
    char text[VRT_API_TEXT_BYTES];
    int before = f->said_state;

    f->said_state = f->job.state;
    if (needs_somebody(f->job.state) && f->job.state != before)
        say_failure(&f->job, vrt_progress_state(&f->job, text, sizeof(text)));
}

/* Gives a job its files again, if they are at hand: once each time that it needs them. */
static bool gives_files(struct watch *w, struct followed *f)
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
static int take_job(struct watch *w, const json_t *json)
{
    struct vrt_job_info job;

    if (vrt_job_info_decode(json, &job, &w->error) < 0)
        return VRT_CONN_E_BROKEN;
    struct followed *f = find(w, job.id);
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
    if (gives_files(w, f))
        return 0;
    if (w->params->quiet)
        say_stalled(f);
    else if (w->cli->args.json)
        vrt_cli_print_json(json);
    else
        say_progress(w, f);
    return 0;
}

/* Devices matter only to those who watch everything. */
static int take_device(struct watch *w, const json_t *json)
{
    struct vrt_device_report device;
    char name[VRT_API_DEVICE_BYTES], reason[VRT_API_TEXT_BYTES];

    vrt_device_report_init(&device);
    if (vrt_fields_decode(vrt_device_fields, json, VRT_FIELDS_LENIENT, &device, &w->error) < 0)
        return VRT_CONN_E_BROKEN;
    bool bad = device.state == VRT_DEVICE_LOST || device.state == VRT_DEVICE_QUARANTINED;
    if (w->params->n_ids || !bad)
        return 0;
    vrt_screen_clear(&w->screen);
    fprintf(stderr, "device %s is %s%s%s\n", vrt_printable(device.name, name, sizeof(name)),
            vrt_name_of(vrt_device_state_names, device.state), device.last_error[0] ? ": " : "",
            vrt_printable(device.last_error, reason, sizeof(reason)));
    w->changed = true;
    return 0;
}

static int take_event(struct watch *w, enum vrt_event_kind kind, const struct vrt_buf *data)
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
static int catch_up(struct watch *w)
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
        if (r)
            return vrt_fold(r);
    }
    return 0;
}

/* Says something about the daemon itself above what is drawn. */
static void say(struct watch *w, const char *sentence)
{
    struct vrt_error said = { 0 };

    vrt_screen_clear(&w->screen);
    vrt_refuse(&said, -EAGAIN, "client.unreachable", "%s", sentence);
    vrt_cli_complain(NULL, &said);
    w->changed = true;
}

/* The daemon answers, perhaps again. */
static void take_return(struct watch *w)
{
    if (w->gone_ns)
        say(w, "vrtd is back");
    w->was_there = true;
    w->gone_ns = 0;
}

/* One stream, until it ends. Return: 0: it ended, or all is over; VRT_CONN_E_*; -errno. */
static int follow_stream(struct watch *w, int *ret_n_events)
{
    VRT_CLEANUP(vrt_stream_closep) struct vrt_stream *stream = NULL;
    struct vrt_buf data = { 0 };
    enum vrt_event_kind kind;
    int n = 0, got;

    int r = vrt_stream_open(w->cli->conn, w->params->n_ids == 1 ? w->params->ids[0] : 0, &stream,
                            &w->error);
    if (r == 0)
        take_return(w);
    if (r == 0)
        r = catch_up(w);
    while (r == 0 && !all_over(w) && !interrupted) {
        draw(w);
        got = vrt_stream_next(stream, POLL_MS, &kind, &data);
        if (got == VRT_STREAM_END)
            break;
        n += got == VRT_STREAM_EVENT;
        if (got == VRT_STREAM_EVENT)
            r = take_event(w, kind, &data);
        else if (got < 0)
            r = vrt_refuse_errno(&w->error, got, "reading vrtd's events");
    }
    vrt_buf_done(&data);
    *ret_n_events = n;
    return vrt_fold(r);
}

static int give_up(struct watch *w)
{
    return vrt_refuse(&w->error, VRT_CONN_E_UNREACHABLE, "client.unreachable",
                      "vrtd at %s closes its stream of events at once",
                      vrt_conn_path(w->cli->conn));
}

/*
 * The daemon is gone, as `r` and the error say: waits a little, until it was gone for too long.
 * Return: 0: it is to be tried again; r.
 */
static int wait_for_return(struct watch *w, int r)
{
    const struct timespec pause = { .tv_nsec = RETURN_POLL_MS * VRT_NS_PER_MS };
    int64_t now_ns = vrt_clock_now_ns();

    if (r != VRT_CONN_E_UNREACHABLE || !w->was_there)
        return r;
    if (!w->gone_ns) {
        say(w, "vrtd went away; its jobs go on when it is back, and are followed then");
        w->gone_ns = now_ns;
    }
    if (now_ns - w->gone_ns > w->cli->args.timeout_s * VRT_NS_PER_S)
        return r;
    w->error = (struct vrt_error){ 0 };
    nanosleep(&pause, NULL);
    return 0;
}

/* Until all is over, or the user has enough. Return: 0; VRT_CONN_E_*; -errno. */
static int follow(struct watch *w)
{
    int n_barren = 0, r = 0;

    while (r == 0 && !all_over(w) && !interrupted) {
        int n_events = 0;
        r = follow_stream(w, &n_events);
        n_barren = n_events || r ? 0 : n_barren + 1;
        if (r == 0 && n_barren >= BARREN_STREAMS_MAX && !all_over(w) && !interrupted)
            r = give_up(w);
        else
            r = wait_for_return(w, r);
    }
    return interrupted && !all_over(w) ? VRT_CONN_E_INTERRUPTED : r;
}

/* Ctrl-C ends only this program: says what of. */
static void say_detached(const struct watch *w)
{
    size_t n = 0, n_named = 0;

    for (size_t i = 0; i < w->n_jobs; i++)
        n += !w->jobs[i].over;
    fprintf(stderr, "vrtctl: %s on in vrtd; to cancel: vrtctl cancel",
            n == 1 ? "the job goes" : "the jobs go");
    for (size_t i = 0; i < w->n_jobs && n_named < NAMED_MAX; i++) {
        if (w->jobs[i].over)
            continue;
        fprintf(stderr, " %" PRId64, w->jobs[i].job.id);
        n_named++;
    }
    fputs(n > n_named ? " ...\n" : "\n", stderr);
}

int vrt_watch(struct vrt_cli *cli, const struct vrt_watch_params *params)
{
    struct watch w = { .cli = cli, .params = params, .changed = params->n_ids == 0 };
    const struct sigaction action = { .sa_handler = on_signal };
    struct sigaction before;
    int r = 0;

    for (size_t i = 0; i < params->n_ids && r == 0; i++)
        if (!find(&w, params->ids[i]) && !add(&w, params->ids[i]))
            r = vrt_refuse_errno(&w.error, vrt_raise(-ENOMEM), "following jobs");
    vrt_screen_init(&w.screen);
    sigaction(SIGINT, &action, &before);
    vrt_conn_set_interrupt(cli->conn, &interrupted);
    if (r == 0)
        r = follow(&w);
    vrt_conn_set_interrupt(cli->conn, NULL);
    sigaction(SIGINT, &before, NULL);
    if (r == VRT_CONN_E_INTERRUPTED) {
        if (params->say_how_to_cancel)
            say_detached(&w);
        w.exit = VRT_EXIT_INTERRUPTED;
    } else if (r) {
        w.exit = vrt_cli_fail(NULL, r, &w.error);
    }
    watch_done(&w);
    return w.exit;
}
