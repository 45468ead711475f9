/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Ops as launches of kernels, for devices whose kernels take the same arguments: XPU and MPS
 *
 * The ops-*.c here say for each op which kernels are run, of how many items, with what; a backend
 * runs them (struct vrt_kernel_target). What is computed depends on the op and the device's
 * abilities alone, so that devices of one class give the same bits.
 *
 * Thread: that of the device.
 */

#include <stdbool.h>
#include <stddef.h>

#include "backend/kernels/args.h"
#include "backend/op/op.h"

/* X(name): of a kernel's file and its function. Products and attentions by matrix units are there
 * for each type of factors. */
#define VRT_KERNELS(X)    \
    X(add)                \
    X(affine)             \
    X(avgpool2)           \
    X(blend)              \
    X(checksum)           \
    X(conv2d)             \
    X(copy)               \
    X(deform_conv2d)      \
    X(depth_to_space)     \
    X(fill)               \
    X(flow_offsets)       \
    X(gate)               \
    X(layernorm)          \
    X(linear)             \
    X(mean)               \
    X(mean_total)         \
    X(pad)                \
    X(range)              \
    X(range_total)        \
    X(resize)             \
    X(rgb_to_yuv)         \
    X(space_to_depth)     \
    X(warp)               \
    X(window_attend)      \
    X(window_attend_64)   \
    X(window_attend_128)  \
    X(window_attend_wide) \
    X(yuv_to_rgb)

enum vrt_kernel {
#define VRT_KERNEL_ENUMERATOR(name) VRT_KERNEL_##name,
    VRT_KERNELS(VRT_KERNEL_ENUMERATOR)
#undef VRT_KERNEL_ENUMERATOR
    VRT_KERNEL_COUNT,
};

/* Where something is on a device: so far behind the start of memory that the backend knows by an
 * address, or an object. NULL: there is no such thing. */
struct vrt_kernel_place {
    void *memory;
    size_t offset_bytes;
};

/* Params, and parts of an op's workspace, begin at multiples of this. */
#define VRT_KERNEL_ALIGN 256

#define VRT_KERNEL_MAX_DATA 16

/* How a kernel is to be run. */
struct vrt_kernel_launch {
    enum vrt_kernel kernel;
    enum vrt_dtype factors;         /* of products, and of attention; f32 for others */
    const void *args;               /* its struct of args.h */
    size_t args_bytes;
    struct vrt_kernel_place data[VRT_KERNEL_MAX_DATA];
    int n_data;
    uint32_t groups[3], local[3];   /* how many groups, of how many items */
};

/* How weights are laid out: rows filled up to a multiple of so many elements, in slabs of so many
 * inputs. */
#define VRT_KERNEL_ROW_ALIGN 16

/*
 * A param on the device: f32 vectors and tables as they are; [O,I] and [O,I,K,K] as struct
 * vrt_kernel_weights has them, O rounded up to a multiple of VRT_KERNEL_ROW_ALIGN; what is added is
 * zeros.
 */
struct vrt_kernel_param {
    struct vrt_kernel_place place;  /* at a multiple of VRT_KERNEL_ALIGN */
    enum vrt_dtype dtype;
    int row_elements;               /* outputs of weights, rounded up */
    int n_dims;
    int dims[4];                    /* as of the checkpoint */
};

/* Which kernel does attention, of how many queries and items a group. */
struct vrt_kernel_attention {
    enum vrt_kernel kernel;
    uint32_t n_queries, n_items;
};

struct vrt_device;
struct vrt_kernel_call;

/* What a backend has for the ops here. Functions return 0, or a failure of the backend's own. */
struct vrt_kernel_target {
    uint32_t product_items;         /* of a group that makes a tile of a product */
    size_t align_bytes;             /* at multiples of which data may begin; where a tensor is from
                                     * there, its view says */

    /* Runs a kernel behind what was launched before, of the same call's device; whatever comes next
     * waits for it. */
    int (*launch)(const struct vrt_kernel_call *call, const struct vrt_kernel_launch *launch);

    /* For heads that aren't wide, of `args`. */
    struct vrt_kernel_attention (*attention)(const struct vrt_kernel_call *call,
                                             const struct vrt_kernel_attend *args);
};

/* An op being run. */
struct vrt_kernel_call {
    const struct vrt_kernel_target *target;
    void *ctx;                      /* the target's own */
    const struct vrt_op *op;        /* checked, and supported */
    const struct vrt_kernel_param *params;      /* the replica's, by index */
    struct vrt_kernel_place arena;  /* of slot 0 */
    const struct vrt_kernel_place *bindings;    /* of slot 1 + k, for each k */
};

/* Runs the kernels of one op. Return: 0, or what the target's functions returned. */
int vrt_kernel_run(const struct vrt_kernel_call *call);

/* See struct vrt_backend_ops: whether there are kernels for the op, and its tensors are small
 * enough for them; bytes that they use at its workspace. They are the same for all devices. */
bool vrt_kernel_supports(const struct vrt_device *device, const struct vrt_op *op);
size_t vrt_kernel_workspace_bytes(const struct vrt_device *device, const struct vrt_op *op);
