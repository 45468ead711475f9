/* SPDX-License-Identifier: MIT */
/*
 * cuBLASLt for the simulated machine: products by plain loops, summed in double
 *
 * Strict where the library only states what it expects: a way is for the shapes and alignments that
 * it was asked for with, scratch is spoilt, and where reductions in any order aren't ruled out the
 * first way is one whose last bits differ each time.
 */

#include "tests/simulators/cuda/include/cublasLt.h"

#include "tests/simulators/cuda/machine/machine.h"
#include "tests/simulators/cuda/block/number.h"

#include <algorithm>
#include <cstring>

using sim::number_type;

struct cublasLtContext {
    int ordinal;
};

struct cublasLtMatmulDescOpaque {
    cublasComputeType_t compute;
    cudaDataType_t scale;
    cublasOperation_t a = CUBLAS_OP_N;
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    const void *bias = nullptr;
};

struct cublasLtMatrixLayoutOpaque {
    cudaDataType_t type;
    uint64_t rows, columns;
    int64_t stride;
};

struct cublasLtMatmulPreferenceOpaque {
    uint64_t max_workspace_bytes = 0;
    uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
    uint32_t aligns[4] = {256, 256, 256, 256};
};

namespace {

using layout = cublasLtMatrixLayoutOpaque;
using description = cublasLtMatmulDescOpaque;

bool known_type(cudaDataType_t type, number_type *ret_type)
{
    *ret_type = type == CUDA_R_16F    ? number_type::f16
                : type == CUDA_R_16BF ? number_type::bf16
                                      : number_type::f32;
    return type == CUDA_R_32F || type == CUDA_R_16F || type == CUDA_R_16BF;
}

/* A matrix as it is read, column by column: rows and columns swapped if it is transposed. */
struct matrix {
    void *data;
    number_type type;
    uint64_t rows, columns;
    int64_t row_stride = 1, column_stride;

    matrix(const void *data_, const layout &l, bool transposed)
        : data(const_cast<void *>(data_)), rows(l.rows), columns(l.columns), column_stride(l.stride)
    {
        known_type(l.type, &type);
        if (transposed) {
            std::swap(rows, columns);
            std::swap(row_stride, column_stride);
        }
    }
    int64_t at(uint64_t row, uint64_t column) const
    {
        return int64_t(row) * row_stride + int64_t(column) * column_stride;
    }
    float get(uint64_t row, uint64_t column) const
    {
        return sim::get(data, type, at(row, column));
    }
};

bool is_sound(const layout &l)
{
    number_type type;

    return known_type(l.type, &type) && l.rows && l.columns && l.stride >= int64_t(l.rows);
}

cublasStatus_t refuse(const char *what)
{
    sim::refused(what);
    return CUBLAS_STATUS_INVALID_VALUE;
}

/* What an algorithm holds. */
struct way {
    uint64_t is_unordered, workspace_bytes, fingerprint;
    uint32_t aligns[4];
};

static_assert(sizeof(way) <= sizeof(cublasLtMatmulAlgo_t), "it is kept in one");

way way_of(const cublasLtMatmulAlgo_t &algo)
{
    way w;

    memcpy(&w, algo.data, sizeof(w));
    return w;
}

/* What scratch a way is given at most. */
constexpr uint64_t SCRATCH_BYTES = 1 << 20;

/* Of all that a way depends on but alignments (FNV-1a). */
uint64_t fingerprint(const description &desc, const layout *const layouts[4])
{
    uint64_t hash = 0xcbf29ce484222325;
    auto mix = [&hash](uint64_t x) { hash = (hash ^ x) * 0x100000001b3; };

    for (uint64_t x : {uint64_t(desc.compute), uint64_t(desc.a), uint64_t(desc.epilogue)})
        mix(x);
    for (int i = 0; i < 4; i++)
        for (uint64_t x : {uint64_t(layouts[i]->type), layouts[i]->rows, layouts[i]->columns,
                           uint64_t(layouts[i]->stride)})
            mix(x);
    return hash;
}

struct product {
    description desc;
    matrix a, b, c, d;
    float alpha, beta;
    bool is_unordered;

    float sum(uint64_t row, uint64_t column) const
    {
        const bool tf32 = desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
        double total = 0.0;

        for (uint64_t k = 0; k < a.columns; k++) {
            const float x = a.get(row, k), y = b.get(k, column);

            total += tf32 ? double(sim::tf32(x)) * double(sim::tf32(y)) : double(x) * double(y);
        }
        return float(total);
    }
    float element(uint64_t row, uint64_t column) const
    {
        static uint32_t n_sums;
        float x = alpha * sum(row, column);

        if (is_unordered)
            x *= 1.0f + 0x1p-20f * float(n_sums++ % 3);
        if (beta != 0.0f)
            x += beta * c.get(row, column);
        if (desc.epilogue == CUBLASLT_EPILOGUE_BIAS)
            x += sim::get(desc.bias, d.type, int64_t(row));
        return x;
    }
    void run() const
    {
        for (uint64_t row = 0; row < d.rows; row++)
            for (uint64_t column = 0; column < d.columns; column++)
                sim::put(d.data, d.type, d.at(row, column), element(row, column));
    }
};

/* What the library would refuse: shapes that don't fit, types that don't go together. */
cublasStatus_t check(const description &desc, const layout *const layouts[4])
{
    for (int i = 0; i < 4; i++)
        if (!layouts[i] || !is_sound(*layouts[i]))
            return CUBLAS_STATUS_INVALID_VALUE;
    const matrix a(nullptr, *layouts[0], desc.a), b(nullptr, *layouts[1], false);
    const matrix c(nullptr, *layouts[2], false), d(nullptr, *layouts[3], false);

    if (a.columns != b.rows || a.rows != d.rows || b.columns != d.columns || c.rows != d.rows ||
        c.columns != d.columns)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (desc.scale != CUDA_R_32F || layouts[0]->type != layouts[1]->type ||
        layouts[2]->type != layouts[3]->type)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (layouts[3]->type != CUDA_R_32F && layouts[3]->type != layouts[0]->type)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return desc.epilogue == CUBLASLT_EPILOGUE_DEFAULT || desc.epilogue == CUBLASLT_EPILOGUE_BIAS
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_NOT_SUPPORTED;
}

/* Copies an attribute of exactly this size. */
template <class T> cublasStatus_t set(T *to, const void *value, size_t n_bytes)
{
    if (!value || n_bytes != sizeof(T))
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, value, n_bytes);
    return CUBLAS_STATUS_SUCCESS;
}

}

size_t cublasLtGetVersion(void)
{
    return 130000;
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    }
    return "unknown status";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *ret_handle)
{
    sim::call c;
    cudaError_t r;
    const sim::device *d = sim::current(&r);

    if (!d || sim::shall_fail("cublas"))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    *ret_handle = new cublasLtContext{d->ordinal};
    return CUBLAS_STATUS_SUCCESS;
}

/* As the library's own: it waits for the whole card. */
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    cudaDeviceSynchronize();
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *ret_desc,
                                        cublasComputeType_t compute, cudaDataType_t scale)
{
    *ret_desc = new description{};
    (*ret_desc)->compute = compute;
    (*ret_desc)->scale = scale;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
    delete desc;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t n_bytes)
{
    switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return set(&desc->a, value, n_bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return set(&desc->epilogue, value, n_bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return set(&desc->bias, value, n_bytes);
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *ret_layout, cudaDataType_t type,
                                          uint64_t rows, uint64_t columns, int64_t stride)
{
    *ret_layout = new layout{type, rows, columns, stride};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t it)
{
    delete it;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *ret_preference)
{
    *ret_preference = new cublasLtMatmulPreferenceOpaque{};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    delete preference;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *value, size_t n_bytes)
{
    switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
        return set(&preference->max_workspace_bytes, value, n_bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
        return set(&preference->reductions, value, n_bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
        return set(&preference->aligns[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES],
                   value, n_bytes);
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference, int n_wanted,
    cublasLtMatmulHeuristicResult_t *ret_results, int *ret_n)
{
    sim::call held;
    const layout *const layouts[] = {a, b, c, d};
    cudaError_t r;
    const sim::device *device = sim::current(&r);

    *ret_n = 0;
    if (!handle || !desc || !preference || n_wanted < 1 || !device ||
        device->ordinal != handle->ordinal)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (sim::captures_here())
        return refuse("a question while a graph is captured");
    const cublasStatus_t status = check(*desc, layouts);

    if (status)
        return status;
    if (sim::shall_fail("heuristicmemory"))
        return CUBLAS_STATUS_ALLOC_FAILED;
    if (sim::shall_fail("heuristic") || (a->type == CUDA_R_16BF && device->capability < 80))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    /* One that adds up parts in any order, one that can't be had, and one as it should be. */
    for (int i = preference->reductions ? 0 : 1; i < 3 && *ret_n < n_wanted; i++) {
        cublasLtMatmulHeuristicResult_t &found = ret_results[(*ret_n)++];
        way w = {i < 2, std::min(preference->max_workspace_bytes, SCRATCH_BYTES),
                 fingerprint(*desc, layouts), {}};

        memcpy(w.aligns, preference->aligns, sizeof(w.aligns));
        found = {};
        memcpy(found.algo.data, &w, sizeof(w));
        found.workspaceSize = w.workspace_bytes;
        found.state = i == 1 ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
        found.wavesCount = 1.0f;
    }
    return CUBLAS_STATUS_SUCCESS;
}

namespace {

/* Whether all of the matrix is in the device's memory. */
bool is_there(const void *data, const layout &l)
{
    const matrix m(data, l, false);
    const int64_t last = m.at(m.rows - 1, m.columns - 1);

    return sim::find(data, (size_t(last) + 1) * sim::size_of(m.type)) != nullptr;
}

/* Whether the way is for these matrices, at these addresses, and has its scratch. */
bool fits(const way &w, const description &desc, const layout *const layouts[4],
          const void *const data[4], void *workspace, size_t n_bytes)
{
    if (w.fingerprint != fingerprint(desc, layouts))
        return false;
    for (int i = 0; i < 4; i++)
        if (uintptr_t(data[i]) % w.aligns[i])
            return false;
    if (!w.workspace_bytes)
        return true;
    return n_bytes >= w.workspace_bytes && uintptr_t(workspace) % 256 == 0 &&
           sim::find(workspace, n_bytes);
}

}

cublasStatus_t cublasLtMatmul(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *a,
    cublasLtMatrixLayout_t a_layout, const void *b, cublasLtMatrixLayout_t b_layout,
    const void *beta, const void *c, cublasLtMatrixLayout_t c_layout, void *d,
    cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo, void *workspace,
    size_t workspace_bytes, cudaStream_t handle_of_stream)
{
    sim::call held;
    const layout *const layouts[] = {a_layout, b_layout, c_layout, d_layout};
    const void *const data[] = {a, b, c, d};
    cudaError_t r;
    CUstream_st *stream = sim::resolve(handle_of_stream, &r);
    way w = {};

    if (!stream)
        return CUBLAS_STATUS_EXECUTION_FAILED;
    if (!handle || !desc || !alpha || !beta || stream->owner->ordinal != handle->ordinal)
        return CUBLAS_STATUS_INVALID_VALUE;
    const cublasStatus_t status = check(*desc, layouts);

    if (status)
        return status;
    for (int i = 0; i < 4; i++)
        if (!is_there(data[i], *layouts[i]))
            return refuse("a matrix that isn't in the device's memory");
    if (algo) {
        w = way_of(*algo);
        if (!fits(w, *desc, layouts, data, workspace, workspace_bytes))
            return refuse("a way that isn't for these matrices, or without its scratch");
    }
    if (desc->epilogue == CUBLASLT_EPILOGUE_BIAS && !sim::find(desc->bias, d_layout->rows * 2))
        return refuse("a bias that isn't in the device's memory");
    if (sim::shall_fail("matmul"))
        return CUBLAS_STATUS_EXECUTION_FAILED;
    const product p = {*desc,
                       matrix(a, *a_layout, desc->a),
                       matrix(b, *b_layout, false),
                       matrix(c, *c_layout, false),
                       matrix(d, *d_layout, false),
                       *static_cast<const float *>(alpha),
                       *static_cast<const float *>(beta),
                       w.is_unordered != 0};
    auto run = [p, w, workspace](std::string *) {
        if (w.workspace_bytes)
            memset(workspace, 0xff, w.workspace_bytes);
        p.run();
        return cudaSuccess;
    };
    return sim::submit(stream, {run, nullptr, nullptr})
               ? CUBLAS_STATUS_EXECUTION_FAILED
               : CUBLAS_STATUS_SUCCESS;
}
