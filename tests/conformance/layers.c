/* SPDX-License-Identifier: MIT */

#include "tests/conformance/layers.h"

#include "tests/unit/test.h"

const struct conf_types conf_types[CONF_N_TYPES] = {
    { VRT_DTYPE_F32, VRT_DTYPE_F32, VRT_DTYPE_F32, VRT_DTYPE_F32, VRT_PARAM_WEIGHT },
    { VRT_DTYPE_BF16, VRT_DTYPE_BF16, VRT_DTYPE_BF16, VRT_DTYPE_BF16, VRT_PARAM_WEIGHT },
    { VRT_DTYPE_F32, VRT_DTYPE_BF16, VRT_DTYPE_F32, VRT_DTYPE_F32, VRT_PARAM_WEIGHT },
    { VRT_DTYPE_BF16, VRT_DTYPE_BF16, VRT_DTYPE_F32, VRT_DTYPE_F32, VRT_PARAM_WEIGHT },
    { VRT_DTYPE_F32, VRT_DTYPE_BF16, VRT_DTYPE_BF16, VRT_DTYPE_BF16, VRT_PARAM_WEIGHT },
    { VRT_DTYPE_BF16, VRT_DTYPE_BF16, VRT_DTYPE_F32, VRT_DTYPE_F32, VRT_PARAM_WEIGHT_F32 },
    { VRT_DTYPE_F16, VRT_DTYPE_F16, VRT_DTYPE_F16, VRT_DTYPE_F16, VRT_PARAM_WEIGHT },
    { VRT_DTYPE_F32, VRT_DTYPE_F16, VRT_DTYPE_F32, VRT_DTYPE_F32, VRT_PARAM_WEIGHT },
};

/* Half a unit in the last place of what stands for a number that is multiplied; f32: nothing. */
static double rounding_of(const struct conf_types *types)
{
    if (types->replica == VRT_DTYPE_F32)
        return 0;
    if (types->use == VRT_PARAM_WEIGHT_F32)
        return 0x1p-17;
    return types->replica == VRT_DTYPE_F16 ? 0x1p-11 : 0x1p-8;
}

struct conf_tolerance conf_layers_tolerance(const struct conf_types *types, int depth)
{
    struct conf_tolerance tolerance = conf_tolerance_of(types->out);
    const double bits = rounding_of(types);

    tolerance.norm = fmax(tolerance.norm * depth, bits * depth);
    tolerance.element = fmax(tolerance.element * depth, 16 * bits * depth);
    return tolerance;
}

struct conf_norm conf_norm(struct conf *t, bool has, int c)
{
    struct conf_norm norm = { .op = { -1, -1 }, .c = c };

    if (has) {
        norm.op.weight = conf_param(t, VRT_PARAM_WEIGHT, (int[4]){ c }, 1, &norm.weight);
        norm.op.bias = conf_param(t, VRT_PARAM_WEIGHT, (int[4]){ c }, 0.5f, &norm.bias);
    }
    return norm;
}

void conf_norm_apply(const struct conf_norm *norm, const float *x, double *y)
{
    const int C = norm->c;
    double sum = 0, squares = 0;

    for (int c = 0; c < C; c++) {
        sum += (double)x[c];
        squares += (double)x[c] * (double)x[c];
    }
    const double variance = fmax(0, squares / C - sum / C * (sum / C));
    for (int c = 0; c < C; c++) {
        y[c] = (double)x[c];
        if (norm->weight)
            y[c] = (y[c] - sum / C) / sqrt(variance + 1e-5) * (double)norm->weight[c] +
                   (double)norm->bias[c];
    }
}

struct conf_layer conf_layer(struct conf *t, enum vrt_param_use use, const int dims[4],
                             bool has_bias)
{
    struct conf_layer layer = { .bias = -1, .n_out = dims[0], .n_in = 1 };

    for (int i = 1; i < 4 && dims[i]; i++)
        layer.n_in *= dims[i];
    layer.weight = conf_param(t, use, dims, sqrtf(9 / (float)layer.n_in), &layer.weights);
    if (has_bias)
        layer.bias = conf_param(t, VRT_PARAM_WEIGHT, (int[4]){ dims[0] }, 0.5f, &layer.biases);
    return layer;
}

void conf_layer_apply(const struct conf_layer *layer, const double *x, double *out)
{
    for (int o = 0; o < layer->n_out; o++) {
        double sum = 0;
        for (int i = 0; i < layer->n_in; i++)
            sum += x[i] * (double)layer->weights[o * layer->n_in + i];
        out[o] = sum + (layer->biases ? (double)layer->biases[o] : 0);
    }
}
