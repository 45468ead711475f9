/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Products of the size of a window by a library that generates code for each shape (libxsmm), on
 * the calling thread; where it isn't installed, none can be made
 */

#include <stdbool.h>

struct small_gemm;

struct small_gemm_shape {
    int tokens, in_c, out_c;        /* [tokens,in_c] times [in_c,out_c]; in_c is even */
    bool bf16;
};

/* "libxsmm". */
extern const char small_gemm_name[];

/* NULL: the library is absent, or refused it. */
struct small_gemm *small_gemm_new(const struct small_gemm_shape *shape);

/* Return: NULL. */
struct small_gemm *small_gemm_free(struct small_gemm *gemm);

/* Computes it n times. */
void small_gemm_run(struct small_gemm *gemm, int n);
