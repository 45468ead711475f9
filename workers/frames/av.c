/* SPDX-License-Identifier: MIT */

/* FFmpeg's errors become -errno, its log becomes ours, and what it logs about damage is counted. */

#include "frames/av.h"

#include <errno.h>
#include <libavutil/error.h>
#include <libavutil/log.h>
#include <libavutil/mathematics.h>
#include <libavutil/mem.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"

#define VRT_LOG_TOPIC "ffmpeg"

static _Thread_local char last_error[160];

const char *vrt_av_last_error(void)
{
    return last_error;
}

/* Where errors on `object` are counted, or NULL: see vrt_av_log_install(). */
static atomic_int *error_count(void *object, const AVClass *class)
{
    if (class == avcodec_get_class())
        return ((AVCodecContext *)object)->opaque;
    if (class == avformat_get_class())
        return ((AVFormatContext *)object)->opaque;
    return NULL;
}

/* Encoders leave out what they don't understand of the options in a library's own syntax, and tell
 * it as a warning. */
static bool is_left_out(const char *format)
{
    static const char *const beginnings[] = {
        "Error parsing option", "Unknown option: %s", "Invalid value for %s: %s",
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(beginnings); i++)
        if (strncmp(format, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

/* May run on any thread of FFmpeg's. */
static void log_line(void *object, int level, const char *format, va_list args)
{
    const AVClass *class = object ? *(const AVClass **)object : NULL;
    atomic_int *n_errors = class ? error_count(object, class) : NULL;
    char line[512];

    /* What the decoders' shared concealment did, it reports as mere information. */
    if (n_errors && (level <= AV_LOG_ERROR || strncmp(format, "concealing ", 11) == 0 ||
                     is_left_out(format)))
        atomic_fetch_add(n_errors, 1);
    const bool is_shown = level <= AV_LOG_ERROR || vrt_log_enabled(VRT_LOG_DEBUG, VRT_LOG_TOPIC);
    if (level > AV_LOG_VERBOSE || !is_shown)
        return;
    vsnprintf(line, sizeof(line), format, args);
    line[strcspn(line, "\n")] = '\0';
    if (line[0] && level <= AV_LOG_ERROR)
        snprintf(last_error, sizeof(last_error), "%.*s", (int)sizeof(last_error) - 1, line);
    if (line[0])
        vrt_log_debug("%s: %s", class ? class->item_name(object) : "-", line);
}

void vrt_av_log_install(void)
{
    av_log_set_callback(log_line);
}

int vrt_av_errno(int averror)
{
    static const struct {
        int averror, r;
    } known[] = {
        { AVERROR_INVALIDDATA, -EBADMSG },
        { AVERROR_EOF, -ENODATA },
        { AVERROR_EXIT, -ECANCELED },
        { AVERROR_PATCHWELCOME, -ENOTSUP },
        { AVERROR_DECODER_NOT_FOUND, -ENOSYS },
        { AVERROR_DEMUXER_NOT_FOUND, -ENOSYS },
        { AVERROR_ENCODER_NOT_FOUND, -ENOSYS },
        { AVERROR_STREAM_NOT_FOUND, -ENOENT },
        { AVERROR_OPTION_NOT_FOUND, -EINVAL },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(known); i++)
        if (averror == known[i].averror)
            return known[i].r;
    /* FFmpeg's own codes are four letters, far below every -errno. */
    return averror < 0 && averror > -4096 ? averror : -EIO;
}

int64_t vrt_av_ns(int64_t ticks, AVRational time_base)
{
    return av_rescale_q(ticks, time_base, (AVRational){ 1, VRT_NS_PER_S });
}

AVIOContext *vrt_av_io_free(AVIOContext *io)
{
    if (!io)
        return NULL;
    av_freep(&io->buffer);
    avio_context_free(&io);
    return NULL;
}
