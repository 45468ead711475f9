/* SPDX-License-Identifier: MIT */

/*
 * A loader in front of the loader: counts what the xpu backend asks of Level Zero, and what failed
 *
 * The backend finds it in the place of libze_loader.so.1 (LD_LIBRARY_PATH), and it hands each call
 * on to the real one (VRT_RECORD_LOADER). At the end of the process it writes to the file
 * VRT_RECORD:
 *
 *     call zeMemFree 12                        answered well, so many times
 *     failed zeModuleCreate 70000004 1         result, how often
 *     kernel conv2d_f16_dpas 96 0              launches, bytes spilled
 *     module native 3                          made of a binary; spirv: compiled
 *     bytes 1048576                            copied
 *
 * So what was asked is known of a driver that computes nothing, and can be held against what was
 * asked of another one. Thread: any.
 */

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/xpu/system/loader.h"

#define MAX_RESULTS 64
#define MAX_KERNELS 4096

/* How often a call ended so. */
struct outcome {
    const char *call;
    ze_result_t result;
    unsigned long n;
};

struct kernel {
    char name[64];
    ze_kernel_handle_t handle;          /* NULL: destroyed */
    unsigned long n_launches;
    unsigned spill_bytes;
};

static struct {
    pthread_mutex_t lock;
    struct vrt_xpu_loader real;
    ze_result_t (*get_properties)(ze_kernel_handle_t, ze_kernel_properties_t *);

    /* under lock */
    struct outcome outcomes[2 * MAX_RESULTS];
    size_t n_outcomes;
    struct kernel kernels[MAX_KERNELS];
    size_t n_kernels;
    unsigned long n_spirv, n_native, n_bytes;
} record = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct vrt_xpu_loader *real(void)
{
    return &record.real;
}

static ze_result_t note(const char *call, ze_result_t result)
{
    size_t i = 0;

    pthread_mutex_lock(&record.lock);
    while (i < record.n_outcomes && (record.outcomes[i].result != result ||
                                     strcmp(record.outcomes[i].call, call) != 0))
        i++;
    if (i < VRT_ARRAY_SIZE(record.outcomes)) {
        record.outcomes[i].call = call;
        record.outcomes[i].result = result;
        record.outcomes[i].n++;
        record.n_outcomes = VRT_MAX(record.n_outcomes, i + 1);
    }
    pthread_mutex_unlock(&record.lock);
    return result;
}

static void add_kernel(const char *name, ze_kernel_handle_t handle)
{
    ze_kernel_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES };

    if (record.get_properties)
        record.get_properties(handle, &properties);
    pthread_mutex_lock(&record.lock);
    if (record.n_kernels < MAX_KERNELS) {
        struct kernel *kernel = &record.kernels[record.n_kernels++];
        snprintf(kernel->name, sizeof(kernel->name), "%s", name);
        kernel->handle = handle;
        kernel->spill_bytes = properties.spillMemSize;
    }
    pthread_mutex_unlock(&record.lock);
}

static struct kernel *find_kernel(ze_kernel_handle_t handle)
{
    for (size_t i = record.n_kernels; i-- > 0;)
        if (record.kernels[i].handle == handle)
            return &record.kernels[i];
    return NULL;
}

static void note_launch(ze_kernel_handle_t handle, bool is_gone)
{
    pthread_mutex_lock(&record.lock);
    struct kernel *kernel = find_kernel(handle);
    if (kernel && is_gone)
        kernel->handle = NULL;
    else if (kernel)
        kernel->n_launches++;
    pthread_mutex_unlock(&record.lock);
}

static void note_copy(size_t n_bytes)
{
    pthread_mutex_lock(&record.lock);
    record.n_bytes += n_bytes;
    pthread_mutex_unlock(&record.lock);
}

static void note_module(ze_module_format_t format)
{
    pthread_mutex_lock(&record.lock);
    *(format == ZE_MODULE_FORMAT_NATIVE ? &record.n_native : &record.n_spirv) += 1;
    pthread_mutex_unlock(&record.lock);
}

__attribute__((constructor)) static void load(void)
{
    const char *path = getenv("VRT_RECORD_LOADER");
    struct vrt_error error = { 0 };

    if (vrt_xpu_loader_init(&record.real, path ? path : "", &error)) {
        fprintf(stderr, "VRT_RECORD_LOADER=%s: %s\n", path ? path : "", error.message);
        abort();
    }
    void *entry = dlsym(record.real.library, "zeKernelGetProperties");
    memcpy(&record.get_properties, &entry, sizeof(entry));
}

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("VRT_RECORD");
    FILE *f = path ? fopen(path, "w") : NULL;

    if (!f)
        return;
    for (size_t i = 0; i < record.n_outcomes; i++) {
        const struct outcome *o = &record.outcomes[i];
        if (o->result)
            fprintf(f, "failed %s %x %lu\n", o->call, (unsigned)o->result, o->n);
        else
            fprintf(f, "call %s %lu\n", o->call, o->n);
    }
    for (size_t i = 0; i < record.n_kernels; i++) {
        const struct kernel *k = &record.kernels[i];
        fprintf(f, "kernel %s %lu %u\n", k->name, k->n_launches, k->spill_bytes);
    }
    fprintf(f, "module native %lu\nmodule spirv %lu\nbytes %lu\n", record.n_native,
            record.n_spirv, record.n_bytes);
    fclose(f);
}

#define P(...) (__VA_ARGS__)

/* A call that is handed on, and how it ended. */
#define CALL(name, params, args)                            \
    __attribute__((visibility("default")))                  \
    ze_result_t name params                                 \
    {                                                       \
        return note(#name, real()->name args);              \
    }

CALL(zeInit, P(ze_init_flags_t flags), (flags))
CALL(zeDriverGet, P(uint32_t *n, ze_driver_handle_t *list), (n, list))
CALL(zeDriverGetProperties, P(ze_driver_handle_t d, ze_driver_properties_t *p), (d, p))
CALL(zeDeviceGet, P(ze_driver_handle_t d, uint32_t *n, ze_device_handle_t *list), (d, n, list))
CALL(zeDeviceGetSubDevices, P(ze_device_handle_t d, uint32_t *n, ze_device_handle_t *list),
     (d, n, list))
CALL(zeDeviceGetProperties, P(ze_device_handle_t d, ze_device_properties_t *p), (d, p))
CALL(zeDeviceGetComputeProperties, P(ze_device_handle_t d, ze_device_compute_properties_t *p),
     (d, p))
CALL(zeDeviceGetModuleProperties, P(ze_device_handle_t d, ze_device_module_properties_t *p), (d, p))
CALL(zeDeviceGetMemoryProperties,
     P(ze_device_handle_t d, uint32_t *n, ze_device_memory_properties_t *p), (d, n, p))
CALL(zeDeviceGetCommandQueueGroupProperties,
     P(ze_device_handle_t d, uint32_t *n, ze_command_queue_group_properties_t *p), (d, n, p))
CALL(zeDeviceCanAccessPeer, P(ze_device_handle_t d, ze_device_handle_t peer, ze_bool_t *can),
     (d, peer, can))
CALL(zeDevicePciGetPropertiesExt, P(ze_device_handle_t d, ze_pci_ext_properties_t *p), (d, p))
CALL(zeContextCreate,
     P(ze_driver_handle_t d, const ze_context_desc_t *desc, ze_context_handle_t *ret),
     (d, desc, ret))
CALL(zeContextDestroy, P(ze_context_handle_t c), (c))
CALL(zeMemAllocDevice,
     P(ze_context_handle_t c, const ze_device_mem_alloc_desc_t *desc, size_t size, size_t alignment,
       ze_device_handle_t d, void **ret),
     (c, desc, size, alignment, d, ret))
CALL(zeMemAllocHost,
     P(ze_context_handle_t c, const ze_host_mem_alloc_desc_t *desc, size_t size, size_t alignment,
       void **ret),
     (c, desc, size, alignment, ret))
CALL(zeMemFree, P(ze_context_handle_t c, void *memory), (c, memory))
CALL(zeCommandQueueCreate,
     P(ze_context_handle_t c, ze_device_handle_t d, const ze_command_queue_desc_t *desc,
       ze_command_queue_handle_t *ret),
     (c, d, desc, ret))
CALL(zeCommandQueueDestroy, P(ze_command_queue_handle_t q), (q))
CALL(zeCommandQueueExecuteCommandLists,
     P(ze_command_queue_handle_t q, uint32_t n, ze_command_list_handle_t *lists,
       ze_fence_handle_t fence),
     (q, n, lists, fence))
CALL(zeCommandListCreate,
     P(ze_context_handle_t c, ze_device_handle_t d, const ze_command_list_desc_t *desc,
       ze_command_list_handle_t *ret),
     (c, d, desc, ret))
CALL(zeCommandListCreateImmediate,
     P(ze_context_handle_t c, ze_device_handle_t d, const ze_command_queue_desc_t *desc,
       ze_command_list_handle_t *ret),
     (c, d, desc, ret))
CALL(zeCommandListDestroy, P(ze_command_list_handle_t l), (l))
CALL(zeCommandListClose, P(ze_command_list_handle_t l), (l))
CALL(zeCommandListReset, P(ze_command_list_handle_t l), (l))
CALL(zeCommandListAppendBarrier,
     P(ze_command_list_handle_t l, ze_event_handle_t e, uint32_t n, ze_event_handle_t *events),
     (l, e, n, events))
CALL(zeFenceCreate,
     P(ze_command_queue_handle_t q, const ze_fence_desc_t *desc, ze_fence_handle_t *ret),
     (q, desc, ret))
CALL(zeFenceDestroy, P(ze_fence_handle_t f), (f))
CALL(zeFenceHostSynchronize, P(ze_fence_handle_t f, uint64_t timeout), (f, timeout))
CALL(zeFenceReset, P(ze_fence_handle_t f), (f))
CALL(zeEventPoolCreate,
     P(ze_context_handle_t c, const ze_event_pool_desc_t *desc, uint32_t n,
       ze_device_handle_t *devices, ze_event_pool_handle_t *ret),
     (c, desc, n, devices, ret))
CALL(zeEventPoolDestroy, P(ze_event_pool_handle_t p), (p))
CALL(zeEventCreate,
     P(ze_event_pool_handle_t p, const ze_event_desc_t *desc, ze_event_handle_t *ret),
     (p, desc, ret))
CALL(zeEventDestroy, P(ze_event_handle_t e), (e))
CALL(zeEventHostSynchronize, P(ze_event_handle_t e, uint64_t timeout), (e, timeout))
CALL(zeEventHostReset, P(ze_event_handle_t e), (e))
CALL(zeModuleDestroy, P(ze_module_handle_t m), (m))
CALL(zeModuleGetNativeBinary, P(ze_module_handle_t m, size_t *n, uint8_t *binary), (m, n, binary))
CALL(zeKernelSetGroupSize, P(ze_kernel_handle_t k, uint32_t x, uint32_t y, uint32_t z),
     (k, x, y, z))
CALL(zeKernelSetArgumentValue,
     P(ze_kernel_handle_t k, uint32_t i, size_t size, const void *value), (k, i, size, value))
CALL(zesDeviceEnumMemoryModules,
     P(zes_device_handle_t d, uint32_t *n, zes_mem_handle_t *list), (d, n, list))
CALL(zesMemoryGetState, P(zes_mem_handle_t m, zes_mem_state_t *state), (m, state))
CALL(zesDeviceEnumTemperatureSensors,
     P(zes_device_handle_t d, uint32_t *n, zes_temp_handle_t *list), (d, n, list))
CALL(zesTemperatureGetProperties, P(zes_temp_handle_t t, zes_temp_properties_t *p), (t, p))
CALL(zesTemperatureGetState, P(zes_temp_handle_t t, double *celsius), (t, celsius))
CALL(zesDeviceEnumPowerDomains,
     P(zes_device_handle_t d, uint32_t *n, zes_pwr_handle_t *list), (d, n, list))
CALL(zesPowerGetEnergyCounter, P(zes_pwr_handle_t p, zes_power_energy_counter_t *counter),
     (p, counter))
CALL(zesPowerGetLimits,
     P(zes_pwr_handle_t p, zes_power_sustained_limit_t *sustained, zes_power_burst_limit_t *burst,
       zes_power_peak_limit_t *peak),
     (p, sustained, burst, peak))
CALL(zesDeviceEnumEngineGroups,
     P(zes_device_handle_t d, uint32_t *n, zes_engine_handle_t *list), (d, n, list))
CALL(zesEngineGetProperties, P(zes_engine_handle_t e, zes_engine_properties_t *p), (e, p))
CALL(zesEngineGetActivity, P(zes_engine_handle_t e, zes_engine_stats_t *stats), (e, stats))

#define EXPORT __attribute__((visibility("default")))

EXPORT ze_result_t zeModuleCreate(ze_context_handle_t c, ze_device_handle_t d,
                                  const ze_module_desc_t *desc, ze_module_handle_t *ret,
                                  ze_module_build_log_handle_t *ret_log)
{
    note_module(desc->format);
    return note(__func__, real()->zeModuleCreate(c, d, desc, ret, ret_log));
}

EXPORT ze_result_t zeKernelCreate(ze_module_handle_t m, const ze_kernel_desc_t *desc,
                                  ze_kernel_handle_t *ret)
{
    const ze_result_t r = note(__func__, real()->zeKernelCreate(m, desc, ret));

    if (!r)
        add_kernel(desc->pKernelName, *ret);
    return r;
}

EXPORT ze_result_t zeKernelDestroy(ze_kernel_handle_t k)
{
    note_launch(k, true);
    return note(__func__, real()->zeKernelDestroy(k));
}

EXPORT ze_result_t zeCommandListAppendLaunchKernel(ze_command_list_handle_t l, ze_kernel_handle_t k,
                                                   const ze_group_count_t *groups,
                                                   ze_event_handle_t e, uint32_t n,
                                                   ze_event_handle_t *events)
{
    const ze_result_t r = real()->zeCommandListAppendLaunchKernel(l, k, groups, e, n, events);

    if (!r)
        note_launch(k, false);
    return note(__func__, r);
}

EXPORT ze_result_t zeCommandListAppendMemoryCopy(ze_command_list_handle_t l, void *to,
                                                 const void *from, size_t size,
                                                 ze_event_handle_t e, uint32_t n,
                                                 ze_event_handle_t *events)
{
    const ze_result_t r = real()->zeCommandListAppendMemoryCopy(l, to, from, size, e, n, events);

    if (!r)
        note_copy(size);
    return note(__func__, r);
}
