/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The kernels of a device: made when they are first wanted, kept until it is closed
 *
 * Thread: that of the device.
 */

#include <stdbool.h>
#include <stddef.h>

#include "backend/op/op.h"
#include "backend/cache.h"
#include "backend/xpu/kernels/args.h"
#include "backend/xpu/system/loader.h"

struct vrt_xpu_device;

/* X(name): of the module and its function. A module called so with "_dpas" behind it is for devices
 * with matrix units. */
#define VRT_XPU_KERNELS(X)    \
    X(add)                    \
    X(affine)                 \
    X(avgpool2)               \
    X(blend)                  \
    X(checksum)               \
    X(conv2d)                 \
    X(conv2d_f16)             \
    X(conv2d_bf16)            \
    X(copy)                   \
    X(deform_conv2d)          \
    X(deform_conv2d_f16)      \
    X(deform_conv2d_bf16)     \
    X(depth_to_space)         \
    X(fill)                   \
    X(flow_offsets)           \
    X(layernorm)              \
    X(linear)                 \
    X(linear_f16)             \
    X(linear_bf16)            \
    X(mean)                   \
    X(mean_total)             \
    X(pad)                    \
    X(range)                  \
    X(range_total)            \
    X(resize)                 \
    X(rgb_to_yuv)             \
    X(space_to_depth)         \
    X(warp)                   \
    X(window_attend)          \
    X(window_attend_64_f16)   \
    X(window_attend_128_f16)  \
    X(window_attend_64_bf16)  \
    X(window_attend_128_bf16) \
    X(window_attend_wide)     \
    X(yuv_to_rgb)

enum vrt_xpu_kernel {
#define VRT_XPU_ENUMERATOR(name) VRT_XPU_KERNEL_##name,
    VRT_XPU_KERNELS(VRT_XPU_ENUMERATOR)
#undef VRT_XPU_ENUMERATOR
    VRT_XPU_KERNEL_COUNT,
};

struct vrt_xpu_made {
    ze_module_handle_t module;
    ze_kernel_handle_t kernel;      /* NULL: not wanted yet */
};

struct vrt_xpu_kernels {
    struct vrt_xpu_made made[VRT_XPU_KERNEL_COUNT];
    struct vrt_cache cache;
    char made_for[480];             /* what compiled kernels depend on besides what they are */
};

#define VRT_XPU_MAX_DATA 16

/* How a kernel is to be run. */
struct vrt_xpu_launch {
    enum vrt_xpu_kernel kernel;
    const void *args;               /* its struct of kernels/args.h */
    size_t args_bytes;
    const char *data[VRT_XPU_MAX_DATA];     /* on the device; NULL where there is none */
    int n_data;
    uint32_t groups[3], local[3];   /* how many groups, of how many items */
};

/* To which a matrix's rows are filled up, in elements. */
#define VRT_XPU_ROW_ALIGN 16

/* Parts that a checksum is added up of. */
#define VRT_XPU_CHECKSUM_ITEMS 4096

/*
 * A param on the device: f32 vectors and tables as they are; [O,I] and [O,I,K,K] as struct
 * vrt_xpu_weights has them, O rounded up to a multiple of VRT_XPU_ROW_ALIGN; what is added is
 * zeros.
 */
struct vrt_xpu_param {
    const char *data;               /* at a multiple of 256 bytes */
    enum vrt_dtype dtype;
    int row_elements;               /* outputs of weights, rounded up */
    int n_dims;
    int dims[4];                    /* as of the checkpoint */
};

/* An op being recorded. */
struct vrt_xpu_call {
    struct vrt_xpu_device *device;
    ze_command_list_handle_t list;
    const struct vrt_op *op;        /* checked, and supported */
    const struct vrt_xpu_param *params;     /* the replica's, by index */
    char *arena;                    /* the device's address of slot 0 */
    char *const *bindings;          /* that of slot 1 + k, for each k */
    char *workspace;
};

/*
 * Appends a kernel, behind which whatever comes next waits, to the call's list; compiles it if need
 * be. Return: ze_result_t.
 */
ze_result_t vrt_xpu_launch(const struct vrt_xpu_call *call, const struct vrt_xpu_launch *launch);

/* Before any is wanted: `properties` are the device's. */
void vrt_xpu_kernels_init(struct vrt_xpu_device *xpu, const ze_device_properties_t *properties);

/* NULL handles are fine. */
void vrt_xpu_kernels_done(struct vrt_xpu_kernels *kernels, const struct vrt_xpu_loader *ze);

/* How kernels see `t`; NULL: nothing. */
struct vrt_xpu_view vrt_xpu_view_of(const struct vrt_tensor *t);

/* Where element (0,0,0,0) of `t` is; NULL: NULL. */
char *vrt_xpu_data_of(const struct vrt_xpu_call *call, const struct vrt_tensor *t);

/* Appends the commands of one op. Return: ze_result_t. */
ze_result_t vrt_xpu_record(const struct vrt_xpu_call *call);
