/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * An XPU device and what it makes: shared by the files of this folder
 *
 * Programs run on a queue of command lists, copies on lists of their own that the copy engine
 * takes. The host keeps them in order: what is copied into a buffer waits for the programs that
 * had it bound, a program for the copies. So a program runs while the next one's input and the last
 * one's output are copied. No wait is without an end: who doesn't answer in time is lost.
 */

#include "backend/backend-impl.h"
#include "backend/xpu/kernels.h"
#include "backend/xpu/system/sysman.h"
#include "backend/xpu/system/system.h"

/* Pinned memory that copies go through, in turns. */
#define VRT_XPU_STAGES 4
#define VRT_XPU_STAGE_BYTES ((size_t)4 << 20)

/* Programs that may be under way at a time. */
#define VRT_XPU_IN_FLIGHT 8

struct vrt_xpu_staging;

struct vrt_xpu_stage {
    char *host;
    ze_event_handle_t done;         /* the last copy from or to it */
    bool busy;
};

struct vrt_xpu_device {
    struct vrt_device base;
    const struct vrt_xpu_system *system;    /* a reference */
    const struct vrt_xpu_loader *ze;
    const struct vrt_xpu_unit *unit;
    ze_context_handle_t context;
    ze_device_handle_t device;
    uint64_t max_allocation_bytes;  /* without asking for more explicitly */
    uint64_t patience_ns;           /* for what it has been given to do */
    bool has_dpas;                  /* vrt_xpu_unit_has_dpas() */
    bool is_stuck;                  /* it did not answer: what it may still use isn't freed */

    uint32_t compute_group, copy_group;     /* ordinals of queues */
    ze_command_queue_handle_t compute;
    ze_fence_handle_t fences[VRT_XPU_IN_FLIGHT];    /* of submission n: n % VRT_XPU_IN_FLIGHT */
    uint64_t n_submitted, n_finished;       /* submissions are counted from 1 */

    ze_command_list_handle_t upload, download;      /* immediate */
    ze_event_pool_handle_t events;
    struct vrt_xpu_stage up[VRT_XPU_STAGES], down[VRT_XPU_STAGES];
    int next_up;

    struct vrt_xpu_kernels kernels;
    struct vrt_xpu_sysman sysman;
};

struct vrt_xpu_buffer {
    struct vrt_buffer base;
    char *data;
    uint64_t used;                  /* the last submission that had it bound; 0: none */
    struct vrt_xpu_staging *staging;        /* whose it is; NULL */
};

struct vrt_xpu_replica {
    struct vrt_replica base;
    char *blob;
    size_t bytes;
    char *sums;                     /* the parts of its checksum, on the device */
    struct vrt_kernel_param *params;
};

static inline struct vrt_xpu_device *vrt_xpu_device_of(const struct vrt_device *device)
{
    return vrt_container_of(device, struct vrt_xpu_device, base);
}

/*
 * What a result means: 0; VRT_BACKEND_E_NOMEM; E_LOST where the device is gone, or didn't answer in
 * time; else E_FAILED. Says what failed, `what`, in the log.
 */
int vrt_xpu_outcome(struct vrt_xpu_device *xpu, ze_result_t result, const char *what);

/* See struct vrt_backend_ops: the functions of the same names. */
int vrt_xpu_enumerate(const struct vrt_registry_params *params, struct vrt_device_info **ret_infos,
                  size_t *ret_n_infos);
int vrt_xpu_buffer_new(struct vrt_device *device, size_t size_bytes,
                       struct vrt_buffer **ret_buffer);
void vrt_xpu_buffer_free(struct vrt_device *device, struct vrt_buffer *buffer);
int vrt_xpu_buffer_write(struct vrt_device *device, struct vrt_buffer *dst, size_t offset_bytes,
                         const void *src, size_t size_bytes);
int vrt_xpu_buffer_read(struct vrt_device *device, const struct vrt_buffer *src,
                        size_t offset_bytes, void *dst, size_t size_bytes);
int vrt_xpu_packed_new(struct vrt_device *device, const struct vrt_pack *pack,
                       struct vrt_packed_place *places, struct vrt_packed **ret_packed);
int vrt_xpu_replica_begin(struct vrt_device *device, struct vrt_packed *packed,
                          struct vrt_replica **ret_replica);
void vrt_xpu_replica_free(struct vrt_device *device, struct vrt_replica *replica);
int vrt_xpu_replica_fill(struct vrt_device *device, struct vrt_replica *replica,
                         struct vrt_packed *packed, const size_t range[2]);
int vrt_xpu_replica_checksum(struct vrt_device *device, const struct vrt_replica *replica,
                             uint64_t *ret_checksum);
bool vrt_xpu_replica_can_receive(const struct vrt_device *device);
int vrt_xpu_replica_receive(struct vrt_device *device, struct vrt_replica *replica,
                            const struct vrt_replica *source);
int vrt_xpu_program_new(struct vrt_device *device, const struct vrt_program_params *params,
                        struct vrt_program **ret_program);
void vrt_xpu_program_free(struct vrt_device *device, struct vrt_program *program);
int vrt_xpu_program_submit(struct vrt_device *device, struct vrt_program *program,
                           const struct vrt_binding *bindings);

/* Takes memory of the device, aligned for any op. Return: ze_result_t. */
ze_result_t vrt_xpu_alloc(struct vrt_xpu_device *xpu, size_t size_bytes, char **ret_data);

/* Gives it back; NULL is fine. */
void vrt_xpu_free(struct vrt_xpu_device *xpu, char *data);

/* Copies to the device through pinned memory; `from` may be changed when it returns, and the last
 * pieces may still be on their way. Return: ze_result_t. */
ze_result_t vrt_xpu_upload(struct vrt_xpu_device *xpu, char *to, const char *from,
                           size_t size_bytes);

/* Copies from the device through pinned memory, and waits for it. Return: ze_result_t. */
ze_result_t vrt_xpu_download(struct vrt_xpu_device *xpu, const char *from, char *to,
                             size_t size_bytes);

/* Copies from one device's memory to another's, by this one, and waits. Return: ze_result_t. */
ze_result_t vrt_xpu_copy_peer(struct vrt_xpu_device *xpu, char *to, const char *from,
                              size_t size_bytes);

/* Waits for all that was uploaded. Return: ze_result_t. */
ze_result_t vrt_xpu_await_uploads(struct vrt_xpu_device *xpu);

/* Makes and frees the stages of a device; its events are there. Return: ze_result_t. */
ze_result_t vrt_xpu_stages_init(struct vrt_xpu_device *xpu);
void vrt_xpu_stages_done(struct vrt_xpu_device *xpu);

/* Runs closed command lists behind what was submitted before. Return: ze_result_t. */
ze_result_t vrt_xpu_submit(struct vrt_xpu_device *xpu, ze_command_list_handle_t *lists,
                           uint32_t n_lists);

/* Waits for submission `n`, and those before it. Return: ze_result_t. */
ze_result_t vrt_xpu_await(struct vrt_xpu_device *xpu, uint64_t n);

/* An open command list for the compute queue. Return: ze_result_t. */
ze_result_t vrt_xpu_list_new(struct vrt_xpu_device *xpu, ze_command_list_handle_t *ret_list);

/* NULL is fine. */
void vrt_xpu_list_free(struct vrt_xpu_device *xpu, ze_command_list_handle_t list);
