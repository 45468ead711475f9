/* SPDX-License-Identifier: MIT */

/*
 * Probing, refusing and demuxing. What FFmpeg cannot be trusted with (other files, playlists, a
 * wild guess at what noise might be) is decided here before it opens anything.
 */

#include "frames/decode/source.h"

#include <errno.h>
#include <libavutil/avstring.h>
#include <libavutil/mem.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macro.h"
#include "frames/av.h"
#include "frames/decode/extent.h"
#include "frames/decode/packets.h"
#include "frames/streams/select.h"

#define IO_BUFFER_BYTES (128 * 1024)  /* read at a time */
#define PROBE_BYTES (32LL * 1024 * 1024)    /* a late stream in a transport stream is found */
#define PROBE_US (10LL * 1000 * 1000)  /* of video, as bytes may be few in them */
#define MIN_PROBE_SCORE 10                  /* below, any noise is "perhaps an MP3" */
#define POLL_MS 100                         /* how late a cancel may come on a pipe */
#define MAX_ERRORS 16                       /* packets in a row; then the rest is lost */
#define MAX_RETRIES (1 << 16)               /* where the demuxer itself asks for another try */
#define MAX_CHAPTERS 100000                 /* each opening of a million takes seconds */

/* Demuxers that open other files by their nature, run scripts, or draw text. */
static const struct {
    const char *demuxer, *what;
} refused[] = {
    { "hls", "an HLS playlist" },
    { "dash", "a DASH manifest" },
    { "webm_dash_manifest", "a DASH manifest" },
    { "concat", "a concat script" },
    { "imf", "an IMF composition playlist" },
    { "sdp", "a session description" },
    { "rtsp", "a session description" },
    { "rtp", "a network stream's description" },
    { "sap", "a network stream's description" },
    { "image2", "a pattern of image names" },
    { "lavfi", "a filter graph" },
    { "avisynth", "an AviSynth script" },
    { "vapoursynth", "a VapourSynth script" },
    { "ffmetadata", "a metadata text" },
    { "vobsub", "a subtitle index" },
    { "tty", "a text" },
};

/* Synthesizers: they hold no video, and a file of a few bytes keeps them busy for a minute. */
static const char music[] = "libgme,libopenmpt,libmodplug";

static bool is_cancelled(const struct vrt_source *source)
{
    return source->cancel && atomic_load_explicit(source->cancel, memory_order_relaxed);
}

static bool is_late(const struct vrt_source *source)
{
    return source->deadline_ns && vrt_clock_now_ns() >= source->deadline_ns;
}

static bool must_end(const struct vrt_source *source)
{
    return is_cancelled(source) || is_late(source);
}

/* AVIOInterruptCB: asked between reads, and in FFmpeg's own loops. */
static int interrupt(void *opaque)
{
    return must_end(opaque);
}

/* Waits until a pipe or socket has something. Return: 0; -ECANCELED; -errno. */
static int wait_readable(const struct vrt_source *source)
{
    struct pollfd poll_fd = { .fd = source->fd, .events = POLLIN };

    for (;;) {
        if (must_end(source))
            return -ECANCELED;
        int n = poll(&poll_fd, 1, POLL_MS);
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return -errno;
    }
}

/* Waits until a file that grows has something at our offset, or grows no more. Return: likewise. */
static int wait_fed(struct vrt_source *source)
{
    while (source->offset_bytes >= source->fed.size_bytes && !source->fed.at_end) {
        if (must_end(source))
            return -ECANCELED;
        int r = source->feed->more(source->feed->ctx, &source->fed, NULL);
        if (r < 0)
            return r;
        source->fed.n_spent = 0;
    }
    return 0;
}

static int wait_for_more(struct vrt_source *source)
{
    int r = source->feed ? wait_fed(source) : source->size_bytes < 0 ? wait_readable(source) : 0;

    if (r < 0 && r != -ECANCELED)
        source->read_error = r;
    return r;
}

/* AVIO's read: at most one system call's worth; AVERROR_EOF at the end. */
static int read_some(void *opaque, uint8_t *data, int size)
{
    struct vrt_source *source = opaque;
    ssize_t n;

    if (must_end(source))
        return AVERROR_EXIT;
    do {
        int r = wait_for_more(source);
        if (r < 0)
            return r == -ECANCELED ? AVERROR_EXIT : AVERROR(-r);
        n = source->feed || source->size_bytes >= 0 ?
            pread(source->fd, data, (size_t)size, source->offset_bytes) :
            read(source->fd, data, (size_t)size);
    } while (n < 0 && (errno == EINTR || errno == EAGAIN));
    if (n < 0) {
        source->read_error = -errno;
        return AVERROR(errno);
    }
    source->offset_bytes += n;
    return n ? (int)n : AVERROR_EOF;
}

/* AVIO's seek, which counts from the beginning alone, and refuses what is before it: moves our
 * offset, the descriptor's stays. Beyond the end is allowed. */
static int64_t seek_to(void *opaque, int64_t offset, int whence)
{
    struct vrt_source *source = opaque;

    if (whence == AVSEEK_SIZE)
        return source->size_bytes;
    source->offset_bytes = offset;
    return offset;
}

/* AVFormatContext.io_open: the file cannot make us open another one. */
static int refuse_open(struct AVFormatContext *format, AVIOContext **io, const char *url,
                       int flags, AVDictionary **options)
{
    (void)io;
    (void)flags;
    (void)options;
    av_log(format, AV_LOG_WARNING, "refused to open %s\n", url);
    return AVERROR(EPERM);
}

/* Text, noise, an unknown format: the name has misled somebody. */
static int refuse_not_media(const struct vrt_source *source, struct vrt_error *error)
{
    return vrt_refuse(error, vrt_raise(-EBADMSG), "input.not_media",
                      "%s is not a video, nor a picture: its content is in no format that FFmpeg "
                      "knows, whatever its name says", source->name);
}

/* What FFmpeg returned where the file was being opened, as a sentence. */
static int refuse_av(struct vrt_source *source, int averror, struct vrt_error *error)
{
    int r = vrt_av_errno(averror);

    if (!is_cancelled(source) && is_late(source))
        return vrt_refuse(error, vrt_raise(-ETIMEDOUT), "input.timeout",
                          "%s could not be looked at in time: it is damaged, or lies on something "
                          "very slow; convert it, or copy it to a local disk", source->name);
    if (is_cancelled(source) || r == -ECANCELED)
        return vrt_refuse(error, vrt_raise(-ECANCELED), "cancelled", "cancelled");
    if (source->read_error)
        return vrt_refuse(error, vrt_raise(source->read_error), "input.read",
                          "%s cannot be read: %s", source->name, strerror(-source->read_error));
    if (r == -ENOMEM)
        return vrt_refuse_errno(error, vrt_raise(r), source->name);
    return vrt_refuse(error, vrt_raise(-EBADMSG), "input.damaged",
                      "%s is damaged: its beginning cannot be understood", source->name);
}

/* Return: 0, and whether it can be read by position in size_bytes; -errno with a sentence. */
static int check_kind(struct vrt_source *source, struct vrt_error *error)
{
    struct stat st;

    if (fstat(source->fd, &st) < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), source->name);
    if (S_ISDIR(st.st_mode))
        return vrt_refuse(error, vrt_raise(-EISDIR), "input.not_regular",
                          "%s is a folder: give a video file", source->name);
    if (S_ISBLK(st.st_mode))
        return vrt_refuse(error, vrt_raise(-EINVAL), "input.not_regular",
                          "%s is a disk: give a video file", source->name);
    source->size_bytes = S_ISREG(st.st_mode) && !source->feed ? st.st_size : -1;
    source->fed.size_bytes = st.st_size;
    int r = source->feed ? wait_for_more(source) : 0;
    if (r < 0)
        return vrt_fold(refuse_av(source, AVERROR(-r), error));
    if (source->size_bytes == 0 || (source->feed && source->fed.size_bytes == 0))
        return vrt_refuse(error, vrt_raise(-ENODATA), "input.empty",
                          "%s is empty: it holds no video", source->name);
    return 0;
}

/* Whether it begins as HLS playlists do: since FFmpeg 7.1 these are known by their names, which it
 * isn't shown. */
static bool is_hls(struct vrt_source *source)
{
    static const char magic[] = "#EXTM3U";
    unsigned char head[sizeof(magic) - 1];

    return avio_read(source->io, head, sizeof(head)) == (int)sizeof(head) &&
           memcmp(head, magic, sizeof(head)) == 0;
}

/* Whether it is an animation in WebP, of which FFmpeg's decoder skips all but a still picture. */
static bool is_animated_webp(const struct vrt_source *source)
{
    unsigned char head[21];

    return source->size_bytes >= 0 &&
           pread(source->fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
           memcmp(head, "RIFF", 4) == 0 && memcmp(head + 8, "WEBPVP8X", 8) == 0 && head[20] & 2;
}

static int refuse_playlist(const struct vrt_source *source, const char *what,
                           struct vrt_error *error)
{
    return vrt_refuse(error, vrt_raise(-EPERM), "input.playlist",
                      "%s is %s, not a video: give the video file itself", source->name, what);
}

/* By content only: the name is not shown to FFmpeg, so that no ending decides. */
static int probe(struct vrt_source *source, const AVInputFormat **ret_demuxer,
                 struct vrt_error *error)
{
    const AVInputFormat *demuxer = NULL;

    int score = av_probe_input_buffer2(source->io, &demuxer, "", NULL, 0, 1 << 20);
    if (score < 0 && score != AVERROR_INVALIDDATA)
        return refuse_av(source, score, error);
    if (score < MIN_PROBE_SCORE)
        return is_hls(source) ? refuse_playlist(source, refused[0].what, error)
                              : refuse_not_media(source, error);
    if (is_animated_webp(source))
        return vrt_refuse(error, vrt_raise(-ENOSYS), "input.codec",
                          "%s is an animation in WebP, which this FFmpeg cannot decode: convert "
                          "it to a video or a GIF first", source->name);
    if (av_match_name(demuxer->name, music))
        return vrt_refuse(error, vrt_raise(-EBADMSG), "input.not_media",
                          "%s is not a video: it is a piece of music for a synthesizer",
                          source->name);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(refused); i++)
        if (av_match_name(refused[i].demuxer, demuxer->name))
            return refuse_playlist(source, refused[i].what, error);
    *ret_demuxer = demuxer;
    return 0;
}

/* Looks at the sizes at the file's top level. Return: 0; -EBADMSG with a sentence. */
static int check_extent(struct vrt_source *source, const AVInputFormat *demuxer,
                        struct vrt_error *error)
{
    if (source->size_bytes < 0 && !source->feed)
        return 0;
    struct vrt_extent extent = vrt_extent_check(source->fd, source->feed ? source->fed.size_bytes :
                                                            source->size_bytes, demuxer->name);
    if (source->feed && extent.is_index_last)
        return vrt_refuse(error, vrt_raise(-ESPIPE), "input.not_regular", "%s is an MP4 or MOV "
                          "file whose index is at its end, from which a pipe can't go back: name "
                          "the file itself, or pipe it as NUT (ffmpeg -i FILE -c copy -f nut -)",
                          source->name);
    if (source->feed)
        return 0;
    source->truncated = extent.truncated;
    if (extent.lacks_index)
        return vrt_refuse(error, vrt_raise(-EBADMSG), "input.truncated",
                          "%s is truncated or damaged: the index (moov) that an MP4 or MOV file "
                          "needs is missing; copy or record it again", source->name);
    return 0;
}

/* Probe, refuse, open, look at the streams; bounded in bytes and time of video. */
static int open_format(struct vrt_source *source, struct vrt_error *error)
{
    const AVInputFormat *demuxer = NULL;

    int r = probe(source, &demuxer, error);
    if (r < 0)
        return vrt_fold(r);
    r = check_extent(source, demuxer, error);
    if (r < 0)
        return vrt_fold(r);

    AVFormatContext *format = avformat_alloc_context();
    if (!format)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), source->name);
    format->pb = source->io;
    format->io_open = refuse_open;
    format->interrupt_callback = (AVIOInterruptCB){ interrupt, source };
    /* Twice the same: whatever escaped io_open would find no protocol. */
    format->protocol_whitelist = av_strdup("");
    format->probesize = PROBE_BYTES;
    format->max_analyze_duration = PROBE_US;
    /* On failure it frees `format`, but not the AVIO, which is ours. */
    r = avformat_open_input(&format, "", demuxer, NULL);
    if (r < 0)
        return refuse_av(source, r, error);
    source->format = format;
    source->is_y4m = av_match_name("yuv4mpegpipe", demuxer->name);
    /* Where the clock may jump, libavformat's guess at an overflow would hide where it does. */
    if (demuxer->flags & AVFMT_TS_DISCONT) {
        format->correct_ts_overflow = 0;
        source->packets = calloc(1, sizeof(*source->packets));
        if (!source->packets)
            return vrt_refuse_errno(error, vrt_raise(-ENOMEM), source->name);
    }
    if (format->nb_chapters > MAX_CHAPTERS)
        return vrt_refuse(error, vrt_raise(-E2BIG), "input.unsupported",
                          "%s has %u chapters, as many as no film has: take them out, or convert "
                          "it", source->name, format->nb_chapters);
    r = avformat_find_stream_info(format, NULL);
    if (r < 0 || must_end(source))
        return refuse_av(source, r, error);
    format->start_time = vrt_packets_time(format->start_time, AV_TIME_BASE_Q);
    format->duration = vrt_packets_time(format->duration, AV_TIME_BASE_Q);
    for (unsigned int i = 0; i < format->nb_streams; i++) {
        AVStream *stream = format->streams[i];
        stream->start_time = vrt_packets_time(stream->start_time, stream->time_base);
        stream->duration = vrt_packets_time(stream->duration, stream->time_base);
    }
    /* Not before: what was logged while guessing is no damage. */
    format->opaque = &source->n_logged;
    source->n_streams = format->nb_streams;
    return 0;
}

/* Which streams go on. Return: 0; -errno with a sentence. */
static int choose_streams(struct vrt_source *source, const char *specifiers,
                          struct vrt_error *error)
{
    const size_t n = VRT_MAX(source->n_streams, 1);

    source->is_unwanted = calloc(n, sizeof(*source->is_unwanted));
    source->ranks = calloc(n, sizeof(*source->ranks));
    if (!source->is_unwanted || !source->ranks)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), source->name);
    int r = vrt_select(source->format, specifiers ? specifiers : "", source->name, source->ranks,
                       error);
    if (r < 0)
        return vrt_fold(r);
    for (unsigned int i = 0; i < source->n_streams; i++)
        if (!vrt_source_has(source, i))
            vrt_source_select(source, i, false);
    return 0;
}

int vrt_source_open(const struct vrt_source_params *params, struct vrt_source **ret_source,
                    struct vrt_error *error)
{
    VRT_CLEANUP(vrt_source_closep) struct vrt_source *source = calloc(1, sizeof(*source));

    vrt_av_log_install();
    if (!source)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the input");
    source->fd = params->fd;
    source->feed = params->feed;
    source->cancel = params->cancel;
    source->deadline_ns = params->deadline_ns;
    vrt_printable(params->name ? params->name : "the input", source->name, sizeof(source->name));

    int r = check_kind(source, error);
    if (r < 0)
        return vrt_fold(r);
    uint8_t *buffer = av_malloc(IO_BUFFER_BYTES);
    source->io = buffer ? avio_alloc_context(buffer, IO_BUFFER_BYTES, 0, source, read_some, NULL,
                                             source->size_bytes >= 0 ? seek_to : NULL)
                        : NULL;
    if (!source->io) {
        av_free(buffer);
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), source->name);
    }
    r = open_format(source, error);
    if (r < 0)
        return vrt_fold(r);
    r = choose_streams(source, params->streams, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_source = VRT_STEAL(source);
    return 0;
}

int vrt_source_check_rereadable(const struct vrt_source *source, struct vrt_error *error)
{
    if (source->size_bytes >= 0)
        return 0;
    return vrt_refuse(error, vrt_raise(-ESPIPE), "input.not_regular",
                      "%s cannot be read a second time for its sound: store it in a file",
                      source->name);
}

bool vrt_source_has(const struct vrt_source *source, unsigned int index)
{
    return source->ranks[index] != VRT_SELECT_NONE;
}

/* How much a stream wants to be the video: 0 not at all; then the default one, then the larger. */
static int64_t rank_video(const AVStream *stream)
{
    const AVCodecParameters *par = stream->codecpar;

    if (par->codec_type != AVMEDIA_TYPE_VIDEO ||
        stream->disposition & (AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS))
        return 0;
    int64_t rank = 1 + (int64_t)par->width * par->height;
    return rank + (stream->disposition & AV_DISPOSITION_DEFAULT ? 1LL << 40 : 0);
}

int vrt_source_pick_video(const struct vrt_source *source, struct vrt_error *error)
{
    int best = -1, n_audio = 0, n_covers = 0, n_videos = 0;
    int64_t best_rank = 0;
    char there[320];

    for (unsigned int i = 0; i < source->n_streams; i++) {
        const AVStream *stream = source->format->streams[i];
        int64_t rank = rank_video(stream);
        n_audio += stream->codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
        n_covers += stream->codecpar->codec_type == AVMEDIA_TYPE_VIDEO && !rank;
        n_videos += rank > 0;
        if (!rank || !vrt_source_has(source, i) ||
            (best >= 0 && (source->ranks[i] > source->ranks[best] ||
                           (source->ranks[i] == source->ranks[best] && rank <= best_rank))))
            continue;
        best = (int)i;
        best_rank = rank;
    }
    if (best >= 0)
        return best;
    if (n_videos)
        return vrt_refuse(error, vrt_raise(-ENOENT), "input.streams", "the streams that were "
                          "chosen of %s have no video to restore among them: add v, or one of "
                          "its own: %s", source->name,
                          vrt_select_list(source->format, there, sizeof(there)));
    const char *instead = n_audio && n_covers ? "only sound and cover art"
                          : n_audio           ? "only sound"
                          : n_covers          ? "only cover art"
                                              : "no stream of pictures or sound at all";
    return vrt_refuse(error, vrt_raise(-ENOENT), "input.no_video",
                      "%s holds no video, %s: give a file with a video stream", source->name,
                      instead);
}

void vrt_source_select(struct vrt_source *source, unsigned int index, bool is_wanted)
{
    source->is_unwanted[index] = !is_wanted;
    /* By what clock others' packets are depends on all of them. */
    if (!source->packets)
        source->format->streams[index]->discard = is_wanted ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
}

int64_t vrt_source_n_jumps(const struct vrt_source *source)
{
    return source->packets ? source->packets->timeline.n_jumps : 0;
}

/* As vrt_packets_read(). */
static int read_packet(struct vrt_source *source, AVPacket *packet)
{
    /* A buffered packet needs no read, which would notice. */
    if (must_end(source))
        return AVERROR_EXIT;
    return source->packets ? vrt_packets_next(source->packets, source->format, packet)
                           : vrt_packets_read(source->format, packet);
}

static bool is_wanted(struct vrt_source *source, const AVPacket *packet)
{
    unsigned int index = (unsigned int)packet->stream_index;

    if (index < source->n_streams)
        return packet->size > 0 && !source->is_unwanted[index];
    enum AVMediaType type = source->format->streams[index]->codecpar->codec_type;
    source->has_late |= type == AVMEDIA_TYPE_VIDEO || type == AVMEDIA_TYPE_AUDIO;
    return false;
}

/* Others' packets are copied into the result, at the end: they are wanted by nobody yet. */
static void note_given(struct vrt_source *source, const AVPacket *packet)
{
    if (source->is_y4m)
        source->frames_end_bytes = packet->pos + packet->size;
    if (source->feed)
        vrt_feed_spend(&source->fed, source->fd, packet, source->is_y4m);
}

/* Whether the file ends within a frame, which FFmpeg's demuxer of y4m doesn't say. */
static bool is_cut_off(const struct vrt_source *source)
{
    return source->frames_end_bytes > 0 && source->offset_bytes > source->frames_end_bytes;
}

int vrt_source_next(struct vrt_source *source, AVPacket *packet, struct vrt_error *error)
{
    for (;;) {
        int r = read_packet(source, packet);
        if (r == 0) {
            source->n_errors = 0;
            if (is_wanted(source, packet)) {
                note_given(source, packet);
                return 0;
            }
            av_packet_unref(packet);
            continue;
        }
        if (must_end(source) || source->read_error || r == AVERROR(ENOMEM))
            return refuse_av(source, r, error);
        if (r == AVERROR_EOF)
            return is_cut_off(source) ? VRT_SOURCE_BROKEN : VRT_SOURCE_END;
        if (++source->n_errors >= (r == AVERROR(EAGAIN) ? MAX_RETRIES : MAX_ERRORS))
            return VRT_SOURCE_BROKEN;
    }
}

struct vrt_source *vrt_source_close(struct vrt_source *source)
{
    if (!source)
        return NULL;
    if (source->packets)
        vrt_packets_done(source->packets);
    free(source->packets);
    free(source->is_unwanted);
    free(source->ranks);
    avformat_close_input(&source->format);
    source->io = vrt_av_io_free(source->io);
    free(source);
    return NULL;
}
