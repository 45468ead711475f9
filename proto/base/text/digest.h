/* SPDX-License-Identifier: MIT */
#pragma once

/* How a SHA-256 is written: 64 hexadecimal digits in lower case. Pure. */

#include <stdint.h>

#define VRT_DIGEST_BYTES 32
#define VRT_DIGEST_TEXT_BYTES (2 * VRT_DIGEST_BYTES + 1)

/* Return: text. */
const char *vrt_digest_print(const uint8_t digest[VRT_DIGEST_BYTES],
                             char text[VRT_DIGEST_TEXT_BYTES]);
