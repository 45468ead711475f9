/* SPDX-License-Identifier: MIT */
#pragma once

/* The checksum of working files. Pure. */

#include <stddef.h>
#include <stdint.h>

/* CRC-32 of `size` bytes, from a start and to an end of zeros (as FFmpeg's, and unlike zlib's own),
 * continuing from `crc` (0 at first). `data` may be NULL where there is none. */
uint32_t vrt_crc(uint32_t crc, const void *data, size_t size);
