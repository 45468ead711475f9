/* SPDX-License-Identifier: MIT */

/*
 * Asks a Level Zero driver what the xpu backend asks it, and what a mistake would ask it, and
 * prints a line for each answer: so two drivers can be compared (test_answers.py).
 *
 * usage: answers KERNELS.spv
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <level_zero/ze_api.h>

#include "base/macro.h"

#define ROOM 8
#define POISON 0x5a

static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context;
static ze_command_queue_handle_t queue;

static void say(const char *what, ze_result_t r)
{
    printf("%s: %x\n", what, (unsigned)r);
}

/* Ends the program where nothing can go on. */
static void need(const char *what, ze_result_t r)
{
    if (!r)
        return;
    say(what, r);
    exit(1);
}

/* How many of `room` elements were written, if these are the first; -1: others. */
static int count_written(const void *array, size_t size, int room)
{
    const unsigned char *bytes = array;
    int n = 0;

    for (int i = 0; i < room; i++) {
        bool written = false;
        for (size_t k = 0; k < size; k++)
            written |= bytes[(size_t)i * size + k] != POISON;
        if (written && n < i)
            return -1;
        n += written;
    }
    return n;
}

/* Asks how many, and for more than there are. */
#define ENUMERATE(get, of, type)                                                            \
    do {                                                                                    \
        type array_[ROOM];                                                                  \
        uint32_t n_ = 0;                                                                    \
        memset(array_, POISON, sizeof(array_));                                             \
        unsigned r_ = (unsigned)get(of, &n_, NULL);                                         \
        printf("%s, count 0: %x, %u\n", #get, r_, n_);                                      \
        n_ = ROOM;                                                                          \
        r_ = (unsigned)get(of, &n_, array_);                                                \
        printf("%s, more than there are: %x, count %s, %d written\n", #get, r_,             \
               n_ == ROOM ? "left" : "lowered", count_written(array_, sizeof(type), ROOM)); \
    } while (0)

static void ask_lists(void)
{
    ENUMERATE(zeDeviceGet, driver, ze_device_handle_t);
    ENUMERATE(zeDeviceGetSubDevices, device, ze_device_handle_t);

    ze_command_queue_group_properties_t groups[ROOM];
    uint32_t n = ROOM;
    memset(groups, 0, sizeof(groups));
    for (int i = 0; i < ROOM; i++)
        groups[i].stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES;
    say("zeDeviceGetCommandQueueGroupProperties",
        zeDeviceGetCommandQueueGroupProperties(device, &n, groups));
    for (uint32_t i = 0; i < n; i++)
        printf("queue group %u: flags %x, %u queues\n", i, groups[i].flags, groups[i].numQueues);

    ze_device_memory_properties_t memories[ROOM];
    n = ROOM;
    memset(memories, 0, sizeof(memories));
    memories[0].stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES;
    say("zeDeviceGetMemoryProperties", zeDeviceGetMemoryProperties(device, &n, memories));
    printf("memory: %u, flags %x, clock %u, width %u, name \"%s\"\n", n, memories[0].flags,
           memories[0].maxClockRate, memories[0].maxBusWidth, memories[0].name);
}

static void ask_properties(void)
{
    ze_device_properties_t p = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };
    ze_device_compute_properties_t c = { .stype = ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES };
    ze_device_module_properties_t m = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES };
    ze_pci_ext_properties_t pci = { .stype = ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES };
    ze_bool_t can = 7;

    say("zeDeviceGetProperties", zeDeviceGetProperties(device, &p));
    printf("device: type %d, %x:%x, flags %x, sub %u, clock %u, longest %" PRIu64 ", contexts %u\n",
           p.type, p.vendorId, p.deviceId, p.flags, p.subdeviceId, p.coreClockRate,
           p.maxMemAllocSize, p.maxHardwareContexts);
    printf("units: %u threads of %u lanes, %ux%ux%u\n", p.numThreadsPerEU, p.physicalEUSimdWidth,
           p.numSlices, p.numSubslicesPerSlice, p.numEUsPerSubslice);
    printf("clocks: %" PRIu64 ", %u and %u bits\n", p.timerResolution, p.timestampValidBits,
           p.kernelTimestampValidBits);
    say("zeDeviceGetComputeProperties", zeDeviceGetComputeProperties(device, &c));
    printf("groups: %u items, %u x %u x %u, local %u, subgroups", c.maxTotalGroupSize,
           c.maxGroupSizeX, c.maxGroupSizeY, c.maxGroupSizeZ, c.maxSharedLocalMemory);
    for (uint32_t i = 0; i < c.numSubGroupSizes; i++)
        printf(" %u", c.subGroupSizes[i]);
    say("\nzeDeviceGetModuleProperties", zeDeviceGetModuleProperties(device, &m));
    printf("modules: SPIR-V %x, flags %x, %u bytes of arguments, printf %u\n",
           m.spirvVersionSupported, m.flags, m.maxArgumentsSize, m.printfBufferSize);
    say("zeDevicePciGetPropertiesExt", zeDevicePciGetPropertiesExt(device, &pci));
    say("zeDeviceCanAccessPeer, itself", zeDeviceCanAccessPeer(device, device, &can));
    printf("itself: %d\n", can);
}

static void allocate(const char *what, size_t size, size_t alignment, bool relaxed)
{
    static const ze_relaxed_allocation_limits_exp_desc_t limits = {
        .stype = ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC,
        .flags = ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE,
    };
    const ze_device_mem_alloc_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC,
        .pNext = relaxed ? &limits : NULL,
    };
    void *memory = NULL;
    const ze_result_t r = zeMemAllocDevice(context, &desc, size, alignment, device, &memory);

    printf("memory, %s: %x, aligned to %s", what, (unsigned)r,
           !memory ? "nothing" : (uintptr_t)memory % 65536 == 0 ? "64 KiB" :
           (uintptr_t)memory % 4096 == 0 ? "4 KiB" : "less");
    if (!r)
        printf(", freed: %x", (unsigned)zeMemFree(context, memory));
    puts("");
}

static void ask_memory(void)
{
    const ze_host_mem_alloc_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
    void *host = NULL;

    allocate("a byte", 1, 64, false);
    allocate("alignment 0", 64, 0, false);
    allocate("alignment 3", 64, 3, false);
    allocate("alignment 64 KiB", 64, 65536, false);
    allocate("alignment 2 MiB", 64, 2 << 20, false);
    allocate("nothing", 0, 64, false);
    allocate("5 GiB", (size_t)5 << 30, 64, false);
    allocate("5 GiB, relaxed", (size_t)5 << 30, 64, true);
    allocate("1 PiB, relaxed", (size_t)1 << 50, 64, true);
    say("host memory, nothing", zeMemAllocHost(context, &desc, 0, 64, &host));
    host = NULL;
    say("host memory", zeMemAllocHost(context, &desc, 64, 64, &host));
    say("host memory, freed", zeMemFree(context, host));
    say("memory that is none, freed", zeMemFree(context, &host));
}

static void ask_events(void)
{
    const ze_event_pool_desc_t pool_desc = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
        .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
        .count = 2,
    };
    ze_event_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = 0 };
    ze_event_pool_handle_t pool;
    ze_event_handle_t event, other = NULL;

    need("zeEventPoolCreate", zeEventPoolCreate(context, &pool_desc, 1, &device, &pool));
    need("zeEventCreate", zeEventCreate(pool, &desc, &event));
    say("event, not signalled, status", zeEventQueryStatus(event));
    say("event, not signalled, waited 0", zeEventHostSynchronize(event, 0));
    say("event, not signalled, waited 1 ms", zeEventHostSynchronize(event, 1000000));
    say("event, signalled", zeEventHostSignal(event));
    say("event, status", zeEventQueryStatus(event));
    say("event, waited 0", zeEventHostSynchronize(event, 0));
    say("event, signalled again", zeEventHostSignal(event));
    say("event, reset", zeEventHostReset(event));
    say("event, status after reset", zeEventQueryStatus(event));
    say("event, reset again", zeEventHostReset(event));
    desc.index = 2;
    say("event beyond the pool", zeEventCreate(pool, &desc, &other));
    say("event, destroyed", zeEventDestroy(event));
    say("event pool, destroyed", zeEventPoolDestroy(pool));
}

static void ask_lists_of_commands(void)
{
    const ze_command_list_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
    const ze_fence_desc_t fence_desc = { .stype = ZE_STRUCTURE_TYPE_FENCE_DESC };
    ze_command_list_handle_t list;
    ze_fence_handle_t fence;

    need("zeCommandListCreate", zeCommandListCreate(context, device, &desc, &list));
    need("zeFenceCreate", zeFenceCreate(queue, &fence_desc, &fence));
    say("fence, never queued, status", zeFenceQueryStatus(fence));
    say("fence, never queued, waited 0", zeFenceHostSynchronize(fence, 0));
    say("barrier", zeCommandListAppendBarrier(list, NULL, 0, NULL));
    say("list, closed", zeCommandListClose(list));
    say("lists, executed", zeCommandQueueExecuteCommandLists(queue, 1, &list, fence));
    say("fence, waited", zeFenceHostSynchronize(fence, 2000000000));
    say("fence, status", zeFenceQueryStatus(fence));
    say("fence, reset", zeFenceReset(fence));
    say("fence, status after reset", zeFenceQueryStatus(fence));
    say("fence, queued again", zeCommandQueueExecuteCommandLists(queue, 1, &list, fence));
    say("fence, waited again", zeFenceHostSynchronize(fence, 2000000000));
    say("queue, waited", zeCommandQueueSynchronize(queue, 2000000000));
    say("list, reset", zeCommandListReset(list));
    say("list, destroyed", zeCommandListDestroy(list));
    say("fence, destroyed", zeFenceDestroy(fence));
}

static void make(const char *what, ze_module_format_t format, const uint8_t *data, size_t n_bytes,
                 ze_module_handle_t *ret_module)
{
    const ze_module_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
        .format = format,
        .inputSize = n_bytes,
        .pInputModule = data,
    };

    *ret_module = NULL;
    printf("module of %s: %x\n", what,
           (unsigned)zeModuleCreate(context, device, &desc, ret_module, NULL));
    fflush(stdout);
}

static void ask_kernel(ze_module_handle_t module)
{
    ze_kernel_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = "absent" };
    ze_kernel_handle_t kernel;
    const uint32_t n = 1;
    const uint64_t wide = 1;

    say("kernel that is absent", zeKernelCreate(module, &desc, &kernel));
    desc.pKernelName = "add";
    need("zeKernelCreate", zeKernelCreate(module, &desc, &kernel));
    say("group of nothing", zeKernelSetGroupSize(kernel, 0, 1, 1));
    say("group of too many", zeKernelSetGroupSize(kernel, 4096, 1, 1));
    say("group of 64", zeKernelSetGroupSize(kernel, 64, 1, 1));
    say("argument 3", zeKernelSetArgumentValue(kernel, 3, sizeof(n), &n));
    say("argument 3, wide", zeKernelSetArgumentValue(kernel, 3, sizeof(wide), &wide));
    say("argument 4", zeKernelSetArgumentValue(kernel, 4, sizeof(n), &n));
    say("argument 0, nothing", zeKernelSetArgumentValue(kernel, 0, sizeof(void *), NULL));
    say("kernel, destroyed", zeKernelDestroy(kernel));
    desc.pKernelName = "sum";
    need("zeKernelCreate", zeKernelCreate(module, &desc, &kernel));
    say("group of another size than is written", zeKernelSetGroupSize(kernel, 32, 1, 1));
    say("kernel, destroyed", zeKernelDestroy(kernel));
}

/* Not of SPIR-V that is nonsense: Intel's compiler ends the process then. */
static void ask_modules(const char *path)
{
    static uint8_t data[1 << 20];
    static const uint8_t nonsense[256] = "no module at all";
    ze_module_handle_t module;
    FILE *f = fopen(path, "rb");
    const size_t n = f ? fread(data, 1, sizeof(data), f) : 0;
    size_t n_binary = 0;

    if (f)
        fclose(f);
    make("nonsense as a binary", ZE_MODULE_FORMAT_NATIVE, nonsense, sizeof(nonsense), &module);
    make("SPIR-V", ZE_MODULE_FORMAT_IL_SPIRV, data, n, &module);
    if (!module)
        return;
    ask_kernel(module);
    say("size of the binary", zeModuleGetNativeBinary(module, &n_binary, NULL));
    uint8_t *binary = calloc(1, n_binary + 1);
    if (!binary)
        return;
    say("binary", zeModuleGetNativeBinary(module, &n_binary, binary));
    say("module, destroyed", zeModuleDestroy(module));
    make("its binary", ZE_MODULE_FORMAT_NATIVE, binary, n_binary, &module);
    if (module)
        say("module, destroyed", zeModuleDestroy(module));
    make("half of its binary", ZE_MODULE_FORMAT_NATIVE, binary, n_binary / 2, &module);
    if (module)
        say("module, destroyed", zeModuleDestroy(module));
    free(binary);
}

int main(int argc, char **argv)
{
    const ze_context_desc_t context_desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
    const ze_command_queue_desc_t queue_desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC };
    uint32_t n = 1;

    if (argc != 2)
        return 2;
    need("zeInit", zeInit(ZE_INIT_FLAG_GPU_ONLY));
    need("zeDriverGet", zeDriverGet(&n, &driver));
    n = 1;
    need("zeDeviceGet", zeDeviceGet(driver, &n, &device));
    need("zeContextCreate", zeContextCreate(driver, &context_desc, &context));
    need("zeCommandQueueCreate", zeCommandQueueCreate(context, device, &queue_desc, &queue));
    ask_lists();
    ask_properties();
    ask_memory();
    ask_events();
    ask_lists_of_commands();
    ask_modules(argv[1]);
    need("zeCommandQueueDestroy", zeCommandQueueDestroy(queue));
    need("zeContextDestroy", zeContextDestroy(context));
    return 0;
}
