/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/tests/kernels.h"

#include <stdlib.h>

#include "base/macro.h"

const char *kernels_text(int mutant)
{
    static char text[32768];
    FILE *file = fopen(KERNELS, "r");
    expect_true(file);
    const int n = snprintf(text, sizeof(text), "#define MUTANT %d\n", mutant);
    const size_t read = fread(text + n, 1, sizeof(text) - (size_t)n - 1, file);
    expect_true(read > 0 && feof(file));
    text[(size_t)n + read] = '\0';
    fclose(file);
    return text;
}

static float number(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / (1 << 23) - 1;
}

static void fill(float *data, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++)
        data[i] = number(&seed);
}

/* A buffer of numbers that half holds exactly; *ret_data, to be freed, has them. */
static id half_buffer(id device, size_t n, uint32_t seed, float **ret_data)
{
    id buffer = bench_buffer(device, 2 * n, NULL);
    uint16_t *halves = bench_contents(buffer);

    *ret_data = malloc(n * sizeof(float));
    for (size_t i = 0; i < n; i++) {
        const int steps = (int)(number(&seed) * 1023);
        const int exponent = steps ? 31 - __builtin_clz((unsigned)abs(steps)) : 0;
        (*ret_data)[i] = (float)steps / 1024;
        halves[i] = !steps ? 0
                           : (uint16_t)((steps < 0 ? 0x8000 : 0) | (exponent + 5) << 10 |
                                        ((abs(steps) << (10 - exponent)) & 0x3ff));
    }
    return buffer;
}

/* What is wrong with n numbers, as a sentence; NULL: nothing. */
static const char *compare(const float *got, const double *wanted, size_t n, double tolerance)
{
    static char text[128];

    for (size_t i = 0; i < n; i++) {
        if (fabs(got[i] - wanted[i]) <= tolerance)
            continue;
        snprintf(text, sizeof(text), "number %zu is %g, not %g", i, got[i], wanted[i]);
        return text;
    }
    return NULL;
}

static const char *try(id device, const struct bench_dispatch *dispatch)
{
    const char *why;

    return bench_try(device, dispatch, &why) ? why : NULL;
}

static const char *check_axpy(id device, id pipeline)
{
    enum { N = 100 };
    float x[4 * N], y[4 * N];
    double wanted[4 * N];
    const uint32_t n = N;

    fill(x, 4 * N, 1);
    fill(y, 4 * N, 2);
    for (size_t i = 0; i < 4 * N; i++)
        wanted[i] = (double)x[i] * (double)(1 + i % 4) + y[i];
    id a = bench_buffer(device, sizeof(x), x), b = bench_buffer(device, sizeof(y), y);
    const char *wrong = try(device, &(struct bench_dispatch){
        .pipeline = pipeline, .buffers = { a, b }, .n_buffers = 2, .bytes = &n, .n_bytes = 4,
        .groups = { 4, 1, 1 }, .threads = { 32, 1, 1 } });
    if (!wrong)
        wrong = compare(bench_contents(b), wanted, 4 * N, 1e-5);
    bench_release(a);
    bench_release(b);
    return wrong;
}

struct sizes {
    uint32_t rows, columns, depth;
};

/* c = a * b by a kernel that takes the sizes behind three buffers. */
static const char *check_product(id device, const struct sizes *s, struct bench_dispatch *dispatch,
                                 double tolerance)
{
    float *a, *b;
    const char *wrong;
    double *wanted = calloc((size_t)s->rows * s->columns, sizeof(double));

    dispatch->buffers[0] = half_buffer(device, (size_t)s->rows * s->depth, 3, &a);
    dispatch->buffers[1] = half_buffer(device, (size_t)s->depth * s->columns, 4, &b);
    dispatch->buffers[2] = bench_buffer(device, (size_t)s->rows * s->columns * 4, NULL);
    dispatch->n_buffers = 3;
    dispatch->bytes = s;
    dispatch->n_bytes = sizeof(*s);
    for (size_t i = 0; i < (size_t)s->rows * s->columns; i++) {
        for (size_t k = 0; k < s->depth; k++)
            wanted[i] += (double)a[i / s->columns * s->depth + k] *
                         b[k * s->columns + i % s->columns];
    }
    wrong = try(device, dispatch);
    if (!wrong)
        wrong = compare(bench_contents(dispatch->buffers[2]), wanted,
                        (size_t)s->rows * s->columns, tolerance);
    for (unsigned i = 0; i < 3; i++)
        bench_release(dispatch->buffers[i]);
    free(a);
    free(b);
    free(wanted);
    return wrong;
}

static const char *check_multiply(id device, id pipeline)
{
    struct bench_dispatch dispatch = {
        .pipeline = pipeline, .groups = { 2, 3, 1 }, .threads = { 16, 16, 1 },
    };

    return check_product(device, &(struct sizes){ 37, 29, 53 }, &dispatch, 1e-4);
}

static const char *check_matrices(id device, id pipeline)
{
    struct bench_dispatch dispatch = {
        .pipeline = pipeline, .groups = { 2, 2, 1 }, .threads = { 64, 1, 1 },
    };

    return check_product(device, &(struct sizes){ 16, 24, 32 }, &dispatch, 1e-4);
}

static const char *check_transpose(id device, id pipeline)
{
    float x[64];
    double wanted[64];

    fill(x, 64, 5);
    for (size_t i = 0; i < 64; i++)
        wanted[i] = 2 * x[i % 8 * 8 + i / 8];
    id from = bench_buffer(device, sizeof(x), x), to = bench_buffer(device, sizeof(x), NULL);
    const char *wrong = try(device, &(struct bench_dispatch){
        .pipeline = pipeline, .buffers = { from, to }, .n_buffers = 2, .groups = { 1, 1, 1 },
        .threads = { 32, 1, 1 } });
    if (!wrong)
        wrong = compare(bench_contents(to), wanted, 64, 0);
    bench_release(from);
    bench_release(to);
    return wrong;
}

static const char *check_softmax(id device, id pipeline)
{
    enum { ROWS = 3, N = 77 };
    float x[ROWS * N];
    double wanted[ROWS * N];
    const uint32_t n = N;

    fill(x, ROWS * N, 6);
    for (size_t row = 0; row < ROWS; row++) {
        double sum = 0;
        for (size_t i = 0; i < N; i++)
            sum += exp(x[row * N + i]);
        for (size_t i = 0; i < N; i++)
            wanted[row * N + i] = exp(x[row * N + i]) / sum;
    }
    id from = bench_buffer(device, sizeof(x), x), to = bench_buffer(device, sizeof(x), NULL);
    const char *wrong = try(device, &(struct bench_dispatch){
        .pipeline = pipeline, .buffers = { from, to }, .n_buffers = 2, .bytes = &n, .n_bytes = 4,
        .groups = { ROWS, 1, 1 }, .threads = { 96, 1, 1 } });
    if (!wrong)
        wrong = compare(bench_contents(to), wanted, ROWS * N, 1e-6);
    bench_release(from);
    bench_release(to);
    return wrong;
}

const struct kernels_case kernels_cases[] = {
    { "axpy", check_axpy },
    { "multiply", check_multiply },
    { "multiply_matrices", check_matrices },
    { "transpose", check_transpose },
    { "softmax", check_softmax },
    { NULL, NULL },
};

const char *kernels_run(id device, const struct kernels_case *it, int mutant)
{
    id pipeline = bench_pipeline(device, kernels_text(mutant), it->name);
    const char *wrong = it->check(device, pipeline);

    bench_release(pipeline);
    return wrong;
}

void kernels_check(id device, int mutant)
{
    for (const struct kernels_case *it = kernels_cases; it->name; it++) {
        const char *wrong = kernels_run(device, it, mutant);
        if (wrong)
            test_fail("%s: %s", it->name, wrong);
    }
}
