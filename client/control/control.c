/* SPDX-License-Identifier: MIT */
/*
 * To resume a job that lost its files, or to retry one, vrtctl asks for the paths that were
 * submitted and opens them again as the user: the daemon could not, and the file there may be
 * another one by now, which it finds out.
 */

#include "client/control/control.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "client/control/handover.h"
#include "client/conn.h"
#include "client/files.h"
#include "client/terminal/progress.h"

/* What is said of a job that was asked for something, and of one that isn't there yet. */
struct outcome {
    long long id;
    int state;                  /* that it was asked to have; VRT_UNKNOWN: any will do */
    const char *reached, *under_way;
};

void vrt_said_done(struct vrt_said *said)
{
    json_decref(said->json);
    said->json = NULL;
}

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

static void say_outcome(const struct vrt_job_info *job, const struct outcome *outcome,
                        struct vrt_said *said)
{
    bool is_reached = outcome->state == VRT_UNKNOWN || job->state == outcome->state;
    /* Only of a pause is that news. */
    bool is_pausing = outcome->state == VRT_JOB_PAUSED && job->state == VRT_JOB_PAUSED;
    int64_t n = is_pausing ? vrt_progress_n_under_way(job) : 0;
    char name[VRT_API_NAME_BYTES];

    vrt_progress_name(job, name, sizeof(name));
    if (n > 0)
        snprintf(said->text, sizeof(said->text),
                 "job %" PRId64 " (%s) %s: %" PRId64 " %s under way", job->id, name,
                 outcome->under_way, n, n == 1 ? "shard is" : "shards are");
    else
        snprintf(said->text, sizeof(said->text), "job %" PRId64 " (%s) %s", job->id, name,
                 is_reached ? outcome->reached : outcome->under_way);
}

/* Takes the answer, which is this function's where it returns another value than 0. */
static int take_answer(json_t *json, const struct outcome *outcome, struct vrt_said *ret_said,
                       struct vrt_error *error)
{
    struct vrt_job_info job;

    int r = take_job(json, outcome->id, &job, error);
    if (r != 0) {
        json_decref(json);
        return vrt_fold(r);
    }
    say_outcome(&job, outcome, ret_said);
    if (outcome->state == VRT_JOB_CANCELLED)
        vrt_file_remove_placeholder(job.output_path, job.created_at);
    vrt_job_info_done(&job);
    ret_said->json = json;
    return 0;
}

/* Sends one request without files. */
static int ask(struct vrt_cli *cli, const struct vrt_request *request,
               const struct outcome *outcome, struct vrt_said *ret_said, struct vrt_error *error)
{
    json_t *json = NULL;

    int r = vrt_conn_request(cli->conn, request, &json, error);
    return r != 0 ? vrt_fold(r) : take_answer(json, outcome, ret_said, error);
}

int vrt_control_pause(struct vrt_cli *cli, long long id, struct vrt_said *ret_said,
                      struct vrt_error *error)
{
    const struct outcome outcome = {
        id, VRT_JOB_PAUSED, vrt_job_state_phrases[VRT_JOB_PAUSED], "is being paused",
    };
    char path[64];

    snprintf(path, sizeof(path), "/v1/jobs/%lld/pause", id);
    return ask(cli, &(struct vrt_request){ .method = "POST", .path = path }, &outcome, ret_said,
               error);
}

int vrt_control_cancel(struct vrt_cli *cli, long long id, struct vrt_said *ret_said,
                       struct vrt_error *error)
{
    const struct outcome outcome = {
        id, VRT_JOB_CANCELLED, vrt_job_state_phrases[VRT_JOB_CANCELLED], "is being cancelled",
    };
    char path[64];

    snprintf(path, sizeof(path), "/v1/jobs/%lld", id);
    return ask(cli, &(struct vrt_request){ .method = "DELETE", .path = path }, &outcome, ret_said,
               error);
}

int vrt_control_set_priority(struct vrt_cli *cli, long long id, int64_t priority,
                             struct vrt_said *ret_said, struct vrt_error *error)
{
    char path[64], body[40], said[40];

    snprintf(path, sizeof(path), "/v1/jobs/%lld", id);
    snprintf(body, sizeof(body), "{\"priority\":%" PRId64 "}", priority);
    snprintf(said, sizeof(said), "has priority %" PRId64 " now", priority);
    return ask(cli, &(struct vrt_request){ .method = "PATCH", .path = path, .body = body },
               &(struct outcome){ id, VRT_UNKNOWN, said, said }, ret_said, error);
}

/* What distinguishes resume and retry. */
struct revival {
    const char *verb;
    const char *said;
    bool always_with_files;     /* the daemon kept none */
    unsigned states;            /* in which it may be asked for: 1U << each enum vrt_job_state */
};

static const char *either(const char *given, const char *known)
{
    return given ? given : known[0] ? known : NULL;
}

/* The files to send: those that the user names, and else those that the daemon lacks. */
static void choose_files(const struct vrt_cli *cli, const struct revival *revival,
                         const struct vrt_job_info *job, const char *input,
                         struct vrt_handover *h)
{
    const struct vrt_args *args = &cli->args;

    /* Of a job that is done the daemon says so: its files have nothing to do with it. */
    if (job->state >= 0 && !(revival->states & 1U << job->state))
        return;
    h->input = input;
    h->output = args->output;
    h->model = args->model;
    h->reference = args->reference;
    h->input_bytes = job->input_bytes;
    h->named = h->input || h->output || h->model || h->reference;
    h->overwrite = args->overwrite;
    if (!revival->always_with_files && job->state != VRT_JOB_NEEDS_INPUT)
        return;
    /* What was said when the job was submitted holds for the output that it was said of. */
    h->overwrite |= job->overwrite && !h->output;
    h->input = either(h->input, job->input_path);
    h->output = either(h->output, job->output_path);
    h->model = either(h->model, job->model_path);
    h->reference = either(h->reference, job->reference_path);
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

static int revive(struct vrt_cli *cli, const struct revival *revival,
                  struct vrt_handover *handover, const char *input, struct vrt_said *ret_said,
                  struct vrt_error *error)
{
    const struct outcome outcome = { handover->id, VRT_UNKNOWN, revival->said, revival->said };
    struct vrt_job_info job;
    json_t *json = NULL, *answer = NULL;

    int r = vrt_conn_get(cli->conn, &json, error, "/v1/jobs/%lld", handover->id);
    if (r == 0)
        r = take_job(json, handover->id, &job, error);
    json_decref(json);
    if (r != 0)
        return vrt_fold(r);
    choose_files(cli, revival, &job, input, handover);
    r = vrt_handover_send(cli, handover, &answer, error);
    add_cure(handover, r, error);
    vrt_job_info_done(&job);
    return r != 0 ? vrt_fold(r) : take_answer(answer, &outcome, ret_said, error);
}

int vrt_control_resume(struct vrt_cli *cli, long long id, const char *input,
                       struct vrt_said *ret_said, struct vrt_error *error)
{
    static const struct revival resume = { "resume", "goes on", false, VRT_CONTROL_RESUMABLE };
    struct vrt_handover handover = { .id = id, .verb = resume.verb };

    return revive(cli, &resume, &handover, input, ret_said, error);
}

int vrt_control_retry(struct vrt_cli *cli, long long id, const char *input,
                      struct vrt_said *ret_said, struct vrt_error *error)
{
    static const struct revival retry = { "retry", "is tried again", true, VRT_CONTROL_RETRIABLE };
    struct vrt_handover handover = { .id = id, .verb = retry.verb };

    return revive(cli, &retry, &handover, input, ret_said, error);
}
