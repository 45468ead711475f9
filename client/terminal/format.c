/* SPDX-License-Identifier: MIT */
/*
 * Numbers are rounded so that they read calmly: two or three digits, never more precise than what
 * was measured. Widths of characters come from a table of ours rather than from wcwidth(), which
 * knows nothing beyond ASCII where the locale isn't set.
 */

#include "client/terminal/format.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/macro.h"

const char *vrt_format_bytes(int64_t bytes, char *buffer, size_t size)
{
    static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    double value = (double)bytes / 1024;
    size_t i = 0;

    if (bytes < 0) {
        snprintf(buffer, size, "-");
    } else if (bytes < 1024) {
        snprintf(buffer, size, "%" PRId64 " B", bytes);
    } else {
        for (; value >= 1023.5 && i + 1 < VRT_ARRAY_SIZE(units); i++)
            value /= 1024;
        snprintf(buffer, size, value < 9.95 ? "%.1f %s" : "%.0f %s", value, units[i]);
    }
    return buffer;
}

const char *vrt_format_count(int64_t n, const char *noun, char *buffer, size_t size)
{
    if (n < 0)
        snprintf(buffer, size, "- %ss", noun);
    else
        snprintf(buffer, size, "%" PRId64 " %s%s", n, noun, n == 1 ? "" : "s");
    return buffer;
}

const char *vrt_format_duration(double seconds, char *buffer, size_t size)
{
    if (!(seconds >= 0) || seconds > 1e12) {
        snprintf(buffer, size, "-");
        return buffer;
    }
    int64_t s = (int64_t)(seconds + 0.5);
    int64_t days = s / 86400;
    int hours = (int)(s / 3600 % 24), minutes = (int)(s / 60 % 60), rest = (int)(s % 60);
    if (days)
        snprintf(buffer, size, "%" PRId64 " d %d:%02d:%02d", days, hours, minutes, rest);
    else if (hours)
        snprintf(buffer, size, "%d:%02d:%02d", hours, minutes, rest);
    else
        snprintf(buffer, size, "%d:%02d", minutes, rest);
    return buffer;
}

const char *vrt_format_part(double start_s, double duration_s, char *buffer, size_t size)
{
    char duration[32], start[32];

    vrt_format_duration(duration_s, duration, sizeof(duration));
    vrt_format_duration(start_s, start, sizeof(start));
    snprintf(buffer, size, "%s%s%s", duration, start_s > 0 ? " from " : "",
             start_s > 0 ? start : "");
    return buffer;
}

const char *vrt_format_ratio(int64_t num, int64_t den, char *buffer, size_t size)
{
    if (den > 1)
        snprintf(buffer, size, "%" PRId64 "/%" PRId64, num, den);
    else
        snprintf(buffer, size, "%" PRId64, num);
    return buffer;
}

const char *vrt_format_psnr(double psnr, char *buffer, size_t size)
{
    snprintf(buffer, size, isnan(psnr) ? "equal" : "%.2f dB", psnr);
    return buffer;
}

const char *vrt_format_rate(double rate, char *buffer, size_t size)
{
    if (!(rate >= 0) || isinf(rate))
        snprintf(buffer, size, "-");
    else
        snprintf(buffer, size, rate > 0 && rate < 0.0995 ? "%.3f" : rate > 0 && rate < 99.95 ?
                 "%.1f" : "%.0f", rate);
    return buffer;
}

const char *vrt_format_percent(double done, double total, char *buffer, size_t size)
{
    if (done < 0 || total <= 0)
        snprintf(buffer, size, "-");
    else
        snprintf(buffer, size, "%d%%",
                 done >= total ? 100 : VRT_MIN((int)(100 * done / total), 99));
    return buffer;
}

const char *vrt_format_path(const char *path, const char *name, const char *folder, char *buffer,
                            size_t size)
{
    const size_t n = strlen(folder);

    if (path[0] != '/')
        path = name;
    else if (n > 1 && strncmp(path, folder, n) == 0 && path[n] == '/')
        path += n + 1;
    return vrt_printable(path, buffer, (int)size);
}

const char *vrt_format_time(int64_t wall_ns, char *buffer, size_t size)
{
    time_t seconds = (time_t)(wall_ns / VRT_NS_PER_S);
    struct tm tm;

    if (wall_ns <= 0 || !localtime_r(&seconds, &tm) ||
        !strftime(buffer, size, "%Y-%m-%d %H:%M:%S", &tm))
        snprintf(buffer, size, "-");
    return buffer;
}

/* The character at `s`, and the bytes it takes; a byte that begins none is one by itself. */
static uint32_t next_character(const char *s, int *ret_length)
{
    static const unsigned char first_bits[] = { 0x7f, 0x1f, 0x0f, 0x07 };
    unsigned char lead = (unsigned char)*s;
    int length = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    uint32_t c = lead & first_bits[length - 1];

    for (int i = 1; i < length; i++) {
        if (((unsigned char)s[i] & 0xc0) != 0x80) {
            *ret_length = 1;
            return '?';
        }
        c = c << 6 | ((unsigned char)s[i] & 0x3f);
    }
    *ret_length = length;
    return c;
}

/* Columns of one character: marks that join the one before, and wide (East Asian, emoji) ones. */
static int character_width(uint32_t c)
{
    static const struct {
        uint32_t first, last;
        int width;
    } ranges[] = {
        { 0x0300, 0x036f, 0 }, { 0x0483, 0x0489, 0 }, { 0x0591, 0x05bd, 0 },
        { 0x064b, 0x065f, 0 }, { 0x1100, 0x115f, 2 }, { 0x1ab0, 0x1aff, 0 },
        { 0x1dc0, 0x1dff, 0 }, { 0x200b, 0x200f, 0 }, { 0x2028, 0x202e, 0 },
        { 0x20d0, 0x20ff, 0 }, { 0x2e80, 0x303e, 2 }, { 0x3041, 0xa4cf, 2 },
        { 0xac00, 0xd7a3, 2 }, { 0xf900, 0xfaff, 2 }, { 0xfe00, 0xfe0f, 0 },
        { 0xfe20, 0xfe2f, 0 }, { 0xfe30, 0xfe6f, 2 }, { 0xfeff, 0xfeff, 0 },
        { 0xff00, 0xff60, 2 }, { 0xffe0, 0xffe6, 2 }, { 0x1f300, 0x1f64f, 2 },
        { 0x1f680, 0x1f6ff, 2 }, { 0x1f900, 0x1faff, 2 }, { 0x20000, 0x3fffd, 2 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(ranges) && c >= ranges[i].first; i++)
        if (c <= ranges[i].last)
            return ranges[i].width;
    return 1;
}

int vrt_text_width(const char *text)
{
    int width = 0, length;

    for (; *text; text += length)
        width += character_width(next_character(text, &length));
    return width;
}

/* Bytes of `text` that fit into `columns` and `size` bytes. */
static size_t fitting_bytes(const char *text, int columns, size_t size)
{
    size_t n = 0;
    int length;

    while (text[n]) {
        columns -= character_width(next_character(text + n, &length));
        if (columns < 0 || n + (size_t)length > size)
            break;
        n += (size_t)length;
    }
    return n;
}

const char *vrt_text_cut(const char *text, int columns, char *buffer, size_t size)
{
    size_t n = fitting_bytes(text, columns, size - 1);
    const char *dots = "";

    if (text[n]) {
        dots = columns >= 3 && size > 3 ? "..." : "";
        size_t n_dots = strlen(dots);
        n = fitting_bytes(text, columns - (int)n_dots, size - 1 - n_dots);
    }
    memcpy(buffer, text, n);
    snprintf(buffer + n, size - n, "%s", dots);
    return buffer;
}

int vrt_text_wrap(const char *text, int column, int width, struct vrt_buf *buf)
{
    int r = 0, at = column;

    for (bool begins = true; r == 0 && *text; begins = false) {
        size_t n = strcspn(text, " ");
        VRT_CLEANUP(vrt_freep) char *word = strndup(text, n);
        if (!word)
            return vrt_raise(-ENOMEM);
        const int columns = vrt_text_width(word);
        if (width > 0 && !begins && at + 1 + columns > width) {
            r = vrt_buf_printf(buf, "\n%*s%s", column, "", word);
            at = column + columns;
        } else {
            r = vrt_buf_printf(buf, "%s%s", begins ? "" : " ", word);
            at += columns + !begins;
        }
        text += n + strspn(text + n, " ");
    }
    return r < 0 ? vrt_fold(r) : vrt_fold(vrt_buf_append(buf, "\n", 1));
}
