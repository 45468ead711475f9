/* SPDX-License-Identifier: MIT */

/* zeModule*: SPIR-V, or a native binary of this driver, which is the same with a head. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simulators/xpu/driver/calls.h"
#include "tests/simulators/xpu/driver/faults.h"
#include "tests/simulators/xpu/modules/kernel.h"

/* At the head of a native binary. */
struct native_head {
    char magic[8];
    uint32_t version;                   /* of the driver that made it */
    uint32_t n_bytes;                   /* of the SPIR-V behind */
};

static const char native_magic[8] = "vrt-xpu";

struct drv_module *drv_module_find(ze_module_handle_t handle)
{
    return drv_object_find(handle, DRV_MODULE);
}

/* The SPIR-V that a description has. */
static ze_result_t find_spirv(const ze_module_desc_t *desc, const uint8_t **ret_spirv,
                              size_t *ret_n_bytes)
{
    struct native_head head;
    const uint8_t *data = desc->pInputModule;
    size_t n_bytes = desc->inputSize;

    if (!data)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (!n_bytes)
        return ZE_RESULT_ERROR_INVALID_SIZE;
    if (desc->pConstants && desc->pConstants->numConstants)
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    if (desc->format == ZE_MODULE_FORMAT_NATIVE) {
        if (n_bytes < sizeof(head))
            return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
        memcpy(&head, data, sizeof(head));
        if (memcmp(head.magic, native_magic, sizeof(native_magic)) != 0 ||
            head.version != drv_settings()->version || head.n_bytes != n_bytes - sizeof(head))
            return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
        data += sizeof(head);
        n_bytes -= sizeof(head);
    } else if (desc->format != ZE_MODULE_FORMAT_IL_SPIRV) {
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    }
    *ret_spirv = data;
    *ret_n_bytes = n_bytes;
    return ZE_RESULT_SUCCESS;
}

/* Locked, though not while it compiles. Return: NULL: it doesn't build. */
static struct drv_program *compile(const uint8_t *spirv, size_t n_bytes)
{
    VRT_CLEANUP(vrt_freep) char *text = NULL;
    const bool has_matrices = drv_settings()->has_matrices;

    drv_unlock();
    struct drv_program *program = drv_program_get(spirv, n_bytes, has_matrices, &text);
    drv_relock();
    /* A backend that does without would hide it. */
    if (!program && has_matrices)
        drv_misuse(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, "a module doesn't build: %s",
                   text ? text : "no memory");
    return program;
}

ze_result_t drv_zeModuleCreate(ze_context_handle_t context_handle, ze_device_handle_t device_handle,
                               const ze_module_desc_t *desc, ze_module_handle_t *ret_module,
                               ze_module_build_log_handle_t *ret_log)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_context *context;
    struct drv_device *device;
    const uint8_t *spirv;
    size_t n_bytes;

    if (!desc || !ret_module)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (ret_log)
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    ze_result_t r = drv_context_find_device(context_handle, device_handle, &context, &device);
    if (r == ZE_RESULT_SUCCESS)
        r = find_spirv(desc, &spirv, &n_bytes);
    if (r != ZE_RESULT_SUCCESS)
        return r;

    const bool is_native = desc->format == ZE_MODULE_FORMAT_NATIVE;
    const struct drv_fault fault = drv_faults_count(device,
                                                    is_native ? DRV_AT_NATIVE : DRV_AT_BUILD);
    drv_sleep(fault.delay_ns);
    if (drv_device_is_lost(device))
        return ZE_RESULT_ERROR_DEVICE_LOST;
    if (is_native && fault.fails)
        return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
    struct drv_module *module = calloc(1, sizeof(*module));
    if (!module)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    module->context = context;
    module->device = device;
    drv_object_add(&module->object, DRV_MODULE, &context->object);
    module->program = fault.fails ? NULL : compile(spirv, n_bytes);
    if (!module->program) {
        drv_object_remove(&module->object);
        free(module);
        return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    }
    *ret_module = DRV_HANDLE(ze_module_handle_t, module);
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeModuleDestroy(ze_module_handle_t handle)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_module *module = drv_module_find(handle);
    if (!module)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    ze_result_t r = drv_object_remove(&module->object);
    if (r == ZE_RESULT_SUCCESS)
        free(module);
    return r;
}

ze_result_t drv_zeModuleGetNativeBinary(ze_module_handle_t handle, size_t *n_bytes, uint8_t *binary)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    const struct drv_module *module = drv_module_find(handle);
    if (!module || !n_bytes)
        return module ? ZE_RESULT_ERROR_INVALID_NULL_POINTER : ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    struct native_head head = {
        .version = drv_settings()->version,
        .n_bytes = (uint32_t)module->program->n_bytes,
    };
    const size_t n_wanted = sizeof(head) + head.n_bytes;
    if (binary) {
        if (*n_bytes < n_wanted)
            return drv_misuse(ZE_RESULT_ERROR_INVALID_SIZE, "the binary has %zu bytes", n_wanted);
        memcpy(head.magic, native_magic, sizeof(native_magic));
        memcpy(binary, &head, sizeof(head));
        memcpy(binary + sizeof(head), module->program->spirv, head.n_bytes);
    }
    *n_bytes = n_wanted;
    return ZE_RESULT_SUCCESS;
}
