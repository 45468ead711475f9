/* SPDX-License-Identifier: MIT */

/* What matches is FFmpeg's to say: here the list is cut into its specifiers. */

#include "frames/streams/select.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Streams that a sentence has room for. */
#define LISTED_MAX 12

const char *vrt_select_list(const AVFormatContext *format, char *text, size_t size)
{
    size_t n = 0;
    char shown[32];

    text[0] = '\0';
    for (unsigned int i = 0; i < format->nb_streams && n < size; i++) {
        const AVStream *stream = format->streams[i];
        const char *type = av_get_media_type_string(stream->codecpar->codec_type);
        const AVDictionaryEntry *language = av_dict_get(stream->metadata, "language", NULL, 0);
        if (i == LISTED_MAX) {
            snprintf(text + n, size - n, " and %u more", format->nb_streams - LISTED_MAX);
            break;
        }
        n += (size_t)snprintf(text + n, size - n, "%s%u %s %s%s%s%s", i ? ", " : "", i,
                              type ? type : "unknown",
                              avcodec_get_name(stream->codecpar->codec_id), language ? " (" : "",
                              language ? vrt_printable(language->value, shown, sizeof(shown)) : "",
                              language ? ")" : "");
    }
    return text;
}

/* One specifier of a list. */
struct specifier {
    char *text;
    int number;
    bool takes_out, may_miss;
};

/* Without the signs that are ours: "-" before it, "?" behind it. */
static struct specifier strip(char *text, int number)
{
    struct specifier specifier = { .number = number, .takes_out = text[0] == '-' };
    const size_t length = strlen(text);

    if (length && text[length - 1] == '?') {
        specifier.may_miss = true;
        text[length - 1] = '\0';
    }
    specifier.text = text + specifier.takes_out;
    return specifier;
}

static int refuse_specifier(const char *text, struct vrt_error *error)
{
    char shown[64];

    return vrt_refuse(error, vrt_raise(-EINVAL), "input.streams", "\"%s\" is no stream specifier: "
                      "FFmpeg's are such as v:0 (the first video), a (all sound), "
                      "s:m:language:eng, 2 (by number), -s (no subtitles)",
                      vrt_printable(text, shown, sizeof(shown)));
}

/* Marks what it matches. Return: 0; -EINVAL, -ENOENT with a sentence. */
static int apply(AVFormatContext *format, const struct specifier *specifier, const char *name,
                 int *ranks, struct vrt_error *error)
{
    int n_matches = 0;
    char shown[64], there[320];

    if (!specifier->text[0])
        return refuse_specifier("", error);
    for (unsigned int i = 0; i < format->nb_streams; i++) {
        const int r = avformat_match_stream_specifier(format, format->streams[i], specifier->text);
        if (r < 0)
            return refuse_specifier(specifier->text, error);
        n_matches += r > 0;
        if (r > 0 && specifier->takes_out)
            ranks[i] = VRT_SELECT_NONE;
        else if (r > 0 && ranks[i] == VRT_SELECT_NONE)
            ranks[i] = specifier->number;
    }
    if (n_matches || specifier->takes_out || specifier->may_miss)
        return 0;
    return vrt_refuse(error, vrt_raise(-ENOENT), "input.streams", "%s has no stream that \"%s\" "
                      "matches: it has %s", name,
                      vrt_printable(specifier->text, shown, sizeof(shown)),
                      vrt_select_list(format, there, sizeof(there)));
}

int vrt_select(AVFormatContext *format, const char *specifiers, const char *name, int *ranks,
               struct vrt_error *error)
{
    const bool begins_with_all = !specifiers[0] || specifiers[0] == '-';
    VRT_CLEANUP(vrt_freep) char *copy = strdup(specifiers);
    char *rest = copy;
    int r = 0;

    if (!copy)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), name);
    for (unsigned int i = 0; i < format->nb_streams; i++)
        ranks[i] = begins_with_all ? 0 : VRT_SELECT_NONE;
    for (int number = 0; r == 0 && specifiers[0] && rest; number++) {
        const struct specifier specifier = strip(strsep(&rest, ","), number);
        r = apply(format, &specifier, name, ranks, error);
    }
    return vrt_fold(r);
}
