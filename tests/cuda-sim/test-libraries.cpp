/* SPDX-License-Identifier: MIT */
/* cuBLASLt and cuDNN of the simulated machine, against plain loops over whole numbers. */

#include "test-kernel.h"

#include "include/cublasLt.h"
#include "include/cudnn.h"
#include "number.h"

namespace {

/* Exact in halves, and so are sums of their products in f32. */
float small(size_t i)
{
    return float(int(uint32_t(i) * 2654435761u >> 20 & 7) - 3);
}

struct layout {
    cublasLtMatrixLayout_t it;

    layout(cudaDataType_t type, int rows, int columns, bool by_rows, int stride, int n_batches,
           int64_t batch_stride)
    {
        const cublasLtOrder_t order = by_rows ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL;
        const int32_t n = n_batches;

        expect_int(cublasLtMatrixLayoutCreate(&it, type, uint64_t(rows), uint64_t(columns),
                                              stride), CUBLAS_STATUS_SUCCESS);
        expect_int(cublasLtMatrixLayoutSetAttribute(it, CUBLASLT_MATRIX_LAYOUT_ORDER, &order,
                                                    sizeof(order)), CUBLAS_STATUS_SUCCESS);
        expect_int(cublasLtMatrixLayoutSetAttribute(it, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &n,
                                                    sizeof(n)), CUBLAS_STATUS_SUCCESS);
        expect_int(cublasLtMatrixLayoutSetAttribute(
                       it, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &batch_stride,
                       sizeof(batch_stride)), CUBLAS_STATUS_SUCCESS);
    }
    layout(const layout &) = delete;
    ~layout() { cublasLtMatrixLayoutDestroy(it); }
};

/* y[n][o] = sum over i of x[n][i] * w[o][i] + bias[o] + y[n][o], twice, the way a linear layer is
 * asked for: everything column by column, so that rows are columns there. */
template <class T> void test_linear(cudaDataType_t type)
{
    constexpr int n = 5, n_i = 7, n_o = 3, x_stride = 9, w_stride = 8, y_stride = 4;
    std::vector<T> x(2 * n * x_stride), w(n_o * w_stride);
    std::vector<float> y(2 * n * y_stride), bias(n_o);
    const float one = 1.0f;
    const void *bias_at;
    const cublasOperation_t transposed = CUBLAS_OP_T;
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    const int32_t bias_type = CUDA_R_32F;
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t desc;
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t found[3];
    const uint32_t ordered = CUBLASLT_REDUCTION_SCHEME_NONE;
    const uint64_t scratch_bytes = 4096;
    int n_found;

    for (size_t i = 0; i < x.size(); i++)
        x[i] = T(small(i));
    for (size_t i = 0; i < w.size(); i++)
        w[i] = T(small(i + 100));
    for (size_t i = 0; i < y.size(); i++)
        y[i] = small(i + 200);
    for (size_t i = 0; i < bias.size(); i++)
        bias[i] = small(i + 300);
    const device_array<T> on_x(x), on_w(w);
    const device_array<float> on_y(y), on_bias(bias);
    const layout w_layout(type, n_i, n_o, false, w_stride, 2, 0);
    const layout x_layout(type, n_i, n, false, x_stride, 2, n * x_stride);
    const layout y_layout(CUDA_R_32F, n_o, n, false, y_stride, 2, n * y_stride);

    const layout wide_layout(CUDA_R_32F, n_o, n, false, n_o, 2, n * y_stride);
    bias_at = on_bias.data;
    expect_int(cublasLtCreate(&handle), CUBLAS_STATUS_SUCCESS);
    expect_int(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F),
               CUBLAS_STATUS_SUCCESS);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                   sizeof(epilogue));
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias_at,
                                   sizeof(bias_at));
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &bias_type,
                                   sizeof(bias_type));
    expect_int(cublasLtMatmul(handle, desc, &one, on_w.data, w_layout.it, on_x.data, x_layout.it,
                              &one, on_y.data, y_layout.it, on_y.data, y_layout.it, nullptr,
                              nullptr, 0, nullptr), CUBLAS_STATUS_INVALID_VALUE);
    expect_int(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, 1),
               CUBLAS_STATUS_INVALID_VALUE);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                   sizeof(transposed));
    expect_int(cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                         &scratch_bytes, sizeof(scratch_bytes));
    expect_int(cublasLtMatmulAlgoGetHeuristic(handle, desc, w_layout.it, x_layout.it, y_layout.it,
                                              y_layout.it, preference, 3, found, &n_found),
               CUBLAS_STATUS_SUCCESS);
    expect_int(n_found, 3);
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                         &ordered, sizeof(ordered));
    expect_int(cublasLtMatmulAlgoGetHeuristic(handle, desc, w_layout.it, x_layout.it, y_layout.it,
                                              y_layout.it, preference, 3, found, &n_found),
               CUBLAS_STATUS_SUCCESS);
    expect_int(n_found, 2);
    expect_int(found[0].state, CUBLAS_STATUS_NOT_SUPPORTED);
    expect_int(found[1].state, CUBLAS_STATUS_SUCCESS);
    expect_int(found[1].workspaceSize, scratch_bytes);

    /* Not without its scratch, nor for other matrices, nor at other addresses. */
    const device_array<float> scratch(std::vector<float>(scratch_bytes / sizeof(float)));
    const struct {
        const layout &l;
        const void *weights;
        void *at;
        cublasStatus_t want;
    } tries[] = {
        {y_layout, on_w.data, nullptr, CUBLAS_STATUS_INVALID_VALUE},
        {wide_layout, on_w.data, scratch.data, CUBLAS_STATUS_INVALID_VALUE},
        {y_layout, on_w.data + 1, scratch.data, CUBLAS_STATUS_INVALID_VALUE},
        {y_layout, on_w.data, scratch.data, CUBLAS_STATUS_SUCCESS},
    };
    for (const auto &t : tries)
        expect_int(cublasLtMatmul(handle, desc, &one, t.weights, w_layout.it, on_x.data,
                                  x_layout.it, &one, on_y.data, t.l.it, on_y.data, t.l.it,
                                  &found[1].algo, t.at, scratch_bytes, nullptr), t.want);
    const auto got = on_y.read();

    for (int b = 0; b < 2; b++) {
        for (int i = 0; i < n; i++) {
            for (int o = 0; o < n_o; o++) {
                const size_t at = size_t((b * n + i) * y_stride + o);
                float want = y[at] + bias[size_t(o)];

                for (int k = 0; k < n_i; k++)
                    want += float(x[size_t((b * n + i) * x_stride + k)]) *
                            float(w[size_t(o * w_stride + k)]);
                expect_near(got[at], want, 0);
            }
            expect_near(got[size_t((b * n + i) * y_stride + 3)],
                        y[size_t((b * n + i) * y_stride + 3)], 0);
        }
    }
    cublasLtMatmulPreferenceDestroy(preference);
    cublasLtMatmulDescDestroy(desc);
    cublasLtDestroy(handle);
}

/* A convolution of stride 2 with a border, NHWC, and one without bias or activation. */
template <class T> void test_convolution(cudnnDataType_t type, bool relu)
{
    constexpr int n_i = 3, n_o = 2, h = 5, w = 6, out_h = 3, out_w = 3;
    std::vector<T> x(h * w * n_i), weights(n_o * 9 * n_i);
    std::vector<T> bias(n_o);
    const float one = 1.0f, zero = 0.0f;
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t x_desc, y_desc, bias_desc;
    cudnnFilterDescriptor_t filter;
    cudnnConvolutionDescriptor_t convolution;
    cudnnActivationDescriptor_t activation;
    size_t workspace = 1;
    int n, c, got_h, got_w;

    for (size_t i = 0; i < x.size(); i++)
        x[i] = T(small(i));
    for (size_t i = 0; i < weights.size(); i++)
        weights[i] = T(small(i + 100));
    for (size_t i = 0; i < bias.size(); i++)
        bias[i] = T(small(i + 301));
    const device_array<T> on_x(x), on_weights(weights), on_bias(bias), on_y(out_h * out_w * n_o);

    expect_int(cudnnCreate(&handle), CUDNN_STATUS_SUCCESS);
    expect_int(cudnnSetStream(handle, nullptr), CUDNN_STATUS_SUCCESS);
    cudnnCreateTensorDescriptor(&x_desc);
    cudnnCreateTensorDescriptor(&y_desc);
    cudnnCreateTensorDescriptor(&bias_desc);
    cudnnCreateFilterDescriptor(&filter);
    cudnnCreateConvolutionDescriptor(&convolution);
    cudnnCreateActivationDescriptor(&activation);
    expect_int(cudnnSetTensor4dDescriptor(x_desc, CUDNN_TENSOR_NHWC, type, 1, n_i, h, w),
               CUDNN_STATUS_SUCCESS);
    expect_int(cudnnSetTensor4dDescriptor(bias_desc, CUDNN_TENSOR_NHWC, type, 1, n_o, 1, 1),
               CUDNN_STATUS_SUCCESS);
    expect_int(cudnnSetFilter4dDescriptor(filter, type, CUDNN_TENSOR_NHWC, n_o, n_i, 3, 3),
               CUDNN_STATUS_SUCCESS);
    expect_int(cudnnSetConvolution2dDescriptor(convolution, 1, 1, 2, 2, 1, 1,
                                               CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
               CUDNN_STATUS_SUCCESS);
    expect_int(cudnnSetConvolutionMathType(convolution, CUDNN_FMA_MATH), CUDNN_STATUS_SUCCESS);
    expect_int(cudnnSetActivationDescriptor(activation, relu ? CUDNN_ACTIVATION_RELU
                                                             : CUDNN_ACTIVATION_IDENTITY,
                                            CUDNN_PROPAGATE_NAN, 0.0), CUDNN_STATUS_SUCCESS);
    expect_int(cudnnGetConvolution2dForwardOutputDim(convolution, x_desc, filter, &n, &c, &got_h,
                                                     &got_w), CUDNN_STATUS_SUCCESS);
    expect_int(got_h, out_h);
    expect_int(got_w, out_w);
    expect_int(cudnnSetTensor4dDescriptor(y_desc, CUDNN_TENSOR_NHWC, type, n, c, got_h, got_w),
               CUDNN_STATUS_SUCCESS);
    expect_int(cudnnGetConvolutionForwardWorkspaceSize(
                   handle, x_desc, filter, convolution, y_desc,
                   CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, &workspace),
               CUDNN_STATUS_SUCCESS);
    expect_int(workspace, 0);
    expect_int(cudnnConvolutionBiasActivationForward(
                   handle, &one, x_desc, on_x.data, filter, on_weights.data, convolution,
                   CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, nullptr, 0, &zero, y_desc,
                   on_y.data, bias_desc, on_bias.data, activation, y_desc, on_y.data),
               CUDNN_STATUS_SUCCESS);
    const auto got = on_y.read();

    for (int i = 0; i < out_h * out_w * n_o; i++) {
        const int o = i % n_o, out_x = i / n_o % out_w, out_y = i / n_o / out_w;
        float want = float(bias[size_t(o)]);

        for (int tap = 0; tap < 9 * n_i; tap++) {
            const int at_x = out_x * 2 - 1 + tap / n_i % 3, at_y = out_y * 2 - 1 + tap / n_i / 3;

            if (at_x >= 0 && at_x < w && at_y >= 0 && at_y < h)
                want += float(x[size_t((at_y * w + at_x) * n_i + tap % n_i)]) *
                        float(weights[size_t(o * 9 * n_i + tap)]);
        }
        expect_near(float(got[size_t(i)]), relu && want < 0 ? 0 : want, 0);
    }
    cudnnDestroyTensorDescriptor(x_desc);
    cudnnDestroyTensorDescriptor(y_desc);
    cudnnDestroyTensorDescriptor(bias_desc);
    cudnnDestroyFilterDescriptor(filter);
    cudnnDestroyConvolutionDescriptor(convolution);
    cudnnDestroyActivationDescriptor(activation);
    cudnnDestroy(handle);
}

void test_linears()
{
    test_linear<float>(CUDA_R_32F);
    test_linear<__half>(CUDA_R_16F);
    test_linear<__nv_bfloat16>(CUDA_R_16BF);
}

void test_convolutions()
{
    test_convolution<float>(CUDNN_DATA_FLOAT, false);
    test_convolution<float>(CUDNN_DATA_FLOAT, true);
    test_convolution<__half>(CUDNN_DATA_HALF, true);
    test_convolution<__nv_bfloat16>(CUDNN_DATA_BFLOAT16, false);
}

const test_case cases[] = {
    {"linears", test_linears},
    {"convolutions", test_convolutions},
};

}

int main(int argc, char **argv)
{
    return test_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
