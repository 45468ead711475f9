/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Tokens: places of a clip, gathered into blocks in which channels are rows, and back
 *
 * A block holds VRT_BLOCK_TOKENS tokens, f32, [C][VRT_BLOCK_TOKENS]; a panel any number of blocks
 * side by side, in units ("backend/cpu/products/product.h").
 */

#include "backend/cpu/products/product.h"

#define vrt_tokens_gather VRT_UNIT_NAME(tokens_gather)
#define vrt_tokens_expect VRT_UNIT_NAME(tokens_expect)
#define vrt_tokens_norm VRT_UNIT_NAME(tokens_norm)
#define vrt_tokens_put VRT_UNIT_NAME(tokens_put)
#define vrt_tokens_multiply VRT_UNIT_NAME(tokens_multiply)
#define vrt_tokens_scatter VRT_UNIT_NAME(tokens_scatter)
#define vrt_tokens_turn VRT_UNIT_NAME(tokens_turn)
#define vrt_tokens_weight_rows VRT_UNIT_NAME(tokens_weight_rows)
#define vrt_tokens_run VRT_UNIT_NAME(tokens_run)
#define vrt_tokens_each VRT_UNIT_NAME(tokens_each)
#define vrt_cpu_op_linear_tokens VRT_UNIT_NAME(op_linear)
#define vrt_cpu_op_geglu_tokens VRT_UNIT_NAME(op_geglu)
#define vrt_cpu_op_attention_tokens VRT_UNIT_NAME(op_window_attention)
#define vrt_cpu_op_deform_units VRT_UNIT_NAME(op_deform_conv2d)

/* The kernels made of all this. */
extern const struct vrt_cpu_kernel vrt_cpu_op_linear_tokens;
extern const struct vrt_cpu_kernel vrt_cpu_op_geglu_tokens;
extern const struct vrt_cpu_kernel vrt_cpu_op_attention_tokens;
extern const struct vrt_cpu_kernel vrt_cpu_op_deform_units;

/* A place of a clip; d < 0: beyond it, padding. */
struct vrt_place {
    int d, y, x;
};

/* Some tensor's values at up to VRT_BLOCK_TOKENS places. */
struct vrt_token_run {
    const struct vrt_tensor *t;
    void *base;                     /* of its element (0,0,0,0) */
    const struct vrt_place *places;
    int n;
};

/* A weight [O,I] and its bias, or none. */
struct vrt_weight_rows {
    const vrt_unit *w;              /* of the first row wanted */
    size_t row_units;
    const float *bias;              /* likewise; NULL: zeros */
};

/* Has the processor fetch what will be written to run's places while something else is done. */
void vrt_tokens_expect(const struct vrt_token_run *run);

/* Fills block [C][VRT_BLOCK_TOKENS]; padding and what is beyond n is zero. row: scratch, C
 * floats. */
void vrt_tokens_gather(const struct vrt_token_run *run, float *block, float *row);

/* LayerNorm of each token over C channels by the call's params, in place, where there is a norm;
 * padding stays zero. */
void vrt_tokens_norm(const struct vrt_cpu_call *call, const struct vrt_op_norm *norm,
                     const struct vrt_token_run *run, float *block);

/* Copies C rows of a block to units: panel [vrt_panel_rows(C)][ld], zeros behind them. */
void vrt_tokens_put(const float *block, int C, vrt_unit *panel, size_t ld);

/* block [n][VRT_BLOCK_TOKENS] = rows of a weight times the panel [n_units][ld], plus bias. */
void vrt_tokens_multiply(const struct vrt_weight_rows *rows, int n, const vrt_unit *panel,
                         size_t ld, float *block);

/* Writes the block's columns to run's places, plus the values of `residual` (NULL: none) there,
 * which the block then has, too. row: scratch, C floats. */
void vrt_tokens_scatter(const struct vrt_token_run *run, const struct vrt_token_run *residual,
                        float *block, float *row);

/* Units of VRT_BLOCK_TOKENS tokens, [n][VRT_BLOCK_TOKENS], become rows of n, which begin so many
 * units apart. n is a multiple of 4. */
void vrt_tokens_turn(const vrt_unit *words, int n, vrt_unit *rows, size_t step);

/* The rows of call's param `index`, from `first` on, with the bias of param `bias` (-1: none). */
struct vrt_weight_rows vrt_tokens_weight_rows(const struct vrt_cpu_call *call, int index, int bias,
                                              int first);

/* Input i of the call, or its output for i = -1, at these places; base NULL: there is none. */
struct vrt_token_run vrt_tokens_run(const struct vrt_cpu_call *call, int i,
                                    const struct vrt_place *places, int n);

/* Calls run() for rows [y0, y1) of frame d of the output, block by block; `places` has room for
 * VRT_BLOCK_TOKENS. */
void vrt_tokens_each(const struct vrt_cpu_call *call, const int rows[3], struct vrt_place *places,
                     void (*run)(const struct vrt_cpu_call *call, const struct vrt_place *places,
                                 int n));
