/* SPDX-License-Identifier: MIT */

#include "base/text/digest.h"

#include <stdio.h>

const char *vrt_digest_print(const uint8_t digest[VRT_DIGEST_BYTES],
                             char text[VRT_DIGEST_TEXT_BYTES])
{
    for (int i = 0; i < VRT_DIGEST_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    return text;
}
