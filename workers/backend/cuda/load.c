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
#include "base/folder.h"
#include "base/log.h"

/* In order of preference. The last is the tests' own, on a machine made of software. */
static const char *const plugins[] = {
    "libvrt-cuda13.so",
    "libvrt-cuda12.so",
    "libvrt-cuda-sim.so",
};

static const char *plugin_dir(const struct vrt_registry_params *params, char *buffer, size_t size)
{
    const char *dir = params->plugin_dir ? params->plugin_dir : getenv("VRTD_PLUGIN_DIR");

    return dir && dir[0] ? dir :
           vrt_folder_of_part("workers/backend/cuda", VRT_PLUGIN_DIR, buffer, size);
}

static const struct vrt_finding plugin_absent = {
    .backend = "cuda",
    .what = "plugin",
    .kind = VRT_FINDING_ABSENT,
    .cure = "install the plugin, or set VRTD_PLUGIN_DIR to its folder for the daemon",
};

static const struct vrt_finding plugin_unfit = {
    .backend = "cuda",
    .what = "plugin",
    .kind = VRT_FINDING_UNFIT,
    .cure = "install the library that is named",
};

static const struct vrt_finding plugin_other = {
    .backend = "cuda",
    .what = "plugin",
    .kind = VRT_FINDING_UNFIT,
    .cure = "install vrtd and the plugin from one package",
};

static const struct vrt_finding plugin_there = {
    .backend = "cuda",
    .what = "plugin",
    .kind = VRT_FINDING_THERE,
};

/* Return: the plugin's backend, or NULL, and then why is among the findings. */
static const struct vrt_backend_ops *open_plugin(const struct vrt_registry_params *params,
                                                 const char *path)
{
    const struct vrt_cuda_host host = { VRT_CUDA_PLUGIN_ABI, &vrt_log_host };
    const struct vrt_backend_ops *ops = NULL;
    /* What it starts may run until the process ends: it is never unloaded. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

    if (!library) {
        vrt_finding_add(params->findings, &plugin_unfit, "no CUDA devices by this plugin: %s",
                        dlerror());
        return NULL;
    }
    vrt_cuda_plugin_fn *plugin =
        (vrt_cuda_plugin_fn *)dlsym(library, VRT_CUDA_PLUGIN_SYMBOL);
    if (plugin)
        ops = plugin(&host);
    if (!ops) {
        vrt_finding_add(params->findings, &plugin_other, "no CUDA devices: %s is not of vrtd %s, "
                        "install both from one package", path, VRT_VERSION);
        dlclose(library);
    }
    return ops;
}

/* What other plugins lacked doesn't matter where one works: findings [from, to) are dropped. */
static void forget(struct vrt_findings *findings, size_t from, size_t to)
{
    memmove(&findings->list[from], &findings->list[to],
            (findings->n - to) * sizeof(findings->list[0]));
    findings->n -= to - from;
}

int vrt_cuda_load(const struct vrt_registry_params *params, const struct vrt_backend_ops **ret_ops,
                  struct vrt_device_info **ret_infos, size_t *ret_n_infos)
{
    char path[4096], folder[3072];
    const char *dir = plugin_dir(params, folder, sizeof(folder));
    const size_t n_first = params->findings->n;
    bool found = false;

    *ret_ops = NULL;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(plugins); i++) {
        int n = snprintf(path, sizeof(path), "%s/%s", dir, plugins[i]);
        if (n < 0 || (size_t)n >= sizeof(path) || access(path, R_OK) != 0)
            continue;
        found = true;
        const size_t n_earlier = params->findings->n;
        const struct vrt_backend_ops *ops = open_plugin(params, path);
        int r = ops ? ops->enumerate(params, ret_infos, ret_n_infos) : 0;
        if (r < 0)
            return vrt_fold(r);
        if (ops && *ret_n_infos > 0) {
            *ret_ops = ops;
            forget(params->findings, n_first, n_earlier);
            vrt_finding_add(params->findings, &plugin_there, "%s", path);
            return 0;
        }
    }
    if (!found)
        vrt_finding_add(params->findings, &plugin_absent, "no CUDA devices: there is no plugin "
                        "libvrt-cuda*.so in %s", dir);
    return 0;
}
