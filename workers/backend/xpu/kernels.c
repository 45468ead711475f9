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
    VRT_XPU_KERNELS(NAME)
};

/* Pointers are of 64 bits, and what they point into may be larger than 4 GiB. */
#define FLAGS "-ze-opt-greater-than-4GB-buffer-required"

/* Twice the registers, half the threads: for what would spill. */
#define FLAGS_LARGE FLAGS " -ze-opt-large-register-file"

/* Where they aren't FLAGS. */
static const char *const flags[VRT_XPU_KERNEL_COUNT] = {
    [VRT_XPU_KERNEL_conv2d] = FLAGS_LARGE,
    [VRT_XPU_KERNEL_conv2d_f16] = FLAGS_LARGE,
    [VRT_XPU_KERNEL_conv2d_bf16] = FLAGS_LARGE,
    [VRT_XPU_KERNEL_deform_conv2d] = FLAGS_LARGE,
    [VRT_XPU_KERNEL_deform_conv2d_f16] = FLAGS_LARGE,
    [VRT_XPU_KERNEL_deform_conv2d_bf16] = FLAGS_LARGE,
    [VRT_XPU_KERNEL_linear] = FLAGS_LARGE,
    [VRT_XPU_KERNEL_linear_f16] = FLAGS_LARGE,
    [VRT_XPU_KERNEL_linear_bf16] = FLAGS_LARGE,
    [VRT_XPU_KERNEL_window_attend] = FLAGS_LARGE,
    [VRT_XPU_KERNEL_window_attend_64_f16] = FLAGS_LARGE,
    [VRT_XPU_KERNEL_window_attend_128_f16] = FLAGS_LARGE,
    [VRT_XPU_KERNEL_window_attend_64_bf16] = FLAGS_LARGE,
    [VRT_XPU_KERNEL_window_attend_128_bf16] = FLAGS_LARGE,
    [VRT_XPU_KERNEL_window_attend_wide] = FLAGS_LARGE,
};

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
static ze_result_t build_named(struct vrt_xpu_device *xpu, enum vrt_xpu_kernel kernel,
                               const char *name)
{
    const struct vrt_xpu_spirv *spirv = vrt_xpu_spirv_find(name);
    const char *build_flags = flags[kernel] ? flags[kernel] : FLAGS;
    struct vrt_xpu_made *made = &xpu->kernels.made[kernel];
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

static ze_result_t build(struct vrt_xpu_device *xpu, enum vrt_xpu_kernel kernel)
{
    char name[64];

    snprintf(name, sizeof(name), "%s_dpas", names[kernel]);
    if (xpu->has_dpas && vrt_xpu_spirv_find(name)) {
        const ze_result_t r = build_named(xpu, kernel, name);
        /* What its compiler doesn't know can be done without. */
        if (r != ZE_RESULT_ERROR_MODULE_BUILD_FAILURE && r != ZE_RESULT_ERROR_MODULE_LINK_FAILURE)
            return r;
        vrt_log_info("%s: its driver can't compile %s (0x%x): plain code does that, slower than "
                     "matrix units would", xpu->base.info->name, name, (unsigned)r);
    }
    return build_named(xpu, kernel, names[kernel]);
}

ze_result_t vrt_xpu_launch(const struct vrt_xpu_call *call, const struct vrt_xpu_launch *launch)
{
    struct vrt_xpu_device *xpu = call->device;
    const struct vrt_xpu_loader *ze = xpu->ze;
    const ze_group_count_t groups = { launch->groups[0], launch->groups[1], launch->groups[2] };
    ze_result_t r = ZE_RESULT_SUCCESS;

    if (!xpu->kernels.made[launch->kernel].kernel)
        r = build(xpu, launch->kernel);
    if (r != 0) {
        vrt_log_warning("kernel %s can't be had: %s (0x%x)", names[launch->kernel],
                        vrt_xpu_result_text(r), (unsigned)r);
        return r;
    }
    const ze_kernel_handle_t kernel = xpu->kernels.made[launch->kernel].kernel;
    r = ze->zeKernelSetGroupSize(kernel, launch->local[0], launch->local[1], launch->local[2]);
    if (r != 0)
        return r;
    r = ze->zeKernelSetArgumentValue(kernel, 0, launch->args_bytes, launch->args);
    for (int i = 0; r == 0 && i < launch->n_data; i++)
        r = ze->zeKernelSetArgumentValue(kernel, (uint32_t)i + 1, sizeof(launch->data[i]),
                                         launch->data[i] ? &launch->data[i] : NULL);
    if (r != 0)
        return r;
    r = ze->zeCommandListAppendLaunchKernel(call->list, kernel, &groups, NULL, 0, NULL);
    return r != 0 ? r : ze->zeCommandListAppendBarrier(call->list, NULL, 0, NULL);
}

void vrt_xpu_kernels_done(struct vrt_xpu_kernels *kernels, const struct vrt_xpu_loader *ze)
{
    for (int i = 0; i < VRT_XPU_KERNEL_COUNT; i++) {
        if (kernels->made[i].kernel)
            ze->zeKernelDestroy(kernels->made[i].kernel);
        if (kernels->made[i].module)
            ze->zeModuleDestroy(kernels->made[i].module);
    }
}

struct vrt_xpu_view vrt_xpu_view_of(const struct vrt_tensor *t)
{
    if (!t)
        return (struct vrt_xpu_view){ 0 };
    return (struct vrt_xpu_view){
        .stride_d = t->stride_d,
        .stride_h = t->stride_h,
        .stride_w = t->stride_w,
        .d = t->shape.d,
        .h = t->shape.h,
        .w = t->shape.w,
        .c = t->shape.c,
        .dtype = (int32_t)t->dtype,
    };
}

char *vrt_xpu_data_of(const struct vrt_xpu_call *call, const struct vrt_tensor *t)
{
    if (!t)
        return NULL;
    return (t->slot == VRT_SLOT_ARENA ? call->arena : call->bindings[t->slot - 1]) +
           t->offset_bytes;
}
