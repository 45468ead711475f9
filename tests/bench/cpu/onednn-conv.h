/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * oneDNN's own convolution at its best, for comparison: layouts of its own choice, its own
 * threading, nothing before or after it
 */

#include <stdbool.h>

struct onednn_conv;

struct onednn_conv_shape {
    int in_c, out_c, k, h, w;
    bool bf16;
    bool has_activation;            /* a leaky ReLU, fused: what it does instead of a PReLU */
};

/* With OpenMP's current number of threads. NULL: oneDNN refused it. */
struct onednn_conv *onednn_conv_new(const struct onednn_conv_shape *shape);

/* Return: NULL. */
struct onednn_conv *onednn_conv_free(struct onednn_conv *conv);

/* Computes it once, and waits. Return: whether that worked. */
bool onednn_conv_run(struct onednn_conv *conv);

/* The name of the implementation: "brgconv:avx512_core". */
const char *onednn_conv_name(const struct onednn_conv *conv);
