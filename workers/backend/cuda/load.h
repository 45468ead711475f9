/* SPDX-License-Identifier: MIT */
#pragma once

/* The CUDA backend as the registry sees it: in a plugin, that may be absent. */

#include "backend/backend.h"

/*
 * Looks for a plugin that finds devices, the one for the newest CUDA first, in params->plugin_dir,
 * else the environment's VRTD_PLUGIN_DIR, else where it is installed; what stands in the way is
 * among params->findings, which is not NULL. *ret_ops is NULL where there is no device; what is
 * loaded stays.
 * Return: 0, -errno. The caller frees *ret_infos by free().
 */
int vrt_cuda_load(const struct vrt_registry_params *params, const struct vrt_backend_ops **ret_ops,
                  struct vrt_device_info **ret_infos, size_t *ret_n_infos);
