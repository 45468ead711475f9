/* SPDX-License-Identifier: MIT */
/* vrtctl list, watch, wait. */

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "client/cli.h"
#include "client/conn.h"
#include "client/terminal/format.h"
#include "client/terminal/progress.h"
#include "client/terminal/screen.h"
#include "client/terminal/table.h"
#include "client/commands/watch.h"

/* The columns of list, from left to right. */
static const struct vrt_column columns[] = {
    { "ID", VRT_ALIGN_RIGHT },
    { "STATE", VRT_ALIGN_LEFT },
    { "DONE", VRT_ALIGN_RIGHT, .rank = 1 },
    { "FPS", VRT_ALIGN_RIGHT, .rank = 4 },
    { "ELAPSED", VRT_ALIGN_RIGHT, .rank = 3 },
    { "LEFT", VRT_ALIGN_RIGHT, .rank = 2 },
    { "MODEL", VRT_ALIGN_LEFT, .rank = 5 },
    { "INPUT", VRT_ALIGN_LEFT },
    { NULL, VRT_ALIGN_LEFT },
};

static int add_row(struct vrt_table *table, const struct vrt_job_info *job)
{
    char id[32], done[32], fps[32], elapsed[32], left[32];
    char model[VRT_API_NAME_BYTES], input[VRT_API_NAME_BYTES];
    bool running = job->state == VRT_JOB_RUNNING;

    snprintf(id, sizeof(id), "%" PRId64, job->id);
    const char *const cells[] = {
        id,
        vrt_name_of(vrt_job_state_names, job->state),
        vrt_format_percent(job->frames_done, job->frames_total, done, sizeof(done)),
        vrt_format_rate(job->fps, fps, sizeof(fps)),
        vrt_format_duration(job->elapsed_s, elapsed, sizeof(elapsed)),
        running ? vrt_format_duration(job->left_s, left, sizeof(left)) : "-",
        vrt_printable(job->model.name, model, sizeof(model)),
        vrt_progress_name(job, input, sizeof(input)),
    };

    return vrt_table_add(table, cells);
}

/* The line for each job that doesn't go on by itself is printed below the table, where a narrow
 * terminal doesn't cut the cure. */
static int add_note(const struct vrt_job_info *job, struct vrt_table *table)
{
    char state[VRT_API_TEXT_BYTES];

    if (job->state != VRT_JOB_NEEDS_INPUT && job->state != VRT_JOB_DISK_FULL)
        return 0;
    /* What has no name is another user's: its cure is none of ours. */
    if (!job->input_name[0])
        return 0;
    return vrt_fold(vrt_table_note(table, "job %" PRId64 ": %s", job->id,
                                   vrt_progress_state(job, state, sizeof(state))));
}

/* Jobs of the answer, as JSON or as rows. Return: 0; VRT_CONN_E_*; -errno. */
static int take_jobs(const struct vrt_cli *cli, const json_t *json, struct vrt_table *table,
                     struct vrt_error *error)
{
    const json_t *jobs = json_object_get(json, "jobs");

    if (!json_is_array(jobs))
        return vrt_refuse(error, VRT_CONN_E_BROKEN, VRT_CONN_BROKEN_ID,
                          "vrtd's answer holds no list of jobs");
    for (size_t i = 0; i < json_array_size(jobs); i++) {
        struct vrt_job_info job;
        if (cli->args.json) {
            vrt_cli_print_json(json_array_get(jobs, i));
            continue;
        }
        if (vrt_job_info_decode(json_array_get(jobs, i), &job, error) < 0)
            return VRT_CONN_E_BROKEN;
        int r = add_row(table, &job);
        if (r == 0)
            r = add_note(&job, table);
        vrt_job_info_done(&job);
        if (r < 0)
            return vrt_refuse_errno(error, r, "listing jobs");
    }
    return 0;
}

/* Behind which job the next page begins; 0: this was the last one. */
static int take_next(const json_t *json, long long *after, struct vrt_error *error)
{
    const json_t *next = json_object_get(json, "next");
    long long id = json_integer_value(next);

    /* One that doesn't lead on would be asked for again and again. */
    if (next && !json_is_null(next) && id <= *after)
        return vrt_refuse(error, VRT_CONN_E_BROKEN, VRT_CONN_BROKEN_ID,
                          "vrtd's answer doesn't say where its list goes on");
    *after = id;
    return 0;
}

static int print_listing(const struct vrt_cli *cli, const struct vrt_table *table)
{
    if (cli->args.json)
        return 0;
    if (!cli->args.all && table->n_cells == 0) {
        puts("no job is waiting or running; vrtctl list --all shows those that are over");
        return 0;
    }
    return vrt_fold(vrt_screen_print_table(table));
}

/* Page by page: a history may be long. */
static int run_list(struct vrt_cli *cli)
{
    struct vrt_table table;
    struct vrt_error error = { 0 };
    long long after = 0;
    int r;

    vrt_table_init(&table, columns);
    do {
        json_t *json = NULL;
        r = vrt_conn_get(cli->conn, &json, &error, "/v1/jobs?active=%s&after=%lld",
                         cli->args.all ? "false" : "true", after);
        if (r == 0)
            r = take_jobs(cli, json, &table, &error);
        if (r == 0)
            r = take_next(json, &after, &error);
        json_decref(json);
    } while (r == 0 && after > 0);
    if (r == 0)
        r = print_listing(cli, &table);
    vrt_table_done(&table);
    if (r < 0)
        vrt_refuse_errno(&error, r, "listing jobs");
    return r != 0 ? vrt_cli_fail(NULL, r, &error) : VRT_EXIT_OK;
}

#define A struct vrt_args
static const struct vrt_option list_options[] = {
    { "all", 'a', VRT_OPTION_FLAG, offsetof(A, all),
      .help = "also jobs that are over, as far as they are remembered" },
    { .name = NULL },
};
#undef A

static int watch(struct vrt_cli *cli, bool quiet)
{
    VRT_CLEANUP(vrt_freep) long long *ids = NULL;

    int exit = vrt_cli_job_ids(cli, cli->args.n_operands, &ids);
    const struct vrt_watch_params params = {
        .ids = ids,
        .n_ids = (size_t)cli->args.n_operands,
        .quiet = quiet,
        .say_how_to_cancel = quiet,
    };
    return exit == VRT_EXIT_OK ? vrt_watch(cli, &params) : exit;
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
    .summary = "list the jobs that wait or run",
    .options = list_options,
    .run = run_list,
};

const struct vrt_command vrt_command_watch = {
    .name = "watch",
    .operands = "[ID]...",
    .summary = "show the progress of jobs, or of all of them, as it happens",
    .max_operands = 10000,
    .run = run_watch,
};

const struct vrt_command vrt_command_wait = {
    .name = "wait",
    .operands = "ID...",
    .summary = "wait until jobs are over, and say how they ended",
    .min_operands = 1,
    .max_operands = 10000,
    .run = run_wait,
};
