/* SPDX-License-Identifier: MIT */

/*
 * The CPU as a device, or split into several
 *
 * Several devices share the cores evenly. On a machine of several NUMA nodes each stays on cores
 * of its own, which are neighbours, and so does the memory it touches first; on one node nothing
 * is pinned, because encoders and decoders use the same cores and the system knows better which
 * is free.
 */

#include "backend/cpu/cpu.h"

#include <dnnl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backend/cpu/device.h"
#include "backend/cpu/threads/machine.h"

#define HUGE_PAGE ((size_t)2 << 20)
#define CACHE_LINE ((size_t)64)

/* A smaller part of a picture is soon computed, and threads wait for each other after each op. */
#define PIXELS_PER_THREAD 512

/* oneDNN's instruction sets, best first; each contains the bits of those below it. */
static const struct {
    int isa;
    const char *name;
    bool native_bf16;
} isas[] = {
    { dnnl_cpu_isa_avx512_core_amx, "AMX", true },
    { dnnl_cpu_isa_avx512_core_bf16, "AVX-512, bf16", true },
    { dnnl_cpu_isa_avx512_core, "AVX-512", false },
    { dnnl_cpu_isa_avx2, "AVX2", false },
    { dnnl_cpu_isa_avx, "AVX", false },
    { dnnl_cpu_isa_sse41, "SSE4.1", false },
    { 0, "plain", false },
};

/* What computes products beside that, for whoever reads a device's class. */
static const char *tiles_name(void)
{
    const struct vrt_cpu_tiles *tiles = vrt_cpu_tiles();

    return tiles ? tiles->name : "";
}

static int find_isa(void)
{
    const int have = (int)dnnl_get_effective_cpu_isa();
    int i = 0;

    while ((have & isas[i].isa) != isas[i].isa)
        i++;
    return i;
}

/* The first of the cores of device `i` of n. */
static int first_core(const struct vrt_cpu_machine *machine, int i, int n)
{
    return (int)((int64_t)machine->n_cores * i / n);
}

static void describe(const struct vrt_cpu_machine *machine,
                     const struct vrt_registry_params *params, int i,
                     struct vrt_device_info *ret_info)
{
    const int n = (int)params->options[VRT_CPU_OPTION_DEVICES], isa = find_isa();
    const int n_threads = (int)params->options[VRT_CPU_OPTION_THREADS];
    const int share = first_core(machine, i + 1, n) - first_core(machine, i, n);
    const dnnl_version_t *version = dnnl_version();
    struct vrt_device_info *info = ret_info;

    info->index = info->card = i;
    info->n_threads = n_threads > 0 ? n_threads : VRT_MAX(share, 1);
    info->n_in_flight = 1;
    info->n_pixels = info->n_threads * PIXELS_PER_THREAD;
    info->memory_total_bytes = machine->memory_bytes;
    info->shares_host_memory = true;
    info->preferred_dtype = isas[isa].native_bf16 ? VRT_DTYPE_BF16 : VRT_DTYPE_F32;
    snprintf(info->name, sizeof(info->name), "cpu:%d", i);
    snprintf(info->packing_id, sizeof(info->packing_id), "cpu");
    snprintf(info->description, sizeof(info->description), "%s, %d %s, %s%s", machine->model,
             info->n_threads, info->n_threads == 1 ? "thread" : "threads", isas[isa].name,
             tiles_name());

    /* oneDNN cuts its loops by the sizes of the caches, which the model stands for. */
    snprintf(info->class_id, sizeof(info->class_id), "cpu, %s, %s%s, oneDNN %d.%d.%d",
             machine->model, isas[isa].name, tiles_name(), version->major, version->minor,
             version->patch);
}

/* Which library it is that computes, and by which instructions. */
static void tell_library(struct vrt_findings *findings)
{
    const dnnl_version_t *version = dnnl_version();
    const struct vrt_finding finding = {
        .backend = "cpu",
        .what = "library",
        .kind = VRT_FINDING_THERE,
    };

    vrt_finding_add(findings, &finding, "oneDNN %d.%d.%d, by %s%s", version->major, version->minor,
                    version->patch, isas[find_isa()].name, tiles_name());
}

static int cpu_enumerate(const struct vrt_registry_params *params,
                         struct vrt_device_info **ret_infos,
                     size_t *ret_n_infos)
{
    const int n = (int)params->options[VRT_CPU_OPTION_DEVICES];
    VRT_CLEANUP(vrt_freep) struct vrt_cpu_machine *machine = malloc(sizeof(*machine));
    struct vrt_device_info *infos;

    infos = calloc((size_t)n, sizeof(*infos));
    if (!infos || !machine) {
        free(infos);
        return vrt_raise(-ENOMEM);
    }
    vrt_cpu_machine_look(machine);
    tell_library(params->findings);
    for (int i = 0; i < n; i++)
        describe(machine, params, i, &infos[i]);
    *ret_infos = infos;
    *ret_n_infos = (size_t)n;
    return 0;
}

static void cpu_close(struct vrt_device *device)
{
    struct vrt_cpu_device *cpu = vrt_cpu_device_of(device);

    vrt_cpu_pool_free(cpu->pool);
    vrt_dnnl_free(cpu->dnnl);
    free(cpu);
}

/* Keeps device `info` on the index-th run of as many cores as it has threads, node by node, where
 * it does not span all nodes anyway. */
static void find_home(const struct vrt_device_info *info)
{
    VRT_CLEANUP(vrt_freep) struct vrt_cpu_machine *machine = malloc(sizeof(*machine));
    const int n = info->n_threads;

    if (!machine)
        return;
    vrt_cpu_machine_look(machine);
    if (machine->n_nodes >= 2 && n < machine->n_allowed &&
        info->index <= machine->n_allowed / n - 1)
        vrt_cpu_machine_stay(machine->cores + info->index * n, n);
}

static int cpu_open(const struct vrt_device_info *info, struct vrt_device **ret_device)
{
    struct vrt_cpu_device *cpu = calloc(1, sizeof(*cpu));
    int r;

    if (!cpu)
        return vrt_raise(-ENOMEM);
    find_home(info);
    cpu->isa = vrt_cpu_isa_best();
    cpu->n_threads = info->n_threads;
    const struct vrt_cpu_pool_params pool = {
        .n_threads = cpu->n_threads,
        .begin = vrt_dnnl_enter_thread,
    };
    r = vrt_dnnl_new(cpu->n_threads, &cpu->dnnl);
    if (r == 0)
        r = vrt_cpu_pool_new(&pool, &cpu->pool);
    if (r < 0) {
        cpu_close(&cpu->base);
        return vrt_fold(r);
    }
    *ret_device = &cpu->base;
    return 0;
}

static int cpu_buffer_new(struct vrt_device *device, size_t size_bytes,
                          struct vrt_buffer **ret_buffer)
{
    /* Arenas and frames are walked through in order: fewer, larger pages. */
    const size_t align = size_bytes >= 2 * HUGE_PAGE ? HUGE_PAGE : CACHE_LINE;
    struct vrt_cpu_buffer *buffer;

    (void)device;
    if (size_bytes > SIZE_MAX - align)
        return VRT_BACKEND_E_NOMEM;
    buffer = calloc(1, sizeof(*buffer));
    if (!buffer)
        return vrt_raise(-ENOMEM);
    const size_t rounded = (size_bytes + align - 1) / align * align;
    buffer->data = aligned_alloc(align, rounded);
    if (!buffer->data) {
        free(buffer);
        return VRT_BACKEND_E_NOMEM;
    }
    if (align == HUGE_PAGE)
        madvise(buffer->data, rounded, MADV_HUGEPAGE);
    *ret_buffer = &buffer->base;
    return 0;
}

static void cpu_buffer_free(struct vrt_device *device, struct vrt_buffer *base)
{
    struct vrt_cpu_buffer *buffer = vrt_container_of(base, struct vrt_cpu_buffer, base);

    (void)device;
    free(buffer->data);
    free(buffer);
}

static int cpu_buffer_write(struct vrt_device *device, struct vrt_buffer *dst,
                            size_t offset_bytes, const void *src, size_t size_bytes)
{
    (void)device;
    memcpy(vrt_container_of(dst, struct vrt_cpu_buffer, base)->data + offset_bytes, src,
           size_bytes);
    return 0;
}

static int cpu_buffer_read(struct vrt_device *device, const struct vrt_buffer *src,
                           size_t offset_bytes, void *dst, size_t size_bytes)
{
    (void)device;
    memcpy(dst, vrt_container_of(src, struct vrt_cpu_buffer, base)->data + offset_bytes,
           size_bytes);
    return 0;
}

static uint8_t *cpu_buffer_host(const struct vrt_buffer *buffer)
{
    return (uint8_t *)vrt_container_of(buffer, struct vrt_cpu_buffer, base)->data;
}

static int cpu_finish(struct vrt_device *device)
{
    struct vrt_cpu_device *cpu = vrt_cpu_device_of(device);
    const int r = cpu->failure;

    cpu->failure = 0;
    return r;
}

static int cpu_memory(struct vrt_device *device, struct vrt_memory_info *ret_info)
{
    ret_info->total_bytes = device->info->memory_total_bytes;
    ret_info->free_bytes = vrt_cpu_machine_free_bytes();
    return 0;
}

const struct vrt_backend_ops vrt_cpu_ops = {
    .enumerate = cpu_enumerate,
    .open = cpu_open,
    .close = cpu_close,
    .buffer_new = cpu_buffer_new,
    .buffer_free = cpu_buffer_free,
    .buffer_write = cpu_buffer_write,
    .buffer_read = cpu_buffer_read,
    .buffer_host = cpu_buffer_host,
    .supports = vrt_cpu_supports,
    .workspace_bytes = vrt_cpu_workspace_bytes,
    .packed_new = vrt_cpu_packed_new,
    .packed_fill = vrt_cpu_packed_fill,
    .packed_free = vrt_cpu_packed_free,
    .replica_begin = vrt_cpu_replica_begin,
    .replica_free = vrt_cpu_replica_free,
    .program_new = vrt_cpu_program_new,
    .program_free = vrt_cpu_program_free,
    .program_submit = vrt_cpu_program_submit,
    .finish = cpu_finish,
    .memory = cpu_memory,
};
