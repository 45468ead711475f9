/* SPDX-License-Identifier: MIT */

/* Files are walked by position, part by part; sizes are compared with what is there before they are
 * used, and how many parts are looked at is bounded. */

#include "frames/still/exif.h"

#include <errno.h>
#include <libavutil/intreadwrite.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

/* No file of a picture has more parts; a hostile one ends here. */
#define PARTS_MAX 4096

#define TAG_ORIENTATION 0x112
#define TAG_EXIF 0x8769
#define TYPE_SHORT 3
#define ENTRY_BYTES 12
#define ENTRIES_MAX 1024

/* The beginning of EXIF in a JPEG's segment, which some write elsewhere as well. */
static const uint8_t exif_head[6] = { 'E', 'x', 'i', 'f', 0, 0 };

/* All or nothing. */
static bool read_at(int fd, int64_t offset, void *bytes, size_t size)
{
    return offset >= 0 && pread(fd, bytes, size, offset) == (ssize_t)size;
}

/* Takes `size` bytes at `offset` of the file for the block. Return: 0; -ENOMEM. */
static int take(int fd, int64_t offset, uint32_t size, struct vrt_exif *exif)
{
    uint8_t bytes[VRT_EXIF_BYTES_MAX];

    if (size > sizeof(bytes)) {
        exif->is_part = true;
        return 0;
    }
    if (size < 8 || !read_at(fd, offset, bytes, size))
        return 0;
    const bool has_head = memcmp(bytes, exif_head, sizeof(exif_head)) == 0;
    const size_t skipped = has_head ? sizeof(exif_head) : 0;
    return vrt_buf_append(&exif->block, bytes + skipped, size - skipped);
}

/* Segments: 0xff, kind, size with itself u16 (big-endian); 0xda begins the picture. */
static int read_jpeg(int fd, struct vrt_exif *exif)
{
    int64_t offset = 2;

    for (int i = 0; i < PARTS_MAX; i++) {
        uint8_t head[4 + sizeof(exif_head)] = { 0 };
        if (!read_at(fd, offset, head, sizeof(head)) || head[0] != 0xff || head[1] == 0xda)
            return 0;
        const uint32_t size = AV_RB16(head + 2);
        if (head[1] == 0xe1 && size > 2 + sizeof(exif_head) &&
            memcmp(head + 4, exif_head, sizeof(exif_head)) == 0)
            return take(fd, offset + 4, size - 2, exif);
        offset += 2 + (int64_t)size;
    }
    return 0;
}

/* Chunks: size u32 (big-endian), kind, data, checksum. */
static int read_png(int fd, struct vrt_exif *exif)
{
    int64_t offset = 8;

    for (int i = 0; i < PARTS_MAX; i++) {
        uint8_t head[8];
        if (!read_at(fd, offset, head, sizeof(head)) || memcmp(head + 4, "IEND", 4) == 0)
            return 0;
        if (memcmp(head + 4, "eXIf", 4) == 0)
            return take(fd, offset + 8, AV_RB32(head), exif);
        offset += 12 + (int64_t)AV_RB32(head);
    }
    return 0;
}

/* Chunks: kind, size u32 (little-endian), data, even. */
static int read_webp(int fd, struct vrt_exif *exif)
{
    int64_t offset = 12;

    for (int i = 0; i < PARTS_MAX; i++) {
        uint8_t head[8];
        if (!read_at(fd, offset, head, sizeof(head)))
            return 0;
        const uint32_t size = AV_RL32(head + 4);
        if (memcmp(head, "EXIF", 4) == 0)
            return take(fd, offset + 8, size, exif);
        offset += 8 + (int64_t)size + (size & 1);
    }
    return 0;
}

/* Numbers of a TIFF structure, in its byte order. */
static uint32_t get16(const uint8_t *at, bool is_big)
{
    return is_big ? AV_RB16(at) : AV_RL16(at);
}

static uint32_t get32(const uint8_t *at, bool is_big)
{
    return is_big ? AV_RB32(at) : AV_RL32(at);
}

/* Where entry `tag` stands among the `n`. NULL: it isn't there. */
static const uint8_t *find_entry(const uint8_t *entries, size_t n, uint32_t tag, bool is_big)
{
    for (size_t i = 0; i < n; i++)
        if (get16(entries + ENTRY_BYTES * i, is_big) == tag)
            return entries + ENTRY_BYTES * i;
    return NULL;
}

static int orientation_of(const uint8_t *entries, size_t n, bool is_big)
{
    const uint8_t *entry = find_entry(entries, n, TAG_ORIENTATION, is_big);

    if (!entry || get16(entry + 2, is_big) != TYPE_SHORT)
        return VRT_EXIF_UPRIGHT;
    const uint32_t value = get16(entry + 8, is_big);
    return value >= 1 && value <= 8 ? (int)value : VRT_EXIF_UPRIGHT;
}

/* A block that tells an orientation and nothing else. */
static int make_block(int orientation, struct vrt_buf *block)
{
    uint8_t bytes[26] = { 'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0 };

    AV_WL16(bytes + 10, TAG_ORIENTATION);
    AV_WL16(bytes + 12, TYPE_SHORT);
    AV_WL32(bytes + 14, 1);
    AV_WL16(bytes + 18, orientation);
    return vrt_buf_append(block, bytes, sizeof(bytes));
}

/* The first list of entries: how many u16, then each. */
static int read_tiff(int fd, struct vrt_exif *exif)
{
    uint8_t head[8], count[2], entries[ENTRIES_MAX * ENTRY_BYTES];

    if (!read_at(fd, 0, head, sizeof(head)))
        return 0;
    const bool is_big = head[0] == 'M';
    const int64_t offset = get32(head + 4, is_big);
    if (!read_at(fd, offset, count, sizeof(count)))
        return 0;
    const size_t n = get16(count, is_big);
    if (n > ENTRIES_MAX || !read_at(fd, offset + 2, entries, n * ENTRY_BYTES))
        return 0;
    exif->is_part = find_entry(entries, n, TAG_EXIF, is_big);
    const int orientation = orientation_of(entries, n, is_big);
    return orientation == VRT_EXIF_UPRIGHT ? 0 : make_block(orientation, &exif->block);
}

int vrt_exif_read(int fd, struct vrt_exif *ret_exif)
{
    struct vrt_exif exif = { .is_part = false };
    uint8_t head[12] = { 0 };
    int r = 0;

    if (!read_at(fd, 0, head, sizeof(head)))
        r = 0;
    else if (memcmp(head, "\xff\xd8\xff", 3) == 0)
        r = read_jpeg(fd, &exif);
    else if (memcmp(head, "\x89PNG\r\n\x1a\n", 8) == 0)
        r = read_png(fd, &exif);
    else if (memcmp(head, "RIFF", 4) == 0 && memcmp(head + 8, "WEBP", 4) == 0)
        r = read_webp(fd, &exif);
    else if (memcmp(head, "II*\0", 4) == 0 || memcmp(head, "MM\0*", 4) == 0)
        r = read_tiff(fd, &exif);
    if (r < 0) {
        vrt_buf_done(&exif.block);
        return vrt_fold(r);
    }
    *ret_exif = exif;
    return 0;
}

int vrt_exif_orientation(const uint8_t *block, size_t size)
{
    if (size < 10)
        return VRT_EXIF_UPRIGHT;
    const bool is_big = block[0] == 'M';
    const uint32_t offset = get32(block + 4, is_big);
    if (offset > size - 2)
        return VRT_EXIF_UPRIGHT;
    const size_t n = get16(block + offset, is_big);
    if (n > (size - 2 - offset) / ENTRY_BYTES)
        return VRT_EXIF_UPRIGHT;
    return orientation_of(block + offset + 2, n, is_big);
}
