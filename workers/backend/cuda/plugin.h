/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Between vrtd and its plugin for CUDA, which holds everything that needs NVIDIA's libraries: one
 * program runs with and without them. Both come from one build; the version says so.
 */

#include "base/log.h"

struct vrt_backend_ops;

/* The one symbol that a plugin exports, of type vrt_cuda_plugin_fn. */
#define VRT_CUDA_PLUGIN_SYMBOL "vrt_cuda_plugin"

/* Of this file, log.h, op.h, backend.h, backend-impl.h, kind.h: counts up where a release changes
 * them. */
#define VRT_CUDA_PLUGIN_ABI VRT_VERSION ", 7"

/* What the plugin is told: it has its own copy of base, whose lines come to ours. */
struct vrt_cuda_host {
    const char *abi;                /* VRT_CUDA_PLUGIN_ABI */
    const struct vrt_log_host *log;
};

/* Return: the backend; NULL: not for a host of this abi. It stays loaded for ever. */
typedef const struct vrt_backend_ops *vrt_cuda_plugin_fn(const struct vrt_cuda_host *host);
