/* SPDX-License-Identifier: MIT */

/*
 * A job's files: where they come from, and whether they may be used. vrt_job_files_look() alone
 * runs on other threads: it reads the job's descriptors, which the loop leaves alone while it may
 * be running, and the models, which have a lock of their own.
 */

#include "daemon/jobs/job-files.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "daemon/access/descriptors.h"
#include "daemon/access/media.h"
#include "daemon/access/peer.h"
#include "daemon/jobs/job-report.h"
#include "daemon/jobs/queue-context.h"
#include "daemon/jobs/spool.h"
#include "daemon/models/models.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/systemd/fd-store.h"
#include "workers/media/files/pipe.h"

#define VRT_LOG_TOPIC "queue"

static const char *const file_fields[VRT_JOB_FILE_COUNT] = {
    [VRT_JOB_INPUT] = "input.fd",
    [VRT_JOB_OUTPUT] = "output.fd",
    [VRT_JOB_MODEL] = "model.fd",
    [VRT_JOB_REFERENCE] = "reference.fd",
};

static const enum vrt_fd_store_role keep_roles[VRT_JOB_FILE_COUNT] = {
    [VRT_JOB_INPUT] = VRT_FD_STORE_INPUT,
    [VRT_JOB_OUTPUT] = VRT_FD_STORE_OUTPUT,
    [VRT_JOB_MODEL] = VRT_FD_STORE_MODEL,
    [VRT_JOB_REFERENCE] = VRT_FD_STORE_REFERENCE,
};

const struct vrt_error vrt_job_files_spent = {
    .id = "input.pipe",
    .message = "the job was interrupted while it read a pipe, of which nothing can be read a "
               "second time: run the command again",
};

static const struct vrt_error no_room = {
    .id = "spool.full",
    .message = "there is no room for the working files of a job that reads a pipe, which can't "
               "wait for it: make some, or let other jobs end, and run the command again",
};

const struct vrt_error *vrt_job_files_why_spent(const struct vrt_error *error)
{
    return vrt_error_is(error, VRT_E(JOB_PARKED)) ? &vrt_job_files_spent :
           vrt_disk_space_is_lacking(error) ? &no_room : error;
}

int vrt_job_files_refuse_spool(struct vrt_error *error, int r, const char *what)
{
    if (vrt_is_disk_full(r))
        return vrt_refuse(error, r, VRT_E(SPOOL_FULL), "the disk of the state folder is full");
    return vrt_refuse_errno(error, r, what);
}

void vrt_job_files_init(struct vrt_job_files *files)
{
    *files = (struct vrt_job_files){ .pipe_fd = -1 };
    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++)
        files->fds[i] = -1;
}

int vrt_job_files_take(struct vrt_job *job, const struct vrt_file_ref refs[VRT_JOB_FILE_COUNT],
                       struct vrt_peer_files *files, struct vrt_error *error)
{
    int r = vrt_descriptors_check(files->fds, files->n, error);

    for (int i = 0; r == 0 && i < VRT_JOB_FILE_COUNT; i++)
        r = vrt_descriptors_take(files, refs[i].fd, file_fields[i], &job->parts->files.fds[i],
                                 error);
    if (refs[VRT_JOB_OUTPUT].fd != VRT_UNKNOWN)
        job->parts->files.made_output = false;
    return r;
}

bool vrt_job_files_is_by_path(const struct vrt_file_ref *ref)
{
    return ref->fd == VRT_UNKNOWN && ref->path[0];
}

/* Of who submitted the job; nothing in it is changed after that. */
static struct vrt_peer submitter(const struct vrt_job *job)
{
    return (struct vrt_peer){
        .uid = job->uid,
        .gids = job->decision->groups,
        .n_gids = job->decision->n_groups,
    };
}

static int open_beneath(void *ctx, int folder_fd, const char *name, struct vrt_error *error)
{
    const struct vrt_peer peer = submitter(ctx);

    return vrt_media_open_beneath(&peer, folder_fd, name, VRT_MEDIA_READ, error);
}

static int create_beneath(void *ctx, int folder_fd, const char *name, struct vrt_error *error)
{
    const struct vrt_peer peer = submitter(ctx);

    return vrt_media_open_beneath(&peer, folder_fd, name, VRT_MEDIA_WRITE, error);
}

static int check_writable(void *ctx, int folder_fd, const char *name, struct vrt_error *error)
{
    const struct vrt_peer peer = submitter(ctx);

    return vrt_fold(vrt_media_check_folder(&peer, folder_fd, name, error));
}

struct vrt_folder_access vrt_job_files_access(struct vrt_job *job)
{
    return (struct vrt_folder_access){ open_beneath, create_beneath, check_writable, job };
}

bool vrt_job_files_has_folder(const struct vrt_job *job)
{
    const int *fds = job->parts->files.fds;
    struct stat st;

    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++)
        if (fds[i] >= 0 && fstat(fds[i], &st) == 0 && S_ISDIR(st.st_mode))
            return true;
    return false;
}

/* Opens what is named by its path, or was uploaded, and isn't open yet; a plan needs no output. On
 * a thread. */
static int open_paths(const struct vrt_queue_context *context, struct vrt_job *job,
                      const struct vrt_job_request *request, struct vrt_error *error)
{
    static const char *const fields[VRT_JOB_FILE_COUNT] = {
        [VRT_JOB_INPUT] = "input.path",
        [VRT_JOB_OUTPUT] = "output.path",
        [VRT_JOB_MODEL] = "model.path",
        [VRT_JOB_REFERENCE] = "reference.path",
    };
    struct vrt_job_files *files = &job->parts->files;
    const struct vrt_peer peer = submitter(job);

    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++) {
        bool is_output = i == VRT_JOB_OUTPUT, is_new = false;
        if (files->fds[i] < 0 && request->files[i].upload != VRT_UNKNOWN)
            files->fds[i] = vrt_spool_open_file(context->params.spool_fd, job->info.id, i);
        if (files->fds[i] >= 0 || !vrt_job_files_is_by_path(&request->files[i]) ||
            (is_output && request->dry_run))
            continue;
        int r = vrt_media_open(context->params.media, &(struct vrt_media_request){
            .peer = &peer,
            .path = request->files[i].path,
            .mode = is_output ? VRT_MEDIA_WRITE : VRT_MEDIA_READ,
        }, &files->fds[i], &is_new, error);
        if (r < 0 && i == VRT_JOB_REFERENCE && job->decision->is_admitted) {
            /* The result doesn't depend on it, and will say that it wasn't compared. */
            vrt_log_warning("job %" PRId64 ": its reference can't be opened: %s, ignoring",
                            job->info.id, error->message);
            *error = (struct vrt_error){ .id = NULL };
            continue;
        }
        if (r < 0) {
            vrt_error_set_field(error, fields[i]);
            return vrt_fold(r);
        }
        files->made_output |= is_new;
    }
    return 0;
}

/* Where a pipe was handed over as the input, a file of the spool takes its place, and what is read
 * of the pipe. On a thread. */
static int take_pipe(const struct vrt_queue_context *context, struct vrt_job_files *files,
                     struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int fd = -1;

    if (!vrt_pipe_is_one(files->fds[VRT_JOB_INPUT]))
        return 0;
    int r = vrt_pipe_prepare(files->fds[VRT_JOB_INPUT]);
    if (r == 0)
        r = vrt_spool_make_file(context->params.spool_fd, &fd);
    if (r < 0)
        return vrt_job_files_refuse_spool(error, vrt_fold(r), "the pipe");
    files->pipe_fd = files->fds[VRT_JOB_INPUT];
    files->fds[VRT_JOB_INPUT] = VRT_STEAL_FD(fd);
    return 0;
}

/* A removal, which the job doesn't wait for. */
struct removal {
    uv_work_t work;
    const struct vrt_media *media;
    struct vrt_peer peer;
    char path[VRT_API_PATH_BYTES];
    int fd;
};

static void remove_output(uv_work_t *work)
{
    struct removal *removal = work->data;

    vrt_media_remove(removal->media, &(struct vrt_media_request){
        .peer = &removal->peer,
        .path = removal->path,
    }, removal->fd);
    close(removal->fd);
}

static void on_removed(uv_work_t *work, int status)
{
    struct removal *removal = work->data;

    (void)status;
    vrt_peer_done(&removal->peer);
    free(removal);
}

void vrt_job_files_remove_output(const struct vrt_queue_context *context, struct vrt_job *job)
{
    struct vrt_job_files *files = &job->parts->files;
    bool is_ours = files->made_output && files->fds[VRT_JOB_OUTPUT] >= 0;
    struct removal *removal = is_ours ? calloc(1, sizeof(*removal)) : NULL;
    const struct vrt_peer peer = submitter(job);

    /* Without memory it stays: it is empty. */
    if (!removal || vrt_peer_copy(&peer, &removal->peer) < 0) {
        free(removal);
        return;
    }
    removal->work.data = removal;
    removal->media = context->params.media;
    removal->fd = VRT_STEAL_FD(files->fds[VRT_JOB_OUTPUT]);
    files->made_output = false;
    snprintf(removal->path, sizeof(removal->path), "%s", job->info.output_path);
    int r = uv_queue_work(context->params.loop, &removal->work, remove_output, on_removed);
    vrt_assert(r == 0);
}

void vrt_job_files_keep(const struct vrt_queue_context *context, const struct vrt_job *job)
{
    const int *fds = job->parts->files.fds;

    /* Of a pipe too much was read by then. */
    for (int i = 0; i < VRT_JOB_FILE_COUNT && !job->info.input_piped; i++)
        if (fds[i] >= 0)
            vrt_fd_store_put(context->params.fd_store, job->info.id, keep_roles[i], fds[i]);
}

void vrt_job_files_close(struct vrt_job *job)
{
    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++) {
        vrt_closep(&job->parts->files.fds[i]);
        job->parts->files.fds[i] = -1;
    }
    vrt_closep(&job->parts->files.pipe_fd);
    job->parts->files.pipe_fd = -1;
}

bool vrt_job_files_find(const struct vrt_queue_context *context, struct vrt_job *job)
{
    struct vrt_job_request request;
    struct vrt_error error = { .id = NULL };
    const bool is_known = vrt_job_record_request(job, &request, &error) == 0;
    bool has_all = true;
    int *fds = job->parts->files.fds;

    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++) {
        fds[i] = vrt_fd_store_take(context->params.fd_store, job->info.id, keep_roles[i]);
        /* What came by no descriptor is opened, or fetched, when the job starts. */
        has_all &= fds[i] >= 0 || (is_known && request.files[i].fd == VRT_UNKNOWN);
    }
    if (job->is_remote && fds[VRT_JOB_INPUT] < 0)
        fds[VRT_JOB_INPUT] = vrt_spool_open_file(context->params.spool_fd, job->info.id,
                                                 VRT_JOB_INPUT);
    if (!has_all)
        vrt_job_files_close(job);
    return has_all;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether what is in the output is what an earlier run of the job had begun to write. */
static bool is_begun_output(const struct vrt_job *job, const struct stat *output)
{
    return job->decision->output_ino == (uint64_t)output->st_ino &&
           job->decision->output_dev == (uint64_t)output->st_dev;
}

/* Only while it is open its number says anything. */
bool vrt_job_files_has_output(const struct vrt_job *job, const struct stat *file)
{
    return job->parts->files.fds[VRT_JOB_OUTPUT] >= 0 && is_begun_output(job, file);
}

void vrt_job_files_note_output(struct vrt_job *job, const struct stat *output)
{
    job->decision->output_dev = (uint64_t)output->st_dev;
    job->decision->output_ino = (uint64_t)output->st_ino;
}

/* The same of a folder for pictures, which lets others in meanwhile. */
static int check_folder(const struct vrt_job *job, const struct vrt_job_request *request,
                        const struct stat *output, struct vrt_error *error)
{
    char shown[VRT_API_NAME_BYTES];

    if (request->overwrite || is_begun_output(job, output))
        return 0;
    int r = vrt_folder_is_empty(job->parts->files.fds[VRT_JOB_OUTPUT]);
    if (r > 0)
        return 0;
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "looking at the output");
    vrt_printable(request->output.name, shown, sizeof(shown));
    return vrt_refuse(error, vrt_raise(-EEXIST), VRT_E(JOB_OUTPUT),
                      "%s is not empty: let what is there be overwritten, or give another folder",
                      shown);
}

/* Refuses to write over what somebody may want to keep. The pipeline checks everything else. */
static int check_output(const struct vrt_job *job, const struct vrt_job_request *request,
                        struct vrt_error *error)
{
    const int *fds = job->parts->files.fds;
    struct stat input, output, other;
    bool has_input = fds[VRT_JOB_INPUT] >= 0;      /* else it is being fetched */
    char shown[VRT_API_NAME_BYTES];

    /* A plan needs none. */
    if (fds[VRT_JOB_OUTPUT] < 0)
        return 0;
    if ((has_input && fstat(fds[VRT_JOB_INPUT], &input) < 0) ||
        fstat(fds[VRT_JOB_OUTPUT], &output) < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), "looking at the files");
    for (int i = VRT_JOB_MODEL; i < VRT_JOB_FILE_COUNT; i++)
        if (fds[i] >= 0 && fstat(fds[i], &other) == 0 && is_same_file(&output, &other))
            return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(JOB_SAME_FILE),
                              "the output is the %s's own file: name another one",
                              vrt_job_file_names[i]);
    if (S_ISDIR(output.st_mode))
        return check_folder(job, request, &output, error);
    if (output.st_size == 0 || request->overwrite || !S_ISREG(output.st_mode) ||
        (has_input && is_same_file(&input, &output)))
        return 0;       /* the last is refused by the pipeline, in words of its own */
    if (is_begun_output(job, &output))
        return 0;
    vrt_printable(request->output.name, shown, sizeof(shown));
    return vrt_refuse(error, vrt_raise(-EEXIST), VRT_E(JOB_OUTPUT),
                      "%s exists and is not empty: let it be overwritten, or give another name",
                      shown);
}

/* Of a job that goes on: an output that isn't ours is no matter while the input isn't either.
 * Return: `r` of the output, or what is wrong with the input. */
static int check_input_first(const struct vrt_job *job, const struct vrt_job_request *request,
                             int r, struct vrt_error *error)
{
    const struct vrt_fingerprint *expected = &job->decision->fingerprint;
    int fd = job->parts->files.fds[VRT_JOB_INPUT];
    struct vrt_error of_input = { 0 };

    if (fd < 0 || !expected->size_bytes ||
        vrt_fingerprint_check(fd, request->input.name, expected, &of_input) != -ESTALE)
        return r;
    *error = of_input;
    return vrt_raise(-ESTALE);
}

/* A result that is kept is written to a file of the spool, which each run begins anew; there is
 * none before the job has a number. On a thread. */
static int make_result(const struct vrt_queue_context *context, struct vrt_job *job,
                       struct vrt_error *error)
{
    int *fd = &job->parts->files.fds[VRT_JOB_OUTPUT];

    if (!job->keeps_result || !job->info.id)
        return 0;
    vrt_closep(fd);
    *fd = -1;
    int r = vrt_spool_make_result(context->params.spool_fd, job->info.id, fd);
    return r < 0 ? vrt_job_files_refuse_spool(error, vrt_fold(r), "the result") : 0;
}

/* The job's network: of a file of its own, or by name; or between two of those. */
static int find_network(struct vrt_models *models, const struct vrt_job *job, double denoise,
                        struct vrt_network **ret_network, struct vrt_error *error)
{
    const struct vrt_models_file file = {
        .fd = job->parts->files.fds[VRT_JOB_MODEL],
        .name = job->info.model.name,
        .uid = job->uid,
    };
    const bool is_file = file.fd >= 0, is_between = !isnan(denoise);

    if (is_file && is_between)
        return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REQUEST_FIELD), "denoise: that takes "
                          "two checkpoints, which vrtd finds by name, not by path: vrtctl models "
                          "pull realesr-general-x4v3 and realesr-general-wdn-x4v3, then give the "
                          "name");
    if (is_file)
        return vrt_fold(vrt_models_read(models, &file, ret_network, error));
    if (is_between)
        return vrt_fold(vrt_models_find_between(models, file.name, denoise, ret_network, error));
    return vrt_fold(vrt_models_find(models, file.name, ret_network, error));
}

int vrt_job_files_look(const struct vrt_queue_context *context, struct vrt_job *job,
                       const struct vrt_job_request *request, struct vrt_network **ret_network,
                       struct vrt_error *error)
{
    struct vrt_models *models = context->params.models;

    int r = open_paths(context, job, request, error);
    if (r < 0)
        return vrt_fold(r);
    r = take_pipe(context, &job->parts->files, error);
    if (r < 0)
        return vrt_fold(r);
    r = make_result(context, job, error);
    if (r < 0)
        return vrt_fold(r);
    r = check_output(job, request, error);
    if (r < 0)
        return vrt_fold(check_input_first(job, request, r, error));
    r = find_network(models, job, request->settings.denoise, ret_network, error);
    if (r < 0)
        vrt_error_set_field(error, "model");
    return vrt_fold(r);
}

bool vrt_job_files_has_other(const struct vrt_job *job, const struct vrt_error *error)
{
    bool is_input = vrt_error_is(error, VRT_E(INPUT_OTHER));
    bool is_model = vrt_error_is(error, VRT_E(MODEL_OTHER)) && !job->info.input_piped;

    return (is_input && !job->is_remote) || (is_model && job->parts->files.fds[VRT_JOB_MODEL] >= 0);
}
