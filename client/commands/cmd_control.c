/* SPDX-License-Identifier: MIT */
/*
 * vrtctl pause, resume, retry, priority, cancel: what is asked of jobs that are there.
 *
 * Each job is a request by itself: one that is refused doesn't hold up the others. To resume a job
 * that lost its files, or to retry one, vrtctl asks for the paths that were submitted and opens
 * them again as the user: the daemon could not, and the file there may be another one by now, which
 * it finds out.
 */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "base/cleanup.h"
#include "client/cli.h"
#include "client/conn.h"
#include "client/files.h"
#include "client/commands/handover.h"
#include "client/commands/jobs.h"
#include "client/terminal/progress.h"

/* What is said of a job that was asked for something, and of one that isn't there yet. */
struct outcome {
    long long id;
    int state;                  /* that it was asked to have; VRT_UNKNOWN: any will do */
    const char *reached, *under_way;
};

/* The job that was asked for. Return: 0; VRT_CONN_E_BROKEN. */
static int take_job(const json_t *json, long long id, struct vrt_job_info *ret_job,
                    struct vrt_error *error)
{
    if (vrt_job_info_decode(json, ret_job, error) < 0)
        return VRT_CONN_E_BROKEN;
    if (ret_job->id == id)
        return 0;
    vrt_job_info_done(ret_job);
    return vrt_refuse(error, VRT_CONN_E_BROKEN, VRT_CONN_BROKEN_ID,
                      "vrtd's answer isn't about job %lld", id);
}

static void print_outcome(const struct vrt_job_info *job, const struct outcome *outcome)
{
    bool is_reached = outcome->state == VRT_UNKNOWN || job->state == outcome->state;
    int64_t n = job->state == VRT_JOB_PAUSED ? vrt_progress_n_under_way(job) : 0;
    char name[VRT_API_NAME_BYTES];

    vrt_progress_name(job, name, sizeof(name));
    if (n > 0)
        printf("job %" PRId64 " (%s) %s: %" PRId64 " %s under way\n", job->id, name,
               outcome->under_way, n, n == 1 ? "shard is" : "shards are");
    else
        printf("job %" PRId64 " (%s) %s\n", job->id, name,
               is_reached ? outcome->reached : outcome->under_way);
}

/* Takes the answer, NULL where the request failed with `r`. Return: enum vrt_exit. */
static int take_answer(struct vrt_cli *cli, int r, const json_t *json,
                       const struct outcome *outcome, struct vrt_error *error)
{
    struct vrt_job_info job;
    int exit = VRT_EXIT_OK;

    if (r == 0)
        r = take_job(json, outcome->id, &job, error);
    if (r == 0 && cli->args.json)
        exit = vrt_cli_print_json(json);
    else if (r == 0)
        print_outcome(&job, outcome);
    if (r == 0 && outcome->state == VRT_JOB_CANCELLED)
        vrt_file_remove_placeholder(job.output_path, job.created_at);
    if (r == 0)
        vrt_job_info_done(&job);
    return r != 0 ? vrt_cli_fail(cli, NULL, r, error) : exit;
}

/* Sends one request without files. Return: enum vrt_exit; everything was said. */
static int ask(struct vrt_cli *cli, const struct vrt_request *request,
               const struct outcome *outcome)
{
    struct vrt_error error = { 0 };
    json_t *json = NULL;

    int r = vrt_conn_request(cli->conn, request, &json, &error);
    int exit = take_answer(cli, r, json, outcome, &error);
    json_decref(json);
    return exit;
}

static int pause_one(struct vrt_cli *cli, long long id)
{
    const struct outcome outcome = {
        id, VRT_JOB_PAUSED, vrt_job_state_phrases[VRT_JOB_PAUSED], "is being paused",
    };
    char path[64];

    snprintf(path, sizeof(path), "/v1/jobs/%lld/pause", id);
    return ask(cli, &(struct vrt_request){ .method = "POST", .path = path }, &outcome);
}

int vrt_jobs_cancel(struct vrt_cli *cli, long long id)
{
    const struct outcome outcome = {
        id, VRT_JOB_CANCELLED, vrt_job_state_phrases[VRT_JOB_CANCELLED], "is being cancelled",
    };
    char path[64];

    snprintf(path, sizeof(path), "/v1/jobs/%lld", id);
    return ask(cli, &(struct vrt_request){ .method = "DELETE", .path = path }, &outcome);
}

/* What is done to each of several jobs. */
struct deed {
    int (*one)(struct vrt_cli *cli, long long id);
    unsigned states;            /* those that --all means */
    const char *nothing;        /* is said where there is none of them */
};

static const struct deed pausing = {
    pause_one, 1U << VRT_JOB_QUEUED | 1U << VRT_JOB_FETCHING | 1U << VRT_JOB_RUNNING,
    "no job of yours waits or runs",
};

static const struct deed cancelling = {
    vrt_jobs_cancel, ~VRT_JOBS_OVER, "no job of yours waits or runs",
};

/* One after the other. Return: enum vrt_exit, of the last that didn't go well. */
static int each(struct vrt_cli *cli, const struct deed *deed)
{
    VRT_CLEANUP(vrt_freep) long long *ids = NULL;
    int n = 0;

    int exit = vrt_jobs_named(cli, deed->states, deed->nothing, &ids, &n);
    for (int i = 0; ids && i < n && exit != VRT_EXIT_UNREACHABLE; i++) {
        int r = deed->one(cli, ids[i]);
        exit = r != VRT_EXIT_OK ? r : exit;
    }
    return exit;
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
    char path[64], body[40], said[40], printable[80], *end;

    long long id = vrt_cli_job_id(cli, 0);
    if (!id)
        return VRT_EXIT_USAGE;
    long long priority = strtoll(text, &end, 10);
    if (end == text || *end || priority < VRT_API_PRIORITY_MIN || priority > VRT_API_PRIORITY_MAX)
        return vrt_cli_misused(cli, "a priority is an integer from %d to %d, not \"%s\"",
                               VRT_API_PRIORITY_MIN, VRT_API_PRIORITY_MAX,
                               vrt_printable(text, printable, sizeof(printable)));
    snprintf(path, sizeof(path), "/v1/jobs/%lld", id);
    snprintf(body, sizeof(body), "{\"priority\":%lld}", priority);
    snprintf(said, sizeof(said), "has priority %lld now", priority);
    return ask(cli, &(struct vrt_request){ .method = "PATCH", .path = path, .body = body },
               &(struct outcome){ id, VRT_UNKNOWN, said, said });
}

/* What distinguishes resume and retry. */
struct revival {
    const char *verb;
    const char *said;
    bool always_with_files;     /* the daemon kept none */
    unsigned states;            /* in which it may be asked for: 1U << each enum vrt_job_state */
};

#define RESUMABLE (1U << VRT_JOB_PAUSED | 1U << VRT_JOB_NEEDS_INPUT | 1U << VRT_JOB_DISK_FULL)
static const struct revival resume = { "resume", "goes on", false, RESUMABLE };

static const struct revival retry = {
    "retry", "is tried again", true, 1U << VRT_JOB_FAILED | 1U << VRT_JOB_CANCELLED,
};

/* The input is the second operand, unless that is another job's number. */
static const char *given_input(const struct vrt_cli *cli)
{
    const char *text = cli->args.n_operands == 2 ? cli->args.operands[1] : NULL;

    return text && text[strspn(text, "0123456789")] ? text : NULL;
}

static const char *either(const char *given, const char *known)
{
    return given ? given : known[0] ? known : NULL;
}

/* The files to send: those that the user names, and else those that the daemon lacks. */
static void choose_files(const struct vrt_cli *cli, const struct revival *revival,
                         const struct vrt_job_info *job, struct vrt_handover *h)
{
    const struct vrt_args *args = &cli->args;

    /* Of a job that is done the daemon says so: its files have nothing to do with it. */
    if (job->state >= 0 && !(revival->states & 1U << job->state))
        return;
    h->input = given_input(cli);
    h->output = args->output;
    h->model = args->model;
    h->input_bytes = job->input_bytes;
    h->named = h->input || h->output || h->model;
    h->overwrite = args->overwrite;
    if (!revival->always_with_files && job->state != VRT_JOB_NEEDS_INPUT)
        return;
    /* What was said when the job was submitted holds for the output that it was said of. */
    h->overwrite |= job->overwrite && !h->output;
    h->input = either(h->input, job->input_path);
    h->output = either(h->output, job->output_path);
    h->model = either(h->model, job->model_path);
}

/* The daemon lacks files, or was given another one, and where they are it doesn't know either: how
 * to say it. */
static void add_cure(const struct vrt_handover *h, int r, struct vrt_error *error)
{
    struct vrt_error said = *error;
    bool lacks = r == VRT_CONN_E_REFUSED && vrt_error_is(&said, VRT_E(JOB_NEEDS_INPUT));

    if (!lacks && !vrt_error_is(&said, VRT_E(INPUT_OTHER)))
        return;
    *error = (struct vrt_error){ 0 };
    vrt_refuse(error, r, said.id, "%s: vrtctl %s %lld INPUT%s", said.message, h->verb, h->id,
               lacks ? " -o OUTPUT" : "");
}

/* Return: enum vrt_exit; everything was said. */
static int revive_one(struct vrt_cli *cli, const struct revival *revival, long long id)
{
    const struct outcome outcome = { id, VRT_UNKNOWN, revival->said, revival->said };
    struct vrt_handover handover = { .id = id, .verb = revival->verb };
    struct vrt_error error = { 0 };
    struct vrt_job_info job;
    char what[40];
    json_t *json = NULL, *answer = NULL;

    int r = vrt_conn_get(cli->conn, &json, &error, "/v1/jobs/%lld", id);
    if (r == 0)
        r = take_job(json, id, &job, &error);
    json_decref(json);
    if (r != 0)
        return vrt_cli_fail(cli, NULL, r, &error);
    choose_files(cli, revival, &job, &handover);
    r = vrt_handover_send(cli, &handover, &answer, &error);
    add_cure(&handover, r, &error);
    snprintf(what, sizeof(what), "job %lld", id);
    int exit = r != 0 ? vrt_cli_fail(cli, what, r, &error)
                      : take_answer(cli, r, answer, &outcome, &error);
    json_decref(answer);
    vrt_job_info_done(&job);
    return exit;
}

static int resume_one(struct vrt_cli *cli, long long id)
{
    return revive_one(cli, &resume, id);
}

static int retry_one(struct vrt_cli *cli, long long id)
{
    return revive_one(cli, &retry, id);
}

static const struct deed resuming = {
    resume_one, RESUMABLE, "no job of yours waits to be resumed",
};

static const struct deed retrying = {
    retry_one, 1U << VRT_JOB_FAILED, "no job of yours failed",
};

static int revive(struct vrt_cli *cli, const struct deed *deed)
{
    const struct vrt_args *args = &cli->args;

    if (args->all && (args->output || args->model))
        return vrt_cli_misused(cli, "--%s names the file of one job, not of --all",
                               args->output ? "output" : "model");
    if (given_input(cli)) {
        long long id = vrt_cli_job_id(cli, 0);
        return id ? deed->one(cli, id) : VRT_EXIT_USAGE;
    }
    if (args->n_operands > 1 && (args->output || args->model))
        return vrt_cli_misused(cli, "--%s names the file of one job, and there are %d",
                               args->output ? "output" : "model", args->n_operands);
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
    { "overwrite", 0, VRT_OPTION_FLAG, offsetof(A, overwrite),
      .help = "replace an output that holds something by now" },
    { .name = NULL },
};
#undef ALL
#undef A

const struct vrt_command vrt_command_pause = {
    .name = "pause",
    .operands = "ID... | --all",
    .summary = "let jobs rest, and their devices do other work",
    .options = active_options,
    .min_operands = 1,
    .max_operands = 10000,
    .run = run_pause,
};

const struct vrt_command vrt_command_resume = {
    .name = "resume",
    .operands = "ID... | ID INPUT | --all",
    .summary = "let jobs go on that are paused, or need their files again",
    .options = file_options,
    .min_operands = 1,
    .max_operands = 10000,
    .run = run_resume,
};

const struct vrt_command vrt_command_retry = {
    .name = "retry",
    .operands = "ID... | ID INPUT | --all",
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
    .operands = "ID... | --all",
    .summary = "cancel jobs, and remove what is stored of their results",
    .options = active_options,
    .min_operands = 1,
    .max_operands = 10000,
    .run = run_cancel,
};
