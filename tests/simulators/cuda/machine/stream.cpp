/* SPDX-License-Identifier: MIT */
/* Streams: queues of work, and when it is done. */

#include "tests/simulators/cuda/machine/machine.h"

#include <algorithm>
#include <chrono>

namespace sim {

namespace {

uint64_t now_ns()
{
    return uint64_t(std::chrono::steady_clock::now().time_since_epoch().count());
}

bool is_complete(const rendezvous &meeting)
{
    return meeting.cancelled || meeting.arrived.size() == meeting.n_expected;
}

bool can_step(const CUstream_st *s)
{
    if (s->queue.empty())
        return false;
    const work &first = s->queue.front();

    if (first.wait && !first.wait->done)
        return false;
    if (!first.meeting || first.meeting->cancelled)
        return true;
    for (const auto &one : first.meeting->arrived)
        if (!one->done)
            return false;
    return is_complete(*first.meeting);
}

/* Does the first work of the queue. A broken device does none, but leaves nobody waiting. */
void step(CUstream_st *s)
{
    work first = std::move(s->queue.front());
    device *d = s->owner;
    std::string why;

    s->queue.pop_front();
    if (first.run && !d->sticky) {
        open_memory(true);
        const cudaError_t r = first.run(&why);

        if (r)
            fail(d, r, why);
    }
    if (first.signal) {
        first.signal->done = true;
        first.signal->time_ns = now_ns();
    }
}

std::vector<CUstream_st *> others(const CUstream_st *stream)
{
    std::vector<CUstream_st *> result;

    for (auto &d : the_machine().devices)
        for (CUstream_st *s : d->streams)
            if (s != stream && can_step(s))
                result.push_back(s);
    return result;
}

/* What else happens to run meanwhile: nothing, all that can, or something. */
void run_others(const CUstream_st *stream)
{
    order &turns = the_machine().turns;

    if (turns.is_forward())
        return;
    for (auto can = others(stream); !can.empty(); can = others(stream)) {
        if (turns.is_random() && turns.choose_of(2))
            return;
        step(can[turns.choose_of(can.size())]);
    }
}

void release(CUstream_st *s)
{
    for (auto &w : s->queue)
        if (w.signal)
            w.signal->done = true;
    auto &all = s->owner->streams;

    all.erase(std::remove(all.begin(), all.end(), s), all.end());
    delete s;
}

bool exists(cudaStream_t stream)
{
    for (auto &d : the_machine().devices)
        if (std::count(d->streams.begin(), d->streams.end(), stream))
            return true;
    return false;
}

}

CUstream_st *resolve(cudaStream_t stream, cudaError_t *ret_error)
{
    device *d = current(ret_error);

    if (!d)
        return nullptr;
    if (!stream || stream == cudaStreamLegacy)
        return d->streams.front();
    if (exists(stream)) {
        *ret_error = stream->owner->sticky;
        return *ret_error ? nullptr : stream;
    }
    *ret_error = cudaErrorInvalidResourceHandle;
    return nullptr;
}

/* Does what the first work of the queue waits for. */
static void prepare(call *c, const CUstream_st *stream)
{
    const std::shared_ptr<marker> wait = stream->queue.front().wait;
    const std::shared_ptr<rendezvous> meeting = stream->queue.front().meeting;

    if (wait && !wait->done)
        return drain(c, wait->stream, wait.get());
    if (!is_complete(*meeting))                 /* another thread has still to call */
        return the_machine().changed.wait(c->held);
    for (size_t i = 0; i < meeting->arrived.size(); i++)
        if (!meeting->arrived[i]->done)
            drain(c, meeting->arrived[i]->stream, meeting->arrived[i].get());
}

void drain(call *c, CUstream_st *stream, const marker *until)
{
    run_others(stream);
    while (!stream->queue.empty() && !(until && until->done)) {
        if (can_step(stream))
            step(stream);
        else
            prepare(c, stream);
        run_others(stream);
    }
}

void drain_device(call *c, device *d)
{
    for (size_t i = 0; i < d->streams.size(); i++)
        drain(c, d->streams[i], nullptr);
}

/* The default stream comes after what blocking streams have, and they come after it. */
cudaError_t submit(call *c, CUstream_st *stream, work w)
{
    machine &m = the_machine();

    if (stream->capturing) {
        capture &it = *stream->capturing;

        if (it.invalid)
            return cudaErrorStreamCaptureInvalidated;
        if (w.run) {
            it.made->push_back({std::move(w.run), stream->tail});
            stream->tail = {it.made->size() - 1};
        }
        return cudaSuccess;
    }
    if (stream->is_default) {
        for (auto &one : m.captures) {
            if (one->mode != cudaStreamCaptureModeRelaxed && one->origin->blocking &&
                one->origin->owner == stream->owner) {
                one->invalid = true;
                return cudaErrorStreamCaptureImplicit;
            }
        }
        for (size_t i = 1; i < stream->owner->streams.size(); i++)
            if (stream->owner->streams[i]->blocking)
                drain(c, stream->owner->streams[i], nullptr);
    }
    const bool must_wait = w.meeting && !is_complete(*w.meeting);

    stream->queue.push_back(std::move(w));
    m.changed.notify_all();
    if ((stream->is_default || !m.lazy) && !must_wait)
        drain(c, stream, nullptr);
    return cudaSuccess;
}

}

using sim::call;
using sim::device;
using sim::marker;

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *ret_stream, unsigned flags, int priority)
{
    call c;
    cudaError_t r;
    device *d = sim::current(&r);

    if (!d)
        return call::result(r);
    if (sim::shall_fail("stream"))
        return call::result(cudaErrorMemoryAllocation);
    d->streams.push_back(
        new CUstream_st{d, false, !(flags & cudaStreamNonBlocking), priority, {}, {}, {}});
    *ret_stream = d->streams.back();
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *ret_stream, unsigned flags)
{
    return cudaStreamCreateWithPriority(ret_stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t *ret_stream)
{
    return cudaStreamCreateWithFlags(ret_stream, cudaStreamDefault);
}

/* What it still has to do is done, as documented. */
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    call c;

    if (!stream || !sim::exists(stream) || stream->is_default)
        return call::result(cudaErrorInvalidResourceHandle);
    sim::drain(&c, stream, nullptr);
    if (stream->capturing)
        stream->capturing->invalid = true;
    sim::release(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    call c;
    cudaError_t r = sim::check_no_capture();
    CUstream_st *stream = r ? nullptr : sim::resolve(handle, &r);

    if (!stream)
        return call::result(r);
    if (stream->capturing)
        return call::result(cudaErrorStreamCaptureUnsupported);
    if (sim::shall_fail("sync"))
        return call::result(cudaErrorUnknown);
    sim::drain(&c, stream, nullptr);
    return call::result(stream->owner->sticky);
}

/* Each question is a chance for one more piece of work. */
cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    call c;
    cudaError_t r;
    CUstream_st *stream = sim::resolve(handle, &r);

    if (!stream)
        return call::result(r);
    if (stream->capturing)
        return call::result(cudaErrorStreamCaptureUnsupported);
    if (stream->queue.empty())
        return cudaSuccess;
    if (sim::can_step(stream))
        sim::step(stream);
    else if (!stream->queue.front().meeting || sim::is_complete(*stream->queue.front().meeting))
        sim::prepare(&c, stream);
    return stream->owner->sticky ? call::result(stream->owner->sticky) : cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned)
{
    call c;
    cudaError_t r;
    CUstream_st *stream = sim::resolve(handle, &r);

    if (!stream || !event)
        return call::result(stream ? cudaErrorInvalidResourceHandle : r);
    if (event->captured) {
        if (stream->capturing && stream->capturing != event->captured)
            return call::result(cudaErrorStreamCaptureMerge);
        if (stream->is_default)
            return call::result(cudaErrorStreamCaptureImplicit);
        stream->capturing = event->captured;
        event->captured->streams.insert(stream);
        for (size_t i : event->tail)
            if (!std::count(stream->tail.begin(), stream->tail.end(), i))
                stream->tail.push_back(i);
        return cudaSuccess;
    }
    if (stream->capturing) {
        stream->capturing->invalid = true;
        return call::result(cudaErrorStreamCaptureIsolation);
    }
    if (!event->last || event->last->done)
        return cudaSuccess;
    return call::result(sim::submit(&c, stream, {nullptr, event->last, nullptr, nullptr}));
}
