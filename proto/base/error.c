/* SPDX-License-Identifier: MIT */

#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text/utf8.h"

#define VRT_LOG_TOPIC "error"

int vrt_error_raise(int r, const char *file, int line, const char *func)
{
    vrt_log_line(VRT_LOG_DEBUG, VRT_LOG_TOPIC, file, line, func, "raised %d (%s) in %s, %s:%d", r,
                 strerror(r < 0 ? -r : r), func, file, line);
    return r;
}

int vrt_error_fold(int r, const char *file, int line, const char *func)
{
    if (r != 0)
        vrt_log_line(VRT_LOG_DEBUG, VRT_LOG_TOPIC, file, line, func,
                     "  passed %d through %s, %s:%d", r, func, file, line);
    return r;
}

int vrt_refuse(struct vrt_error *error, int r, const char *id, const char *format, ...)
{
    va_list args;

    vrt_assert(r);
    if (!error || error->message[0])
        return r;
    error->id = id;
    va_start(args, format);
    vsnprintf(error->message, sizeof(error->message), format, args);
    va_end(args);
    return r;
}

bool vrt_error_is(const struct vrt_error *error, const char *id)
{
    return error->id && strcmp(error->id, id) == 0;
}

int vrt_refuse_errno(struct vrt_error *error, int r, const char *what)
{
    const char *id = r == -ENOMEM ? "out_of_memory" : "internal";

    if (r == -EMFILE || r == -ENFILE)
        return vrt_refuse(error, r, "out_of_descriptors", "%s: as many files are open as may be: "
                          "try again when some jobs are done, or raise LimitNOFILE", what);
    return vrt_refuse(error, r, id, "%s: %s", what, strerror(-r));
}

void vrt_error_set_field(struct vrt_error *error, const char *field)
{
    if (error)
        snprintf(error->field, sizeof(error->field), "%s", field);
}

const char *vrt_printable(const char *text, char *buffer, int size)
{
    const unsigned char *s = (const unsigned char *)text;
    int n = 0;

    while (*s) {
        int length = vrt_utf8_length((const char *)s);
        bool control = *s < 0x20 || *s == 0x7f || (*s == 0xc2 && s[1] < 0xa0);
        int step = length ? length : 1;
        int width = control || !length ? 1 : length;
        if (n + width + 4 > size) {
            memcpy(buffer + n, "...", 3);
            n += 3;
            break;
        }
        if (control || !length)
            buffer[n] = '?';
        else
            memcpy(buffer + n, s, (size_t)length);
        n += width;
        s += step;
    }
    buffer[n] = '\0';
    return buffer;
}

void vrt_assert_failed(const char *condition, const char *file, int line)
{
    vrt_log_error("internal error: %s does not hold at %s:%d", condition, file, line);
    abort();
}
