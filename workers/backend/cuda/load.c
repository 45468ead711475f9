/* SPDX-License-Identifier: MIT */

#include "backend/cuda/load.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend-impl.h"
#include "backend/cuda/plugin.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "cuda"

/* In order of preference. The last is the tests' own, on a machine made of software. */
static const char *const plugins[] = {
    "libvrt-cuda13.so",
    "libvrt-cuda12.so",
    "libvrt-cuda-sim.so",
};

static const char *plugin_dir(const struct vrt_registry_params *params)
{
    const char *dir = params->plugin_dir ? params->plugin_dir : getenv("VRTD_PLUGIN_DIR");

    return dir && dir[0] ? dir : VRT_PLUGIN_DIR;
}

static enum vrt_log_level log_level(void)
{
    int level = VRT_LOG_ERROR;

    while (level + 1 < VRT_LOG_LEVEL_COUNT && vrt_log_enabled((enum vrt_log_level)(level + 1)))
        level++;
    return (enum vrt_log_level)level;
}

/* Return: the plugin's backend, or NULL, and then why is in the log. */
static const struct vrt_backend_ops *open_plugin(const char *path)
{
    const struct vrt_cuda_host host = { VRT_CUDA_PLUGIN_ABI, log_level() };
    const struct vrt_backend_ops *ops = NULL;
    /* What it starts may run until the process ends: it is never unloaded. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

    if (!library) {
        vrt_log_info("no CUDA devices by this plugin: %s", dlerror());
        return NULL;
    }
    vrt_cuda_plugin_fn *plugin =
        (vrt_cuda_plugin_fn *)dlsym(library, VRT_CUDA_PLUGIN_SYMBOL);
    if (plugin)
        ops = plugin(&host);
    if (!ops) {
        vrt_log_info("no CUDA devices: %s is not of vrtd %s, install both from one package", path,
                     VRT_VERSION);
        dlclose(library);
    }
    return ops;
}

int vrt_cuda_load(const struct vrt_registry_params *params, const struct vrt_backend_ops **ret_ops,
                  struct vrt_device_info **ret_infos, size_t *ret_n_infos)
{
    const char *dir = plugin_dir(params);
    bool found = false;

    *ret_ops = NULL;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(plugins); i++) {
        char path[4096];
        int n = snprintf(path, sizeof(path), "%s/%s", dir, plugins[i]);
        if (n < 0 || (size_t)n >= sizeof(path) || access(path, R_OK) != 0)
            continue;
        found = true;
        const struct vrt_backend_ops *ops = open_plugin(path);
        int r = ops ? ops->probe(params, ret_infos, ret_n_infos) : 0;
        if (r)
            return r < 0 ? vrt_fold(r) : r;
        if (ops && *ret_n_infos > 0) {
            *ret_ops = ops;
            return 0;
        }
    }
    if (!found)
        vrt_log_info("no CUDA devices: there is no plugin libvrt-cuda*.so in %s", dir);
    return 0;
}
