/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Devices, for those who implement them
 *
 * Included by workers/backend/<name>/, backend.c, program.c and registry.c, by nobody else. Callers
 * use "backend/backend.h": its functions check every argument once and keep the accounts, so what
 * is written here may take its preconditions for granted. The contracts are those of the functions
 * of the same name there.
 *
 * Threads:  probe() runs once, before any device is opened. All the rest runs on the one thread
 *           that opened the device.
 * Libraries: the vendor's library is dlopen()ed in probe(), into a table of entry points owned by
 *           the backend. A missing library is 0 devices.
 */

#include "backend/backend.h"

/* First member of every backend's device struct; recover that with vrt_container_of(). */
struct vrt_device {
    const struct vrt_backend_ops *ops;      /* filled by registry.c when open() is done */
    const struct vrt_device_info *info;     /* likewise */
    int64_t used_bytes;             /* kept by backend.c */
    int64_t limit_bytes;            /* likewise: of used_bytes; 0: none */
    bool lost;                      /* likewise: it said so, and isn't called again but to free */
};

/* First member of every backend's buffer struct. */
struct vrt_buffer {
    size_t size_bytes;              /* filled by backend.c */
};

/* First member of every backend's replica struct; filled by backend.c after replica_new(). */
struct vrt_replica {
    struct vrt_param *params;       /* their shapes; name and data are NULL */
    size_t n_params;
    enum vrt_dtype dtype;           /* of the weights; vectors are f32 */
    size_t used_bytes;
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
    const char *name;               /* "cpu", "cuda", ... */

    /* Lists the devices present, without opening one. The caller frees *ret_infos by free(). */
    int (*probe)(const struct vrt_registry_params *params, struct vrt_device_info **ret_infos,
                 size_t *ret_n_infos);

    int (*open)(const struct vrt_device_info *info, struct vrt_device **ret_device);
    void (*close)(struct vrt_device *device);

    int (*buffer_new)(struct vrt_device *device, size_t size_bytes,
                      struct vrt_buffer **ret_buffer);
    void (*buffer_free)(struct vrt_device *device, struct vrt_buffer *buffer);
    int (*buffer_write)(struct vrt_device *device, struct vrt_buffer *dst, size_t offset_bytes,
                        const void *src, size_t size_bytes);
    int (*buffer_read)(struct vrt_device *device, const struct vrt_buffer *src,
                       size_t offset_bytes, void *dst, size_t size_bytes);

    /* A promise: if true, a program with this op runs within its stated tolerance. */
    bool (*supports)(const struct vrt_device *device, const struct vrt_op *op);

    /* Optional. NULL: no op needs any. */
    size_t (*workspace_bytes)(const struct vrt_device *device, const struct vrt_op *op);

    int (*replica_new)(struct vrt_device *device, const struct vrt_param *params, size_t n_params,
                       enum vrt_dtype dtype, struct vrt_replica **ret_replica);
    void (*replica_free)(struct vrt_device *device, struct vrt_replica *replica);
    size_t (*replica_bytes)(const struct vrt_device *device, const struct vrt_replica *replica);

    /* Every op was checked by vrt_op_check() and is supported; every tensor fits its buffer. */
    int (*program_new)(struct vrt_device *device, const struct vrt_program_params *params,
                       struct vrt_program **ret_program);
    void (*program_free)(struct vrt_device *device, struct vrt_program *program);
    int (*program_submit)(struct vrt_device *device, struct vrt_program *program,
                          const struct vrt_binding *bindings);
    int (*finish)(struct vrt_device *device);

    /* Optional. NULL: the driver cannot tell. */
    int (*memory)(struct vrt_device *device, struct vrt_memory_info *ret_info);
};
