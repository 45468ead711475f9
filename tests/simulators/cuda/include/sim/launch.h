/* SPDX-License-Identifier: MIT */
#pragma once

/* How a kernel's arguments are kept until it runs, and what of the runtime is templates. */

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/simulators/cuda/include/cuda_runtime_api.h"
#include "tests/simulators/cuda/include/sim/vectors.h"

struct cudaLaunchConfig_t {
    dim3 gridDim;
    dim3 blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
};

/* One argument of a kernel, as the kernel gets it. */
struct vrt_sim_param {
    const void *data;
    size_t n_bytes;
};

/* A kernel with its arguments: called once per CUDA thread. */
struct vrt_sim_kernel {
    const void *function;

    explicit vrt_sim_kernel(const void *f) : function(f) {}
    virtual ~vrt_sim_kernel() = default;
    virtual void run_thread() const = 0;
    virtual void begin_launch() const {}
    virtual void params_of(std::vector<vrt_sim_param> *ret_params) const = 0;
};

template <class... Params> struct vrt_sim_bound_kernel final : vrt_sim_kernel {
    void (*kernel)(Params...);
    std::tuple<Params...> args;

    vrt_sim_bound_kernel(void (*k)(Params...), Params... a)
        : vrt_sim_kernel(reinterpret_cast<const void *>(k)), kernel(k), args(a...)
    {
    }
    void run_thread() const override { std::apply(kernel, args); }
    void params_of(std::vector<vrt_sim_param> *ret_params) const override
    {
        std::apply([&](const Params &...a) { (ret_params->push_back({&a, sizeof(a)}), ...); },
                   args);
    }
};

/* Enqueues the kernel. Returns what cudaLaunchKernelEx does. */
cudaError_t vrt_sim_launch(const cudaLaunchConfig_t *config,
                           std::shared_ptr<const vrt_sim_kernel> kernel);
cudaError_t vrt_sim_set_function_attribute(const void *function, cudaFuncAttribute attribute,
                                           int value);
cudaError_t vrt_sim_get_function_attributes(cudaFuncAttributes *ret_attributes,
                                            const void *function);

/* Arguments become the kernel's parameters at the call, as on a device. */
template <class... Params, class... Args>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(Params...),
                               Args &&...args)
{
    static_assert((std::is_trivially_copyable_v<Params> && ...), "kernels take plain bytes");
    static_assert((!std::is_reference_v<Params> && ...), "kernels take values");
    return vrt_sim_launch(config, std::make_shared<vrt_sim_bound_kernel<Params...>>(
                                      kernel, static_cast<Params>(std::forward<Args>(args))...));
}

template <class Function>
cudaError_t cudaFuncSetAttribute(Function *kernel, cudaFuncAttribute attribute, int value)
{
    return vrt_sim_set_function_attribute(reinterpret_cast<const void *>(kernel), attribute,
                                          value);
}

template <class Function>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *ret_attributes, Function *kernel)
{
    return vrt_sim_get_function_attributes(ret_attributes,
                                           reinterpret_cast<const void *>(kernel));
}
