/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A job's files: their descriptors, while the job isn't over
 *
 * They came with a request, are opened by the paths in it, or are kept for the daemon by the
 * service manager past its end. Whoever reads or takes one names it by enum vrt_job_file.
 *
 * Thread: the loop's, but for vrt_job_files_look().
 */

#include "base/macro.h"
#include "daemon/jobs/job.h"
#include "workers/media/files/sequence.h"

struct stat;
struct vrt_error;
struct vrt_network;
struct vrt_peer_files;
struct vrt_pipeline_params;
struct vrt_queue_context;
struct vrt_queue_params;

/* Embedded in struct vrt_job_parts. */
struct vrt_job_files {
    int fds[VRT_JOB_FILE_COUNT];        /* the job's own; -1: none */
    int pipe_fd;                        /* what the input comes by, which then is a file of the
                                         * spool, without a name, that grows; -1: nothing */
    bool is_pipe_begun;                 /* frames were read of it: they won't come again */
    int64_t piped_bytes;                /* of the file, that were charged: disk-space.c's own */
    bool made_output;                   /* it wasn't there, and was made by its path */
};

/* None so far. */
void vrt_job_files_init(struct vrt_job_files *files);

/* Takes the descriptors that the files of a request name out of `files` into the job. Return: 0;
 * -EBADF, -EMFILE with `error`. */
int vrt_job_files_take(struct vrt_job *job, const struct vrt_file_ref refs[VRT_JOB_FILE_COUNT],
                       struct vrt_peer_files *files, struct vrt_error *error);

/* Why a job ends whose pipe was read in part, whatever else would have made it start again. */
extern const struct vrt_error vrt_job_files_spent;

/* Why such a job's run ended with this error, after which others would wait or begin anew. Return:
 * `error`, or a static one. */
const struct vrt_error *vrt_job_files_why_spent(const struct vrt_error *error);

/* Whether the daemon itself opens the file. */
bool vrt_job_files_is_by_path(const struct vrt_file_ref *ref);

/* How what is in the job's folders is opened: as who submitted it may, on whatever thread, as long
 * as there is the job. */
struct vrt_folder_access vrt_job_files_access(struct vrt_job *job);

/* Whether its input or its output is a folder, in which the daemon itself opens files. */
bool vrt_job_files_has_folder(const struct vrt_job *job);

/* Whether the job has this file open as its output. */
bool vrt_job_files_has_output(const struct vrt_job *job, const struct stat *file);

/* From now on the output is known again as this job's, if it is given again. */
void vrt_job_files_note_output(struct vrt_job *job, const struct stat *output);

/*
 * What a request's files are found to be, on a thread: those named by their path are opened, and
 * it is told which network it is, and whether the output may be written. The loop leaves the job's
 * descriptors alone meanwhile.
 * Return: 0; -errno with `error`.
 */
int vrt_job_files_look(const struct vrt_queue_context *context, struct vrt_job *job,
                       const struct vrt_job_request *request, struct vrt_network **ret_network,
                       struct vrt_error *error);

/* Removes, on a thread, an output that this daemon made by its path for a job that came to nothing,
 * if it is empty still. A job that is retried makes it again. */
void vrt_job_files_remove_output(const struct vrt_queue_context *context, struct vrt_job *job);

/* Has the job's descriptors kept past the end of the daemon, where anybody does that. */
void vrt_job_files_keep(const struct vrt_queue_context *context, const struct vrt_job *job);

/* Takes up what was kept of a job that was read from the store. Return: whether it has all of its
 * files, or can have: else it has none. */
bool vrt_job_files_find(const struct vrt_queue_context *context, struct vrt_job *job);

/* Whether what the job's user has to give again is not what the job began with. */
bool vrt_job_files_has_other(const struct vrt_job *job, const struct vrt_error *error);

/* Says why `what` couldn't be made in the spool folder: r, which is -errno. Return: r. */
int vrt_job_files_refuse_spool(struct vrt_error *error, int r, const char *what);

/* Closes the job's descriptors. */
void vrt_job_files_close(struct vrt_job *job);
