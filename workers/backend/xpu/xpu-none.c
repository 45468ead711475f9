/* SPDX-License-Identifier: MIT */

/* Built where Level Zero's headers or a compiler to SPIR-V are absent: there are no XPU devices. */

#include "backend/backend-impl.h"
#include "backend/xpu/xpu.h"

static const struct vrt_finding not_built = {
    .backend = "xpu",
    .what = "backend",
    .kind = VRT_FINDING_ABSENT,
    .cure = "where there are Intel GPUs, build it again: meson says what it lacks for Level Zero",
};

static int none_enumerate(const struct vrt_registry_params *params,
                      struct vrt_device_info **ret_infos, size_t *ret_n_infos)
{
    vrt_finding_add(params->findings, &not_built, "no XPU devices: this program was built without "
                    "Level Zero");
    *ret_infos = NULL;
    *ret_n_infos = 0;
    return 0;
}

const struct vrt_backend_ops vrt_xpu_ops = {
    .enumerate = none_enumerate,
};
