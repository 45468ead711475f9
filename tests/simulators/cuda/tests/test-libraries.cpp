/* SPDX-License-Identifier: MIT */
/* cuBLASLt and cuDNN of the simulated machine, against plain loops over whole numbers. */

#include "tests/simulators/cuda/tests/test-kernel.h"

#include "tests/simulators/cuda/include/cublasLt.h"
#include "tests/simulators/cuda/include/cudnn.h"
#include "tests/simulators/cuda/block/number.h"

namespace {

/* Exact in halves, and so are sums of their products in f32. */
float small(size_t i)
{
    return float(int(uint32_t(i) * 2654435761u >> 20 & 7) - 3);
}

struct layout {
    cublasLtMatrixLayout_t it;

    layout(cudaDataType_t type, int rows, int columns, int stride)
    {
        expect_int(cublasLtMatrixLayoutCreate(&it, type, uint64_t(rows), uint64_t(columns),
                                              stride), CUBLAS_STATUS_SUCCESS);
    }
    layout(const layout &) = delete;
    ~layout() { cublasLtMatrixLayoutDestroy(it); }
};

/* y[n][o] = sum over i of x[n][i] * w[o][i] + bias[o] + y[n][o], the way a linear layer is asked
 * for: everything column by column, so that rows are columns there. */
template <class T> void test_linear(cudaDataType_t type)
{
    constexpr int n = 5, n_i = 7, n_o = 3, x_stride = 9, w_stride = 8, y_stride = 4;
    std::vector<T> x(n * x_stride), w(n_o * w_stride);
    std::vector<float> y(n * y_stride), bias(n_o);
    const float one = 1.0f;
    const void *bias_at;
    const cublasOperation_t transposed = CUBLAS_OP_T;
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
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
    const layout w_layout(type, n_i, n_o, w_stride), x_layout(type, n_i, n, x_stride);
    const layout y_layout(CUDA_R_32F, n_o, n, y_stride), wide_layout(CUDA_R_32F, n_o, n, n_o);

    bias_at = on_bias.data;
    expect_int(cublasLtCreate(&handle), CUBLAS_STATUS_SUCCESS);
    expect_int(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F),
               CUBLAS_STATUS_SUCCESS);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                   sizeof(epilogue));
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias_at,
                                   sizeof(bias_at));
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

    for (int i = 0; i < n; i++) {
        for (int o = 0; o < n_o; o++) {
            const size_t at = size_t(i * y_stride + o);
            float want = y[at] + bias[size_t(o)];

            for (int k = 0; k < n_i; k++)
                want += float(x[size_t(i * x_stride + k)]) * float(w[size_t(o * w_stride + k)]);
            expect_near(got[at], want, 0);
        }
        expect_near(got[size_t(i * y_stride + 3)], y[size_t(i * y_stride + 3)], 0);
    }
    cublasLtMatmulPreferenceDestroy(preference);
    cublasLtMatmulDescDestroy(desc);
    cublasLtDestroy(handle);
}

/* Descriptors of cuDNN's, all of one graph, which are gone with it. */
struct descriptors {
    std::vector<cudnnBackendDescriptor_t> made;

    descriptors() = default;
    descriptors(const descriptors &) = delete;
    ~descriptors()
    {
        for (auto d : made)
            cudnnBackendDestroyDescriptor(d);
    }
    cudnnBackendDescriptor_t create(cudnnBackendDescriptorType_t kind)
    {
        cudnnBackendDescriptor_t d;

        expect_int(cudnnBackendCreateDescriptor(kind, &d), CUDNN_STATUS_SUCCESS);
        made.push_back(d);
        return d;
    }
    struct attribute {
        cudnnBackendAttributeName_t name;
        cudnnBackendAttributeType_t type;
        int64_t n;
        const void *values;
    };
    cudnnBackendDescriptor_t make(cudnnBackendDescriptorType_t kind,
                                  const std::vector<attribute> &attributes)
    {
        const cudnnBackendDescriptor_t d = create(kind);

        for (const attribute &a : attributes)
            expect_int(cudnnBackendSetAttribute(d, a.name, a.type, a.n, a.values),
                       CUDNN_STATUS_SUCCESS);
        expect_int(cudnnBackendFinalize(d), CUDNN_STATUS_SUCCESS);
        return d;
    }
    /* n, c, h, w; channels last. */
    cudnnBackendDescriptor_t tensor(int64_t id, cudnnDataType_t type, std::vector<int64_t> dims,
                                    bool is_virtual = false)
    {
        const int64_t align = 16, c = dims[1];
        const std::vector<int64_t> strides = {c * dims[2] * dims[3], 1, c * dims[3], c};

        return make(CUDNN_BACKEND_TENSOR_DESCRIPTOR,
                    {{CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id},
                     {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type},
                     {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &align},
                     {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims.data()},
                     {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides.data()},
                     {CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual}});
    }
};

constexpr cudnnBackendAttributeType_t DESCRIPTOR = CUDNN_TYPE_BACKEND_DESCRIPTOR;

/* y = x * weights + bias, 3x3, ids 1 to 4. Return: the graph. */
cudnnBackendDescriptor_t make_graph(descriptors *all, cudnnHandle_t handle, cudnnDataType_t type,
                                    const int64_t n[4])
{
    const int precision = CUDNN_DATA_FLOAT, mode = CUDNN_CROSS_CORRELATION;
    const int add = CUDNN_POINTWISE_ADD;
    const int64_t two = 2, ones[] = {1, 1}, i = n[0], o = n[1], h = n[2], w = n[3];
    const float one = 1, zero = 0;
    const auto x = all->tensor(1, type, {1, i, h, w}), weights = all->tensor(2, type, {o, i, 3, 3});
    const auto bias = all->tensor(3, CUDNN_DATA_FLOAT, {1, o, 1, 1});
    const auto sums = all->tensor(5, CUDNN_DATA_FLOAT, {1, o, h, w}, true);
    const auto y = all->tensor(4, type, {1, o, h, w});
    const auto how = all->make(
        CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
        {{CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &precision},
         {CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode},
         {CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &two},
         {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, ones},
         {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, ones},
         {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, ones},
         {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, ones}});
    const auto step = all->make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
                                {{CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &add},
                                 {CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1,
                                  &precision}});
    const cudnnBackendDescriptor_t operations[] = {
        all->make(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                  {{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, DESCRIPTOR, 1, &how},
                   {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, DESCRIPTOR, 1, &x},
                   {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, DESCRIPTOR, 1, &weights},
                   {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, DESCRIPTOR, 1, &sums},
                   {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, &one},
                   {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, &zero}}),
        all->make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
                  {{CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, DESCRIPTOR, 1, &step},
                   {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, DESCRIPTOR, 1, &sums},
                   {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, DESCRIPTOR, 1, &bias},
                   {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, DESCRIPTOR, 1, &y}}),
    };

    return all->make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR,
                     {{CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle},
                      {CUDNN_ATTR_OPERATIONGRAPH_OPS, DESCRIPTOR, 2, operations}});
}

/* The plan of the last engine, which is the one that is as it should be. */
cudnnBackendDescriptor_t make_plan(descriptors *all, cudnnHandle_t handle,
                                   cudnnBackendDescriptor_t graph)
{
    const int mode = CUDNN_HEUR_MODE_A;
    const auto heuristics = all->make(
        CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR,
        {{CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, DESCRIPTOR, 1, &graph},
         {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode}});
    cudnnBackendDescriptor_t configs[8];
    int64_t n;

    for (auto &config : configs)
        config = all->create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    expect_int(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, DESCRIPTOR, 8,
                                        &n, configs), CUDNN_STATUS_SUCCESS);
    expect_int(n, 5);
    const auto broken = all->create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    cudnnBackendSetAttribute(broken, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
                             &handle);
    cudnnBackendSetAttribute(broken, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, DESCRIPTOR, 1,
                             &configs[2]);
    expect_int(cudnnBackendFinalize(broken), CUDNN_STATUS_NOT_SUPPORTED);
    return all->make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
                     {{CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle},
                      {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, DESCRIPTOR, 1, &configs[4]}});
}

template <class T> void test_convolution(cudnnDataType_t type)
{
    constexpr int n_i = 8, n_o = 2, h = 5, w = 6;
    const int64_t sizes[] = {n_i, n_o, h, w}, ids[] = {1, 2, 3, 4};
    std::vector<T> x(h * w * n_i + 1), weights(n_o * 9 * n_i);
    std::vector<float> bias(n_o);
    cudnnHandle_t handle;
    descriptors all;

    for (size_t i = 0; i < x.size(); i++)
        x[i] = T(small(i));
    for (size_t i = 0; i < weights.size(); i++)
        weights[i] = T(small(i + 100));
    for (size_t i = 0; i < bias.size(); i++)
        bias[i] = small(i + 301);
    const device_array<T> on_x(x), on_weights(weights), on_y(h * w * n_o);
    const device_array<float> on_bias(bias), scratch(std::vector<float>((1 << 20) / 4));

    expect_int(cudnnCreate(&handle), CUDNN_STATUS_SUCCESS);
    expect_int(cudnnSetStream(handle, nullptr), CUDNN_STATUS_SUCCESS);
    const auto plan = make_plan(&all, handle, make_graph(&all, handle, type, sizes));
    const struct {
        const void *x, *scratch;
        int64_t n;                      /* tensors */
        cudnnStatus_t want;
    } tries[] = {
        {on_x.data, scratch.data, 3, CUDNN_STATUS_BAD_PARAM},
        {on_x.data + 1, scratch.data, 4, CUDNN_STATUS_BAD_PARAM},
        {on_x.data, on_y.data, 4, CUDNN_STATUS_BAD_PARAM},
        {on_x.data, scratch.data, 4, CUDNN_STATUS_SUCCESS},
    };
    for (const auto &t : tries) {
        const void *const pointers[] = {t.x, on_weights.data, on_bias.data, on_y.data};
        const auto pack = all.make(
            CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
            {{CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, t.n, ids},
             {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, t.n, pointers},
             {CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &t.scratch}});
        expect_int(cudnnBackendExecute(handle, plan, pack), t.want);
    }
    const auto got = on_y.read();

    for (int i = 0; i < h * w * n_o; i++) {
        const int o = i % n_o, out_x = i / n_o % w, out_y = i / n_o / w;
        float want = bias[size_t(o)];

        for (int tap = 0; tap < 9 * n_i; tap++) {
            const int at_x = out_x - 1 + tap / n_i % 3, at_y = out_y - 1 + tap / n_i / 3;

            if (at_x >= 0 && at_x < w && at_y >= 0 && at_y < h)
                want += float(x[size_t((at_y * w + at_x) * n_i + tap % n_i)]) *
                        float(weights[size_t(o * 9 * n_i + tap)]);
        }
        expect_near(float(got[size_t(i)]), float(T(want)), 0);
    }
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
    test_convolution<float>(CUDNN_DATA_FLOAT);
    test_convolution<__half>(CUDNN_DATA_HALF);
    test_convolution<__nv_bfloat16>(CUDNN_DATA_BFLOAT16);
}

}

TEST_MAIN(
    {"linears", test_linears},
    {"convolutions", test_convolutions},
)
