/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/libraries/cudnn-impl.h"
#include "backend/cuda/libraries/entries.h"
#include "base/log.h"
#include "base/macro.h"

#define VRT_LOG_TOPIC "cuda"

/* What is convolved in more shapes than these is left to our own kernels: each is a program on the
 * card. */
#define WAYS_MAX 256

#define ENTRY(name, member) VRT_CUDA_ENTRY(struct vrt_cudnn_interface, name, member)

static const struct vrt_cuda_entry entries[] = {
    ENTRY("cudnnGetVersion", version),
    ENTRY("cudnnGetErrorString", error_string),
    ENTRY("cudnnGetLastErrorString", last_error),
    ENTRY("cudnnCreate", create),
    ENTRY("cudnnDestroy", destroy),
    ENTRY("cudnnSetStream", set_stream),
    ENTRY("cudnnBackendCreateDescriptor", descriptor_create),
    ENTRY("cudnnBackendDestroyDescriptor", descriptor_destroy),
    ENTRY("cudnnBackendFinalize", finalize),
    ENTRY("cudnnBackendSetAttribute", set),
    ENTRY("cudnnBackendGetAttribute", get),
    ENTRY("cudnnBackendExecute", execute),
};

struct vrt_cuda_cudnn {
    struct vrt_cudnn_interface lib;
    struct vrt_cudnn_handle *handle;
    struct vrt_cache cache;
    const char *made_for;           /* the device's class */
    struct vrt_cuda_conv_way *ways[WAYS_MAX];
    size_t n_ways;
    bool has_told;                  /* that there is something that it can't do */
};

int vrt_cuda_cudnn_version(const char *library, int *ret_version, struct vrt_error *error)
{
    struct vrt_cudnn_interface lib;
    int r = vrt_cuda_entries_load(library, entries, VRT_ARRAY_SIZE(entries), &lib, error);

    if (r < 0)
        return r;
    *ret_version = (int)lib.version();
    return 0;
}

int vrt_cuda_cudnn_open(const char *library, const struct vrt_device_info *info,
                        cudaStream_t stream, struct vrt_cuda_cudnn **ret_cudnn,
                        struct vrt_error *error)
{
    VRT_CLEANUP(vrt_cuda_cudnn_closep) struct vrt_cuda_cudnn *cudnn = calloc(1, sizeof(*cudnn));
    int r;

    if (!cudnn)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), library);
    r = vrt_cuda_entries_load(library, entries, VRT_ARRAY_SIZE(entries), &cudnn->lib, error);
    if (r < 0)
        return r;
    cudnn->cache.folder = info->kernels_dir;
    cudnn->made_for = info->class_id;
    /* Of the current device. */
    r = cudnn->lib.create(&cudnn->handle);
    if (r)
        cudnn->handle = NULL;
    else
        r = cudnn->lib.set_stream(cudnn->handle, stream);
    if (r)
        return vrt_refuse(error, -EIO, "device.failed", "%s doesn't start: %s", library,
                          cudnn->lib.error_string(r));
    *ret_cudnn = VRT_STEAL(cudnn);
    return 0;
}

static struct vrt_cuda_conv_way *way_free(const struct vrt_cudnn_interface *lib,
                                          struct vrt_cuda_conv_way *way)
{
    if (way->plan)
        lib->descriptor_destroy(way->plan);
    while (way->n_made > 0)
        lib->descriptor_destroy(way->made[--way->n_made]);
    free(way);
    return NULL;
}

struct vrt_cuda_cudnn *vrt_cuda_cudnn_close(struct vrt_cuda_cudnn *cudnn)
{
    if (!cudnn)
        return NULL;
    for (size_t i = 0; i < cudnn->n_ways; i++)
        way_free(&cudnn->lib, cudnn->ways[i]);
    if (cudnn->handle)
        cudnn->lib.destroy(cudnn->handle);
    free(cudnn);
    return NULL;
}

bool vrt_cuda_cudnn_is_crowded(const struct vrt_cuda_cudnn *cudnn)
{
    return cudnn && cudnn->n_ways > WAYS_MAX / 2;
}

/* Says so once: the first is enough to know where to look. */
static void tell(struct vrt_cuda_cudnn *cudnn, const struct vrt_cuda_conv *conv, int r)
{
    char text[256] = "no plan fits";

    if (cudnn->has_told)
        return;
    cudnn->has_told = true;
    if (r)
        cudnn->lib.last_error(text, sizeof(text));
    vrt_log_info("some convolutions stay with vrtd's own kernels, such as %lldx%lld from %lld to "
                 "%lld channels: cuDNN says: %s%s%s", (long long)conv->kernel,
                 (long long)conv->kernel, (long long)conv->n_in, (long long)conv->n_out,
                 r ? cudnn->lib.error_string(r) : "", r ? ": " : "", text);
}

int vrt_cuda_cudnn_find(struct vrt_cuda_cudnn *cudnn, const struct vrt_cuda_conv *conv,
                        const struct vrt_cuda_conv_way **ret_way)
{
    struct vrt_cuda_conv_way *way;
    int r;

    *ret_way = NULL;
    for (size_t i = 0; i < cudnn->n_ways; i++)
        if (memcmp(&cudnn->ways[i]->conv, conv, sizeof(*conv)) == 0) {
            *ret_way = cudnn->ways[i]->plan ? cudnn->ways[i] : NULL;
            return 0;
        }
    if (cudnn->n_ways == WAYS_MAX)
        return 0;
    way = calloc(1, sizeof(*way));
    if (!way)
        return (int)cudaErrorMemoryAllocation;
    way->conv = *conv;
    r = vrt_cudnn_find_plan(&cudnn->lib, cudnn->handle, &cudnn->cache, cudnn->made_for, way);
    if (vrt_cudnn_is_full(r)) {
        way_free(&cudnn->lib, way);
        return (int)cudaErrorMemoryAllocation;
    }
    cudnn->ways[cudnn->n_ways++] = way;
    if (way->plan)
        *ret_way = way;
    else
        tell(cudnn, conv, r);
    return 0;
}

int vrt_cuda_cudnn_run(struct vrt_cuda_cudnn *cudnn, const struct vrt_cuda_conv_way *way,
                       const struct vrt_cuda_conv_data *data)
{
    static const float zero = 0;
    const struct vrt_cuda_conv *conv = &way->conv;
    const struct {
        int64_t id;
        const void *data;
        bool is_there;
    } all[] = {
        { VRT_CUDNN_ID_X, data->x, true },
        { VRT_CUDNN_ID_WEIGHT, data->weight, true },
        { VRT_CUDNN_ID_OUT, data->out, true },
        { VRT_CUDNN_ID_BIAS, data->bias, conv->has_bias },
        { VRT_CUDNN_ID_SLOPE, &data->slope, conv->has_slope },
        { VRT_CUDNN_ID_SLOPE, data->slopes, conv->has_slopes },
        { VRT_CUDNN_ID_ZERO, &zero, conv->has_slope || conv->has_slopes },
        { VRT_CUDNN_ID_SCALE, &data->scale, conv->has_scale },
        { VRT_CUDNN_ID_RESIDUAL, data->residual, conv->has_residual },
    };
    int64_t ids[VRT_ARRAY_SIZE(all)], n = 0;
    const void *pointers[VRT_ARRAY_SIZE(all)];
    void *pack = NULL;
    int r;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(all); i++)
        if (all[i].is_there) {
            ids[n] = all[i].id;
            pointers[n++] = all[i].data;
        }
    const struct vrt_cudnn_attribute attributes[] = {
        { VRT_CUDNN_PACK_IDS, VRT_CUDNN_IS_INT64, n, ids },
        { VRT_CUDNN_PACK_POINTERS, VRT_CUDNN_IS_POINTER, n, pointers },
        { VRT_CUDNN_PACK_WORKSPACE, VRT_CUDNN_IS_POINTER, 1, &data->scratch },
    };
    r = vrt_cudnn_make(&cudnn->lib, VRT_CUDNN_VARIANT_PACK, attributes,
                       VRT_ARRAY_SIZE(attributes), &pack);
    if (!r)
        r = cudnn->lib.execute(cudnn->handle, way->plan, pack);
    if (pack)
        cudnn->lib.descriptor_destroy(pack);
    if (!r)
        return 0;
    vrt_log_warning("cuDNN failed: %s", cudnn->lib.error_string(r));
    if (vrt_cudnn_is_full(r))
        return (int)cudaErrorMemoryAllocation;
    /* Or the next start would fail by it, too. */
    vrt_cudnn_forget_plan(&cudnn->cache, cudnn->made_for, way);
    return -EIO;
}
