/* SPDX-License-Identifier: MIT */

/*
 * Each job is charged to its user once, in vrt_admission_charge(), and given back where the
 * submission fails, in end_admission() where it was refused, or when it is over.
 */

#include "daemon/jobs/admission.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <uv.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/access/access.h"
#include "daemon/access/accounts.h"
#include "daemon/access/descriptors.h"
#include "daemon/access/peer.h"
#include "daemon/access/quota.h"
#include "daemon/jobs/job-report.h"
#include "daemon/jobs/job-remote.h"
#include "daemon/jobs/queue-context.h"
#include "daemon/models/models.h"
#include "daemon/pipeline/pipeline.h"
#include "workers/media/files/pipe.h"

#define VRT_LOG_TOPIC "queue"

/* At a time: each is a thread that looks at a file, which may be made to be slow. */
#define ADMISSIONS_MAX 6
#define ADMISSIONS_PER_USER_MAX 2

/* A job on its way into the list. */
struct vrt_job_admission {
    struct vrt_admission *owner;
    struct vrt_list link;
    struct vrt_turn turn;                   /* until it is over */
    struct vrt_job *job;
    struct vrt_job_request request;
    /* NULL: the job is listed already, as fetching, and nobody waits for this. */
    void (*admitted)(void *ctx, struct vrt_job *job, const struct vrt_error *error);
    void *ctx;
    bool is_unwanted;                       /* nobody waits for it any more, or the queue stops */
    bool is_stopping;
    uv_work_t work;
    /* by the work's thread, then the loop's */
    struct vrt_network *network;
    struct vrt_error error;                 /* with a message: the job is refused */
};

static void begin_admissions(struct vrt_admission *owner);

static void admission_free(struct vrt_job_admission *admission)
{
    vrt_list_remove(&admission->link);
    vrt_turns_leave(&admission->owner->turns, &admission->turn);
    vrt_network_unref(admission->network);
    free(admission);
}

/* It is over: the next ones, and what may start or end now. */
static void go_on(struct vrt_admission *owner)
{
    begin_admissions(owner);
    vrt_queue_proceed(owner->context);
    vrt_queue_check_stopped(owner->context);
}

/* The admission is over: the job is listed, or it is gone, as it is where only its plan was wanted.
 * Whoever submitted it is told before jobs are started, so that he learns of it as queued, as
 * everybody does. */
static void end_admission(struct vrt_job_admission *admission, const struct vrt_error *error)
{
    struct vrt_admission *owner = admission->owner;
    struct vrt_queue_context *context = owner->context;
    struct vrt_job *job = admission->job;
    char shown[VRT_API_NAME_BYTES];

    vrt_assert(admission->admitted || job->user);
    job->parts->admission = NULL;
    if (!job->user) {
        admission->admitted(admission->ctx, job, error);
        /* Only now: the error, or what the plan says, may be the pipeline's own. */
        vrt_job_free_pipeline(job);
        vrt_job_files_remove_output(context, job);
        vrt_quota_give(context->params.quota, VRT_QUOTA_JOBS, job->uid);
        vrt_queue_free_job(job);
    } else {
        vrt_log_info("job %" PRId64 " of uid %u %s: %s", job->info.id, (unsigned)job->uid,
                     vrt_job_state_phrases[job->info.state],
                     vrt_printable(job->info.input_name, shown, sizeof(shown)));
        vrt_job_files_keep(context, job);
        vrt_queue_tell(context, job);
        if (admission->admitted)
            admission->admitted(admission->ctx, job, NULL);
    }
    admission_free(admission);
    /* For the zygote, where it was found to be gone. */
    vrt_queue_look_soon(context);
    go_on(owner);
}

/* A job that was listed while its input was fetched ends, or, where only the queue stops, stays as
 * it is for the next start. */
static void refuse_listed(struct vrt_job_admission *admission, const struct vrt_error *error)
{
    struct vrt_admission *owner = admission->owner;
    struct vrt_queue_context *context = owner->context;
    struct vrt_job *job = admission->job;
    bool is_cancelled = admission->is_unwanted && !admission->is_stopping;
    /* It may lie in the pipeline. */
    const struct vrt_error last = *error;

    job->parts->admission = NULL;
    vrt_job_free_pipeline(job);
    if (vrt_descriptors_are_out(&last) && !admission->is_unwanted)
        vrt_queue_wait_for_descriptors(context, job, &last);
    else if (!admission->is_stopping)
        vrt_queue_end_job(context, job, is_cancelled ? VRT_JOB_CANCEL : VRT_JOB_FAIL,
                          is_cancelled ? NULL : &last);
    admission_free(admission);
    go_on(owner);
}

static void refuse(struct vrt_job_admission *admission, const struct vrt_error *error)
{
    const struct vrt_job *job = admission->job;

    if (!admission->admitted) {
        refuse_listed(admission, error);
        return;
    }
    vrt_log_info("a job of uid %u was refused: %s", (unsigned)job->uid, error->message);
    end_admission(admission, error);
}

/* Likewise, of a job that has its number: what was uploaded goes with it. */
static void drop(struct vrt_job_admission *admission, const struct vrt_error *error)
{
    vrt_disk_space_sweep(admission->owner->space, admission->job);
    refuse(admission, error);
}

/* Why nobody waits for it any more. */
static void fill_unwanted(const struct vrt_job_admission *admission, struct vrt_error *error)
{
    *error = (struct vrt_error){ .id = NULL };
    if (admission->is_stopping)
        vrt_refuse(error, -ESHUTDOWN, VRT_E(SHUTTING_DOWN),
                   "vrtd is about to stop and takes no more jobs");
    else
        vrt_refuse(error, -ECANCELED, VRT_E(INTERNAL), "it was cancelled");
}

/* The job's row is stored, or not. */
static void on_saved(struct vrt_job *job, int r)
{
    struct vrt_job_admission *admission = job->parts->admission;
    struct vrt_queue_context *context = admission->owner->context;
    struct vrt_error error = { .id = NULL };

    if (r < 0)
        vrt_refuse(&error, r, r == -ENOSPC ? VRT_E(STORE_FULL) : VRT_E(STORE_FAILED),
                   "the job can't be stored: %s%s", strerror(-r),
                   r == -ENOSPC ? ": make room on the disk of the state folder" : "");
    else if (admission->is_unwanted)
        fill_unwanted(admission, &error);
    else if (vrt_jobs_add(&context->jobs, job) < 0)
        vrt_refuse_errno(&error, -ENOMEM, "making a job");
    /* A stop keeps what is stored; its submitter is told that it was too late all the same, and
     * must not find it done later. */
    if (r == 0 && error.message[0])
        vrt_store_remove_job(context->params.store, job->info.id,
                             (struct vrt_store_done){ .call = NULL });
    if (error.message[0])
        drop(admission, &error);
    else
        end_admission(admission, NULL);
}

/* Stores the job, which has a number from now on: what is refused before takes none. */
static void store(struct vrt_job_admission *admission)
{
    struct vrt_admission *owner = admission->owner;
    struct vrt_error error = { .id = NULL };
    struct vrt_job *job = admission->job;

    vrt_job_set_id(job, ++owner->context->jobs.last_id);
    if (vrt_job_remote_take_uploads(owner->space, job, &admission->request, &error) < 0)
        drop(admission, &error);
    else
        vrt_job_store_save(owner->store, job, on_saved);
}

/* What every run of the job shares. */
static void fill_decision(struct vrt_job *job)
{
    const struct vrt_pipeline_info *found = vrt_pipeline_info(job->pipeline);
    struct vrt_job_decision *decision = job->decision;
    int output_fd = job->parts->files.fds[VRT_JOB_OUTPUT];
    struct stat output;

    decision->is_admitted = true;
    decision->recipe = found->recipe;
    decision->uses_cpu_instead = found->uses_cpu_instead;
    decision->fingerprint = found->fingerprint;
    decision->network_checksum = found->network_checksum;
    if (output_fd >= 0 && fstat(output_fd, &output) == 0)
        vrt_job_files_note_output(job, &output);
}

/* Listed already, and perhaps paused meanwhile. It may start at once, and so the admission is over:
 * a job is never in two hands. */
static void end_listed(struct vrt_job_admission *admission)
{
    struct vrt_admission *owner = admission->owner;
    struct vrt_job *job = admission->job;

    if (job->info.state == VRT_JOB_FETCHING)
        vrt_assert(vrt_jobs_move(&owner->context->jobs, job, VRT_JOB_REQUEUE));
    vrt_job_store_save(owner->store, job, NULL);
    end_admission(admission, NULL);
}

static void on_admitted(void *ctx, const struct vrt_error *error)
{
    struct vrt_job *job = ctx;
    struct vrt_job_admission *admission = job->parts->admission;
    struct vrt_admission *owner = admission->owner;
    int output_fd = job->parts->files.fds[VRT_JOB_OUTPUT];
    struct vrt_error unwanted = { .id = NULL };
    enum vrt_pipeline_phase phase;

    if (admission->is_unwanted) {
        fill_unwanted(admission, &unwanted);
        error = &unwanted;
    }
    if (error) {
        refuse(admission, error);
        return;
    }
    job->output_bytes = vrt_pipeline_info(job->pipeline)->output_bytes_estimate;
    vrt_job_report_admitted(job);
    vrt_job_report_progress(job, &phase);
    if (admission->request.dry_run) {
        end_admission(admission, NULL);
        return;
    }
    if (output_fd >= 0 && vrt_admission_check_unused(owner, job, output_fd, &unwanted) < 0) {
        refuse(admission, &unwanted);
        return;
    }
    fill_decision(job);
    /* Its start makes another, though it may come at once: why, and what that costs, is in
     * docs/architecture.md, under what is decided where. */
    vrt_job_free_pipeline(job);
    if (admission->admitted)
        store(admission);
    else
        end_listed(admission);
}

/* On a thread of libuv's. */
static void look(uv_work_t *work)
{
    struct vrt_job_admission *admission = work->data;

    int r = vrt_job_files_look(admission->owner->context, admission->job, &admission->request,
                               &admission->network, &admission->error);
    /* Those of a job that is listed already are its own. */
    if (r == 0 && admission->admitted)
        r = vrt_descriptors_check(admission->job->parts->files.fds, VRT_JOB_FILE_COUNT,
                                  &admission->error);
    (void)r;
}

/* The pipeline of a job whose files and model were looked at. Return: 0, -errno. */
static int make_pipeline(struct vrt_job_admission *admission, struct vrt_error *error)
{
    const struct vrt_queue_context *context = admission->owner->context;
    struct vrt_job *job = admission->job;
    struct vrt_pipeline_params params;

    vrt_queue_fill_params(context, job, &admission->request, admission->network, &params);
    params.wants_speed = admission->request.dry_run;
    params.admitted = on_admitted;
    return vrt_pipeline_new(context->params.pool, &params, &job->pipeline, error);
}

/* A job without its input is listed for now as fetching it. Return: whether it is such a one. */
static bool list_remote(struct vrt_job_admission *admission)
{
    struct vrt_job *job = admission->job;

    if (!job->is_remote || job->parts->files.fds[VRT_JOB_INPUT] >= 0)
        return false;
    job->info.state = VRT_JOB_FETCHING;
    store(admission);
    return true;
}

static void on_looked(uv_work_t *work, int status)
{
    struct vrt_job_admission *admission = work->data;
    struct vrt_error error = { .id = NULL };

    /* There was no pipeline to be told of it until now. */
    if (admission->is_unwanted)
        fill_unwanted(admission, &error);
    else if (status < 0)
        vrt_refuse_errno(&error, status, "looking at the files");
    else if (admission->error.message[0])
        error = admission->error;
    else if (list_remote(admission))
        return;
    else if (make_pipeline(admission, &error) == 0)
        return;
    refuse(admission, &error);
}

/* It was given up before its turn came. */
static void skip(uv_work_t *work)
{
    (void)work;
}

/* Those whose turn it is. They end by the loop, never within this call. */
static void begin_admissions(struct vrt_admission *owner)
{
    struct vrt_turn *turn;

    while ((turn = vrt_turns_next(&owner->turns))) {
        struct vrt_job_admission *admission =
            vrt_container_of(turn, struct vrt_job_admission, turn);
        /* It fails only where no function is given. */
        int r = uv_queue_work(owner->context->params.loop, &admission->work,
                              admission->is_unwanted ? skip : look, on_looked);
        vrt_assert(r == 0);
    }
}

int vrt_admission_check_unused(const struct vrt_admission *admission, const struct vrt_job *job,
                               int output_fd, struct vrt_error *error)
{
    const struct vrt_job_admission *begun;
    const struct vrt_job *other, *user = NULL;
    struct stat output;

    if (fstat(output_fd, &output) < 0 || !(S_ISREG(output.st_mode) || S_ISDIR(output.st_mode)))
        return 0;
    VRT_LIST_FOREACH(other, &admission->context->jobs.all, link)
        if (other != job && vrt_job_files_has_output(other, &output))
            user = other;
    /* One that is being stored is as good as listed. */
    VRT_LIST_FOREACH(begun, &admission->jobs, link)
        if (begun->job != job && vrt_job_files_has_output(begun->job, &output))
            user = begun->job;
    if (!user)
        return 0;
    return vrt_refuse(error, vrt_raise(-EBUSY), VRT_E(JOB_SAME_FILE),
                      "job %" PRId64 " writes to the same output: wait for its end, or name "
                      "another one", user->info.id);
}

/* The sum of both limits is one quota: a job is charged from its submission to its end, so that
 * starting it can't fail for its user's other jobs. */
int vrt_admission_charge(struct vrt_admission *admission, uid_t uid, struct vrt_error *error)
{
    struct vrt_queue_context *context = admission->context;

    if (context->is_stopping)
        return vrt_refuse(error, vrt_raise(-ESHUTDOWN), VRT_E(SHUTTING_DOWN),
                          "vrtd is about to stop and takes no more jobs");
    int r = vrt_quota_take(context->params.quota, VRT_QUOTA_JOBS, uid);
    if (r > 0)
        return vrt_refuse(error, vrt_raise(-EDQUOT), VRT_E(JOB_QUEUE_FULL),
                          "as many jobs wait as are allowed%s: try again when some are done",
                          r == VRT_QUOTA_E_USER ? " to one user" : "");
    return r < 0 ? vrt_refuse_errno(error, vrt_fold(r), "making a job") : 0;
}

/* How the result is encoded: as asked for, or as configured where nothing was. */
static void settle_encoding(const struct vrt_queue_params *params,
                            const struct vrt_job_request *request, struct vrt_job_recipe *recipe)
{
    struct vrt_job_settings settings = request->settings;

    vrt_queue_settle(params, request->output.name, &settings);
    recipe->codec = settings.codec;
    recipe->quality = settings.quality;
    snprintf(recipe->preset, sizeof(recipe->preset), "%s", settings.preset);
    recipe->bitrate = settings.bitrate;
    recipe->target_size_bytes = settings.target_size_bytes;
    recipe->hwaccel = settings.hwaccel;
    recipe->hwdec = settings.hwdec;
    snprintf(recipe->scale, sizeof(recipe->scale), "%s", settings.scale);
    snprintf(recipe->pixel_format, sizeof(recipe->pixel_format), "%s", settings.pixel_format);
    snprintf(recipe->encoder_options, sizeof(recipe->encoder_options), "%s",
             settings.encoder_options);
    snprintf(recipe->streams, sizeof(recipe->streams), "%s", settings.streams);
    recipe->precision = settings.precision;
    recipe->denoise = settings.denoise;
}

/* Fills in what was asked for, and what the configuration says where nothing was. */
static void settle(const struct vrt_queue_params *params, const struct vrt_job_request *request,
                   struct vrt_job *job)
{
    struct vrt_job_info *info = &job->info;
    const char *model = request->model.name[0] ? request->model.name :
                        vrt_models_default(params->models);

    info->created_at = vrt_clock_wall_ns();
    /* One without a descriptor is of the daemon's folder, which GET /v1/models lists. */
    job->shows_model = request->model.fd == VRT_UNKNOWN && !request->model.path[0];
    info->priority = request->priority;
    snprintf(info->input_name, sizeof(info->input_name), "%s", request->input.name);
    snprintf(info->output_name, sizeof(info->output_name), "%s", request->output.name);
    /* Whoever is asked for the files again sees that this one is not his to give. */
    snprintf(info->input_path, sizeof(info->input_path), "%s",
             request->input.url[0] ? request->input.url : request->input.path);
    snprintf(info->output_path, sizeof(info->output_path), "%s", request->output.path);
    snprintf(info->model_path, sizeof(info->model_path), "%s", request->model.path);
    snprintf(info->reference_name, sizeof(info->reference_name), "%s", request->reference.name);
    snprintf(info->reference_path, sizeof(info->reference_path), "%s", request->reference.path);
    info->overwrite = request->overwrite;
    snprintf(info->model.name, sizeof(info->model.name), "%s", model);
    snprintf(info->device, sizeof(info->device), "%s", request->device);
    settle_encoding(params, request, &info->recipe);
}

/* Who may open the files that are named by their paths, or lie in folders, now and after each
 * restart. A part of the groups would be wrong: a file may allow others what it denies a group. */
static int note_groups(const struct vrt_job *job, const struct vrt_submission *submission,
                       struct vrt_error *error)
{
    const struct vrt_job_request *request = submission->request;
    const struct vrt_peer *peer = submission->peer;
    struct vrt_job_decision *decision = job->decision;
    bool is_opened = vrt_job_files_has_folder(job);

    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++)
        is_opened |= vrt_job_files_is_by_path(&request->files[i]);
    if (!is_opened)
        return 0;
    if (peer->n_gids > VRT_JOB_GROUPS_MAX)
        return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(PATH_FORBIDDEN),
                          "you are in over %d groups: hand over descriptors of files instead of "
                          "paths and folders",
                          VRT_JOB_GROUPS_MAX);
    for (size_t i = 0; i < peer->n_gids; i++)
        decision->groups[i] = peer->gids[i];
    decision->n_groups = peer->n_gids;
    return 0;
}

/* Makes the job of a request, with all that later runs need. Return: 0; -errno with `error`. */
static int make_job(struct vrt_queue_context *context, const struct vrt_submission *submission,
                    struct vrt_job **ret_job, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_queue_free_jobp) struct vrt_job *job = NULL;
    struct vrt_buf text = { .limit_bytes = 0 };

    int r = vrt_queue_make_job(0, submission->peer->uid, &job);
    if (r == 0)
        r = vrt_fields_print(vrt_job_request_fields, submission->request, &text);
    if (r == 0) {
        job->decision = calloc(1, sizeof(*job->decision));
        job->request = vrt_buf_steal(&text);
        r = job->decision && job->request ? 0 : vrt_raise(-ENOMEM);
    }
    vrt_buf_done(&text);
    if (r == 0)
        r = vrt_job_files_take(job, submission->request->files, submission->files, error);
    if (r == 0)
        r = vrt_job_remote_open_uploads(context, job, submission->request, error);
    if (r == 0)
        r = note_groups(job, submission, error);
    if (r == 0)
        job->info.input_piped = vrt_pipe_is_one(job->parts->files.fds[VRT_JOB_INPUT]);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "making a job");
    settle(&context->params, submission->request, job);
    vrt_accounts_peer(context->params.users, submission->peer, job->info.owner);
    job->is_remote = vrt_job_remote_is(submission->request);
    job->keeps_result = vrt_file_ref_is_kept(&submission->request->output);
    job->has_webhook = submission->request->webhook[0];
    job->parts->is_charged = true;
    *ret_job = VRT_STEAL(job);
    return 0;
}

/* Has a job's files looked at when it is his user's turn. Return: 0, -ENOMEM. */
static int wait_for_turn(struct vrt_admission *owner, struct vrt_job *job,
                         const struct vrt_job_admission *what)
{
    struct vrt_job_admission *admission = calloc(1, sizeof(*admission));

    if (!admission)
        return vrt_raise(-ENOMEM);
    *admission = *what;
    admission->owner = owner;
    admission->job = job;
    admission->work.data = admission;
    vrt_list_append(&owner->jobs, &admission->link);
    job->parts->admission = admission;
    vrt_turns_wait(&owner->turns, &admission->turn, job->uid);
    return 0;
}

int vrt_admission_admit_listed(struct vrt_admission *admission, struct vrt_job *job,
                               struct vrt_error *error)
{
    struct vrt_job_admission what = { .admitted = NULL };

    vrt_assert(!job->parts->admission);
    int r = vrt_job_record_request(job, &what.request, error);
    /* Anew: the store keeps a recipe only once there is all of it. */
    if (r == 0)
        settle_encoding(&admission->context->params, &what.request, &job->info.recipe);
    if (r == 0)
        r = wait_for_turn(admission, job, &what);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "looking at what was fetched");
    begin_admissions(admission);
    return 0;
}

int vrt_admission_submit(struct vrt_admission *admission, const struct vrt_submission *submission,
                         struct vrt_job **ret_job, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_queue_free_jobp) struct vrt_job *job = NULL;
    struct vrt_queue_context *context = admission->context;
    struct vrt_job_admission what = {
        .request = *submission->request,
        .admitted = submission->admitted,
        .ctx = submission->ctx,
    };
    struct vrt_submission settled = *submission;

    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_queue_settle_device(&context->params, &what.request);
    settled.request = &what.request;
    int r = vrt_job_remote_check(context->params.remote, submission->request, error);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_admission_charge(admission, submission->peer->uid, error);
    if (r < 0)
        return vrt_fold(r);
    r = make_job(context, &settled, &job, error);
    if (r == 0)
        r = wait_for_turn(admission, job, &what);
    if (r < 0) {
        vrt_quota_give(context->params.quota, VRT_QUOTA_JOBS, submission->peer->uid);
        return vrt_refuse_errno(error, vrt_fold(r), "making a job");
    }
    *ret_job = VRT_STEAL(job);
    begin_admissions(admission);
    return 0;
}

static void give_up(struct vrt_job_admission *admission, bool is_stopping)
{
    admission->is_unwanted = true;
    admission->is_stopping |= is_stopping;
    if (admission->job->pipeline)
        vrt_pipeline_cancel(admission->job->pipeline);
}

void vrt_admission_give_up(struct vrt_job *job)
{
    give_up(job->parts->admission, false);
}

void vrt_admission_stop(struct vrt_admission *admission)
{
    struct vrt_job_admission *begun;

    vrt_assert_thread(VRT_THREAD_LOOP);
    VRT_LIST_FOREACH(begun, &admission->jobs, link)
        give_up(begun, true);
}

void vrt_admission_init(struct vrt_admission *admission, struct vrt_queue_context *context,
                        struct vrt_job_store *store, struct vrt_disk_space *space)
{
    *admission = (struct vrt_admission){ .context = context, .store = store, .space = space };
    vrt_list_init(&admission->jobs);
    vrt_turns_init(&admission->turns, ADMISSIONS_MAX, ADMISSIONS_PER_USER_MAX);
}
