/* SPDX-License-Identifier: MIT */
/* Running launches: what CUDA has around its blocks. */

#include "tests/simulators/cuda/block/block.h"

#include "tests/simulators/block/block.h"
#include "tests/simulators/block/order.h"
#include "tests/simulators/cuda/machine/async.h"
#include "tests/simulators/cuda/ptx/load.h"
#include "tests/simulators/cuda/ptx/profile.h"

__thread uint3 threadIdx, blockIdx, blockDim, gridDim;
__thread unsigned char *vrt_sim_dynamic_shared;

namespace sim {

const char *const order_variable = "VRT_CUDA_SIM_ORDER";

namespace {

class cuda_grid final : public grid {
public:
    explicit cuda_grid(const launch &l) : launched(l)
    {
        n_blocks = {l.grid.x, l.grid.y, l.grid.z};
        n_threads = {l.block.x, l.block.y, l.block.z};
        function = l.kernel->function;
        dynamic_shared_bytes = l.dynamic_shared_bytes;
        barrier_word = "__syncthreads()";
        stuck_code = cudaErrorLaunchFailure;
        memory_code = cudaErrorLaunchOutOfResources;
    }
    std::string name() const override { return kernel_name(function); }
    void begin(unsigned char *dynamic) override
    {
        begin_translated();
        launched.kernel->begin_launch();
        blockDim = launched.block;
        gridDim = launched.grid;
        vrt_sim_dynamic_shared = dynamic;
    }
    void begin_block(const place &block) override
    {
        blockIdx = {block.x, block.y, block.z};
        async_begin_block();
    }
    void end_block() override { profile_end_block(); }
    void enter_thread(const place &thread) override { threadIdx = {thread.x, thread.y, thread.z}; }
    void run_thread() override { launched.kernel->run_thread(); }

    const launch &launched;
};

}

cudaError_t run_launch(const launch &l, std::string *ret_why)
{
    cuda_grid g(l);

    return cudaError_t(run_grid(&g, ret_why));
}

int running_capability()
{
    return static_cast<cuda_grid *>(running_grid())->launched.compute_capability;
}

}

void vrt_sim_syncthreads(void)
{
    vrt_sim_syncthreads_at(nullptr);
}
