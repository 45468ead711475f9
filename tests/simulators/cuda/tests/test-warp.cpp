/* SPDX-License-Identifier: MIT */
/* Shuffles and votes, against what the CUDA programming guide says of each lane. */

#include "tests/simulators/cuda/tests/test-kernel.h"

namespace {

struct shuffled {
    float at, up, down;
    long long exclusive;            /* by xor, of 8 bytes */
    int broadcast;
};

void shuffle(shuffled *out, int width, int k)
{
    const int lane = int(threadIdx.x % 32);
    shuffled it;

    it.at = __shfl_sync(~0u, float(lane) * 0.5f, lane * 5 + k, width);
    it.up = __shfl_up_sync(~0u, float(lane), unsigned(k), width);
    it.down = __shfl_down_sync(~0u, float(lane), unsigned(k), width);
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
                expect_near(it.up, lane - k >= first ? lane - k : lane, 0);
                expect_near(it.down, lane + k < first + width ? lane + k : lane, 0);
                expect_int(it.exclusive, (long long)(lane ^ k) << 40);
                expect_int(it.broadcast, 1234);
            }
        }
    }
}

struct votes {
    unsigned ballot;
    int any, all;
};

/* Lanes of two masks take part at once, each with its own. */
void vote(votes *out, unsigned bits, unsigned mask)
{
    const unsigned lane = threadIdx.x % 32;
    const unsigned mine = mask >> lane & 1 ? mask : ~mask;
    const int predicate = int(bits >> lane & 1);

    out[threadIdx.x].ballot = __ballot_sync(mine, predicate);
    out[threadIdx.x].any = __any_sync(mine, predicate);
    __syncwarp(mine);
    out[threadIdx.x].all = __all_sync(mine, predicate);
}

void test_votes()
{
    const unsigned patterns[] = {0, ~0u, 1, 0x80000000u, 0x00ff00ff, 0x12345678, 0x7fffffff};

    for (unsigned bits : patterns) {
        for (unsigned mask : patterns) {
            const device_array<votes> out(64);

            expect_int(launch(vote, 1, 64, 0, out.data, bits, mask), cudaSuccess);
            const auto got = out.read();

            for (unsigned i = 0; i < 64; i++) {
                const unsigned mine = mask >> i % 32 & 1 ? mask : ~mask;

                expect_int(got[i].ballot, bits & mine);
                expect_int(got[i].any, (bits & mine) != 0);
                expect_int(got[i].all, (~bits & mine) == 0);
            }
        }
    }
}

/* A sum over the warp, the usual way, and warps that talk through shared memory. */
void sum_of_block(float *out)
{
    __shared__ float parts[8];
    float x = float(threadIdx.x + blockIdx.x);

    for (int step = 16; step; step /= 2)
        x += __shfl_down_sync(~0u, x, unsigned(step));
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

void count(int *n, unsigned *most, int *least)
{
    atomicAdd(n, 2);
    atomicMax(most, threadIdx.x);
    atomicMin(least, -int(threadIdx.x));
}

void test_atomics()
{
    const device_array<int> n(std::vector<int>{0}), least(std::vector<int>{5});
    const device_array<unsigned> most(std::vector<unsigned>{7});

    expect_int(launch(count, 10, 100, 0, n.data, most.data, least.data), cudaSuccess);
    expect_int(n.read()[0], 2000);
    expect_int(most.read()[0], 99);
    expect_int(least.read()[0], -99);
}

}

TEST_MAIN(
    {"shuffles", test_shuffles},
    {"votes", test_votes},
    {"sums", test_sums},
    {"atomics", test_atomics},
)
