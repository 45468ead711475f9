/* SPDX-License-Identifier: MIT */
/* Events: places in streams. */

#include "tests/simulators/cuda/machine/machine.h"

using sim::call;
using sim::device;
using sim::marker;

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ret_event, unsigned)
{
    call c;
    cudaError_t r;
    device *d = sim::current(&r);

    if (!d)
        return call::result(r);
    if (sim::shall_fail("event"))
        return call::result(cudaErrorMemoryAllocation);
    *ret_event = new CUevent_st{d, {}, {}, {}};
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    call c;

    if (!event)
        return call::result(cudaErrorInvalidResourceHandle);
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle)
{
    call c;
    cudaError_t r;
    CUstream_st *stream = sim::resolve(handle, &r);

    if (!stream || !event)
        return call::result(stream ? cudaErrorInvalidResourceHandle : r);
    if (event->owner != stream->owner)
        return call::result(cudaErrorInvalidResourceHandle);
    if (stream->capturing) {
        event->captured = stream->capturing;
        event->tail = stream->tail;
        return cudaSuccess;
    }
    event->captured = nullptr;
    event->last = std::make_shared<marker>();
    event->last->stream = stream;
    return call::result(sim::submit(stream, {nullptr, nullptr, event->last}));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    call c;

    if (!event || event->captured)
        return call::result(event ? cudaErrorCapturedEvent : cudaErrorInvalidResourceHandle);
    if (sim::shall_fail("sync"))
        return call::result(cudaErrorUnknown);
    const std::shared_ptr<marker> last = event->last;

    if (last && !last->done)
        sim::drain(last->stream, last.get());
    if (last)
        sim::timeline_wait(last->at_ns);
    return call::result(event->owner->sticky);
}
