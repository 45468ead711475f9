/* SPDX-License-Identifier: MIT */

#include "base/text/utf8.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether the sequence at `s` is longer than it need be, a surrogate, or above U+10FFFF. */
static bool is_excluded(const unsigned char *s)
{
    switch (s[0]) {
    case 0xe0: return s[1] < 0xa0;
    case 0xed: return s[1] > 0x9f;
    case 0xf0: return s[1] < 0x90;
    case 0xf4: return s[1] > 0x8f;
    default: return s[0] == 0xc0 || s[0] == 0xc1 || s[0] > 0xf4;
    }
}

int vrt_utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    static const struct {
        unsigned char mask, lead;
        int length;
    } forms[] = {
        { 0x80, 0x00, 1 }, { 0xe0, 0xc0, 2 }, { 0xf0, 0xe0, 3 }, { 0xf8, 0xf0, 4 },
    };

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if ((s[0] & forms[i].mask) != forms[i].lead)
            continue;
        for (int k = 1; k < forms[i].length; k++)
            if ((s[k] & 0xc0) != 0x80)
                return 0;
        return is_excluded(s) ? 0 : forms[i].length;
    }
    return 0;
}
