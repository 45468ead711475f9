/* SPDX-License-Identifier: MIT */
/* The machine: what it is made of, by the environment, and errors. */

#include "tests/simulators/cuda/machine/machine.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace sim {

namespace {

struct architecture {
    int capability, n_multiprocessors;
    size_t shared_optin_bytes;
};

constexpr architecture architectures[] = {
    {75, 40, 65536},    {80, 108, 166912}, {86, 84, 101376},   {87, 16, 166912},
    {89, 128, 101376},  {90, 132, 232448}, {100, 148, 232448}, {103, 148, 232448},
    {120, 170, 101376}, {121, 48, 101376},
};

struct failure {
    std::string what;
    unsigned long at;           /* counts down to 0 */
};

struct failures {
    std::vector<failure> wanted;

    failures()
    {
        const char *text = getenv("VRT_CUDA_SIM_FAIL");

        while (text && *text) {
            const size_t length = strcspn(text, ",");
            const std::string one(text, length);
            const size_t at = one.find('@');

            wanted.push_back({one.substr(0, at),
                              at == std::string::npos ? 1 : strtoul(&one[at + 1], nullptr, 10)});
            text += length + (text[length] == ',');
        }
    }
};

unsigned long number(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoul(text, nullptr, 10) : otherwise;
}

/* CUDA_VISIBLE_DEVICES: ordinals up to the first that is none. */
std::vector<int> visible(int n)
{
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    std::vector<int> result;

    if (!text) {
        for (int i = 0; i < n; i++)
            result.push_back(i);
        return result;
    }
    while (*text) {
        char *end;
        const long i = strtol(text, &end, 10);

        if (end == text || i < 0 || i >= n)
            break;
        result.push_back(int(i));
        text = *end == ',' ? end + 1 : "";
    }
    return result;
}

__thread cudaError_t last_error;

}

machine::machine()
{
    const int capability = int(number("VRT_CUDA_SIM_ARCH", 90));
    const size_t capacity = number("VRT_CUDA_SIM_MEMORY", size_t(8) << 30);
    architecture is = {capability, 16, 101376};

    for (const auto &a : architectures)
        if (a.capability == capability)
            is = a;
    lazy = number("VRT_CUDA_SIM_LAZY", 1) != 0;
    for (int ordinal : visible(int(number("VRT_CUDA_SIM_DEVICES", 1)))) {
        auto d = std::make_unique<device>();

        d->ordinal = ordinal;
        d->capability = is.capability;
        d->n_multiprocessors = is.n_multiprocessors;
        d->shared_optin_bytes = is.shared_optin_bytes;
        d->capacity_bytes = capacity;
        d->streams.push_back(new CUstream_st{d.get(), true, true, {}, {}, {}, 0});
        devices.push_back(std::move(d));
    }
    if (shall_fail("init"))
        initialisation = cudaErrorInitializationError;
    if (shall_fail("driver"))
        initialisation = cudaErrorInsufficientDriver;
}

/* Never freed: threads may end after main() does. */
machine &the_machine()
{
    static machine *const it = new machine;

    return *it;
}

bool shall_fail(const char *what)
{
    static failures *const all = new failures;

    for (auto &f : all->wanted)
        if (f.what == what && f.at && --f.at == 0)
            return true;
    return false;
}

bool captures_here(void)
{
    for (const auto &c : the_machine().captures)
        if (c->thread == std::this_thread::get_id())
            return true;
    return false;
}

void refused(const char *what)
{
    if (!getenv("VRT_CUDA_SIM_STRICT"))
        return;
    fprintf(stderr, "cuda-sim: a library was given %s\n", what);
    abort();
}

void fail(device *d, cudaError_t error, const std::string &why)
{
    the_machine().last_failure = why;
    fprintf(stderr, "cuda-sim: device %d: %s: %s\n", d->ordinal, cudaGetErrorName(error),
            why.c_str());
    if (!d->sticky)
        d->sticky = error;
}

std::string last_failure()
{
    call c;

    return the_machine().last_failure;
}

cudaError_t call::result(cudaError_t r)
{
    if (r && r != cudaErrorNotReady)
        last_error = r;
    return r;
}

}

using sim::last_error;

cudaError_t cudaGetLastError(void)
{
    const cudaError_t r = last_error;

    last_error = cudaSuccess;
    return r;
}

#define NAMES(X)                                                                        \
    X(cudaSuccess, "no error")                                                          \
    X(cudaErrorInvalidValue, "invalid argument")                                        \
    X(cudaErrorMemoryAllocation, "out of memory")                                       \
    X(cudaErrorInitializationError, "initialization error")                             \
    X(cudaErrorInvalidConfiguration, "invalid configuration argument")                  \
    X(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy")             \
    X(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version") \
    X(cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable") \
    X(cudaErrorNoDevice, "no CUDA-capable device is detected")                          \
    X(cudaErrorInvalidDevice, "invalid device ordinal")                                 \
    X(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device") \
    X(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered")                 \
    X(cudaErrorInvalidResourceHandle, "invalid resource handle")                        \
    X(cudaErrorNotReady, "device not ready")                                            \
    X(cudaErrorIllegalAddress, "an illegal memory access was encountered")              \
    X(cudaErrorLaunchOutOfResources, "too many resources requested for launch")         \
    X(cudaErrorIllegalInstruction, "an illegal instruction was encountered")            \
    X(cudaErrorMisalignedAddress, "misaligned address")                                 \
    X(cudaErrorLaunchFailure, "unspecified launch failure")                             \
    X(cudaErrorNotSupported, "operation not supported")                                 \
    X(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing") \
    X(cudaErrorStreamCaptureInvalidated,                                                \
      "operation failed due to a previous error during capture")                        \
    X(cudaErrorStreamCaptureMerge,                                                      \
      "operation would result in a merge of separate capture sequences")                \
    X(cudaErrorStreamCaptureUnmatched, "capture was not initiated in this stream")      \
    X(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work")             \
    X(cudaErrorStreamCaptureIsolation,                                                  \
      "dependency created on uncaptured work in another stream")                        \
    X(cudaErrorStreamCaptureImplicit,                                                   \
      "operation would make the legacy stream depend on a capturing blocking stream")   \
    X(cudaErrorCapturedEvent,                                                           \
      "operation not permitted on an event last recorded in a capturing stream")        \
    X(cudaErrorUnknown, "unknown error")

const char *cudaGetErrorName(cudaError_t error)
{
#define NAME(name, text)    \
    if (error == name)      \
        return #name;
    NAMES(NAME)
#undef NAME
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
#define TEXT(name, text)    \
    if (error == name)      \
        return text;
    NAMES(TEXT)
#undef TEXT
    return "unrecognized error code";
}
