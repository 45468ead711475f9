/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Buffers that are exchanged with the host, beside what the device computes
 *
 *     host:   write staging_host(in)    push(in)    submit(in -> out)    pull(out)
 *             ... the same with others ...
 *             wait(out)    read staging_host(out)
 *
 * Only the wait waits. A device that computes beside the host copies beside both; of one that has
 * the host's memory nothing is copied at all.
 *
 * Thread and results: as in backend.h.
 */

#include "backend/backend.h"

struct vrt_staging;

/*
 * One memory where host and device reach it, else two, the host's pinned. The device's side is a
 * buffer, to be bound; the host's may be read and written before anything is pushed, and after a
 * wait until then. Return: 0; outcome; -errno.
 */
int vrt_staging_new(struct vrt_device *device, size_t size_bytes,
                    struct vrt_staging **ret_staging);

/* Return: NULL. */
struct vrt_staging *vrt_staging_free(struct vrt_device *device, struct vrt_staging *staging);

/* The host's side, `size_bytes` of it, and the device's; both are the staging's. */
uint8_t *vrt_staging_host(const struct vrt_staging *staging);
struct vrt_buffer *vrt_staging_buffer(const struct vrt_staging *staging);

/* Sends the first `size_bytes` that the host wrote on their way: the programs submitted from now on
 * find them. Those that had it bound before are done, as a wait has shown. Return: 0; outcome;
 * -errno. */
int vrt_staging_push(struct vrt_device *device, struct vrt_staging *staging, size_t size_bytes);

/* Sends the first `size_bytes`, as the programs submitted until now leave them, on their way to the
 * host. Until a wait it isn't bound again. Return: 0; outcome; -errno. */
int vrt_staging_pull(struct vrt_device *device, struct vrt_staging *staging, size_t size_bytes);

/* Waits for what was pulled last, and not for what was submitted since; reports a failure of
 * anything before. Return: 0; outcome; -errno. */
int vrt_staging_wait(struct vrt_device *device, struct vrt_staging *staging);
