/* SPDX-License-Identifier: MIT */
#pragma once

/* What the ops on the channels of a place have in common: types, norms, dense layers. */

#include "tests/conformance/conformance.h"

/* Types of what goes in, of the weights, and of what comes out. */
struct conf_types {
    enum vrt_dtype x, replica, residual, out;
    enum vrt_param_use use;         /* of the weights */
};

#define CONF_N_TYPES 8

extern const struct conf_types conf_types[CONF_N_TYPES];

/*
 * What may differ where `depth` layers follow each other. In f32: as for any sum. Otherwise what is
 * multiplied with weights is rounded to their type before, to 8 bits in bf16 and 11 in f16, which
 * the loops of a case don't imitate: a rounding to bf16 is worth 2^-9 of its number at most, and
 * sums of such numbers are off by about as much of their own size; twice that for each layer leaves
 * room for an inner rounding or two. Single elements are off by several times that: where terms
 * cancelled, or where two scores of a softmax were almost the same. Hence so much for `element`; a
 * mistake shows in the norm. Weights that are f32 in a replica of a shorter type may be multiplied
 * as two bf16, 16 bits: all that vrt_op.is_exact promises.
 */
struct conf_tolerance conf_layers_tolerance(const struct conf_types *types, int depth);

/* A norm over c channels. */
struct conf_norm {
    struct vrt_op_norm op;
    int c;
    const float *weight, *bias;     /* [C]; NULL: none */
};

/* Makes the params, or where `has` is false the norm that is none. */
struct conf_norm conf_norm(struct conf *t, bool has, int c);

/* y [C] = norm(x [C]). */
void conf_norm_apply(const struct conf_norm *norm, const float *x, double *y);

/* A dense layer: weight [O,I], bias [O] or none. */
struct conf_layer {
    int weight, bias;               /* indices of the params */
    int n_in, n_out;
    const float *weights, *biases;
};

/* Makes the params, such that outputs are of the size of 1 for inputs uniform in [-1,1]. */
struct conf_layer conf_layer(struct conf *t, enum vrt_param_use use, const int dims[4],
                             bool has_bias);

/* out [O] = x [I] * weight^T + bias. */
void conf_layer_apply(const struct conf_layer *layer, const double *x, double *out);
