/* SPDX-License-Identifier: MIT */

/* The backends, and the devices that they found. A new backend is one line in the table. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend-impl.h"
#include "backend/backend.h"
#include "backend/cpu/cpu.h"
#include "backend/cuda/load.h"
#include "backend/fault/fault.h"
#include "backend/ref/ref.h"
#include "backend/xpu/xpu.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "registry"

#define MAX_CPU_DEVICES 1024
#define MAX_CPU_THREADS 4096
#define MAX_CUDA_WORKERS 4
#define MAX_XPU_PATIENCE_S 86400

/* In order of preference; what a build lacks is a backend that finds no device. */
static const struct backend {
    const char *name;
    const struct vrt_backend_ops *ops;      /* NULL: in a plugin, which load() finds */
    int (*load)(const struct vrt_registry_params *params, const struct vrt_backend_ops **ret_ops,
                struct vrt_device_info **ret_infos, size_t *ret_n_infos);
} backends[] = {
    { "cuda", NULL, vrt_cuda_load },
    { "xpu", &vrt_backend_xpu, NULL },
    { "cpu", &vrt_backend_cpu, NULL },
    { "ref", &vrt_backend_ref, NULL },
};

struct found {
    const struct vrt_backend_ops *ops;
    struct vrt_device_info *infos;
    size_t n_infos;
};

struct vrt_registry {
    struct found found[VRT_ARRAY_SIZE(backends)];
    const struct vrt_device_info **devices;     /* of all, in the order of `backends` */
    size_t n_devices;
    struct vrt_findings findings;

    struct vrt_fault_schedule *faults;          /* NULL: devices are not wrapped */
    struct vrt_fault_state *fault_states;       /* by device */
};

struct vrt_registry *vrt_registry_free(struct vrt_registry *registry)
{
    if (!registry)
        return NULL;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(backends); i++)
        free(registry->found[i].infos);
    free(registry->devices);
    vrt_fault_schedule_free(registry->faults);
    free(registry->fault_states);
    free(registry);
    return NULL;
}

static int check_params(const struct vrt_registry_params *params, struct vrt_error *error)
{
    if (params->cpu_devices < 0 || params->cpu_devices > MAX_CPU_DEVICES)
        return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid",
                          "The CPU can't be split into %d devices: give 1 to %d, or 0 for one",
                          params->cpu_devices, MAX_CPU_DEVICES);
    if (params->cpu_threads < 0 || params->cpu_threads > MAX_CPU_THREADS)
        return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid",
                          "A CPU device can't have %d threads: give 1 to %d, or 0 to share the "
                          "cores evenly", params->cpu_threads, MAX_CPU_THREADS);
    if (params->cuda_workers < 0 || params->cuda_workers > MAX_CUDA_WORKERS)
        return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid",
                          "A CUDA card can't be %d devices: give 1 to %d, or 0 for one",
                          params->cuda_workers, MAX_CUDA_WORKERS);
    if (params->xpu_patience_s < 0 || params->xpu_patience_s > MAX_XPU_PATIENCE_S)
        return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid",
                          "An XPU device can't be waited for %d seconds: give 1 to %d, or 0 for "
                          "600", params->xpu_patience_s, MAX_XPU_PATIENCE_S);
    return 0;
}

static void note_failure(struct vrt_registry *registry, const char *backend, int r)
{
    struct vrt_finding finding = { .what = "devices", .kind = VRT_FINDING_UNFIT };

    vrt_log_warning("listing the devices of %s failed (%s), ignoring", backend,
                    vrt_backend_strerror(r));
    snprintf(finding.backend, sizeof(finding.backend), "%s", backend);
    vrt_finding_add(&registry->findings, &finding, "its devices can't be listed: %s",
                    vrt_backend_strerror(r));
}

/* A backend that can't tell what it has is survived: the machine has fewer devices then. */
static int probe_all(struct vrt_registry *registry, const struct vrt_registry_params *asked)
{
    struct vrt_registry_params own = *asked, *params = &own;

    params->findings = &registry->findings;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(backends); i++) {
        struct found *found = &registry->found[i];
        found->ops = backends[i].ops;
        if (asked->only_reference && found->ops != &vrt_backend_ref)
            continue;
        int r = backends[i].load ?
            backends[i].load(params, &found->ops, &found->infos, &found->n_infos) :
            found->ops->probe(params, &found->infos, &found->n_infos);
        if (r == -ENOMEM)
            return vrt_fold(r);
        if (r < 0)
            note_failure(registry, backends[i].name, r);
        registry->n_devices += found->n_infos;
    }
    registry->devices = calloc(registry->n_devices + 1, sizeof(registry->devices[0]));
    if (!registry->devices)
        return vrt_raise(-ENOMEM);

    size_t n = 0;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(backends); i++)
        for (size_t k = 0; k < registry->found[i].n_infos; k++)
            registry->devices[n++] = &registry->found[i].infos[k];
    return 0;
}

static int add_faults(struct vrt_registry *registry, const char *schedule,
                      struct vrt_error *error)
{
    int r = vrt_fault_schedule_new(schedule, &registry->faults, error);
    if (r < 0)
        return vrt_fold(r);
    registry->fault_states = calloc(registry->n_devices + 1, sizeof(registry->fault_states[0]));
    if (!registry->fault_states)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "Reading the fault schedule");
    return 0;
}

int vrt_registry_new(const struct vrt_registry_params *params, struct vrt_registry **ret_registry,
                     struct vrt_error *error)
{
    VRT_CLEANUP(vrt_registry_freep) struct vrt_registry *registry = NULL;

    int r = check_params(params, error);
    if (r < 0)
        return vrt_fold(r);
    registry = calloc(1, sizeof(*registry));
    if (!registry)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "Listing the devices");
    r = probe_all(registry, params);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "Listing the devices");
    if (params->fault)
        r = add_faults(registry, params->fault, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_registry = VRT_STEAL(registry);
    return 0;
}

const struct vrt_device_info *const *vrt_registry_devices(const struct vrt_registry *registry,
                                                          size_t *ret_n_devices)
{
    *ret_n_devices = registry->n_devices;
    return registry->devices;
}

bool vrt_registry_has_backend(const char *kind)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(backends); i++)
        if (strcmp(backends[i].name, kind) == 0)
            return true;
    return false;
}

const struct vrt_findings *vrt_registry_findings(const struct vrt_registry *registry)
{
    return &registry->findings;
}

const struct vrt_device_info *vrt_registry_find(const struct vrt_registry *registry,
                                                const char *name)
{
    for (size_t i = 0; i < registry->n_devices; i++)
        if (strcmp(registry->devices[i]->name, name) == 0)
            return registry->devices[i];
    return NULL;
}

/* The backend that found `info`, which must be of this registry. */
static const struct vrt_backend_ops *backend_of(const struct vrt_registry *registry,
                                                const struct vrt_device_info *info)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(backends); i++)
        for (size_t k = 0; k < registry->found[i].n_infos; k++)
            if (&registry->found[i].infos[k] == info)
                return registry->found[i].ops;
    return NULL;
}

static int open_wrapped(const struct vrt_registry *registry, const struct vrt_device_info *info,
                        const struct vrt_backend_ops *ops, struct vrt_device **ret_device)
{
    size_t i = 0;

    while (registry->devices[i] != info)
        i++;
    const struct vrt_fault_wrap wrap = {
        .schedule = registry->faults,
        .state = &registry->fault_states[i],
        .inner = ops,
        .info = info,
    };
    return vrt_fault_open(&wrap, ret_device);
}

int vrt_device_open(const struct vrt_registry *registry, const struct vrt_device_info *info,
                    struct vrt_device **ret_device)
{
    const struct vrt_backend_ops *ops = backend_of(registry, info);
    struct vrt_device *device = NULL;

    vrt_assert(ops);
    int r = registry->faults ? open_wrapped(registry, info, ops, &device)
                             : ops->open(info, &device);
    if (r != 0)
        return r < 0 ? vrt_fold(r) : r;
    device->ops = registry->faults ? &vrt_backend_fault : ops;
    device->info = info;
    *ret_device = device;
    return 0;
}
