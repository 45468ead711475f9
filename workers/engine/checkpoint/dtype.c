/* SPDX-License-Identifier: MIT */
/* The element types of checkpoints, and their conversion to f32. */

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/macro.h"
#include "engine/checkpoint.h"

static float f32_from_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static float f32_from_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;

    if (exponent == 0x1f)
        return f32_from_bits(sign | 0x7f800000 | fraction << 13);
    if (exponent == 0)
        return copysignf((float)fraction * 0x1p-24f, sign ? -1.0f : 1.0f);
    return f32_from_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

static float f32_from_bf16(uint16_t bits)
{
    return f32_from_bits((uint32_t)bits << 16);
}

static float f32_from_bool(uint8_t byte)
{
    return byte ? 1.0f : 0.0f;
}

#define cast_to_f32(x) ((float)(x))

/* A row of `n` elements `step_bytes` apart, of any alignment, to consecutive f32. */
#define DEFINE_CONVERT(name, type, to_f32)                                                      \
    static void convert_##name(const uint8_t *from, int64_t step_bytes, int64_t n, float *dst)  \
    {                                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                       \
            type x;                                                                             \
                                                                                                \
            memcpy(&x, from + i * step_bytes, sizeof(x));                                       \
            dst[i] = to_f32(x);                                                                 \
        }                                                                                       \
    }

DEFINE_CONVERT(f32, float, cast_to_f32)
DEFINE_CONVERT(f16, uint16_t, f32_from_f16)
DEFINE_CONVERT(bf16, uint16_t, f32_from_bf16)
DEFINE_CONVERT(f64, double, cast_to_f32)
DEFINE_CONVERT(i64, int64_t, cast_to_f32)
DEFINE_CONVERT(i32, int32_t, cast_to_f32)
DEFINE_CONVERT(i16, int16_t, cast_to_f32)
DEFINE_CONVERT(i8, int8_t, cast_to_f32)
DEFINE_CONVERT(u8, uint8_t, cast_to_f32)
DEFINE_CONVERT(bool, uint8_t, f32_from_bool)

static const struct {
    const char *name;
    size_t n_bytes;
    void (*convert)(const uint8_t *from, int64_t step_bytes, int64_t n, float *dst);
} dtypes[] = {
    [VRT_CHECKPOINT_F32] = { "f32", 4, convert_f32 },
    [VRT_CHECKPOINT_F16] = { "f16", 2, convert_f16 },
    [VRT_CHECKPOINT_BF16] = { "bf16", 2, convert_bf16 },
    [VRT_CHECKPOINT_F64] = { "f64", 8, convert_f64 },
    [VRT_CHECKPOINT_I64] = { "i64", 8, convert_i64 },
    [VRT_CHECKPOINT_I32] = { "i32", 4, convert_i32 },
    [VRT_CHECKPOINT_I16] = { "i16", 2, convert_i16 },
    [VRT_CHECKPOINT_I8] = { "i8", 1, convert_i8 },
    [VRT_CHECKPOINT_U8] = { "u8", 1, convert_u8 },
    [VRT_CHECKPOINT_BOOL] = { "bool", 1, convert_bool },
};

_Static_assert(VRT_ARRAY_SIZE(dtypes) == VRT_CHECKPOINT_DTYPE_COUNT, "a row for each type");

const char *vrt_checkpoint_dtype_name(enum vrt_checkpoint_dtype dtype)
{
    vrt_assert(dtype < VRT_CHECKPOINT_DTYPE_COUNT);
    return dtypes[dtype].name;
}

size_t vrt_checkpoint_dtype_bytes(enum vrt_checkpoint_dtype dtype)
{
    vrt_assert(dtype < VRT_CHECKPOINT_DTYPE_COUNT);
    return dtypes[dtype].n_bytes;
}

void vrt_checkpoint_read_f32(const struct vrt_checkpoint_tensor *tensor, float *dst)
{
    int64_t n_bytes = (int64_t)vrt_checkpoint_dtype_bytes(tensor->dtype);
    int inner = tensor->n_dims - 1;
    int64_t n_row = inner >= 0 ? tensor->dims[inner] : 1;
    int64_t step_bytes = inner >= 0 ? tensor->strides[inner] * n_bytes : n_bytes;
    int64_t index[VRT_CHECKPOINT_DIMS_MAX] = { 0 };
    int64_t row = 0;            /* where the next row begins, in elements */

    for (int64_t done = 0; done < tensor->n_elements; done += n_row) {
        dtypes[tensor->dtype].convert((const uint8_t *)tensor->data + row * n_bytes, step_bytes,
                                      n_row, dst + done);

        /* Count up the outer dimensions, the last of them fastest. */
        for (int d = inner - 1; d >= 0; d--) {
            row += tensor->strides[d];
            if (++index[d] < tensor->dims[d])
                break;
            row -= tensor->strides[d] * tensor->dims[d];
            index[d] = 0;
        }
    }
}
