/* SPDX-License-Identifier: MIT */
#pragma once

/* Descriptors of cuDNN's graphs: what they hold, and whether that is as it should be. */

#include "tests/simulators/cuda/include/cudnn.h"

#include "tests/simulators/cuda/machine/machine.h"
#include "tests/simulators/cuda/block/number.h"

#include <cstring>

namespace sim::cudnn {

struct attribute {
    cudnnBackendAttributeType_t type;
    int64_t n;
    std::vector<char> bytes;
};

struct descriptor {
    cudnnBackendDescriptorType_t kind{};
    bool is_final = false;
    std::map<int, attribute> values;
    int engine = -1;                    /* of a configuration, and of an engine */
    std::vector<std::unique_ptr<descriptor>> parts;     /* that were made of text with it */

    explicit descriptor(cudnnBackendDescriptorType_t k = {}) : kind(k) {}

    bool has(int name) const { return values.count(name); }
    template <class T> T get(int name, int64_t i = 0, T otherwise = T()) const
    {
        const auto found = values.find(name);
        T value;

        if (found == values.end() || i >= found->second.n)
            return otherwise;
        memcpy(&value, &found->second.bytes[size_t(i) * sizeof(T)], sizeof(T));
        return value;
    }
    const descriptor *of(int name, int64_t i = 0) const { return get<descriptor *>(name, i); }
};

enum { UNORDERED, WINOGRAD, BROKEN, LARGE, GOOD, N_ENGINES };

constexpr int64_t SCRATCH_BYTES = 1 << 20, LARGE_BYTES = 64 << 20;

/* A tensor's description: n, c, h, w. */
struct tensor {
    int64_t id, align, dims[4], strides[4];
    cudnnDataType_t type;
    bool is_virtual, is_by_value;

    explicit tensor(const descriptor &d)
        : id(d.get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID)),
          align(d.get<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT)),
          type(d.get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE)),
          is_virtual(d.get<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL)),
          is_by_value(d.get<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE))
    {
        for (int i = 0; i < 4; i++) {
            dims[i] = d.get<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, i);
            strides[i] = d.get<int64_t>(CUDNN_ATTR_TENSOR_STRIDES, i);
        }
    }
    int64_t at(const int64_t place[4]) const
    {
        int64_t sum = 0;

        for (int i = 0; i < 4; i++)
            sum += dims[i] == 1 ? 0 : place[i] * strides[i];
        return sum;
    }
    sim::number_type number() const
    {
        return type == CUDNN_DATA_HALF       ? sim::number_type::f16
               : type == CUDNN_DATA_BFLOAT16 ? sim::number_type::bf16
                                             : sim::number_type::f32;
    }
    size_t n_bytes() const
    {
        const int64_t last[4] = {dims[0] - 1, dims[1] - 1, dims[2] - 1, dims[3] - 1};

        return size_t(at(last) + 1) * sim::size_of(number());
    }
    /* Whether its elements follow each other in any order of the dimensions. */
    bool is_without_gaps() const
    {
        const int64_t last[4] = {dims[0] - 1, dims[1] - 1, dims[2] - 1, dims[3] - 1};

        return at(last) + 1 == dims[0] * dims[1] * dims[2] * dims[3];
    }
};

/* An operation of a graph: a convolution, or a step after it. */
struct operation {
    bool is_convolution;
    cudnnPointwiseMode_t mode;
    tensor x, b, t, y;                  /* b: or the filter; t: that of b, where there is none */
    int64_t padding;

    explicit operation(const descriptor &d)
        : is_convolution(d.kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR),
          mode(is_convolution ? CUDNN_POINTWISE_ADD
                              : d.of(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)
                                    ->get<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE)),
          x(*d.of(is_convolution ? CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X
                                 : CUDNN_ATTR_OPERATION_POINTWISE_XDESC)),
          b(*d.of(is_convolution ? CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W
                                 : CUDNN_ATTR_OPERATION_POINTWISE_BDESC)),
          t(d.has(CUDNN_ATTR_OPERATION_POINTWISE_TDESC)
                ? tensor(*d.of(CUDNN_ATTR_OPERATION_POINTWISE_TDESC))
                : b),
          y(*d.of(is_convolution ? CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y
                                 : CUDNN_ATTR_OPERATION_POINTWISE_YDESC)),
          padding(is_convolution ? d.of(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC)
                                       ->get<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS)
                                 : 0)
    {
    }
};

/* Of a graph that is final, in order. */
std::vector<operation> operations_of(const descriptor &graph);

/* Whether an attribute is of this type, and how large its values are. */
bool is_of_type(int name, cudnnBackendAttributeType_t type);
size_t size_of(cudnnBackendAttributeType_t type);

/* Whether the descriptor can be made final. */
cudnnStatus_t check(const descriptor &d);

/* A plan that is final as text, and the plan that has such as an attribute, made final by it. */
std::string text_of(const descriptor &plan);
cudnnStatus_t plan_of_text(descriptor *plan);

/* Takes down what was wrong: the first also ends a process that is strict. */
cudnnStatus_t bad(const char *what);
std::string *last_error();

}
