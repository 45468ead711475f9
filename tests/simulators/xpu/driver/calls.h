/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the driver answers: for each of the loader's tables the calls in it
 *
 * Each is a function, named "drv_" and what the API calls it, which does what the API says. A table
 * that the loader asks for and of which nothing is answered has no calls.
 */

#include <stddef.h>

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>
#include <level_zero/zes_api.h>
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_api.h>
#include <level_zero/zet_ddi.h>

#define DRV_NO_CALLS(X)

#define DRV_GLOBAL_CALLS(X) \
    X(ze, , Init)

#define DRV_DRIVER_CALLS(X)                 \
    X(ze, Driver, Get)                      \
    X(ze, Driver, GetProperties)

#define DRV_DEVICE_CALLS(X)                         \
    X(ze, Device, Get)                              \
    X(ze, Device, GetSubDevices)                    \
    X(ze, Device, GetProperties)                    \
    X(ze, Device, GetComputeProperties)             \
    X(ze, Device, GetModuleProperties)              \
    X(ze, Device, GetCommandQueueGroupProperties)   \
    X(ze, Device, GetMemoryProperties)              \
    X(ze, Device, CanAccessPeer)                    \
    X(ze, Device, PciGetPropertiesExt)

#define DRV_CONTEXT_CALLS(X)                \
    X(ze, Context, Create)                  \
    X(ze, Context, Destroy)

#define DRV_COMMAND_QUEUE_CALLS(X)              \
    X(ze, CommandQueue, Create)                 \
    X(ze, CommandQueue, Destroy)                \
    X(ze, CommandQueue, ExecuteCommandLists)    \
    X(ze, CommandQueue, Synchronize)

#define DRV_COMMAND_LIST_CALLS(X)                       \
    X(ze, CommandList, Create)                          \
    X(ze, CommandList, CreateImmediate)                 \
    X(ze, CommandList, Destroy)                         \
    X(ze, CommandList, Close)                           \
    X(ze, CommandList, Reset)                           \
    X(ze, CommandList, AppendBarrier)                   \
    X(ze, CommandList, AppendMemoryCopy)                \
    X(ze, CommandList, AppendLaunchKernel)

#define DRV_FENCE_CALLS(X)              \
    X(ze, Fence, Create)                \
    X(ze, Fence, Destroy)               \
    X(ze, Fence, HostSynchronize)       \
    X(ze, Fence, QueryStatus)           \
    X(ze, Fence, Reset)

#define DRV_EVENT_POOL_CALLS(X)     \
    X(ze, EventPool, Create)        \
    X(ze, EventPool, Destroy)

#define DRV_EVENT_CALLS(X)                  \
    X(ze, Event, Create)                    \
    X(ze, Event, Destroy)                   \
    X(ze, Event, HostSignal)                \
    X(ze, Event, HostSynchronize)           \
    X(ze, Event, QueryStatus)               \
    X(ze, Event, HostReset)

#define DRV_MODULE_CALLS(X)             \
    X(ze, Module, Create)               \
    X(ze, Module, Destroy)              \
    X(ze, Module, GetNativeBinary)

#define DRV_KERNEL_CALLS(X)             \
    X(ze, Kernel, Create)               \
    X(ze, Kernel, Destroy)              \
    X(ze, Kernel, SetGroupSize)         \
    X(ze, Kernel, SetArgumentValue)

#define DRV_MEM_CALLS(X)                \
    X(ze, Mem, AllocDevice)             \
    X(ze, Mem, AllocHost)               \
    X(ze, Mem, Free)

#define DRV_SYSMAN_DEVICE_CALLS(X)          \
    X(zes, Device, EnumMemoryModules)       \
    X(zes, Device, EnumTemperatureSensors)  \
    X(zes, Device, EnumPowerDomains)        \
    X(zes, Device, EnumEngineGroups)

#define DRV_SYSMAN_MEMORY_CALLS(X)  \
    X(zes, Memory, GetState)

#define DRV_SYSMAN_TEMPERATURE_CALLS(X) \
    X(zes, Temperature, GetProperties)  \
    X(zes, Temperature, GetState)

#define DRV_SYSMAN_POWER_CALLS(X)       \
    X(zes, Power, GetEnergyCounter)     \
    X(zes, Power, GetLimits)

#define DRV_SYSMAN_ENGINE_CALLS(X)  \
    X(zes, Engine, GetProperties)   \
    X(zes, Engine, GetActivity)

/* The API, the table's name, that name in the table's type, its calls. */
#define DRV_TABLES(X)                                                   \
    X(ze, Global, global, DRV_GLOBAL_CALLS)                             \
    X(ze, Driver, driver, DRV_DRIVER_CALLS)                             \
    X(ze, Device, device, DRV_DEVICE_CALLS)                             \
    X(ze, DeviceExp, device_exp, DRV_NO_CALLS)                          \
    X(ze, Context, context, DRV_CONTEXT_CALLS)                          \
    X(ze, CommandQueue, command_queue, DRV_COMMAND_QUEUE_CALLS)         \
    X(ze, CommandList, command_list, DRV_COMMAND_LIST_CALLS)            \
    X(ze, Image, image, DRV_NO_CALLS)                                   \
    X(ze, ImageExp, image_exp, DRV_NO_CALLS)                            \
    X(ze, Fence, fence, DRV_FENCE_CALLS)                                \
    X(ze, EventPool, event_pool, DRV_EVENT_POOL_CALLS)                  \
    X(ze, Event, event, DRV_EVENT_CALLS)                                \
    X(ze, EventExp, event_exp, DRV_NO_CALLS)                            \
    X(ze, Module, module, DRV_MODULE_CALLS)                             \
    X(ze, ModuleBuildLog, module_build_log, DRV_NO_CALLS)               \
    X(ze, Kernel, kernel, DRV_KERNEL_CALLS)                             \
    X(ze, KernelExp, kernel_exp, DRV_NO_CALLS)                          \
    X(ze, Sampler, sampler, DRV_NO_CALLS)                               \
    X(ze, PhysicalMem, physical_mem, DRV_NO_CALLS)                      \
    X(ze, Mem, mem, DRV_MEM_CALLS)                                      \
    X(ze, VirtualMem, virtual_mem, DRV_NO_CALLS)                        \
    X(ze, FabricVertexExp, fabric_vertex_exp, DRV_NO_CALLS)             \
    X(ze, FabricEdgeExp, fabric_edge_exp, DRV_NO_CALLS)                 \
    X(zes, Driver, driver, DRV_NO_CALLS)                                \
    X(zes, Device, device, DRV_SYSMAN_DEVICE_CALLS)                     \
    X(zes, Scheduler, scheduler, DRV_NO_CALLS)                          \
    X(zes, PerformanceFactor, performance_factor, DRV_NO_CALLS)         \
    X(zes, Power, power, DRV_SYSMAN_POWER_CALLS)                        \
    X(zes, Frequency, frequency, DRV_NO_CALLS)                          \
    X(zes, Engine, engine, DRV_SYSMAN_ENGINE_CALLS)                     \
    X(zes, Standby, standby, DRV_NO_CALLS)                              \
    X(zes, Firmware, firmware, DRV_NO_CALLS)                            \
    X(zes, Memory, memory, DRV_SYSMAN_MEMORY_CALLS)                     \
    X(zes, FabricPort, fabric_port, DRV_NO_CALLS)                       \
    X(zes, Temperature, temperature, DRV_SYSMAN_TEMPERATURE_CALLS)      \
    X(zes, Psu, psu, DRV_NO_CALLS)                                      \
    X(zes, Fan, fan, DRV_NO_CALLS)                                      \
    X(zes, Led, led, DRV_NO_CALLS)                                      \
    X(zes, Ras, ras, DRV_NO_CALLS)                                      \
    X(zes, Diagnostics, diagnostics, DRV_NO_CALLS)                      \
    X(zet, Device, device, DRV_NO_CALLS)                                \
    X(zet, Context, context, DRV_NO_CALLS)                              \
    X(zet, CommandList, command_list, DRV_NO_CALLS)                     \
    X(zet, Module, module, DRV_NO_CALLS)                                \
    X(zet, Kernel, kernel, DRV_NO_CALLS)                                \
    X(zet, MetricGroup, metric_group, DRV_NO_CALLS)                     \
    X(zet, MetricGroupExp, metric_group_exp, DRV_NO_CALLS)              \
    X(zet, Metric, metric, DRV_NO_CALLS)                                \
    X(zet, MetricStreamer, metric_streamer, DRV_NO_CALLS)               \
    X(zet, MetricQueryPool, metric_query_pool, DRV_NO_CALLS)            \
    X(zet, MetricQuery, metric_query, DRV_NO_CALLS)                     \
    X(zet, TracerExp, tracer_exp, DRV_NO_CALLS)                         \
    X(zet, Debug, debug, DRV_NO_CALLS)

/* Declares each: what a pointer of the loader's table points to. */
#define DRV_DECLARE(api, object, call) \
    __typeof__(*(api##_pfn##object##call##_t)NULL) drv_##api##object##call;
#define DRV_DECLARE_ALL(api, name, type, calls) calls(DRV_DECLARE)

DRV_TABLES(DRV_DECLARE_ALL)
