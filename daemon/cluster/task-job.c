/* SPDX-License-Identifier: MIT */

/* How a task's job gets into its daemon: by being submitted to it, where it is to be planned; else
 * as a row of a job that had begun elsewhere. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/thread.h"
#include "daemon/access/peer.h"
#include "daemon/cluster/task-impl.h"
#include "daemon/jobs/admission.h"
#include "daemon/jobs/job-store.h"
#include "daemon/jobs/queue.h"
#include "daemon/store/store.h"
#include "daemon/systemd/fd-store.h"

/* What comes of the writes. */
struct import {
    int r;
};

static void on_written(void *ctx, int r)
{
    struct import *import = ctx;

    if (import->r == 0)
        import->r = r;
}

static void on_stopped(void *ctx)
{
    (void)ctx;
}

/* Writes the row, and those of the segments that count as complete. */
static void put(struct vrt_store *store, const struct vrt_task_state *task, struct import *import)
{
    const struct vrt_cluster_plan *plan = &task->plan;
    const struct vrt_store_done done = { on_written, import };
    const bool is_join = task->kind == VRT_PIPELINE_JOIN;
    const int64_t n = is_join ? (int64_t)plan->n_segments : task->range.first;
    const struct vrt_store_job row = {
        .id = VRT_TASK_JOB_ID,
        .uid = geteuid(),
        .state = VRT_JOB_QUEUED,
        .created_at = vrt_clock_wall_ns(),
        .request = plan->request,
        .info = plan->info,
        .work = plan->work,
    };

    vrt_store_put_job(store, &row, done);
    for (int64_t i = 0; i < n; i++) {
        const struct vrt_segment_plan *segment = &plan->segments[i];
        const struct vrt_segment_record record = {
            .number = i,
            .n_frames = segment->n_frames,
            .next_shard = segment->next_shard,
            .n_concealed = segment->n_concealed,
            .size_bytes = is_join ? vrt_cluster_segment_bytes(&task->folder, i) : 0,
        };
        vrt_store_add_segment(store, VRT_TASK_JOB_ID, &record, done);
    }
}

/* Makes the database of the state folder. Return: 0; -errno with `error`. */
static int make_store(const struct vrt_task_state *task, struct vrt_error *error)
{
    struct import import = { 0 };
    struct vrt_store *store = NULL;
    uv_loop_t loop;

    vrt_thread_set_role(VRT_THREAD_LOOP, "vrtd");
    int r = uv_loop_init(&loop);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_raise(r), "the task's state");
    r = vrt_store_open(&(struct vrt_store_params){
        .loop = &loop,
        .folder = task->state_dir,
    }, &store, error);
    if (r == 0) {
        put(store, task, &import);
        vrt_store_stop(store, on_stopped, NULL);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    vrt_assert(uv_loop_close(&loop) == 0);
    if (r < 0 || import.r == 0)
        return vrt_fold(r);
    return vrt_refuse(error, vrt_raise(import.r), import.r == -ENOSPC ? VRT_E(STORE_FULL) :
                      VRT_E(STORE_FAILED), "the task's state can't be written to %.300s: %s",
                      task->state_dir, strerror(-import.r));
}

/* Gives the attempt all segments, to be joined. */
static int lend_segments(const struct vrt_task_state *task, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int fd = -1;
    int r = 0;

    if (task->kind != VRT_PIPELINE_JOIN)
        return 0;
    if (mkdirat(task->attempt_fd, VRT_TASK_JOB_FOLDER, 0700) == 0)
        fd = openat(task->attempt_fd, VRT_TASK_JOB_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), "the attempt's folder");
    for (size_t i = 0; r == 0 && i < task->plan.n_segments; i++)
        r = vrt_cluster_lend(&task->folder, fd, (int64_t)i, error);
    return vrt_fold(r);
}

int vrt_task_store(struct vrt_task_state *task, struct vrt_fd_store *fd_store,
                   struct vrt_error *error)
{
    /* As the descriptor store calls those of job 1. */
    static const char *const names[VRT_JOB_FILE_COUNT] = { "1i", "1o", "1m", "1r" };
    int fds[VRT_JOB_FILE_COUNT];

    if (task->kind == VRT_PIPELINE_SURVEY)
        return 0;
    int r = lend_segments(task, error);
    if (r == 0)
        r = make_store(task, error);
    if (r == 0)
        r = vrt_task_open_files(task, fds, error);
    for (int i = 0; r == 0 && i < VRT_JOB_FILE_COUNT; i++)
        if (fds[i] >= 0)
            vrt_fd_store_adopt(fd_store, names[i], fds[i]);
    return vrt_fold(r);
}

/* Takes the job as it was admitted: all that its runs share. */
static int take_job(struct vrt_task_state *task, const struct vrt_job *job,
                    struct vrt_error *error)
{
    struct vrt_buf request = { .limit_bytes = 0 };
    struct vrt_job_request asked;
    struct vrt_job_texts texts;
    struct vrt_store_job row;
    int r = vrt_job_record_request(job, &asked, error);

    /* What is in the output was looked at; from now on it is this film's. */
    asked.overwrite = true;
    /* It may be gone by then. */
    asked.reference.fd = VRT_UNKNOWN;
    if (r == 0)
        r = vrt_fields_print(vrt_job_request_fields, &asked, &request);
    if (r == 0)
        r = vrt_job_record_print(job, &texts, &row);
    if (r == 0) {
        task->plan.request = vrt_buf_steal(&request);
        task->plan.info = vrt_buf_steal(&texts.info);
        task->plan.work = vrt_buf_steal(&texts.work);
        vrt_job_texts_done(&texts);
    }
    vrt_buf_done(&request);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "the film's plan");
    return 0;
}

/* What a cluster can't do, or not to the same bytes. */
static int check(const struct vrt_job_recipe *recipe, struct vrt_error *error)
{
    if (recipe->target_size_bytes != VRT_UNKNOWN)
        return vrt_refuse(error, -EINVAL, VRT_E(REQUEST_FIELD), "--target-size needs one segment "
                          "after the other, on one machine: ask for a --bitrate");
    if (recipe->alpha == VRT_ALPHA_NETWORK)
        return vrt_refuse(error, -EINVAL, VRT_E(REQUEST_FIELD), "--alpha network restores the film "
                          "twice, on one machine: choose --alpha resize");
    return 0;
}

static void on_admitted(void *ctx, struct vrt_job *job, const struct vrt_error *error)
{
    struct vrt_task_state *task = ctx;
    int r = 0;

    if (error)
        task->error = *error;
    else
        r = check(&job->info.recipe, &task->error);
    if (!error && r == 0)
        r = take_job(task, job, &task->error);
    if (!error && r == 0)
        return;
    task->is_over = true;
    uv_async_send(task->over);
}

/* Submits the job as its user does to a daemon of his own. */
static int submit(struct vrt_task_state *task, struct vrt_queue *queue, struct vrt_error *error)
{
    struct vrt_job_request *request = &task->request;
    struct vrt_peer_files files = { .n = 0 };
    int pair[2], fds[VRT_JOB_FILE_COUNT];
    struct vrt_peer peer;
    struct vrt_job *job;

    int r = vrt_task_open_files(task, fds, error);
    if (r < 0)
        return vrt_fold(r);
    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++) {
        request->files[i].fd = fds[i] >= 0 ? files.n : VRT_UNKNOWN;
        if (fds[i] >= 0)
            files.fds[files.n++] = fds[i];
    }
    r = socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ? vrt_raise(-errno) : 0;
    if (r == 0) {
        r = vrt_peer_init(pair[0], &peer);
        close(pair[0]);
        close(pair[1]);
    }
    if (r == 0) {
        r = vrt_admission_submit(vrt_queue_admission(queue), &(struct vrt_submission){
            .request = request,
            .peer = &peer,
            .files = &files,
            .admitted = on_admitted,
            .ctx = task,
        }, &job, error);
        vrt_peer_done(&peer);
    }
    vrt_peer_files_done(&files);
    return r < 0 ? vrt_refuse_errno(error, vrt_fold(r), "submitting the film") : 0;
}

int vrt_task_started(void *ctx, struct vrt_queue *queue, struct uv_async_s *over,
                     struct vrt_error *error)
{
    struct vrt_task_state *task = ctx;

    task->over = over;
    if (task->is_over)
        uv_async_send(over);
    return task->kind == VRT_PIPELINE_SURVEY ? vrt_fold(submit(task, queue, error)) : 0;
}
