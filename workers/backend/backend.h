/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Devices, for those who use them
 *
 * Backends implement "backend/backend-impl.h"; the functions here check what they are given, once,
 * and call them. The life of a device: the registry lists what is present, the worker thread that
 * will own it opens it, gives it a replica of a network's params, and for each size of work a
 * program: the list of ops recorded once, with its buffers' places planned (engine/plan.h), then
 * submitted again and again with other bindings.
 *
 * Threads:  the registry belongs to the thread that made it; vrt_device_info is immutable. All the
 *           rest runs on the one thread that opened the device, which opens no other that is on
 *           another card of its kind: to some drivers a card is current for a whole thread.
 * Results:  0; -errno, passed on; or a VRT_BACKEND_E_* outcome, which the caller handles.
 */

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/op/op.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/backend-option.h"

struct vrt_backend_ops;
struct vrt_buffer;
struct vrt_device;
struct vrt_program;
struct vrt_registry;
struct vrt_replica;

/* What an accelerator has in flight: one clip is computed, one on its way to it, one from it. */
#define VRT_DEVICE_IN_FLIGHT 3

enum vrt_backend_outcome {
    VRT_BACKEND_OK = 0,
    VRT_BACKEND_E_NOMEM,            /* the device's memory is full */
    VRT_BACKEND_E_LOST,             /* the device is gone: close it, give its work to others */
    VRT_BACKEND_E_FAILED,           /* this piece of work failed; the device may do the next */
};

/* Of a path, at most. */
#define VRT_DEVICE_FOLDER_BYTES 320

/* What is known of a device before it is opened. */
struct vrt_device_info {
    const char *kind;               /* "cpu", of "kind.h": by the registry */
    const int64_t *options;         /* values of what its backend declares: likewise */
    int index;                      /* among those of its kind */
    char name[32];                  /* "cpu:0" */
    char description[128];          /* "AMD EPYC, 2 threads, AVX-512, bf16" */
    char class_id[192];             /* devices of one class give bit-identical results */
    char packing_id[64];            /* devices that share one keep weights in the same bytes */
    int n_threads;                  /* host threads it computes with; 0: none of the host's */
    int n_in_flight;                /* clips that keep it busy, while one comes and one goes; 1:
                                     * who submits a program waits for it */
    int n_pixels;                   /* of the input, that keep all of it busy: of smaller pictures
                                     * several are computed at a time; 0: never, for bits would
                                     * depend on how many */
    int64_t memory_total_bytes;     /* -1: nobody knows */
    bool shares_host_memory;        /* it is the host's: planned with that of others who say so */
    enum vrt_dtype preferred_dtype; /* the shortest that it multiplies as fast as it can */
    int card;                       /* which piece of hardware, as the backend counts those of its
                                     * kind; several devices may be one */
    char kernels_dir[VRT_DEVICE_FOLDER_BYTES];  /* of what its driver, or a library, compiled for
                                     * it, "cache.h"; "": none */
    char short_f32[8];              /* products of f32 drop bits of their factors, and are called
                                     * so, "TF32"; "": they keep them all */

    /* For people and their scripts; "" where there is no such thing, or nobody knows. */
    char uuid[48];                  /* 36 digits and dashes, perhaps a word before them */
    char pci_address[24];           /* "0000:01:00.0" */
    char compute_capability[8];     /* "8.6", where the vendor numbers what cards can */
    char driver_version[16];        /* the driver's own, "1.3.24595"; with a runtime_version: the
                                     * newest that it is for, "13.0" */
    char runtime_version[16];       /* that the backend was built with: "13.0" */
};

struct vrt_memory_info {
    int64_t total_bytes, free_bytes;        /* -1: the driver cannot tell */
};

/* How a device is at present. Numbers are NAN where nobody knows. */
struct vrt_device_sensors {
    bool are_known;                 /* false: the device has none, and all of it is unknown */
    double utilization_percent;     /* of the time in which something was computed, lately */
    double memory_utilization_percent;      /* in which its memory was read or written */
    double temperature_celsius;
    double power_watts, power_limit_watts;
    char throttling[96];            /* why it is slower than it could be; "none"; "": unknown */
};

#define VRT_DEVICE_SENSORS_UNKNOWN                                                  \
    {                                                                               \
        .utilization_percent = NAN, .memory_utilization_percent = NAN,              \
        .temperature_celsius = NAN, .power_watts = NAN, .power_limit_watts = NAN,   \
    }

enum vrt_finding_kind {
    VRT_FINDING_THERE,              /* it was found: the text says which, and which version */
    VRT_FINDING_ABSENT,             /* it isn't there, as on a machine without such hardware */
    VRT_FINDING_UNFIT,              /* it is there, but can't be used, or not all of it */
};

/* One thing that a backend looked for while the devices were listed. Texts are one line each. */
struct vrt_finding {
    char backend[16];               /* "cpu" */
    char what[16];                  /* "plugin", "driver", "devices", ... */
    enum vrt_finding_kind kind;
    char text[256];                 /* "no CPU devices: there is no ..." */
    char cure[192];                 /* what may be done about it; "": nothing needs to be */
};

#define VRT_FINDINGS_MAX 64         /* what is found beyond is in the log only */

struct vrt_findings {
    struct vrt_finding list[VRT_FINDINGS_MAX];
    size_t n;
};

/* How the backends shall present the machine. Zeros: defaults. */
struct vrt_registry_params {
    const struct vrt_backend_value *values;     /* of backends' options; NULL, and those that it
                                     * doesn't name: the defaults */
    const char *fault;              /* schedule of failures, backend/fault.h; NULL: none */
    unsigned leave_out;             /* kinds of these roles, 1 << enum vrt_device_role: nothing of
                                     * them is looked for */
    const char *left_out_by;        /* why accelerators are: "force_cpu = on in [devices]"; NULL:
                                     * nobody is told */
    const char *cache_dir;          /* in it compiled kernels are kept; NULL: they aren't */
    const char *plugin_dir;         /* where backends that are plugins are; NULL: where
                                     * the environment's VRTD_PLUGIN_DIR, or else the build, says */

    /* The registry's own, for the backend that it asks: leave them NULL. */
    struct vrt_findings *findings;
    const int64_t *options;         /* values of all that it declares, in that order; they live as
                                     * long as the registry */
};

/* What a param is for, which decides how a device keeps it. Vectors (1 dimension) are f32. */
enum vrt_param_use {
    VRT_PARAM_WEIGHT,               /* of a conv2d [O,I,K,K] or a linear layer [O,I] */
    VRT_PARAM_WEIGHT_F32,           /* the same, f32 whatever the replica's type */
    VRT_PARAM_WEIGHT_DEFORM,        /* of a deform_conv2d [O,I/groups,3,3] */
    VRT_PARAM_WEIGHT_DEFORM_F32,    /* the same, f32 whatever the replica's type */
    VRT_PARAM_TABLE,                /* numbers that are added: f32 */
    VRT_PARAM_USE_COUNT,
};

/* One array of weights, f32 on the host, row-major. */
struct vrt_param {
    const char *name;               /* as in the checkpoint */
    int n_dims;
    int dims[4];                    /* op.h says which an op wants */
    const float *data;
    enum vrt_param_use use;
};

/* Where a program's tensors with a slot other than VRT_SLOT_ARENA are, this time. */
struct vrt_binding {
    struct vrt_buffer *buffer;
    size_t offset_bytes;            /* added to the tensors' own offsets */
};

/* Whether a device keeps a param of this use as f32 whatever the replica's type. */
static inline bool vrt_param_use_is_f32(enum vrt_param_use use)
{
    return use == VRT_PARAM_WEIGHT_F32 || use == VRT_PARAM_WEIGHT_DEFORM_F32 ||
           use == VRT_PARAM_TABLE;
}

/* As which type a replica of `dtype` keeps the param, whose data isn't looked at. */
static inline enum vrt_dtype vrt_param_dtype(const struct vrt_param *param, enum vrt_dtype dtype)
{
    return param->n_dims > 1 && !vrt_param_use_is_f32(param->use) ? dtype : VRT_DTYPE_F32;
}

/* The use of which `use` is the variant in f32, or itself. */
static inline enum vrt_param_use vrt_param_use_plain(enum vrt_param_use use)
{
    switch (use) {
    case VRT_PARAM_WEIGHT_F32: return VRT_PARAM_WEIGHT;
    case VRT_PARAM_WEIGHT_DEFORM_F32: return VRT_PARAM_WEIGHT_DEFORM;
    default: return use;
    }
}

#define VRT_SLOT_ARENA 0            /* bindings[k] is slot 1 + k */

/* What a program is made of. It needs to live only until the function returns. */
struct vrt_program_params {
    const struct vrt_op *ops;       /* in order; every slot and offset filled in */
    size_t n_ops;
    struct vrt_replica *replica;    /* kept in use until the program is freed; NULL: no params */
    struct vrt_buffer *arena;       /* likewise; NULL where arena_bytes is 0 */
    size_t arena_bytes;
    int n_bindings;
};

/*
 * Lists the devices of every backend. Libraries that are absent are 0 devices and an info line.
 * Return: 0, -errno. The caller frees *ret_registry, after every device of it is closed.
 */
int vrt_registry_new(const struct vrt_registry_params *params, struct vrt_registry **ret_registry,
                     struct vrt_error *error);

/* Return: NULL. */
struct vrt_registry *vrt_registry_free(struct vrt_registry *registry);

/* The devices found, in order of preference; they live as long as the registry. */
const struct vrt_device_info *const *vrt_registry_devices(const struct vrt_registry *registry,
                                                          size_t *ret_n_devices);

/* Whether a backend for devices of this kind ("cpu") is built in, or can be loaded. */
bool vrt_registry_has_backend(const char *kind);

/* What the backends looked for, in their order; it lives as long as the registry. */
const struct vrt_findings *vrt_registry_findings(const struct vrt_registry *registry);

/* Whether two devices, or one, are the same piece of hardware. */
bool vrt_device_info_is_same_card(const struct vrt_device_info *a,
                                  const struct vrt_device_info *b);

/* Whether two devices, or one, take of the same memory: a host's, or a card's. */
bool vrt_device_info_shares_memory(const struct vrt_device_info *a,
                                   const struct vrt_device_info *b);

/* The device called `name` ("cpu:0", "ref:0"), or NULL. */
const struct vrt_device_info *vrt_registry_find(const struct vrt_registry *registry,
                                                const char *name);

/* Opens a device of the registry for the calling thread. Return: 0; outcome; -errno. */
int vrt_device_open(const struct vrt_registry *registry, const struct vrt_device_info *info,
                    struct vrt_device **ret_device);

/* Everything made from it must have been freed. NULL is fine. Return: NULL. */
struct vrt_device *vrt_device_close(struct vrt_device *device);

/*
 * Has `alive` called, on the device's thread, now and then within calls that may take minutes, as
 * where a driver compiles one kernel after the other. NULL: it isn't any more.
 */
void vrt_device_watch(struct vrt_device *device, void (*alive)(void *ctx), void *ctx);

/* What the registry said of it. */
const struct vrt_device_info *vrt_device_info(const struct vrt_device *device);

/* *ret_info has -1 where the driver cannot tell. Return: 0; outcome; -errno. */
int vrt_device_memory(struct vrt_device *device, struct vrt_memory_info *ret_info);

/* Asks how the device is, which may take a millisecond; nothing it was given is waited for. */
void vrt_device_sensors(struct vrt_device *device, struct vrt_device_sensors *ret_sensors);

/* Bytes that buffers and replicas of this device hold now, by our own accounting. */
int64_t vrt_device_used_bytes(const struct vrt_device *device);

/*
 * From now on buffers and replicas which would make it hold more than `limit_bytes` are refused as
 * VRT_BACKEND_E_NOMEM; 0: as many as there is room for.
 */
void vrt_device_limit_memory(struct vrt_device *device, int64_t limit_bytes);

/* Uninitialised memory of the device, aligned for any op. Return: 0; outcome; -errno. */
int vrt_buffer_new(struct vrt_device *device, size_t size_bytes, struct vrt_buffer **ret_buffer);

/* Return: NULL. */
struct vrt_buffer *vrt_buffer_free(struct vrt_device *device, struct vrt_buffer *buffer);

/* Copies between host and device, after the work submitted before. Return: 0; outcome; -errno. */
int vrt_buffer_write(struct vrt_device *device, struct vrt_buffer *dst, size_t offset_bytes,
                     const void *src, size_t size_bytes);

/* See vrt_buffer_write(). Waits: what it reads is complete. */
int vrt_buffer_read(struct vrt_device *device, const struct vrt_buffer *src, size_t offset_bytes,
                    void *dst, size_t size_bytes);

/* Whether the device runs `op` within the tolerance of tests/conformance. */
bool vrt_device_supports(const struct vrt_device *device, const struct vrt_op *op);

/* Scratch memory that `op` needs in the arena on this device. */
size_t vrt_device_workspace_bytes(const struct vrt_device *device, const struct vrt_op *op);

/*
 * Converts the params to `dtype` (as their use says) and to the device's own layout, once, and
 * keeps them there. `params` may be freed afterwards. For one device: "backend/replica.h" says how
 * several come by the same weights. Return: 0; outcome; -errno.
 */
int vrt_replica_new(struct vrt_device *device, const struct vrt_param *params, size_t n_params,
                    enum vrt_dtype dtype, struct vrt_replica **ret_replica);

/* Return: NULL. */
struct vrt_replica *vrt_replica_free(struct vrt_device *device, struct vrt_replica *replica);

/* What the replica takes of the device's memory. */
size_t vrt_replica_bytes(const struct vrt_device *device, const struct vrt_replica *replica);

/* Records ops for replay. Return: 0; outcome; -EINVAL: an op isn't supported; -errno. */
int vrt_program_new(struct vrt_device *device, const struct vrt_program_params *params,
                    struct vrt_program **ret_program);

/* Return: NULL. */
struct vrt_program *vrt_program_free(struct vrt_device *device, struct vrt_program *program);

/* The ops it was made of, in order; they live as long as it does. */
const struct vrt_op *vrt_program_ops(const struct vrt_program *program, size_t *ret_n_ops);

/*
 * Runs the program behind what was submitted before; may return before it is done. `bindings`
 * (n_bindings of them) need to live only until then. Return: 0; outcome; -errno.
 */
int vrt_program_submit(struct vrt_device *device, struct vrt_program *program,
                       const struct vrt_binding *bindings);

/* Waits for everything submitted; reports the first failure since. Return: 0; outcome; -errno. */
int vrt_device_finish(struct vrt_device *device);

/* "out of device memory", ...: for logs and job errors; outcomes and -errno alike. */
const char *vrt_backend_strerror(int r);

VRT_DEFINE_CLEANUP(struct vrt_registry, vrt_registry_free)
VRT_DEFINE_CLEANUP(struct vrt_device, vrt_device_close)
