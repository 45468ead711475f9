/* SPDX-License-Identifier: MIT */
/*
 * cuDNN's graphs for the simulated machine: convolutions by plain loops, summed in double, and what
 * follows step by step, in f32
 *
 * Strict where the library only states what it expects: types of attributes, what a descriptor
 * needs to be finalized, filters without gaps, alignments, and pointers for each tensor that is no
 * intermediate result. Of the engines that its heuristics name the first differs in its last bits
 * each time, the second is Winograd's, the third can't be compiled, the fourth wants much scratch;
 * the fifth is as it should be, and spoils its scratch.
 */

#include "tests/simulators/cuda/libraries/cudnn-graph.h"

#include <algorithm>

using namespace sim::cudnn;

struct cudnnContext {
    int ordinal;
    cudaStream_t stream = nullptr;
};

namespace {

/* What a step takes: an element of memory, an earlier step's result, or a number by value. */
struct operand {
    const tensor *what = nullptr;
    const void *data = nullptr;
    size_t step = 0;
    float number = 0.0f;

    float value(const int64_t place[4], const float *made) const
    {
        if (data)
            return sim::get(data, what->number(), what->at(place));
        return what->is_virtual ? made[step] : number;
    }
};

struct step {
    operation how;
    operand x, b, t;

    float value(const int64_t p[4], const float *made) const
    {
        const float left = x.value(p, made), right = b.value(p, made);

        switch (how.mode) {
        case CUDNN_POINTWISE_ADD: return left + right;
        case CUDNN_POINTWISE_MUL: return left * right;
        case CUDNN_POINTWISE_CMP_LT: return left < right ? 1.0f : 0.0f;
        case CUDNN_POINTWISE_BINARY_SELECT: return t.value(p, made) != 0.0f ? left : right;
        }
        return 0.0f;
    }
};

/* All of a tensor's memory, gaps included, as f32. */
std::vector<float> values_of(const tensor &t, const void *data)
{
    std::vector<float> values(t.n_bytes() / sim::size_of(t.number()));

    for (size_t i = 0; i < values.size(); i++)
        values[i] = sim::get(data, t.number(), int64_t(i));
    return values;
}

/* What is computed when the plan runs: a convolution, then steps. */
struct work {
    std::vector<step> steps;
    void *out = nullptr;
    bool is_unordered = false;

    float sum(const std::vector<float> &x, const std::vector<float> &w, const int64_t p[4]) const
    {
        const operation &o = steps[0].how;
        double total = 0.0;

        for (int64_t tap_h = 0; tap_h < o.b.dims[2]; tap_h++)
            for (int64_t tap_w = 0; tap_w < o.b.dims[3]; tap_w++) {
                const int64_t h = p[2] + tap_h - o.padding, v = p[3] + tap_w - o.padding;

                if (h < 0 || h >= o.x.dims[2] || v < 0 || v >= o.x.dims[3])
                    continue;
                const int64_t from[4] = {p[0], 0, h, v}, tap[4] = {p[1], 0, tap_h, tap_w};
                const int64_t at_x = o.x.at(from), at_w = o.b.at(tap);

                for (int64_t i = 0; i < o.x.dims[1]; i++)
                    total += double(x[size_t(at_x + i * o.x.strides[1])]) *
                             double(w[size_t(at_w + i * o.b.strides[1])]);
            }
        return float(total);
    }
    void run() const
    {
        static uint32_t n_sums;
        const operation &first = steps[0].how;
        const tensor &y = steps.back().how.y;
        const std::vector<float> x = values_of(first.x, steps[0].x.data);
        const std::vector<float> w = values_of(first.b, steps[0].b.data);
        std::vector<float> made(steps.size());
        int64_t p[4];

        for (p[0] = 0; p[0] < y.dims[0]; p[0]++)
        for (p[1] = 0; p[1] < y.dims[1]; p[1]++)
        for (p[2] = 0; p[2] < y.dims[2]; p[2]++)
        for (p[3] = 0; p[3] < y.dims[3]; p[3]++) {
            made[0] = sum(x, w, p);
            if (is_unordered)
                made[0] *= 1.0f + 0x1p-10f * float(n_sums++ % 7);
            for (size_t i = 1; i < steps.size(); i++)
                made[i] = steps[i].value(p, made.data());
            sim::put(out, y.number(), y.at(p), made.back());
        }
    }
};

/* The tensor's pointer in the pack, or NULL. */
void *pointer_of(const descriptor &pack, int64_t id)
{
    for (int64_t i = 0; i < pack.values.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).n; i++)
        if (pack.get<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, i) == id)
            return pack.get<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, i);
    return nullptr;
}

/* Where a tensor that isn't virtual is, this time. */
cudnnStatus_t find(const tensor &t, const descriptor &pack, void **ret_data)
{
    *ret_data = pointer_of(pack, t.id);
    if (!*ret_data)
        return bad("no pointer for a tensor");
    if (t.is_by_value)
        return CUDNN_STATUS_SUCCESS;
    if (uintptr_t(*ret_data) % uintptr_t(t.align))
        return bad("a tensor that isn't aligned as it was said to be");
    return sim::find(*ret_data, t.n_bytes()) ? CUDNN_STATUS_SUCCESS
                                             : bad("a tensor that isn't in the device's memory");
}

cudnnStatus_t take(const std::vector<step> &before, const tensor &t, const descriptor &pack,
                   operand *ret_operand)
{
    operand o;
    void *data = nullptr;

    o.what = &t;
    if (t.is_virtual) {
        while (before[o.step].how.y.id != t.id)
            o.step++;
    } else if (cudnnStatus_t status = find(t, pack, &data)) {
        return status;
    } else if (t.is_by_value) {
        memcpy(&o.number, data, sizeof(o.number));
    } else {
        o.data = data;
    }
    *ret_operand = o;
    return CUDNN_STATUS_SUCCESS;
}

/* Operands point into the operations, which stay where they are. */
cudnnStatus_t bind_all(const std::vector<operation> &all, const descriptor &pack, work *ret_work)
{
    ret_work->steps.reserve(all.size());
    for (const operation &o : all) {
        step s{o, {}, {}, {}};
        cudnnStatus_t status = take(ret_work->steps, o.x, pack, &s.x);

        if (!status)
            status = take(ret_work->steps, o.b, pack, &s.b);
        if (!status)
            status = take(ret_work->steps, o.t, pack, &s.t);
        if (status)
            return status;
        ret_work->steps.push_back(s);
    }
    return find(all.back().y, pack, &ret_work->out);
}

descriptor *as(cudnnBackendDescriptor_t d)
{
    return static_cast<descriptor *>(d);
}

/* bf16 came with sm_80. */
bool has_engines(const descriptor &heuristics)
{
    const descriptor *graph = heuristics.of(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    cudaError_t r;
    const sim::device *device = sim::current(&r);

    if (!device || sim::shall_fail("engines"))
        return false;
    return operations_of(*graph)[0].x.type != CUDNN_DATA_BFLOAT16 || device->capability >= 80;
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
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
        return "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED";
    case CUDNN_STATUS_EXECUTION_FAILED: return "CUDNN_STATUS_EXECUTION_FAILED";
    }
    return "unknown status";
}

void cudnnGetLastErrorString(char *message, size_t size)
{
    sim::call c;

    snprintf(message, size, "%s", last_error()->c_str());
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *ret_handle)
{
    sim::call c;
    cudaError_t r;
    const sim::device *d = sim::current(&r);

    if (!d || sim::shall_fail("cudnn"))
        return CUDNN_STATUS_NOT_INITIALIZED;
    *ret_handle = new cudnnContext{d->ordinal};
    return CUDNN_STATUS_SUCCESS;
}

/* As the library's own: it waits for the whole card. */
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    cudaDeviceSynchronize();
    delete handle;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    sim::call c;
    cudaError_t r;
    const CUstream_st *found = sim::resolve(stream, &r);

    if (!found || found->owner->ordinal != handle->ordinal)
        return bad("a stream of another device");
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t kind,
                                           cudnnBackendDescriptor_t *ret_descriptor)
{
    *ret_descriptor = new descriptor{kind};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d)
{
    delete as(d);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t opaque)
{
    sim::call c;
    descriptor *d = as(opaque);
    cudnnStatus_t status;

    if (d->kind != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
        status = check(*d);
    else if (d->has(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION))
        status = sim::shall_fail("keptplan") ? CUDNN_STATUS_NOT_SUPPORTED : plan_of_text(d);
    else if (sim::shall_fail("planmemory"))
        status = CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
    else
        status = check(*d);
    d->is_final = status == CUDNN_STATUS_SUCCESS;
    return status;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t opaque,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t n,
                                       const void *values)
{
    sim::call c;
    descriptor *d = as(opaque);

    if (d->is_final || !is_of_type(name, type) || n < 1 || !values)
        return bad("an attribute that can't be set so");
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        for (int64_t i = 0; i < n; i++) {
            const descriptor *other = static_cast<descriptor *const *>(values)[i];

            if (!other || (!other->is_final && other->engine < 0))
                return bad("a descriptor that isn't final");
        }
    const char *bytes = static_cast<const char *>(values);

    d->values[name] = {type, n, {bytes, bytes + size_t(n) * sim::cudnn::size_of(type)}};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t opaque,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t n_wanted,
                                       int64_t *ret_n, void *values)
{
    sim::call c;
    const descriptor *d = as(opaque);
    descriptor **others = static_cast<descriptor **>(values);

    *ret_n = 1;
    switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
        if (!d->is_final)
            return bad("heuristics that aren't final");
        *ret_n = has_engines(*d) ? std::min<int64_t>(n_wanted, N_ENGINES) : 0;
        for (int64_t i = 0; i < *ret_n; i++) {
            others[i]->values[CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH] =
                d->values.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
            others[i]->engine = int(i);
        }
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINECFG_ENGINE:
        others[0]->engine = d->engine;
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
        static_cast<int *>(values)[0] = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
        if (d->engine > WINOGRAD || n_wanted < 2)
            return CUDNN_STATUS_SUCCESS;
        static_cast<int *>(values)[1] = d->engine == UNORDERED
                                            ? CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC
                                            : CUDNN_NUMERICAL_NOTE_WINOGRAD;
        *ret_n = 2;
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
        *static_cast<int64_t *>(values) =
            d->of(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)->engine == LARGE ? LARGE_BYTES
                                                                            : SCRATCH_BYTES;
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION: {
        const std::string text = text_of(*d);

        *ret_n = int64_t(text.size());
        if (n_wanted > 0)
            memcpy(values, text.data(), size_t(std::min(n_wanted, *ret_n)));
        return CUDNN_STATUS_SUCCESS;
    }
    default: return bad("an attribute that can't be asked for");
    }
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t opaque_plan,
                                  cudnnBackendDescriptor_t opaque_pack)
{
    sim::call c;
    cudaError_t r;
    const descriptor *plan = as(opaque_plan), *pack = as(opaque_pack);
    CUstream_st *stream = sim::resolve(handle->stream, &r);

    if (!stream || !plan->is_final || !pack->is_final)
        return bad("what can't be executed");
    const descriptor *config = plan->of(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    void *scratch = pack->get<void *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
    const int64_t n_scratch = config->engine == LARGE ? LARGE_BYTES : SCRATCH_BYTES;
    const auto all = std::make_shared<std::vector<operation>>(
        operations_of(*config->of(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)));
    work w;

    w.is_unordered = config->engine < BROKEN;
    if (cudnnStatus_t status = bind_all(*all, *pack, &w))
        return status;
    if (!sim::find(scratch, size_t(n_scratch)) || uintptr_t(scratch) % 16)
        return bad("scratch that isn't there");
    if (sim::shall_fail("convolution"))
        return CUDNN_STATUS_EXECUTION_FAILED;
    auto run = [w, all, scratch, n_scratch](std::string *) {
        memset(scratch, 0xff, size_t(n_scratch));
        w.run();
        return cudaSuccess;
    };
    return sim::submit(stream, {run, nullptr, nullptr})
               ? CUDNN_STATUS_EXECUTION_FAILED
               : CUDNN_STATUS_SUCCESS;
}
