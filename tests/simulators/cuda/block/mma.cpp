/* SPDX-License-Identifier: MIT */
/*
 * Products of a warp
 *
 * The fragments are gathered into matrices as the PTX ISA lays them out, and each lane gets its
 * part of the product: g = lane / 4, t = lane % 4.
 *
 * The products of factors are exact. Four at a time are added to the sum: all five are aligned to
 * the largest of them, what is below its 24 bits is cut off, and so is what the result has more
 * than 24. That is the first tensor cores' arithmetic (Fasi, Higham, Mikaitis, Pranesh, "Numerical
 * behavior of NVIDIA tensor cores", 2021); later ones add more at a time, and keep bits more.
 */

#include "tests/simulators/cuda/include/mma.cuh"

#include "tests/simulators/cuda/block/block.h"

#include <cfenv>
#include <cmath>

namespace {

constexpr int n_m = 16, n_n = 8, n_at_once = 4;

/* Two numbers, and their bits, in what any host has registers for. */
typedef double pair __attribute__((vector_size(2 * sizeof(double))));
typedef int64_t pair_bits __attribute__((vector_size(2 * sizeof(int64_t))));
constexpr int n_pairs = n_n / 2;

/*
 * sums += terms. Rounds towards zero, so that beside 2^29 times the leading power of two what is
 * below 24 bits is cut off; of numbers that aren't finite what a plain sum has.
 */
template <int n_terms> __attribute__((noinline)) void add_cut(float *sums, pair (*terms)[n_pairs])
{
    constexpr int64_t sign = INT64_MIN, exponent = int64_t(0x7ff) << 52;

    for (int n = 0; n < n_pairs; n++) {
        pair largest = {}, total = {}, plain = {};

        terms[n_terms][n] = pair{sums[2 * n], sums[2 * n + 1]};
        for (int i = 0; i <= n_terms; i++) {
            const pair magnitude = pair(pair_bits(terms[i][n]) & ~sign);
            const pair_bits is_larger = magnitude > largest;

            largest = pair((pair_bits(magnitude) & is_larger) | (pair_bits(largest) & ~is_larger));
            plain += terms[i][n];
        }
        const pair beside = pair(pair_bits(largest) & exponent) * double(1 << 29);
        for (int i = 0; i <= n_terms; i++) {
            const pair_bits its_sign = pair_bits(terms[i][n]) & sign;
            const pair magnitude = pair(pair_bits(terms[i][n]) & ~sign);
            const pair cut = (magnitude + beside) - beside;

            total += pair(pair_bits(cut) | its_sign);
        }
        for (int k = 0; k < 2; k++) {
            const double sum = std::isfinite(plain[k]) ? total[k] : plain[k];

            /* Rounding towards zero doesn't reach infinity. */
            sums[2 * n + k] = std::fabs(sum) >= 0x1p128 ? float(std::copysign(INFINITY, sum))
                                                        : float(sum);
        }
    }
}

/* Whether all of them are zeros, or all are finite, by which nothing is added. */
bool are_zero(const double *x, int n)
{
    double magnitude = 0;

    for (int i = 0; i < n; i++)
        magnitude += std::fabs(x[i]);
    return magnitude == 0;
}

bool are_finite(const double *x, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += x[i];
    return std::isfinite(sum);
}

/* c: added to. What is zero is most of many a tile, and left out. */
template <int n_k>
void multiply(float (*c)[n_n], const double (*a)[n_k], const double (*b)[n_n])
{
    const int rounding = fegetround();

    fesetround(FE_TOWARDZERO);
    for (int first = 0; first < n_k; first += n_at_once) {
        const bool is_finite = are_finite(b[first], n_at_once * n_n);
        const bool is_zero = are_zero(b[first], n_at_once * n_n);

        for (int m = 0; m < n_m; m++) {
            pair terms[n_at_once + 1][n_pairs];

            if (is_finite && are_zero(&a[m][first], n_at_once))
                continue;
            if (is_zero && are_finite(&a[m][first], n_at_once))
                continue;
            for (int k = 0; k < n_at_once; k++)
                for (int n = 0; n < n_n; n++)
                    terms[k][n / 2][n % 2] = a[m][first + k] * b[first + k][n];
            add_cut<n_at_once>(c[m], terms);
        }
    }
    fesetround(rounding);
}

/* Of product j. */
void gather_c(void *const *args, int j, float (*c)[n_n])
{
    for (int lane = 0; lane < 32; lane++) {
        const float *d = static_cast<vrt_sim_mma_arg *>(args[lane])->d + 4 * j;

        for (int i = 0; i < 4; i++)
            c[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2] = d[i];
    }
}

void scatter_c(void *const *args, int j, const float (*c)[n_n])
{
    for (int lane = 0; lane < 32; lane++) {
        float *d = static_cast<vrt_sim_mma_arg *>(args[lane])->d + 4 * j;

        for (int i = 0; i < 4; i++)
            d[i] = c[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2];
    }
}

float value_f16(uint32_t bits)
{
    return __half2float(__ushort_as_half((unsigned short)bits));
}

float value_bf16(uint32_t bits)
{
    return __uint_as_float(bits << 16);
}

float value_tf32(uint32_t bits)
{
    return __uint_as_float(bits & ~uint32_t(0x1fff));
}

/* n_k / 4 registers of a, n_k / 8 of b. */
template <float value(uint32_t), int n_k> void product_of_halves(void *const *args, unsigned)
{
    double a[n_m][n_k], b[n_k][n_n];
    float c[n_m][n_n];

    for (int lane = 0; lane < 32; lane++) {
        const auto *arg = static_cast<vrt_sim_mma_arg *>(args[lane]);
        const int g = lane / 4, t = lane % 4;

        for (int i = 0; i < n_k / 4; i++) {
            double *at = &a[g + i % 2 * 8][i / 2 * 8 + t * 2];

            at[0] = value(arg->a[i] & 0xffff);
            at[1] = value(arg->a[i] >> 16);
        }
        for (int i = 0; i < n_k / 8; i++) {
            b[i * 8 + t * 2][g] = value(arg->b[i] & 0xffff);
            b[i * 8 + t * 2 + 1][g] = value(arg->b[i] >> 16);
        }
    }
    gather_c(args, 0, c);
    multiply<n_k>(c, a, b);
    scatter_c(args, 0, c);
}

/* n products with the same a. */
template <int n> void products_of_tf32(void *const *args, unsigned)
{
    double a[n_m][8], b[8][n_n];
    float c[n_m][n_n];

    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++)
            a[lane / 4 + i % 2 * 8][lane % 4 + i / 2 * 4] =
                value_tf32(static_cast<vrt_sim_mma_arg *>(args[lane])->a[i]);
    for (int j = 0; j < n; j++) {
        for (int lane = 0; lane < 32; lane++)
            for (int i = 0; i < 2; i++)
                b[lane % 4 + i * 4][lane / 4] =
                    value_tf32(static_cast<vrt_sim_mma_arg *>(args[lane])->b[2 * j + i]);
        gather_c(args, j, c);
        multiply<8>(c, a, b);
        scatter_c(args, j, c);
    }
}

/* Lanes 8i to 8i+7 brought the rows of matrix i. */
template <int n, bool trans> void load(void *const *args, unsigned)
{
    for (int lane = 0; lane < 32; lane++) {
        uint32_t *r = static_cast<vrt_sim_ldmatrix_arg *>(args[lane])->r;
        const int g = lane / 4, t = lane % 4;

        for (int i = 0; i < n; i++) {
            auto element = [&](int row, int column) -> uint32_t {
                const auto *arg = static_cast<vrt_sim_ldmatrix_arg *>(args[i * 8 + row]);

                return static_cast<const uint16_t *>(arg->row)[column];
            };
            r[i] = trans ? element(2 * t, g) | element(2 * t + 1, g) << 16
                         : element(g, 2 * t) | element(g, 2 * t + 1) << 16;
        }
    }
}

}

const vrt_sim_collective vrt_sim_mma_f16 = {"mma.m16n8k16 of f16",
                                            product_of_halves<value_f16, 16>};
const vrt_sim_collective vrt_sim_mma_f16_8 = {"mma.m16n8k8 of f16",
                                              product_of_halves<value_f16, 8>};
const vrt_sim_collective vrt_sim_mma_bf16 = {"mma.m16n8k16 of bf16",
                                             product_of_halves<value_bf16, 16>};
const vrt_sim_collective vrt_sim_mma_bf16_8 = {"mma.m16n8k8 of bf16",
                                               product_of_halves<value_bf16, 8>};
const vrt_sim_collective vrt_sim_mma_tf32 = {"mma.m16n8k8 of tf32", products_of_tf32<1>};
const vrt_sim_collective vrt_sim_mma_tf32_2 = {"2 mma.m16n8k8 of tf32", products_of_tf32<2>};
const vrt_sim_collective vrt_sim_mma_tf32_3 = {"3 mma.m16n8k8 of tf32", products_of_tf32<3>};
const vrt_sim_collective vrt_sim_mma_tf32_4 = {"4 mma.m16n8k8 of tf32", products_of_tf32<4>};
const vrt_sim_collective vrt_sim_ldmatrix_x4 = {"ldmatrix.x4", load<4, false>};
const vrt_sim_collective vrt_sim_ldmatrix_x4_trans = {"ldmatrix.x4.trans", load<4, true>};
const vrt_sim_collective vrt_sim_ldmatrix_x2 = {"ldmatrix.x2", load<2, false>};
const vrt_sim_collective vrt_sim_ldmatrix_x2_trans = {"ldmatrix.x2.trans", load<2, true>};

void vrt_sim_meet_mma(const vrt_sim_collective *product, int least_capability, float *d,
                      const uint32_t *a, const uint32_t *b)
{
    vrt_sim_mma_arg arg = {d, a, b};

    if (sim::running_capability() < least_capability)
        vrt_sim_trap(cudaErrorIllegalInstruction, product->name);
    vrt_sim_meet(product, 0xffffffffu, &arg);
}

/* The addresses of the lanes that give no row don't count. */
void vrt_sim_meet_ldmatrix(const vrt_sim_collective *load, uint32_t *r, const void *row)
{
    const bool of_two = load == &vrt_sim_ldmatrix_x2 || load == &vrt_sim_ldmatrix_x2_trans;
    vrt_sim_ldmatrix_arg arg = {r, row};

    if (reinterpret_cast<uintptr_t>(row) % 16 && (!of_two || vrt_sim_lane() < 16))
        vrt_sim_trap(cudaErrorMisalignedAddress, load->name);
    vrt_sim_meet(load, 0xffffffffu, &arg);
}
