/* SPDX-License-Identifier: MIT */

/* The GPUs that Level Zero's drivers have, and what is known of them before one is opened. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cache.h"
#include "backend/xpu/device.h"
#include "backend/xpu/system/sysman.h"
#include "backend/xpu/xpu.h"

static const struct vrt_finding loader_absent = {
    .backend = "xpu",
    .what = "loader",
    .kind = VRT_FINDING_ABSENT,
    .cure = "where there are Intel GPUs, install the package libze1",
};

static const struct vrt_finding loader_unfit = {
    .backend = "xpu",
    .what = "loader",
    .kind = VRT_FINDING_UNFIT,
    .cure = "install a newer libze1",
};

static const struct vrt_finding driver_absent = {
    .backend = "xpu",
    .what = "driver",
    .kind = VRT_FINDING_ABSENT,
    .cure = "where there are Intel GPUs, install the package libze-intel-gpu1 (Debian 12: "
            "intel-opencl-icd), and let the daemon's user be of the group render",
};

static const struct vrt_finding driver_unfit = {
    .backend = "xpu",
    .what = "driver",
    .kind = VRT_FINDING_UNFIT,
    .cure = "see what the kernel's log says of i915 or xe",
};

static const struct vrt_finding driver_there = {
    .backend = "xpu",
    .what = "driver",
    .kind = VRT_FINDING_THERE,
};

static const struct vrt_finding none_visible = {
    .backend = "xpu",
    .what = "devices",
    .kind = VRT_FINDING_UNFIT,
    .cure = "unset ZE_AFFINITY_MASK for the daemon, or name GPUs that there are, from 0 on",
};

static const struct vrt_finding none_found = {
    .backend = "xpu",
    .what = "devices",
    .kind = VRT_FINDING_ABSENT,
};

static const struct vrt_finding left_out = {
    .backend = "xpu",
    .what = "devices",
    .kind = VRT_FINDING_UNFIT,
};

static void print_uuid(const ze_device_uuid_t *uuid, char *text, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < sizeof(uuid->id) && n < size; i++) {
        const bool begins_group = i == 4 || i == 6 || i == 8 || i == 10;
        n += (size_t)snprintf(text + n, size - n, "%s%02x", begins_group ? "-" : "",
                              uuid->id[i]);
    }
}

static void print_pci_address(const struct vrt_xpu_system *system, ze_device_handle_t device,
                              char *text, size_t size)
{
    ze_pci_ext_properties_t pci = { .stype = ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES };

    if (system->loader.zeDevicePciGetPropertiesExt &&
        system->loader.zeDevicePciGetPropertiesExt(device, &pci) == ZE_RESULT_SUCCESS)
        snprintf(text, size, "%04x:%02x:%02x.%x", pci.address.domain & 0xffff,
                 pci.address.bus & 0xff, pci.address.device & 0xff, pci.address.function & 0xf);
}

/* As Intel writes it, in parts of 8, 8 and 16 bits: "1.3.24595". */
static void print_version(uint32_t version, char *text, size_t size)
{
    snprintf(text, size, "%u.%u.%u", version >> 24, version >> 16 & 0xff, version & 0xffff);
}

static int64_t memory_bytes(const struct vrt_xpu_system *system, const struct vrt_xpu_unit *unit)
{
    ze_device_memory_properties_t memories[16];
    struct vrt_xpu_sysman sysman;
    struct vrt_memory_info info;
    int64_t bytes = 0;
    uint32_t n;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(memories); i++)
        memories[i] = (ze_device_memory_properties_t){
            .stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES };
    if (!VRT_XPU_LIST(system->loader.zeDeviceGetMemoryProperties, unit->device, memories, &n))
        for (uint32_t i = 0; i < n; i++)
            bytes += (int64_t)memories[i].totalSize;
    if (bytes > 0)
        return bytes;
    vrt_xpu_sysman_init(&sysman, system, unit);
    vrt_xpu_sysman_memory(&sysman, &info);
    return info.total_bytes;
}

/* What tells devices apart that look alike, and what else a user should know of. */
static void print_description(const struct vrt_xpu_system *system,
                              const ze_device_properties_t *properties,
                              const struct vrt_xpu_unit *unit, struct vrt_device_info *info)
{
    const unsigned n_units = properties->numSlices * properties->numSubslicesPerSlice *
                             properties->numEUsPerSubslice;
    const char *mask = getenv("ZE_AFFINITY_MASK");
    char tile[24] = "", masked[40] = "";

    if (unit->root >= 0)
        snprintf(tile, sizeof(tile), ", tile %d", unit->tile);
    if (mask && mask[0])
        snprintf(masked, sizeof(masked), ", ZE_AFFINITY_MASK=%.16s", mask);
    snprintf(info->description, sizeof(info->description), "%.48s%s, %u EUs%s%s",
             properties->name, tile, n_units,
             vrt_xpu_unit_has_dpas(&system->loader, unit) ? ", DPAS" : "", masked);
    snprintf(info->class_id, sizeof(info->class_id), "xpu, %.60s, %u EUs, driver %s",
             properties->name, n_units, info->driver_version);
}

/* Return: 0; -ENODEV: the device is of no use, and it is said why. */
static int describe(const struct vrt_xpu_system *system, int i, int index,
                    struct vrt_findings *findings, struct vrt_device_info *info)
{
    const struct vrt_xpu_unit *unit = &system->units[i];
    ze_device_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };
    ze_device_module_properties_t module = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES };
    char text[96];
    ze_result_t r = system->loader.zeDeviceGetProperties(unit->device, &properties);

    if (r == 0)
        r = system->loader.zeDeviceGetModuleProperties(unit->device, &module);
    if (r != 0)
        snprintf(text, sizeof(text), "%s (0x%x)", vrt_xpu_result_text(r), (unsigned)r);
    if (r != 0 || vrt_xpu_unit_unfit(&system->loader, unit, text, sizeof(text))) {
        vrt_finding_add(findings, &left_out, "a GPU is left out (%.48s): %s",
                        r != 0 ? "unknown" : properties.name, text);
        return -ENODEV;
    }
    *info = (struct vrt_device_info){
        .index = index,
        .n_in_flight = VRT_DEVICE_IN_FLIGHT,
        .n_pixels = 1,              /* nobody has measured it on a card yet */
        .card = i,
        .shares_host_memory = properties.flags & ZE_DEVICE_PROPERTY_FLAG_INTEGRATED,
        .preferred_dtype = module.flags & ZE_DEVICE_MODULE_FLAG_FP16 ? VRT_DTYPE_F16 :
                           VRT_DTYPE_F32,
        .memory_total_bytes = memory_bytes(system, unit),
    };
    snprintf(info->name, sizeof(info->name), "xpu:%d", index);
    print_uuid(&properties.uuid, info->uuid, sizeof(info->uuid));
    print_pci_address(system, unit->device, info->pci_address, sizeof(info->pci_address));
    print_version(unit->driver->version, info->driver_version, sizeof(info->driver_version));
    print_description(system, &properties, unit, info);
    snprintf(info->packing_id, sizeof(info->packing_id), "xpu, driver %d",
             (int)(unit->driver - system->drivers));
    return 0;
}

/* Whether unit i is one of the devices: a GPU, or each of its tiles where it has some. */
static bool is_shown(const struct vrt_xpu_system *system, int i, bool tiles)
{
    const struct vrt_xpu_unit *unit = &system->units[i];

    return tiles ? unit->root >= 0 || unit->n_tiles == 0 : unit->root < 0;
}

/* Why Level Zero can't be asked: -errno of vrt_xpu_system_open(). */
static void explain(struct vrt_findings *findings, int r, const char *message)
{
    const struct vrt_finding *finding = r == -ENOENT ? &loader_absent :
                                        r == -ENOSYS ? &loader_unfit :
                                        r == -ENODEV ? &driver_absent : &driver_unfit;
    const char *mask = getenv("ZE_AFFINITY_MASK");

    /* A driver that may show nothing doesn't start. */
    if (r == -ENODEV && mask && mask[0])
        vrt_finding_add(findings, &none_visible, "no XPU devices: there is no driver, or it has "
                        "none that ZE_AFFINITY_MASK=\"%.64s\" names", mask);
    else
        vrt_finding_add(findings, finding, "no XPU devices: %s", message);
}

/* What the drivers are, and that they have nothing if so. */
static void tell(struct vrt_findings *findings, const struct vrt_xpu_system *system)
{
    const char *mask = getenv("ZE_AFFINITY_MASK");
    char version[16];

    for (int i = 0; i < system->n_drivers; i++) {
        print_version(system->drivers[i].version, version, sizeof(version));
        vrt_finding_add(findings, &driver_there, "a driver of version %s, by " VRT_XPU_LOADER,
                        version);
    }
    if (system->n_units == 0 && mask && mask[0])
        vrt_finding_add(findings, &none_visible, "no XPU devices: the driver has none that "
                        "ZE_AFFINITY_MASK=\"%.64s\" names", mask);
    else if (system->n_units == 0)
        vrt_finding_add(findings, &none_found, "no XPU devices: the driver has no GPU");
}

int vrt_xpu_enumerate(const struct vrt_registry_params *params, struct vrt_device_info **ret_infos,
                  size_t *ret_n_infos)
{
    VRT_CLEANUP(vrt_xpu_system_closep) const struct vrt_xpu_system *system = NULL;
    struct vrt_error error = { 0 };
    int n = 0;

    *ret_infos = NULL;
    *ret_n_infos = 0;
    int r = vrt_xpu_system_open(&system, &error);
    if (r == -ENOMEM)
        return vrt_fold(r);
    if (r < 0) {
        explain(params->findings, r, error.message);
        return 0;
    }
    struct vrt_device_info *infos = calloc((size_t)system->n_units + 1, sizeof(*infos));
    if (!infos)
        return vrt_raise(-ENOMEM);
    for (int i = 0; i < system->n_units; i++) {
        if (is_shown(system, i, params->options[VRT_XPU_OPTION_TILES]) &&
            describe(system, i, n, params->findings, &infos[n]) == 0)
            n++;
    }
    tell(params->findings, system);
    if (n > 0)
        vrt_cache_find_folder(params->cache_dir, "xpu", params->findings,
                              infos[0].kernels_dir);
    for (int i = 1; i < n; i++)
        memcpy(infos[i].kernels_dir, infos[0].kernels_dir, sizeof(infos[i].kernels_dir));
    *ret_infos = infos;
    *ret_n_infos = (size_t)n;
    return 0;
}
