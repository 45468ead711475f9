/* SPDX-License-Identifier: MIT */

/*
 * A TIFF file is held together by offsets: nothing in it is moved. The list of entries is copied to
 * the end with ours among them, sorted by their tags as readers expect it.
 */

#include <errno.h>
#include <libavutil/intreadwrite.h>
#include <string.h>

#include "base/error.h"
#include "frames/still/embed.h"
#include "frames/still/exif.h"

#define ENTRY_BYTES 12
#define ENTRIES_MAX 64              /* more than FFmpeg's encoder writes */

#define TAG_ORIENTATION 0x112
#define TAG_PROFILE 0x8773
#define TYPE_SHORT 3
#define TYPE_UNDEFINED 7

struct entries {
    uint8_t bytes[ENTRIES_MAX + 2][ENTRY_BYTES];
    size_t n;
};

/* The first list of the file. Return: 0; -EBADMSG. */
static int read_entries(const struct vrt_still_part *file, struct entries *entries)
{
    const size_t offset = file->size >= 8 && memcmp(file->data, "II*\0", 4) == 0 ?
                          AV_RL32(file->data + 4) : file->size;

    if (offset + 2 > file->size)
        return vrt_raise(-EBADMSG);
    const size_t n = AV_RL16(file->data + offset);
    if (n > ENTRIES_MAX || offset + 2 + n * ENTRY_BYTES + 4 > file->size)
        return vrt_raise(-EBADMSG);
    memcpy(entries->bytes, file->data + offset + 2, n * ENTRY_BYTES);
    entries->n = n;
    return 0;
}

/* Puts an entry where its tag belongs, unless there is one. */
static void add_entry(struct entries *entries, unsigned int tag, unsigned int type,
                      uint32_t count, uint32_t value)
{
    size_t i = 0;

    while (i < entries->n && AV_RL16(entries->bytes[i]) < tag)
        i++;
    if (i < entries->n && AV_RL16(entries->bytes[i]) == tag)
        return;
    memmove(entries->bytes[i + 1], entries->bytes[i], (entries->n - i) * ENTRY_BYTES);
    AV_WL16(entries->bytes[i], tag);
    AV_WL16(entries->bytes[i] + 2, type);
    AV_WL32(entries->bytes[i] + 4, count);
    AV_WL32(entries->bytes[i] + 8, value);
    entries->n++;
}

/* What stands at an offset stands at an even one. */
static int append_even(struct vrt_buf *out, const void *bytes, size_t size)
{
    int r = out->size_bytes & 1 ? vrt_buf_append(out, "", 1) : 0;

    return r == 0 ? vrt_buf_append(out, bytes, size) : r;
}

static int append_entries(struct vrt_buf *out, const struct entries *entries)
{
    static const uint8_t no_more[4] = { 0 };
    uint8_t count[2];

    AV_WL16(count, entries->n);
    int r = append_even(out, count, sizeof(count));
    if (r < 0)
        return vrt_fold(r);
    const size_t offset = out->size_bytes - sizeof(count);
    r = vrt_buf_append(out, entries->bytes, entries->n * ENTRY_BYTES);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_buf_append(out, no_more, sizeof(no_more));
    if (r < 0)
        return vrt_fold(r);
    AV_WL32(out->data + 4, offset);
    return 0;
}

int vrt_still_embed_tiff(const struct vrt_still_parts *parts, struct vrt_buf *out)
{
    const int orientation = vrt_exif_orientation(parts->exif.data, parts->exif.size);
    struct entries entries = { .n = 0 };
    int r = read_entries(&parts->picture, &entries);

    if (r < 0)
        return vrt_fold(r);
    r = vrt_buf_append(out, parts->picture.data, parts->picture.size);
    if (r < 0)
        return vrt_fold(r);
    r = parts->icc.size ? append_even(out, parts->icc.data, parts->icc.size) : 0;
    if (r < 0)
        return vrt_fold(r);
    if (parts->icc.size)
        add_entry(&entries, TAG_PROFILE, TYPE_UNDEFINED, (uint32_t)parts->icc.size,
                  (uint32_t)(out->size_bytes - parts->icc.size));
    if (orientation != VRT_EXIF_UPRIGHT)
        add_entry(&entries, TAG_ORIENTATION, TYPE_SHORT, 1, (uint32_t)orientation);
    return vrt_fold(append_entries(out, &entries));
}
