/* SPDX-License-Identifier: MIT */

#include "base/text/hash.h"

#include <sys/random.h>

#define PRIME ((UINT32_C(1) << 31) - 1)

uint32_t vrt_hash_key(void)
{
    uint32_t key;

    /* Where a thread's stack is, else, is a guess that costs but time. */
    if (getentropy(&key, sizeof(key)) < 0)
        key = (uint32_t)(uintptr_t)&key;
    return (key & PRIME >> 1) | UINT32_C(1) << 16;
}

/* A polynomial of the key. By the last step what differs at its end is far apart, too. */
uint32_t vrt_hash(uint32_t key, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t hash = 0;

    for (size_t i = 0; i < size; i++)
        hash = (hash * key + bytes[i] + 1) % PRIME;
    return (uint32_t)(hash * key % PRIME);
}
