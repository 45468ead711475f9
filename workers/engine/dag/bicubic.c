/* SPDX-License-Identifier: MIT */
/*
 * Bicubic interpolation to p / q of the size, as a convolution: the q by q pixels that p by p
 * become are the channels of one place, and whatever they are made of is in the places around it
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "engine/dag/dag-impl.h"

#define N_TAPS 4
#define A (-0.75f)
#define RATIO_MAX 8

/* How much of the pixel counts that is `x` away (Keys 1981, "Cubic convolution interpolation"). */
static float cubic(float x)
{
    x = fabsf(x);
    if (x <= 1)
        return ((A + 2) * x - (A + 3)) * x * x + 1;
    return x < 2 ? ((A * x - 5 * A) * x + 8 * A) * x - 4 * A : 0;
}

/* Row i of the p becomes of rows first .. first + 3, numbered from the first of the q. */
static int taps_of(int p, int q, int i, float taps[N_TAPS])
{
    const float at = ((float)i + 0.5f) * (float)q / (float)p - 0.5f, below = floorf(at);

    for (int t = 0; t < N_TAPS; t++)
        taps[t] = cubic(at - below - (float)(t - 1));
    return (int)below - 1;
}

/* weight [C*p*p, C*q*q, K, K]: row i, column j of channel c is output (c*p + i)*p + j. */
static void fill(float *weight, int n_channels, int p, int q, int kernel)
{
    const size_t row = (size_t)n_channels * (size_t)(q * q * kernel * kernel);
    const int middle = kernel / 2 * q;          /* of the q, in the K * q rows that are seen */
    float by_row[N_TAPS], by_column[N_TAPS];

    memset(weight, 0, row * (size_t)(n_channels * p * p) * sizeof(*weight));
    for (int o = 0; o < n_channels * p * p; o++) {
        const int c = o / (p * p);
        const int y = middle + taps_of(p, q, o / p % p, by_row);
        const int x = middle + taps_of(p, q, o % p, by_column);

        for (int t = 0; t < N_TAPS * N_TAPS; t++) {
            const int h = y + t / N_TAPS, w = x + t % N_TAPS;
            const int in = (c * q + h % q) * q + w % q;

            weight[(size_t)o * row + (size_t)((in * kernel + h / q) * kernel + w / q)] =
                by_row[t / N_TAPS] * by_column[t % N_TAPS];
        }
    }
}

int vrt_dag_bicubic(struct vrt_dag *dag, int in, int num, int den)
{
    if (num < 1 || num > RATIO_MAX || den > RATIO_MAX)
        return vrt_dag_refuse(dag, "changes the size by %d/%d", num, den);
    const int resized = vrt_dag_append_resized(dag, VRT_DAG_BICUBIC, in, num, den);
    if (resized < 0 || resized == in)
        return resized;

    struct vrt_dag_node *node = &dag->nodes[resized];
    const int64_t c = node->channels;

    node->r = num;
    node->r_in = den;
    node->kernel = den == 1 ? 5 : 3;            /* two pixels to each side, or one place of two */
    const int64_t k = node->kernel;
    int r = vrt_dag_alloc(dag, c * num * num * c * den * den * k * k, &node->weight);
    if (r < 0)
        return r;
    fill(node->weight, node->channels, num, den, node->kernel);
    return resized;
}
