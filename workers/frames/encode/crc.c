/* SPDX-License-Identifier: MIT */

#include "frames/encode/crc.h"

#include <zlib.h>

uint32_t vrt_crc(uint32_t crc, const void *data, size_t size)
{
    return size ? ~(uint32_t)crc32_z(~crc, data, size) : crc;
}
