/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The spool folder: a folder of working files for each job that was started, named by its number;
 * and how much those will still take, as far as it is known
 *
 * Beside it is its result, where vrtd keeps that, and what was uploaded and no job has taken yet.
 *
 * A job's folder holds each segment of the result, and at the end all of them once more, joined;
 * and what was fetched or uploaded for the job, called as vrt_job_file_names has it.
 * What segments that are stored took says most about the others; before there is one, the estimate
 * of the admission.
 *
 * Thread: any; disk-space.c says when.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "msg_job.h"

struct vrt_job;

/* No disk is larger, and sums of a few such numbers don't overflow. */
#define VRT_SPOOL_BYTES_MAX (INT64_C(1) << 60)

/* The job's folder, made if need be. Return: 0; -errno. *ret_fd is the caller's. */
int vrt_spool_open(int spool_fd, int64_t job_id, int *ret_fd) VRT_MUST_CHECK;

/* A file without a name, for what comes by a pipe. Return: 0; -errno. *ret_fd is the caller's. */
int vrt_spool_make_file(int spool_fd, int *ret_fd) VRT_MUST_CHECK;

/* A file that was fetched or uploaded for a job. Return: a descriptor; -1: there is none. */
int vrt_spool_open_file(int spool_fd, int64_t job_id, enum vrt_job_file file);

/* The size of that; 0: there is none. */
int64_t vrt_spool_file_bytes(int spool_fd, int64_t job_id, enum vrt_job_file file);

/* Has a file of the spool folder itself be the job's, on the disk for good. Return: 0; -ENOENT:
 * there is no such file; -errno. */
int vrt_spool_give_file(int spool_fd, const char *name, int64_t job_id,
                        enum vrt_job_file file) VRT_MUST_CHECK;

/* The file of a result that is kept, beside the job's folder, empty, whatever was in it. Return: 0;
 * -errno. *ret_fd is the caller's. */
int vrt_spool_make_result(int spool_fd, int64_t job_id, int *ret_fd) VRT_MUST_CHECK;

/* The same, to be read. Return: a descriptor; -1: there is none. */
int vrt_spool_open_result(int spool_fd, int64_t job_id);

/*
 * Takes the job's folder away from under its name, so that another can be made, and says what it is
 * called now. Return: 0; -ENOENT: there is none; -errno. It is quick; vrt_spool_remove() need not
 * be.
 */
int vrt_spool_detach(int spool_fd, int64_t job_id, char *ret_name, size_t size) VRT_MUST_CHECK;

/* The same with the result: one that is made next isn't removed in its stead. */
int vrt_spool_detach_result(int spool_fd, int64_t job_id, char *ret_name,
                            size_t size) VRT_MUST_CHECK;

/* Gives the job back what was fetched or uploaded for it, of a folder that was detached as `from`:
 * in a new one. */
void vrt_spool_take_back(int spool_fd, const char *from, int64_t job_id);

/* Removes a folder with what is in it, if there is one. What can't go is logged. */
void vrt_spool_remove(int spool_fd, const char *name);

/* Removes whatever belongs to no job: `is_wanted` says of which jobs folders, or results, stay.
 * Return: 0; -errno. */
int vrt_spool_clean(int spool_fd, bool (*is_wanted)(void *ctx, int64_t job_id, bool is_result),
                    void *ctx);

/* Bytes that are free for vrtd on the disk that `fd` is on; INT64_MAX where nobody can tell. */
int64_t vrt_spool_free_bytes(int fd);

/* The same of the folder that the spool folder lies in: it may be on another disk. */
int64_t vrt_spool_free_above_bytes(int spool_fd);

/* Bytes that a file takes on its disk; 0 where nobody can tell. */
int64_t vrt_spool_held_bytes(int fd);

/* The size of the finished file in the job's folder; 0: there is none. */
int64_t vrt_spool_joined_bytes(int spool_fd, int64_t job_id);

/* What the job's stored segments take. */
int64_t vrt_spool_stored_bytes(const struct vrt_job *job);

/* The size of its result: at least that. */
int64_t vrt_spool_output_bytes(const struct vrt_job *job);

/* What still has to be written to the spool: the segments that are missing, and the joined file. */
int64_t vrt_spool_needed_bytes(const struct vrt_job *job);

/* The next segment, and its part of the joined file; 0: there is none to compare it with. */
int64_t vrt_spool_next_bytes(const struct vrt_job *job);
