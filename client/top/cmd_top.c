/* SPDX-License-Identifier: MIT */
/*
 * vrtctl top: jobs and devices on the whole terminal, until the user has enough. What happens to
 * jobs is learnt as by watch; what is typed, and the devices once a second, between two events.
 *
 * Where standard input or output isn't a terminal it prints how things are, once.
 */

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/commands/jobs.h"
#include "client/conn.h"
#include "client/top/top.h"
#include "client/watch/watch.h"

/* Ctrl-Z; a signal has no other way to its reader. */
static volatile sig_atomic_t is_stopped;

static void on_stop(int number)
{
    (void)number;
    is_stopped = 1;
}

static void leave(void *context)
{
    struct vrt_top *top = context;

    vrt_screen_leave(&top->screen);
    vrt_keys_release(&top->keys);
    top->columns = 0;               /* it is drawn anew */
}

/* Has the terminal, if it isn't gone, which is found out by what is typed there. */
static void enter(struct vrt_top *top)
{
    if (!top->keys.is_taken)
        (void)vrt_keys_take(&top->keys);
    vrt_screen_enter(&top->screen);
}

/* The shell gets its terminal as it was; this goes on here when it is continued. */
static void stop(struct vrt_top *top)
{
    leave(top);
    raise(SIGSTOP);
    is_stopped = 0;
}

/* The jobs, unless there is no memory for another. */
static void collect(struct vrt_top *top, const struct vrt_watch *watch)
{
    const struct vrt_job_info *job;
    size_t at = 0;

    top->n_jobs = 0;
    while ((job = vrt_watch_next(watch, &at))) {
        if (top->n_jobs == top->capacity) {
            const size_t capacity = top->capacity ? top->capacity * 2 : 64;
            void *jobs = reallocarray(top->jobs, capacity, sizeof(*top->jobs));
            if (!jobs)
                return;
            top->jobs = jobs;
            top->capacity = capacity;
        }
        top->jobs[top->n_jobs++] = job;
    }
}

static bool turn(void *context, const struct vrt_watch *watch, bool is_there)
{
    struct vrt_top *top = context;

    if (is_stopped)
        stop(top);
    enter(top);
    top->is_there = is_there;
    collect(top, watch);
    vrt_top_arrange(top);
    vrt_top_look(top);
    if (!vrt_top_take_keys(top))
        return false;
    vrt_top_draw(top);
    return true;
}

static void say(void *context, const char *sentence)
{
    vrt_top_say(context, sentence);
}

static int show(struct vrt_top *top)
{
    const struct vrt_watch_view view = {
        .turn = turn,
        .say = say,
        .leave = leave,
        .input_fd = STDIN_FILENO,
    };
    const struct vrt_watch_params params = { .view = &view, .context = top };
    const struct sigaction action = { .sa_handler = on_stop };

    sigaction(SIGTSTP, &action, NULL);
    int exit = vrt_watch(top->cli, &params);
    /* How jobs ended in front of somebody's eyes is no outcome of looking. */
    return top->has_quit ? VRT_EXIT_OK : exit;
}

/* Jobs that were asked for, where nothing follows: their objects, and what they say. */
struct snapshot {
    struct vrt_job_info *jobs;
    json_t *json;               /* an array */
    size_t n;
};

static int take_job(void *ctx, json_t *json, const struct vrt_job_info *job)
{
    struct snapshot *s = ctx;
    struct vrt_error error = { 0 };

    (void)job;
    void *jobs = reallocarray(s->jobs, s->n + 1, sizeof(*s->jobs));
    if (!jobs)
        return vrt_raise(-ENOMEM);
    s->jobs = jobs;
    int r = vrt_job_info_decode(json, &s->jobs[s->n], &error);
    if (r < 0)
        return vrt_fold(r);
    s->n++;
    return json_array_append(s->json, json) < 0 ? vrt_raise(-ENOMEM) : 0;
}

/* The jobs of the snapshot as the daemon told them, as they are sorted. */
static int print_json(const struct vrt_top *top, const struct snapshot *s, const json_t *devices)
{
    json_t *jobs = json_array(), *all;
    int exit = VRT_EXIT_FAILED;

    for (size_t i = 0; i < top->n_jobs; i++)
        json_array_append(jobs, json_array_get(s->json, (size_t)(top->jobs[i] - s->jobs)));
    all = json_pack("{s:O, s:o}", "devices", devices, "jobs", jobs);
    if (all)
        exit = vrt_cli_print_json(all);
    json_decref(all);
    return exit;
}

static int print_tables(const struct vrt_top *top)
{
    const struct vrt_top_style style = { 0 };
    struct vrt_buf buf = { 0 };
    char line[VRT_API_TEXT_BYTES];

    vrt_top_summarize(top, line, sizeof(line));
    int r = vrt_buf_printf(&buf, "%s\n", line);
    if (r == 0)
        r = vrt_top_print_devices(top, SIZE_MAX, &style, &buf);
    if (r == 0 && top->n_jobs)
        r = vrt_buf_append(&buf, "\n", 1);
    if (r == 0 && top->n_jobs)
        r = vrt_top_print_jobs(top, 0, SIZE_MAX, &style, &buf);
    if (r == 0)
        fputs(buf.data, stdout);
    vrt_buf_done(&buf);
    return r == 0 ? VRT_EXIT_OK : VRT_EXIT_FAILED;
}

/* How things are, once. */
static int print_once(struct vrt_top *top)
{
    struct snapshot s = { .json = json_array() };
    struct vrt_error error = { 0 };
    json_t *json = NULL;
    const json_t *devices = NULL;
    int exit;

    int r = vrt_conn_get(top->cli->conn, &json, &error, "/v1/devices");
    if (r == 0)
        devices = json_object_get(json, "devices");
    if (r == 0 && !json_is_array(devices))
        r = vrt_refuse(&error, VRT_CONN_E_BROKEN, VRT_CONN_BROKEN_ID,
                       "vrtd's answer holds no list of devices");
    if (r == 0)
        r = vrt_jobs_each(top->cli, ~VRT_JOBS_OVER, take_job, &s, &error);
    if (r == 0 && !(top->jobs = calloc(s.n + 1, sizeof(*top->jobs))))
        r = vrt_refuse_errno(&error, vrt_raise(-ENOMEM), "listing jobs");
    for (; r == 0 && top->n_jobs < s.n; top->n_jobs++)
        top->jobs[top->n_jobs] = &s.jobs[top->n_jobs];
    if (r == 0) {
        vrt_top_arrange(top);
        r = vrt_top_take_look(top, devices, &error);
    }
    if (r != 0)
        exit = vrt_cli_fail(top->cli, NULL, r, &error);
    else
        exit = top->cli->args.json ? print_json(top, &s, devices) : print_tables(top);
    for (size_t i = 0; i < s.n; i++)
        vrt_job_info_done(&s.jobs[i]);
    free(s.jobs);
    json_decref(s.json);
    json_decref(json);
    return exit;
}

static int run_top(struct vrt_cli *cli)
{
    struct vrt_top top = { .cli = cli, .sort = cli->args.sort };

    vrt_screen_init(&top.screen);
    const bool shows = top.screen.terminal && isatty(STDIN_FILENO) && !cli->args.json;
    int exit = shows ? show(&top) : print_once(&top);
    vrt_top_forget(&top);
    return exit;
}

#define A struct vrt_args
static const struct vrt_option options[] = {
    { "sort", 0, VRT_OPTION_WORD, offsetof(A, sort), .names = vrt_top_sort_names,
      .argument = "KEY",
      .help = "state, priority or progress (default: state)" },
    { .name = NULL },
};
#undef A

const struct vrt_command vrt_command_top = {
    .name = "top",
    .operands = "",
    .summary = "show jobs and devices on the whole terminal, and take keys for them",
    .options = options,
    .run = run_top,
};
