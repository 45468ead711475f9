/* SPDX-License-Identifier: MIT */

/* Built where oneDNN is absent: there are no CPU devices. */

#include "backend/backend-impl.h"
#include "backend/cpu/cpu.h"

static int none_enumerate(const struct vrt_registry_params *params,
                      struct vrt_device_info **ret_infos, size_t *ret_n_infos)
{
    const struct vrt_finding not_built = {
        .backend = "cpu",
        .what = "library",
        .kind = VRT_FINDING_ABSENT,
        .cure = "build vrtd where oneDNN is installed (libdnnl-dev)",
    };

    vrt_finding_add(params->findings, &not_built,
                    "no CPU device: this program was built without oneDNN");
    *ret_infos = NULL;
    *ret_n_infos = 0;
    return 0;
}

const struct vrt_backend_ops vrt_cpu_ops = {
    .enumerate = none_enumerate,
};
