/* SPDX-License-Identifier: MIT */

/* A system on which libraries can't be loaded by a running program. */

#include "backend/cuda/load.h"

int vrt_cuda_load(const struct vrt_registry_params *params, const struct vrt_backend_ops **ret_ops,
                  struct vrt_device_info **ret_infos, size_t *ret_n_infos)
{
    (void)params;
    (void)ret_infos;
    (void)ret_n_infos;
    *ret_ops = NULL;
    return 0;
}
