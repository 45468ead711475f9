/* SPDX-License-Identifier: MIT */

/* FFmpeg's muxers compare each chapter with all others, and its lists of tags each tag. */

#include "frames/join/join-caps.h"

#include <libavutil/mem.h>
#include <string.h>

#include "frames/decode/source.h"

#define CHAPTERS_MAX 10000              /* an audio book has hundreds */
#define TAGS_MAX 1000                   /* of one thing: file, stream or chapter */
#define TAG_BYTES_MAX (16 << 20)        /* of all together */
#define ATTACHED_BYTES_MAX (1LL << 30)  /* likewise: 40 fonts with all of Chinese have half */
#define EVENTS_MAX 1000000              /* of a stream: karaoke of a long film has 100,000 */
#define EVENT_BYTES_MAX (1LL << 30)     /* likewise: pictures of text have 100 MB */

static void trim_chapters(AVFormatContext *format, struct vrt_warnings *warnings)
{
    if (format->nb_chapters <= CHAPTERS_MAX)
        return;
    vrt_warnings_add(warnings, "the first %d chapters are kept, and the other %u left out: no more "
                     "are carried over", CHAPTERS_MAX, format->nb_chapters - CHAPTERS_MAX);
    while (format->nb_chapters > CHAPTERS_MAX) {
        AVChapter **last = &format->chapters[--format->nb_chapters];
        av_dict_free(&(*last)->metadata);
        av_freep(last);
    }
}

/* All tags of a thing, or none. Return: how many were left out. */
static int trim(AVDictionary **tags, int64_t *bytes)
{
    const AVDictionaryEntry *tag = NULL;
    const int n = av_dict_count(*tags);

    while ((tag = av_dict_get(*tags, "", tag, AV_DICT_IGNORE_SUFFIX)))
        *bytes += (int64_t)(strlen(tag->key) + strlen(tag->value));
    if (n <= TAGS_MAX && *bytes <= TAG_BYTES_MAX)
        return 0;
    av_dict_free(tags);
    return n;
}

static void trim_tags(AVFormatContext *format, struct vrt_warnings *warnings)
{
    int64_t bytes = 0;
    int n = trim(&format->metadata, &bytes);

    for (unsigned int i = 0; i < format->nb_streams; i++)
        n += trim(&format->streams[i]->metadata, &bytes);
    for (unsigned int i = 0; i < format->nb_chapters; i++)
        n += trim(&format->chapters[i]->metadata, &bytes);
    if (n > 0)
        vrt_warnings_add(warnings, "%d tags are left out: no more than %d of one thing, and %d MiB "
                         "in all, are carried over", n, TAGS_MAX, TAG_BYTES_MAX >> 20);
}

/* libavformat reads no more, and says so to nobody. */
static void warn_of_streams(const AVFormatContext *format, struct vrt_warnings *warnings)
{
    if (format->nb_streams >= (unsigned int)format->max_streams)
        vrt_warnings_add(warnings, "no more than %d streams and attached files are carried over: "
                         "if there are others, they are left out", format->max_streams);
}

void vrt_join_caps_trim(struct vrt_source *source, struct vrt_warnings *warnings)
{
    warn_of_streams(source->format, warnings);
    trim_chapters(source->format, warnings);
    trim_tags(source->format, warnings);
}

bool vrt_join_caps_attaches(const struct vrt_join_stream *stream, int64_t *attached_bytes,
                            struct vrt_warnings *warnings)
{
    const AVStream *in = stream->in;

    if (in->codecpar->codec_type == AVMEDIA_TYPE_ATTACHMENT)
        *attached_bytes += in->codecpar->extradata_size;
    else if (stream->kind == VRT_JOIN_COVER || stream->kind == VRT_JOIN_ATTACHED)
        *attached_bytes += in->attached_pic.size;
    else
        return true;
    if (*attached_bytes <= ATTACHED_BYTES_MAX)
        return true;
    vrt_warnings_add(warnings, "attached file %d is left out: no more than %d MiB of them are "
                     "carried over", in->index, (int)(ATTACHED_BYTES_MAX >> 20));
    return false;
}

bool vrt_join_caps_shows(struct vrt_join_stream *stream, const AVPacket *packet)
{
    if (stream->in->codecpar->codec_type != AVMEDIA_TYPE_SUBTITLE)
        return true;
    stream->n_events++;
    stream->event_bytes += packet->size;
    return stream->n_events <= EVENTS_MAX && stream->event_bytes <= EVENT_BYTES_MAX;
}

void vrt_join_caps_warn(const struct vrt_join_stream *stream, struct vrt_warnings *warnings)
{
    if (stream->n_events > EVENTS_MAX || stream->event_bytes > EVENT_BYTES_MAX)
        vrt_warnings_add(warnings, "subtitle stream %d ends before it is over: no more than %d "
                         "lines, or %d MiB, of one are carried over", stream->in->index, EVENTS_MAX,
                         (int)(EVENT_BYTES_MAX >> 20));
}
