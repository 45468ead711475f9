/* SPDX-License-Identifier: MIT */

/* Each function of matrix units, one after the other, on operands that the test has laid out. */

#define OVERLOADABLE __attribute__((overloadable))

/* As cl_intel_subgroup_matrix_multiply_accumulate declares them. */
float OVERLOADABLE intel_sub_group_f16_f16_matrix_mad_k16(int a, int8 b, float acc);
float2 OVERLOADABLE intel_sub_group_f16_f16_matrix_mad_k16(int2 a, int8 b, float2 acc);
float4 OVERLOADABLE intel_sub_group_f16_f16_matrix_mad_k16(int4 a, int8 b, float4 acc);
float8 OVERLOADABLE intel_sub_group_f16_f16_matrix_mad_k16(int8 a, int8 b, float8 acc);
float OVERLOADABLE intel_sub_group_bf16_bf16_matrix_mad_k16(int a, int8 b, float acc);
float2 OVERLOADABLE intel_sub_group_bf16_bf16_matrix_mad_k16(int2 a, int8 b, float2 acc);
float4 OVERLOADABLE intel_sub_group_bf16_bf16_matrix_mad_k16(int4 a, int8 b, float4 acc);
float8 OVERLOADABLE intel_sub_group_bf16_bf16_matrix_mad_k16(int8 a, int8 b, float8 acc);

#define MULTIPLY(type)                                                                          \
    do {                                                                                        \
        const float8 eight = intel_sub_group_##type##_##type##_matrix_mad_k16(rows, column, acc);\
        const float4 four =                                                                     \
            intel_sub_group_##type##_##type##_matrix_mad_k16(rows.lo, column, acc.lo);          \
        const float2 two =                                                                      \
            intel_sub_group_##type##_##type##_matrix_mad_k16(rows.s01, column, acc.s01);        \
        const float one =                                                                       \
            intel_sub_group_##type##_##type##_matrix_mad_k16(rows.s0, column, acc.s0);          \
        vstore8(eight, 0, out + 16 * i);                                                        \
        vstore4(four, 0, out + 16 * i + 8);                                                     \
        vstore2(two, 0, out + 16 * i + 12);                                                     \
        out[16 * i + 14] = one;                                                                 \
    } while (0)

/* a, b, sums: 8 of each item; out: 16, of products of 8, 4, 2 and 1 rows. */
__attribute__((intel_reqd_sub_group_size(8))) __attribute__((reqd_work_group_size(16, 1, 1)))
__kernel void multiply(__global const int *a, __global const int *b, __global const float *sums,
                       __global float *out, int is_bf16)
{
    const int i = (int)get_global_id(0);
    const int8 rows = vload8(i, a), column = vload8(i, b);
    const float8 acc = vload8(i, sums);

    if (is_bf16)
        MULTIPLY(bf16);
    else
        MULTIPLY(f16);
}
