/* SPDX-License-Identifier: MIT */
#pragma once

/* The bytes of segment files, shared by who writes and who reads them. */

#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "frames/encode/segment.h"

#define VRT_SEGMENT_MAGIC "VRTSEG1\n"
#define VRT_SEGMENT_MAGIC_BYTES 8
/* Of the head's last field. */
#define VRT_SEGMENT_FULL_RANGE 1
#define VRT_SEGMENT_HAS_ALPHA 2

#define VRT_SEGMENT_PART_BYTES 32               /* of a packet before its crc */
#define VRT_SEGMENT_END_FIELDS (4 + VRT_SEGMENT_MAX_DELAY + 1)
#define VRT_SEGMENT_END_BYTES (8 + 8 * VRT_SEGMENT_END_FIELDS + 4)

/* The head's fields in their order: offsets of ints in struct vrt_segment_head. */
extern const size_t vrt_segment_fields[];
extern const int vrt_segment_n_fields;
