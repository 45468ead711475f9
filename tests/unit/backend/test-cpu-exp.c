/* SPDX-License-Identifier: MIT */

/*
 * exp and its like against those of the C library in double, in loops as the kernels have them
 *
 * Built once for each instruction set (ISA), as the kernels are; a machine without it skips.
 */

#include "backend/cpu/isa/isa.h"
#include "backend/cpu/isa/exp.h"
#include "backend/cpu/isa/vector.h"
#include "base/macro.h"
#include "tests/unit/test.h"

#define STRING2(x) #x
#define STRING(x) STRING2(x)

#define RUN 256

/* Of every 513 numbers one: an odd distance, so that the low bits change, too. */
#define STRIDE ((1u << 9) + 1)

struct function {
    void (*run)(const float *x, float *out);
    double (*exact)(double x);
    double smallest, largest;       /* between these errors count */
    double relative;                /* to the exact value */
    double to_x;                    /* to |x| */
};

/* x, out [RUN] */
static void run_exp(const float *x, float *out)
{
    for (int i = 0; i < RUN; i++)
        out[i] = vrt_cpu_exp(x[i]);
}

static void run_exp2(const float *x, float *out)
{
    for (int i = 0; i < RUN; i += VRT_CPU_VECTOR_FLOATS)
        vrt_cpu_vector_store(out + i, vrt_cpu_vector_exp2(vrt_cpu_vector_load(x + i)));
}

static void run_sigmoid(const float *x, float *out)
{
    for (int i = 0; i < RUN; i++)
        out[i] = vrt_cpu_sigmoid(x[i]);
}

static void run_vector_sigmoid(const float *x, float *out)
{
    for (int i = 0; i < RUN; i += VRT_CPU_VECTOR_FLOATS)
        vrt_cpu_vector_store(out + i, vrt_cpu_vector_sigmoid(vrt_cpu_vector_load(x + i)));
}

static void run_tanh(const float *x, float *out)
{
    for (int i = 0; i < RUN; i++)
        out[i] = vrt_cpu_tanh(x[i]);
}

static void run_erf(const float *x, float *out)
{
    for (int i = 0; i < RUN; i++)
        out[i] = vrt_cpu_erf(x[i]);
}

static void run_gelu(const float *x, float *out)
{
    for (int i = 0; i < RUN; i++)
        out[i] = vrt_cpu_gelu(x[i]);
}

static double exact_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double exact_gelu(double x)
{
    return 0.5 * x * erfc(-x * M_SQRT1_2);
}

/* Both signs of every magnitude that the stride meets. */
static void check(const struct function *f)
{
    double worst = 0;
    float x[RUN], out[RUN];
    uint64_t bits = 0;

    while (bits < 0x7f800000) {
        for (int i = 0; i < RUN; i += 2, bits += STRIDE) {
            x[i] = bits < 0x7f800000 ? vrt_f32_from_bits((uint32_t)bits) : 0;
            x[i + 1] = -x[i];
        }
        f->run(x, out);
        for (int i = 0; i < RUN; i++) {
            const double want = f->exact(x[i]);
            if (x[i] < f->smallest || x[i] > f->largest)
                continue;
            const double allowed = f->relative * fabs(want) + f->to_x * fabs((double)x[i]) + 1e-44;
            if (!(fabs(out[i] - want) <= allowed))
                test_fail("of %a: %a, not %a", (double)x[i], (double)out[i], want);
            worst = VRT_MAX(worst, fabs(out[i] - want) / allowed);
        }
    }
    printf("    %.2f of what is allowed\n", worst);
}

static void test_exp2(void)
{
    check(&(struct function){ run_exp2, exp2, -126, 0, 3e-7, 0 });
}

static void test_exp(void)
{
    check(&(struct function){ run_exp, exp, -87.3, 88.3, 2e-7, 0 });
}

static void test_sigmoid(void)
{
    check(&(struct function){ run_sigmoid, exact_sigmoid, -87.3, INFINITY, 4e-7, 0 });
    check(&(struct function){ run_vector_sigmoid, exact_sigmoid, -4, INFINITY, 6e-7, 0 });
    check(&(struct function){ run_vector_sigmoid, exact_sigmoid, -87.3, -4, 6e-6, 0 });
}

static void test_tanh(void)
{
    check(&(struct function){ run_tanh, tanh, -INFINITY, INFINITY, 4e-7, 0 });
}

static void test_erf(void)
{
    check(&(struct function){ run_erf, erf, -INFINITY, INFINITY, 5e-7, 0 });
}

static void test_gelu(void)
{
    check(&(struct function){ run_gelu, exact_gelu, -INFINITY, INFINITY, 0, 3e-7 });
}

static void test_special(void)
{
    float x[RUN] = { -INFINITY, INFINITY, NAN, 0 }, out[RUN];

    run_exp(x, out);
    expect_near(out[0], 0, 1.3e-38);
    expect_true(out[1] > 2.1e38f);
    expect_true(isnan(out[2]));
    expect_true(out[3] == 1);
    run_sigmoid(x, out);
    expect_near(out[0], 0, 1e-38);
    expect_true(out[1] == 1 && isnan(out[2]) && out[3] == 0.5f);
    run_vector_sigmoid(x, out);
    expect_near(out[0], 0, 1.3e-38);
    expect_true(out[1] == 1 && isnan(out[2]) && out[3] == 0.5f);
    run_tanh(x, out);
    expect_near(out[0], -1, 4e-7);
    expect_near(out[1], 1, 4e-7);
    expect_true(isnan(out[2]) && out[3] == 0);
    run_gelu(x, out);
    expect_true(isnan(out[2]) && out[3] == 0);
}

/* Whether the best set of this machine has all that ISA has. */
static bool is_there(void)
{
    static const char *const sets[] = { "base", "avx2", "avx512" };
    bool found = false;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(sets); i++) {
        found = found || strcmp(sets[i], STRING(ISA)) == 0;
        if (strcmp(sets[i], vrt_cpu_isa_best()->name) == 0)
            return found;
    }
    return false;
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        { "exp", test_exp },
        { "exp2", test_exp2 },
        { "sigmoid", test_sigmoid }, { "tanh", test_tanh },
        { "erf", test_erf },   { "gelu", test_gelu },       { "special", test_special },
    };

    if (!is_there())
        test_skip("this machine lacks the instruction set");
    return test_main(argc, argv, cases, VRT_ARRAY_SIZE(cases));
}
