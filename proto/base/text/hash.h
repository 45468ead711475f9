/* SPDX-License-Identifier: MIT */
#pragma once

/* Where things are in tables that strangers' words, or numbers, are looked up in. */

#include <stddef.h>
#include <stdint.h>

/* A key that nobody can know. Thread: any. */
uint32_t vrt_hash_key(void);

/* Who doesn't know the key can't have things that he makes up be in one place: any two of n bytes
 * are with the odds of n to 2^31. Pure. */
uint32_t vrt_hash(uint32_t key, const void *data, size_t size);
