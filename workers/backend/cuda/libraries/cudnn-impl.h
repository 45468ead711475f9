/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What of cuDNN's interface is called, for the files of that name
 *
 * All of a graph are descriptors, made of attributes that are set one by one, and finalized. The
 * few declarations that are needed are written down here, as of version 9.0: to build, nobody needs
 * the library's header. Numbers of one version are those of all of the same major one.
 */

#include <stdbool.h>
#include <stddef.h>

#include "backend/cache.h"
#include "backend/cuda/libraries/cudnn.h"

struct vrt_cudnn_handle;

/* Statuses. */
enum {
    VRT_CUDNN_HOST_ALLOCATION_FAILED = 4003,
    VRT_CUDNN_DEVICE_ALLOCATION_FAILED = 4004,
};

/* Whether a status says that there is no memory left. */
static inline bool vrt_cudnn_is_full(int status)
{
    return status == VRT_CUDNN_HOST_ALLOCATION_FAILED ||
           status == VRT_CUDNN_DEVICE_ALLOCATION_FAILED;
}

/* Descriptors, by kind. */
enum {
    VRT_CUDNN_POINTWISE = 0,
    VRT_CUDNN_CONVOLUTION = 1,
    VRT_CUDNN_ENGINE = 2,
    VRT_CUDNN_ENGINE_CONFIG = 3,
    VRT_CUDNN_HEURISTICS = 4,
    VRT_CUDNN_PLAN = 5,
    VRT_CUDNN_OPERATION_CONVOLUTION = 10,
    VRT_CUDNN_OPERATION_POINTWISE = 13,
    VRT_CUDNN_OPERATION_GRAPH = 15,
    VRT_CUDNN_VARIANT_PACK = 16,
    VRT_CUDNN_TENSOR = 17,
};

/* Types of attributes. */
enum {
    VRT_CUDNN_IS_HANDLE = 0,
    VRT_CUDNN_IS_DATA_TYPE = 1,
    VRT_CUDNN_IS_BOOLEAN = 2,
    VRT_CUDNN_IS_INT64 = 3,
    VRT_CUDNN_IS_FLOAT = 4,
    VRT_CUDNN_IS_POINTER = 6,
    VRT_CUDNN_IS_CONVOLUTION_MODE = 7,
    VRT_CUDNN_IS_HEURISTICS_MODE = 8,
    VRT_CUDNN_IS_NUMERICAL_NOTE = 11,
    VRT_CUDNN_IS_POINTWISE_MODE = 14,
    VRT_CUDNN_IS_DESCRIPTOR = 15,
    VRT_CUDNN_IS_CHAR = 24,
};

/* Attributes. */
enum {
    VRT_CUDNN_POINTWISE_MODE = 0,
    VRT_CUDNN_POINTWISE_PRECISION = 1,
    VRT_CUDNN_CONVOLUTION_PRECISION = 100,
    VRT_CUDNN_CONVOLUTION_MODE = 101,
    VRT_CUDNN_CONVOLUTION_DILATIONS = 102,
    VRT_CUDNN_CONVOLUTION_STRIDES = 103,
    VRT_CUDNN_CONVOLUTION_POST_PADDINGS = 104,
    VRT_CUDNN_CONVOLUTION_PRE_PADDINGS = 105,
    VRT_CUDNN_CONVOLUTION_DIMENSIONS = 106,
    VRT_CUDNN_HEURISTICS_MODE = 200,
    VRT_CUDNN_HEURISTICS_GRAPH = 201,
    VRT_CUDNN_HEURISTICS_RESULTS = 202,
    VRT_CUDNN_ENGINE_CONFIG_ENGINE = 300,
    VRT_CUDNN_PLAN_HANDLE = 400,
    VRT_CUDNN_PLAN_CONFIG = 401,
    VRT_CUDNN_PLAN_WORKSPACE_SIZE = 402,
    VRT_CUDNN_PLAN_TEXT = 405,      /* of JSON, with the compiled program in it */
    VRT_CUDNN_FORWARD_ALPHA = 700,
    VRT_CUDNN_FORWARD_BETA = 701,
    VRT_CUDNN_FORWARD_CONVOLUTION = 702,
    VRT_CUDNN_FORWARD_W = 703,
    VRT_CUDNN_FORWARD_X = 704,
    VRT_CUDNN_FORWARD_Y = 705,
    VRT_CUDNN_OPERATION_POINTWISE_HOW = 750,
    VRT_CUDNN_OPERATION_POINTWISE_X = 751,
    VRT_CUDNN_OPERATION_POINTWISE_B = 752,
    VRT_CUDNN_OPERATION_POINTWISE_Y = 753,
    VRT_CUDNN_OPERATION_POINTWISE_T = 758,
    VRT_CUDNN_GRAPH_HANDLE = 800,
    VRT_CUDNN_GRAPH_OPERATIONS = 801,
    VRT_CUDNN_TENSOR_ALIGNMENT = 900,
    VRT_CUDNN_TENSOR_TYPE = 901,
    VRT_CUDNN_TENSOR_DIMENSIONS = 902,
    VRT_CUDNN_TENSOR_STRIDES = 903,
    VRT_CUDNN_TENSOR_ID = 906,
    VRT_CUDNN_TENSOR_IS_VIRTUAL = 907,
    VRT_CUDNN_TENSOR_IS_BY_VALUE = 908,
    VRT_CUDNN_PACK_IDS = 1000,
    VRT_CUDNN_PACK_POINTERS = 1001,
    VRT_CUDNN_PACK_WORKSPACE = 1003,
    VRT_CUDNN_ENGINE_NUMERICAL_NOTES = 1303,
};

/* Of the library. All return 0, or what went wrong, but for those that tell something. */
struct vrt_cudnn_interface {
    size_t (*version)(void);
    const char *(*error_string)(int status);
    void (*last_error)(char *text, size_t size);
    int (*create)(struct vrt_cudnn_handle **ret_handle);
    int (*destroy)(struct vrt_cudnn_handle *handle);
    int (*set_stream)(struct vrt_cudnn_handle *handle, cudaStream_t stream);
    int (*descriptor_create)(int kind, void **ret_descriptor);
    int (*descriptor_destroy)(void *descriptor);
    int (*finalize)(void *descriptor);
    int (*set)(void *descriptor, int attribute, int type, int64_t n, const void *values);
    int (*get)(void *descriptor, int attribute, int type, int64_t n_wanted, int64_t *ret_n,
               void *values);
    int (*execute)(struct vrt_cudnn_handle *handle, void *plan, void *pack);
};

/* Tensors of a graph that are no other's intermediate result. */
enum {
    VRT_CUDNN_ID_X = 1,
    VRT_CUDNN_ID_WEIGHT,
    VRT_CUDNN_ID_BIAS,
    VRT_CUDNN_ID_SLOPE,             /* a number, or one a channel */
    VRT_CUDNN_ID_ZERO,
    VRT_CUDNN_ID_SCALE,
    VRT_CUDNN_ID_RESIDUAL,
    VRT_CUDNN_ID_OUT,
    VRT_CUDNN_ID_VIRTUAL,           /* the first of those that are */
};

#define VRT_CUDNN_DESCRIPTORS_MAX 64
#define VRT_CUDNN_OPERATIONS_MAX 8

/* How a convolution is computed. */
struct vrt_cuda_conv_way {
    struct vrt_cuda_conv conv;
    void *made[VRT_CUDNN_DESCRIPTORS_MAX];  /* all descriptors but the plan */
    size_t n_made;
    void *operations[VRT_CUDNN_OPERATIONS_MAX];     /* of them: those that it is made of */
    size_t n_operations;
    uint64_t asked;                 /* sum of all that cuDNN is told of them, and asked for */
    void *plan;                     /* NULL: it can't be */
};

/* An attribute, as it is set. */
struct vrt_cudnn_attribute {
    int name, type;
    int64_t n;
    const void *values;
};

/* Makes a descriptor and finalizes it. The caller destroys *ret_descriptor. Return: 0, or the
 * library's status. */
int vrt_cudnn_make(const struct vrt_cudnn_interface *lib, int kind,
                   const struct vrt_cudnn_attribute *attributes, size_t n_attributes,
                   void **ret_descriptor);

/* Whether a plan is content with our scratch. */
bool vrt_cudnn_plan_fits(const struct vrt_cudnn_interface *lib, void *plan);

/* Makes the operations of way->conv, which are the way's, as is what was made until a failure.
 * way->asked is the same where the same is asked for in the same way, in each run. Return: 0, or
 * the library's status. */
int vrt_cudnn_describe(const struct vrt_cudnn_interface *lib, struct vrt_cuda_conv_way *way);

/* Compiles the first plan for the way's operations that fits, if any does. What was made is the
 * way's. Return: 0, or the library's status. */
int vrt_cudnn_build(const struct vrt_cudnn_interface *lib, struct vrt_cudnn_handle *handle,
                    struct vrt_cuda_conv_way *way);

/*
 * Finds the plan of way->conv, of which nothing was made yet: one that was compiled for the like
 * before, by a process that kept it in the cache, or else as vrt_cudnn_build() does, and then it is
 * kept. `made_for` is all that a plan depends on beside what is asked for. Return: 0, or the
 * library's status.
 */
int vrt_cudnn_find_plan(const struct vrt_cudnn_interface *lib, struct vrt_cudnn_handle *handle,
                        struct vrt_cache *cache, const char *made_for,
                        struct vrt_cuda_conv_way *way);

/* Has nothing kept of the way any more, which was found so: what was kept didn't run. */
void vrt_cudnn_forget_plan(const struct vrt_cache *cache, const char *made_for,
                           const struct vrt_cuda_conv_way *way);
