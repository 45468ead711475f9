/* SPDX-License-Identifier: MIT */

/*
 * Which implementations of oneDNN's are not made. The shapes of `past_end` are of those for which
 * oneDNN 2.6.3, told that the processor had AMX, was seen to read past the end of a vector.
 */

#include <errno.h>

#include "backend/cpu/conv/dnnl-private.h"
#include "base/macro.h"
#include "tests/unit/test.h"

static const char masks[] = "brgconv:avx512_core_amx_bf16";
static const dnnl_version_t old = { .major = 2, .minor = 6, .patch = 3 };

static struct vrt_dnnl_shape shape(int in_c, int k, int in_w, int pad_side)
{
    return (struct vrt_dnnl_shape){
        .in_c = in_c, .out_c = 32, .k = k, .in_h = 11, .in_w = in_w, .pad_side = pad_side,
        .dtype = VRT_DTYPE_BF16, .out_dtype = VRT_DTYPE_BF16,
    };
}

static void expect_faulty(const int (*shapes)[4], size_t n, bool is_faulty)
{
    for (size_t i = 0; i < n; i++) {
        const int *k = shapes[i];
        const struct vrt_dnnl_shape s = shape(k[0], k[1], k[2], k[3]);
        expect_true(vrt_dnnl_is_faulty(&old, masks, &s) == is_faulty);
    }
}

static void test_past_end(void)
{
    static const int past_end[][4] = {          /* channels, kernel, width, padding */
        { 16, 3, 80, 1 },  { 40, 3, 63, 1 },  { 59, 3, 143, 1 }, { 62, 5, 16, 2 },
        { 54, 7, 216, 3 }, { 43, 3, 227, 1 }, { 64, 3, 30, 1 },  { 56, 3, 1, 1 },
        { 32, 5, 49, 0 },  { 22, 3, 6, 0 },   { 40, 3, 68, 0 },  { 33, 3, 66, 0 },
        { 8, 3, 52, 0 },   { 64, 3, 37, 0 },
    };

    expect_faulty(past_end, VRT_ARRAY_SIZE(past_end), true);
}

/* Rows of frames, tiles of views: what networks are made of stays where it is fastest. */
static void test_wide(void)
{
    static const int wide[][4] = {
        { 64, 3, 256, 1 }, { 64, 3, 640, 1 }, { 16, 3, 1920, 1 }, { 12, 5, 480, 2 },
        { 64, 3, 66, 0 },  { 192, 3, 66, 0 }, { 32, 3, 53, 0 },   { 24, 3, 66, 0 },
    };

    expect_faulty(wide, VRT_ARRAY_SIZE(wide), false);
}

static void test_versions(void)
{
    static const struct {
        int major, minor;
        bool is_faulty;
    } versions[] = {
        { 1, 7, false }, { 2, 5, false }, { 2, 6, true },  { 2, 7, true },
        { 3, 0, true },  { 3, 1, false }, { 3, 6, false }, { 4, 0, false },
    };
    const struct vrt_dnnl_shape s = shape(16, 3, 80, 1);

    for (size_t i = 0; i < VRT_ARRAY_SIZE(versions); i++) {
        const dnnl_version_t version = { .major = versions[i].major, .minor = versions[i].minor };

        expect_true(vrt_dnnl_is_faulty(&version, masks, &s) == versions[i].is_faulty);
    }
}

static void test_others(void)
{
    static const char *const others[] = {
        "jit:avx512_core_amx_bf16", "brgconv_1x1:avx512_core_amx_bf16",
        "brgconv:avx512_core_bf16", "brgconv:avx512_core", "x64:gemm:jit", "ref:any", "",
    };
    const struct vrt_dnnl_shape s = shape(16, 3, 80, 1);

    for (size_t i = 0; i < VRT_ARRAY_SIZE(others); i++)
        expect_true(!vrt_dnnl_is_faulty(&old, others[i], &s));
}

/* What is picked for `s` must be none of them, whether its weights are packed yet or not. */
static void check_pick(struct vrt_dnnl *dnnl, const struct vrt_dnnl_shape *s)
{
    VRT_CLEANUP(vrt_dnnl_layout_freep) struct vrt_dnnl_layout *packed = NULL;

    expect_int(vrt_dnnl_weights_layout(dnnl, s, &packed), 0);
    for (int i = 0; i < 2; i++) {
        VRT_CLEANUP(vrt_dnnl_descp) dnnl_primitive_desc_t desc = NULL;
        const char *name = "";
        const int r = vrt_dnnl_describe(dnnl, s, i ? packed : NULL, &desc);

        if (r == -ENOENT && i)
            continue;
        expect_int(r, 0);
        dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name);
        expect_true(!vrt_dnnl_is_faulty(dnnl_version(), name, s));
    }
}

/* On a processor with AMX this is what keeps them out; elsewhere they aren't offered. */
static void test_picks(void)
{
    VRT_CLEANUP(vrt_dnnl_freep) struct vrt_dnnl *dnnl = NULL;
    unsigned seed = 1;

    expect_int(vrt_dnnl_new(1, &dnnl), 0);
    if (!vrt_dnnl_supports(dnnl, VRT_DTYPE_BF16))
        return;
    for (int i = 0; i < 200; i++) {
        int random[4];

        for (int k = 0; k < 4; k++) {
            seed = seed * 1664525 + 1013904223;
            random[k] = (int)(seed >> 16);
        }
        const int side = 1 + random[0] % 3, pad = random[1] % 2 ? side : 0;
        const struct vrt_dnnl_shape s = shape(1 + random[2] % 64, 2 * side + 1,
                                              1 + random[3] % 260 + 2 * (side - pad), pad);

        check_pick(dnnl, &s);
    }
}

TEST_MAIN(
    { "past_end", test_past_end }, { "wide", test_wide },
    { "versions", test_versions }, { "others", test_others },
    { "picks", test_picks },
)
