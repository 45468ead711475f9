/* SPDX-License-Identifier: MIT */

/*
 * Matrix units, for a machine that has none, after the text of the OpenCL extension
 * cl_intel_subgroup_matrix_multiply_accumulate: result = a * b + acc for subgroups of 8
 *
 *     a [M][16]       row r is vector component r; item l of the subgroup has columns 2l and 2l + 1
 *     b [16][8]       column l is that of item l; its vector component j has rows 2j and 2j + 1
 *     acc [M][8]      column l is that of item l; row r is vector component r; the result likewise
 *
 * Of two factors in 32 bits the first has the lower 16.
 *
 * This is C for the target spir64, no part of the driver: translate.c has it compiled together with
 * a module. All items of a group, not only those of a subgroup, must come here together: the
 * barriers are the group's. SCRATCH begins with the name of the one kernel, as PoCL wants local
 * memory to be called.
 */

#define OVERLOADABLE __attribute__((overloadable))
#define VECTOR(n) __attribute__((ext_vector_type(n)))
#define MAX_ITEMS 4096
#define LANES 8
#define LOCAL_FENCE 1

typedef int int2 VECTOR(2);
typedef int int4 VECTOR(4);
typedef int int8 VECTOR(8);
typedef float float2 VECTOR(2);
typedef float float4 VECTOR(4);
typedef float float8 VECTOR(8);

/* What OpenCL C has built in. */
void OVERLOADABLE __attribute__((convergent)) barrier(unsigned fences);
unsigned long OVERLOADABLE __attribute__((const)) get_local_id(unsigned dimension);
unsigned long OVERLOADABLE __attribute__((const)) get_local_size(unsigned dimension);

/* What each item gives of a. */
static __attribute__((address_space(3))) int given[MAX_ITEMS][LANES] __asm__(SCRATCH);

static unsigned long item(void)
{
    return (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) +
           get_local_id(0);
}

static float float_of_bits(unsigned bits)
{
    union {
        unsigned bits;
        float value;
    } same = { bits };

    return same.value;
}

static float float_of_bf16(unsigned bits)
{
    return float_of_bits((bits & 0xffff) << 16);
}

static float float_of_f16(unsigned bits)
{
    const unsigned sign = (bits & 0x8000) << 16, rest = (bits & 0x7fff) << 13;

    if ((bits & 0x7c00) == 0x7c00)      /* infinity, NaN */
        return float_of_bits(sign | 0x7f800000 | rest);
    /* The exponents' biases differ by 112; so subnormals come out right, too. */
    return float_of_bits(sign | rest) * 0x1p112f;
}

/* One product for each type of factors and number of rows. */
#define DEFINE_ROWS(type, m, ints, floats)                                              \
    floats OVERLOADABLE __attribute__((convergent))                                     \
    intel_sub_group_##type##_##type##_matrix_mad_k16(ints a, int8 b, floats acc)        \
    {                                                                                   \
        const unsigned long me = item(), first = me - me % LANES;                       \
                                                                                        \
        barrier(LOCAL_FENCE);                                                           \
        for (int r = 0; r < m; r++)                                                     \
            given[me][r] = a[r];                                                        \
        barrier(LOCAL_FENCE);                                                           \
        for (int r = 0; r < m; r++) {                                                   \
            for (int j = 0; j < LANES; j++) {                                           \
                const unsigned row = (unsigned)given[first + j][r];                     \
                const unsigned column = (unsigned)b[j];                                 \
                acc[r] += float_of_##type(row) * float_of_##type(column) +              \
                          float_of_##type(row >> 16) * float_of_##type(column >> 16);   \
            }                                                                           \
        }                                                                               \
        return acc;                                                                     \
    }

/* One row: what is a vector elsewhere is a number. */
#define DEFINE_ROW(type)                                                                \
    float OVERLOADABLE __attribute__((convergent))                                      \
    intel_sub_group_##type##_##type##_matrix_mad_k16(int a, int8 b, float acc)          \
    {                                                                                   \
        return intel_sub_group_##type##_##type##_matrix_mad_k16((int2){ a, 0 }, b,      \
                                                                (float2){ acc, 0 })[0]; \
    }

#define DEFINE(type)                        \
    DEFINE_ROWS(type, 2, int2, float2)      \
    DEFINE_ROWS(type, 4, int4, float4)      \
    DEFINE_ROWS(type, 8, int8, float8)      \
    DEFINE_ROW(type)

DEFINE(f16)
DEFINE(bf16)
