/* SPDX-License-Identifier: MIT */
/*
 * vrtctl pause, resume, retry, priority, cancel: what is asked of jobs that are there.
 *
 * Each job is a request by itself: one that is refused doesn't hold up the others.
 */

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "base/cleanup.h"
#include "client/cli.h"
#include "client/cluster/cluster.h"
#include "client/control/control.h"
#include "client/commands/jobs.h"
#include "client/conn.h"

/* Says what became of what was asked, which vrt_control_*() returned `r` of, and frees it.
 * Return: enum vrt_exit. */
static int conclude(struct vrt_cli *cli, long long id, int r, struct vrt_said *said,
                    const struct vrt_error *error)
{
    const bool is_its_own = r < 0 || r == VRT_CONN_E_REFUSED;
    int exit = VRT_EXIT_OK;
    char what[40];

    snprintf(what, sizeof(what), "job %lld", id);
    if (r != 0)
        return vrt_cli_fail(cli, is_its_own ? what : NULL, r, error);
    if (cli->args.json)
        exit = vrt_cli_print_json(said->json);
    else
        puts(said->text);
    vrt_said_done(said);
    return exit;
}

static int pause_one(struct vrt_cli *cli, long long id)
{
    struct vrt_error error = { 0 };
    struct vrt_said said;

    return conclude(cli, id, vrt_control_pause(cli, id, &said, &error), &said, &error);
}

int vrt_jobs_cancel(struct vrt_cli *cli, long long id)
{
    struct vrt_error error = { 0 };
    struct vrt_said said;

    return conclude(cli, id, vrt_control_cancel(cli, id, &said, &error), &said, &error);
}

/* The input is the second operand behind a job's number, unless that is another's. */
static const char *given_input(const struct vrt_cli *cli)
{
    char *const *operands = cli->args.operands;

    return cli->args.n_operands == 2 && !vrt_cluster_is_path(operands[0]) &&
           vrt_cluster_is_path(operands[1]) ? operands[1] : NULL;
}

static int resume_one(struct vrt_cli *cli, long long id)
{
    struct vrt_error error = { 0 };
    struct vrt_said said;

    return conclude(cli, id, vrt_control_resume(cli, id, given_input(cli), &said, &error), &said,
                    &error);
}

static int retry_one(struct vrt_cli *cli, long long id)
{
    struct vrt_error error = { 0 };
    struct vrt_said said;

    return conclude(cli, id, vrt_control_retry(cli, id, given_input(cli), &said, &error), &said,
                    &error);
}

/* What is done to each of several jobs. */
struct deed {
    const char *word;           /* what vrtctl cluster calls it */
    int (*one)(struct vrt_cli *cli, long long id);
    unsigned states;            /* those that --all means */
    const char *nothing;        /* is said where there is none of them */
};

static const struct deed pausing = {
    "hold", pause_one, 1U << VRT_JOB_QUEUED | 1U << VRT_JOB_FETCHING | 1U << VRT_JOB_RUNNING,
    "no job of yours waits or runs",
};

static const struct deed cancelling = {
    "cancel", vrt_jobs_cancel, ~VRT_JOBS_OVER, "no job of yours waits or runs",
};

/* One after the other. Return: enum vrt_exit, of the last that didn't go well. */
static int each(struct vrt_cli *cli, const struct deed *deed)
{
    VRT_CLEANUP(vrt_freep) long long *ids = NULL;
    int n = 0, films;

    if (!vrt_cluster_take(cli, deed->word, &films))
        return films;
    int exit = vrt_jobs_named(cli, deed->states, deed->nothing, &ids, &n);
    for (int i = 0; ids && i < n && exit != VRT_EXIT_UNREACHABLE; i++) {
        int r = deed->one(cli, ids[i]);
        exit = r != VRT_EXIT_OK ? r : exit;
    }
    return exit != VRT_EXIT_OK ? exit : films;
}

static int run_pause(struct vrt_cli *cli)
{
    return each(cli, &pausing);
}

static int run_cancel(struct vrt_cli *cli)
{
    return each(cli, &cancelling);
}

static int run_priority(struct vrt_cli *cli)
{
    const char *text = cli->args.operands[1];
    struct vrt_error error = { 0 };
    struct vrt_said said;
    char printable[80], *end;

    long long id = vrt_cli_job_id(cli, 0);
    if (!id)
        return VRT_EXIT_USAGE;
    long long priority = strtoll(text, &end, 10);
    if (end == text || *end || priority < VRT_API_PRIORITY_MIN || priority > VRT_API_PRIORITY_MAX)
        return vrt_cli_misused(cli, "a priority is an integer from %d to %d, not \"%s\"",
                               VRT_API_PRIORITY_MIN, VRT_API_PRIORITY_MAX,
                               vrt_printable(text, printable, sizeof(printable)));
    int r = vrt_control_set_priority(cli, id, priority, &said, &error);
    return conclude(cli, id, r, &said, &error);
}

static const struct deed resuming = {
    "release", resume_one, VRT_CONTROL_RESUMABLE, "no job of yours waits to be resumed",
};

static const struct deed retrying = {
    "retry", retry_one, 1U << VRT_JOB_FAILED, "no job of yours failed",
};

static int revive(struct vrt_cli *cli, const struct deed *deed)
{
    const struct vrt_args *args = &cli->args;
    const char *named = args->output ? "output" : args->model ? "model" :
                        args->reference ? "reference" : NULL;

    if (args->all && named)
        return vrt_cli_misused(cli, "--%s names the file of one job, not of --all", named);
    if (given_input(cli)) {
        long long id = vrt_cli_job_id(cli, 0);
        return id ? deed->one(cli, id) : VRT_EXIT_USAGE;
    }
    if (args->n_operands > 1 && named)
        return vrt_cli_misused(cli, "--%s names the file of one job, and there are %d", named,
                               args->n_operands);
    return each(cli, deed);
}

static int run_resume(struct vrt_cli *cli)
{
    return revive(cli, &resuming);
}

static int run_retry(struct vrt_cli *cli)
{
    return revive(cli, &retrying);
}

#define A struct vrt_args
#define ALL(what) \
    { "all", 'a', VRT_OPTION_FLAG, offsetof(A, all), .help = (what) }

static const struct vrt_option active_options[] = {
    ALL("all jobs of yours that wait or run"),
    { .name = NULL },
};

/* Of resume and of retry. */
static const struct vrt_option file_options[] = {
    ALL("all jobs of yours that can be resumed, or that failed"),
    { "output", 'o', VRT_OPTION_TEXT, offsetof(A, output), .argument = "FILE",
      .help = "where the result goes now (default: where it went)" },
    { "model", 'm', VRT_OPTION_TEXT, offsetof(A, model), .argument = "FILE",
      .help = "where its checkpoint is now (default: where it was)" },
    { "reference", 0, VRT_OPTION_TEXT, offsetof(A, reference), .argument = "FILE",
      .help = "where what the result is compared with is now (default: where it was)" },
    { "overwrite", 0, VRT_OPTION_FLAG, offsetof(A, overwrite),
      .help = "replace an output that holds something by now" },
    { .name = NULL },
};
#undef ALL
#undef A

const struct vrt_command vrt_command_pause = {
    .name = "pause",
    .operands = "ID|FILM... | --all",
    .summary = "let jobs rest, and their devices do other work",
    .options = active_options,
    .min_operands = 1,
    .max_operands = 10000,
    .run = run_pause,
};

const struct vrt_command vrt_command_resume = {
    .name = "resume",
    .operands = "ID|FILM... | ID INPUT | --all",
    .summary = "let jobs go on that are paused, or need their files again",
    .options = file_options,
    .min_operands = 1,
    .max_operands = 10000,
    .run = run_resume,
};

const struct vrt_command vrt_command_retry = {
    .name = "retry",
    .operands = "ID|FILM... | ID INPUT | --all",
    .summary = "try failed jobs again, from what is stored, and cancelled ones anew",
    .options = file_options,
    .min_operands = 1,
    .max_operands = 10000,
    .run = run_retry,
};

const struct vrt_command vrt_command_priority = {
    .name = "priority",
    .operands = "ID N",
    .summary = "change a job's priority",
    .min_operands = 2,
    .max_operands = 2,
    .run = run_priority,
};

const struct vrt_command vrt_command_cancel = {
    .name = "cancel",
    .operands = "ID|FILM... | --all",
    .summary = "cancel jobs, and remove what is stored of their results",
    .options = active_options,
    .min_operands = 1,
    .max_operands = 10000,
    .run = run_cancel,
};
