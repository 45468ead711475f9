/* SPDX-License-Identifier: MIT */

#include "daemon/log/format.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"
#include "fields.h"

/* What follows a text has room in any case. */
#define RESERVED_BYTES 16

struct out {
    char *to;
    size_t n;
};

/* Appends what fits. */
static __attribute__((format(printf, 2, 3))) void put(struct out *out, const char *format, ...)
{
    const size_t room = VRT_LOG_BYTES_MAX - out->n;
    va_list args;

    va_start(args, format);
    int n = vsnprintf(out->to + out->n, room, format, args);
    va_end(args);
    if (n > 0)
        out->n += (size_t)n < room ? (size_t)n : room - 1;
}

/* A JSON string with its quotes. Bytes that aren't UTF-8 become U+FFFD. */
static void put_string(struct out *out, const char *text)
{
    put(out, "\"");
    for (const char *p = text; *p && out->n < VRT_LOG_BYTES_MAX - RESERVED_BYTES;) {
        const int length = vrt_utf8_length(p);
        if (*p == '"' || *p == '\\')
            put(out, "\\%c", *p);
        else if (*p == '\n')
            put(out, "\\n");
        else if (length == 1 && ((unsigned char)*p < 0x20 || *p == 0x7f))
            put(out, "\\u%04x", (unsigned char)*p);
        else if (length)
            put(out, "%.*s", length, p);
        else
            put(out, "\\ufffd");
        p += length ? length : 1;
    }
    put(out, "\"");
}

size_t vrt_log_print_json(const struct vrt_log_record *record, char buffer[VRT_LOG_BYTES_MAX])
{
    struct out out = { buffer, 0 };
    char time[40];

    vrt_time_print(record->wall_ns, time, sizeof(time));
    put(&out, "{\"time\":\"%s\",\"level\":\"%s\",\"topic\":", time,
        vrt_log_level_names[record->level]);
    put_string(&out, record->topic);
    if (record->job)
        put(&out, ",\"job\":%" PRId64, record->job);
    if (record->device[0]) {
        put(&out, ",\"device\":");
        put_string(&out, record->device);
    }
    if (record->uid >= 0)
        put(&out, ",\"user\":%" PRId64, record->uid);
    put(&out, ",\"file\":");
    put_string(&out, record->file);
    put(&out, ",\"line\":%d,\"function\":", record->line);
    put_string(&out, record->function);
    put(&out, ",\"message\":");
    put_string(&out, record->text);
    put(&out, "}\n");
    return out.n;
}

/* A field of any bytes: the length goes before it, in 8 bytes, the lowest first. */
static void put_field(struct out *out, const char *name, const char *prefix, const char *value)
{
    const size_t size = strlen(prefix) + strlen(value);

    if (strlen(name) + size + 16 > VRT_LOG_BYTES_MAX - out->n)
        return;
    put(out, "%s\n", name);
    for (int i = 0; i < 8; i++)
        out->to[out->n++] = (char)(unsigned char)((uint64_t)size >> (8 * i));
    put(out, "%s%s\n", prefix, value);
}

size_t vrt_log_print_journal(const struct vrt_log_record *record, char buffer[VRT_LOG_BYTES_MAX])
{
    struct out out = { buffer, 0 };
    char topic[64];

    snprintf(topic, sizeof(topic), "%s: ", record->topic);
    put(&out, "PRIORITY=%c\nSYSLOG_IDENTIFIER=vrtd\nCODE_LINE=%d\n",
        vrt_log_priorities[record->level], record->line);
    if (record->job)
        put(&out, "VRTD_JOB=%" PRId64 "\n", record->job);
    if (record->uid >= 0)
        put(&out, "VRTD_USER=%" PRId64 "\n", record->uid);
    if (record->device[0])
        put_field(&out, "VRTD_DEVICE", "", record->device);
    put_field(&out, "VRTD_TOPIC", "", record->topic);
    put_field(&out, "CODE_FILE", "", record->file);
    put_field(&out, "CODE_FUNC", "", record->function);
    put_field(&out, "MESSAGE", topic, record->text);
    return out.n;
}
