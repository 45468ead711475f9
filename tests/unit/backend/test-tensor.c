/* SPDX-License-Identifier: MIT */
/* workers/backend: tensors and their views, half-precision numbers, names. */

#include "tests/unit/test.h"

#include <errno.h>
#include <stdint.h>

#include "backend/backend.h"
#include "backend/op/half.h"
#include "backend/op/op.h"
#include "backend/op/precision.h"

static void test_f16(void)
{
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        const float x = vrt_f32_from_f16((uint16_t)bits);
        const uint16_t back = vrt_f16_from_f32(x);
        const int exponent = bits >> 10 & 31, fraction = bits & 1023;
        const double sign = bits & 0x8000 ? -1 : 1;
        if (exponent == 31 && fraction) {
            expect_true(isnan(x) && (back & 0x7c00) == 0x7c00 && (back & 0x3ff));
            continue;
        }
        expect_int(back, bits);
        if (exponent == 31)
            expect_true(isinf(x) && (x < 0) == (sign < 0));
        else
            expect_near(x, sign * (exponent ? ldexp(1024 + fraction, exponent - 25)
                                            : ldexp(fraction, -24)), 0);
    }
}

/* What lies between two neighbours goes to the nearer, what lies halfway to the even one. */
static void test_f16_rounding(void)
{
    for (uint32_t bits = 0; bits < 0x7bff; bits++) {
        const double a = (double)vrt_f32_from_f16((uint16_t)bits);
        const double b = (double)vrt_f32_from_f16((uint16_t)(bits + 1));
        const float middle = (float)((a + b) / 2);
        expect_int(vrt_f16_from_f32(middle), bits + (bits & 1));
        expect_int(vrt_f16_from_f32(nextafterf(middle, 0)), bits);
        expect_int(vrt_f16_from_f32(nextafterf(middle, INFINITY)), bits + 1);
        expect_int(vrt_f16_from_f32(-nextafterf(middle, INFINITY)), 0x8000 + bits + 1);
    }
    expect_int(vrt_f16_from_f32(65519.996f), 0x7bff);
    expect_int(vrt_f16_from_f32(65520), 0x7c00);
    expect_int(vrt_f16_from_f32(1e30f), 0x7c00);
    expect_int(vrt_f16_from_f32(-INFINITY), 0xfc00);
    expect_int(vrt_f16_from_f32(1e-30f), 0);
}

static void test_bf16(void)
{
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        const float x = vrt_f32_from_bf16((uint16_t)bits);
        const uint16_t back = vrt_bf16_from_f32(x);
        if ((bits & 0x7fff) > 0x7f80)
            expect_true(isnan(x) && (back & 0x7fff) > 0x7f80);
        else
            expect_int(back, bits);
    }
    for (uint32_t bits = 0; bits < 0x7f7f; bits++) {
        const float middle = vrt_f32_from_bits(bits << 16 | 0x8000);
        expect_int(vrt_bf16_from_f32(middle), bits + (bits & 1));
        expect_int(vrt_bf16_from_f32(vrt_f32_from_bits(bits << 16 | 0x7fff)), bits);
        expect_int(vrt_bf16_from_f32(vrt_f32_from_bits(bits << 16 | 0x8001)), bits + 1);
    }
    /* A NaN whose upper half alone would be infinity. */
    expect_true((vrt_bf16_from_f32(vrt_f32_from_bits(0x7f800001)) & 0x7fff) > 0x7f80);
}

static struct vrt_tensor whole(int storage)
{
    struct vrt_tensor t = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ 4, 6, 8, 10 });

    t.storage = storage;
    return t;
}

static void test_views(void)
{
    const struct vrt_tensor t = whole(0);

    expect_int(vrt_tensor_extent(&t), 4 * 6 * 8 * 10);
    struct vrt_tensor v = vrt_tensor_channels(&t, 3, 4);
    expect_int(v.offset, 3);
    expect_int(v.offset_bytes, 12);
    expect_int(vrt_tensor_extent(&v), 4 * 6 * 8 * 10 - 6);
    v = vrt_tensor_crop(&v, 1, 2, 3, 4);
    expect_int(v.offset, 3 + 80 + 20);
    v = vrt_tensor_frames(&v, 2, 1);
    expect_int(v.offset, 3 + 80 + 20 + 2 * 480);
    expect_int(vrt_tensor_extent(&v), 2 * 80 + 3 * 10 + 4);
    expect_true(vrt_shape_equal(v.shape, (struct vrt_shape){ 1, 3, 4, 4 }));
}

/* Against all elements of both, one by one. */
static bool really_overlap(const struct vrt_tensor *a, const struct vrt_tensor *b)
{
    static unsigned char used[4 * 6 * 8 * 10];
    const struct vrt_tensor *both[] = { a, b };

    memset(used, 0, sizeof(used));
    for (int k = 0; k < 2; k++) {
        const struct vrt_tensor *t = both[k];
        for (int64_t i = 0; i < vrt_shape_count(t->shape); i++) {
            const int c = (int)(i % t->shape.c), w = (int)(i / t->shape.c % t->shape.w);
            const int64_t rows = i / t->shape.c / t->shape.w;
            const int64_t at = t->offset + rows / t->shape.h * t->stride_d +
                               rows % t->shape.h * t->stride_h + w * t->stride_w + c;
            if (k && used[at])
                return true;
            used[at] = 1;
        }
    }
    return false;
}

static void test_overlap(void)
{
    uint64_t random = 3;
    const struct vrt_tensor t = whole(0), other = whole(1), none = VRT_TENSOR_NONE;
    int n_overlapping = 0;

    expect_true(!vrt_tensor_overlaps(&t, &other));
    expect_true(!vrt_tensor_overlaps(&t, &none));
    for (int i = 0; i < 5000; i++) {
        struct vrt_tensor v[2];
        for (int k = 0; k < 2; k++) {
            int r[8];
            for (int m = 0; m < 8; m++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                r[m] = (int)(random >> 40 & 0xffff);
            }
            const int f = r[0] % 4, y = r[1] % 6, x = r[2] % 8, c = r[3] % 10;
            v[k] = vrt_tensor_frames(&t, f, 1 + r[4] % (4 - f));
            v[k] = vrt_tensor_crop(&v[k], y, x, 1 + r[5] % (6 - y), 1 + r[6] % (8 - x));
            v[k] = vrt_tensor_channels(&v[k], c, 1 + r[7] % (10 - c));
        }
        const bool overlap = really_overlap(&v[0], &v[1]);
        expect_int(vrt_tensor_overlaps(&v[0], &v[1]), overlap);
        n_overlapping += overlap;
    }
    expect_true(n_overlapping > 100 && n_overlapping < 4900);

    /* Unlike strides: extents decide. */
    struct vrt_tensor line = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ 1, 1, 3, 2 });
    line.storage = 0;
    line.offset = 1914;
    expect_true(vrt_tensor_overlaps(&line, &t));
    line.offset = 1920;
    expect_true(!vrt_tensor_overlaps(&line, &t));
}

static void test_tensor_check(void)
{
    static const char *const says[] = { "dimension", "dimension", "stride", "stride", "offset" };
    const struct vrt_tensor good = whole(0);
    struct vrt_tensor bads[] = { good, good, good, good, good };

    expect_true(vrt_tensor_check(&good) == NULL);
    bads[0].shape.h = 0;
    bads[1].shape.w = 1 << 21;
    bads[2].stride_w = 9;
    bads[3].stride_d = INT64_MAX;
    bads[4].offset = -1;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(says); i++)
        expect_contains(vrt_tensor_check(&bads[i]), says[i]);
    bads[0] = vrt_tensor_dense(VRT_DTYPE_F32,
                               (struct vrt_shape){ 1 << 20, 1 << 20, 1 << 20, 1 << 20 });
    expect_true(vrt_tensor_check(&bads[0]) != NULL);
    bads[0] = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ 1 << 16, 1 << 16, 1 << 4, 1 });
    expect_true(vrt_tensor_check(&bads[0]) == NULL);
}

static void test_names(void)
{
    expect_str(vrt_dtype_name(VRT_DTYPE_BF16), "bf16");
    expect_str(vrt_dtype_name(VRT_DTYPE_COUNT), "unknown");
    for (int p = VRT_PRECISION_F32; p < VRT_PRECISION_COUNT; p++) {
        enum vrt_dtype dtype = vrt_precision_dtype((enum vrt_precision)p, VRT_DTYPE_COUNT);
        expect_str(vrt_dtype_name(dtype), vrt_precision_names[p]);
        expect_int(vrt_precision_of(dtype), p);
    }
    expect_int(vrt_precision_dtype(VRT_PRECISION_AUTO, VRT_DTYPE_BF16), VRT_DTYPE_BF16);
    expect_contains(vrt_backend_strerror(VRT_BACKEND_E_NOMEM), "out of device memory");
    expect_contains(vrt_backend_strerror(VRT_BACKEND_E_LOST), "lost");
    expect_str(vrt_backend_strerror(VRT_BACKEND_E_FAILED + 1), "unknown outcome");
    expect_str(vrt_backend_strerror(-EINVAL), strerror(EINVAL));
}

TEST_MAIN(
    { "f16", test_f16 },           { "f16-rounding", test_f16_rounding },
    { "bf16", test_bf16 },         { "views", test_views },
    { "overlap", test_overlap },   { "tensor-check", test_tensor_check },
    { "names", test_names },
)
