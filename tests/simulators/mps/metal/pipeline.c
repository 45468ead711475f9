/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/metal/pipeline.h"

#include "tests/simulators/mps/metal/archive.h"
#include "tests/simulators/mps/metal/limits.h"
#include "tests/simulators/mps/runtime/faults.h"
#include "tests/simulators/mps/runtime/settings.h"

#define ERROR_UNSUPPORTED 3
#define OPTION_FAIL_ON_ARCHIVE_MISS 4u

/* Why a device can't run the kernel, or NULL. */
static const char *find_obstacle(const struct mtl_device *device,
                                 const struct vrt_msl_kernel *kernel)
{
    if (mtl_faults_count(device->index, MTL_AT_PIPELINE).fails)
        return "as VRT_MPS_FAULTS asked for";
    if (kernel->has_matrices && !mtl_settings_has_matrices())
        return "simdgroup_matrix is not supported by this GPU";
    if (*kernel->static_bytes > MTL_MAX_GROUP_BYTES)
        return "threadgroup memory exceeds 32768 bytes";
    return NULL;
}

struct mtl_pipeline *mtl_pipeline_new(struct mtl_device *device, struct mtl_function *function,
                                      mtl_object *ret_error)
{
    const struct vrt_msl_kernel *kernel = function->kernel;

    mtl_device_expect(device, function->library->device, "function");
    const char *obstacle = find_obstacle(device, kernel);
    if (obstacle) {
        mtl_error_give(ret_error, ERROR_UNSUPPORTED,
                       "Compute function %s could not be compiled: %s", kernel->name, obstacle);
        return NULL;
    }
    struct mtl_pipeline *pipeline = mtl_new(&mtl_pipeline_class);
    pipeline->device = device;
    pipeline->function = mtl_retain(function);
    pipeline->max_threads = kernel->max_threads ? VRT_MIN(MTL_MAX_THREADS, kernel->max_threads)
                                                : MTL_MAX_THREADS;
    return pipeline;
}

static bool is_archived(const struct mtl_pipeline_descriptor *descriptor)
{
    for (size_t i = 0; descriptor->archives && i < descriptor->archives->n; i++) {
        if (mtl_archive_has((const struct mtl_archive *)descriptor->archives->objects[i],
                            descriptor->function))
            return true;
    }
    return false;
}

struct mtl_pipeline *mtl_pipeline_new_by(struct mtl_device *device,
                                         struct mtl_pipeline_descriptor *descriptor,
                                         uint64_t options, mtl_object *ret_error)
{
    if (!descriptor->function)
        mtl_die("the descriptor has no function");
    if (options & ~(uint64_t)OPTION_FAIL_ON_ARCHIVE_MISS)
        mtl_die("options %#llx ask for what isn't simulated", (unsigned long long)options);
    if ((options & OPTION_FAIL_ON_ARCHIVE_MISS) && !is_archived(descriptor)) {
        mtl_error_give(ret_error, ERROR_UNSUPPORTED,
                       "Compute function %s is in none of the binary archives",
                       descriptor->function->kernel->name);
        return NULL;
    }
    return mtl_pipeline_new(device, descriptor->function, ret_error);
}

static mtl_u64 max_threads(MTL_SELF(mtl_pipeline))
{
    return self->max_threads;
}

static void destroy(struct mtl_base *object)
{
    mtl_release(((struct mtl_pipeline *)object)->function);
}

static void set_function(MTL_SELF(mtl_pipeline_descriptor), mtl_object function)
{
    struct mtl_function *found = mtl_find(function, &mtl_function_class, "function");

    mtl_release(self->function);
    self->function = mtl_retain(found);
}

static void set_archives(MTL_SELF(mtl_pipeline_descriptor), mtl_object archives)
{
    struct mtl_array *array = mtl_find_or_nil(archives, &mtl_array_class, "array of archives");

    for (size_t i = 0; array && i < array->n; i++) {
        if (array->objects[i]->class != &mtl_archive_class)
            mtl_die("object %zu is no archive", i);
    }
    mtl_release(self->archives);
    self->archives = mtl_retain(array);
}

static void destroy_descriptor(struct mtl_base *object)
{
    struct mtl_pipeline_descriptor *descriptor = (struct mtl_pipeline_descriptor *)object;

    mtl_release(descriptor->function);
    mtl_release(descriptor->archives);
}

const struct mtl_class mtl_pipeline_class = {
    .name = "MTLComputePipelineState",
    .n_bytes = sizeof(struct mtl_pipeline),
    .methods = (const struct mtl_method[]){
        MTL_METHOD("maxTotalThreadsPerThreadgroup", max_threads, mtl_pipeline, mtl_u64),
        { 0 },
    },
    .destroy = destroy,
};

const struct mtl_class mtl_pipeline_descriptor_class = {
    .name = "MTLComputePipelineDescriptor",
    .n_bytes = sizeof(struct mtl_pipeline_descriptor),
    .has_alloc = true,
    .methods = (const struct mtl_method[]){
        MTL_METHOD("setComputeFunction:", set_function, mtl_pipeline_descriptor, mtl_void,
                   mtl_object),
        MTL_METHOD("setBinaryArchives:", set_archives, mtl_pipeline_descriptor, mtl_void,
                   mtl_object),
        { 0 },
    },
    .destroy = destroy_descriptor,
};
