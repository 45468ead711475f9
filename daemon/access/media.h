/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Files that a client names by their path, instead of handing over a descriptor
 *
 * Only below the folders that the configuration lists as `media_roots`, only regular files, and
 * only where the client may open the file himself: each folder from / on must let him in, and the
 * file, or for a new one its folder, must let him read or write. What is judged is what was
 * opened, one step after the other, so that nothing can be swapped in between. Symbolic links are
 * refused, not followed, and so is what has an access control list, which the mode doesn't tell,
 * unless it is the client's own, of whom none speaks.
 *
 * What is in a folder that a client handed over as a descriptor is opened by the same rules, from
 * that folder on.
 *
 * Thread: any.
 */

#include "base/cleanup.h"
#include "base/error.h"
#include "daemon/access/access.h"

struct vrt_media;

enum vrt_media_mode {
    VRT_MEDIA_READ,
    VRT_MEDIA_WRITE,            /* and read; a file that isn't there is made */
};

struct vrt_media_request {
    const struct vrt_peer *peer;
    const char *path;           /* absolute */
    enum vrt_media_mode mode;
};

/*
 * `roots`: absolute paths, separated by ':'; "": nothing may be named by its path. Links in the
 * roots' own paths are followed, now and never again.
 * Return: 0; -errno, and `error` names the folder at fault. It is freed by vrt_media_free().
 */
int vrt_media_new(const char *roots, struct vrt_media **ret_media,
                  struct vrt_error *error) VRT_MUST_CHECK;

/* Return: NULL. */
struct vrt_media *vrt_media_free(struct vrt_media *media);

/*
 * Opens a file. May wait for a disk. A new file (`ret_is_new`, may be NULL) belongs to the peer
 * where the daemon may give it to him; else whoever may read its folder may read it.
 * Return: 0, *ret_fd is the caller's; -errno, and `error` says why in the words of proto/api.h.
 */
int vrt_media_open(const struct vrt_media *media, const struct vrt_media_request *request,
                   int *ret_fd, bool *ret_is_new, struct vrt_error *error) VRT_MUST_CHECK;

/*
 * Removes a new file again, where there won't be a job: only if what the path leads to is what
 * `fd` is open for, and empty.
 */
void vrt_media_remove(const struct vrt_media *media, const struct vrt_media_request *request,
                      int fd);

/*
 * Opens a file of the folder `folder_fd`, which came from `peer`: a name without slashes. One for
 * writing is new, and readable by whoever may look into the folder; of a folder with the sticky bit
 * the peer must be the owner.
 * Return: a descriptor; -EEXIST among others: it is there already; -errno, with `error`.
 */
int vrt_media_open_beneath(const struct vrt_peer *peer, int folder_fd, const char *name,
                           enum vrt_media_mode mode, struct vrt_error *error) VRT_MUST_CHECK;

/* Whether the peer, and the daemon, may make files in such a folder, `name` in sentences. Return:
 * 0; -errno with `error`. */
int vrt_media_check_folder(const struct vrt_peer *peer, int folder_fd, const char *name,
                           struct vrt_error *error) VRT_MUST_CHECK;

VRT_DEFINE_CLEANUP(struct vrt_media, vrt_media_free)
