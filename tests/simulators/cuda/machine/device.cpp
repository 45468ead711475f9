/* SPDX-License-Identifier: MIT */
/* Devices: how many, which is current, what they are. */

#include "tests/simulators/cuda/machine/machine.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace sim {

namespace {

__thread int current_ordinal;

device *find_device(int ordinal)
{
    auto &all = the_machine().devices;

    return ordinal >= 0 && size_t(ordinal) < all.size() ? all[size_t(ordinal)].get() : nullptr;
}

cudaError_t usable()
{
    const machine &m = the_machine();

    if (m.initialisation)
        return m.initialisation;
    return m.devices.empty() ? cudaErrorNoDevice : cudaSuccess;
}

void describe(const device &d, cudaDeviceProp *p)
{
    *p = cudaDeviceProp();
    snprintf(p->name, sizeof(p->name), "simulated sm_%d", d.capability);
    memcpy(p->uuid.bytes, "vrt-cuda-sim-\0\0", 16);
    p->uuid.bytes[15] = char(d.ordinal);
    p->totalGlobalMem = d.capacity_bytes;
    p->sharedMemPerBlockOptin = d.shared_optin_bytes;
    p->major = d.capability / 10;
    p->minor = d.capability % 10;
    p->multiProcessorCount = d.n_multiprocessors;
}

}

device *current(cudaError_t *ret_error)
{
    device *d = find_device(current_ordinal);

    *ret_error = usable();
    if (*ret_error)
        return nullptr;
    if (d->lost || d->sticky)
        *ret_error = d->sticky ? d->sticky : cudaErrorDevicesUnavailable;
    return *ret_error ? nullptr : d;
}

}

using sim::call;
using sim::current;
using sim::device;

cudaError_t cudaGetDeviceCount(int *ret_n)
{
    call c;
    const cudaError_t r = sim::usable();

    *ret_n = r ? 0 : int(sim::the_machine().devices.size());
    return call::result(r);
}

cudaError_t cudaSetDevice(int ordinal)
{
    call c;
    const cudaError_t r = sim::usable();
    const device *d = sim::find_device(ordinal);

    if (r || !d)
        return call::result(r ? r : cudaErrorInvalidDevice);
    sim::current_ordinal = ordinal;
    return call::result(d->lost ? cudaErrorDevicesUnavailable : cudaSuccess);
}

cudaError_t cudaGetDevice(int *ret_device)
{
    *ret_device = sim::current_ordinal;
    return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned)
{
    call c;
    cudaError_t r;

    current(&r);
    return call::result(r);
}

cudaError_t cudaDeviceReset(void)
{
    call c;
    const cudaError_t r = sim::usable();
    device *d = sim::find_device(sim::current_ordinal);

    if (r)
        return call::result(r);
    sim::drain_device(d);
    sim::free_all(d);
    d->sticky = cudaSuccess;
    return call::result(d->lost ? cudaErrorDevicesUnavailable : cudaSuccess);
}

cudaError_t cudaDeviceSynchronize(void)
{
    call c;
    cudaError_t r;
    device *d = current(&r);

    if (!d)
        return call::result(r);
    /* Whichever thread captures: the device encompasses its stream. */
    for (auto &one : sim::the_machine().captures) {
        if (one->origin->owner == d) {
            one->invalid = true;
            r = cudaErrorStreamCaptureUnsupported;
        }
    }
    if (r)
        return call::result(r);
    sim::drain_device(d);
    return call::result(d->sticky);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *ret_properties, int ordinal)
{
    call c;
    const device *d = sim::find_device(ordinal);

    if (!d)
        return call::result(cudaErrorInvalidDevice);
    sim::describe(*d, ret_properties);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *ret_text, int size, int ordinal)
{
    call c;
    const device *d = sim::find_device(ordinal);

    if (!d || size < 13)
        return call::result(d ? cudaErrorInvalidValue : cudaErrorInvalidDevice);
    snprintf(ret_text, size_t(size), "0000:%02X:00.0", unsigned(1 + d->ordinal) & 0xff);
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *ret_version)
{
    *ret_version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *ret_version)
{
    *ret_version = CUDART_VERSION;
    return cudaSuccess;
}
