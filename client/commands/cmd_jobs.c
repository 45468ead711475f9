/* SPDX-License-Identifier: MIT */
/* vrtctl list, watch, wait. */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/cli.h"
#include "client/cluster/cluster.h"
#include "client/terminal/format.h"
#include "client/terminal/progress.h"
#include "client/terminal/screen.h"
#include "client/terminal/table.h"
#include "client/commands/jobs.h"
#include "client/watch/watch.h"

/* The columns of list, from left to right. */
static const struct vrt_column columns[] = {
    { "ID", VRT_ALIGN_RIGHT },
    { "STATE", VRT_ALIGN_LEFT },
    { "DONE", VRT_ALIGN_RIGHT, .rank = 1 },
    { "FPS", VRT_ALIGN_RIGHT, .rank = 4 },
    { "ELAPSED", VRT_ALIGN_RIGHT, .rank = 3 },
    { "LEFT", VRT_ALIGN_RIGHT, .rank = 2 },
    { "MODEL", VRT_ALIGN_LEFT, .rank = 5 },
    { "ENDED OR QUEUED", VRT_ALIGN_LEFT, .rank = 6 },
    { "INPUT", VRT_ALIGN_LEFT },
    { NULL, VRT_ALIGN_LEFT },
};

/* What --sort may name, and the key of the job's JSON that it is. */
static const char *const sort_names[] = {
    "id", "state", "created", "finished", "done", "left", "priority", "input", NULL,
};

static const char *const sort_keys[] = {
    "id", "state", "created_at", "finished_at", "percent", "left_s", "priority", "input_name",
};

/* The jobs, until they are sorted. */
struct list {
    json_t **jobs;
    size_t n, capacity;
};

static int take_job(void *ctx, json_t *json, const struct vrt_job_info *job)
{
    struct list *list = ctx;

    (void)job;
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 64;
        json_t **jobs = reallocarray(list->jobs, capacity, sizeof(json_t *));
        if (!jobs)
            return vrt_raise(-ENOMEM);
        list->jobs = jobs;
        list->capacity = capacity;
    }
    list->jobs[list->n++] = json_incref(json);
    return 0;
}

static void list_done(struct list *list)
{
    for (size_t i = 0; i < list->n; i++)
        json_decref(list->jobs[i]);
    free(list->jobs);
}

/* Numbers by value, texts by letters; what has none comes last. */
static int compare(const json_t *a, const json_t *b)
{
    if (json_is_string(a) && json_is_string(b))
        return strcmp(json_string_value(a), json_string_value(b));
    if (!json_is_number(a) || !json_is_number(b))
        return json_is_null(a) - json_is_null(b);
    double x = json_number_value(a), y = json_number_value(b);
    return (x > y) - (x < y);
}

/* In the order wanted; jobs that are alike in that stay in the order of their numbers. */
static void sort(const struct list *list, const char *key)
{
    for (size_t i = 1; i < list->n; i++) {
        json_t *job = list->jobs[i];
        size_t low = 0, high = i;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (compare(json_object_get(list->jobs[middle], key), json_object_get(job, key)) <= 0)
                low = middle + 1;
            else
                high = middle;
        }
        memmove(&list->jobs[low + 1], &list->jobs[low], (i - low) * sizeof(json_t *));
        list->jobs[low] = job;
    }
}

/* The input, and why nothing came of it. */
static const char *print_input(const struct vrt_job_info *job, char *buffer, size_t size)
{
    char input[VRT_API_NAME_BYTES], reason[VRT_API_TEXT_BYTES];

    vrt_progress_name(job, input, sizeof(input));
    if (job->state != VRT_JOB_FAILED || !job->has_error)
        return vrt_printable(input, buffer, (int)size);
    vrt_printable(job->error.message, reason, sizeof(reason));
    /* Many a reason names it. */
    const bool is_named = input[0] && strncmp(reason, input, strlen(input)) == 0;
    snprintf(buffer, size, "%s%s%s", is_named ? "" : input, is_named ? "" : ": ", reason);
    return buffer;
}

static int add_row(struct vrt_table *table, const struct vrt_job_info *job)
{
    char id[32], done[32], fps[32], elapsed[32], left[32], date[32];
    char model[VRT_API_NAME_BYTES], input[VRT_API_NAME_BYTES + VRT_API_TEXT_BYTES];
    bool running = job->state == VRT_JOB_RUNNING && !job->cancelling;

    snprintf(id, sizeof(id), "%" PRId64, job->id);
    vrt_format_time(job->finished_at ? job->finished_at : job->created_at, date, sizeof(date));
    const char *const cells[] = {
        id,
        vrt_progress_state_name(job),
        vrt_progress_percent(job, done, sizeof(done)),
        vrt_format_rate(job->fps > 0 ? job->fps : NAN, fps, sizeof(fps)),
        vrt_format_duration(job->elapsed_s, elapsed, sizeof(elapsed)),
        running ? vrt_format_duration(job->left_s, left, sizeof(left)) : "-",
        vrt_printable(job->model.name, model, sizeof(model)),
        date,
        print_input(job, input, sizeof(input)),
    };

    return vrt_table_add(table, cells);
}

/* The line for each job that doesn't go on by itself is printed below the table, where a narrow
 * terminal doesn't cut the cure. */
static int add_note(const struct vrt_job_info *job, struct vrt_table *table)
{
    char state[VRT_API_TEXT_BYTES];

    if (job->cancelling ||
        (job->state != VRT_JOB_NEEDS_INPUT && job->state != VRT_JOB_DISK_FULL))
        return 0;
    /* What has no name is another user's: its cure is none of ours. */
    if (!job->input_name[0])
        return 0;
    return vrt_fold(vrt_table_note(table, "job %" PRId64 ": %s", job->id,
                                   vrt_progress_state(job, state, sizeof(state))));
}

static int print_table(const struct vrt_cli *cli, const struct list *list)
{
    struct vrt_table table;
    int r = 0;

    vrt_table_init(&table, columns);
    for (size_t i = 0; r == 0 && i < list->n; i++) {
        struct vrt_job_info job;
        size_t at = cli->args.reverse ? list->n - 1 - i : i;
        r = vrt_job_info_decode(list->jobs[at], &job, NULL);
        if (r < 0)
            break;
        r = add_row(&table, &job);
        if (r == 0)
            r = add_note(&job, &table);
        vrt_job_info_done(&job);
    }
    if (r == 0)
        r = vrt_screen_print_table(&table);
    vrt_table_done(&table);
    return vrt_fold(r);
}

static int run_list(struct vrt_cli *cli)
{
    const struct vrt_args *args = &cli->args;
    unsigned states = vrt_jobs_states(cli, args->state, args->all ? VRT_JOBS_ANY : ~VRT_JOBS_OVER);
    struct list list = { 0 };
    struct vrt_error error = { 0 };

    if (!states)
        return VRT_EXIT_USAGE;
    int r = vrt_jobs_each(cli, states, take_job, &list, &error);
    if (r == 0 && args->sort)
        sort(&list, sort_keys[args->sort]);
    for (size_t i = 0; r == 0 && args->json && i < list.n; i++)
        vrt_cli_print_json(list.jobs[args->reverse ? list.n - 1 - i : i]);
    if (r == 0 && !args->json && list.n > 0)
        r = print_table(cli, &list);
    const bool has_jobs = list.n > 0;
    list_done(&list);
    /* Also where no daemon answers: none takes part in them. */
    const bool has_films = vrt_cluster_list(cli, states, has_jobs);
    if (r == 0 && !args->json && !has_jobs && !has_films)
        puts(args->all || args->state ? "no such job is remembered" :
             "no job is waiting or running; vrtctl list --all shows those that are over");
    return r != 0 ? vrt_cli_fail(cli, NULL, r, &error) : VRT_EXIT_OK;
}

#define A struct vrt_args
static const struct vrt_option list_options[] = {
    { "all", 'a', VRT_OPTION_FLAG, offsetof(A, all),
      .help = "also jobs that are over, as far as they are remembered" },
    { "state", 0, VRT_OPTION_TEXT, offsetof(A, state),
      .names = vrt_job_state_names, .argument = "STATES",
      .help = "only jobs in such states, as failed,cancelled" },
    { "sort", 0, VRT_OPTION_WORD, offsetof(A, sort), .names = sort_names, .argument = "KEY",
      .help = "id, state, created, finished, done, left, priority or input (default: id)" },
    { "reverse", 'r', VRT_OPTION_FLAG, offsetof(A, reverse), .help = "the last one first" },
    { .name = NULL },
};

static const struct vrt_option wait_options[] = {
    { "all", 'a', VRT_OPTION_FLAG, offsetof(A, all),
      .help = "all jobs of yours that wait or run now" },
    { .name = NULL },
};
#undef A

static int watch(struct vrt_cli *cli, bool quiet)
{
    VRT_CLEANUP(vrt_freep) long long *ids = NULL;
    int n = 0, films;

    if (!vrt_cluster_take(cli, quiet ? "wait" : "follow", &films))
        return films;
    int exit = vrt_jobs_named(cli, ~VRT_JOBS_OVER, "no job of yours waits or runs", &ids, &n);
    const struct vrt_watch_params params = {
        .ids = ids,
        .n_ids = (size_t)n,
        .quiet = quiet,
        .say_how_to_cancel = quiet,
    };
    /* Without a number all are watched, for ever. */
    if (exit == VRT_EXIT_OK && !(cli->args.all && n == 0))
        exit = vrt_watch(cli, &params);
    return exit != VRT_EXIT_OK ? exit : films;
}

static int run_watch(struct vrt_cli *cli)
{
    return watch(cli, false);
}

static int run_wait(struct vrt_cli *cli)
{
    return watch(cli, true);
}

const struct vrt_command vrt_command_list = {
    .name = "list",
    .operands = "",
    .summary = "list the jobs and films that wait or run, or that are over",
    .options = list_options,
    .run = run_list,
};

const struct vrt_command vrt_command_watch = {
    .name = "watch",
    .operands = "[ID|FILM]...",
    .summary = "show the progress of jobs, or of all of them, as it happens",
    .max_operands = 10000,
    .run = run_watch,
};

const struct vrt_command vrt_command_wait = {
    .name = "wait",
    .operands = "ID|FILM... | --all",
    .summary = "wait until jobs are over, and say how they ended",
    .options = wait_options,
    .min_operands = 1,
    .max_operands = 10000,
    .run = run_wait,
};
