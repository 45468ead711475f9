/* SPDX-License-Identifier: MIT */
/* Launching kernels: what a device would refuse, and the failures asked for. */

#include "tests/simulators/cuda/block/block.h"
#include "tests/simulators/cuda/include/sim/tiles.h"
#include "tests/simulators/cuda/machine/machine.h"
#include "tests/simulators/cuda/ptx/load.h"

#include <cstdlib>

namespace sim {

namespace {

constexpr int default_dynamic_bytes = 49152;

bool is_within(uint3 v, unsigned x, unsigned y, unsigned z)
{
    return v.x >= 1 && v.y >= 1 && v.z >= 1 && v.x <= x && v.y <= y && v.z <= z;
}

int dynamic_limit(const void *function)
{
    const auto &limits = the_machine().dynamic_limits;
    const auto i = limits.find(function);

    return i == limits.end() ? default_dynamic_bytes : i->second;
}

cudaError_t check(const launch &l)
{
    const uint64_t n_threads = uint64_t(l.block.x) * l.block.y * l.block.z;

    if (!is_within(l.grid, 2147483647, 65535, 65535) || !is_within(l.block, 1024, 1024, 64) ||
        n_threads > 1024)
        return cudaErrorInvalidConfiguration;
    if (l.dynamic_shared_bytes > size_t(dynamic_limit(l.kernel->function)))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

/* What happens to the device in the middle of a launch, on request. */
cudaError_t disaster(device *d, std::string *ret_why)
{
    *ret_why = "as VRT_CUDA_SIM_FAIL asked for";
    if (shall_fail("illegal"))
        return cudaErrorIllegalAddress;
    if (shall_fail("ecc"))
        return cudaErrorECCUncorrectable;
    if (shall_fail("lost")) {
        d->lost = true;
        return cudaErrorUnknown;
    }
    return cudaSuccess;
}

}

}

using sim::call;

cudaError_t vrt_sim_launch(const cudaLaunchConfig_t *config,
                           std::shared_ptr<const vrt_sim_kernel> kernel)
{
    call c;
    cudaError_t r;
    CUstream_st *stream = sim::resolve(config->stream, &r);

    if (!stream)
        return call::result(r);
    sim::launch l = {std::move(kernel), config->gridDim, config->blockDim,
                           config->dynamicSmemBytes, stream->owner->capability};

    r = sim::check(l);
    if (!r && sim::shall_fail("launch"))
        r = cudaErrorLaunchOutOfResources;
    if (r)
        return call::result(r);
    std::string why;
    const cudaError_t refused = sim::use_translated(&l, stream->owner->shared_optin_bytes, &why);
    auto run = [l, refused, why, d = stream->owner](std::string *ret_why) {
        const cudaError_t broken = sim::disaster(d, ret_why);

        if (!broken && refused)
            *ret_why = why;
        return broken ? broken : refused ? refused : sim::run_launch(l, ret_why);
    };
    return call::result(sim::submit(stream, {run, nullptr, nullptr, sim::engine::run}));
}

int vrt_sim_busy_blocks()
{
    const char *text = getenv("VRT_CUDA_SIM_BUSY_BLOCKS");

    return text ? int(strtol(text, nullptr, 10)) : 132;
}

cudaError_t vrt_sim_set_function_attribute(const void *function, cudaFuncAttribute attribute,
                                           int value)
{
    call c;
    cudaError_t r;
    const sim::device *d = sim::current(&r);

    if (!d)
        return call::result(r);
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
        size_t(value) > d->shared_optin_bytes)
        return call::result(cudaErrorInvalidValue);
    sim::the_machine().dynamic_limits[function] = value;
    return cudaSuccess;
}

cudaError_t vrt_sim_get_function_attributes(cudaFuncAttributes *ret_attributes,
                                            const void *)
{
    call c;
    cudaError_t r;
    const sim::device *d = sim::current(&r);

    if (!d)
        return call::result(r);
    *ret_attributes = {};
    ret_attributes->ptxVersion = d->capability;
    return cudaSuccess;
}
