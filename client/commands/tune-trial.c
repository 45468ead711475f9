/* SPDX-License-Identifier: MIT */

/*
 * A job tells more than the devices' times: decoding and encoding go on beside them, and take
 * processors from each other. How long the rest of the video takes follows from the later half of
 * the trial, where every stage has what it needs; the start, which is slower, counts once.
 */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "client/commands/tune.h"
#include "client/conn.h"
#include "client/terminal/format.h"
#include "client/terminal/progress.h"

#define POLL_MS 100

/* What a trial takes; a video that is half as long again is restored as a whole. */
#define TRIAL_S 20
#define TRIAL_FRAMES_MIN 64

#define SAMPLES_MAX 4096

/* A daemon that went away is waited for so often, for so long, with the trial's job. */
#define CANCEL_TRIES 60
#define CANCEL_MS 500

/* How far the trial was, at times. */
struct trace {
    struct {
        double elapsed_s, frames;
    } samples[SAMPLES_MAX];
    size_t n;
};

static int fill_request(const struct vrt_tune *tune, struct vrt_job_request *q,
                        struct vrt_error *error)
{
    const struct vrt_args *args = &tune->cli->args;

    vrt_job_request_init(q);
    q->input.fd = 0;
    q->settings = args->settings;
    vrt_file_name(tune->path, q->input.name, sizeof(q->input.name));
    snprintf(q->output.name, sizeof(q->output.name), "%s", "tune.mkv");
    if (args->device && snprintf(q->device, sizeof(q->device), "%s", args->device) >=
                        (int)sizeof(q->device))
        return vrt_refuse(error, vrt_raise(-EINVAL), "usage", "--device: too long");
    if (args->model && tune->model.fd < 0 &&
        snprintf(q->model.name, sizeof(q->model.name), "%s", args->model) >=
        (int)sizeof(q->model.name))
        return vrt_refuse(error, vrt_raise(-EINVAL), "usage", "--model: too long");
    if (tune->model.fd >= 0)
        vrt_file_name(args->model, q->model.name, sizeof(q->model.name));
    return 0;
}

/* Asks for a job with the input, `output_fd` (-1: none) and the model. */
static int post(const struct vrt_tune *tune, struct vrt_job_request *q, int output_fd,
                json_t **ret_json, struct vrt_error *error)
{
    int fds[VRT_JOB_FILE_COUNT], n_fds = 0;

    fds[n_fds++] = tune->input.fd;
    if (output_fd >= 0) {
        q->output.fd = n_fds;
        fds[n_fds++] = output_fd;
    }
    if (tune->model.fd >= 0) {
        q->model.fd = n_fds;
        fds[n_fds++] = tune->model.fd;
    }
    return vrt_fold(vrt_conn_post(tune->cli->conn, &(struct vrt_request){
        .path = "/v1/jobs",
        .fds = fds,
        .n_fds = n_fds,
        .takes_long = true,
    }, vrt_job_request_fields, q, ret_json, error));
}

int vrt_tune_plan(struct vrt_tune *tune, struct vrt_error *error)
{
    struct vrt_job_request q;
    json_t *json = NULL;
    int r = fill_request(tune, &q, error);

    if (r < 0)
        return vrt_fold(r);
    q.dry_run = true;
    r = post(tune, &q, -1, &json, error);
    if (r == 0 && vrt_plan_report_decode(json, &tune->plan, error) < 0)
        r = VRT_CONN_E_BROKEN;
    json_decref(json);
    return r;
}

/* A request about the trial whose answer says nothing new. */
static int ask(const struct vrt_tune *tune, const char *method, int64_t id, const char *verb,
               struct vrt_error *error)
{
    char path[64];
    json_t *json = NULL;

    snprintf(path, sizeof(path), "/v1/jobs/%" PRId64 "%s", id, verb);
    int r = vrt_conn_request(tune->cli->conn, &(struct vrt_request){
        .method = method,
        .path = path,
    }, &json, error);
    json_decref(json);
    return r;
}

static void note(struct trace *trace, const struct vrt_job_info *job)
{
    const double underway = isnan(job->frames_underway) ? 0 : job->frames_underway;

    if (job->state != VRT_JOB_RUNNING || isnan(job->elapsed_s) || trace->n == SAMPLES_MAX)
        return;
    trace->samples[trace->n].elapsed_s = job->elapsed_s;
    trace->samples[trace->n++].frames = (double)job->frames_done + underway;
}

/* Frames a second over the later half of the frames; that of all of them where there are few
 * looks. */
static double steady_fps(const struct trace *trace, const struct vrt_job_info *job)
{
    const double half = (double)job->frames_done / 2;
    size_t i = 0;

    while (i < trace->n && trace->samples[i].frames < half)
        i++;
    if (i + 1 < trace->n) {
        const double frames = trace->samples[trace->n - 1].frames - trace->samples[i].frames;
        const double s = trace->samples[trace->n - 1].elapsed_s - trace->samples[i].elapsed_s;
        if (frames > 0 && s > 0.5)
            return frames / s;
    }
    return (double)job->frames_done / job->elapsed_s;
}

/* What became of the trial, once it is over. */
static int conclude(struct vrt_tune *tune, const struct trace *trace,
                    const struct vrt_job_info *job, struct vrt_error *error)
{
    const int64_t n_total = tune->plan.frames_total;
    const char *id = job->has_error ? vrt_conn_known_id(job->error.id) : VRT_CONN_REFUSED_ID;

    if (job->state == VRT_JOB_DISK_FULL || job->state == VRT_JOB_NEEDS_INPUT)
        return vrt_refuse(error, VRT_CONN_E_REFUSED, id,
                          "the trial can't go on: %s", job->has_error ? job->error.message :
                          "vrtd was started anew meanwhile; tune once more");
    if (job->state != VRT_JOB_DONE)
        return vrt_refuse(error, VRT_CONN_E_REFUSED, id, "the trial %s%s%s",
                          vrt_name_of(vrt_job_state_phrases, job->state),
                          job->has_error ? ": " : "", job->has_error ? job->error.message : "");
    tune->n_tried = job->frames_done;
    tune->estimated_s = n_total < 0 ? NAN :
        job->elapsed_s + (double)VRT_MAX(n_total - job->frames_done, 0) / steady_fps(trace, job);
    return 0;
}

static double share_done(const struct vrt_job_info *job)
{
    return job->frames_total > 0 ? vrt_progress_frames(job) / (double)job->frames_total : 0;
}

/* Follows the trial to its end. */
static int follow(struct vrt_tune *tune, int64_t id, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_freep) struct trace *trace = calloc(1, sizeof(*trace));
    struct vrt_job_info job;
    bool is_over = false;
    int r = trace ? 0 : vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the trial");

    while (r == 0 && !is_over) {
        r = vrt_conn_get_job(tune->cli->conn, id, &job, NULL, error);
        if (r != 0)
            break;
        note(trace, &job);
        is_over = vrt_job_state_is_final(job.state) || job.state == VRT_JOB_DISK_FULL ||
                  job.state == VRT_JOB_NEEDS_INPUT;
        if (is_over)
            r = conclude(tune, trace, &job, error);
        else
            vrt_tune_say(tune, share_done(&job), "restoring its beginning");
        vrt_job_info_done(&job);
        nanosleep(&(struct timespec){ .tv_nsec = POLL_MS * 1000000L }, NULL);
    }
    return r;
}

/* Cancels the trial; where vrtd has just gone away, as soon as it is back: it would ask the user to
 * resume a job that he never submitted. */
static void cancel(struct vrt_tune *tune, int64_t id)
{
    struct vrt_error ignored = { 0 };

    for (int i = 0; i < CANCEL_TRIES; i++) {
        if (ask(tune, "DELETE", id, "", &ignored) != VRT_CONN_E_UNREACHABLE || *tune->interrupted)
            return;
        vrt_tune_say(tune, 0, "waiting for vrtd to be back, to cancel job %" PRId64, id);
        nanosleep(&(struct timespec){ .tv_nsec = CANCEL_MS * 1000000L }, NULL);
    }
}

/* Whatever ended the wait for it: nobody wants the trial any more. */
static void tidy(struct vrt_tune *tune, int64_t id)
{
    struct vrt_error ignored = { 0 };
    struct vrt_job_info job;

    vrt_conn_set_interrupt(tune->cli->conn, NULL);
    cancel(tune, id);
    for (int i = 0; i < 100; i++) {
        if (vrt_conn_get_job(tune->cli->conn, id, &job, NULL, &ignored) != 0)
            return;
        const bool is_over = vrt_job_state_is_final(job.state);
        vrt_job_info_done(&job);
        if (is_over)
            break;
        nanosleep(&(struct timespec){ .tv_nsec = POLL_MS * 1000000L }, NULL);
    }
    (void)ask(tune, "POST", id, "/forget", &ignored);
}

/* How much of the video is tried: NAN: all. */
static double trial_s(const struct vrt_tune *tune)
{
    const struct vrt_plan_report *plan = &tune->plan;
    const double frames = VRT_MAX(tune->fps * TRIAL_S, TRIAL_FRAMES_MIN);

    if (!(plan->video.fps > 0) || (double)plan->frames_total < 1.5 * frames)
        return NAN;
    return frames / plan->video.fps;
}

int vrt_tune_try(struct vrt_tune *tune, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int fd = -1;
    const char *folder = getenv("TMPDIR");
    char path[VRT_API_PATH_BYTES];
    struct vrt_job_request q;
    struct vrt_job_info job;
    json_t *json = NULL;

    snprintf(path, sizeof(path), "%s/vrtctl-tune-XXXXXX", folder && folder[0] ? folder : "/tmp");
    fd = mkstemp(path);
    if (fd < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), path);
    unlink(path);
    int r = fill_request(tune, &q, error);
    if (r < 0)
        return vrt_fold(r);
    const double duration_s = trial_s(tune);
    if (!isnan(duration_s)) {
        q.settings.start_s = 0;
        q.settings.duration_s = duration_s;
    }
    r = post(tune, &q, fd, &json, error);
    if (r == 0 && vrt_job_info_decode(json, &job, error) < 0)
        r = VRT_CONN_E_BROKEN;
    json_decref(json);
    if (r != 0)
        return r;
    const int64_t id = job.id;
    vrt_job_info_done(&job);
    r = follow(tune, id, error);
    tidy(tune, id);
    return r;
}
