/* SPDX-License-Identifier: MIT */
/*
 * Copies and fills
 *
 * As documented for the runtime's copies: pageable memory of the host is read at the call, and a
 * copy into it is done when the call returns; pinned memory is read and written when the stream
 * comes to it.
 */

#include "tests/simulators/cuda/machine/machine.h"

#include <cstring>

namespace sim {

namespace {

struct copy {
    void *to;
    const void *from;
    size_t n_bytes;
};

struct sides {
    const allocation *to, *from;    /* NULL: pageable */
};

bool on_device(const allocation *a)
{
    return a && a->owner;
}

/* Whether each side is where `kind` says, whole. */
cudaError_t check(const copy &it, cudaMemcpyKind kind, sides *ret_sides)
{
    const sides s = {find(it.to, it.n_bytes), find(it.from, it.n_bytes)};
    const bool begins_in[2] = {on_device(find(it.to, 1)), on_device(find(it.from, 1))};

    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if ((begins_in[0] && !on_device(s.to)) || (begins_in[1] && !on_device(s.from)))
        return cudaErrorInvalidValue;       /* it would go beyond the allocation's end */
    if (kind != cudaMemcpyDefault) {
        const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
        const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;

        if (to_device != on_device(s.to) || from_device != on_device(s.from))
            return cudaErrorInvalidValue;
    }
    *ret_sides = s;
    return cudaSuccess;
}

action plainly(const copy &it)
{
    return [it](std::string *) {
        memmove(it.to, it.from, it.n_bytes);
        return cudaSuccess;
    };
}

/* The bytes as they are now. */
action with_bytes_of_now(const copy &it)
{
    const auto *from = static_cast<const char *>(it.from);

    return [to = it.to, kept = std::vector<char>(from, from + it.n_bytes)](std::string *) {
        memcpy(to, kept.data(), kept.size());
        return cudaSuccess;
    };
}

cudaError_t copy_async(const copy &it, cudaMemcpyKind kind, cudaStream_t handle)
{
    cudaError_t r;
    CUstream_st *stream = resolve(handle, &r);
    sides s;

    if (!stream)
        return r;
    if (!it.n_bytes)
        return cudaSuccess;
    r = check(it, kind, &s);
    if (r)
        return r;
    if (shall_fail("memcpy"))
        return cudaErrorUnknown;
    const bool now = !s.from && !stream->capturing;

    const engine on = on_device(s.to) && !on_device(s.from) ? engine::up :
                      on_device(s.from) && !on_device(s.to) ? engine::down : engine::none;
    r = submit(stream, {now ? with_bytes_of_now(it) : plainly(it), nullptr, nullptr, on});
    if (r || s.to || stream->capturing)
        return r;
    drain(stream, nullptr);
    timeline_wait(stream->until_ns);
    return stream->owner->sticky;
}

cudaError_t fill(void *to, int value, size_t n_bytes, cudaStream_t handle)
{
    cudaError_t r;
    CUstream_st *stream = resolve(handle, &r);

    if (!stream)
        return r;
    if (!n_bytes)
        return cudaSuccess;
    if (!on_device(find(to, n_bytes)))
        return cudaErrorInvalidValue;
    if (shall_fail("memset"))
        return cudaErrorUnknown;
    auto run = [=](std::string *) {
        memset(to, value, n_bytes);
        return cudaSuccess;
    };
    return submit(stream, {run, nullptr, nullptr});
}

/* Whether the byte at `data` is memory of the process's device `i`. */
bool is_of(const void *data, int i)
{
    const allocation *a = find(data, 1);
    const auto &all = the_machine().devices;

    return a && i >= 0 && size_t(i) < all.size() && a->owner == all[size_t(i)].get();
}

}

}

using sim::call;

/* On the default stream; done when it returns. */
cudaError_t cudaMemcpy(void *to, const void *from, size_t n_bytes, cudaMemcpyKind kind)
{
    call c;

    return call::result(sim::copy_async({to, from, n_bytes}, kind, nullptr));
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n_bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    call c;

    return call::result(sim::copy_async({to, from, n_bytes}, kind, stream));
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t n_bytes, cudaStream_t stream)
{
    call c;

    if (!sim::is_of(to, to_device) || !sim::is_of(from, from_device))
        return call::result(cudaErrorInvalidValue);
    return call::result(sim::copy_async({to, from, n_bytes}, cudaMemcpyDeviceToDevice, stream));
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t n_bytes, cudaStream_t stream)
{
    call c;

    return call::result(sim::fill(to, value, n_bytes, stream));
}
