/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * An MPS device and what it makes: shared by the files of this folder
 *
 * Programs are encoded anew each time, as command buffers of bounded work, on one queue. A GPU that
 * has the host's memory works in buffers that the host reaches, too: nothing is copied, and the
 * host waits before it touches what programs use. One with memory of its own gets what is exchanged
 * by two more queues, which events keep in order with the programs; all else is copied through
 * shared buffers, in turns, while the host waits. No wait is without an end: who doesn't answer in
 * time is lost.
 */

#include "backend/backend-impl.h"
#include "backend/mps/kernels.h"
#include "backend/mps/metal.h"
#include "backend/mps/queue.h"

/* More than any Mac has. */
#define VRT_MPS_DEVICES_MAX 16

/* Shared buffers that copies to memory of the GPU's own go through, in turns. */
#define VRT_MPS_STAGES 2
#define VRT_MPS_STAGE_BYTES ((size_t)4 << 20)

/* Up to which command buffer of each queue. */
struct vrt_mps_moment {
    uint64_t compute, upload, download;
};

struct vrt_mps_stage {
    vrt_metal_id memory;            /* NULL: it wasn't wanted yet */
    char *host;
    uint64_t used;                  /* the last copy from or to it, of its queue */
};

struct vrt_mps_device {
    struct vrt_device base;
    vrt_metal_id device;
    bool is_unified;
    bool has_bf16;
    uint64_t patience_ns;           /* for what it has been given to do */
    double work_flops;              /* that a command buffer has at most */
    bool is_stuck;                  /* it did not answer: what it may still use isn't freed */
    struct vrt_mps_device *next_stuck;      /* kept for what may still answer */

    struct vrt_mps_queue compute;
    struct vrt_mps_moment told;     /* by finish(): how all until then fared */
    struct vrt_mps_queue upload, download;  /* where memory isn't unified */
    vrt_metal_id progress;          /* likewise: an event, whose value says how many
                                     * programs are done */
    uint64_t n_programs;            /* that were committed */
    struct vrt_mps_stage up[VRT_MPS_STAGES], down[VRT_MPS_STAGES];

    struct vrt_mps_kernels kernels;
};

struct vrt_mps_staging;

struct vrt_mps_buffer {
    struct vrt_buffer base;
    vrt_metal_id memory;
    char *host;                     /* NULL: the GPU's own */
    uint64_t used;                  /* the last command buffer of `compute` that had it bound */
    uint64_t mark;                  /* the last of which it is known how it fared */
    uint64_t program;               /* the last program that had it bound, as `progress` counts */
    struct vrt_mps_staging *staging;        /* whose it is; NULL */
};

struct vrt_mps_replica {
    struct vrt_replica base;
    struct vrt_mps_buffer *blob, *sums;     /* the weights; the parts of their checksum */
    size_t size_bytes;              /* of the weights */
    struct vrt_kernel_param *params;
};

static inline struct vrt_mps_device *vrt_mps_device_of(const struct vrt_device *device)
{
    return vrt_container_of(device, struct vrt_mps_device, base);
}

static inline struct vrt_mps_buffer *vrt_mps_buffer_of(const struct vrt_buffer *buffer)
{
    return vrt_container_of(buffer, struct vrt_mps_buffer, base);
}

/* Whether it multiplies factors of a type. */
bool vrt_mps_has_type(const struct vrt_mps_device *mps, enum vrt_dtype dtype);

/* The device that was number i when they were listed, owned; NULL: it isn't there any more. */
vrt_metal_id vrt_mps_find_device(int i);

/*
 * What became of some work, `result` being 0, VRT_MPS_STUCK or a MTLCommandBufferError: 0;
 * VRT_BACKEND_E_NOMEM; E_LOST where the device is gone, was taken from us, or didn't answer in
 * time; else E_FAILED. Says what failed, `what`, and why, in the log.
 */
int vrt_mps_outcome(struct vrt_mps_device *mps, long result, const char *what, const char *why);

/* Commits a command buffer to a queue. Return: as vrt_mps_outcome(). */
int vrt_mps_commit(struct vrt_mps_device *mps, struct vrt_mps_queue *queue, vrt_metal_id commands,
                   const char *what);

/* Waits for command buffer n of a queue, and those before, whatever becomes of them. Return: 0;
 * VRT_BACKEND_E_LOST. */
int vrt_mps_await(struct vrt_mps_device *mps, struct vrt_mps_queue *queue, uint64_t n,
                  const char *what);

/* Waits likewise, and tells how those behind *mark fared, which is then moved to n. Return: as
 * vrt_mps_outcome(). */
int vrt_mps_settle(struct vrt_mps_device *mps, struct vrt_mps_queue *queue, uint64_t *mark,
                   uint64_t n, const char *what);

/* Until now. */
struct vrt_mps_moment vrt_mps_now(const struct vrt_mps_device *mps);

/* Waits for all queues until a moment, and tells how what is behind *told fared, which is moved
 * there. Return: as vrt_mps_outcome(). */
int vrt_mps_settle_all(struct vrt_mps_device *mps, struct vrt_mps_moment *told,
                       const struct vrt_mps_moment *until);

/* See struct vrt_backend_ops: the functions of the same names. */
int vrt_mps_enumerate(const struct vrt_registry_params *params, struct vrt_device_info **ret_infos,
                      size_t *ret_n_infos);
int vrt_mps_buffer_new(struct vrt_device *device, size_t size_bytes,
                       struct vrt_buffer **ret_buffer);
void vrt_mps_buffer_free(struct vrt_device *device, struct vrt_buffer *buffer);
int vrt_mps_buffer_write(struct vrt_device *device, struct vrt_buffer *dst, size_t offset_bytes,
                         const void *src, size_t size_bytes);
int vrt_mps_buffer_read(struct vrt_device *device, const struct vrt_buffer *src,
                        size_t offset_bytes, void *dst, size_t size_bytes);
int vrt_mps_packed_new(struct vrt_device *device, const struct vrt_pack *pack,
                       struct vrt_packed_place *places, struct vrt_packed **ret_packed);
int vrt_mps_replica_begin(struct vrt_device *device, struct vrt_packed *packed,
                          struct vrt_replica **ret_replica);
void vrt_mps_replica_free(struct vrt_device *device, struct vrt_replica *replica);
int vrt_mps_replica_fill(struct vrt_device *device, struct vrt_replica *replica,
                         struct vrt_packed *packed, const size_t range[2]);
int vrt_mps_replica_checksum(struct vrt_device *device, const struct vrt_replica *replica,
                             uint64_t *ret_checksum);
int vrt_mps_program_new(struct vrt_device *device, const struct vrt_program_params *params,
                        struct vrt_program **ret_program);
void vrt_mps_program_free(struct vrt_device *device, struct vrt_program *program);
int vrt_mps_program_submit(struct vrt_device *device, struct vrt_program *program,
                           const struct vrt_binding *bindings);

/* Memory of the device, shared with the host or private to it. Return: 0; VRT_BACKEND_E_NOMEM,
 * -ENOMEM. */
int vrt_mps_memory_new(struct vrt_mps_device *mps, size_t size_bytes, unsigned long mode,
                       vrt_metal_id *ret_memory);

/* Gives the stages back. */
void vrt_mps_stages_done(struct vrt_mps_device *mps);
