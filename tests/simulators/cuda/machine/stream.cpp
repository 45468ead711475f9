/* SPDX-License-Identifier: MIT */
/* Streams: queues of work, and when it is done. */

#include "tests/simulators/cuda/machine/machine.h"

#include <algorithm>

namespace sim {

namespace {

bool can_step(const CUstream_st *s)
{
    if (s->queue.empty())
        return false;
    const work &first = s->queue.front();

    return !first.wait || first.wait->done;
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
    timeline_do(s, first);
    if (first.signal)
        first.signal->done = true;
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
    if (!stream)
        return d->streams.front();
    if (exists(stream)) {
        *ret_error = stream->owner->sticky;
        return *ret_error ? nullptr : stream;
    }
    *ret_error = cudaErrorInvalidResourceHandle;
    return nullptr;
}

/* Does what the first work of the queue waits for. */
static void prepare(const CUstream_st *stream)
{
    const std::shared_ptr<marker> wait = stream->queue.front().wait;

    drain(wait->stream, wait.get());
}

void drain(CUstream_st *stream, const marker *until)
{
    run_others(stream);
    while (!stream->queue.empty() && !(until && until->done)) {
        if (can_step(stream))
            step(stream);
        else
            prepare(stream);
        run_others(stream);
    }
}

void drain_device(device *d)
{
    for (size_t i = 0; i < d->streams.size(); i++)
        drain(d->streams[i], nullptr);
}

/* The default stream comes after what blocking streams have, and they come after it. */
cudaError_t submit(CUstream_st *stream, work w)
{
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
        for (size_t i = 1; i < stream->owner->streams.size(); i++)
            if (stream->owner->streams[i]->blocking)
                drain(stream->owner->streams[i], nullptr);
    }
    timeline_submit(&w);
    stream->queue.push_back(std::move(w));
    if (stream->is_default || !the_machine().lazy)
        drain(stream, nullptr);
    return cudaSuccess;
}

}

using sim::call;
using sim::device;
using sim::marker;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *ret_stream, unsigned flags)
{
    call c;
    cudaError_t r;
    device *d = sim::current(&r);

    if (!d)
        return call::result(r);
    if (sim::shall_fail("stream"))
        return call::result(cudaErrorMemoryAllocation);
    const bool blocking = !(flags & cudaStreamNonBlocking);

    d->streams.push_back(new CUstream_st{d, false, blocking, {}, {}, {}, 0});
    *ret_stream = d->streams.back();
    return cudaSuccess;
}

/* What it still has to do is done, as documented. */
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    call c;

    if (!stream || !sim::exists(stream) || stream->is_default)
        return call::result(cudaErrorInvalidResourceHandle);
    sim::drain(stream, nullptr);
    if (stream->capturing)
        stream->capturing->invalid = true;
    sim::release(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    call c;
    cudaError_t r;
    CUstream_st *stream = sim::resolve(handle, &r);

    if (!stream)
        return call::result(r);
    if (stream->capturing)
        return call::result(cudaErrorStreamCaptureUnsupported);
    if (sim::shall_fail("sync"))
        return call::result(cudaErrorUnknown);
    sim::drain(stream, nullptr);
    sim::timeline_wait(stream->until_ns);
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
    else
        sim::prepare(stream);
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
    return call::result(sim::submit(stream, {nullptr, event->last, nullptr}));
}
