/* SPDX-License-Identifier: MIT */

#include "backend/cuda/libraries/libraries.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend-impl.h"
#include "backend/cuda/libraries/by-library.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "cuda"

/* What a workspace is aligned to, and so each part of it. */
#define ALIGN 256

struct vrt_cuda_libraries {
    struct vrt_cuda_library_rules rules;
    struct vrt_cuda_cublaslt *cublaslt;     /* NULL: it isn't there */
    struct vrt_cuda_cudnn *cudnn;           /* likewise */
    const struct vrt_device_info *info;     /* of the device */
    cudaStream_t stream;
    bool gave_up;
};

/* What is known of a library without use of a device. */
static const struct library {
    const char *name, *file, *job;
    int (*version)(const char *library, int *ret_version, struct vrt_error *error);
    struct vrt_finding found;
    bool compiles;                  /* what is worth keeping */
} all[] = {
    { "cuBLASLt", VRT_CUDA_CUBLASLT, "multiply for linear layers", vrt_cuda_cublaslt_version,
      { .backend = "cuda", .what = "cublaslt", .kind = VRT_FINDING_THERE }, false },
    { "cuDNN", VRT_CUDA_CUDNN, "convolve", vrt_cuda_cudnn_version,
      { .backend = "cuda", .what = "cudnn", .kind = VRT_FINDING_THERE }, true },
};

/* Appends what there is of one. Return: whether it is there. */
static bool describe(const struct library *library, struct vrt_findings *findings, char *text,
                     size_t size)
{
    struct vrt_finding missing = library->found;
    struct vrt_error error = { .id = NULL };
    const size_t n = strlen(text);
    int version;

    if (library->version(library->file, &version, &error) < 0) {
        missing.kind = VRT_FINDING_ABSENT;
        snprintf(missing.cure, sizeof(missing.cure),
                 "nothing needs to be done; to have larger layers computed by it, install it");
        vrt_finding_add(findings, &missing, "vrtd's own kernels %s: %s", library->job,
                        error.message);
        return false;
    }
    snprintf(text + n, size - n, ", %s %d.%d.%d", library->name, version / 10000,
             version / 100 % 100, version % 100);
    vrt_finding_add(findings, &library->found, "%s", text + n + 2);
    return true;
}

bool vrt_cuda_libraries_describe(const struct vrt_cuda_library_rules *rules,
                                 struct vrt_findings *findings, char *text, size_t size)
{
    bool compiles = false;

    text[0] = '\0';
    for (size_t i = 0; i < VRT_ARRAY_SIZE(all) && vrt_cuda_library_is_wanted(rules); i++)
        if (describe(&all[i], findings, text, size))
            compiles = compiles || all[i].compiles;
    return compiles;
}

/* One that is there and doesn't start: this device differs from others of its class. */
static void explain(const char *name, int r, const struct vrt_error *error)
{
    if (r == -EIO || r == -ENOMEM)
        vrt_log_warning("%s: vrtd's own kernels compute what a library should, so that results "
                        "may differ in the last bits from those of other cards: %s", name,
                        error->message);
}

static void start_cublaslt(struct vrt_cuda_libraries *libraries)
{
    struct vrt_error error = { .id = NULL };
    int r = vrt_cuda_cublaslt_open(VRT_CUDA_CUBLASLT, &libraries->cublaslt, &error);

    explain(libraries->info->name, r, &error);
}

/* Handles are made by one thread at a time: cuDNN loads its parts with the first. */
static void start_cudnn(struct vrt_cuda_libraries *libraries)
{
    static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
    struct vrt_error error = { .id = NULL };
    int r;

    pthread_mutex_lock(&starting);
    r = vrt_cuda_cudnn_open(VRT_CUDA_CUDNN, libraries->info, libraries->stream, &libraries->cudnn,
                            &error);
    pthread_mutex_unlock(&starting);
    explain(libraries->info->name, r, &error);
}

struct vrt_cuda_libraries *vrt_cuda_libraries_open(const struct vrt_cuda_library_rules *rules,
                                                   const struct vrt_device_info *info,
                                                   cudaStream_t stream)
{
    VRT_CLEANUP(vrt_cuda_libraries_closep) struct vrt_cuda_libraries *libraries = NULL;

    if (!vrt_cuda_library_is_wanted(rules))
        return NULL;
    libraries = calloc(1, sizeof(*libraries));
    if (!libraries)
        return NULL;
    libraries->rules = *rules;
    libraries->info = info;
    libraries->stream = stream;
    start_cublaslt(libraries);
    start_cudnn(libraries);
    return libraries->cublaslt || libraries->cudnn ? VRT_STEAL(libraries) : NULL;
}

void vrt_cuda_libraries_renew(struct vrt_cuda_libraries *libraries)
{
    if (libraries && vrt_cuda_cublaslt_is_crowded(libraries->cublaslt)) {
        libraries->cublaslt = vrt_cuda_cublaslt_close(libraries->cublaslt);
        start_cublaslt(libraries);
    }
    if (libraries && vrt_cuda_cudnn_is_crowded(libraries->cudnn)) {
        libraries->cudnn = vrt_cuda_cudnn_close(libraries->cudnn);
        start_cudnn(libraries);
    }
}

struct vrt_cuda_libraries *vrt_cuda_libraries_close(struct vrt_cuda_libraries *libraries)
{
    if (!libraries)
        return NULL;
    vrt_cuda_cublaslt_close(libraries->cublaslt);
    vrt_cuda_cudnn_close(libraries->cudnn);
    free(libraries);
    return NULL;
}

/* Whether it is there. */
static bool has(const struct vrt_cuda_libraries *libraries, enum vrt_cuda_library library)
{
    switch (library) {
    case VRT_CUDA_LIBRARY_CUBLASLT: return libraries->cublaslt;
    case VRT_CUDA_LIBRARY_CUDNN: return libraries->cudnn;
    default: return false;
    }
}

static size_t scratch_offset(size_t own_bytes)
{
    return (own_bytes + ALIGN - 1) / ALIGN * ALIGN;
}

size_t vrt_cuda_libraries_workspace_bytes(const struct vrt_cuda_libraries *libraries,
                                          const struct vrt_op *op, size_t own_bytes)
{
    if (!libraries || !has(libraries, vrt_cuda_library_may(&libraries->rules, op)))
        return 0;
    return scratch_offset(own_bytes) - own_bytes + VRT_CUDA_LIBRARY_SCRATCH_BYTES;
}

/* The layer's weights: ops that a library may do have some. */
static const struct vrt_cuda_param *weight_of(const struct vrt_cuda_call *call)
{
    return &call->params[call->op->kind == VRT_OP_LINEAR ? call->op->linear.weight :
                                                           call->op->conv2d.weight];
}

static enum vrt_cuda_library library_of(const struct vrt_cuda_libraries *libraries,
                                        const struct vrt_cuda_call *call)
{
    if (!has(libraries, vrt_cuda_library_may(&libraries->rules, call->op)))
        return VRT_CUDA_LIBRARY_NONE;
    return vrt_cuda_library_of(&libraries->rules, call->op, weight_of(call)->is_strict);
}

int vrt_cuda_libraries_can(struct vrt_cuda_libraries *libraries, const struct vrt_cuda_call *call,
                           bool *ret_can)
{
    const enum vrt_cuda_library library = libraries && !libraries->gave_up ?
        library_of(libraries, call) : VRT_CUDA_LIBRARY_NONE;

    *ret_can = false;
    switch (library) {
    case VRT_CUDA_LIBRARY_CUBLASLT:
        return vrt_cuda_cublaslt_can(libraries->cublaslt, call, ret_can);
    case VRT_CUDA_LIBRARY_CUDNN:
        return vrt_cuda_cudnn_can(libraries->cudnn, call, ret_can);
    default:
        return 0;
    }
}

int vrt_cuda_libraries_launch(struct vrt_cuda_libraries *libraries,
                              const struct vrt_cuda_call *call)
{
    const size_t rows_bytes = call->op->kind == VRT_OP_LINEAR ?
                              vrt_cuda_linear_workspace_bytes(call->limits, call->op) : 0;
    char *scratch = call->workspace + scratch_offset(rows_bytes);
    int r = call->op->kind == VRT_OP_LINEAR ?
            vrt_cuda_cublaslt_linear(libraries->cublaslt, call, scratch) :
            vrt_cuda_cudnn_conv2d(libraries->cudnn, call, scratch);

    return r < 0 ? (int)cudaErrorUnknown : r;
}

void vrt_cuda_libraries_give_up(struct vrt_cuda_libraries *libraries)
{
    libraries->gave_up = true;
    vrt_log_warning("%s: libraries of NVIDIA's compute nothing from now on: vrtd's own kernels do",
                    libraries->info->name);
}
