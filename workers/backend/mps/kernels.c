/* SPDX-License-Identifier: MIT */

#include "backend/mps/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/mps/archive.h"
#include "backend/mps/device.h"
#include "backend/mps/text.h"
#include "base/clock.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "mps"

/* What stands before each kernel's text. */
#define PRELUDE \
    "#include <metal_stdlib>\n#include <metal_simdgroup_matrix>\nusing namespace metal;\n"

static const char *const names[] = {
#define NAME(name) #name,
    VRT_KERNELS(NAME)
};

static const char *const suffixes[VRT_MPS_FACTORS] = { "_f32", "_f16", "_bf16" };

/* Whether there is one for each type of factors, and, of products, for GPUs with and without
 * matrices. */
static bool is_product(enum vrt_kernel kernel)
{
    return kernel == VRT_KERNEL_conv2d || kernel == VRT_KERNEL_deform_conv2d ||
           kernel == VRT_KERNEL_linear;
}

static bool is_typed(enum vrt_kernel kernel)
{
    return is_product(kernel) || kernel == VRT_KERNEL_window_attend_64;
}

/* The function's name, which is its text's. */
static void name_kernel(const struct vrt_mps_kernels *kernels,
                        const struct vrt_kernel_launch *launch, char *ret_name, size_t size)
{
    snprintf(ret_name, size, "%s%s%s", names[launch->kernel],
             is_typed(launch->kernel) ? suffixes[launch->factors] : "",
             is_product(launch->kernel) && kernels->has_matrices ? "_matrix" : "");
}

static const struct vrt_mps_text *find_text(const char *name)
{
    for (size_t i = 0; i < vrt_n_mps_texts; i++)
        if (strcmp(vrt_mps_texts[i].name, name) == 0)
            return &vrt_mps_texts[i];
    return NULL;
}

/* Whether it needs what Metal's language has since macOS 14. */
static bool is_recent(const char *name)
{
    return strstr(name, "_bf16") != NULL;
}

/* Has a text compiled to a library, owned. Return: NULL: it can't be, and the error says why. */
static vrt_metal_id compile(vrt_metal_id device, const char *text, bool is_recent,
                            vrt_metal_id *ret_error)
{
    vrt_metal_id options = vrt_metal_new("MTLCompileOptions");

    /* Or infinities, which stand for what is masked, would count as anything. */
    VRT_METAL(set_fast_math, options, false);
    VRT_METAL(set_language, options, is_recent ? VRT_METAL_LANGUAGE_3_1 : VRT_METAL_LANGUAGE_3_0);
    vrt_metal_id library = VRT_METAL(new_library, device, vrt_metal_string(text), options,
                                     ret_error);
    vrt_metal_drop(&options);
    return library;
}

/* A descriptor, owned, of a text's function `name`. Return: NULL, with *ret_error. */
static vrt_metal_id describe(vrt_metal_id device, const char *text, const char *name,
                             vrt_metal_id *ret_error)
{
    vrt_metal_id library = compile(device, text, is_recent(name), ret_error);
    vrt_metal_id function = VRT_METAL(new_function, library, vrt_metal_string(name));
    vrt_metal_id descriptor = NULL;

    if (function) {
        descriptor = vrt_metal_new("MTLComputePipelineDescriptor");
        VRT_METAL(set_function, descriptor, function);
    }
    vrt_metal_drop(&function);
    vrt_metal_drop(&library);
    return descriptor;
}

/* A pipeline, owned, of what an earlier run kept or of what is compiled now. */
static vrt_metal_id make(struct vrt_mps_device *mps, const struct vrt_mps_text *text,
                         vrt_metal_id descriptor, vrt_metal_id *ret_error)
{
    struct vrt_mps_kernels *kernels = &mps->kernels;
    struct vrt_cache_key key;

    snprintf(key.name, sizeof(key.name), "%s", text->name);
    snprintf(key.text, sizeof(key.text), "%s; %zu bytes of text, %016llx", kernels->made_for,
             text->size_bytes,
             (unsigned long long)vrt_cache_hash(text->data, text->size_bytes));
    vrt_metal_id pipeline = vrt_mps_archive_load(&kernels->cache, &key, mps->device, descriptor);
    if (pipeline) {
        vrt_log_debug("kernel %s is an earlier run's", text->name);
        return pipeline;
    }
    const int64_t began_ns = vrt_clock_now_ns();
    pipeline = VRT_METAL(new_pipeline, mps->device, descriptor, 0UL, NULL, ret_error);
    if (!pipeline)
        return NULL;
    vrt_log_debug("kernel %s was compiled in %lld ms", text->name,
                  (long long)((vrt_clock_now_ns() - began_ns) / VRT_NS_PER_MS));
    vrt_device_alive(&mps->base);
    vrt_mps_archive_store(&kernels->cache, &key, mps->device, descriptor);
    return pipeline;
}

static vrt_metal_id build(struct vrt_mps_device *mps, const char *name, vrt_metal_id *ret_error)
{
    const struct vrt_mps_text *text = find_text(name);
    VRT_CLEANUP(vrt_freep) char *whole = NULL;

    if (!text)
        return NULL;
    whole = malloc(sizeof(PRELUDE) + text->size_bytes);
    if (!whole)
        return NULL;
    memcpy(whole, PRELUDE, sizeof(PRELUDE) - 1);
    memcpy(whole + sizeof(PRELUDE) - 1, text->data, text->size_bytes);
    whole[sizeof(PRELUDE) - 1 + text->size_bytes] = 0;
    vrt_metal_id descriptor = describe(mps->device, whole, name, ret_error);
    vrt_metal_id pipeline = descriptor ? make(mps, text, descriptor, ret_error) : NULL;
    vrt_metal_drop(&descriptor);
    return pipeline;
}

/* Return: 0, or an outcome. */
static int find(struct vrt_mps_device *mps, const struct vrt_kernel_launch *launch,
                vrt_metal_id *ret_pipeline)
{
    const int factors = is_typed(launch->kernel) ? (int)launch->factors : 0;
    vrt_metal_id *kept = &mps->kernels.pipelines[launch->kernel][factors], error = NULL;
    const uint64_t n_items = (uint64_t)launch->local[0] * launch->local[1] * launch->local[2];
    char name[64], why[320];

    *ret_pipeline = *kept;
    if (*kept)
        return 0;
    name_kernel(&mps->kernels, launch, name, sizeof(name));
    *kept = build(mps, name, &error);
    if (!*kept) {
        vrt_log_warning("%s: kernel %s can't be had: %s", mps->base.info->name, name,
                        vrt_metal_why(error, why, sizeof(why)));
        return VRT_BACKEND_E_FAILED;
    }
    if (VRT_METAL(max_threads, *kept) < n_items) {
        vrt_log_warning("%s: kernel %s can't be run: the GPU has registers for %lu of its threads, "
                        "%llu are needed", mps->base.info->name, name,
                        VRT_METAL(max_threads, *kept), (unsigned long long)n_items);
        vrt_metal_drop(kept);
        return VRT_BACKEND_E_FAILED;
    }
    *ret_pipeline = *kept;
    return 0;
}

static int launch(const struct vrt_kernel_call *call, const struct vrt_kernel_launch *launch)
{
    struct vrt_mps_encoding *encoding = call->ctx;
    vrt_metal_id pipeline;
    int r = find(encoding->device, launch, &pipeline);

    return r != 0 ? r : vrt_mps_encode(encoding, pipeline, launch);
}

static struct vrt_kernel_attention choose_attention(const struct vrt_kernel_call *call,
                                                    const struct vrt_kernel_attend *args)
{
    static const struct vrt_kernel_attention
        plain = { VRT_KERNEL_window_attend, VRT_KERNEL_ATTEND_QUERIES, VRT_KERNEL_ATTEND_QUERIES },
        by_matrices = { VRT_KERNEL_window_attend_64, 64, VRT_MPS_PRODUCT_ITEMS };
    const struct vrt_mps_encoding *encoding = call->ctx;

    (void)args;
    return encoding->device->kernels.has_matrices ? by_matrices : plain;
}

const struct vrt_kernel_target vrt_mps_target = {
    .product_items = VRT_MPS_PRODUCT_ITEMS,
    .align_bytes = VRT_KERNEL_ALIGN,
    .launch = launch,
    .attention = choose_attention,
};

bool vrt_mps_has_bf16(vrt_metal_id device)
{
    static const char probe[] = PRELUDE
        "kernel void probe_bf16(device bfloat *data [[buffer(0)]])\n"
        "{\n"
        "    simdgroup_matrix<bfloat, 8, 8> x;\n"
        "    simdgroup_load(x, data);\n"
        "    simdgroup_store(x, data);\n"
        "}\n";
    vrt_metal_id error = NULL, pipeline = NULL;
    vrt_metal_id descriptor = describe(device, probe, "probe_bf16", &error);

    if (descriptor)
        pipeline = VRT_METAL(new_pipeline, device, descriptor, 0UL, NULL, &error);
    const bool has_it = pipeline != NULL;
    char why[160];
    if (!has_it)
        vrt_log_debug("no factors of bf16: %s", vrt_metal_why(error, why, sizeof(why)));
    vrt_metal_drop(&pipeline);
    vrt_metal_drop(&descriptor);
    return has_it;
}

int vrt_mps_kernels_init(struct vrt_mps_device *mps)
{
    struct vrt_mps_kernels *kernels = &mps->kernels;

    kernels->cache.folder = mps->base.info->kernels_dir;
    kernels->has_matrices = VRT_METAL(supports_family, mps->device, VRT_METAL_APPLE7);
    snprintf(kernels->made_for, sizeof(kernels->made_for), "%s", mps->base.info->class_id);
    return vrt_mps_memory_new(mps, VRT_KERNEL_ALIGN, VRT_METAL_SHARED, &kernels->nothing);
}

void vrt_mps_kernels_done(struct vrt_mps_kernels *kernels)
{
    for (int i = 0; i < VRT_KERNEL_COUNT * VRT_MPS_FACTORS; i++)
        vrt_metal_drop(&kernels->pipelines[i / VRT_MPS_FACTORS][i % VRT_MPS_FACTORS]);
    vrt_metal_drop(&kernels->nothing);
}
