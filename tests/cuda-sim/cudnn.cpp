/* SPDX-License-Identifier: MIT */
/*
 * cuDNN for the simulated machine: convolutions by plain loops, summed in double
 *
 * A tensor may have any strides; a filter is [out][h][w][in] or [out][in][h][w], packed. As
 * documented, y = activation(alpha1 * conv(x) + alpha2 * z + bias).
 */

#include "include/cudnn.h"

#include "machine.h"
#include "number.h"

using sim::number_type;

struct cudnnContext {
    cudaStream_t stream = nullptr;
};

struct cudnnTensorStruct {
    number_type type = number_type::f32;
    int n = 0, c = 0, h = 0, w = 0;
    int64_t stride_n = 0, stride_c = 0, stride_h = 0, stride_w = 0;
};

struct cudnnFilterStruct {
    number_type type = number_type::f32;
    cudnnTensorFormat_t format = CUDNN_TENSOR_NHWC;
    int n_out = 0, n_in = 0, h = 0, w = 0;
};

struct cudnnConvolutionStruct {
    int pad_h = 0, pad_w = 0, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
    cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};

struct cudnnActivationStruct {
    cudnnActivationMode_t mode = CUDNN_ACTIVATION_IDENTITY;
};

namespace {

using tensor = cudnnTensorStruct;
using filter_of = cudnnFilterStruct;

bool known_type(cudnnDataType_t type, number_type *ret_type)
{
    *ret_type = type == CUDNN_DATA_HALF       ? number_type::f16
                : type == CUDNN_DATA_BFLOAT16 ? number_type::bf16
                                              : number_type::f32;
    return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16;
}

struct convolution {
    tensor x_desc, z_desc, y_desc, bias_desc;
    filter_of filter;
    cudnnConvolutionStruct how;
    cudnnActivationMode_t activation;
    float alpha1, alpha2;
    const void *x, *weights, *z, *bias;
    void *y;

    float weight(int o, int i, int tap_h, int tap_w) const
    {
        const filter_of &f = filter;
        const int64_t at = f.format == CUDNN_TENSOR_NHWC
                               ? ((int64_t(o) * f.h + tap_h) * f.w + tap_w) * f.n_in + i
                               : ((int64_t(o) * f.n_in + i) * f.h + tap_h) * f.w + tap_w;

        return sim::get(weights, f.type, at);
    }
    static int64_t at(const tensor &t, int n, int c, int h, int w)
    {
        return n * t.stride_n + c * t.stride_c + h * t.stride_h + w * t.stride_w;
    }
    double tap(int n, int o, int h, int w) const
    {
        /* Without a word on the matter, f32 may go through TF32. */
        const bool tf32 = how.math != CUDNN_FMA_MATH && x_desc.type == number_type::f32;
        double sum = 0.0;

        for (int th = 0; th < filter.h; th++) {
            for (int tw = 0; tw < filter.w; tw++) {
                const int from_h = h * how.stride_h - how.pad_h + th * how.dilation_h;
                const int from_w = w * how.stride_w - how.pad_w + tw * how.dilation_w;

                if (from_h < 0 || from_h >= x_desc.h || from_w < 0 || from_w >= x_desc.w)
                    continue;
                for (int i = 0; i < filter.n_in; i++) {
                    const float a = sim::get(x, x_desc.type, at(x_desc, n, i, from_h, from_w));
                    const float b = weight(o, i, th, tw);

                    sum += tf32 ? double(sim::tf32(a)) * double(sim::tf32(b))
                                : double(a) * double(b);
                }
            }
        }
        return sum;
    }
    void put(int n, int o, int h, int w) const
    {
        float value = alpha1 * float(tap(n, o, h, w));

        if (alpha2 != 0.0f)
            value += alpha2 * sim::get(z, z_desc.type, at(z_desc, n, o, h, w));
        if (bias)
            value += sim::get(bias, bias_desc.type, at(bias_desc, 0, o, 0, 0));
        if (activation == CUDNN_ACTIVATION_RELU && value < 0.0f)
            value = 0.0f;
        sim::put(y, y_desc.type, at(y_desc, n, o, h, w), value);
    }
    void run() const
    {
        for (int n = 0; n < y_desc.n; n++)
            for (int h = 0; h < y_desc.h; h++)
                for (int w = 0; w < y_desc.w; w++)
                    for (int o = 0; o < y_desc.c; o++)
                        put(n, o, h, w);
    }
};

int extent_after(int extent, int pad, int taps, int dilation, int stride)
{
    return (extent + 2 * pad - ((taps - 1) * dilation + 1)) / stride + 1;
}

bool fits(const tensor &x, const filter_of &f, const cudnnConvolutionStruct &how, const tensor &y)
{
    return x.c == f.n_in && y.c == f.n_out && x.n == y.n && x.type == f.type &&
           y.h == extent_after(x.h, how.pad_h, f.h, how.dilation_h, how.stride_h) &&
           y.w == extent_after(x.w, how.pad_w, f.w, how.dilation_w, how.stride_w);
}

cudnnStatus_t enqueue(cudnnHandle_t handle, const convolution &it)
{
    sim::call c;
    cudaError_t r;
    CUstream_st *stream = handle ? sim::resolve(handle->stream, &r) : nullptr;

    if (!handle || !it.x || !it.weights || !it.y || !fits(it.x_desc, it.filter, it.how, it.y_desc))
        return CUDNN_STATUS_BAD_PARAM;
    if (!stream || sim::shall_fail("convolution"))
        return CUDNN_STATUS_EXECUTION_FAILED;
    auto run = [it](std::string *) {
        it.run();
        return cudaSuccess;
    };
    return sim::submit(&c, stream, {run, nullptr, nullptr, nullptr})
               ? CUDNN_STATUS_EXECUTION_FAILED
               : CUDNN_STATUS_SUCCESS;
}

template <class T> cudnnStatus_t create(T **ret_it)
{
    *ret_it = new T;
    return CUDNN_STATUS_SUCCESS;
}

template <class T> cudnnStatus_t destroy(T *it)
{
    delete it;
    return CUDNN_STATUS_SUCCESS;
}

}

size_t cudnnGetVersion(void)
{
    return CUDNN_VERSION;
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    switch (status) {
    case CUDNN_STATUS_SUCCESS: return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED: return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM: return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED: return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_INTERNAL_ERROR: return "CUDNN_STATUS_INTERNAL_ERROR";
    case CUDNN_STATUS_EXECUTION_FAILED: return "CUDNN_STATUS_EXECUTION_FAILED";
    }
    return "unknown status";
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *ret_handle)
{
    sim::call c;
    cudaError_t r;

    if (!sim::current(&r) || sim::shall_fail("cudnn"))
        return CUDNN_STATUS_NOT_INITIALIZED;
    return create(ret_handle);
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    return destroy(handle);
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *ret_desc)
{
    return create(ret_desc);
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t desc)
{
    return destroy(desc);
}

cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t desc, cudnnDataType_t type,
                                           int n, int c, int h, int w, int stride_n, int stride_c,
                                           int stride_h, int stride_w)
{
    number_type known;

    if (n < 1 || c < 1 || h < 1 || w < 1 || !known_type(type, &known))
        return CUDNN_STATUS_BAD_PARAM;
    *desc = {known, n, c, h, w, stride_n, stride_c, stride_h, stride_w};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t desc, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w)
{
    if (format == CUDNN_TENSOR_NHWC)
        return cudnnSetTensor4dDescriptorEx(desc, type, n, c, h, w, h * w * c, 1, w * c, c);
    return cudnnSetTensor4dDescriptorEx(desc, type, n, c, h, w, c * h * w, h * w, w, 1);
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *ret_desc)
{
    return create(ret_desc);
}

cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t desc)
{
    return destroy(desc);
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t desc, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int n_out, int n_in, int h,
                                         int w)
{
    number_type known;

    if (n_out < 1 || n_in < 1 || h < 1 || w < 1 || !known_type(type, &known))
        return CUDNN_STATUS_BAD_PARAM;
    *desc = {known, format, n_out, n_in, h, w};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *ret_desc)
{
    return create(ret_desc);
}

cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t desc)
{
    return destroy(desc);
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t desc, int pad_h,
                                              int pad_w, int stride_h, int stride_w,
                                              int dilation_h, int dilation_w,
                                              cudnnConvolutionMode_t mode, cudnnDataType_t compute)
{
    if (pad_h < 0 || pad_w < 0 || stride_h < 1 || stride_w < 1 || dilation_h < 1 || dilation_w < 1)
        return CUDNN_STATUS_BAD_PARAM;
    if (mode != CUDNN_CROSS_CORRELATION || compute != CUDNN_DATA_FLOAT)
        return CUDNN_STATUS_NOT_SUPPORTED;
    *desc = {pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, CUDNN_DEFAULT_MATH};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t desc, cudnnMathType_t math)
{
    desc->math = math;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolution2dForwardOutputDim(cudnnConvolutionDescriptor_t desc,
                                                    cudnnTensorDescriptor_t x,
                                                    cudnnFilterDescriptor_t filter, int *ret_n,
                                                    int *ret_c, int *ret_h, int *ret_w)
{
    *ret_n = x->n;
    *ret_c = filter->n_out;
    *ret_h = extent_after(x->h, desc->pad_h, filter->h, desc->dilation_h, desc->stride_h);
    *ret_w = extent_after(x->w, desc->pad_w, filter->w, desc->dilation_w, desc->stride_w);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t *ret_desc)
{
    return create(ret_desc);
}

cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t desc)
{
    return destroy(desc);
}

cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t desc,
                                           cudnnActivationMode_t mode, cudnnNanPropagation_t,
                                           double)
{
    desc->mode = mode;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t filter,
    cudnnConvolutionDescriptor_t how, cudnnTensorDescriptor_t y, int n_wanted, int *ret_n,
    cudnnConvolutionFwdAlgoPerf_t *ret_results)
{
    if (n_wanted < 1 || !fits(*x, *filter, *how, *y))
        return CUDNN_STATUS_BAD_PARAM;
    ret_results[0] = {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
                      CUDNN_STATUS_SUCCESS,
                      -1.0f,
                      0,
                      CUDNN_DETERMINISTIC,
                      how->math,
                      {0, 0, 0}};
    *ret_n = 1;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t filter,
    cudnnConvolutionDescriptor_t how, cudnnTensorDescriptor_t y, cudnnConvolutionFwdAlgo_t,
    size_t *ret_n_bytes)
{
    if (!fits(*x, *filter, *how, *y))
        return CUDNN_STATUS_BAD_PARAM;
    *ret_n_bytes = 0;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnConvolutionForward(
    cudnnHandle_t handle, const void *alpha, cudnnTensorDescriptor_t x_desc, const void *x,
    cudnnFilterDescriptor_t filter, const void *weights, cudnnConvolutionDescriptor_t how,
    cudnnConvolutionFwdAlgo_t, void *, size_t, const void *beta, cudnnTensorDescriptor_t y_desc,
    void *y)
{
    return enqueue(handle, {*x_desc, *y_desc, *y_desc, {}, *filter, *how, CUDNN_ACTIVATION_IDENTITY,
                            *static_cast<const float *>(alpha), *static_cast<const float *>(beta),
                            x, weights, y, nullptr, y});
}

/* As documented, there is no activation with the precomputing algorithm only. */
cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void *alpha1, cudnnTensorDescriptor_t x_desc, const void *x,
    cudnnFilterDescriptor_t filter, const void *weights, cudnnConvolutionDescriptor_t how,
    cudnnConvolutionFwdAlgo_t algorithm, void *, size_t, const void *alpha2,
    cudnnTensorDescriptor_t z_desc, const void *z, cudnnTensorDescriptor_t bias_desc,
    const void *bias, cudnnActivationDescriptor_t activation, cudnnTensorDescriptor_t y_desc,
    void *y)
{
    if (!bias || bias_desc->c != y_desc->c)
        return CUDNN_STATUS_BAD_PARAM;
    if (activation->mode == CUDNN_ACTIVATION_IDENTITY &&
        algorithm != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM)
        return CUDNN_STATUS_NOT_SUPPORTED;
    return enqueue(handle, {*x_desc, *z_desc, *y_desc, *bias_desc, *filter, *how, activation->mode,
                            *static_cast<const float *>(alpha1),
                            *static_cast<const float *>(alpha2), x, weights, z, bias, y});
}
