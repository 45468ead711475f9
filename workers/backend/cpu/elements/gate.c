/* SPDX-License-Identifier: MIT */

/* gate: out = (x + y) * (scale * sigmoid(g) + shift), in runs of columns; y may be absent */

#include <string.h>

#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"
#include "backend/cpu/isa/vector.h"

enum { G, X, Y, OUT, N_RUNS };

static size_t gate_scratch_bytes(const struct vrt_op *op)
{
    return vrt_cpu_run_bytes(N_RUNS, op->out.shape.c);
}

/* A vector of elements, which are bf16 or f32. */
static inline vrt_cpu_vector take(const void *from, size_t i, bool is_bf16)
{
    if (is_bf16)
        return vrt_cpu_vector_load_bf16((const uint16_t *)from + i);
    return vrt_cpu_vector_load((const float *)from + i);
}

/* A vector of elements from i on; in: g, x, y or NULL. */
static inline void gate_at(const void *const in[3], const struct vrt_op_gate *gate, void *out,
                           size_t i, bool is_bf16)
{
    const vrt_cpu_vector g = take(in[G], i, is_bf16);
    vrt_cpu_vector v = take(in[X], i, is_bf16);

    if (in[Y])
        v += take(in[Y], i, is_bf16);
    v *= gate->scale * vrt_cpu_vector_sigmoid(g) + gate->shift;
    if (is_bf16)
        vrt_cpu_vector_store_bf16((uint16_t *)out + i, v);
    else
        vrt_cpu_vector_store((float *)out + i, v);
}

/* in, out [n] */
static inline void gate_all(const void *const in[3], const struct vrt_op_gate *gate, void *out,
                            size_t n, bool is_bf16)
{
    const size_t rest = n % VRT_CPU_VECTOR_FLOATS, whole = n - rest;
    const size_t element = is_bf16 ? sizeof(uint16_t) : sizeof(float);
    vrt_cpu_vector ends[N_RUNS] = { { 0 } };

    for (size_t i = 0; i < whole; i += VRT_CPU_VECTOR_FLOATS)
        gate_at(in, gate, out, i, is_bf16);
    if (!rest)
        return;
    for (int k = G; k <= Y; k++)
        if (in[k])
            memcpy(&ends[k], (const char *)in[k] + whole * element, rest * element);
    gate_at((const void *[3]){ &ends[G], &ends[X], in[Y] ? &ends[Y] : NULL }, gate, &ends[OUT], 0,
            is_bf16);
    memcpy((char *)out + whole * element, &ends[OUT], rest * element);
}

/* Whether rows of all tensors are bf16 without gaps. */
static bool is_dense_bf16(const struct vrt_op *op)
{
    bool is_so = op->out.dtype == VRT_DTYPE_BF16 && op->out.stride_w == op->out.shape.c;

    for (int i = G; i <= Y; i++)
        is_so &= !vrt_op_in(op, i) || (op->in[i].dtype == VRT_DTYPE_BF16 &&
                                       op->in[i].stride_w == op->in[i].shape.c);
    return is_so;
}

/* Columns of one row, by way of f32. */
static void gate_run(const struct vrt_cpu_call *call, const int at[3], int n)
{
    const struct vrt_op *op = call->op;
    const size_t c = (size_t)op->out.shape.c;
    const size_t step = vrt_cpu_run_bytes(1, op->out.shape.c) / sizeof(float);
    float *scratch = call->scratch;
    float *out = vrt_cpu_row_target(&op->out, call->out, at, scratch + OUT * step);
    const void *in[3] = { NULL };

    for (int i = G; i <= Y; i++)
        if (vrt_op_in(op, i))
            in[i] = vrt_cpu_row_get(&op->in[i], call->in[i], at, n, scratch + (size_t)i * step);
    gate_all(in, &op->gate, out, (size_t)n * c, false);
    vrt_cpu_row_put(&op->out, call->out, at, n, out);
}

static void gate_dense_row(const struct vrt_cpu_call *call, int d, int y)
{
    const struct vrt_op *op = call->op;
    const void *in[3] = { NULL };

    for (int i = G; i <= Y; i++)
        if (vrt_op_in(op, i))
            in[i] = vrt_cpu_at(&op->in[i], call->in[i], d, y, 0);
    gate_all(in, &op->gate, vrt_cpu_at(&op->out, call->out, d, y, 0),
             (size_t)op->out.shape.w * (size_t)op->out.shape.c, true);
}

static void gate_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct vrt_shape shape = call->op->out.shape;
    const int columns = vrt_cpu_run_columns(shape.c);
    const bool is_dense = is_dense_bf16(call->op);

    for (int y = y0; y < y1; y++) {
        if (is_dense) {
            gate_dense_row(call, d, y);
            continue;
        }
        for (int x = 0; x < shape.w; x += columns)
            gate_run(call, (int[3]){ d, y, x }, VRT_MIN(columns, shape.w - x));
    }
}

const struct vrt_cpu_kernel vrt_cpu_op_gate = {
    .rows = gate_rows,
    .scratch_bytes = gate_scratch_bytes,
};
