/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The CUDA runtime as far as vrtd's backend calls it, for a machine made of plain C++
 *
 * Names, meanings and numbers are those that NVIDIA documents for the runtime API; what is not
 * declared here the simulated machine does not have. How work is executed: ../machine/machine.h.
 */

#include <stddef.h>
#include <stdint.h>

#define CUDART_VERSION 13000

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInitializationError = 3,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidMemcpyDirection = 21,
    cudaErrorInsufficientDriver = 35,
    cudaErrorDevicesUnavailable = 46,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorECCUncorrectable = 214,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorIllegalState = 401,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorLaunchOutOfResources = 701,
    cudaErrorIllegalInstruction = 715,
    cudaErrorMisalignedAddress = 716,
    cudaErrorLaunchFailure = 719,
    cudaErrorNotSupported = 801,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901,
    cudaErrorStreamCaptureMerge = 902,
    cudaErrorStreamCaptureUnmatched = 903,
    cudaErrorStreamCaptureUnjoined = 904,
    cudaErrorStreamCaptureIsolation = 905,
    cudaErrorStreamCaptureImplicit = 906,
    cudaErrorCapturedEvent = 907,
    cudaErrorUnknown = 999
} cudaError_t;

enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4
};

enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8
};

enum cudaStreamCaptureMode {
    cudaStreamCaptureModeRelaxed = 2
};

#define cudaStreamNonBlocking 0x01
#define cudaEventDisableTiming 0x02
#define cudaDeviceScheduleBlockingSync 0x04

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;

typedef struct CUuuid_st {
    char bytes[16];
} cudaUUID_t;

struct cudaDeviceProp {
    char name[256];
    cudaUUID_t uuid;
    size_t totalGlobalMem;          /* bytes */
    size_t sharedMemPerBlockOptin;
    int major, minor;
    int multiProcessorCount;
};

struct cudaFuncAttributes {
    int ptxVersion;
};

#ifdef __cplusplus
#define VRT_SIM_DEFAULT(value) = value
#else
#define VRT_SIM_DEFAULT(value)
#endif

/* Devices. */
cudaError_t cudaGetDeviceCount(int *ret_n);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *ret_device);
cudaError_t cudaSetDeviceFlags(unsigned flags);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *ret_properties, int device);
cudaError_t cudaDeviceGetPCIBusId(char *ret_text, int size, int device);
cudaError_t cudaDriverGetVersion(int *ret_version);
cudaError_t cudaRuntimeGetVersion(int *ret_version);

/* Errors. */
cudaError_t cudaGetLastError(void);
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

/* Memory. */
cudaError_t cudaMalloc(void **ret_data, size_t n_bytes);
cudaError_t cudaFree(void *data);
cudaError_t cudaMallocHost(void **ret_data, size_t n_bytes);
cudaError_t cudaFreeHost(void *data);
cudaError_t cudaMemGetInfo(size_t *ret_free, size_t *ret_total);
cudaError_t cudaMemcpy(void *to, const void *from, size_t n_bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n_bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream VRT_SIM_DEFAULT(0));
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t n_bytes, cudaStream_t stream VRT_SIM_DEFAULT(0));
cudaError_t cudaMemsetAsync(void *to, int value, size_t n_bytes,
                            cudaStream_t stream VRT_SIM_DEFAULT(0));

/* Streams and events. */
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *ret_stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned flags VRT_SIM_DEFAULT(0));
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ret_event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream VRT_SIM_DEFAULT(0));
cudaError_t cudaEventSynchronize(cudaEvent_t event);

/* Graphs. */
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *ret_graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ret_exec, cudaGraph_t graph,
                                 unsigned long long flags VRT_SIM_DEFAULT(0));
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);

#ifdef __cplusplus
}
#endif
