/* SPDX-License-Identifier: MIT */

/*
 * The best rate at which this machine multiplies matrices, by the libraries that are good at it
 *
 * usage: bench-gemm [THREADS [SECONDS]]
 *
 * Two kinds of product: one large one that all threads share (oneDNN), and for each thread its own
 * small ones, with operands that stay in its caches (libxsmm, where it is installed): the first is
 * what a network of large layers could reach, the second what one could that works window by
 * window. Each runs for SECONDS (0.5); the best of several repetitions counts, since whatever else
 * the machine does only slows it down.
 */

#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "tests/bench/cpu/onednn-product.h"
#include "tests/bench/cpu/small-gemm.h"

#define MAX_THREADS 1024
#define REPEATS 5

struct bench {
    int n_threads;
    double seconds;
    double best[2];                 /* GFLOP/s in f32, in bf16 */
};

static const char *const type_names[2] = { "f32", "bf16" };

static void report(struct bench *b, bool bf16, const char *how, double rate)
{
    printf("%-5s %-48s %8.1f GFLOP/s\n", type_names[bf16], how, rate);
    fflush(stdout);
    b->best[bf16] = VRT_MAX(b->best[bf16], rate);
}

/* The three matrices of one product of n by n, and oneDNN's program for it. */
struct large {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    dnnl_memory_t memory[3];
};

static void large_done(struct large *large)
{
    for (int i = 0; i < 3; i++)
        if (large->memory[i])
            dnnl_memory_destroy(large->memory[i]);
    if (large->primitive)
        dnnl_primitive_destroy(large->primitive);
    if (large->desc)
        dnnl_primitive_desc_destroy(large->desc);
    if (large->stream)
        dnnl_stream_destroy(large->stream);
    if (large->engine)
        dnnl_engine_destroy(large->engine);
}

static dnnl_status_t large_init(struct large *large, int n, bool bf16)
{
    static const dnnl_query_t queries[3] = {
        dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md,
    };
    const dnnl_dims_t dims = { n, n };
    VRT_CLEANUP(vrt_dnnl_layout_freep) struct vrt_dnnl_layout *any = NULL;
    dnnl_status_t status = dnnl_engine_create(&large->engine, dnnl_cpu, 0);

    if (status == dnnl_success)
        status = dnnl_stream_create(&large->stream, large->engine, dnnl_stream_default_flags);
    if (status == dnnl_success)
        status = vrt_dnnl_layout_new(2, dims, bf16 ? dnnl_bf16 : dnnl_f32, dnnl_format_tag_any,
                                     &any);
    if (status == dnnl_success)
        status = onednn_product_describe(large->engine, any, &large->desc);
    if (status == dnnl_success)
        status = dnnl_primitive_create(&large->primitive, large->desc);
    for (int i = 0; i < 3 && status == dnnl_success; i++) {
        const struct vrt_dnnl_layout *layout = vrt_dnnl_layout_of(large->desc, queries[i], 0);
        void *data;

        status = vrt_dnnl_memory_new(layout, large->engine, DNNL_MEMORY_ALLOCATE,
                                     &large->memory[i]);
        if (status == dnnl_success)
            status = dnnl_memory_get_data_handle(large->memory[i], &data);
        if (status == dnnl_success)
            /* about 0.01, in both types */
            memset(data, 0x3c, vrt_dnnl_layout_bytes(layout));
    }
    return status;
}

/* Return: the seconds that one run took; 0: it failed. */
static double large_run(struct large *large)
{
    const dnnl_exec_arg_t args[] = {
        { DNNL_ARG_SRC, large->memory[0] },
        { DNNL_ARG_WEIGHTS, large->memory[1] },
        { DNNL_ARG_DST, large->memory[2] },
    };
    const int64_t start_ns = vrt_clock_now_ns();

    if (dnnl_primitive_execute(large->primitive, large->stream, VRT_ARRAY_SIZE(args), args) ||
        dnnl_stream_wait(large->stream))
        return 0;
    return (double)(vrt_clock_now_ns() - start_ns) / (double)VRT_NS_PER_S;
}

static void bench_large(struct bench *b, int n, bool bf16)
{
    struct large large = { 0 };
    const char *implementation = "?";
    double shortest = 0, seconds, total = 0;
    char how[128];

    if (large_init(&large, n, bf16) == dnnl_success)
        while (total < b->seconds && (seconds = large_run(&large)) > 0) {
            shortest = shortest > 0 ? VRT_MIN(shortest, seconds) : seconds;
            total += seconds;
        }
    if (shortest > 0) {
        dnnl_primitive_desc_query(large.desc, dnnl_query_impl_info_str, 0, &implementation);
        snprintf(how, sizeof(how), "oneDNN %s, %dx%dx%d", implementation, n, n, n);
        report(b, bf16, how, 2e-9 * n * n * n / shortest);
    }
    large_done(&large);
}

/* Every thread multiplies the same shape, with matrices of its own; all of them begin together. */
static void bench_small(struct bench *b, const struct small_gemm_shape *shape)
{
    const double flops = 2.0 * shape->tokens * shape->in_c * shape->out_c;
    double rate = 0;
    char how[128];

    for (int repeat = 0; repeat < REPEATS; repeat++) {
        double rates[MAX_THREADS] = { 0 }, sum = 0;
        bool failed = false;

#pragma omp parallel num_threads(b->n_threads)
        {
            struct small_gemm *gemm = small_gemm_new(shape);
            int64_t start_ns, elapsed_ns = 0;
            double n_runs = 0;

#pragma omp barrier
            start_ns = vrt_clock_now_ns();
            while (gemm && (double)elapsed_ns < b->seconds / REPEATS * (double)VRT_NS_PER_S) {
                small_gemm_run(gemm, 100);
                n_runs += 100;
                elapsed_ns = vrt_clock_now_ns() - start_ns;
            }
            if (gemm)
                rates[omp_get_thread_num()] = n_runs * flops / (double)elapsed_ns;
            else
                failed = true;
            small_gemm_free(gemm);
        }
        for (int i = 0; i < b->n_threads; i++)
            sum += rates[i];
        rate = failed ? 0 : VRT_MAX(rate, sum);
    }
    if (rate > 0) {
        snprintf(how, sizeof(how), "%s, %d tokens, %d to %d channels", small_gemm_name,
                 shape->tokens, shape->in_c, shape->out_c);
        report(b, shape->bf16, how, rate);
    }
}

int main(int argc, char **argv)
{
    static const int sizes[] = { 1024, 2048 };
    static const struct small_gemm_shape shapes[] = {
        { .tokens = 64, .in_c = 128, .out_c = 128 },
        { .tokens = 128, .in_c = 180, .out_c = 180 },
        { .tokens = 64, .in_c = 120, .out_c = 360 },
    };
    struct bench b = {
        .n_threads = argc > 1 ? (int)strtol(argv[1], NULL, 10) : omp_get_num_procs(),
        .seconds = argc > 2 ? strtod(argv[2], NULL) : 0.5,
    };

    if (b.n_threads < 1 || b.n_threads > MAX_THREADS || !(b.seconds > 0)) {
        fprintf(stderr, "bench-gemm: give 1 to %d threads, and seconds above 0\n", MAX_THREADS);
        return 2;
    }
    omp_set_num_threads(b.n_threads);
    for (int bf16 = 0; bf16 < 2; bf16++) {
        for (size_t i = 0; i < VRT_ARRAY_SIZE(sizes); i++)
            bench_large(&b, sizes[i], bf16);
        for (size_t i = 0; i < VRT_ARRAY_SIZE(shapes); i++) {
            struct small_gemm_shape shape = shapes[i];

            shape.bf16 = bf16;
            bench_small(&b, &shape);
        }
    }
    printf("best  f32 %.1f GFLOP/s, bf16 %.1f GFLOP/s, %d threads\n", b.best[0], b.best[1],
           b.n_threads);
    return 0;
}
