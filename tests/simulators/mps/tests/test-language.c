/* SPDX-License-Identifier: MIT */
/* MSL: what is no part of it is refused, and what numbers it computes. */

#include "tests/simulators/mps/tests/bench.h"

#include "base/macro.h"

#define HEAD "#include <metal_stdlib>\n#include <metal_simdgroup_matrix>\nusing namespace metal;\n"
#define KERNEL "kernel void k(device float *a [[buffer(0)]]) "

/* What is refused, and what the compiler says. */
static const struct {
    const char *text, *says;
} refused[] = {
    { KERNEL "{ threadgroup float t[1];\ndevice float *p = t; a[0] = *p; }",
      "program_source:5:15: error: cannot initialize" },
    { "void f(threadgroup float *p) { *p = 0; }\n" KERNEL "{ f(a); }", "no matching function" },
    { KERNEL "{ constant float *p = a; a[0] = *p; }", "cannot initialize" },
    { "float f(float *p) { return *p; }", "address space qualifier" },
    { "float f(float &x) { return x; }", "address space qualifier" },
    { "template <class T> void f(T *p) { *p = 0; }", "address space qualifier" },
    { "struct s { float *p; };", "address space qualifier" },
    { KERNEL "{ float x = 1; float *p = &x; a[0] = *p; }", "address space qualifier" },
    { KERNEL "{ double x = 1; a[0] = x; }", "'double' is not supported" },
    { KERNEL "{ a[0] = erf(a[0]); }", "undeclared identifier 'erf'" },
    { KERNEL "{ a[0] = expf(a[0]); }", "undeclared identifier 'expf'" },
    { KERNEL "{ a[0] = std::exp(a[0]); }", "undeclared identifier 'std'" },
    { KERNEL "{ a[0] = exp(1); }", "no matching function" },
    { KERNEL "{ a[0] = max(1.0h, a[0]); }", "no matching function" },
    { KERNEL "{ auto f = [](float x) { return x; }; a[0] = f(a[0]); }", "lambda" },
    { KERNEL "{ auto f = [=] { return 1; }; a[0] = f(); }", "lambda" },
    { "float f(float x) { return x > 1 ? f(x / 2) : x; }\n" KERNEL "{ a[0] = f(a[0]); }",
      "'f': recursion" },
    { "float f(float x);\nfloat g(float x) { return f(x); }\n"
      "float f(float x) { return x > 1 ? g(x / 2) : x; }\n" KERNEL "{ a[0] = f(a[0]); }",
      "recursion" },
    { "struct s { virtual void f() {} };", "virtual" },
    { KERNEL "{ try { a[0] = 0; } catch (int) { } }", "exceptions" },
    { KERNEL "{ if constexpr (true) a[0] = 0; }", "C++17" },
    { KERNEL "{ goto end; end: a[0] = 0; }", "goto" },
    { KERNEL "{ auto p = new int; a[0] = 0; }", "'new'" },
    { "kernel void k(device float *a [[buffer(31)]]) { a[0] = 0; }", "out of bounds" },
    { "kernel void k(device float *a) { a[0] = 0; }", "there is none" },
    { "kernel void k(device float *a [[buffer(0)]], uint i) { a[i] = 0; }", "there is none" },
    { "kernel void k(device float *a [[buffer(0)]], device float *b [[buffer(0)]]) { }",
      "duplicate" },
    { "kernel void k(device float *a [[buffer(0)]], uint i [[no_such_index]]) { a[i] = 0; }",
      "no_such_index" },
    { "kernel float k(device float *a [[buffer(0)]]) { return a[0]; }", "must return void" },
    { "kernel void k(float a [[buffer(0)]]) { }", "only applies to pointers" },
    { "kernel void k(threadgroup float *a [[buffer(0)]]) { }", "only applies to pointers" },
    { "kernel void k(threadgroup float *a [[threadgroup(0)]]) { }", "invalid attributes" },
    { "void f() { threadgroup float t[4]; t[0] = 0; }", "declared in a kernel function" },
    { "threadgroup float t[4];", "constant address space" },
    { "float x = 1;", "constant address space" },
    { "float x;", "constant address space" },
    { "constexpr uint n = 4;", "constant address space" },
    { "constant float x;", "must be initialized" },
    { KERNEL "{ static int n = 0; a[0] = n++; }", "'static'" },
    { KERNEL "{ threadgroup float t = 1; a[0] = t; }", "cannot have an initializer" },
    { "constant float x = 1;\n" KERNEL "{ x = 2; a[0] = x; }", "cannot assign" },
    { "kernel void k(constant float *a [[buffer(0)]]) { a[0] = 1; }",
      "read-only variable is not assignable" },
    { KERNEL "{ half h = a[0]; a[0] = __builtin_expf(h); }", "undeclared" },
    { KERNEL "{ bfloat b = bfloat(a[0]); a[0] = float(b); }", "undeclared identifier 'bfloat'" },
    { KERNEL "{ simdgroup_half8x8 m; simdgroup_load(m, a); }", "of the matrix's own type" },
    { KERNEL "{ simdgroup_float8x8 m(1.0f); a[0] = m.own[0]; }", "private member" },
    { KERNEL "{ float4 v = float4(a[0], 1.0f); a[1] = v.x; }", "as many numbers as it has" },
    { KERNEL "{ a[0] = as_type<float>(ushort(1)); }", "another size" },
    { KERNEL "{ int n = int(a[0]); float x[n]; x[0] = 0; a[0] = x[0]; }", "variable length" },
    { KERNEL "{ a[0] = 1 }", "expected ';'" },
    { KERNEL "{ a[0] = 1; ", "never ends" },
    { "#include <cmath>\n" KERNEL "{ a[0] = 1; }", "'cmath' file not found" },
};

static void refuse_all(void)
{
    struct bench bench;
    bench_open(&bench);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(refused); i++) {
        char text[1024];
        const char *why;
        snprintf(text, sizeof(text), HEAD "%s", refused[i].text);
        if (bench_try_library(bench.devices[0], text, 0, &why))
            test_fail("this is compiled: %s", refused[i].text);
        if (!strstr(why, refused[i].says))
            test_fail("%s: it says %s", refused[i].text, why);
    }
    bench_close(&bench);
}

static void test_refused(void)
{
    bench_run(refuse_all, NULL, BENCH_WELL, NULL);
}

/* Expressions of a, numbers that are given, and what they come to. */
static const struct {
    const char *expression;
    double wanted;
} computed[] = {
    { "a[0] + a[1]", 3 },
    { "float(half(2049.0f))", 2048 },           /* to even */
    { "float(half(2051.0f))", 2052 },
    { "float(2048.0h + 1.0h + 1.0h)", 2048 },   /* each sum is rounded */
    { "float(half(65520.0f)) == INFINITY", 1 },
    { "float(half(1e-7f))", 1.1920928955078125e-07 },
    { "float(half4(2048.0h).x + half4(1.0h).w)", 2048 },
    { "sizeof(half) + 10 * sizeof(half4)", 82 },
    { "1.0 / 3 == 1.0f / 3.0f", 1 },            /* a number without suffix is a float */
    { "select(1.0f, 2.0f, a[0] < a[1])", 2 },
    { "clamp(a[2], 0.0f, 2.5f) + clamp(5, 1, 3)", 5.5 },
    { "min(a[0], a[1]) + max(uint(3), 2u) + fmin(1.0f, 0.5f)", 4.5 },
    { "rint(2.5f) + floor(-0.5f) + ceil(0.5f) + fabs(-2.0f)", 4 },
    { "exp2(3.0f) + exp(0.0f) + tanh(0.0f) + sqrt(9.0f) + fma(2.0f, 3.0f, 4.0f)", 22 },
    { "isnan(NAN) + 2 * isfinite(INFINITY) + 4 * isfinite(1.0f) + 8 * isnan(1.0f)", 5 },
    { "as_type<float>(0x40400000u)", 3 },
    { "float(as_type<half>(ushort(0x3c00)))", 1 },
    { "float4(1, 2, 3, 4).wzyx.y + float4(float2(5, 6), 7, 8).x", 8 },
    { "float4(int4(7))[2] + float3(uchar3(255)).z", 262 },
    { "vec<float, 2>(1, 2).y + metal::vec<half, 2>(3).x", 5 },
    { "max(float4(1, 2, 3, 4), 2.5f).x + float(long(1) << 40 >> 38)", 6.5 },
    { "twice(a[1]) + number<3>::value + table[1]", 27 },
    { "copysign(3.0f, -0.5f) + select(float2(5), float2(7), float2(1, 2) < 2.0f).x", 4 },
    { "float4(*(device const float4 *)a).w + float2(*(device const packed_half2 *)a).x", 4 },
    { "float(__METAL_VERSION__)", 300 },
    { "copied(*(device const pair *)a).y + kept(pair_of_constants).x", 32 },
};

/* A kernel that computes all of them. */
static const char *computing_text(void)
{
    static char text[8192];
    size_t n = (size_t)snprintf(text, sizeof(text), HEAD
        "constant float table[] = { 10, 20 };\n"
        "template <class T> T twice(T x) { return x + x; }\n"
        "struct pair { float x, y; };\n"
        "constant pair pair_of_constants = { 30, 40 };\n"
        "pair copied(device const pair &from) { const pair p = from; return p; }\n"
        "pair kept(constant pair &from) { struct pair p = from; return p; }\n"
        "template <int n> struct number { static constexpr constant int value = n; };\n"
        "kernel void k(device const float *a [[buffer(0)]], device float *r [[buffer(1)]])\n{\n");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(computed); i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "    r[%zu] = %s;\n", i,
                              computed[i].expression);
    snprintf(text + n, sizeof(text) - n, "}\n");
    return text;
}

static void compute_all(void)
{
    static const float given[] = { 1, 2, 3, 4 };
    struct bench bench;
    bench_open(&bench);
    id device = bench.devices[0], pipeline = bench_pipeline(device, computing_text(), "k");
    id from = bench_buffer(device, sizeof(given), given);
    id to = bench_buffer(device, 4 * VRT_ARRAY_SIZE(computed), NULL);
    bench_dispatch(device, &(struct bench_dispatch){
        .pipeline = pipeline, .buffers = { from, to }, .n_buffers = 2, .groups = { 1, 1, 1 },
        .threads = { 1, 1, 1 } });
    const float *got = bench_contents(to);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(computed); i++) {
        if (got[i] != (float)computed[i].wanted)
            test_fail("%s is %.9g, not %.9g", computed[i].expression, got[i],
                      computed[i].wanted);
    }
    bench_close(&bench);
}

static void test_computed(void)
{
    bench_run(compute_all, NULL, BENCH_WELL, NULL);
}

/* bfloat, where the system and the version have it. */
static const char bfloat_text[] = HEAD
    "kernel void k(device const bfloat *a [[buffer(0)]], device float *r [[buffer(1)]],\n"
    "              device bfloat *b [[buffer(2)]])\n"
    "{\n"
    "    const bfloat x = a[0] + a[1];\n"
    "    r[0] = x;\n"
    "    r[1] = a[0] * 2.0f;\n"
    "    b[0] = bfloat(257.0f);\n"
    "    b[1] = bfloat(259.0f);\n"
    "    const bfloat4 v = bfloat4(float4(1, 2, 3, 4));\n"
    "    r[2] = float4(v).z;\n"
    "    r[3] = float4(*(device const packed_bfloat4 *)a).y + sizeof(packed_bfloat4);\n"
    "}\n";

static void compute_bfloat(void)
{
    static const uint16_t given[] = { 0x4380, 0x3f80, 0, 0 };   /* 256, 1 */
    struct bench bench;
    bench_open(&bench);
    id device = bench.devices[0], library = bench_library(device, bfloat_text, 310);
    id function = SEND(id, (id), library, "newFunctionWithName:", bench_string("k"));
    id pipeline = SEND(id, (id, id *), device, "newComputePipelineStateWithFunction:error:",
                       function, NULL);
    id from = bench_buffer(device, sizeof(given), given), to = bench_buffer(device, 16, NULL);
    id rounded = bench_buffer(device, 4, NULL);
    bench_dispatch(device, &(struct bench_dispatch){
        .pipeline = pipeline, .buffers = { from, to, rounded }, .n_buffers = 3,
        .groups = { 1, 1, 1 }, .threads = { 1, 1, 1 } });
    const float *r = bench_contents(to);
    const uint16_t *b = bench_contents(rounded);
    expect_near(r[0], 256, 0);                                  /* 257 is rounded to even */
    expect_near(r[1], 512, 0);
    expect_near(r[2], 3, 0);
    expect_near(r[3], 9, 0);
    expect_int(b[0], 0x4380);
    expect_int(b[1], 0x4382);
    bench_close(&bench);
}

static void refuse_bfloat(void)
{
    struct bench bench;
    const char *why;
    bench_open(&bench);
    expect_true(!bench_try_library(bench.devices[0], bfloat_text, 310, &why));
    expect_contains(why, "knows no MSL 310");
    bench_close(&bench);
}

static void test_bfloat(void)
{
    bench_run(compute_bfloat, NULL, BENCH_WELL, NULL);
    bench_run(refuse_bfloat, (const char *[]){ "VRT_MPS_SYSTEM=13", NULL }, BENCH_WELL, NULL);
}

/* Fast arithmetic shows: what is unordered isn't looked for. */
static void compare_arithmetic(void)
{
    static const char text[] = HEAD
        "kernel void k(device const float *a [[buffer(0)]], device float *r [[buffer(1)]])\n"
        "{ r[0] = isnan(a[0]) ? 1.0f : 0.0f; r[1] = a[1] * a[1] + a[2]; }\n";
    const float given[] = { NAN, 1 + 0x1p-12f, -1 - 0x1p-11f };
    struct bench bench;
    bench_open(&bench);
    id device = bench.devices[0];
    for (int is_fast = 0; is_fast < 2; is_fast++) {
        id library = bench_library(device, text, is_fast ? 0 : 300), error = NULL;
        id function = SEND(id, (id), library, "newFunctionWithName:", bench_string("k"));
        id pipeline = SEND(id, (id, id *), device, "newComputePipelineStateWithFunction:error:",
                           function, &error);
        id from = bench_buffer(device, sizeof(given), given), to = bench_buffer(device, 8, NULL);
        bench_dispatch(device, &(struct bench_dispatch){
            .pipeline = pipeline, .buffers = { from, to }, .n_buffers = 2, .groups = { 1, 1, 1 },
            .threads = { 1, 1, 1 } });
        const float *r = bench_contents(to);
        expect_near(r[0], !is_fast, 0);
#ifdef __FMA__
        expect_near(r[1], 0x1p-24f, 0);         /* a product within a sum isn't rounded */
#endif
    }
    bench_close(&bench);
}

static void test_arithmetic(void)
{
    bench_run(compare_arithmetic, NULL, BENCH_WELL, NULL);
}

TEST_MAIN(
    { "refused", test_refused },
    { "computed", test_computed },
    { "bfloat", test_bfloat },
    { "arithmetic", test_arithmetic },
)
