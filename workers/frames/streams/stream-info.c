/* SPDX-License-Identifier: MIT */

#include "frames/streams/stream-info.h"

#include <stdio.h>

#include "base/error.h"
#include "base/macro.h"

/* Those that say something to users, of FFmpeg's. */
static const struct {
    int flag;
    const char *word;
} dispositions[] = {
    { AV_DISPOSITION_DEFAULT, "default" },
    { AV_DISPOSITION_FORCED, "forced" },
    { AV_DISPOSITION_ATTACHED_PIC, "attached_pic" },
    { AV_DISPOSITION_HEARING_IMPAIRED, "hearing_impaired" },
    { AV_DISPOSITION_VISUAL_IMPAIRED, "visual_impaired" },
    { AV_DISPOSITION_COMMENT, "comment" },
    { AV_DISPOSITION_LYRICS, "lyrics" },
    { AV_DISPOSITION_KARAOKE, "karaoke" },
    { AV_DISPOSITION_DUB, "dub" },
    { AV_DISPOSITION_ORIGINAL, "original" },
    { AV_DISPOSITION_CAPTIONS, "captions" },
    { AV_DISPOSITION_DESCRIPTIONS, "descriptions" },
    { AV_DISPOSITION_METADATA, "metadata" },
};

static enum vrt_stream_kind kind_of(enum AVMediaType type)
{
    switch (type) {
    case AVMEDIA_TYPE_VIDEO:        return VRT_STREAM_VIDEO;
    case AVMEDIA_TYPE_AUDIO:        return VRT_STREAM_AUDIO;
    case AVMEDIA_TYPE_SUBTITLE:     return VRT_STREAM_SUBTITLES;
    case AVMEDIA_TYPE_ATTACHMENT:   return VRT_STREAM_ATTACHMENT;
    default:                        return VRT_STREAM_DATA;
    }
}

static void copy_tag(const AVStream *in, const char *key, char *text, size_t size)
{
    const AVDictionaryEntry *tag = av_dict_get(in->metadata, key, NULL, 0);

    if (tag)
        vrt_printable(tag->value, text, (int)size);
}

static void copy_dispositions(const AVStream *in, char *text, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(dispositions) && n < size; i++)
        if (in->disposition & dispositions[i].flag)
            n += (size_t)snprintf(text + n, size - n, "%s%s", n ? "," : "", dispositions[i].word);
}

void vrt_stream_info_fill(const AVStream *in, enum vrt_stream_fate fate,
                          struct vrt_stream_info *ret_info)
{
    const AVCodecParameters *par = in->codecpar;
    struct vrt_stream_info info = {
        .kind = (int32_t)kind_of(par->codec_type),
        .fate = (int32_t)fate,
        .bitrate = VRT_MAX(par->bit_rate, 0),
        .fps_den = 1,
    };

    if (info.kind == VRT_STREAM_VIDEO) {
        info.width = VRT_MAX(par->width, 0);
        info.height = VRT_MAX(par->height, 0);
    }
    if (info.kind == VRT_STREAM_VIDEO && in->avg_frame_rate.num > 0 &&
        in->avg_frame_rate.den > 0) {
        info.fps_num = in->avg_frame_rate.num;
        info.fps_den = in->avg_frame_rate.den;
    }
    if (info.kind == VRT_STREAM_AUDIO) {
        info.sample_rate = VRT_MAX(par->sample_rate, 0);
        info.channels = VRT_MAX(par->ch_layout.nb_channels, 0);
    }
    snprintf(info.codec, sizeof(info.codec), "%s", avcodec_get_name(par->codec_id));
    copy_tag(in, "language", info.language, sizeof(info.language));
    copy_tag(in, "title", info.title, sizeof(info.title));
    copy_dispositions(in, info.disposition, sizeof(info.disposition));
    *ret_info = info;
}
