/* SPDX-License-Identifier: MIT */

#include "engine/checkpoint/text.h"

#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/macro.h"

bool vrt_text_is(struct vrt_text text, const char *wanted)
{
    return text.size_bytes == strlen(wanted) && vrt_text_begins(text, wanted);
}

bool vrt_text_begins(struct vrt_text text, const char *wanted)
{
    size_t size = strlen(wanted);

    return text.size_bytes >= size && memcmp(text.data, wanted, size) == 0;
}

int vrt_text_compare(struct vrt_text a, struct vrt_text b)
{
    size_t size = VRT_MIN(a.size_bytes, b.size_bytes);
    int order = size ? memcmp(a.data, b.data, size) : 0;

    return order ? order : (a.size_bytes > b.size_bytes) - (a.size_bytes < b.size_bytes);
}

/* The length of the well-formed sequence at the start of `size` bytes (at least 1), or 0. */
static size_t utf8_length(const uint8_t *s, size_t size)
{
    static const struct {
        uint8_t first, last;            /* of the lead byte */
        uint8_t length;
        uint8_t second_first, second_last;
    } forms[] = {
        { 0x00, 0x7f, 1, 0, 0 },          { 0xc2, 0xdf, 2, 0x80, 0xbf },
        { 0xe0, 0xe0, 3, 0xa0, 0xbf },    { 0xe1, 0xec, 3, 0x80, 0xbf },
        { 0xed, 0xed, 3, 0x80, 0x9f },    { 0xee, 0xef, 3, 0x80, 0xbf },
        { 0xf0, 0xf0, 4, 0x90, 0xbf },    { 0xf1, 0xf3, 4, 0x80, 0xbf },
        { 0xf4, 0xf4, 4, 0x80, 0x8f },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(forms); i++) {
        if (s[0] < forms[i].first || s[0] > forms[i].last)
            continue;
        if (forms[i].length == 1)
            return 1;
        if (forms[i].length > size || s[1] < forms[i].second_first || s[1] > forms[i].second_last)
            return 0;
        for (size_t k = 2; k < forms[i].length; k++)
            if ((s[k] & 0xc0) != 0x80)
                return 0;
        return forms[i].length;
    }
    return 0;
}

bool vrt_text_is_utf8(struct vrt_text text)
{
    size_t length;

    for (size_t at = 0; at < text.size_bytes; at += length) {
        length = utf8_length((const uint8_t *)text.data + at, text.size_bytes - at);
        if (!length)
            return false;
    }
    return true;
}

bool vrt_text_is_clean(struct vrt_text text)
{
    const uint8_t *s = (const uint8_t *)text.data;

    if (!vrt_text_is_utf8(text))
        return false;
    for (size_t i = 0; i < text.size_bytes; i++)
        if (s[i] < 0x20 || s[i] == 0x7f || (s[i] == 0xc2 && s[i + 1] < 0xa0))
            return false;
    return true;
}

const char *vrt_text_show(struct vrt_text text, struct vrt_text_shown *shown)
{
    char copy[2 * sizeof(shown->text)];
    size_t size = VRT_MIN(text.size_bytes, sizeof(copy) - 1);

    if (size)
        memcpy(copy, text.data, size);
    copy[size] = '\0';
    return vrt_printable(copy, shown->text, sizeof(shown->text));
}
