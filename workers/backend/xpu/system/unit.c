/* SPDX-License-Identifier: MIT */

/* What a GPU can do of what the kernels need, before it is opened. */

#include <stdio.h>

#include "backend/xpu/system/system.h"

#define INTEL 0x8086               /* its PCI vendor id */
#define MAX_QUEUE_GROUPS 64

/*
 * PCI device ids, a family's from first to last, whose matrix units multiply f16 (DPAS): Level Zero
 * itself doesn't tell. Of these, Data Center GPU Max, Lunar Lake and Battlemage have subgroups of
 * 16 at least, so that their instruction isn't the kernels'.
 */
static const struct {
    uint32_t first, last;
} with_dpas[] = {
    { 0x4f80, 0x4f88 }, { 0x5690, 0x56c2 },     /* Arc A: DG2 */
    { 0x0bd0, 0x0be5 },                         /* Data Center GPU Max */
    { 0x7d51, 0x7d51 }, { 0x7dd1, 0x7dd1 },     /* Arrow Lake H */
    { 0x6420, 0x64b0 },                         /* Lunar Lake */
    { 0xe202, 0xe223 },                         /* Arc B: Battlemage */
};

/* The first group of queues that has all of `wanted`, nothing of `unwanted`; n: there is none. */
static uint32_t find_group(const ze_command_queue_group_properties_t *groups, uint32_t n,
                           uint32_t wanted, uint32_t unwanted)
{
    uint32_t i = 0;

    while (i < n && ((groups[i].flags & wanted) != wanted || groups[i].flags & unwanted))
        i++;
    return i;
}

ze_result_t vrt_xpu_unit_find_queues(const struct vrt_xpu_loader *loader,
                                     const struct vrt_xpu_unit *unit, uint32_t *ret_compute,
                                     uint32_t *ret_copy)
{
    const uint32_t computes = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE;
    const uint32_t copies = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
    ze_command_queue_group_properties_t groups[MAX_QUEUE_GROUPS];
    uint32_t n;

    for (uint32_t i = 0; i < MAX_QUEUE_GROUPS; i++)
        groups[i] = (ze_command_queue_group_properties_t){
            .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES };
    const ze_result_t r = VRT_XPU_LIST(loader->zeDeviceGetCommandQueueGroupProperties,
                                       unit->device, groups, &n);
    if (r != 0)
        return r;
    const uint32_t compute = find_group(groups, n, computes, 0);
    const uint32_t copy = find_group(groups, n, copies, computes);
    if (compute == n)
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    *ret_compute = compute;
    *ret_copy = copy < n ? copy : compute;
    return ZE_RESULT_SUCCESS;
}

static bool has_subgroups_of(const ze_device_compute_properties_t *compute, uint32_t lanes)
{
    for (uint32_t i = 0; i < compute->numSubGroupSizes && i < ZE_SUBGROUPSIZE_COUNT; i++)
        if (compute->subGroupSizes[i] == lanes)
            return true;
    return false;
}

bool vrt_xpu_unit_has_dpas(const struct vrt_xpu_loader *loader, const struct vrt_xpu_unit *unit)
{
    ze_device_properties_t device = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };
    ze_device_compute_properties_t compute = {
        .stype = ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES };

    if (loader->zeDeviceGetProperties(unit->device, &device) || device.vendorId != INTEL ||
        loader->zeDeviceGetComputeProperties(unit->device, &compute) ||
        !has_subgroups_of(&compute, VRT_XPU_DPAS_LANES))
        return false;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(with_dpas); i++)
        if (device.deviceId >= with_dpas[i].first && device.deviceId <= with_dpas[i].last)
            return true;
    return false;
}

const char *vrt_xpu_unit_unfit(const struct vrt_xpu_loader *loader,
                               const struct vrt_xpu_unit *unit, char *text, size_t size)
{
    ze_device_compute_properties_t compute = {
        .stype = ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES };
    uint32_t ordinals[2];
    ze_result_t r = loader->zeDeviceGetComputeProperties(unit->device, &compute);

    if (r == 0 && compute.maxTotalGroupSize < VRT_XPU_GROUP_ITEMS) {
        snprintf(text, size, "its driver lets a group have %u items, and kernels have up to %d",
                 (unsigned)compute.maxTotalGroupSize, VRT_XPU_GROUP_ITEMS);
        return text;
    }
    if (r == 0)
        r = vrt_xpu_unit_find_queues(loader, unit, &ordinals[0], &ordinals[1]);
    if (r == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE)
        snprintf(text, size, "its driver has no queue for it that computes");
    else if (r != 0)
        snprintf(text, size, "%s (0x%x)", vrt_xpu_result_text(r), (unsigned)r);
    return r != 0 ? text : NULL;
}
