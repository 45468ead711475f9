/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A checksum of packed weights that a host and a device compute alike, in any order
 *
 * The sum, modulo 2^64, over all words of 8 bytes (little-endian, the last one filled up with
 * zeros) of mix(word, index), where a word of zeros counts nothing: so gaps of zeros need not be
 * walked through, and what computes in parallel adds up its parts as they come. It tells bytes
 * that went wrong, or to a wrong place; it is no protection against whoever wants to deceive.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/macro.h"

/* What word `index` adds. */
VRT_DEVICE static inline uint64_t vrt_checksum_mix(uint64_t word, uint64_t index)
{
    uint64_t z = word + (index + 1) * 0x9e3779b97f4a7c15u;

    if (!word)
        return 0;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* What `size_bytes` bytes add that begin `offset_bytes` (a multiple of 8) after the start. */
VRT_DEVICE static inline uint64_t vrt_checksum_bytes(const void *bytes, size_t offset_bytes,
                                                     size_t size_bytes)
{
    const unsigned char *at = (const unsigned char *)bytes;
    uint64_t sum = 0, index = offset_bytes / 8, word;

    for (; size_bytes >= 8; size_bytes -= 8, at += 8) {
        memcpy(&word, at, 8);
        sum += vrt_checksum_mix(word, index++);
    }
    word = 0;
    memcpy(&word, at, size_bytes);
    return sum + vrt_checksum_mix(word, index);
}
