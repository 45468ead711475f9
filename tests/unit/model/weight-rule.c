/* SPDX-License-Identifier: MIT */

#include "tests/unit/model/weight-rule.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Flow that the steady networks end with, in units of the finest level's. */
#define STEADY_BIAS (1.5f / 63)

void rule_uniform(const char *name, uint64_t seed, float *u, size_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        h = (h ^ *c) * UINT64_C(0x100000001b3);
    for (size_t i = 0; i < n; i++) {
        uint64_t z = (h ^ seed) + (i + 1) * UINT64_C(0x9E3779B97F4A7C15);

        z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
        z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
        u[i] = (float)((z ^ z >> 31) >> 40) * 0x1p-24f;
    }
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), n_end = strlen(end);

    return n >= n_end && strcmp(name + n - n_end, end) == 0;
}

void rule_fill_vrt(const char *name, uint64_t seed, const int *dims, int n_dims, float flow_gain,
                   float *values)
{
    const bool is_flow = strncmp(name, "spynet.", 7) == 0;
    const bool is_flow_end = is_flow && (strstr(name, ".basic_module.8.") ||
                                         strstr(name, ".basic_module.4.conv."));
    const bool is_steady = flow_gain == RULE_FLOW_STEADY;
    double center = 0, halfwidth, fan = 1;
    size_t n = 1;

    for (int i = 0; i < n_dims; i++)
        n *= (size_t)dims[i];
    for (int i = 1; i < n_dims; i++)
        fan *= dims[i];
    if (ends_with(name, "relative_position_bias_table")) {
        halfwidth = 0.5;
    } else if (n_dims == 1 && is_flow_end && is_steady) {
        center = (double)STEADY_BIAS;
        halfwidth = 0;
    } else if (n_dims == 1) {
        center = ends_with(name, ".weight") || ends_with(name, ".running_var") ? 1 : 0;
        halfwidth = center > 0 ? 0.2 : 0.1;
    } else {
        /* SPAN's first convolution takes samples of up to 140. */
        const bool is_span = strcmp(name, "conv_1.sk.weight") == 0 ||
                             strcmp(name, "conv_1.conv.2.weight") == 0;
        /* RIFE's flows are of a few pixels. */
        const bool is_rife = strstr(name, ".lastconv.") != NULL;
        /* Each of I3D's convolutions has a ReLU behind it. */
        const bool is_i3d = strstr(name, ".conv3d.") != NULL;
        double gain = is_flow_end ? (double)flow_gain : is_flow ? 1.6 : is_span ? 1.0 / 64 :
                      is_rife ? 0.5 : is_i3d ? 1.5 : 1;
        halfwidth = gain * sqrt(3 / fan) * 0.9;
    }
    rule_uniform(name, seed, values, n);
    for (size_t i = 0; i < n; i++)
        values[i] = (float)center + (float)halfwidth * (2 * values[i] - 1);
}

float *rule_video(uint64_t seed, const int dims[4])
{
    size_t n = (size_t)dims[0] * (size_t)dims[1] * (size_t)dims[2] * (size_t)dims[3], i = 0;
    float *x = malloc(n * sizeof(*x));

    if (!x)
        return NULL;
    rule_uniform("input", seed, x, n);
    for (int d = 0; d < dims[0]; d++)
    for (int c = 0; c < dims[1]; c++)
    for (int h = 0; h < dims[2]; h++)
    for (int w = 0; w < dims[3]; w++, i++) {
        double value = 0.5 + 0.22 * sin(0.31 * (w + 1.3 * d) + 0.7 * c) +
                       0.18 * cos(0.23 * (h - 0.9 * d) + 0.19 * w + 1.1 * c);
        float sum = (float)value + 0.1f * (x[i] - 0.5f);

        x[i] = sum < 0 ? 0 : sum > 1 ? 1 : sum;
    }
    return x;
}
