/* SPDX-License-Identifier: MIT */
#pragma once

/* A CPU device and what it makes: shared by the files of this folder. */

#include "backend/backend-impl.h"
#include "backend/cpu/conv/conv2d.h"
#include "backend/cpu/isa/tiles.h"
#include "backend/cpu/conv/winograd.h"
#include "backend/cpu/threads/pool.h"

struct vrt_cpu_device {
    struct vrt_device base;
    const struct vrt_cpu_isa *isa;
    struct vrt_dnnl *dnnl;
    struct vrt_cpu_pool *pool;
    int n_threads;
    int failure;                /* the first since finish() */
};

struct vrt_cpu_buffer {
    struct vrt_buffer base;
    char *data;                 /* aligned to 64 bytes at least */
};

struct vrt_cpu_replica {
    struct vrt_replica base;
    const struct vrt_cpu_param *params;     /* of what is packed, by index */
};

static inline struct vrt_cpu_device *vrt_cpu_device_of(const struct vrt_device *device)
{
    return vrt_container_of(device, struct vrt_cpu_device, base);
}

/* Whether it has kernels for weights of this type. Convolutions other than 3x3 are oneDNN's, and it
 * may lack some that others have by tiles. */
static inline bool vrt_cpu_multiplies(const struct vrt_cpu_device *cpu, enum vrt_dtype dtype)
{
    return vrt_dnnl_supports(cpu->dnnl, dtype) || (dtype == VRT_DTYPE_BF16 && vrt_cpu_tiles());
}

/* See struct vrt_backend_ops: supports(). */
bool vrt_cpu_supports(const struct vrt_device *device, const struct vrt_op *op);

/* See struct vrt_backend_ops: workspace_bytes(). */
size_t vrt_cpu_workspace_bytes(const struct vrt_device *device, const struct vrt_op *op);

/* See struct vrt_backend_ops: packed_new(). */
int vrt_cpu_packed_new(struct vrt_device *device, const struct vrt_pack *pack,
                       struct vrt_packed_place *places, struct vrt_packed **ret_packed);

/* See struct vrt_backend_ops: packed_fill(). */
int vrt_cpu_packed_fill(struct vrt_packed *packed, const struct vrt_pack *pack, size_t i);

/* See struct vrt_backend_ops: packed_free(). */
void vrt_cpu_packed_free(struct vrt_packed *packed);

/* See struct vrt_backend_ops: replica_begin(). */
int vrt_cpu_replica_begin(struct vrt_device *device, struct vrt_packed *packed,
                          struct vrt_replica **ret_replica);

/* See struct vrt_backend_ops: replica_free(). */
void vrt_cpu_replica_free(struct vrt_device *device, struct vrt_replica *replica);

/* See struct vrt_backend_ops: program_new(). */
int vrt_cpu_program_new(struct vrt_device *device, const struct vrt_program_params *params,
                        struct vrt_program **ret_program);

/* See struct vrt_backend_ops: program_free(). */
void vrt_cpu_program_free(struct vrt_device *device, struct vrt_program *program);

/* See struct vrt_backend_ops: program_submit(). It waits. */
int vrt_cpu_program_submit(struct vrt_device *device, struct vrt_program *program,
                           const struct vrt_binding *bindings);
