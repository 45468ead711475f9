/* SPDX-License-Identifier: MIT */

#include "backend/xpu/kernels.h"

#include <stdio.h>

#include "backend/xpu/device.h"
#include "backend/xpu/spirv.h"
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
    [VRT_XPU_KERNEL_window_attend_32] = FLAGS_LARGE,
    [VRT_XPU_KERNEL_window_attend_64] = FLAGS_LARGE,
};

/* Compiles the module `name`, and finds the function called so in it. */
static ze_result_t build_named(struct vrt_xpu_device *xpu, enum vrt_xpu_kernel kernel,
                               const char *name)
{
    const struct vrt_xpu_spirv *spirv = vrt_xpu_spirv_find(name);
    struct vrt_xpu_made *made = &xpu->kernels.made[kernel];

    if (!spirv)
        return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
    const ze_module_desc_t module = {
        .stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
        .format = ZE_MODULE_FORMAT_IL_SPIRV,
        .inputSize = spirv->size_bytes,
        .pInputModule = spirv->data,
        .pBuildFlags = flags[kernel] ? flags[kernel] : FLAGS,
    };
    const ze_kernel_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
        .pKernelName = name,
    };
    /* Without the compiler's log: where it fails, loaders hand out one that can't be used. */
    ze_result_t r = xpu->ze->zeModuleCreate(xpu->context, xpu->device, &module, &made->module,
                                            NULL);

    return r ? r : xpu->ze->zeKernelCreate(made->module, &desc, &made->kernel);
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
        vrt_log_debug("%s can't be compiled (0x%x), ignoring", name, (unsigned)r);
        xpu->kernels.made[kernel].module = NULL;
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
    if (r) {
        vrt_log_warning("kernel %s can't be had: %s (0x%x)", names[launch->kernel],
                        vrt_xpu_result_text(r), (unsigned)r);
        return r;
    }
    const ze_kernel_handle_t kernel = xpu->kernels.made[launch->kernel].kernel;
    r = ze->zeKernelSetGroupSize(kernel, launch->local[0], launch->local[1], launch->local[2]);
    if (!r)
        r = ze->zeKernelSetArgumentValue(kernel, 0, launch->args_bytes, launch->args);
    for (int i = 0; !r && i < launch->n_data; i++)
        r = ze->zeKernelSetArgumentValue(kernel, (uint32_t)i + 1, sizeof(launch->data[i]),
                                         launch->data[i] ? &launch->data[i] : NULL);
    if (!r)
        r = ze->zeCommandListAppendLaunchKernel(call->list, kernel, &groups, NULL, 0, NULL);
    return r ? r : ze->zeCommandListAppendBarrier(call->list, NULL, 0, NULL);
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
