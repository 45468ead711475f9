/* SPDX-License-Identifier: MIT */

#include "backend/xpu/kernels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/xpu/device.h"
#include "backend/xpu/spirv.h"
#include "base/clock.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "xpu"

static const char *const names[] = {
#define NAME(name) #name,
    VRT_KERNELS(NAME)
};

/* Pointers are of 64 bits, and what they point into may be larger than 4 GiB. */
#define FLAGS "-ze-opt-greater-than-4GB-buffer-required"

/* Twice the registers, half the threads: for what would spill. */
#define FLAGS_LARGE FLAGS " -ze-opt-large-register-file"

/* Whether there is one for each type of factors. */
static bool is_typed(enum vrt_kernel kernel)
{
    switch (kernel) {
    case VRT_KERNEL_conv2d:
    case VRT_KERNEL_deform_conv2d:
    case VRT_KERNEL_linear:
    case VRT_KERNEL_window_attend_64:
    case VRT_KERNEL_window_attend_128:
        return true;
    default:
        return false;
    }
}

static const char *flags_of(enum vrt_kernel kernel)
{
    return is_typed(kernel) || kernel == VRT_KERNEL_window_attend ||
           kernel == VRT_KERNEL_window_attend_wide ? FLAGS_LARGE : FLAGS;
}

/*
 * Not the driver's UUID: Intel's makes it of the time when it was started. Nor the card's: cards
 * of one model share what is compiled. A driver checks itself that a binary is for its stepping.
 */
void vrt_xpu_kernels_init(struct vrt_xpu_device *xpu, const ze_device_properties_t *properties)
{
    const struct vrt_xpu_unit *unit = xpu->unit;

    xpu->kernels.cache.folder = xpu->base.info->kernels_dir;
    snprintf(xpu->kernels.made_for, sizeof(xpu->kernels.made_for),
             "driver %08x; device %04x:%04x, flags %x, %s, %ux%ux%u units of %u threads of %u "
             "lanes, %s of %d", (unsigned)unit->driver->version, (unsigned)properties->vendorId,
             (unsigned)properties->deviceId, (unsigned)properties->flags, properties->name,
             (unsigned)properties->numSlices, (unsigned)properties->numSubslicesPerSlice,
             (unsigned)properties->numEUsPerSubslice, (unsigned)properties->numThreadsPerEU,
             (unsigned)properties->physicalEUSimdWidth, unit->root < 0 ? "whole" : "tile",
             unit->root < 0 ? unit->n_tiles : xpu->system->units[unit->root].n_tiles);
}

/* Has the driver make a module, and the kernel `name` of it. Return: ze_result_t; nothing is left
 * of what fails. */
static ze_result_t make(struct vrt_xpu_device *xpu, const ze_module_desc_t *module,
                        const char *name, struct vrt_xpu_made *ret_made)
{
    const ze_kernel_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
        .pKernelName = name,
    };
    struct vrt_xpu_made made = { NULL, NULL };
    /* Without the compiler's log: where it fails, loaders hand out one that can't be used. */
    ze_result_t r = xpu->ze->zeModuleCreate(xpu->context, xpu->device, module, &made.module, NULL);

    if (r != 0)
        return r;
    r = xpu->ze->zeKernelCreate(made.module, &desc, &made.kernel);
    if (r != 0)
        xpu->ze->zeModuleDestroy(made.module);
    else
        *ret_made = made;
    return r;
}

/* Has it made of the binary that an earlier run kept; what the driver refuses is kept no more. */
static bool make_of_kept(struct vrt_xpu_device *xpu, const struct vrt_cache_key *key,
                         const char *build_flags, struct vrt_xpu_made *ret_made)
{
    struct vrt_cache_item binary;
    const int found = vrt_cache_load(&xpu->kernels.cache, key, &binary);

    if (found) {
        if (found != -ENOENT)
            vrt_log_debug("kept kernel %s can't be used: %s, ignoring", key->name,
                          strerror(-found));
        return false;
    }
    const ze_module_desc_t module = {
        .stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
        .format = ZE_MODULE_FORMAT_NATIVE,
        .inputSize = binary.size_bytes,
        .pInputModule = binary.data,
        .pBuildFlags = build_flags,
    };
    const ze_result_t r = make(xpu, &module, key->name, ret_made);
    free(binary.file);
    if (r != 0)
        vrt_log_debug("kept kernel %s is refused: %s (0x%x), ignoring", key->name,
                      vrt_xpu_result_text(r), (unsigned)r);
    /* These aren't for what it is. */
    if (r != 0 && r != ZE_RESULT_ERROR_DEVICE_LOST && r != ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY &&
        r != ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY)
        vrt_cache_drop(&xpu->kernels.cache, key);
    return r == 0;
}

/* Keeps what the driver compiled, where it gives it. */
static void keep(struct vrt_xpu_device *xpu, const struct vrt_cache_key *key,
                 ze_module_handle_t module)
{
    size_t n_bytes = 0, n_got;

    if (!xpu->kernels.cache.folder[0] || !xpu->ze->zeModuleGetNativeBinary ||
        xpu->ze->zeModuleGetNativeBinary(module, &n_bytes, NULL) || n_bytes == 0 ||
        n_bytes > VRT_CACHE_ITEM_BYTES)
        return;
    VRT_CLEANUP(vrt_freep) uint8_t *binary = malloc(n_bytes);
    n_got = n_bytes;
    if (binary && !xpu->ze->zeModuleGetNativeBinary(module, &n_got, binary) && n_got == n_bytes)
        vrt_cache_store(&xpu->kernels.cache, key, binary, n_bytes);
}

/* Makes the module `name`, and finds the function called so in it. */
static ze_result_t build_named(struct vrt_xpu_device *xpu, const char *build_flags,
                               const char *name, struct vrt_xpu_made *made)
{
    const struct vrt_xpu_spirv *spirv = vrt_xpu_spirv_find(name);
    struct vrt_cache_key key;

    if (!spirv)
        return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
    snprintf(key.name, sizeof(key.name), "%s", name);
    snprintf(key.text, sizeof(key.text), "%s; %zu bytes of SPIR-V, %016llx; %s",
             xpu->kernels.made_for, spirv->size_bytes,
             (unsigned long long)vrt_cache_hash(spirv->data, spirv->size_bytes),
             build_flags);
    if (make_of_kept(xpu, &key, build_flags, made))
        return ZE_RESULT_SUCCESS;
    const ze_module_desc_t module = {
        .stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
        .format = ZE_MODULE_FORMAT_IL_SPIRV,
        .inputSize = spirv->size_bytes,
        .pInputModule = spirv->data,
        .pBuildFlags = build_flags,
    };
    const int64_t began_ns = vrt_clock_now_ns();
    ze_result_t r = make(xpu, &module, name, made);
    if (r != 0)
        return r;
    vrt_device_alive(&xpu->base);
    vrt_log_debug("kernel %s was compiled in %lld ms", name,
                  (long long)((vrt_clock_now_ns() - began_ns) / VRT_NS_PER_MS));
    keep(xpu, &key, made->module);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t build(struct vrt_xpu_device *xpu, const struct vrt_kernel_launch *launch,
                         struct vrt_xpu_made *made)
{
    static const char *const suffixes[VRT_XPU_FACTORS] = { "", "_f16", "_bf16" };
    const char *suffix = is_typed(launch->kernel) ? suffixes[launch->factors] : "";
    const char *build_flags = flags_of(launch->kernel);
    char plain[64], name[80];

    snprintf(plain, sizeof(plain), "%s%s", names[launch->kernel], suffix);
    snprintf(name, sizeof(name), "%s_dpas", plain);
    if (xpu->has_dpas && vrt_xpu_spirv_find(name)) {
        const ze_result_t r = build_named(xpu, build_flags, name, made);
        /* What its compiler doesn't know can be done without. */
        if (r != ZE_RESULT_ERROR_MODULE_BUILD_FAILURE && r != ZE_RESULT_ERROR_MODULE_LINK_FAILURE)
            return r;
        vrt_log_info("%s: its driver can't compile %s (0x%x): plain code does that, slower than "
                     "matrix units would", xpu->base.info->name, name, (unsigned)r);
    }
    return build_named(xpu, build_flags, plain, made);
}

/* The kernel of a launch, its arguments yet to be set. */
static ze_result_t find(struct vrt_xpu_device *xpu, const struct vrt_kernel_launch *launch,
                        ze_kernel_handle_t *ret_kernel)
{
    const int factors = is_typed(launch->kernel) ? (int)launch->factors : 0;
    struct vrt_xpu_made *made = &xpu->kernels.made[launch->kernel][factors];
    const ze_result_t r = made->kernel ? ZE_RESULT_SUCCESS : build(xpu, launch, made);

    if (r != 0)
        vrt_log_warning("kernel %s can't be had: %s (0x%x)", names[launch->kernel],
                        vrt_xpu_result_text(r), (unsigned)r);
    *ret_kernel = made->kernel;
    return r;
}

static int append(const struct vrt_kernel_call *call, const struct vrt_kernel_launch *launch)
{
    const struct vrt_xpu_recording *recording = call->ctx;
    const struct vrt_xpu_loader *ze = recording->device->ze;
    const ze_group_count_t groups = { launch->groups[0], launch->groups[1], launch->groups[2] };
    ze_kernel_handle_t kernel;
    ze_result_t r = find(recording->device, launch, &kernel);

    if (r == 0)
        r = ze->zeKernelSetGroupSize(kernel, launch->local[0], launch->local[1], launch->local[2]);
    if (r == 0)
        r = ze->zeKernelSetArgumentValue(kernel, 0, launch->args_bytes, launch->args);
    for (int i = 0; r == 0 && i < launch->n_data; i++) {
        const struct vrt_kernel_place *place = &launch->data[i];
        char *const address = place->memory ? (char *)place->memory + place->offset_bytes : NULL;
        r = ze->zeKernelSetArgumentValue(kernel, (uint32_t)i + 1, sizeof(address),
                                         address ? &address : NULL);
    }
    if (r == 0)
        r = ze->zeCommandListAppendLaunchKernel(recording->list, kernel, &groups, NULL, 0, NULL);
    if (r == 0)
        r = ze->zeCommandListAppendBarrier(recording->list, NULL, 0, NULL);
    return (int)r;
}

/* Matrix units take two channels at a time. More queries share what is copied for them, where there
 * are as many. */
static struct vrt_kernel_attention choose_attention(const struct vrt_kernel_call *call,
                                                    const struct vrt_kernel_attend *args)
{
    static const struct vrt_kernel_attention
        plain = { VRT_KERNEL_window_attend, VRT_KERNEL_ATTEND_QUERIES, VRT_KERNEL_ATTEND_QUERIES },
        by_64 = { VRT_KERNEL_window_attend_64, 64, 32 },
        by_128 = { VRT_KERNEL_window_attend_128, 128, 64 };
    const struct vrt_xpu_recording *recording = call->ctx;

    if (!recording->device->has_dpas || args->dim % 2 != 0 || args->dtype == VRT_DTYPE_F32)
        return plain;
    return (args->n + 63) / 64 % 2 == 0 ? by_128 : by_64;
}

const struct vrt_kernel_target vrt_xpu_target = {
    .product_items = VRT_XPU_PRODUCT_ITEMS,
    .align_bytes = 1,
    .launch = append,
    .attention = choose_attention,
};

void vrt_xpu_kernels_done(struct vrt_xpu_kernels *kernels, const struct vrt_xpu_loader *ze)
{
    for (int i = 0; i < VRT_KERNEL_COUNT * VRT_XPU_FACTORS; i++) {
        const struct vrt_xpu_made *made = &kernels->made[i / VRT_XPU_FACTORS][i % VRT_XPU_FACTORS];
        if (made->kernel)
            ze->zeKernelDestroy(made->kernel);
        if (made->module)
            ze->zeModuleDestroy(made->module);
    }
}
