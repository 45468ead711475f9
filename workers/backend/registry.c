/* SPDX-License-Identifier: MIT */

/* The backends, and the devices that they found. A new backend is one line in the list. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend-impl.h"
#include "backend/backend.h"
#include "backend/fault/fault.h"
#include "backend/kind.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "registry"

/* In order of preference; what a build lacks is a backend that finds no device. */
#define BACKENDS(line) \
    line(cuda)         \
    line(xpu)          \
    line(mps)          \
    line(cpu)          \
    line(ref)

#define DECLARE(name) extern const struct vrt_backend vrt_backend_##name;
#define LIST(name) &vrt_backend_##name,

BACKENDS(DECLARE)

static const struct vrt_backend *const backends[] = { BACKENDS(LIST) };

struct found {
    const struct vrt_backend_ops *ops;
    int64_t options[VRT_BACKEND_OPTIONS_MAX];
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

const struct vrt_device_kind *vrt_device_kind_at(size_t i)
{
    return i < VRT_ARRAY_SIZE(backends) ? &backends[i]->kind : NULL;
}

const struct vrt_device_kind *vrt_device_kind_find(const char *name, size_t n)
{
    const struct vrt_device_kind *kind;

    for (size_t i = 0; (kind = vrt_device_kind_at(i)); i++)
        if (strlen(kind->name) == n && strncmp(kind->name, name, n) == 0)
            return kind;
    return NULL;
}

bool vrt_device_kind_is_accelerator(const char *name)
{
    const struct vrt_device_kind *kind = vrt_device_kind_find(name, strlen(name));

    return kind && kind->role == VRT_DEVICE_ACCELERATOR;
}

bool vrt_backend_section_at(size_t i, struct vrt_backend_section *ret_section)
{
    if (i >= VRT_ARRAY_SIZE(backends))
        return false;
    *ret_section = (struct vrt_backend_section){ backends[i]->kind.name, backends[i]->options };
    return true;
}

/* The option that a value is for, and where that is kept. */
static const struct vrt_backend_option *find_option(struct vrt_registry *registry,
                                             const struct vrt_backend_value *value,
                                             int64_t **ret_kept)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(backends); i++) {
        const struct vrt_backend_option *options = backends[i]->options;
        if (!options || strcmp(backends[i]->kind.name, value->backend) != 0)
            continue;
        for (size_t k = 0; options[k].name; k++) {
            *ret_kept = &registry->found[i].options[k];
            if (strcmp(options[k].name, value->option) == 0)
                return &options[k];
        }
    }
    return NULL;
}

/* Every option at its default, but for those in `values`. */
static int set_options(struct vrt_registry *registry, const struct vrt_backend_value *values,
                       struct vrt_error *error)
{
    int64_t *kept;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(backends); i++) {
        const struct vrt_backend_option *options = backends[i]->options;
        for (size_t k = 0; options && options[k].name; k++) {
            vrt_assert(k < VRT_BACKEND_OPTIONS_MAX);
            registry->found[i].options[k] = options[k].fallback;
        }
    }
    for (; values && values->backend; values++) {
        const struct vrt_backend_option *option = find_option(registry, values, &kept);
        if (!option)
            return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid",
                              "[%s] has no option %s", values->backend, values->option);
        if (values->value < option->min || values->value > option->max)
            return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid",
                              "[%s] %s can't be %" PRId64 ": give %" PRId64 " to %" PRId64,
                              values->backend, values->option, values->value, option->min,
                              option->max);
        *kept = values->value;
    }
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

static int probe_one(const struct vrt_backend *backend, const struct vrt_registry_params *asked,
                     struct found *found)
{
    struct vrt_registry_params params = *asked;
    int r = 0;

    params.options = found->options;
    found->ops = backend->ops;
    if (backend->load)
        r = backend->load(&params, &found->ops, &found->infos, &found->n_infos);
    else if (backend->ops)
        r = backend->ops->enumerate(&params, &found->infos, &found->n_infos);
    for (size_t i = 0; i < found->n_infos; i++) {
        found->infos[i].kind = backend->kind.name;
        found->infos[i].options = found->options;
    }
    return r;
}

/* Leaves a backend out that nobody wants. */
static void leave_out(struct vrt_registry *registry, const struct vrt_device_kind *kind,
                      const char *by)
{
    struct vrt_finding finding = {
        .what = "devices",
        .kind = VRT_FINDING_ABSENT,
        .cure = "where such devices shall compute, change that and restart vrtd",
    };

    if (!by || kind->role != VRT_DEVICE_ACCELERATOR || !vrt_registry_has_backend(kind->name))
        return;
    snprintf(finding.backend, sizeof(finding.backend), "%s", kind->name);
    vrt_finding_add(&registry->findings, &finding, "left out by %s", by);
}

/* A backend that can't tell what it has is survived: the machine has fewer devices then. */
static int probe_all(struct vrt_registry *registry, const struct vrt_registry_params *asked)
{
    struct vrt_registry_params params = *asked;

    params.findings = &registry->findings;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(backends); i++) {
        struct found *found = &registry->found[i];
        if (asked->leave_out >> backends[i]->kind.role & 1) {
            leave_out(registry, &backends[i]->kind, asked->left_out_by);
            continue;
        }
        int r = probe_one(backends[i], &params, found);
        if (r == -ENOMEM)
            return vrt_fold(r);
        if (r < 0)
            note_failure(registry, backends[i]->kind.name, r);
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
    for (size_t i = 0; i < VRT_ARRAY_SIZE(backends); i++)
        for (size_t k = 0; k < registry->found[i].n_infos; k++)
            if (vrt_fault_schedule_takes_time(registry->faults, &registry->found[i].infos[k]))
                registry->found[i].infos[k].n_in_flight = VRT_DEVICE_IN_FLIGHT;
    return 0;
}

int vrt_registry_new(const struct vrt_registry_params *params, struct vrt_registry **ret_registry,
                     struct vrt_error *error)
{
    VRT_CLEANUP(vrt_registry_freep) struct vrt_registry *registry = NULL;

    registry = calloc(1, sizeof(*registry));
    if (!registry)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "Listing the devices");
    int r = set_options(registry, params->values, error);
    if (r < 0)
        return vrt_fold(r);
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
        if (strcmp(backends[i]->kind.name, kind) == 0)
            return backends[i]->ops || backends[i]->load;
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
