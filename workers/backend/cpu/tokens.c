/* SPDX-License-Identifier: MIT */

#include "backend/cpu/tokens.h"

#include <math.h>

#include "backend/cpu/device.h"
#include "backend/cpu/rows.h"

static char *address(const struct vrt_token_run *run, int i)
{
    const struct vrt_place *place = &run->places[i];

    return vrt_cpu_at(run->t, run->base, place->d, place->y, place->x);
}

/* Row i of the run as f32: in place, or converted to `row`. */
static const float *values_at(const struct vrt_token_run *run, int i, float *row)
{
    const char *at = address(run, i);

    if (run->t->dtype == VRT_DTYPE_F32)
        return (const float *)(const void *)at;
    vrt_cpu_load(run->t->dtype, at, row, (size_t)run->t->shape.c);
    return row;
}

void vrt_tokens_gather(const struct vrt_token_run *run, float *block, float *row)
{
    const int C = run->t->shape.c;

    for (int i = 0; i < VRT_BLOCK_TOKENS; i++) {
        if (i >= run->n || run->places[i].d < 0) {
            for (int c = 0; c < C; c++)
                block[c * VRT_BLOCK_TOKENS + i] = 0;
            continue;
        }
        const float *from = values_at(run, i, row);
        for (int c = 0; c < C; c++)
            block[c * VRT_BLOCK_TOKENS + i] = from[c];
    }
}

void vrt_tokens_norm(const struct vrt_token_run *run, float *block, const float *weight,
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

void vrt_tokens_put(const float *block, int C, vrt_unit *panel, size_t ld)
{
    for (int c = 0; c < C; c += VRT_UNIT_ELEMENTS) {
        const float *even = block + (size_t)c * VRT_BLOCK_TOKENS;
        const bool pair = VRT_UNIT_ELEMENTS == 2 && c + 1 < C;

        vrt_unit_put(panel + (size_t)(c / VRT_UNIT_ELEMENTS) * ld, even,
                     pair ? even + VRT_BLOCK_TOKENS : NULL, VRT_BLOCK_TOKENS);
    }
}

void vrt_tokens_multiply(const struct vrt_weight_rows *rows, int n, const vrt_unit *panel,
                         size_t ld, float *block)
{
    struct vrt_product product = {
        .w_row = rows->row_units,
        .w_step = 1,
        .x = panel,
        .x_step = ld,
        .n_units = (int)rows->row_units,
    };

    for (int i = 0; i < n; i += VRT_BLOCK_ROWS) {
        float(*sums)[VRT_BLOCK_TOKENS] = (void *)(block + (size_t)i * VRT_BLOCK_TOKENS);
        const int n_rows = VRT_MIN(VRT_BLOCK_ROWS, n - i);

        product.w = rows->w + (size_t)i * rows->row_units;
        vrt_product_by_rows(&product, n_rows, sums);
        for (int k = 0; rows->bias && k < n_rows; k++)
            for (int t = 0; t < VRT_BLOCK_TOKENS; t++)
                sums[k][t] += rows->bias[i + k];
    }
}

void vrt_tokens_scatter(const struct vrt_token_run *run, const struct vrt_token_run *residual,
                        const float *block, float *row)
{
    const int C = run->t->shape.c;

    for (int i = 0; i < run->n; i++) {
        if (run->places[i].d < 0)
            continue;
        const bool in_place = run->t->dtype == VRT_DTYPE_F32;
        float *to = in_place ? (float *)(void *)address(run, i) : row;
        const float *more = residual ? values_at(residual, i, row + C) : NULL;
        for (int c = 0; c < C; c++)
            to[c] = block[c * VRT_BLOCK_TOKENS + i];
        for (int c = 0; more && c < C; c++)
            to[c] += more[c];
        if (!in_place)
            vrt_cpu_store(run->t->dtype, row, address(run, i), (size_t)C);
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
}
