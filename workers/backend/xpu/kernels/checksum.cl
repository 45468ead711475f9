/* SPDX-License-Identifier: MIT */

/* Adds up words of 8 bytes as "backend/checksum.h" says: every item a part. */

#include "backend/xpu/kernels/args.h"

/* vrt_checksum_mix() */
static ulong mixed(ulong word, ulong index)
{
    ulong z = word + (index + 1) * 0x9e3779b97f4a7c15ul;

    if (!word)
        return 0;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ul;
    z = (z ^ z >> 27) * 0x94d049bb133111ebul;
    return z ^ z >> 31;
}

/* sums [the number of items] */
__kernel void checksum(struct vrt_xpu_checksum args, const __global char *data,
                       __global char *sums)
{
    const __global ulong *words = (const __global ulong *)data;
    ulong sum = 0;

    for (long i = (long)get_global_id(0); i < args.n_words; i += (long)get_global_size(0))
        sum += mixed(words[i], (ulong)i);
    ((__global ulong *)sums)[get_global_id(0)] = sum;
}
