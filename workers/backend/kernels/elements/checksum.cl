/* SPDX-License-Identifier: MIT */

/* Adds up words of 8 bytes as "backend/checksum.h" says: every item a part. */

#include "backend/kernels/language.h"

#include "backend/kernels/args.h"

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

/* sums [VRT_KERNEL_CHECKSUM_ITEMS] */
KERNEL(checksum)(ARGS(struct vrt_kernel_checksum, args), INPUT(1, data),
                 OUTPUT(2, sums) WORK_ITEM)
{
    const GLOBAL ulong *words = (const GLOBAL ulong *)data;
    ulong sum = 0;

    for (long i = GLOBAL_ID(0); i < args.n_words; i += VRT_KERNEL_CHECKSUM_ITEMS)
        sum += mixed(words[i], (ulong)i);
    ((GLOBAL ulong *)sums)[GLOBAL_ID(0)] = sum;
}
