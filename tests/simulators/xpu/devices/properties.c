/* SPDX-License-Identifier: MIT */

/*
 * What a device says of itself: an Arc A770, whatever the settings make of its memory. All as
 * Intel's driver says it of one (tests/intel/test_answers.py compares), with zeros for what it
 * asks of the kernel, and isn't told.
 */

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "tests/simulators/xpu/driver/calls.h"
#include "tests/simulators/xpu/devices/device.h"

#define VENDOR_INTEL 0x8086
#define DEVICE_A770 0x56a0
#define N_EUS_PER_SUBSLICE 16
#define N_SUBSLICES_PER_SLICE 4
#define N_SLICES 8
#define FIRST_BUS 3

static const ze_device_fp_flags_t fp_flags = ZE_DEVICE_FP_FLAG_DENORM | ZE_DEVICE_FP_FLAG_INF_NAN |
    ZE_DEVICE_FP_FLAG_ROUND_TO_NEAREST | ZE_DEVICE_FP_FLAG_ROUND_TO_ZERO |
    ZE_DEVICE_FP_FLAG_ROUND_TO_INF | ZE_DEVICE_FP_FLAG_FMA;

static ze_device_uuid_t uuid_of(const struct drv_device *device)
{
    return (ze_device_uuid_t){ .id = {
        VENDOR_INTEL & 0xff, VENDOR_INTEL >> 8, DEVICE_A770 & 0xff, DEVICE_A770 >> 8, 8,
        [10] = (uint8_t)(FIRST_BUS + device->card),
        [15] = (uint8_t)(device->whole ? device->tile + 1 : 0),
    } };
}

ze_result_t drv_zeDeviceGetProperties(ze_device_handle_t handle, ze_device_properties_t *p)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    const struct drv_device *device = drv_device_find(handle);
    if (!device || !p)
        return device ? ZE_RESULT_ERROR_INVALID_NULL_POINTER : ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    const bool in_hertz = p->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
    if (!in_hertz && p->stype != ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES)
        return drv_misuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "stype isn't set");

    const unsigned n_slices = device->n_tiles ? N_SLICES * device->n_tiles : N_SLICES;
    *p = (ze_device_properties_t){
        .stype = p->stype,
        .pNext = p->pNext,
        .type = ZE_DEVICE_TYPE_GPU,
        .vendorId = VENDOR_INTEL,
        .deviceId = DEVICE_A770,
        .flags = (device->whole ? ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE : 0) |
                 (drv_settings()->are_integrated ? ZE_DEVICE_PROPERTY_FLAG_INTEGRATED : 0),
        .subdeviceId = device->tile,
        .maxMemAllocSize = VRT_MIN(DRV_MAX_ALLOCATION_BYTES, device->memory_bytes),
        .maxHardwareContexts = 65536,
        .numThreadsPerEU = 8,
        .physicalEUSimdWidth = 8,
        .numEUsPerSubslice = N_EUS_PER_SUBSLICE,
        .numSubslicesPerSlice = N_SUBSLICES_PER_SLICE,
        .numSlices = n_slices,
        .timerResolution = in_hertz ? DRV_TICKS_PER_S : VRT_NS_PER_S / DRV_TICKS_PER_S,
        .timestampValidBits = DRV_TICK_BITS,
        .kernelTimestampValidBits = DRV_KERNEL_TICK_BITS,
        .uuid = uuid_of(device),
        .name = "Intel(R) Arc(TM) A770 Graphics",
    };
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeDeviceGetComputeProperties(ze_device_handle_t handle,
                                             ze_device_compute_properties_t *p)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    if (!drv_device_find(handle))
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (!p)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    *p = (ze_device_compute_properties_t){
        .stype = p->stype,
        .pNext = p->pNext,
        .maxTotalGroupSize = DRV_MAX_GROUP_SIZE,
        .maxGroupSizeX = DRV_MAX_GROUP_SIZE,
        .maxGroupSizeY = DRV_MAX_GROUP_SIZE,
        .maxGroupSizeZ = DRV_MAX_GROUP_SIZE,
        .maxGroupCountX = UINT32_MAX,
        .maxGroupCountY = UINT32_MAX,
        .maxGroupCountZ = UINT32_MAX,
        .maxSharedLocalMemory = DRV_LOCAL_BYTES,
        .numSubGroupSizes = 3,
        .subGroupSizes = { 8, 16, 32 },
    };
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeDeviceGetModuleProperties(ze_device_handle_t handle,
                                            ze_device_module_properties_t *p)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    if (!drv_device_find(handle))
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (!p)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    *p = (ze_device_module_properties_t){
        .stype = p->stype,
        .pNext = p->pNext,
        .spirvVersionSupported = ZE_MAKE_VERSION(1, 2),
        .flags = ZE_DEVICE_MODULE_FLAG_FP16 | ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS,
        .fp16flags = fp_flags,
        .fp32flags = fp_flags | ZE_DEVICE_FP_FLAG_ROUNDED_DIVIDE_SQRT,
        .maxArgumentsSize = DRV_MAX_ARGUMENTS_BYTES,
        .printfBufferSize = 4 << 20,
    };
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeDeviceGetCommandQueueGroupProperties(ze_device_handle_t handle, uint32_t *count,
                                                       ze_command_queue_group_properties_t *p)
{
    static const struct {
        ze_command_queue_group_property_flags_t flags;
        size_t pattern_bytes;
    } groups[DRV_QUEUE_GROUP_COUNT] = {
        [DRV_QUEUE_COMPUTE] = { ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE |
                                ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY |
                                ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COOPERATIVE_KERNELS |
                                ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_METRICS,
                                SIZE_MAX },
        [DRV_QUEUE_COPY] = { ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY, 1 },
    };
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    if (!drv_device_find(handle))
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (!count)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    const uint32_t n = drv_list_count(count, DRV_QUEUE_GROUP_COUNT, p);
    for (uint32_t i = 0; i < n; i++) {
        p[i].flags = groups[i].flags;
        p[i].maxMemoryFillPatternSize = groups[i].pattern_bytes;
        p[i].numQueues = 1;
    }
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeDeviceGetMemoryProperties(ze_device_handle_t handle, uint32_t *count,
                                            ze_device_memory_properties_t *p)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    const struct drv_device *device = drv_device_find(handle);
    if (!device)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (!count)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (drv_list_count(count, 1, p)) {
        p->flags = 0;
        p->maxClockRate = 0;
        p->maxBusWidth = 64;
        p->totalSize = device->memory_bytes;
        memset(p->name, 0, sizeof(p->name));
        snprintf(p->name, sizeof(p->name), "DDR");
    }
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeDevicePciGetPropertiesExt(ze_device_handle_t handle, ze_pci_ext_properties_t *p)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    const struct drv_device *device = drv_device_find(handle);
    if (!device)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (!p)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (drv_settings()->sysman == DRV_SYSMAN_NONE)
        return ZE_RESULT_ERROR_UNINITIALIZED;
    p->address = (ze_pci_address_ext_t){ .bus = FIRST_BUS + device->card };
    p->maxSpeed = (ze_pci_speed_ext_t){ .genVersion = 4, .width = 16, .maxBandwidth = 31504000000 };
    return ZE_RESULT_SUCCESS;
}
