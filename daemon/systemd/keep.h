/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The open files of jobs, kept by the service manager past the end of the daemon
 *
 * A job's files came as descriptors and can't be opened again by the daemon. systemd's descriptor
 * store holds duplicates of them, so that the next daemon still has them, whether the last one
 * ended or was killed:
 *
 *     vrt_keep_put()      when a job is stored, for each of its files
 *     vrt_keep_drop()     when it is over
 *     vrt_keep_take()     at start, for each job that was stored
 *     vrt_keep_sweep()    then: what nobody took belongs to no job
 *
 * Without a service manager, or where its store is full, nothing is kept and vrt_keep_take() finds
 * nothing: such a job waits for its submitter.
 *
 * Thread: the loop's.
 */

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/macro.h"

struct vrt_keep;

enum vrt_keep_role {
    VRT_KEEP_INPUT,             /* open for reading */
    VRT_KEEP_OUTPUT,            /* for writing */
    VRT_KEEP_MODEL,             /* for reading */
    VRT_KEEP_ROLE_COUNT,
};

/* Nothing is kept yet. Return: 0, -ENOMEM. It is freed by vrt_keep_free(). */
int vrt_keep_new(struct vrt_keep **ret_keep) VRT_MUST_CHECK;

/* The service manager keeps what it has. Return: NULL. */
struct vrt_keep *vrt_keep_free(struct vrt_keep *keep);

/*
 * A descriptor that the service manager handed over, which is taken over: vrt_notify_take()'s
 * `file`, with the struct vrt_keep as ctx. One that no job can have is closed and forgotten.
 */
void vrt_keep_adopt(void *keep, const char *name, int fd);

/*
 * Has a duplicate of `fd`, which stays the caller's, kept for a job; one that is kept in that role
 * already is replaced. Where that can't be it is logged, and that is all.
 */
void vrt_keep_put(struct vrt_keep *keep, int64_t job_id, enum vrt_keep_role role, int fd);

/* The service manager closes what it keeps for the job. Nothing where nothing is kept. */
void vrt_keep_drop(struct vrt_keep *keep, int64_t job_id);

/*
 * What a former daemon had kept for a job: open, as its role needs it, its offset anywhere. It is
 * the caller's, and stays kept. Return: fd; -ENOENT: there is none.
 */
int vrt_keep_take(struct vrt_keep *keep, int64_t job_id, enum vrt_keep_role role);

/* Closes what was handed over and nobody took, and has it no longer kept. */
void vrt_keep_sweep(struct vrt_keep *keep);

VRT_DEFINE_CLEANUP(struct vrt_keep, vrt_keep_free)
