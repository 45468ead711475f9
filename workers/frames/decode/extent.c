/* SPDX-License-Identifier: MIT */

/* Sizes are read and compared, nothing is allocated: hostile files cost a bounded time. */

#include "frames/decode/extent.h"

#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/macro.h"

/* No file of a useful kind has more top-level pieces; a hostile one ends here. */
#define MAX_PIECES (1 << 18)

/* All or nothing: half a header is none. */
static bool read_at(int fd, int64_t offset, uint8_t *bytes, size_t size)
{
    return pread(fd, bytes, size, offset) == (ssize_t)size;
}

static uint64_t big_endian(const uint8_t *bytes, int n)
{
    uint64_t value = 0;

    for (int i = 0; i < n; i++)
        value = value << 8 | bytes[i];
    return value;
}

/* Boxes: size u32, type, [size u64 if the first is 1]; a size of 0 reaches to the end. */
static struct vrt_extent check_mov(int fd, int64_t size_bytes)
{
    struct vrt_extent extent = { .lacks_index = true };
    int64_t offset = 0;

    for (int i = 0; i < MAX_PIECES && size_bytes - offset >= 8; i++) {
        uint8_t head[16] = { 0 };
        const bool is_long = size_bytes - offset >= 16;
        /* What can't be read says nothing; who reads on will hear why. */
        if (!read_at(fd, offset, head, is_long ? 16 : 8))
            return (struct vrt_extent){ 0 };
        uint64_t size = big_endian(head, 4);
        if (memcmp(head + 4, "moov", 4) == 0)
            extent.lacks_index = false;
        if (memcmp(head + 4, "mdat", 4) == 0)
            extent.is_index_last |= extent.lacks_index;
        if (size == 1 && is_long)
            size = big_endian(head + 8, 8);
        if (size < 8)
            break;
        if (size > (uint64_t)(size_bytes - offset)) {
            extent.truncated = true;
            break;
        }
        offset += (int64_t)size;
    }
    return extent;
}

/*
 * An EBML size at `offset`: 1 to 8 bytes, whose leading zeros tell how many; all ones: unknown.
 * Return: the number of bytes, 0 where there is no valid size.
 */
static int read_ebml_size(int fd, int64_t offset, uint64_t *ret_size, bool *ret_unknown)
{
    uint8_t bytes[8] = { 0 };
    int n = 1;

    if (!read_at(fd, offset, bytes, 1) || !bytes[0])
        return 0;
    while (!(bytes[0] & (0x80 >> (n - 1))))
        n++;
    if (!read_at(fd, offset, bytes, (size_t)n))
        return 0;
    uint64_t all_ones = (1ULL << (7 * n)) - 1;
    *ret_size = big_endian(bytes, n) & all_ones;
    *ret_unknown = *ret_size == all_ones;
    return n;
}

/* The EBML header, then the segment, which holds everything. */
static struct vrt_extent check_matroska(int fd, int64_t size_bytes)
{
    static const uint8_t ids[2][4] = { { 0x1a, 0x45, 0xdf, 0xa3 }, { 0x18, 0x53, 0x80, 0x67 } };
    struct vrt_extent extent = { 0 };
    int64_t offset = 0;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(ids); i++) {
        uint8_t id[4];
        uint64_t size = 0;
        bool unknown = false;
        if (!read_at(fd, offset, id, 4) || memcmp(id, ids[i], 4) != 0)
            return extent;
        int n = read_ebml_size(fd, offset + 4, &size, &unknown);
        if (!n || unknown)
            return extent;
        offset += 4 + n;
        if (size > (uint64_t)(size_bytes - offset)) {
            extent.truncated = true;
            return extent;
        }
        offset += (int64_t)size;
    }
    return extent;
}

/* One "RIFF", size u32 (little-endian), and further ones for the parts beyond 1 GiB. */
static struct vrt_extent check_avi(int fd, int64_t size_bytes)
{
    struct vrt_extent extent = { 0 };
    int64_t offset = 0;

    for (int i = 0; i < MAX_PIECES && size_bytes - offset >= 8; i++) {
        uint8_t head[8];
        if (!read_at(fd, offset, head, 8) || memcmp(head, "RIFF", 4) != 0)
            break;
        uint32_t size = (uint32_t)head[4] | (uint32_t)head[5] << 8 | (uint32_t)head[6] << 16 |
                        (uint32_t)head[7] << 24;
        /* Written by who could not seek back: unknown. */
        if (size == 0 || size == UINT32_MAX)
            break;
        if ((int64_t)size > size_bytes - offset - 8) {
            extent.truncated = true;
            break;
        }
        offset += 8 + (int64_t)size + (size & 1);
    }
    return extent;
}

struct vrt_extent vrt_extent_check(int fd, int64_t size_bytes, const char *demuxer)
{
    static const struct {
        const char *demuxer;
        struct vrt_extent (*check)(int fd, int64_t size_bytes);
    } known[] = {
        { "mov,mp4,m4a,3gp,3g2,mj2", check_mov },
        { "matroska,webm", check_matroska },
        { "avi", check_avi },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(known); i++)
        if (strcmp(demuxer, known[i].demuxer) == 0)
            return known[i].check(fd, size_bytes);
    return (struct vrt_extent){ 0 };
}
