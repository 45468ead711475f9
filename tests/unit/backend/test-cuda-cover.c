/* SPDX-License-Identifier: MIT */

/* How the threads of the CUDA backend's kernels are shared out, checked thread by thread. */

#include "backend/cuda/kernels/cover.h"
#include "backend/cuda/kernels/elements/merge.h"
#include "base/macro.h"
#include "tests/unit/test.h"

static void expect_quotient(int i, const struct vrt_divisor *d)
{
    const int quotient = vrt_divide(i, d);

    expect_int(quotient, i / (int)d->divisor);
    expect_int(vrt_remainder(i, quotient, d), i % (int)d->divisor);
}

static void test_divisor(void)
{
    unsigned random = 1;

    /* Every small divisor, and about each power of two, at the numbers where quotients change. */
    for (int k = 0; k < 4096 + 31 * 3; k++) {
        const int64_t n = k < 4096 ? k + 1 : (INT64_C(1) << (k - 4096) / 3) + (k - 4096) % 3 - 1;
        if (n < 1 || n > INT32_MAX)
            continue;
        const struct vrt_divisor d = vrt_divisor_of((int)n);
        const int last = INT32_MAX / (int)n * (int)n;
        expect_quotient(0, &d);
        expect_quotient((int)n - 1, &d);
        expect_quotient((int)n, &d);
        expect_quotient(last, &d);
        expect_quotient(last - 1, &d);
        expect_quotient(INT32_MAX, &d);
        for (int i = 0; i < 100; i++) {
            random = random * 1664525 + 1013904223;
            expect_quotient((int)(random >> 1), &d);
        }
    }
}

/* Every item of the shape is one thread's, and no thread has another. */
static void expect_covered(struct vrt_shape shape, int n_packets)
{
    const struct vrt_cuda_cover cover = vrt_cuda_cover_of(shape, n_packets);
    const size_t n = (size_t)shape.d * (size_t)shape.h * (size_t)shape.w * (size_t)n_packets;
    char *seen = calloc(n, 1);
    size_t n_seen = 0;

    expect_true(seen != NULL);
    for (int block = 0; block < cover.n_blocks; block++)
    for (int thread = 0; thread < VRT_CUDA_COVER_THREADS; thread++) {
        const struct vrt_cuda_item at = vrt_cuda_cover_find(&cover, block, thread);
        if (!at.exists)
            continue;
        expect_true(at.d >= 0 && at.d < shape.d && at.h >= 0 && at.h < shape.h);
        expect_true(at.w >= 0 && at.w < shape.w && at.packet >= 0 && at.packet < n_packets);
        char *one = &seen[(((size_t)at.d * (size_t)shape.h + (size_t)at.h) * (size_t)shape.w +
                           (size_t)at.w) * (size_t)n_packets + (size_t)at.packet];
        expect_int(*one, 0);
        *one = 1;
        n_seen++;
    }
    expect_int(n_seen, n);
    free(seen);
}

static void test_cover(void)
{
    static const int extents[] = { 1, 2, 3, 7, 31, 32, 33, 100, 257 };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(extents); i++)
    for (size_t k = 0; k < VRT_ARRAY_SIZE(extents); k++) {
        expect_covered((struct vrt_shape){ 1, extents[i], extents[k], 1 }, 1);
        expect_covered((struct vrt_shape){ 2, extents[i], extents[k], 1 }, 3);
        expect_covered((struct vrt_shape){ 3, extents[i], 5, 1 }, extents[k]);
    }
}

/* Neighbours in a warp are neighbours in memory, where a row is as long as a warp. */
static void test_neighbours(void)
{
    const struct vrt_cuda_cover cover =
        vrt_cuda_cover_of((struct vrt_shape){ 2, 9, 13, 1 }, 5);

    for (int block = 0; block < cover.n_blocks; block++)
    for (int thread = 0; thread < VRT_CUDA_COVER_THREADS; thread++) {
        const struct vrt_cuda_item a = vrt_cuda_cover_find(&cover, block, thread / 32 * 32);
        const struct vrt_cuda_item b = vrt_cuda_cover_find(&cover, block, thread);
        if (!a.exists || !b.exists)
            continue;
        expect_int(b.d, a.d);
        expect_int(b.h, a.h);
        expect_int(b.w * 5 + b.packet, a.w * 5 + a.packet + thread % 32);
    }
}

/* Threads of a power of two, as layernorm has them for a place, are in one warp. */
static void test_teams(void)
{
    for (int team = 1; team <= 32; team *= 2)
    for (int w = 1; w < 70; w++) {
        const struct vrt_cuda_cover cover =
            vrt_cuda_cover_of((struct vrt_shape){ 1, 3, w, 1 }, team);
        for (int thread = 0; thread < VRT_CUDA_COVER_THREADS; thread++) {
            const struct vrt_cuda_item at = vrt_cuda_cover_find(&cover, 0, thread);
            if (at.exists)
                expect_int(at.packet, thread % team);
        }
    }
}

static void test_sizes(void)
{
    /* One long row leaves no thread but the last block's without an item. */
    const int n = 1000003;
    expect_int(vrt_cuda_cover_of((struct vrt_shape){ 1, 1, 1, 1 }, n).n_blocks, (n + 255) / 256);
    expect_int(vrt_cuda_cover_of((struct vrt_shape){ 1, n, 1, 1 }, 1).n_blocks, (n + 255) / 256);
    /* As much as there may be, and more. */
    expect_int(vrt_cuda_cover_of((struct vrt_shape){ 1, 1 << 20, 1, 1 }, 1 << 10).n_blocks,
               1 << 22);
    expect_int(vrt_cuda_cover_of((struct vrt_shape){ 1 << 20, 1 << 20, 1, 1 }, 1).n_blocks, 0);
    expect_int(vrt_cuda_cover_of((struct vrt_shape){ 1, 1, 1 << 20, 1 }, 1 << 20).n_blocks, 0);
    expect_int(vrt_cuda_n_packets(1), 1);
    expect_int(vrt_cuda_n_packets(8), 1);
    expect_int(vrt_cuda_n_packets(9), 2);
}

static void expect_shape(struct vrt_shape got, struct vrt_shape want)
{
    expect_int(got.d, want.d);
    expect_int(got.h, want.h);
    expect_int(got.w, want.w);
    expect_int(got.c, want.c);
}

static void test_merge(void)
{
    const struct vrt_tensor dense =
        vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ 2, 5, 7, 3 });
    struct vrt_tensor a = dense, b = dense, *both[] = { &a, &b };

    vrt_cuda_merge(both, 2, VRT_CUDA_MERGE_COLUMNS);
    expect_shape(a.shape, (struct vrt_shape){ 2, 5, 1, 21 });
    vrt_cuda_merge(both, 2, VRT_CUDA_MERGE_ROWS);
    expect_shape(b.shape, (struct vrt_shape){ 2, 1, 1, 105 });
    vrt_cuda_merge(both, 2, VRT_CUDA_MERGE_FRAMES);
    expect_shape(a.shape, (struct vrt_shape){ 1, 1, 1, 210 });
    expect_shape(b.shape, a.shape);
    vrt_cuda_merge(both, 2, VRT_CUDA_MERGE_FRAMES);
    expect_shape(a.shape, (struct vrt_shape){ 1, 1, 1, 210 });
}

/* A gap in one of them is a gap for all. */
static void test_merge_gaps(void)
{
    const struct vrt_tensor large =
        vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ 4, 9, 7, 3 });
    struct vrt_tensor dense = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ 4, 5, 7, 3 });
    struct vrt_tensor rows = vrt_tensor_crop(&large, 2, 0, 5, 7);
    struct vrt_tensor *both[] = { &dense, &rows };

    vrt_cuda_merge(both, 2, VRT_CUDA_MERGE_FRAMES);
    expect_shape(dense.shape, (struct vrt_shape){ 4, 1, 1, 105 });
    expect_shape(rows.shape, dense.shape);

    struct vrt_tensor columns = vrt_tensor_crop(&large, 0, 1, 9, 5), *one[] = { &columns };
    vrt_cuda_merge(one, 1, VRT_CUDA_MERGE_FRAMES);
    expect_shape(columns.shape, (struct vrt_shape){ 4, 9, 1, 15 });

    struct vrt_tensor channels = vrt_tensor_channels(&large, 1, 2);
    one[0] = &channels;
    vrt_cuda_merge(one, 1, VRT_CUDA_MERGE_FRAMES);
    expect_shape(channels.shape, (struct vrt_shape){ 4, 9, 7, 2 });
}

/* Strides of what there is one of say nothing; and no run is longer than an int counts. */
static void test_merge_limits(void)
{
    struct vrt_tensor one = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ 1, 6, 1, 3 });
    struct vrt_tensor *all[] = { &one };

    one.stride_d = one.stride_w = 1000;
    vrt_cuda_merge(all, 1, VRT_CUDA_MERGE_FRAMES);
    expect_shape(one.shape, (struct vrt_shape){ 1, 1, 1, 18 });

    one = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ 1 << 10, 1 << 14, 1 << 14, 4 });
    vrt_cuda_merge(all, 1, VRT_CUDA_MERGE_FRAMES);
    expect_shape(one.shape, (struct vrt_shape){ 1 << 10, 1, 1, 1 << 30 });
}

TEST_MAIN(
    { "divisor", test_divisor },       { "cover", test_cover },
    { "neighbours", test_neighbours }, { "teams", test_teams },
    { "sizes", test_sizes },           { "merge", test_merge },
    { "merge-gaps", test_merge_gaps }, { "merge-limits", test_merge_limits },
)
