/* SPDX-License-Identifier: MIT */
/*
 * Memory of the devices and pinned memory of the host: an allocation each of the host's allocator
 *
 * Its first 256 MiB are 0xff at first; what is beyond comes into being when it is touched.
 */

#include "machine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace sim {

namespace {

constexpr size_t alignment_bytes = 256, max_poisoned_bytes = size_t(256) << 20;

void *allocate(size_t n_bytes)
{
    void *data = nullptr;

    if (posix_memalign(&data, alignment_bytes, n_bytes) != 0)
        return nullptr;
    memset(data, 0xff, std::min(n_bytes, max_poisoned_bytes));
    return data;
}

cudaError_t allocate_device(void **ret_data, size_t n_bytes)
{
    cudaError_t r = check_no_capture();
    device *d = r ? nullptr : current(&r);

    if (!d)
        return r;
    if (!n_bytes) {
        *ret_data = nullptr;
        return cudaSuccess;
    }
    if (shall_fail("malloc") || n_bytes > d->capacity_bytes - d->used_bytes)
        return cudaErrorMemoryAllocation;
    void *data = allocate(n_bytes);

    if (!data)
        return cudaErrorMemoryAllocation;
    d->used_bytes += n_bytes;
    the_machine().memory[reinterpret_cast<uintptr_t>(data)] = {n_bytes, d, false};
    *ret_data = data;
    return cudaSuccess;
}

cudaError_t allocate_host(void **ret_data, size_t n_bytes)
{
    cudaError_t r;

    if (!current(&r))
        return r;
    void *data = shall_fail("mallochost") ? nullptr : allocate(std::max(n_bytes, size_t(1)));

    if (!data)
        return cudaErrorMemoryAllocation;
    the_machine().memory[reinterpret_cast<uintptr_t>(data)] = {n_bytes, nullptr, false};
    *ret_data = data;
    return cudaSuccess;
}

using iterator = std::map<uintptr_t, allocation>::iterator;

/* The allocation that has the byte at `data`, or end(). */
iterator locate(const void *data)
{
    auto &memory = the_machine().memory;
    const auto at = reinterpret_cast<uintptr_t>(data);
    iterator i = memory.upper_bound(at);

    if (i == memory.begin())
        return memory.end();
    --i;
    return at - i->first < i->second.n_bytes ? i : memory.end();
}

/* The allocation that begins there and is of a device (or of none), or end(). */
iterator exactly(const void *data, bool of_device, bool registered)
{
    auto &memory = the_machine().memory;
    iterator i = memory.find(reinterpret_cast<uintptr_t>(data));

    if (i == memory.end() || (i->second.owner != nullptr) != of_device ||
        i->second.registered != registered)
        return memory.end();
    return i;
}

}

const allocation *find(const void *data, size_t n_bytes)
{
    iterator i = locate(data);

    if (i == the_machine().memory.end())
        return nullptr;
    const size_t offset = reinterpret_cast<uintptr_t>(data) - i->first;

    return n_bytes <= i->second.n_bytes - offset ? &i->second : nullptr;
}

void free_all(device *d)
{
    auto &memory = the_machine().memory;

    for (iterator i = memory.begin(); i != memory.end();) {
        if (i->second.owner == d) {
            free(reinterpret_cast<void *>(i->first));
            i = memory.erase(i);
        } else {
            ++i;
        }
    }
    d->used_bytes = 0;
}

}

using sim::call;
using sim::the_machine;

cudaError_t cudaMalloc(void **ret_data, size_t n_bytes)
{
    call c;

    return call::result(sim::allocate_device(ret_data, n_bytes));
}

cudaError_t cudaFree(void *data)
{
    call c;
    cudaError_t r = sim::check_no_capture();

    if (r || !data)
        return call::result(r);
    const auto i = sim::exactly(data, true, false);

    if (i == the_machine().memory.end())
        return call::result(cudaErrorInvalidValue);
    sim::device *d = i->second.owner;

    sim::drain_device(&c, d);
    d->used_bytes -= i->second.n_bytes;
    the_machine().memory.erase(i);
    free(data);
    return call::result(d->sticky);
}

cudaError_t cudaMallocHost(void **ret_data, size_t n_bytes)
{
    call c;

    return call::result(sim::allocate_host(ret_data, n_bytes));
}

cudaError_t cudaHostAlloc(void **ret_data, size_t n_bytes, unsigned)
{
    return cudaMallocHost(ret_data, n_bytes);
}

/* Copies under way may use it: they are finished first. */
cudaError_t cudaFreeHost(void *data)
{
    call c;
    cudaError_t r = sim::check_no_capture();

    if (r || !data)
        return call::result(r);
    const auto i = sim::exactly(data, false, false);

    if (i == the_machine().memory.end())
        return call::result(cudaErrorInvalidValue);
    for (auto &d : the_machine().devices)
        sim::drain_device(&c, d.get());
    the_machine().memory.erase(i);
    free(data);
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void *data, size_t n_bytes, unsigned)
{
    call c;
    cudaError_t r;

    if (!sim::current(&r))
        return call::result(r);
    if (!data || !n_bytes)
        return call::result(cudaErrorInvalidValue);
    if (sim::shall_fail("hostregister"))
        return call::result(cudaErrorMemoryAllocation);
    if (sim::find(data, 1))
        return call::result(cudaErrorHostMemoryAlreadyRegistered);
    the_machine().memory[reinterpret_cast<uintptr_t>(data)] = {n_bytes, nullptr, true};
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *data)
{
    call c;
    const auto i = sim::exactly(data, false, true);

    if (i == the_machine().memory.end())
        return call::result(cudaErrorHostMemoryNotRegistered);
    for (auto &d : the_machine().devices)
        sim::drain_device(&c, d.get());
    the_machine().memory.erase(i);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *ret_free, size_t *ret_total)
{
    call c;
    cudaError_t r;
    const sim::device *d = sim::current(&r);

    if (!d)
        return call::result(r);
    *ret_free = d->capacity_bytes - d->used_bytes;
    *ret_total = d->capacity_bytes;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *ret_attributes, const void *data)
{
    call c;
    const sim::allocation *a = sim::find(data, 1);

    *ret_attributes = {};
    ret_attributes->device = -2;
    if (a && a->owner) {
        ret_attributes->type = cudaMemoryTypeDevice;
        for (size_t i = 0; i < the_machine().devices.size(); i++)
            if (the_machine().devices[i].get() == a->owner)
                ret_attributes->device = int(i);
        ret_attributes->devicePointer = const_cast<void *>(data);
    } else if (a) {
        ret_attributes->type = cudaMemoryTypeHost;
        ret_attributes->devicePointer = ret_attributes->hostPointer = const_cast<void *>(data);
    }
    return cudaSuccess;
}
