/* SPDX-License-Identifier: MIT */
/*
 * What is said of jobs that are followed. On a terminal the block of bars is drawn at most five
 * times a second, however many events come; elsewhere lines follow each other.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "client/terminal/progress.h"
#include "client/watch/watch-impl.h"

#define DRAW_PERIOD_NS (200 * VRT_NS_PER_MS)  /* faster than that nobody reads */
#define LINE_PERIOD_NS (5 * VRT_NS_PER_S)  /* a log is read later */
#define NAMED_MAX 20            /* jobs in one sentence */
#define NOTHING "no job waits or runs; Ctrl-C ends this"

static bool is_waiting(const struct vrt_job_info *job)
{
    return job->state != VRT_JOB_RUNNING && job->state != VRT_JOB_FINISHING &&
           job->state != VRT_JOB_FETCHING;
}

static bool is_shown(const struct vrt_watched *f)
{
    return !f->over && f->job.state != VRT_UNKNOWN;
}

/* What the lines have in common: the longest name, and bars as wide as all at work can have. */
static void choose_style(const struct vrt_watch *w, struct vrt_progress_style *style)
{
    bool any_at_work = false;
    int bar = VRT_UNKNOWN;

    for (size_t i = 0; i < w->n_jobs; i++) {
        const struct vrt_job_info *job = &w->jobs[i].job;
        if (!is_shown(&w->jobs[i]))
            continue;
        style->name_width = VRT_MAX(style->name_width, vrt_progress_name_width(job));
        style->digits = VRT_MAX(style->digits, vrt_progress_digits(job));
        any_at_work |= !is_waiting(job);
    }
    for (size_t i = 0; i < w->n_jobs; i++) {
        if (!is_shown(&w->jobs[i]) || (any_at_work && is_waiting(&w->jobs[i].job)))
            continue;
        int fits = vrt_progress_bar_width(&w->jobs[i].job, style);
        bar = bar == VRT_UNKNOWN ? fits : VRT_MIN(bar, fits);
    }
    style->bar_width = bar;
}

/* The block of lines: jobs at work first, then those that wait, as many as fit. */
static int print_block(const struct vrt_watch *w, struct vrt_buf *buf)
{
    struct vrt_progress_style style = { .utf8 = w->screen.utf8, .bar_width = VRT_UNKNOWN };
    int rows, n = 0, n_more = 0, r = 0;

    vrt_screen_size(&style.width, &rows);
    choose_style(w, &style);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < w->n_jobs && r == 0; i++) {
            if (!is_shown(&w->jobs[i]) || is_waiting(&w->jobs[i].job) != (pass == 1))
                continue;
            if (n >= rows - 2) {
                n_more++;
                continue;
            }
            r = vrt_progress_bar(&w->jobs[i].job, &style, buf);
            r = r < 0 ? r : vrt_buf_append(buf, "\n", 1);
            n++;
        }
    }
    if (r < 0 || (n > 0 && !n_more))
        return r;
    return n_more ? vrt_buf_printf(buf, "and %d more\n", n_more) :
           vrt_buf_printf(buf, NOTHING "\n");
}

void vrt_watch_draw(struct vrt_watch *w)
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
static void say_progress(struct vrt_watch *w, struct vrt_watched *f)
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

/* Has the view show a sentence, of `name` (NULL: of nothing by name). Return: whether there is a
 * view. */
static bool show(const struct vrt_watch *w, const char *name, const char *sentence)
{
    char text[VRT_API_NAME_BYTES + VRT_API_TEXT_BYTES + 2];

    if (!w->params->view)
        return false;
    snprintf(text, sizeof(text), "%s%s%s", name ? name : "", name ? ": " : "", sentence);
    w->params->view->say(w->params->context, text);
    return true;
}

static void say_failure(const struct vrt_watch *w, const struct vrt_job_info *job,
                        const char *sentence)
{
    char name[VRT_API_NAME_BYTES];
    struct vrt_error error = { 0 };

    vrt_progress_name(job, name, sizeof(name));
    if (show(w, name, sentence))
        return;
    vrt_refuse(&error, -EINVAL, "job", "%s", sentence);
    vrt_cli_complain(w->cli, name, &error);
}

static bool was_said(const struct vrt_watched *f, const char *warning)
{
    for (size_t i = 0; i < f->n_warnings; i++)
        if (strcmp(f->warnings[i], warning) == 0)
            return true;
    return false;
}

void vrt_watch_say_warnings(struct vrt_watch *w, struct vrt_watched *f,
                            const struct vrt_job_info *job)
{
    char name[VRT_API_NAME_BYTES], text[VRT_API_TEXT_BYTES];

    for (size_t i = 0; i < job->n_warnings; i++) {
        if (was_said(f, job->warnings[i]))
            continue;
        vrt_screen_clear(&w->screen);
        vrt_progress_name(job, name, sizeof(name));
        vrt_printable(job->warnings[i], text, sizeof(text));
        if (!show(w, name, text))
            vrt_cli_warn(w->cli, job->input_name, &job->warnings[i], 1);
        w->changed = true;
        /* Where there is no memory to remember it, it is said again. */
        void *said = reallocarray(f->warnings, f->n_warnings + 1, sizeof(*f->warnings));
        if (!said)
            continue;
        f->warnings = said;
        memcpy(f->warnings[f->n_warnings++], job->warnings[i], sizeof(*f->warnings));
    }
}

void vrt_watch_say_result(struct vrt_watch *w, struct vrt_watched *f)
{
    const struct vrt_job_info *job = &f->job;
    VRT_CLEANUP(vrt_freep) char *folder = getcwd(NULL, 0);
    struct vrt_buf buf = { 0 };
    char text[VRT_API_TEXT_BYTES];

    vrt_screen_clear(&w->screen);
    if (job->state == VRT_JOB_DONE) {
        if (!w->cli->args.json && vrt_progress_result(job, folder ? folder : "", &buf) == 0 &&
            !show(w, NULL, buf.data))
            puts(buf.data);
        fflush(stdout);
        vrt_watch_say_warnings(w, f, job);
    } else if (job->state == VRT_JOB_FAILED) {
        say_failure(w, job, job->has_error && job->error.message[0]
                                ? vrt_printable(job->error.message, text, sizeof(text))
                                : "the job failed, and the daemon doesn't say why");
    } else {
        say_failure(w, job, "the job was cancelled");
    }
    vrt_buf_done(&buf);
}

static bool needs_somebody(int state)
{
    return state == VRT_JOB_PAUSED || state == VRT_JOB_NEEDS_INPUT || state == VRT_JOB_DISK_FULL;
}

/* Who only waits for the end must hear that it will not come by itself. */
static void say_stalled(const struct vrt_watch *w, struct vrt_watched *f)
{
    char text[VRT_API_TEXT_BYTES];
    int before = f->said_state;

    f->said_state = f->job.state;
    if (needs_somebody(f->job.state) && f->job.state != before)
        say_failure(w, &f->job, vrt_progress_state(&f->job, text, sizeof(text)));
}

void vrt_watch_say_job(struct vrt_watch *w, struct vrt_watched *f, const struct json_t *json)
{
    if (w->params->quiet || w->params->view)
        say_stalled(w, f);
    else if (w->cli->args.json)
        vrt_cli_print_json(json);
    else
        say_progress(w, f);
}

void vrt_watch_say_device(struct vrt_watch *w, const struct vrt_device_report *device)
{
    char name[VRT_API_DEVICE_BYTES], reason[VRT_API_TEXT_BYTES];
    char text[VRT_API_DEVICE_BYTES + VRT_API_TEXT_BYTES];

    vrt_screen_clear(&w->screen);
    snprintf(text, sizeof(text), "device %s is %s%s%s",
             vrt_printable(device->name, name, sizeof(name)),
             vrt_name_of(vrt_device_state_names, device->state), device->last_error[0] ? ": " : "",
             vrt_printable(device->last_error, reason, sizeof(reason)));
    if (!show(w, NULL, text))
        fprintf(stderr, "%s\n", text);
    w->changed = true;
}

void vrt_watch_say(struct vrt_watch *w, const char *sentence)
{
    struct vrt_error said = { 0 };

    vrt_screen_clear(&w->screen);
    if (show(w, NULL, sentence))
        return;
    vrt_refuse(&said, -EAGAIN, "client.unreachable", "%s", sentence);
    vrt_cli_complain(w->cli, NULL, &said);
    w->changed = true;
}

void vrt_watch_say_nothing(struct vrt_watch *w)
{
    if (w->said_nothing || w->screen.terminal || w->cli->args.json)
        return;
    w->said_nothing = true;
    puts(NOTHING);
    fflush(stdout);
}

void vrt_watch_say_detached(const struct vrt_watch *w)
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
