/* SPDX-License-Identifier: MIT */

#include "frames/metadata/crop.h"

#include <math.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/macro.h"

/* No useful file has more pieces beside one another before what is looked for. */
#define MAX_PIECES 2048

/* Nor more tracks. */
#define MAX_TRACKS 64

/* Nor more pixels a side: as many as there can be pieces may be added up. */
#define SIDE_MAX UINT16_MAX

/* A stretch of the file. */
struct stretch {
    int64_t begin, end;
};

/* All or nothing: half a number is none. */
static bool read_number(int fd, int64_t offset, int n, uint64_t *ret_value)
{
    uint8_t bytes[8];

    if (pread(fd, bytes, (size_t)n, offset) != n)
        return false;
    *ret_value = 0;
    for (int i = 0; i < n; i++)
        *ret_value = *ret_value << 8 | bytes[i];
    return true;
}

/* The body of the first box `type` in `in`, which begins behind it then, or is that itself. */
static bool next_box(int fd, struct stretch *in, const char type[4], struct stretch *ret_body)
{
    const uint64_t wanted = (uint64_t)(uint8_t)type[0] << 24 | (uint64_t)(uint8_t)type[1] << 16 |
                            (uint64_t)(uint8_t)type[2] << 8 | (uint64_t)(uint8_t)type[3];
    uint64_t size, is;

    for (int i = 0; i < MAX_PIECES && in->end - in->begin >= 8; i++) {
        const int64_t begin = in->begin;
        int head = 8;
        if (!read_number(fd, begin, 4, &size) || !read_number(fd, begin + 4, 4, &is))
            return false;
        if (size == 1 && (head = 16, !read_number(fd, begin + 8, 8, &size)))
            return false;
        if (size == 0)
            size = (uint64_t)(in->end - begin);
        if (size < (uint64_t)head || size > (uint64_t)(in->end - begin))
            return false;
        in->begin = begin + (int64_t)size;
        if (is != wanted)
            continue;
        *ret_body = (struct stretch){ begin + head, begin + (int64_t)size };
        return true;
    }
    return false;
}

/* What a clean aperture's fraction at `offset` comes to; 0: nothing. */
static int read_fraction(int fd, int64_t offset)
{
    uint64_t n, d;

    if (!read_number(fd, offset, 4, &n) || !read_number(fd, offset + 4, 4, &d) || d == 0)
        return 0;
    return (int)lrint(VRT_MIN((double)n / (double)d, 1 << 20));
}

/* Of a track, by its sample description. */
static bool find_in_track(int fd, struct stretch track, struct vrt_crop all,
                          struct vrt_crop *ret_crop)
{
    static const char *const path[] = { "mdia", "minf", "stbl", "stsd" };
    struct stretch box = track, clap;
    uint64_t width, height;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(path); i++)
        if (!next_box(fd, &box, path[i], &box))
            return false;
    /* Version, flags and a count; then the first description: its size and kind, 24 bytes, the
     * picture's size, and behind 86 in all the boxes that tell more. */
    const int64_t entry = box.begin + 8;
    box.begin = entry + 86;
    if (!read_number(fd, entry + 32, 2, &width) || !read_number(fd, entry + 34, 2, &height) ||
        (int)width != all.width || (int)height != all.height || !next_box(fd, &box, "clap", &clap))
        return false;
    *ret_crop = (struct vrt_crop){ read_fraction(fd, clap.begin),
                                   read_fraction(fd, clap.begin + 8) };
    return ret_crop->width > 0 && ret_crop->height > 0;
}

static bool find_in_mov(int fd, struct stretch file, struct vrt_crop all,
                        struct vrt_crop *ret_crop)
{
    struct stretch moov, track;

    if (!next_box(fd, &file, "moov", &moov))
        return false;
    for (int i = 0; i < MAX_TRACKS && next_box(fd, &moov, "trak", &track); i++)
        if (find_in_track(fd, track, all, ret_crop))
            return true;
    return false;
}

/* An EBML number at *offset, which it then is behind; with its marker, or without. */
static bool read_ebml(int fd, int64_t *offset, bool keeps_marker, uint64_t *ret_value)
{
    uint64_t first;
    int n = 1;

    if (!read_number(fd, *offset, 1, &first) || first == 0)
        return false;
    while (!(first & (0x80U >> (n - 1))))
        n++;
    if (!read_number(fd, *offset, n, ret_value))
        return false;
    if (!keeps_marker) {
        const uint64_t all_ones = (1ULL << (7 * n)) - 1;
        *ret_value &= all_ones;
        /* Unknown: to the end of what it is in. */
        if (*ret_value == all_ones)
            *ret_value = INT64_MAX;
    }
    *offset += n;
    return true;
}

/* The next element of `in`, which begins behind it then. */
static bool next_element(int fd, struct stretch *in, uint64_t *ret_id, struct stretch *ret_body)
{
    uint64_t size;
    int64_t at = in->begin;

    if (at >= in->end || !read_ebml(fd, &at, true, ret_id) || !read_ebml(fd, &at, false, &size) ||
        at > in->end)
        return false;
    in->begin = size > (uint64_t)(in->end - at) ? in->end : at + (int64_t)size;
    *ret_body = (struct stretch){ at, in->begin };
    return true;
}

/* Likewise the first one that is called so. */
static bool find_element(int fd, struct stretch *in, uint64_t wanted, struct stretch *ret_body)
{
    uint64_t id;

    for (int i = 0; i < MAX_PIECES && next_element(fd, in, &id, ret_body); i++)
        if (id == wanted)
            return true;
    return false;
}

/* Of a track, by its Video element. */
static bool find_in_entry(int fd, struct stretch entry, struct vrt_crop all,
                          struct vrt_crop *ret_crop)
{
    struct vrt_crop is = { 0, 0 }, lost = { 0, 0 };
    struct stretch video, body;
    uint64_t id, value;

    if (!find_element(fd, &entry, 0xe0, &video))
        return false;
    for (int i = 0; i < MAX_PIECES && next_element(fd, &video, &id, &body); i++) {
        const int64_t n = body.end - body.begin;
        if (n > 8 || n < 1 || !read_number(fd, body.begin, (int)n, &value) || value > SIDE_MAX)
            continue;
        switch (id) {
        case 0xb0:      is.width = (int)value; break;
        case 0xba:      is.height = (int)value; break;
        case 0x54aa:    /* bottom */
        case 0x54bb:    lost.height += (int)value; break;
        case 0x54cc:    /* left */
        case 0x54dd:    lost.width += (int)value; break;
        default:        break;
        }
    }
    *ret_crop = (struct vrt_crop){ is.width - lost.width, is.height - lost.height };
    return is.width == all.width && is.height == all.height && ret_crop->width > 0 &&
           ret_crop->height > 0;
}

static bool find_in_matroska(int fd, struct stretch file, struct vrt_crop all,
                             struct vrt_crop *ret_crop)
{
    struct stretch segment, tracks, entry;

    if (!find_element(fd, &file, 0x18538067, &segment) ||
        !find_element(fd, &segment, 0x1654ae6b, &tracks))
        return false;
    for (int i = 0; i < MAX_TRACKS && find_element(fd, &tracks, 0xae, &entry); i++)
        if (find_in_entry(fd, entry, all, ret_crop))
            return true;
    return false;
}

bool vrt_crop_find(int fd, int64_t size_bytes, const char *demuxer, struct vrt_crop all,
                   struct vrt_crop *ret_crop)
{
    const struct stretch file = { 0, size_bytes };
    struct vrt_crop crop;
    const bool is_found = strcmp(demuxer, "mov,mp4,m4a,3gp,3g2,mj2") == 0 ?
                          find_in_mov(fd, file, all, &crop) :
                          strcmp(demuxer, "matroska,webm") == 0 &&
                          find_in_matroska(fd, file, all, &crop);

    if (!is_found || (crop.width >= all.width && crop.height >= all.height))
        return false;
    *ret_crop = crop;
    return true;
}
