/* SPDX-License-Identifier: MIT */

/* A plugin of another release: it wants nothing to do with this host. */

#include "backend/cuda/plugin.h"

__attribute__((visibility("default"))) vrt_cuda_plugin_fn vrt_cuda_plugin;

const struct vrt_backend_ops *vrt_cuda_plugin(const struct vrt_cuda_host *host)
{
    (void)host;
    return NULL;
}
