/* SPDX-License-Identifier: MIT */
#pragma once

/* What a device executor is made of: private to workers/device/device-executor*.c. Thread: that
 * of the device. */

#include "base/list.h"
#include "workers/device/device-executor.h"
#include "workers/device/session/fit.h"

struct vrt_held_replica {
    struct vrt_list link;
    uint64_t checksum;
    enum vrt_dtype dtype;
    struct vrt_replica_hold *hold;
    struct vrt_replica *replica;    /* the hold's */
    int n_sessions;                 /* that refer to it; 0: idle */
    int64_t used_ns;
};

struct vrt_held_session {
    struct vrt_list link;
    struct vrt_job_spec *spec;      /* a reference */
    enum vrt_dtype dtype;
    struct vrt_held_replica *replica;
    struct vrt_session *session;
    int64_t used_ns;
};

struct vrt_device_executor {
    struct vrt_device *device;
    struct vrt_device_executor_params params;
    struct vrt_replica_seat *seat;
    struct vrt_list replicas;       /* of struct vrt_held_replica.link */
    struct vrt_list sessions;       /* of struct vrt_held_session.link */
    int64_t peak_bytes;
};

/* The network's replica in `dtype`, made if there is none, and idle where no session has it.
 * Return: as vrt_replica_seat_take(). */
int vrt_device_executor_get_replica(struct vrt_device_executor *executor,
                                    const struct vrt_network *network,
                           enum vrt_dtype dtype, struct vrt_held_replica **ret_held);

/* Gives up the least recently used of what is idle, and not for `keep` in `dtype`: a replica, else
 * the session of a job that waits. Return: whether there was anything. */
bool vrt_device_executor_give_up(struct vrt_device_executor *executor,
                                 const struct vrt_job_spec *keep, enum vrt_dtype dtype);

/* What is free, with what idle replicas would leave and the bytes of `keep`, and to a job that is
 * due sessions that others can make anew; -1: nobody can tell. */
int64_t vrt_device_executor_free_bytes(struct vrt_device_executor *executor,
                                       const struct vrt_held_replica *keep, bool is_due);

/* How much of a job a session has at a time. */
struct vrt_load {
    int batch;                      /* as of struct vrt_session_params */
    int n_in_flight;
    int64_t bytes;                  /* of device memory, beside the replica */
};

/*
 * What keeps the device busy, of a job that fits as `fit` says, in batches as of vrt_load_batch(),
 * as far as that takes no more than so many bytes; -1: as many as it likes. When memory is short,
 * the load falls before clips and tiles do. Return: 0; as vrt_session_plan().
 */
int vrt_load_find(const struct vrt_device_executor *executor, const struct vrt_job_spec *spec,
                  enum vrt_dtype dtype, int batch, const struct vrt_fit *fit,
                  int64_t allowed_bytes, struct vrt_load *ret_load);

/* Makes it less. Return: whether that was possible; then its bytes aren't known any more. */
bool vrt_load_reduce(struct vrt_load *load);

/* Gives it up with the sessions that use it: they are made again when they are next needed. */
void vrt_device_executor_drop_replica(struct vrt_device_executor *executor,
                                      struct vrt_held_replica *held);
