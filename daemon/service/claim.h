/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What only one daemon may have: its state folder and its socket
 *
 * Each is claimed by a locked file beside it. A daemon that was killed leaves file and socket
 * behind, but not the lock: the next one takes them over.
 *
 * Thread: the loop's, before it runs.
 */

#include "base/error.h"
#include "base/macro.h"

struct vrt_claim {
    int fd;                     /* of the locked file; -1: nothing is claimed */
    char path[300];
};

#define VRT_CLAIM_NONE { .fd = -1 }

/*
 * Locks the file at `path`, made if need be, with the folders that it lies in. `what` is what
 * messages call the thing.
 * Return: 0; -EBUSY: another process has it; -errno. `error` says why.
 */
int vrt_claim_take(const char *path, const char *what, struct vrt_claim *claim,
                   struct vrt_error *error) VRT_MUST_CHECK;

/* Removes the file and gives the claim up. Nothing where nothing is claimed. */
void vrt_claim_release(struct vrt_claim *claim);

/*
 * Listens on a Unix socket at `path`, which owner and group may use; one that nobody listens on
 * is replaced. The claim on it must be held.
 * Return: 0; -EADDRINUSE; -errno. `error` says why.
 */
int vrt_claim_listen(const char *path, int *ret_fd, struct vrt_error *error) VRT_MUST_CHECK;

/*
 * Makes the folder at `path` and those above it, for the owner alone, and opens it.
 * Return: 0; -errno, and `error` says why.
 */
int vrt_claim_folder(const char *path, int *ret_fd, struct vrt_error *error) VRT_MUST_CHECK;

/* Makes, if need be, and opens the folder `name` in `folder_fd`. Return: 0; -errno with `error`. */
int vrt_claim_folder_in(int folder_fd, const char *name, int *ret_fd,
                        struct vrt_error *error) VRT_MUST_CHECK;
