/* SPDX-License-Identifier: MIT */

#include "backend/cpu/products/tokens.h"

#include <math.h>
#include <string.h>

#include "backend/cpu/isa/isa.h"
#include "backend/cpu/isa/rows.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/*
 * Rows of channels become rows of tokens, and back, by words: an f32, or two bf16 that lie side by
 * side. Four words of as many tokens as a vector has elements are turned at once.
 */
#define QUAD 4

typedef float quad __attribute__((vector_size(4 * QUAD), aligned(2), may_alias));

#define CACHE_LINE 64

/* What becomes of a block. */
enum pass { GATHER, ADD, SCATTER };

/* Where the tokens of a block are, or `missing` in their place. */
static void find_rows(const struct vrt_token_run *run, char *missing, char *at[VRT_BLOCK_TOKENS])
{
    const struct vrt_tensor *t = run->t;
    const ptrdiff_t size = (ptrdiff_t)vrt_dtype_size(t->dtype);

    for (int i = 0; i < VRT_BLOCK_TOKENS; i++) {
        const struct vrt_place *place = &run->places[i];

        at[i] = missing;
        if (i < run->n && place->d >= 0)
            at[i] = (char *)run->base + size * (place->d * t->stride_d + place->y * t->stride_h +
                                                place->x * t->stride_w);
    }
}

#if VRT_CPU_VECTOR_FLOATS == 16

typedef float half __attribute__((vector_size(32)));

static ALWAYS_INLINE vrt_cpu_vector join(char *const *at, size_t byte)
{
    const half a = __builtin_shufflevector(*(quad *)(void *)(at[0] + byte),
                                           *(quad *)(void *)(at[4] + byte), 0, 1, 2, 3, 4, 5, 6, 7);
    const half b = __builtin_shufflevector(*(quad *)(void *)(at[8] + byte),
                                           *(quad *)(void *)(at[12] + byte), 0, 1, 2, 3, 4, 5, 6,
                                           7);

    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

static ALWAYS_INLINE void divide(vrt_cpu_vector v, char *const *at, size_t byte)
{
    *(quad *)(void *)(at[0] + byte) = __builtin_shufflevector(v, v, 0, 1, 2, 3);
    *(quad *)(void *)(at[4] + byte) = __builtin_shufflevector(v, v, 4, 5, 6, 7);
    *(quad *)(void *)(at[8] + byte) = __builtin_shufflevector(v, v, 8, 9, 10, 11);
    *(quad *)(void *)(at[12] + byte) = __builtin_shufflevector(v, v, 12, 13, 14, 15);
}

#define IN_EACH_RUN(a, b, c, d) \
    a, b, c, d, 4 + a, 4 + b, 4 + c, 4 + d, 8 + a, 8 + b, 8 + c, 8 + d, 12 + a, 12 + b, 12 + c, \
    12 + d

#elif VRT_CPU_VECTOR_FLOATS == 8

static ALWAYS_INLINE vrt_cpu_vector join(char *const *at, size_t byte)
{
    return __builtin_shufflevector(*(quad *)(void *)(at[0] + byte),
                                   *(quad *)(void *)(at[4] + byte), 0, 1, 2, 3, 4, 5, 6, 7);
}

static ALWAYS_INLINE void divide(vrt_cpu_vector v, char *const *at, size_t byte)
{
    *(quad *)(void *)(at[0] + byte) = __builtin_shufflevector(v, v, 0, 1, 2, 3);
    *(quad *)(void *)(at[4] + byte) = __builtin_shufflevector(v, v, 4, 5, 6, 7);
}

#define IN_EACH_RUN(a, b, c, d) a, b, c, d, 4 + a, 4 + b, 4 + c, 4 + d

#else

static ALWAYS_INLINE vrt_cpu_vector join(char *const *at, size_t byte)
{
    return *(quad *)(void *)(at[0] + byte);
}

static ALWAYS_INLINE void divide(vrt_cpu_vector v, char *const *at, size_t byte)
{
    *(quad *)(void *)(at[0] + byte) = v;
}

#define IN_EACH_RUN(a, b, c, d) a, b, c, d

#endif

/* In each run of four elements rows become columns. */
static ALWAYS_INLINE void turn(vrt_cpu_vector v[QUAD])
{
    enum { N = VRT_CPU_VECTOR_FLOATS };
    const vrt_cpu_vector a = __builtin_shufflevector(v[0], v[1], IN_EACH_RUN(0, N, 1, N + 1));
    const vrt_cpu_vector b = __builtin_shufflevector(v[2], v[3], IN_EACH_RUN(0, N, 1, N + 1));
    const vrt_cpu_vector c = __builtin_shufflevector(v[0], v[1], IN_EACH_RUN(2, N + 2, 3, N + 3));
    const vrt_cpu_vector d = __builtin_shufflevector(v[2], v[3], IN_EACH_RUN(2, N + 2, 3, N + 3));

    v[0] = __builtin_shufflevector(a, b, IN_EACH_RUN(0, 1, N, N + 1));
    v[1] = __builtin_shufflevector(a, b, IN_EACH_RUN(2, 3, N + 2, N + 3));
    v[2] = __builtin_shufflevector(c, d, IN_EACH_RUN(0, 1, N, N + 1));
    v[3] = __builtin_shufflevector(c, d, IN_EACH_RUN(2, 3, N + 2, N + 3));
}

static ALWAYS_INLINE void put(const enum pass pass, float *to, vrt_cpu_vector v)
{
    vrt_cpu_vector_store(to, pass == ADD ? vrt_cpu_vector_load(to) + v : v);
}

/* Words [word, word + QUAD) of the tokens `at`, of which the first `done` were gathered or added
 * before. block: of the first of these tokens. */
static ALWAYS_INLINE void move_quad(const enum pass pass, const bool in_pairs, char *const *at,
                                    int word, int done, float *block)
{
    float *row = block + (size_t)word * (in_pairs ? 2 : 1) * VRT_BLOCK_TOKENS;
    vrt_cpu_vector v[QUAD];

    if (pass != SCATTER) {
        for (int i = 0; i < QUAD; i++)
            v[i] = join(at + i, (size_t)word * sizeof(float));
        turn(v);
    }
    for (int i = 0; i < QUAD; i++, row += (in_pairs ? 2 : 1) * VRT_BLOCK_TOKENS) {
        if (pass == SCATTER) {
            v[i] = vrt_cpu_vector_load(row);
            if (in_pairs)
                v[i] = (vrt_cpu_vector)vrt_cpu_vector_to_pairs(
                    v[i], vrt_cpu_vector_load(row + VRT_BLOCK_TOKENS));
        } else if (i >= done) {
            put(pass, row, in_pairs ? vrt_cpu_even_of_pairs((vrt_cpu_bits)v[i]) : v[i]);
            if (in_pairs)
                put(pass, row + VRT_BLOCK_TOKENS, vrt_cpu_odd_of_pairs((vrt_cpu_bits)v[i]));
        }
    }
    if (pass == SCATTER) {
        turn(v);
        for (int i = 0; i < QUAD; i++)
            divide(v[i], at + i, (size_t)word * sizeof(float));
    }
}

/* All words but those of less than a quad; where the last quad is not whole, it begins earlier. */
static ALWAYS_INLINE void move_words(const enum pass pass, const bool in_pairs, char *const *at,
                                     int n_tokens, int n_words, float *block)
{
    for (int i = 0; i < n_tokens; i += VRT_CPU_VECTOR_FLOATS) {
        for (int word = 0; word + QUAD <= n_words; word += QUAD)
            move_quad(pass, in_pairs, at + i, word, 0, block + i);
        if (n_words > QUAD && n_words % QUAD)
            move_quad(pass, in_pairs, at + i, n_words - QUAD, QUAD - n_words % QUAD, block + i);
    }
}

/* Channels [first, C), one by one. */
static ALWAYS_INLINE void move_rest(const enum pass pass, const struct vrt_tensor *t,
                                    char *const *at, int n_tokens, int first, float *block)
{
    const size_t size = vrt_dtype_size(t->dtype);

    for (int i = 0; i < n_tokens; i++)
        for (int c = first; c < t->shape.c; c++) {
            float *element = &block[(size_t)c * VRT_BLOCK_TOKENS + (size_t)i], value;

            if (pass == SCATTER) {
                vrt_cpu_store(t->dtype, element, at[i] + (size_t)c * size, 1);
                continue;
            }
            vrt_cpu_load(t->dtype, at[i] + (size_t)c * size, &value, 1);
            *element = pass == ADD ? *element + value : value;
        }
}

static ALWAYS_INLINE void move_tokens(const enum pass pass, const struct vrt_token_run *run,
                                      float *block, float *row)
{
    const int C = run->t->shape.c;
    const bool in_pairs = run->t->dtype == VRT_DTYPE_BF16;
    const int n_words = in_pairs ? C / 2 : run->t->dtype == VRT_DTYPE_F32 ? C : 0;
    const int n_moved = n_words < QUAD ? 0 : in_pairs ? 2 * n_words : n_words;
    const int n_tokens = pass == GATHER ? VRT_BLOCK_TOKENS : run->n;
    char *at[VRT_BLOCK_TOKENS];

    if (pass != SCATTER)
        memset(row, 0, (size_t)C * sizeof(float));
    find_rows(run, (char *)row, at);
    if (in_pairs)
        move_words(pass, true, at, n_tokens, n_words, block);
    else
        move_words(pass, false, at, n_tokens, n_words, block);
    if (n_moved < C)
        move_rest(pass, run->t, at, n_tokens, n_moved, block);
}

void vrt_tokens_expect(const struct vrt_token_run *run)
{
    const size_t n = (size_t)run->t->shape.c * vrt_dtype_size(run->t->dtype);
    char missing, *at[VRT_BLOCK_TOKENS];

    find_rows(run, &missing, at);
    for (int i = 0; i < run->n; i++)
        for (size_t byte = 0; at[i] != &missing && byte < n; byte += CACHE_LINE)
            __builtin_prefetch(at[i] + byte, 1);
}

void vrt_tokens_gather(const struct vrt_token_run *run, float *block, float *row)
{
    move_tokens(GATHER, run, block, row);
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
    vrt_panel_fill_up(panel, ld, C);
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

void vrt_tokens_scatter(const struct vrt_token_run *run, const struct vrt_token_run *residual,
                        float *block, float *row)
{
    if (residual)
        move_tokens(ADD, residual, block, row);
    move_tokens(SCATTER, run, block, row);
}

void vrt_tokens_turn(const vrt_unit *words, int n, vrt_unit *rows, size_t step)
{
    char *at[VRT_BLOCK_TOKENS];

    for (int i = 0; i < VRT_BLOCK_TOKENS; i++)
        at[i] = (char *)(rows + (size_t)i * step);
    move_words(SCATTER, false, at, VRT_BLOCK_TOKENS, n, (float *)(void *)words);
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
