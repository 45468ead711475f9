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

/* `height` rows of `width` bytes. */
struct copy {
    char *to;
    const char *from;
    size_t to_pitch, from_pitch, width, height;

    size_t to_bytes() const { return height ? (height - 1) * to_pitch + width : 0; }
    size_t from_bytes() const { return height ? (height - 1) * from_pitch + width : 0; }
    void run() const
    {
        for (size_t i = 0; i < height; i++)
            memmove(to + i * to_pitch, from + i * from_pitch, width);
    }
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
    const sides s = {find(it.to, it.to_bytes()), find(it.from, it.from_bytes())};
    const bool begins_in[2] = {on_device(find(it.to, 1)), on_device(find(it.from, 1))};

    if (it.width > it.to_pitch || it.width > it.from_pitch)
        return cudaErrorInvalidValue;
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
        it.run();
        return cudaSuccess;
    };
}

/* The bytes as they are now. */
action with_bytes_of_now(const copy &it)
{
    auto kept = std::make_shared<std::vector<char>>(it.width * it.height);
    copy take = it, give = it;

    take.to = kept->data();
    take.to_pitch = it.width;
    take.run();
    give.from = kept->data();
    give.from_pitch = it.width;
    return [kept, give](std::string *) {
        give.run();
        return cudaSuccess;
    };
}

cudaError_t copy_async(call *c, const copy &it, cudaMemcpyKind kind, cudaStream_t handle)
{
    cudaError_t r;
    CUstream_st *stream = resolve(handle, &r);
    sides s;

    if (!stream)
        return r;
    if (!it.width || !it.height)
        return cudaSuccess;
    r = check(it, kind, &s);
    if (r)
        return r;
    if (shall_fail("memcpy"))
        return cudaErrorUnknown;
    const bool now = !s.from && !stream->capturing;

    r = submit(c, stream, {now ? with_bytes_of_now(it) : plainly(it), nullptr, nullptr, nullptr});
    if (r || s.to || stream->capturing)
        return r;
    drain(c, stream, nullptr);
    return stream->owner->sticky;
}

/* On the default stream; done when it returns. */
cudaError_t copy_now(const copy &it, cudaMemcpyKind kind)
{
    call c;
    cudaError_t r = check_no_capture();

    return call::result(r ? r : copy_async(&c, it, kind, nullptr));
}

cudaError_t fill(call *c, void *to, int value, size_t n_bytes, cudaStream_t handle)
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
    return submit(c, stream, {run, nullptr, nullptr, nullptr});
}

copy one_row(void *to, const void *from, size_t n_bytes)
{
    return {static_cast<char *>(to), static_cast<const char *>(from), n_bytes, n_bytes, n_bytes, 1};
}

copy rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
          size_t height)
{
    return {static_cast<char *>(to), static_cast<const char *>(from), to_pitch, from_pitch, width,
            height};
}

}

}

using sim::call;

cudaError_t cudaMemcpy(void *to, const void *from, size_t n_bytes, cudaMemcpyKind kind)
{
    return sim::copy_now(sim::one_row(to, from, n_bytes), kind);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n_bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    call c;

    return call::result(sim::copy_async(&c, sim::one_row(to, from, n_bytes), kind, stream));
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind)
{
    return sim::copy_now(sim::rows(to, to_pitch, from, from_pitch, width, height), kind);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    call c;
    const sim::copy it = sim::rows(to, to_pitch, from, from_pitch, width, height);

    return call::result(sim::copy_async(&c, it, kind, stream));
}

/* Whether both sides are of the devices that the caller names. */
static cudaError_t check_peers(const void *to, int to_device, const void *from, int from_device)
{
    cudaPointerAttributes a, b;

    cudaPointerGetAttributes(&a, to);
    cudaPointerGetAttributes(&b, from);
    return a.device == to_device && b.device == from_device ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device,
                           size_t n_bytes)
{
    const cudaError_t r = check_peers(to, to_device, from, from_device);

    return r ? call::result(r) : cudaMemcpy(to, from, n_bytes, cudaMemcpyDeviceToDevice);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t n_bytes, cudaStream_t stream)
{
    const cudaError_t r = check_peers(to, to_device, from, from_device);

    if (r)
        return call::result(r);
    return cudaMemcpyAsync(to, from, n_bytes, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaMemset(void *to, int value, size_t n_bytes)
{
    call c;
    cudaError_t r = sim::check_no_capture();

    return call::result(r ? r : sim::fill(&c, to, value, n_bytes, nullptr));
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t n_bytes, cudaStream_t stream)
{
    call c;

    return call::result(sim::fill(&c, to, value, n_bytes, stream));
}
