/* SPDX-License-Identifier: MIT */
#pragma once

/* Text from a file: bytes with a length, of no trusted encoding, not ended by a NUL. */

#include <stdbool.h>
#include <stddef.h>

struct vrt_text {
    const char *data;
    size_t size_bytes;
};

/* Room for a text in a message. */
struct vrt_text_shown {
    char text[100];
};

/* Whether the text is these characters. */
bool vrt_text_is(struct vrt_text text, const char *wanted);

/* Whether the text begins with these characters. */
bool vrt_text_begins(struct vrt_text text, const char *wanted);

/* As memcmp(): the order of bytes, the shorter first. */
int vrt_text_compare(struct vrt_text a, struct vrt_text b);

/* Whether it is well-formed UTF-8 (RFC 3629). */
bool vrt_text_is_utf8(struct vrt_text text);

/* Whether it is well-formed UTF-8 without control characters. */
bool vrt_text_is_clean(struct vrt_text text);

/* The text as a message may show it, in *shown: vrt_printable(), cut where long. */
const char *vrt_text_show(struct vrt_text text, struct vrt_text_shown *shown);
