/* SPDX-License-Identifier: MIT */

#include "backend/cpu/products/tokens.h"

#include <math.h>
#include <string.h>

#include "backend/cpu/isa/isa.h"
#include "backend/cpu/isa/rows.h"

#define QUAD 4

typedef float quad __attribute__((vector_size(4 * QUAD), aligned(4), may_alias));

/* Four tokens of a run: where their values are as f32, each. */
struct quad_rows {
    float *at[QUAD];
};

static char *address(const struct vrt_token_run *run, int i)
{
    const struct vrt_place *place = &run->places[i];

    return vrt_cpu_at(run->t, run->base, place->d, place->y, place->x);
}

static bool is_place(const struct vrt_token_run *run, int i)
{
    return i < run->n && run->places[i].d >= 0;
}

/* Tokens [i, i + QUAD) in place; or in `rows`, converted, zeros for padding. */
static struct quad_rows rows_at(const struct vrt_token_run *run, int i, float *rows)
{
    const size_t C = (size_t)run->t->shape.c;
    struct quad_rows quads;

    for (int k = 0; k < QUAD; k++) {
        quads.at[k] = rows + (size_t)k * C;
        if (!is_place(run, i + k))
            memset(quads.at[k], 0, C * sizeof(float));
        else if (run->t->dtype == VRT_DTYPE_F32)
            quads.at[k] = (float *)(void *)address(run, i + k);
        else
            vrt_cpu_load(run->t->dtype, address(run, i + k), quads.at[k], C);
    }
    return quads;
}

/* Rows become columns. */
static inline void turn(quad v[QUAD])
{
    const quad a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5);
    const quad b = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5);
    const quad c = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
    const quad d = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);

    v[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    v[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    v[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    v[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

void vrt_tokens_gather(const struct vrt_token_run *run, float *block, float *rows)
{
    const int C = run->t->shape.c;

    for (int i = 0; i < VRT_BLOCK_TOKENS; i += QUAD) {
        const struct quad_rows from = rows_at(run, i, rows);
        float *to = block + i;
        int c = 0;

        for (; c + QUAD <= C; c += QUAD) {
            quad v[QUAD];

            for (int k = 0; k < QUAD; k++)
                v[k] = *(const quad *)(from.at[k] + c);
            turn(v);
            for (int k = 0; k < QUAD; k++)
                *(quad *)(to + (size_t)(c + k) * VRT_BLOCK_TOKENS) = v[k];
        }
        for (; c < C; c++)
            for (int k = 0; k < QUAD; k++)
                to[(size_t)c * VRT_BLOCK_TOKENS + (size_t)k] = from.at[k][c];
    }
}

static void norm_block(const struct vrt_token_run *run, float *block, const float *weight,
                       const float *bias)
{
    const int C = run->t->shape.c;
    float mean[VRT_BLOCK_TOKENS] = { 0 }, scale[VRT_BLOCK_TOKENS] = { 0 };

    for (int c = 0; c < C; c++)
        for (int t = 0; t < VRT_BLOCK_TOKENS; t++)
            mean[t] += block[c * VRT_BLOCK_TOKENS + t];
    for (int t = 0; t < VRT_BLOCK_TOKENS; t++)
        mean[t] /= (float)C;
    for (int c = 0; c < C; c++)
        for (int t = 0; t < VRT_BLOCK_TOKENS; t++) {
            const float x = block[c * VRT_BLOCK_TOKENS + t] - mean[t];
            scale[t] += x * x;
        }
    /* Padding is zero after the norm, as a token that was never there. */
    for (int t = 0; t < VRT_BLOCK_TOKENS; t++)
        scale[t] = 1 / sqrtf(scale[t] / (float)C + VRT_NORM_EPSILON);
    for (int c = 0; c < C; c++)
        for (int t = 0; t < VRT_BLOCK_TOKENS; t++) {
            float *x = &block[c * VRT_BLOCK_TOKENS + t];
            *x = (*x - mean[t]) * scale[t] * weight[c] + bias[c];
        }
    for (int t = 0; t < VRT_BLOCK_TOKENS; t++)
        for (int c = 0; c < C && (t >= run->n || run->places[t].d < 0); c++)
            block[c * VRT_BLOCK_TOKENS + t] = 0;
}

void vrt_tokens_norm(const struct vrt_cpu_call *call, const struct vrt_op_norm *norm,
                     const struct vrt_token_run *run, float *block)
{
    if (norm->weight >= 0)
        norm_block(run, block, call->params[norm->weight].values, call->params[norm->bias].values);
}

void vrt_tokens_put(const float *block, int C, vrt_unit *panel, size_t ld)
{
    for (int c = 0; c < C; c += VRT_UNIT_ELEMENTS) {
        const float *even = block + (size_t)c * VRT_BLOCK_TOKENS;
        const bool pair = VRT_UNIT_ELEMENTS == 2 && c + 1 < C;

        vrt_unit_put(panel + vrt_panel_row_at(c) * ld, ld, even,
                     pair ? even + VRT_BLOCK_TOKENS : NULL);
    }
}

void vrt_tokens_multiply(const struct vrt_weight_rows *rows, int n, const vrt_unit *panel,
                         size_t ld, float *block)
{
    struct vrt_product product = {
        .w_row = rows->row_units,
        .x = panel,
        .x_step = ld,
        .n_units = (int)rows->row_units / VRT_UNIT_ROWS,
    };

    const int step = vrt_block_rows(n);

    for (int i = 0; i < n; i += step) {
        float(*sums)[VRT_BLOCK_TOKENS] = (void *)(block + (size_t)i * VRT_BLOCK_TOKENS);
        const int n_rows = VRT_MIN(step, n - i);

        product.w = rows->w + (size_t)i * rows->row_units;
        vrt_product_by_rows(&product, n_rows, sums);
        for (int k = 0; rows->bias && k < n_rows; k++)
            for (int t = 0; t < VRT_BLOCK_TOKENS; t++)
                sums[k][t] += rows->bias[i + k];
    }
}

/* Four columns of a block to rows of C, added to those of `more` if there are any. */
static void scatter_quad(const float *from, int C, const struct quad_rows *more,
                         const struct quad_rows *to)
{
    int c = 0;

    for (; c + QUAD <= C; c += QUAD) {
        quad v[QUAD];

        for (int k = 0; k < QUAD; k++)
            v[k] = *(const quad *)(from + (size_t)(c + k) * VRT_BLOCK_TOKENS);
        turn(v);
        for (int k = 0; k < QUAD; k++) {
            if (more)
                v[k] += *(const quad *)(more->at[k] + c);
            *(quad *)(to->at[k] + c) = v[k];
        }
    }
    for (; c < C; c++)
        for (int k = 0; k < QUAD; k++)
            to->at[k][c] = from[(size_t)c * VRT_BLOCK_TOKENS + (size_t)k] +
                           (more ? more->at[k][c] : 0);
}

void vrt_tokens_scatter(const struct vrt_token_run *run, const struct vrt_token_run *residual,
                        const float *block, float *rows)
{
    const size_t C = (size_t)run->t->shape.c;
    const bool in_place = run->t->dtype == VRT_DTYPE_F32;

    for (int i = 0; i < run->n; i += QUAD) {
        struct quad_rows to, more;

        for (int k = 0; k < QUAD; k++) {
            to.at[k] = rows + (size_t)k * C;
            if (in_place && is_place(run, i + k))
                to.at[k] = (float *)(void *)address(run, i + k);
        }
        if (residual)
            more = rows_at(residual, i, rows + QUAD * C);
        scatter_quad(block + i, (int)C, residual ? &more : NULL, &to);
        for (int k = 0; k < QUAD && !in_place; k++)
            if (is_place(run, i + k))
                vrt_cpu_store(run->t->dtype, to.at[k], address(run, i + k), C);
    }
}

struct vrt_weight_rows vrt_tokens_weight_rows(const struct vrt_cpu_call *call, int index, int bias,
                                              int first)
{
    const struct vrt_cpu_param *param = &call->params[index];

    return (struct vrt_weight_rows){
        .w = (const vrt_unit *)param->matrix + (size_t)first * param->row_units,
        .row_units = param->row_units,
        .bias = bias < 0 ? NULL : call->params[bias].values + first,
    };
}

struct vrt_token_run vrt_tokens_run(const struct vrt_cpu_call *call, int i,
                                    const struct vrt_place *places, int n)
{
    return (struct vrt_token_run){
        .t = i < 0 ? &call->op->out : &call->op->in[i],
        .base = i < 0 ? call->out : (void *)call->in[i],
        .places = places,
        .n = n,
    };
}

void vrt_tokens_each(const struct vrt_cpu_call *call, const int rows[3], struct vrt_place *places,
                     void (*run)(const struct vrt_cpu_call *call, const struct vrt_place *places,
                                 int n))
{
    const int W = call->op->out.shape.w, n = (rows[2] - rows[1]) * W;

    for (int first = 0; first < n; first += VRT_BLOCK_TOKENS) {
        const int n_tokens = VRT_MIN(VRT_BLOCK_TOKENS, n - first);

        for (int i = 0; i < n_tokens; i++)
            places[i] = (struct vrt_place){ rows[0], rows[1] + (first + i) / W, (first + i) % W };
        run(call, places, n_tokens);
    }
    vrt_product_end();
}
