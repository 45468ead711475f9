/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A session: everything one device needs to restore frames of one job: recorded programs for planes
 * to RGB, for a tile of the network and for RGB to planes, the arena they share, and the frames'
 * buffers. Frames go through it one by one, or clip by clip where the network sees clips: while one
 * is computed, the next goes up and the last one comes down, as far as the device does that beside
 * the host. A clip has only its planes to itself.
 *
 * Thread: that of the device.
 */

#include <stddef.h>

#include "backend/backend.h"
#include "engine/graph-executor.h"
#include "workers/device/session/evidence.h"
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

/* Frames on their way through a session: all of a clip, or one. Where frames are made between, the
 * results are those of the clip's frame and of what follows it that are shown, and of these only
 * what vrt_session_makes(). */
struct vrt_session_clip {
    int n, depth;                   /* frames; those that the network sees (frames/clips/clip.h) */
    int first, n_between;           /* where frames are made between: as of struct vrt_clip_shown */
    struct vrt_frame *const *in;    /* [n], of spec->in */
    struct vrt_frame *const *out;   /* [n], or of the results, of spec->out, writable: samples are
                                     * filled in; NULL: */
    struct vrt_picture *const *shared;  /* [n]: this one's pixels are; both NULL: nothing is */
};

/* What a session will be. */
struct vrt_session_plan {
    size_t bytes;                   /* of device memory, beside the replica, for one clip in flight
                                     * at a time */
    size_t slot_bytes;              /* for each one more */
    int64_t tile_flops;             /* of one tile's network, all frames of a clip */
};

/*
 * Plans a session for `spec`, cut to `size`. Nothing is allocated on the device.
 * Return: 0; -EINVAL: the device can't run the network; -ENOMEM.
 */
int vrt_session_plan(struct vrt_device *device, const struct vrt_job_spec *spec,
                 const struct vrt_job_spec_size *size, enum vrt_dtype dtype,
                 struct vrt_session_plan *ret_plan);

/* The name of the first op of such a session that the device doesn't support; NULL: it supports
 * all, or there is no memory to find out. */
const char *vrt_session_lacks(struct vrt_device *device, const struct vrt_job_spec *spec,
                              const struct vrt_job_spec_size *size, enum vrt_dtype dtype);

struct vrt_session_params {
    const struct vrt_job_spec *spec;
    struct vrt_replica *replica;    /* of the spec's network in `dtype` */
    enum vrt_dtype dtype;
    int n_in_flight;                /* clips at a time: 1 to VRT_DEVICE_IN_FLIGHT */
    int batch;                      /* frames of a clip, where the network sees each by itself */
};

/* What `params` refers to must outlive it. Return: 0; outcome of the backend; -errno. */
int vrt_session_new(struct vrt_device *device, const struct vrt_session_params *params,
                    struct vrt_session **ret_session);

/* Return: NULL. */
struct vrt_session *vrt_session_free(struct vrt_session *session);

/* What vrt_session_plan() promised. */
size_t vrt_session_bytes(const struct vrt_session *session);

/* How many frames a clip may have. */
int vrt_session_depth(const struct vrt_session *session);

/* How many clips are in flight: begun, and not ended. */
int vrt_session_n_begun(const struct vrt_session *session);

/* Whether one more may be begun. */
bool vrt_session_has_room(const struct vrt_session *session);

/*
 * Sends a clip on its way, behind those that were begun before; there must be room. The frames stay
 * as they are until it ends. Between tiles the go_on() of `watch` is asked, too; it is not NULL.
 * Return: 0; outcome; -ECANCELED; -errno. Where it isn't 0 the clip isn't in flight.
 */
int vrt_session_begin(struct vrt_session *session, const struct vrt_session_clip *clip,
                      const struct vrt_graph_executor_watch *watch,
                      struct vrt_session_times *times);

/* Where frames are made between: whether it fills in what stands at `place` (0: the frame itself)
 * of a clip of this depth. Else the host has its samples. */
bool vrt_session_makes(const struct vrt_job_spec *spec, int depth, int place);

/*
 * Waits for the oldest clip in flight, and fills in its samples and pixels. evidence[] of each
 * result is filled in: zeros for a frame of which nothing is wanted; NULL: nothing of the clip is
 * wanted any more, and its frames aren't looked at. Return: as vrt_session_begin(); the clip has
 * ended in any case.
 */
int vrt_session_end(struct vrt_session *session, struct vrt_session_times *times,
                    struct vrt_session_evidence *evidence);
