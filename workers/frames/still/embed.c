/* SPDX-License-Identifier: MIT */

/*
 * PNG and WebP are lists of chunks, JPEG one of segments: what belongs before the picture goes
 * behind the head, what may follow goes to the end.
 */

#include "frames/still/embed.h"

#include <errno.h>
#include <libavutil/intreadwrite.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/error.h"

#define PNG_HEAD_BYTES (8 + 12 + 13)    /* the signature, and the chunk IHDR */

/* What a segment of JPEG holds besides its own size, and of a profile. */
#define SEGMENT_BYTES_MAX 65533
#define PROFILE_HEAD_BYTES 14
#define PROFILE_PIECES_MAX 255

#define WEBP_HEAD_BYTES 12
#define VP8X_BYTES 10
#define VP8X_HAS_PROFILE 0x20
#define VP8X_HAS_ALPHA 0x10
#define VP8X_HAS_EXIF 0x08

static int append(struct vrt_buf *out, const struct vrt_still_part *part)
{
    return part->size ? vrt_buf_append(out, part->data, part->size) : 0;
}

/* Return: 0; -ENOMEM. */
static int append_chunk(struct vrt_buf *out, const char *kind, const struct vrt_still_part *part)
{
    uint8_t head[8], end[4];

    AV_WB32(head, part->size);
    memcpy(head + 4, kind, 4);
    const uLong crc = crc32(0, head + 4, 4);
    AV_WB32(end, crc32_z(crc, part->data, part->size));
    int r = vrt_buf_append(out, head, sizeof(head));
    if (r == 0)
        r = append(out, part);
    return r == 0 ? vrt_buf_append(out, end, sizeof(end)) : r;
}

/* A name, 0, the way of compression, and the profile compressed. */
static int append_png_profile(struct vrt_buf *out, const struct vrt_still_part *icc)
{
    static const char head[] = "ICC profile\0";
    uLongf size = compressBound((uLong)icc->size);
    VRT_CLEANUP(vrt_freep) uint8_t *chunk = malloc(sizeof(head) + size);

    if (!chunk)
        return vrt_raise(-ENOMEM);
    memcpy(chunk, head, sizeof(head));
    if (compress(chunk + sizeof(head), &size, icc->data, (uLong)icc->size) != Z_OK)
        return vrt_raise(-ENOMEM);
    const struct vrt_still_part part = { chunk, sizeof(head) + size };
    return append_chunk(out, "iCCP", &part);
}

/* Whether a chunk of this kind comes before the picture's data. */
static bool has_chunk(const struct vrt_still_part *picture, const char *kind)
{
    size_t offset = 8;

    while (offset + 12 <= picture->size) {
        const uint8_t *chunk = picture->data + offset;
        const uint32_t size = AV_RB32(chunk);
        if (memcmp(chunk + 4, kind, 4) == 0)
            return true;
        if (memcmp(chunk + 4, "IDAT", 4) == 0 || size > picture->size - offset - 12)
            return false;
        offset += 12 + (size_t)size;
    }
    return false;
}

static int embed_png(const struct vrt_still_parts *parts, struct vrt_buf *out)
{
    const struct vrt_still_part *picture = &parts->picture;

    if (picture->size < PNG_HEAD_BYTES || memcmp(picture->data + 1, "PNG", 3) != 0)
        return vrt_raise(-EBADMSG);
    int r = vrt_buf_append(out, picture->data, PNG_HEAD_BYTES);
    if (r == 0 && parts->icc.size && !has_chunk(picture, "iCCP"))
        r = append_png_profile(out, &parts->icc);
    if (r == 0 && parts->exif.size && !has_chunk(picture, "eXIf"))
        r = append_chunk(out, "eXIf", &parts->exif);
    return r == 0 ? vrt_buf_append(out, picture->data + PNG_HEAD_BYTES,
                                   picture->size - PNG_HEAD_BYTES) : r;
}

/* Return: 0; -EMSGSIZE; -ENOMEM. */
static int append_segment(struct vrt_buf *out, uint8_t kind, const struct vrt_still_part *head,
                          const struct vrt_still_part *part)
{
    uint8_t start[4] = { 0xff, kind };

    if (head->size + part->size > SEGMENT_BYTES_MAX)
        return vrt_raise(-EMSGSIZE);
    AV_WB16(start + 2, head->size + part->size + 2);
    int r = vrt_buf_append(out, start, sizeof(start));
    if (r == 0)
        r = append(out, head);
    return r == 0 ? append(out, part) : r;
}

/* Cut into numbered pieces, from 1. */
static int append_jpeg_profile(struct vrt_buf *out, const struct vrt_still_part *icc)
{
    const size_t piece_bytes = SEGMENT_BYTES_MAX - PROFILE_HEAD_BYTES;
    const size_t n = (icc->size + piece_bytes - 1) / piece_bytes;
    uint8_t head[PROFILE_HEAD_BYTES] = "ICC_PROFILE";
    int r = 0;

    if (n > PROFILE_PIECES_MAX)
        return vrt_raise(-EMSGSIZE);
    for (size_t i = 0; r == 0 && i < n; i++) {
        const size_t begin = i * piece_bytes;
        const struct vrt_still_part piece = { icc->data + begin,
                                              VRT_MIN(icc->size - begin, piece_bytes) };
        head[12] = (uint8_t)(i + 1);
        head[13] = (uint8_t)n;
        r = append_segment(out, 0xe2, &(struct vrt_still_part){ head, sizeof(head) }, &piece);
    }
    return r;
}

/* Whether the file has such a profile already: later versions of FFmpeg's encoder write it. */
static bool has_jpeg_profile(const struct vrt_still_part *picture)
{
    size_t offset = 2;

    while (offset + 16 <= picture->size && picture->data[offset] == 0xff &&
           picture->data[offset + 1] != 0xda) {
        if (picture->data[offset + 1] == 0xe2 &&
            memcmp(picture->data + offset + 4, "ICC_PROFILE", 12) == 0)
            return true;
        offset += 2 + (size_t)AV_RB16(picture->data + offset + 2);
    }
    return false;
}

/* Behind JFIF's own segment, which wants to be the first. */
static int embed_jpeg(const struct vrt_still_parts *parts, struct vrt_buf *out)
{
    static const struct vrt_still_part exif_head = { (const uint8_t *)"Exif\0", 6 };
    const struct vrt_still_part *picture = &parts->picture;
    size_t head_bytes = 2;

    if (picture->size < 20 || picture->data[0] != 0xff || picture->data[1] != 0xd8)
        return vrt_raise(-EBADMSG);
    if (picture->data[2] == 0xff && picture->data[3] == 0xe0)
        head_bytes += 2 + (size_t)AV_RB16(picture->data + 4);
    if (head_bytes > picture->size)
        return vrt_raise(-EBADMSG);
    int r = vrt_buf_append(out, picture->data, head_bytes);
    if (r == 0 && parts->exif.size)
        r = append_segment(out, 0xe1, &exif_head, &parts->exif);
    if (r == 0 && parts->icc.size && !has_jpeg_profile(picture))
        r = append_jpeg_profile(out, &parts->icc);
    return r == 0 ? vrt_buf_append(out, picture->data + head_bytes, picture->size - head_bytes) : r;
}

static int append_riff(struct vrt_buf *out, const char *kind, const struct vrt_still_part *part)
{
    uint8_t head[8];

    memcpy(head, kind, 4);
    AV_WL32(head + 4, part->size);
    int r = vrt_buf_append(out, head, sizeof(head));
    if (r == 0)
        r = append(out, part);
    return r == 0 && part->size & 1 ? vrt_buf_append(out, "", 1) : r;
}

/* The chunk that says what others there are, which the plain form of a file goes without. */
static int append_vp8x(struct vrt_buf *out, const struct vrt_still_parts *parts)
{
    uint8_t bytes[VP8X_BYTES] = { 0 };
    const uint8_t *first = parts->picture.data + WEBP_HEAD_BYTES;
    const bool has_alpha = memcmp(first, "VP8L", 4) == 0 && first[12] & 0x10;

    bytes[0] = (uint8_t)((parts->icc.size ? VP8X_HAS_PROFILE : 0) |
                         (parts->exif.size ? VP8X_HAS_EXIF : 0) |
                         (has_alpha ? VP8X_HAS_ALPHA : 0));
    AV_WL24(bytes + 4, parts->width - 1);
    AV_WL24(bytes + 7, parts->height - 1);
    return append_riff(out, "VP8X", &(struct vrt_still_part){ bytes, sizeof(bytes) });
}

static int embed_webp(const struct vrt_still_parts *parts, struct vrt_buf *out)
{
    const struct vrt_still_part *picture = &parts->picture;
    const struct vrt_still_part head = { picture->data, WEBP_HEAD_BYTES };
    const struct vrt_still_part rest = { picture->data + WEBP_HEAD_BYTES,
                                         picture->size - WEBP_HEAD_BYTES };

    /* In the plain form, as the encoder writes it, there is the picture and nothing else. */
    if (picture->size < WEBP_HEAD_BYTES + 16 ||
        (memcmp(rest.data, "VP8 ", 4) != 0 && memcmp(rest.data, "VP8L", 4) != 0))
        return vrt_raise(-EBADMSG);
    int r = append(out, &head);
    if (r < 0)
        return vrt_fold(r);
    r = append_vp8x(out, parts);
    if (r < 0)
        return vrt_fold(r);
    r = parts->icc.size ? append_riff(out, "ICCP", &parts->icc) : 0;
    if (r < 0)
        return vrt_fold(r);
    r = append(out, &rest);
    if (r < 0)
        return vrt_fold(r);
    r = parts->exif.size ? append_riff(out, "EXIF", &parts->exif) : 0;
    if (r < 0)
        return vrt_fold(r);
    AV_WL32(out->data + 4, out->size_bytes - 8);
    return 0;
}

int vrt_still_embed(enum vrt_container container, const struct vrt_still_parts *parts,
                    struct vrt_buf *out)
{
    static int (*const embed[VRT_CONTAINER_COUNT])(const struct vrt_still_parts *parts,
                                                   struct vrt_buf *out) = {
        [VRT_CONTAINER_PNG] = embed_png,
        [VRT_CONTAINER_JPG] = embed_jpeg,
        [VRT_CONTAINER_TIFF] = vrt_still_embed_tiff,
        [VRT_CONTAINER_WEBP] = embed_webp,
    };

    if (!parts->exif.size && !parts->icc.size)
        return append(out, &parts->picture);
    if (!embed[container])
        return vrt_raise(-EMSGSIZE);
    return vrt_fold(embed[container](parts, out));
}
