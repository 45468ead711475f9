/* SPDX-License-Identifier: MIT */
/* Shuffles, against what the CUDA programming guide says of each lane. */

#include "tests/simulators/cuda/tests/test-kernel.h"

namespace {

struct shuffled {
    float at;
    long long exclusive;            /* by xor, of 8 bytes */
    int broadcast;
};

void shuffle(shuffled *out, int width, int k)
{
    const int lane = int(threadIdx.x % 32);
    shuffled it;

    it.at = __shfl_sync(~0u, float(lane) * 0.5f, lane * 5 + k, width);
    it.exclusive = __shfl_xor_sync(~0u, (long long)lane << 40, k);
    it.broadcast = __shfl_sync(~0u, lane == k ? 1234 : 0, k);
    out[threadIdx.x] = it;
}

void test_shuffles()
{
    for (int width = 2; width <= 32; width *= 2) {
        for (int k = 0; k < 32; k++) {
            const device_array<shuffled> out(96);

            expect_int(launch(shuffle, 1, 96, 0, out.data, width, k), cudaSuccess);
            const auto got = out.read();

            for (int i = 0; i < 96; i++) {
                const int lane = i % 32, first = lane / width * width;
                const shuffled &it = got[size_t(i)];

                expect_near(it.at, (first + (lane * 5 + k) % width) * 0.5, 0);
                expect_int(it.exclusive, (long long)(lane ^ k) << 40);
                expect_int(it.broadcast, 1234);
            }
        }
    }
}

/* Lanes of two masks take part at once, each with its own: the number of its first lane. */
void find_first(unsigned *out, unsigned mask)
{
    const unsigned lane = threadIdx.x % 32, mine = mask >> lane & 1 ? mask : ~mask;

    out[threadIdx.x] = __shfl_sync(mine, lane, __builtin_ctz(mine));
}

void test_masks()
{
    const unsigned masks[] = {0, ~0u, 1, 0x80000000u, 0x00ff00ff, 0x12345678, 0x7fffffff};

    for (unsigned mask : masks) {
        const device_array<unsigned> out(64);

        expect_int(launch(find_first, 1, 64, 0, out.data, mask), cudaSuccess);
        for (unsigned i = 0; i < 64; i++)
            expect_int(out.read()[i], __builtin_ctz(mask >> i % 32 & 1 ? mask : ~mask));
    }
}

/* A sum over the warp, the usual way, and warps that talk through shared memory. */
void sum_of_block(float *out)
{
    __shared__ float parts[8];
    float x = float(threadIdx.x + blockIdx.x);

    for (int step = 16; step; step /= 2)
        x += __shfl_xor_sync(~0u, x, step);
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x < 32) {
        x = threadIdx.x < 8 ? parts[threadIdx.x] : 0.0f;
        for (int step = 4; step; step /= 2)
            x += __shfl_xor_sync(~0u, x, step);
        if (threadIdx.x == 0)
            out[blockIdx.x] = x;
    }
}

void test_sums()
{
    const device_array<float> out(20);

    expect_int(launch(sum_of_block, 20, 256, 0, out.data), cudaSuccess);
    for (int b = 0; b < 20; b++)
        expect_near(out.read()[size_t(b)], 255 * 128 + 256 * b, 0);
}

}

TEST_MAIN(
    {"shuffles", test_shuffles},
    {"masks", test_masks},
    {"sums", test_sums},
)
