/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A CUDA device and what it makes: shared by the files of this folder
 *
 * Copies to the device, programs and copies from it run on three streams, ordered by events of the
 * buffers alone, so that what needs no other waits for no other.
 */

#include <cuda_runtime_api.h>

#include "backend/backend-impl.h"
#include "backend/cuda/kernels/kernels.h"

struct vrt_cuda_card;
struct vrt_cuda_libraries;
struct vrt_cuda_nvml;

/* Pinned memory that copies go through, in turns. */
#define VRT_CUDA_STAGES 4
#define VRT_CUDA_STAGE_BYTES ((size_t)4 << 20)

struct vrt_cuda_stage {
    char *host;
    cudaEvent_t done;               /* the last copy from or to it */
    bool busy;
};

struct vrt_cuda_device {
    struct vrt_device base;
    struct vrt_cuda_card *card;     /* a reference */
    struct vrt_cuda_nvml *nvml;     /* NULL: there is none */
    struct vrt_cuda_nccl *nccl;     /* likewise */
    struct vrt_cuda_libraries *libraries;   /* likewise */
    int n_programs;                 /* that there are */
    struct vrt_cuda_limits limits;
    bool tf32;
    enum vrt_cuda_f32_products f32;
    cudaStream_t upload, compute, download;
    struct vrt_cuda_stage up[VRT_CUDA_STAGES], down[VRT_CUDA_STAGES];
    int next_up;
};

struct vrt_cuda_buffer {
    struct vrt_buffer base;
    char *data;
    cudaEvent_t written, used;      /* the last copy to it; the last program that had it bound */
    bool is_written, is_used;       /* whether there was such a one */
};

struct vrt_cuda_replica {
    struct vrt_replica base;
    int card;
    char *blob;
    size_t bytes;
    uint64_t *sums;                 /* the parts of its checksum, on the device */
    struct vrt_cuda_param *params;
};

static inline struct vrt_cuda_device *vrt_cuda_device_of(const struct vrt_device *device)
{
    return vrt_container_of(device, struct vrt_cuda_device, base);
}

/* 75 for compute capability 7.5, and so on. */
static inline int vrt_cuda_capability(const struct cudaDeviceProp *prop)
{
    return prop->major * 10 + prop->minor;
}

/*
 * What an error of the runtime means: 0; VRT_BACKEND_E_NOMEM; E_LOST where it stays, and then the
 * card is reset when all have closed it; else E_FAILED. Says what failed, `what`, in the log.
 */
int vrt_cuda_outcome(struct vrt_cuda_device *cuda, int error, const char *what);

/* Whether the device multiplies what is of this type: no bf16 before sm_80. */
bool vrt_cuda_has_type(const struct vrt_cuda_device *cuda, enum vrt_dtype dtype);

/* See struct vrt_backend_ops: enumerate(). */
int vrt_cuda_enumerate(const struct vrt_registry_params *params, struct vrt_device_info **ret_infos,
                   size_t *ret_n_infos);

/* See struct vrt_backend_ops: the functions of the same names. */
int vrt_cuda_buffer_new(struct vrt_device *device, size_t size_bytes,
                        struct vrt_buffer **ret_buffer);
void vrt_cuda_buffer_free(struct vrt_device *device, struct vrt_buffer *buffer);
int vrt_cuda_buffer_write(struct vrt_device *device, struct vrt_buffer *dst, size_t offset_bytes,
                          const void *src, size_t size_bytes);
int vrt_cuda_buffer_read(struct vrt_device *device, const struct vrt_buffer *src,
                         size_t offset_bytes, void *dst, size_t size_bytes);
bool vrt_cuda_supports(const struct vrt_device *device, const struct vrt_op *op);
size_t vrt_cuda_workspace_bytes(const struct vrt_device *device, const struct vrt_op *op);
int vrt_cuda_packed_new(struct vrt_device *device, const struct vrt_pack *pack,
                        struct vrt_packed_place *places, struct vrt_packed **ret_packed);
int vrt_cuda_replica_begin(struct vrt_device *device, struct vrt_packed *packed,
                           struct vrt_replica **ret_replica);
void vrt_cuda_replica_free(struct vrt_device *device, struct vrt_replica *replica);
int vrt_cuda_replica_fill(struct vrt_device *device, struct vrt_replica *replica,
                          struct vrt_packed *packed, const size_t range[2]);
int vrt_cuda_replica_checksum(struct vrt_device *device, const struct vrt_replica *replica,
                              uint64_t *ret_checksum);
bool vrt_cuda_replica_can_receive(const struct vrt_device *device);
int vrt_cuda_replica_receive(struct vrt_device *device, struct vrt_replica *replica,
                             const struct vrt_replica *source);
bool vrt_cuda_group_is_possible(const struct vrt_device *device);
int vrt_cuda_group_key_new(struct vrt_device *device, struct vrt_group_key *ret_key);
int vrt_cuda_group_join(struct vrt_device *device, const struct vrt_group_seat *seat,
                        struct vrt_group **ret_group);
int vrt_cuda_group_spread(struct vrt_device *device, struct vrt_group *group,
                          struct vrt_replica *replica, const size_t range[2]);
int vrt_cuda_group_finish(struct vrt_device *device, struct vrt_group *group);
void vrt_cuda_group_free(struct vrt_device *device, struct vrt_group *group);
int vrt_cuda_program_new(struct vrt_device *device, const struct vrt_program_params *params,
                         struct vrt_program **ret_program);
void vrt_cuda_program_free(struct vrt_device *device, struct vrt_program *program);
int vrt_cuda_program_submit(struct vrt_device *device, struct vrt_program *program,
                            const struct vrt_binding *bindings);

/* Enqueues a copy to the device, behind those before; `from` may be changed when it returns.
 * Return: cudaError_t. */
int vrt_cuda_upload(struct vrt_cuda_device *cuda, char *to, const char *from, size_t size_bytes);

/* Makes and frees the stages of a device. Return: cudaError_t. */
int vrt_cuda_stages_init(struct vrt_cuda_stage *stages);
void vrt_cuda_stages_done(struct vrt_cuda_stage *stages);

/* Enqueues the op of `call` by its own launcher. Return: 0, cudaError_t. */
int vrt_cuda_launch(const struct vrt_cuda_call *call);
