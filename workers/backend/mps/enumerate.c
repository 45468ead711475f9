/* SPDX-License-Identifier: MIT */

/* The GPUs that Metal has, and what is known of them before one is opened. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cache.h"
#include "backend/mps/device.h"
#include "backend/mps/mps.h"

static const struct vrt_finding library_absent = {
    .backend = "mps",
    .what = "library",
    .kind = VRT_FINDING_ABSENT,
    .cure = "vrtctl devices lists the devices of this machine",
};

static const struct vrt_finding library_unfit = {
    .backend = "mps",
    .what = "library",
    .kind = VRT_FINDING_UNFIT,
    .cure = "Metal as vrtd uses it comes with macOS 13 and later",
};

static const struct vrt_finding library_there = {
    .backend = "mps",
    .what = "library",
    .kind = VRT_FINDING_THERE,
};

static const struct vrt_finding none_found = {
    .backend = "mps",
    .what = "devices",
    .kind = VRT_FINDING_UNFIT,
    .cure = "run vrtd as a LaunchAgent of somebody who is logged in: outside a session, and in "
            "some virtual machines, Metal shows no GPU",
};

/* "Version 14.5 (Build 23F79)". */
static const char *system_version(void)
{
    vrt_metal_id process = VRT_METAL(process, vrt_metal.class_of("NSProcessInfo"));
    const char *text = VRT_METAL(text, VRT_METAL(system_version, process));

    return text ? text : "";
}

/* The first number of that, whatever the words' language: "14.5". */
static void print_version(char *text, size_t size)
{
    const char *version = system_version();
    const char *number = version + strcspn(version, "0123456789");

    snprintf(text, size, "%.*s", (int)strspn(number, "0123456789."), number);
}

/* By which Metal tells devices apart, of those that were listed: their order may change. */
static uint64_t registry_ids[VRT_MPS_DEVICES_MAX];

/* Device number i that Metal has now, owned; NULL: there is none such. */
static vrt_metal_id device_at(int i)
{
    vrt_metal_id all = vrt_metal.copy_devices(), device = NULL;

    if (VRT_METAL(count, all) > (unsigned long)i)
        device = VRT_METAL(retain, VRT_METAL(at, all, (unsigned long)i));
    else if (VRT_METAL(count, all) == 0 && i == 0)
        device = vrt_metal.new_default_device();
    vrt_metal_drop(&all);
    return device;
}

vrt_metal_id vrt_mps_find_device(int i)
{
    vrt_metal_id device;

    for (int k = 0; (device = device_at(k)); k++) {
        if (VRT_METAL(registry_id, device) == registry_ids[i])
            return device;
        vrt_metal_drop(&device);
    }
    return NULL;
}

static void print_description(vrt_metal_id device, struct vrt_device_info *info)
{
    const char *name = VRT_METAL(text, VRT_METAL(name, device));
    const double gib = (double)info->memory_total_bytes / (1 << 30);
    const bool has_matrices = VRT_METAL(supports_family, device, VRT_METAL_APPLE7);

    snprintf(info->description, sizeof(info->description), "%.48s, %.1f GiB%s%s",
             name ? name : "a GPU", gib, info->shares_host_memory ? " of the host's memory" : "",
             has_matrices ? ", simdgroup matrices" : "");
    snprintf(info->class_id, sizeof(info->class_id), "mps, %.48s, %s, %.80s",
             name ? name : "a GPU", has_matrices ? "matrices" : "plain", system_version());
}

static void describe(vrt_metal_id device, int index, struct vrt_device_info *info)
{
    *info = (struct vrt_device_info){
        .index = index,
        .n_in_flight = VRT_DEVICE_IN_FLIGHT,
        .n_pixels = 1,              /* nobody has measured it yet */
        .card = index,
        .shares_host_memory = VRT_METAL(is_unified, device),
        .preferred_dtype = VRT_DTYPE_F16,
        .memory_total_bytes = (int64_t)VRT_METAL(working_set_bytes, device),
    };
    snprintf(info->name, sizeof(info->name), "mps:%d", index);
    snprintf(info->packing_id, sizeof(info->packing_id), "mps");
    print_version(info->driver_version, sizeof(info->driver_version));
    print_description(device, info);
}

int vrt_mps_enumerate(const struct vrt_registry_params *params, struct vrt_device_info **ret_infos,
                      size_t *ret_n_infos)
{
    char why[192];
    const int r = vrt_metal_load(why, sizeof(why));
    struct vrt_device_info *infos;
    vrt_metal_id device;
    int n = 0;

    *ret_infos = NULL;
    *ret_n_infos = 0;
    if (r < 0) {
        vrt_finding_add(params->findings, r == -ENOENT ? &library_absent : &library_unfit,
                        "no MPS devices: %s", r == -ENOENT ? "Metal is only on macOS" : why);
        return 0;
    }
    VRT_METAL_POOL;
    infos = calloc(VRT_MPS_DEVICES_MAX, sizeof(*infos));
    if (!infos)
        return vrt_raise(-ENOMEM);
    while (n < VRT_MPS_DEVICES_MAX && (device = device_at(n))) {
        registry_ids[n] = VRT_METAL(registry_id, device);
        describe(device, n, &infos[n]);
        vrt_metal_drop(&device);
        n++;
    }
    if (n == 0)
        vrt_finding_add(params->findings, &none_found, "no MPS devices: Metal has no GPU");
    else
        vrt_finding_add(params->findings, &library_there, "Metal of macOS %s",
                        infos[0].driver_version);
    if (n > 0)
        vrt_cache_find_folder(params->cache_dir, "mps", params->findings, infos[0].kernels_dir);
    for (int i = 1; i < n; i++)
        memcpy(infos[i].kernels_dir, infos[0].kernels_dir, sizeof(infos[i].kernels_dir));
    *ret_infos = infos;
    *ret_n_infos = (size_t)n;
    return 0;
}
