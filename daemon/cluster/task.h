/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A task: what one process of vrtd does of a film that a cluster restores
 *
 *     plan        admits the job on a machine of the kind that will restore it, which chooses its
 *                 recipe, and reads the video once, to say where segments end
 *     I/N         makes the segments of the I-th of N parts which aren't there yet
 *     join        makes the file of all segments, verifies it, and writes the output
 *
 * Each is a job of a vrtd without clients, of which only a part is done (struct
 * vrt_pipeline_part): its recipe, its files and its segments are those of a job that was stored,
 * so what comes of it is what comes of that job on one machine. It has a state folder of its own on
 * the node, for a moment, and one for its working files in the film's folder. A task that ended
 * before its time is begun anew: it looks at what is there, and does the rest.
 *
 * Thread: the first, before the loop and after it; what is said of the loop's, there.
 */

#include "base/error.h"
#include "base/macro.h"

struct uv_async_s;
struct vrt_fd_store;
struct vrt_job;
struct vrt_pipeline_part;
struct vrt_queue;
struct vrt_segment_record;
struct vrt_task_state;

/* What the process is to end with. */
enum vrt_cluster_exit {
    VRT_CLUSTER_DONE = 0,
    VRT_CLUSTER_FAILED = 1,             /* nothing would be otherwise at another time, or it was
                                         * tried often enough */
    VRT_CLUSTER_AGAIN = 75,             /* EX_TEMPFAIL of sysexits.h: the task is to be begun anew,
                                         * here or elsewhere */
    VRT_CLUSTER_MORE = 256,             /* what there is to do isn't all done yet: the same again,
                                         * now */
};

/* Whether a text names a task. */
bool vrt_task_is_one(const char *text);

/*
 * Looks at what is there, and prepares what is to be done; also on failure it needs
 * vrt_task_end(). Return: 0; -errno with `error`.
 */
int vrt_task_begin(const char *folder, const char *name, struct vrt_task_state **ret_task,
                   struct vrt_error *error) VRT_MUST_CHECK;

/* Whether there is something to do. */
bool vrt_task_is_due(const struct vrt_task_state *task);

/* What the daemon is to work with. They live as long as the task. */
const struct vrt_pipeline_part *vrt_task_part(const struct vrt_task_state *task);
const char *vrt_task_state_dir(const struct vrt_task_state *task);
int vrt_task_spool_fd(const struct vrt_task_state *task);

/* Stores the job in the state folder, if it is planned, and hands its files over. Return: 0; -errno
 * with `error`. */
int vrt_task_store(struct vrt_task_state *task, struct vrt_fd_store *fd_store,
                   struct vrt_error *error) VRT_MUST_CHECK;

/* The calls of struct vrt_server_once (daemon/service/server.h), on the loop; ctx is the task. */
int vrt_task_started(void *ctx, struct vrt_queue *queue, struct uv_async_s *over,
                     struct vrt_error *error);
void vrt_task_job_changed(void *ctx, struct vrt_job *job);
void vrt_task_segment_stored(void *ctx, struct vrt_job *job,
                             const struct vrt_segment_record *segment);

/* Says how it ended, where `error` may hold why it didn't begin, and frees it with what it had in
 * work. Return: what the process is to end with. */
enum vrt_cluster_exit vrt_task_end(struct vrt_task_state *task, const struct vrt_error *error);
