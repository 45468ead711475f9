/* SPDX-License-Identifier: MIT */

#include "host/vendors.h"

#include <stddef.h>
#include <string.h>

const struct vrt_vendor vrt_vendors[] = {
    {
        .number = 0x8086,
        .name = "Intel",
        .kind = "xpu",
        .no_driver = "boot a kernel that knows it (6.2 or newer for Arc cards), with its firmware "
                     "installed: dmesg | grep -i -e i915 -e xe",
    },
    {
        .number = 0x10de,
        .name = "NVIDIA",
        .kind = "cuda",
        .no_driver = "install NVIDIA's driver and load it: modprobe nvidia",
        .node = "nvidia",
        .common_nodes = { "/dev/nvidiactl", "/dev/nvidia-uvm" },
    },
    { .number = 0x1002, .name = "AMD" },
    { .name = NULL },
};

const struct vrt_vendor_variable vrt_vendor_variables[] = {
    { "CUDA_VISIBLE_DEVICES", "cuda", "which NVIDIA cards there are for it, and in which order" },
    { "CUDA_DEVICE_ORDER", "cuda", "how NVIDIA cards are numbered" },
    { "NVIDIA_VISIBLE_DEVICES", "cuda", "which NVIDIA cards its container was given" },
    { "ZE_AFFINITY_MASK", "xpu", "which Intel GPUs there are for it" },
    { "ZE_FLAT_DEVICE_HIERARCHY", "xpu", "whether tiles of Intel GPUs are devices of their own" },
    { "ZE_ENABLE_ALT_DRIVERS", "xpu", "which Level Zero drivers are taken, instead of Intel's" },
    { "ZE_ENABLE_NULL_DRIVER", "xpu", "whether Level Zero has devices that compute nothing" },
    { "NEOReadDebugKeys", "xpu", "whether Intel's driver reads settings meant for its authors" },
    { "VRT_MPS_LIBRARY", "mps", "what is loaded in the place of Metal: for tests" },
    { "VRT_CPU_TILES", "cpu", "whether it multiplies by tiles in C: slowly, for tests" },
    { "VRTD_PLUGIN_DIR", NULL, "where its plugins are" },
    { "VRTD_MEDIA_PROGRAM", NULL, "which program reads and writes videos" },
    { "LD_LIBRARY_PATH", NULL, "where libraries are looked for first" },
    { "LD_PRELOAD", NULL, "what is loaded before any library" },
    { .name = NULL },
};

const struct vrt_vendor *vrt_vendor_find(long number)
{
    for (const struct vrt_vendor *vendor = vrt_vendors; vendor->name; vendor++)
        if (vendor->number == number)
            return vendor;
    return NULL;
}

const struct vrt_vendor *vrt_vendor_of_kind(const char *kind)
{
    for (const struct vrt_vendor *vendor = vrt_vendors; vendor->name; vendor++)
        if (vendor->kind && strcmp(vendor->kind, kind) == 0)
            return vendor;
    return NULL;
}
