/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The open files of jobs, kept by the service manager past the end of the daemon
 *
 * A job's files came as descriptors and can't be opened again by the daemon. systemd's descriptor
 * store holds duplicates of them, so that the next daemon still has them, whether the last one
 * ended or was killed:
 *
 *     vrt_fd_store_put()      when a job is stored, for each of its files
 *     vrt_fd_store_drop()     when it is over
 *     vrt_fd_store_take()     at start, for each job that was stored
 *     vrt_fd_store_sweep()    then: what nobody took belongs to no job
 *
 * Without a service manager, or where its store is full, nothing is kept and vrt_fd_store_take()
 * finds nothing: such a job waits for its submitter.
 *
 * Thread: the loop's.
 */

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/macro.h"

struct vrt_fd_store;

enum vrt_fd_store_role {
    VRT_FD_STORE_INPUT,         /* open for reading */
    VRT_FD_STORE_OUTPUT,        /* for writing */
    VRT_FD_STORE_MODEL,         /* for reading */
    VRT_FD_STORE_REFERENCE,     /* for reading */
    VRT_FD_STORE_ROLE_COUNT,
};

/* Nothing is kept yet. Return: 0, -ENOMEM. It is freed by vrt_fd_store_free(). */
int vrt_fd_store_new(struct vrt_fd_store **ret_keep) VRT_MUST_CHECK;

/* The service manager keeps what it has. Return: NULL. */
struct vrt_fd_store *vrt_fd_store_free(struct vrt_fd_store *fd_store);

/*
 * A descriptor that the service manager handed over, which is taken over: vrt_notify_take()'s
 * `file`, with the struct vrt_fd_store as ctx. One that no job can have is closed and forgotten.
 */
void vrt_fd_store_adopt(void *fd_store, const char *name, int fd);

/*
 * Has a duplicate of `fd`, which stays the caller's, kept for a job; one that is kept in that role
 * already is replaced. Where that can't be it is logged, and that is all.
 */
void vrt_fd_store_put(struct vrt_fd_store *fd_store, int64_t job_id, enum vrt_fd_store_role role,
                      int fd);

/* The service manager closes what it keeps for the job. Nothing where nothing is kept. */
void vrt_fd_store_drop(struct vrt_fd_store *fd_store, int64_t job_id);

/*
 * What a former daemon had kept for a job: open, as its role needs it, its offset anywhere. It is
 * the caller's, and stays kept. Return: fd; -ENOENT: there is none.
 */
int vrt_fd_store_take(struct vrt_fd_store *fd_store, int64_t job_id, enum vrt_fd_store_role role);

/* Closes what was handed over and nobody took, and has it no longer kept. */
void vrt_fd_store_sweep(struct vrt_fd_store *fd_store);

VRT_DEFINE_CLEANUP(struct vrt_fd_store, vrt_fd_store_free)
