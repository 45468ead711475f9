/* SPDX-License-Identifier: MIT */
/* Events: places in streams. */

#include "tests/simulators/cuda/machine/machine.h"

using sim::call;
using sim::device;
using sim::marker;

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ret_event, unsigned flags)
{
    call c;
    cudaError_t r;
    device *d = sim::current(&r);

    if (!d)
        return call::result(r);
    if (sim::shall_fail("event"))
        return call::result(cudaErrorMemoryAllocation);
    *ret_event = new CUevent_st{d, !(flags & cudaEventDisableTiming), {}, {}, {}};
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *ret_event)
{
    return cudaEventCreateWithFlags(ret_event, cudaEventDefault);
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
    return call::result(sim::submit(&c, stream, {nullptr, nullptr, event->last, nullptr}));
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    marker *last;

    {
        call c;

        if (!event || event->captured)
            return call::result(event ? cudaErrorCapturedEvent : cudaErrorInvalidResourceHandle);
        if (event->owner->sticky)
            return call::result(event->owner->sticky);
        last = event->last.get();
        if (!last || last->done)
            return cudaSuccess;
    }
    return cudaStreamQuery(last->stream) ? cudaErrorNotReady : cudaErrorNotReady;
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
        sim::drain(&c, last->stream, last.get());
    return call::result(event->owner->sticky);
}

cudaError_t cudaEventElapsedTime(float *ret_ms, cudaEvent_t start, cudaEvent_t end)
{
    call c;

    if (!start || !end || !start->last || !end->last || !start->timed || !end->timed)
        return call::result(cudaErrorInvalidResourceHandle);
    if (!start->last->done || !end->last->done)
        return cudaErrorNotReady;
    *ret_ms = float(double(int64_t(end->last->time_ns - start->last->time_ns)) * 1e-6);
    return cudaSuccess;
}
