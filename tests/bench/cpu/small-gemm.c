/* SPDX-License-Identifier: MIT */

/* libxsmm's matrices are column after column: its m are our output channels, its n our tokens. */

#include "tests/bench/cpu/small-gemm.h"

#include <libxsmm.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct small_gemm {
    libxsmm_smmfunction f32;        /* one of both */
    libxsmm_bsmmfunction bf16;
    void *weights, *in, *out;
};

VRT_DEFINE_CLEANUP(struct small_gemm, small_gemm_free)

const char small_gemm_name[] = "libxsmm";

/* Matrices full of small numbers, about 0.01 in both types. */
static void *make_matrix(int rows, int columns, size_t element_bytes)
{
    const size_t n_bytes = ((size_t)rows * (size_t)columns * element_bytes + 63) / 64 * 64;
    void *matrix = aligned_alloc(64, n_bytes);

    return matrix ? memset(matrix, 0x3c, n_bytes) : NULL;
}

struct small_gemm *small_gemm_new(const struct small_gemm_shape *s)
{
    VRT_CLEANUP(small_gemm_freep) struct small_gemm *gemm = calloc(1, sizeof(*gemm));
    const size_t element_bytes = s->bf16 ? sizeof(libxsmm_bfloat16) : sizeof(float);
    /* bf16 are multiplied by twos: pairs of rows of the weights lie interleaved. */
    const int plain = LIBXSMM_GEMM_FLAG_NONE, paired = LIBXSMM_GEMM_FLAG_VNNI_A;
    const float one = 1, zero = 0;

    if (!gemm)
        return NULL;
    if (s->bf16)
        gemm->bf16 = libxsmm_bsmmdispatch(s->out_c, s->tokens, s->in_c, NULL, NULL, NULL, &one,
                                          &zero, &paired, NULL);
    else
        gemm->f32 = libxsmm_smmdispatch(s->out_c, s->tokens, s->in_c, NULL, NULL, NULL, &one,
                                        &zero, &plain, NULL);
    gemm->weights = make_matrix(s->out_c, s->in_c, element_bytes);
    gemm->in = make_matrix(s->in_c, s->tokens, element_bytes);
    gemm->out = make_matrix(s->out_c, s->tokens, sizeof(float));
    if ((!gemm->f32 && !gemm->bf16) || !gemm->weights || !gemm->in || !gemm->out)
        return NULL;
    return VRT_STEAL(gemm);
}

struct small_gemm *small_gemm_free(struct small_gemm *gemm)
{
    if (!gemm)
        return NULL;
    free(gemm->weights);
    free(gemm->in);
    free(gemm->out);
    free(gemm);
    return NULL;
}

void small_gemm_run(struct small_gemm *gemm, int n)
{
    for (int i = 0; i < n; i++)
        if (gemm->bf16)
            gemm->bf16(gemm->weights, gemm->in, gemm->out);
        else
            gemm->f32(gemm->weights, gemm->in, gemm->out);
}
