/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A session: everything one device needs to restore frames of one job: recorded programs for planes
 * to RGB, for a tile of the network and for RGB to planes, the arena they share, and the frames'
 * buffers. One frame goes through it at a time, or one clip where the network sees clips.
 *
 * Thread: that of the device.
 */

#include <stddef.h>

#include "backend/backend.h"
#include "engine/graph-executor.h"
#include "workers/device/evidence.h"
#include "workers/plan/job-spec.h"

struct vrt_frame;
struct vrt_session;
struct vrt_picture;

/* How long frames' way through a session took, in nanoseconds of the device's thread. */
struct vrt_session_times {
    int64_t upload_ns, compute_ns, download_ns;
};

/* What tells whether a result can be right. */
struct vrt_session_evidence {
    float min, max, n_not_finite;   /* of the RGB result: the finite values, as the device saw it */
    enum vrt_flaw flaw;             /* what the host sees to be wrong */
};

/* Frames on their way through a session: all of a clip, or one. */
struct vrt_session_clip {
    int n, depth;                   /* frames; those that the network sees (frames/clips/clip.h) */
    struct vrt_frame *const *in;    /* [n], of spec->in */
    struct vrt_frame *const *out;   /* [n], of spec->out, writable: samples are filled in; NULL: */
    struct vrt_picture *const *shared;  /* [n]: this one's pixels are; both NULL: nothing is */
};

/* What a session will be. */
struct vrt_session_plan {
    size_t bytes;                   /* of device memory, beside the replica */
    int64_t tile_flops;             /* of one tile's network, all frames of a clip */
};

/*
 * Plans a session for `spec`, cut to `size`. Nothing is allocated on the device.
 * Return: 0; -EINVAL: the device can't run the network; -ENOMEM.
 */
int vrt_session_plan(struct vrt_device *device, const struct vrt_job_spec *spec,
                 const struct vrt_job_spec_size *size, enum vrt_dtype dtype,
                 struct vrt_session_plan *ret_plan);

/*
 * `spec` and `replica` (of the network in `dtype`) must outlive it.
 * Return: 0; outcome of the backend; -errno.
 */
int vrt_session_new(struct vrt_device *device, const struct vrt_job_spec *spec,
                    struct vrt_replica *replica,
                enum vrt_dtype dtype, struct vrt_session **ret_session);

/* Return: NULL. */
struct vrt_session *vrt_session_free(struct vrt_session *session);

/* What vrt_session_plan() promised. */
size_t vrt_session_bytes(const struct vrt_session *session);

/*
 * Restores a clip: samples and pixels only. Between tiles the go_on() of `watch` is asked, too; it
 * is not NULL. evidence[0..n-1] is filled in: zeros for a frame of which nothing is wanted.
 */
int vrt_session_run(struct vrt_session *session, const struct vrt_session_clip *clip,
                const struct vrt_graph_executor_watch *watch, struct vrt_session_times *times,
                struct vrt_session_evidence *evidence);
