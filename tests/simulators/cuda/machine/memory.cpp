/* SPDX-License-Identifier: MIT */
/*
 * Memory of the devices, which the host may not touch, and pinned memory of the host
 */

#include "tests/simulators/cuda/machine/guard.h"
#include "tests/simulators/cuda/machine/machine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace sim {

namespace {

cudaError_t allocate_device(void **ret_data, size_t n_bytes)
{
    cudaError_t r;
    device *d = current(&r);

    if (!d)
        return r;
    if (!n_bytes) {
        *ret_data = nullptr;
        return cudaSuccess;
    }
    if (shall_fail("malloc") || n_bytes > d->capacity_bytes - d->used_bytes)
        return cudaErrorMemoryAllocation;
    void *data = guarded_new(n_bytes);

    if (!data)
        return cudaErrorMemoryAllocation;
    if (the_machine().memory_is_open)
        guarded_open(data, n_bytes, true);
    d->used_bytes += n_bytes;
    the_machine().memory[reinterpret_cast<uintptr_t>(data)] = {n_bytes, d};
    *ret_data = data;
    return cudaSuccess;
}

cudaError_t allocate_host(void **ret_data, size_t n_bytes)
{
    cudaError_t r;

    if (!current(&r))
        return r;
    void *data = nullptr;

    if (shall_fail("mallochost") || posix_memalign(&data, 256, std::max(n_bytes, size_t(1))) != 0)
        return cudaErrorMemoryAllocation;
    memset(data, 0xff, n_bytes);
    the_machine().memory[reinterpret_cast<uintptr_t>(data)] = {n_bytes, nullptr};
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
iterator exactly(const void *data, bool of_device)
{
    auto &memory = the_machine().memory;
    iterator i = memory.find(reinterpret_cast<uintptr_t>(data));

    return i == memory.end() || (i->second.owner != nullptr) != of_device ? memory.end() : i;
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
            guarded_free(reinterpret_cast<void *>(i->first), i->second.n_bytes);
            i = memory.erase(i);
        } else {
            ++i;
        }
    }
    d->used_bytes = 0;
}

void open_memory(bool open)
{
    if (the_machine().memory_is_open == open)
        return;
    the_machine().memory_is_open = open;
    for (auto &one : the_machine().memory)
        if (one.second.owner)
            guarded_open(reinterpret_cast<void *>(one.first), one.second.n_bytes, open);
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

    if (!data)
        return cudaSuccess;
    const auto i = sim::exactly(data, true);

    if (i == the_machine().memory.end())
        return call::result(cudaErrorInvalidValue);
    sim::device *d = i->second.owner;

    sim::drain_device(d);
    d->used_bytes -= i->second.n_bytes;
    sim::guarded_free(data, i->second.n_bytes);
    the_machine().memory.erase(i);
    return call::result(d->sticky);
}

cudaError_t cudaMallocHost(void **ret_data, size_t n_bytes)
{
    call c;

    return call::result(sim::allocate_host(ret_data, n_bytes));
}

/* Copies under way may use it: they are finished first. */
cudaError_t cudaFreeHost(void *data)
{
    call c;

    if (!data)
        return cudaSuccess;
    const auto i = sim::exactly(data, false);

    if (i == the_machine().memory.end())
        return call::result(cudaErrorInvalidValue);
    for (auto &d : the_machine().devices)
        sim::drain_device(d.get());
    the_machine().memory.erase(i);
    free(data);
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
