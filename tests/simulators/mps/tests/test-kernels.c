/* SPDX-License-Identifier: MIT */
/* Kernels are right, and those with a mistake are found: by their results, or by the machine. */

#include "tests/simulators/mps/tests/bench.h"

#include "base/macro.h"
#include "tests/simulators/mps/tests/kernels.h"

static const struct {
    int mutant;
    const char *kernel;
    const char *says;                   /* what is found wrong; part of a sentence */
    const char *order;                  /* in which it is */
} mutants[] = {
    /* It goes on beyond the last number. */
    { 1, "axpy", "isn't there", "forward" },
    /* It sums in half. */
    { 2, "multiply", "number", "forward" },
    /* Threads that have nothing to write leave before a barrier. */
    { 3, "multiply", "to which", "forward" },
    /* The tile is filled anew while others still read it. */
    { 4, "multiply", "number", "random:1" },
    /* A matrix the wrong way round. */
    { 5, "multiply_matrices", "number", "forward" },
    /* It reads what other lanes haven't written yet. */
    { 6, "transpose", "number", "forward" },
    /* Only some threads come to a barrier. */
    { 7, "softmax", "threadgroup_barrier() of line", "forward" },
};

static size_t at;

static void run_sound(void)
{
    struct bench bench;

    bench_open(&bench);
    kernels_check(bench.devices[0], 0);
    bench_close(&bench);
}

static void test_sound(void)
{
    bench_run(run_sound, (const char *[]){ "VRT_MPS_ORDER=random:7", NULL }, BENCH_WELL, NULL);
}

static void run_mutant(void)
{
    const struct kernels_case *it = kernels_cases;
    struct bench bench;

    bench_open(&bench);
    while (strcmp(it->name, mutants[at].kernel) != 0)
        it++;
    const char *wrong = kernels_run(bench.devices[0], it, mutants[at].mutant);
    if (!wrong)
        test_fail("nothing is found");
    fprintf(stderr, "found: %s\n", wrong);
    bench_close(&bench);
}

static void test_mutants(void)
{
    for (at = 0; at < VRT_ARRAY_SIZE(mutants); at++) {
        char setting[64];
        snprintf(setting, sizeof(setting), "VRT_MPS_ORDER=%s", mutants[at].order);
        bench_run(run_mutant, (const char *[]){ setting, NULL }, BENCH_WELL, mutants[at].says);
    }
}

/* One kernel, run by one threadgroup, and what becomes of it. */
static const struct {
    const char *text;
    unsigned long n_threads;
    long code;
    const char *says;
} programs[] = {
    { "kernel void k(device float *a [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
      "{\n    a[i] = 0;\n}\n", 16, 0, "" },
    { "kernel void k(device float *a [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
      "{\n    a[i] = 0;\n}\n", 17, 3,
      "kernel k, threadgroup (0, 0, 0): thread (16, 0, 0): it reads or writes byte 64 of "
      "[[buffer(0)]]" },
    { "kernel void k(device float *a [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
      "{\n    a[0] = simd_shuffle_xor(a[i - 1], 1);\n}\n", 2, 3, "it reads or writes" },
    { "kernel void k(device float *a [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
      "{\n    if (i < 3)\n        a[i] = simd_shuffle_xor(a[i], 1);\n    else\n"
      "        a[i] = simd_any(a[i] > 0);\n}\n", 4, 2, "others of which are at another" },
    { "kernel void k(device float *a [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
      "{\n    if (i < 2)\n        threadgroup_barrier(mem_flags::mem_none);\n    else\n"
      "        threadgroup_barrier(mem_flags::mem_none);\n}\n", 4, 2, "came to" },
    { "kernel void k(device float *a [[buffer(0)]])\n{\n"
      "    simdgroup_float8x8 m(1.0f);\n    simdgroup_store(m, a, 0);\n}\n", 31, 1,
      "without 32 threads" },
    { "kernel void k(device float *a [[buffer(0)]], uint i [[thread_position_in_grid]])\n{\n"
      "    simdgroup_float8x8 m;\n    simdgroup_load(m, a, i & 1);\n}\n", 32, 1,
      "different places" },
};

static void run_program(void)
{
    struct bench bench;
    char text[1024];
    const char *why;

    bench_open(&bench);
    id device = bench.devices[0], buffer = bench_buffer(device, 64, NULL);
    snprintf(text, sizeof(text), "#include <metal_stdlib>\nusing namespace metal;\n%s",
             programs[at].text);
    id pipeline = bench_pipeline(device, text, "k");
    expect_int(bench_try(device, &(struct bench_dispatch){
        .pipeline = pipeline, .buffers = { buffer }, .n_buffers = 1,
        .groups = { 1, 1, 1 }, .threads = { programs[at].n_threads, 1, 1 } }, &why),
        programs[at].code);
    if (programs[at].code)
        expect_contains(why, programs[at].says);
    bench_release(pipeline);
    bench_release(buffer);
    bench_close(&bench);
}

static void test_programs(void)
{
    for (at = 0; at < VRT_ARRAY_SIZE(programs); at++)
        bench_run(run_program, NULL, BENCH_WELL, programs[at].code ? programs[at].says : NULL);
}

TEST_MAIN(
    { "sound", test_sound },
    { "mutants", test_mutants },
    { "programs", test_programs },
)
