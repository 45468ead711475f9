/* SPDX-License-Identifier: MIT */
/* Captures and graphs: work that is kept, with what it must come after, to be run repeatedly. */

#include "tests/simulators/cuda/machine/machine.h"

#include <algorithm>

namespace sim {

namespace {

/* Whether all that `stream` captured is before what comes next in the capture's own stream. */
bool is_joined(const capture &it, const CUstream_st *stream)
{
    const auto &tail = it.origin->tail;

    for (size_t i : stream->tail) {
        bool needed = std::count(tail.begin(), tail.end(), i) != 0;

        for (const node &n : *it.made)
            needed = needed || std::count(n.after.begin(), n.after.end(), i);
        if (!needed)
            return false;
    }
    return true;
}

void leave(capture *it)
{
    for (auto &d : the_machine().devices) {
        for (CUstream_st *s : d->streams) {
            if (s->capturing.get() == it) {
                s->capturing = nullptr;
                s->tail.clear();
            }
        }
    }
}

cudaError_t begin(cudaStream_t handle)
{
    cudaError_t r;
    CUstream_st *stream = resolve(handle, &r);

    if (!stream)
        return r;
    if (stream->is_default)
        return cudaErrorStreamCaptureUnsupported;
    if (stream->capturing)
        return cudaErrorIllegalState;
    if (shall_fail("capture"))
        return cudaErrorMemoryAllocation;
    auto it = std::make_shared<capture>();

    it->origin = stream;
    it->thread = std::this_thread::get_id();
    it->made = std::make_shared<nodes>();
    it->streams.insert(stream);
    stream->capturing = it;
    stream->tail.clear();
    the_machine().captures.push_back(it);
    return cudaSuccess;
}

cudaError_t end(cudaStream_t handle, cudaGraph_t *ret_graph)
{
    cudaError_t r;
    CUstream_st *stream = resolve(handle, &r);

    if (!stream)
        return r;
    const std::shared_ptr<capture> it = stream->capturing;

    if (!it || it->origin != stream)
        return it ? cudaErrorStreamCaptureUnmatched : cudaErrorIllegalState;
    r = it->invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    for (const CUstream_st *s : it->streams)
        if (!r && s->capturing == it && !is_joined(*it, s))
            r = cudaErrorStreamCaptureUnjoined;
    leave(it.get());
    auto &all = the_machine().captures;

    all.erase(std::remove(all.begin(), all.end(), it), all.end());
    *ret_graph = r ? nullptr : new CUgraph_st{it->made};
    return r;
}

}

cudaError_t run_nodes(order *turns, const nodes &all, std::string *ret_why)
{
    std::vector<std::vector<size_t>> needed_by(all.size());
    std::vector<size_t> n_missing(all.size()), can;

    for (size_t i = 0; i < all.size(); i++) {
        n_missing[i] = all[i].after.size();
        for (size_t j : all[i].after)
            needed_by[j].push_back(i);
        if (all[i].after.empty())
            can.push_back(i);
    }
    while (!can.empty()) {
        const size_t at = turns->choose_of(can.size()), i = can[at];

        can.erase(can.begin() + ptrdiff_t(at));
        for (size_t j : needed_by[i])
            if (--n_missing[j] == 0)
                can.push_back(j);
        const cudaError_t r = all[i].run(ret_why);

        if (r)
            return r;
    }
    return cudaSuccess;
}

}

using sim::call;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode)
{
    call c;

    return call::result(mode == cudaStreamCaptureModeRelaxed ? sim::begin(stream)
                                                             : cudaErrorNotSupported);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *ret_graph)
{
    call c;

    return call::result(sim::end(stream, ret_graph));
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ret_exec, cudaGraph_t graph, unsigned long long)
{
    call c;
    cudaError_t r;

    if (!sim::current(&r))
        return call::result(r);
    if (!graph)
        return call::result(cudaErrorInvalidValue);
    if (sim::shall_fail("instantiate"))
        return call::result(cudaErrorMemoryAllocation);
    *ret_exec = new CUgraphExec_st{graph->made};
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t handle)
{
    call c;
    cudaError_t r;
    CUstream_st *stream = sim::resolve(handle, &r);

    if (!stream || !exec)
        return call::result(stream ? cudaErrorInvalidValue : r);
    if (sim::shall_fail("graph"))
        return call::result(cudaErrorLaunchOutOfResources);
    auto run = [made = exec->made](std::string *ret_why) {
        return sim::run_nodes(&sim::the_machine().turns, *made, ret_why);
    };
    return call::result(sim::submit(stream, {run, nullptr, nullptr, sim::engine::run,
                                             exec->made->size()}));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    delete exec;
    return call::result(exec ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return call::result(graph ? cudaSuccess : cudaErrorInvalidValue);
}
