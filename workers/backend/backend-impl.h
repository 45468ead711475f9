/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Devices, for those who implement them
 *
 * Included by workers/backend/<name>/ and what is beside those folders, by nobody else. Callers use
 * "backend/backend.h": its functions check every argument once and keep the accounts, so what is
 * written here may take its preconditions for granted. The contracts are those of the functions of
 * the same name there.
 *
 * Threads:  enumerate() runs once, before any device is opened. All the rest runs on the one thread
 *           that opened the device.
 * Libraries: the vendor's library is dlopen()ed in enumerate(), into a table of entry points owned
 *           by the backend. A missing library is 0 devices.
 */

#include <stdatomic.h>

#include "backend/backend.h"
#include "backend/kind.h"
#include "backend/replica.h"

/* First member of every backend's device struct; recover that with vrt_container_of(). */
struct vrt_device {
    const struct vrt_backend_ops *ops;      /* filled by registry.c when open() is done */
    const struct vrt_device_info *info;     /* likewise */
    int64_t used_bytes;             /* kept by backend.c */
    int64_t limit_bytes;            /* likewise: of used_bytes; 0: none */
    bool lost;                      /* likewise: it said so, and isn't called again but to free */
    void (*alive)(void *ctx);       /* likewise: for vrt_device_alive(); NULL: nobody looks on */
    void *alive_ctx;
};

/* Says, within a call, that a part of what may take minutes is done. */
static inline void vrt_device_alive(const struct vrt_device *device)
{
    if (device->alive)
        device->alive(device->alive_ctx);
}

/* First member of every backend's buffer struct. */
struct vrt_buffer {
    size_t size_bytes;              /* filled by backend.c */
};

/* First member of every backend's staging struct, where it has its own. */
struct vrt_staging {
    struct vrt_buffer *buffer;      /* by staging_new(); its size by backend.c */
    uint8_t *host;                  /* likewise */
};

/* Where a param is among the packed bytes. Between params there are zeros. */
struct vrt_packed_place {
    size_t offset_bytes, size_bytes;        /* by packed_new(); offsets are multiples of 8 */
    const void *data;               /* by packed_fill(): its bytes, final */
};

/* First member of every backend's packed weights; filled by replica.c, but for what says so. */
struct vrt_packed {
    const struct vrt_backend_ops *ops;
    atomic_int n_refs;
    char packing_id[64];
    struct vrt_param *params;       /* their shapes; name and data are NULL */
    struct vrt_packed_place *places;        /* of each */
    size_t n_params, n_filled;
    enum vrt_dtype dtype;           /* of the weights; vectors are f32 */
    bool is_shared;                 /* by packed_new(): replicas refer to it, and copy nothing */
    size_t size_bytes;
    uint64_t checksum;
};

/* First member of every backend's replica struct; filled by replica.c after replica_begin(). */
struct vrt_replica {
    struct vrt_param *params;       /* their shapes; name and data are NULL */
    size_t n_params;
    enum vrt_dtype dtype;           /* of the weights; vectors are f32 */
    size_t used_bytes;
    struct vrt_packed *packed;      /* a reference, where it is shared; else NULL */
};

/* What a program's ops require of one binding. */
struct vrt_program_binding {
    size_t size_bytes, align_bytes;
};

/* First member of every backend's program struct; filled by program.c after program_new(). */
struct vrt_program {
    struct vrt_op *ops;
    size_t n_ops;
    int n_bindings;
    struct vrt_program_binding *bindings;
    struct vrt_replica *replica;
    struct vrt_buffer *arena;
};

struct vrt_backend_ops {
    /* Lists the devices present, without opening one, and tells vrt_finding_add() what was looked
     * for, and why something is left out. The caller frees *ret_infos by free(). */
    int (*enumerate)(const struct vrt_registry_params *params, struct vrt_device_info **ret_infos,
                     size_t *ret_n_infos);

    int (*open)(const struct vrt_device_info *info, struct vrt_device **ret_device);
    void (*close)(struct vrt_device *device);

    /* Optional. The device that this one stands before. NULL: none. */
    struct vrt_device *(*inner)(const struct vrt_device *device);

    int (*buffer_new)(struct vrt_device *device, size_t size_bytes,
                      struct vrt_buffer **ret_buffer);
    void (*buffer_free)(struct vrt_device *device, struct vrt_buffer *buffer);
    int (*buffer_write)(struct vrt_device *device, struct vrt_buffer *dst, size_t offset_bytes,
                        const void *src, size_t size_bytes);
    int (*buffer_read)(struct vrt_device *device, const struct vrt_buffer *src,
                       size_t offset_bytes, void *dst, size_t size_bytes);

    /* One of both: where the host reaches the buffer's memory, or the rest. A failure that was
     * found while something else was waited for is reported by staging_wait() too. */
    uint8_t *(*buffer_host)(const struct vrt_buffer *buffer);
    int (*staging_new)(struct vrt_device *device, size_t size_bytes,
                       struct vrt_staging **ret_staging);
    void (*staging_free)(struct vrt_device *device, struct vrt_staging *staging);
    int (*staging_push)(struct vrt_device *device, struct vrt_staging *staging,
                        size_t size_bytes);
    int (*staging_pull)(struct vrt_device *device, struct vrt_staging *staging,
                        size_t size_bytes);
    int (*staging_wait)(struct vrt_device *device, struct vrt_staging *staging);

    /* A promise: if true, a program with this op runs within its stated tolerance. */
    bool (*supports)(const struct vrt_device *device, const struct vrt_op *op);

    /* What a program that has the op uses at its workspace, and no more: op->weight_dtype says what
     * its weights will be. Optional. NULL: no op needs any. */
    size_t (*workspace_bytes)(const struct vrt_device *device, const struct vrt_op *op);

    /* Lays out: fills in offset and size of places[0..n_params-1], in order. */
    int (*packed_new)(struct vrt_device *device, const struct vrt_pack *pack,
                      struct vrt_packed_place *places, struct vrt_packed **ret_packed);

    /* Packs param i and fills in places[i].data: each once, in order. Knows no device: it may have
     * been closed. On one thread at a time, as packed_free(), but on any. */
    int (*packed_fill)(struct vrt_packed *packed, const struct vrt_pack *pack, size_t i);
    void (*packed_free)(struct vrt_packed *packed);

    /* For packed_bytes in all, or, where it is shared, with a reference that is taken besides. */
    int (*replica_begin)(struct vrt_device *device, struct vrt_packed *packed,
                         struct vrt_replica **ret_replica);
    void (*replica_free)(struct vrt_device *device, struct vrt_replica *replica);

    /* Optional. NULL: replicas share what is packed, so nothing is copied, and the host's bytes are
     * the device's. */
    int (*replica_fill)(struct vrt_device *device, struct vrt_replica *replica,
                        struct vrt_packed *packed, const size_t range[2]);
    int (*replica_checksum)(struct vrt_device *device, const struct vrt_replica *replica,
                            uint64_t *ret_checksum);

    /* Optional. NULL: bytes come from the host alone. */
    bool (*replica_can_receive)(const struct vrt_device *device);
    int (*replica_receive)(struct vrt_device *device, struct vrt_replica *replica,
                           const struct vrt_replica *source);

    /* Optional, all of them or none. NULL: there are no groups. */
    bool (*group_is_possible)(const struct vrt_device *device);
    int (*group_key_new)(struct vrt_device *device, struct vrt_group_key *ret_key);
    int (*group_join)(struct vrt_device *device, const struct vrt_group_seat *seat,
                      struct vrt_group **ret_group);
    int (*group_spread)(struct vrt_device *device, struct vrt_group *group,
                        struct vrt_replica *replica, const size_t range[2]);
    int (*group_finish)(struct vrt_device *device, struct vrt_group *group);
    void (*group_free)(struct vrt_device *device, struct vrt_group *group);

    /* Every op was checked by vrt_op_check() and is supported; every tensor fits its buffer. */
    int (*program_new)(struct vrt_device *device, const struct vrt_program_params *params,
                       struct vrt_program **ret_program);
    void (*program_free)(struct vrt_device *device, struct vrt_program *program);
    int (*program_submit)(struct vrt_device *device, struct vrt_program *program,
                          const struct vrt_binding *bindings);
    int (*finish)(struct vrt_device *device);

    /* Optional. NULL: the driver cannot tell. */
    int (*memory)(struct vrt_device *device, struct vrt_memory_info *ret_info);

    /* Optional. NULL: it has none. What isn't known is left as it is. */
    void (*sensors)(struct vrt_device *device, struct vrt_device_sensors *ret_sensors);
};

/*
 * What a backend declares, whatever the build or the machine lacks; registry.c lists them, each by
 * its object vrt_backend_NAME.
 */
struct vrt_backend {
    struct vrt_device_kind kind;
    const struct vrt_backend_option *options;      /* ended by one without a name; NULL: none */

    /* One of these; none: nothing makes such devices, but requests may name them. */
    const struct vrt_backend_ops *ops;
    int (*load)(const struct vrt_registry_params *params, const struct vrt_backend_ops **ret_ops,
                struct vrt_device_info **ret_infos, size_t *ret_n_infos);   /* ops of a plugin that
                                     * finds devices, and these; NULL: there is none */
};

/* Options that a backend may have. */
#define VRT_BACKEND_OPTIONS_MAX 16

/*
 * Notes what was looked for in enumerate(), in params->findings: `finding` without its text, which
 * follows. What isn't as it should be is an info line of the log as well. NULL findings: only that.
 */
void vrt_finding_add(struct vrt_findings *findings, const struct vrt_finding *finding,
                     const char *format, ...) VRT_PRINTF(3, 4);

/* The checksum of what is packed as the host's bytes are now: of a replica that shares them. */
uint64_t vrt_packed_sum(const struct vrt_packed *packed);
