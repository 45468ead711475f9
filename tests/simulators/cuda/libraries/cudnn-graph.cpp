/* SPDX-License-Identifier: MIT */

#include "tests/simulators/cuda/libraries/cudnn-graph.h"

namespace sim::cudnn {

std::string *last_error()
{
    static std::string text;

    return &text;
}

cudnnStatus_t bad(const char *what)
{
    *last_error() = what;
    sim::refused(what);
    return CUDNN_STATUS_BAD_PARAM;
}

static const struct {
    int name;
    cudnnBackendAttributeType_t type;
} types[] = {
    {CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE},
    {CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE},
    {CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE},
    {CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE},
    {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE},
    {CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE},
    {CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT},
    {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT},
    {CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE},
    {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE},
    {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN},
    {CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN},
    {CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64},
    {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR},
    {CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR},
};

/* What isn't listed is a descriptor. */
bool is_of_type(int name, cudnnBackendAttributeType_t type)
{
    for (const auto &t : types)
        if (t.name == name)
            return t.type == type;
    return type == CUDNN_TYPE_BACKEND_DESCRIPTOR;
}

size_t size_of(cudnnBackendAttributeType_t type)
{
    switch (type) {
    case CUDNN_TYPE_BOOLEAN: return sizeof(bool);
    case CUDNN_TYPE_CHAR: return sizeof(char);
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR: return sizeof(void *);
    case CUDNN_TYPE_INT64: return sizeof(int64_t);
    default: return sizeof(int);
    }
}

/* What each kind can't do without. */
static const std::map<int, std::vector<int>> needs = {
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
     {CUDNN_ATTR_POINTWISE_MODE, CUDNN_ATTR_POINTWISE_MATH_PREC}},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
     {CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_ATTR_CONVOLUTION_CONV_MODE,
      CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
      CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS,
      CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS}},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR,
     {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH}},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
     {CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG}},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA}},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
     {CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
      CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_ATTR_OPERATION_POINTWISE_YDESC}},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR,
     {CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_ATTR_OPERATIONGRAPH_OPS}},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
     {CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
      CUDNN_ATTR_VARIANT_PACK_WORKSPACE}},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR,
     {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_ATTR_TENSOR_DIMENSIONS,
      CUDNN_ATTR_TENSOR_STRIDES, CUDNN_ATTR_TENSOR_UNIQUE_ID}},
};

static cudnnStatus_t check_tensor(const descriptor &d)
{
    const tensor t(d);

    if (d.values.at(CUDNN_ATTR_TENSOR_DIMENSIONS).n != 4 ||
        d.values.at(CUDNN_ATTR_TENSOR_STRIDES).n != 4)
        return bad("a tensor that hasn't four dimensions");
    for (int i = 0; i < 4; i++)
        if (t.dims[i] < 1 || t.strides[i] < 1)
            return bad("a tensor with an impossible dimension");
    if (t.align < 1 || t.align & (t.align - 1))
        return bad("an alignment that is no power of two");
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t check_convolution(const descriptor &d)
{
    for (int name : {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES})
        if (d.get<int64_t>(name, 0) != 1 || d.get<int64_t>(name, 1) != 1)
            return bad("a convolution that isn't dense");
    if (d.get<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS) != 2 ||
        d.get<int>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) != CUDNN_DATA_FLOAT ||
        d.get<int>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) != CUDNN_CROSS_CORRELATION)
        return bad("a convolution of another kind");
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t check_forward(const descriptor &d)
{
    const operation o(d);

    if (!o.b.is_without_gaps())
        return bad("a filter with gaps");
    if (o.x.type != o.b.type || o.x.dims[1] != o.b.dims[1] || o.y.dims[1] != o.b.dims[0] ||
        o.y.dims[0] != o.x.dims[0] || o.x.is_virtual || o.b.is_virtual)
        return bad("a convolution whose tensors don't fit");
    for (int i = 2; i < 4; i++)
        if (o.y.dims[i] != o.x.dims[i] + 2 * o.padding - o.b.dims[i] + 1)
            return bad("a convolution's output of the wrong size");
    if (d.get<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA) != 1.0f ||
        d.get<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA) != 0.0f)
        return bad("a convolution that is scaled");
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t check_step(const descriptor &d)
{
    const operation o(d);
    const bool selects = o.mode == CUDNN_POINTWISE_BINARY_SELECT;

    if (selects != d.has(CUDNN_ATTR_OPERATION_POINTWISE_TDESC) ||
        (selects && o.t.type != CUDNN_DATA_BOOLEAN) ||
        (o.mode == CUDNN_POINTWISE_CMP_LT) != (o.y.type == CUDNN_DATA_BOOLEAN))
        return bad("a step with the wrong tensors");
    for (int i = 0; i < 4; i++)
        if (o.x.dims[i] != o.y.dims[i] || (o.b.dims[i] != o.y.dims[i] && o.b.dims[i] != 1))
            return bad("a step whose tensors don't fit");
    return CUDNN_STATUS_SUCCESS;
}

std::vector<operation> operations_of(const descriptor &graph)
{
    std::vector<operation> all;

    for (int64_t i = 0; i < graph.values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).n; i++)
        all.emplace_back(*graph.of(CUDNN_ATTR_OPERATIONGRAPH_OPS, i));
    return all;
}

/* One convolution, then steps, each of what was computed before it; the last one is stored. */
static cudnnStatus_t check_graph(const descriptor &d)
{
    const std::vector<operation> all = operations_of(d);
    std::set<int64_t> made;

    for (size_t i = 0; i < all.size(); i++) {
        if (all[i].is_convolution != (i == 0))
            return bad("a graph that isn't a convolution and what follows");
        for (const tensor *t : {&all[i].x, &all[i].b, &all[i].t})
            if (t->is_virtual && !made.count(t->id))
                return bad("a step of what nobody computes");
        if (!made.insert(all[i].y.id).second || all[i].y.is_virtual != (i + 1 < all.size()))
            return bad("a graph whose results aren't as they should be");
    }
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t check_plan(const descriptor &d)
{
    const descriptor *config = d.of(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);

    if (!config || config->engine < 0)
        return bad("a plan of no engine");
    if (sim::captures_here())
        return bad("a plan to compile while a graph is captured");
    *last_error() = "this engine can't be compiled";
    return config->engine == BROKEN ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t check(const descriptor &d)
{
    const auto found = needs.find(d.kind);

    if (d.is_final || found == needs.end())
        return bad("a descriptor that is final, or never is");
    for (int name : found->second)
        if (!d.has(name))
            return bad("a descriptor that lacks an attribute");
    switch (d.kind) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR: return check_tensor(d);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR: return check_convolution(d);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR: return check_forward(d);
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: return check_step(d);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR: return check_graph(d);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: return check_plan(d);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
        return d.get<int>(CUDNN_ATTR_ENGINEHEUR_MODE) == CUDNN_HEUR_MODE_A
                   ? CUDNN_STATUS_SUCCESS
                   : bad("heuristics of another mode");
    default: return CUDNN_STATUS_SUCCESS;
    }
}

}
