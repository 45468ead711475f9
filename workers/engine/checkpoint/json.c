/* SPDX-License-Identifier: MIT */

#include "engine/checkpoint/json.h"

#include <string.h>

#include "base/macro.h"

static void skip_space(struct vrt_json *json)
{
    while (json->at < json->end && memchr(" \t\r\n", *json->at, 4))
        json->at++;
}

bool vrt_json_take(struct vrt_json *json, char c)
{
    skip_space(json);
    if (json->at == json->end || *json->at != c)
        return false;
    json->at++;
    return true;
}

bool vrt_json_is_done(struct vrt_json *json)
{
    skip_space(json);
    return json->at == json->end;
}

bool vrt_json_size(struct vrt_json *json, int64_t *ret_size)
{
    int64_t value = 0;

    skip_space(json);

    const char *begin = json->at;
    while (json->at < json->end && *json->at >= '0' && *json->at <= '9') {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *json->at - '0', &value))
            return false;
        json->at++;
    }
    if (json->at == begin || (*begin == '0' && json->at - begin > 1))
        return false;
    if (json->at < json->end && memchr(".eE", *json->at, 3))
        return false;
    *ret_size = value;
    return true;
}

/* Four hexadecimal digits. Within a text its closing quote, which is there, is the end. */
static bool take_unit(struct vrt_json *json, uint32_t *ret_unit)
{
    static const char digits[] = "0123456789abcdef";
    uint32_t unit = 0;

    for (int i = 0; i < 4; i++) {
        char c = *json->at++;
        const char *digit = memchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c, 16);

        if (!digit)
            return false;
        unit = unit << 4 | (uint32_t)(digit - digits);
    }
    *ret_unit = unit;
    return true;
}

/* Writes the character as UTF-8, in at most 4 bytes. Returns where it ends. */
static char *put_utf8(char *to, uint32_t code)
{
    static const struct {
        uint32_t limit;
        uint8_t lead;
    } forms[] = { { 0x80, 0 }, { 0x800, 0xc0 }, { 0x10000, 0xe0 }, { 0x110000, 0xf0 } };
    int n_more = 0;             /* bytes after the first, of 6 bits each */

    while (code >= forms[n_more].limit)
        n_more++;
    *to++ = (char)(forms[n_more].lead | code >> 6 * n_more);
    while (n_more--)
        *to++ = (char)(0x80 | (code >> 6 * n_more & 0x3f));
    return to;
}

/* What follows "\u", as UTF-8 to *to. A NUL and half a surrogate pair are no characters. */
static bool take_code_point(struct vrt_json *json, char **to)
{
    uint32_t code, low;

    if (!take_unit(json, &code) || code == 0 || (code >= 0xdc00 && code < 0xe000))
        return false;
    if (code >= 0xd800 && code < 0xdc00) {
        if (*json->at++ != '\\' || *json->at++ != 'u' ||
            !take_unit(json, &low) || low < 0xdc00 || low >= 0xe000)
            return false;
        code = 0x10000 + ((code - 0xd800) << 10 | (low - 0xdc00));
    }
    *to = put_utf8(*to, code);
    return true;
}

/* What follows a backslash, decoded to *to. */
static bool take_escape(struct vrt_json *json, char **to)
{
    static const char from[] = "\"\\/bfnrt", plain[] = "\"\\/\b\f\n\r\t";
    const char c = *json->at++;
    const char *found;

    if (c == 'u')
        return take_code_point(json, to);
    found = memchr(from, c, sizeof(from) - 1);
    if (!found)
        return false;
    *(*to)++ = plain[found - from];
    return true;
}

bool vrt_json_string(struct vrt_json *json, struct vrt_text *ret_text)
{
    const char *quote;
    char *text, *to;

    if (!vrt_json_take(json, '"'))
        return false;

    /* No escape is shorter than what it stands for: this much is room enough. */
    for (quote = json->at; quote < json->end && *quote != '"'; quote++)
        if (*quote == '\\' && ++quote == json->end)
            break;
    if (quote == json->end)
        return false;
    text = to = vrt_cp_arena_alloc(json->arena, (size_t)(quote - json->at) + 1, 1);
    if (!text)
        return false;
    while (*json->at != '"') {
        char c = *json->at++;

        if ((unsigned char)c < 0x20)
            return false;
        if (c != '\\')
            *to++ = c;
        else if (!take_escape(json, &to))
            return false;
    }
    json->at++;
    *to = '\0';
    *ret_text = (struct vrt_text){ text, (size_t)(to - text) };
    return vrt_text_is_utf8(*ret_text);
}
