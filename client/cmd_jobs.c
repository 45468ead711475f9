/* SPDX-License-Identifier: MIT */
/* vrtctl list, watch, wait, cancel. */

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "client/cli.h"
#include "client/conn.h"
#include "client/format.h"
#include "client/screen.h"
#include "client/table.h"
#include "client/watch.h"

/* The columns of list, from left to right. */
static const struct vrt_column columns[] = {
    { "ID", VRT_ALIGN_RIGHT },
    { "STATE", VRT_ALIGN_LEFT },
    { "DONE", VRT_ALIGN_RIGHT },
    { "FPS", VRT_ALIGN_RIGHT },
    { "ELAPSED", VRT_ALIGN_RIGHT },
    { "LEFT", VRT_ALIGN_RIGHT },
    { "MODEL", VRT_ALIGN_LEFT },
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
        running ? vrt_format_duration(job->eta_s, left, sizeof(left)) : "-",
        vrt_printable(job->model.name, model, sizeof(model)),
        vrt_printable(job->input_name, input, sizeof(input)),
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cells); i++) {
        int r = vrt_table_add(table, cells[i]);
        if (r < 0)
            return vrt_fold(r);
    }
    return 0;
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
    if (r == 0 && !cli->args.json && !cli->args.all && table.n_cells == 0)
        puts("no job is waiting or running; vrtctl list --all shows those that are over");
    else if (r == 0 && !cli->args.json)
        r = vrt_screen_print_table(&table);
    vrt_table_done(&table);
    return r ? vrt_cli_fail(NULL, r, &error) : VRT_EXIT_OK;
}

#define A struct vrt_args
static const struct vrt_option list_options[] = {
    { "all", 'a', VRT_OPTION_FLAG, offsetof(A, all),
      .help = "also jobs that are over, as far as they are remembered" },
    { .name = NULL },
};
#undef A

/* The operands' numbers. Return: VRT_EXIT_OK, *ret_ids is the caller's (NULL without operands). */
static int read_ids(const struct vrt_cli *cli, long long **ret_ids)
{
    VRT_CLEANUP(vrt_freep) long long *ids = calloc((size_t)cli->args.n_operands + 1, sizeof(*ids));

    for (int i = 0; ids && i < cli->args.n_operands; i++) {
        ids[i] = vrt_cli_job_id(cli, i);
        if (!ids[i])
            return VRT_EXIT_USAGE;
    }
    *ret_ids = VRT_STEAL(ids);
    return *ret_ids ? VRT_EXIT_OK : VRT_EXIT_FAILED;
}

static int watch(struct vrt_cli *cli, bool quiet)
{
    VRT_CLEANUP(vrt_freep) long long *ids = NULL;

    int exit = read_ids(cli, &ids);
    const struct vrt_watch_params params = {
        .ids = ids,
        .n_ids = (size_t)cli->args.n_operands,
        .quiet = quiet,
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

/* Return: enum vrt_exit; everything was said. */
static int cancel(struct vrt_cli *cli, long long id)
{
    struct vrt_job_info job;
    struct vrt_error error = { 0 };
    char path[64], name[VRT_API_NAME_BYTES];
    json_t *json = NULL;
    int exit = VRT_EXIT_OK;

    snprintf(path, sizeof(path), "/v1/jobs/%lld", id);
    const struct vrt_request request = { .method = "DELETE", .path = path };
    int r = vrt_conn_request(cli->conn, &request, &json, &error);
    if (r == 0 && vrt_job_info_decode(json, &job, &error) < 0)
        r = VRT_CONN_E_BROKEN;
    if (r == 0 && cli->args.json)
        exit = vrt_cli_print_json(json);
    else if (r == 0)
        printf("job %lld (%s) %s\n", id, vrt_printable(job.input_name, name, sizeof(name)),
               job.state == VRT_JOB_CANCELLED ? "was cancelled" : "is being cancelled");
    if (r == 0)
        vrt_job_info_done(&job);
    json_decref(json);
    return r ? vrt_cli_fail(NULL, r, &error) : exit;
}

static int run_cancel(struct vrt_cli *cli)
{
    VRT_CLEANUP(vrt_freep) long long *ids = NULL;

    int exit = read_ids(cli, &ids);
    for (int i = 0; ids && i < cli->args.n_operands && exit != VRT_EXIT_UNREACHABLE; i++) {
        int one = cancel(cli, ids[i]);
        exit = one != VRT_EXIT_OK ? one : exit;
    }
    return exit;
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

const struct vrt_command vrt_command_cancel = {
    .name = "cancel",
    .operands = "ID...",
    .summary = "cancel jobs",
    .min_operands = 1,
    .max_operands = 10000,
    .run = run_cancel,
};
