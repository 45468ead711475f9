/* SPDX-License-Identifier: MIT */

/* One clock for inputs whose own jumps: by hand, and thousands of made-up recordings. And what
 * becomes of packets' times in another file, and of sound that is cut to frames. */

#include "base/macro.h"
#include "frames/decode/packets.h"
#include "frames/decode/timeline.h"
#include "frames/join/join-part.h"
#include "frames/join/join-times.h"
#include "frames/streams/sound.h"
#include "tests/unit/test.h"

#define MS 1000
#define N_STREAMS 3

enum { VIDEO, SOUND, TEXT };

static const int64_t lasts_us[N_STREAMS] = { 40 * MS, 24 * MS, 500 * MS };

struct play {
    struct vrt_timeline timeline;
    struct vrt_timeline_stream streams[N_STREAMS];
    int64_t held[64];               /* times, by the file's clock */
    int held_of[64], n_held;
    int64_t last_us[N_STREAMS];     /* by the new clock; INT64_MIN: none */
    int64_t shown_us[N_STREAMS][4096];
    int n_shown[N_STREAMS];
};

static void begin(struct play *play)
{
    *play = (struct play){ .streams[TEXT].is_sparse = true };
    for (int s = 0; s < N_STREAMS; s++)
        play->last_us[s] = INT64_MIN;
}

static void take(struct play *play, int stream, int64_t time_us)
{
    expect_true(play->n_shown[stream] < 4096);
    play->shown_us[stream][play->n_shown[stream]++] = time_us;
    play->last_us[stream] = time_us;
}

static void settle(struct play *play)
{
    int64_t offset_us = vrt_timeline_settle(&play->timeline, play->streams, N_STREAMS);

    for (int i = 0; i < play->n_held; i++)
        take(play, play->held_of[i], play->held[i] + offset_us);
    play->n_held = 0;
}

/* As packets.c does. */
static void show(struct play *play, int stream, int64_t time_us)
{
    int64_t offset_us = 0;
    int r = vrt_timeline_show(&play->timeline, &play->streams[stream], time_us, lasts_us[stream],
                              &offset_us);

    if (r == VRT_TIMELINE_AGAIN) {
        settle(play);
        show(play, stream, time_us);
        return;
    }
    if (r == 0) {
        take(play, stream, time_us + offset_us);
        return;
    }
    expect_int(r, VRT_TIMELINE_HELD);
    expect_true(play->n_held < 64);
    play->held_of[play->n_held] = stream;
    play->held[play->n_held++] = time_us;
    if (vrt_timeline_is_complete(&play->timeline, play->streams, N_STREAMS))
        settle(play);
}

/* A recording: video and sound from these times on, in the order of time, `lead` packets of the
 * video ahead. */
static void record(struct play *play, int64_t video_us, int64_t sound_us, int64_t length_us,
                   int lead)
{
    int64_t end_us = VRT_MAX(video_us, sound_us) + length_us;
    int ahead = 0;

    while (video_us < end_us || sound_us < end_us) {
        bool is_video = video_us < end_us &&
                        (sound_us >= end_us || ahead < lead || video_us <= sound_us);
        ahead += is_video;
        show(play, is_video ? VIDEO : SOUND, is_video ? video_us : sound_us);
        if (is_video)
            video_us += lasts_us[VIDEO];
        else
            sound_us += lasts_us[SOUND];
    }
}

/* Each stream goes on where it was, or later; never back, and by no more than `gap_us` later. */
static void expect_smooth(const struct play *play, int stream, int64_t gap_us)
{
    for (int i = 1; i < play->n_shown[stream]; i++) {
        int64_t step_us = play->shown_us[stream][i] - play->shown_us[stream][i - 1];
        expect_true(step_us >= lasts_us[stream] && step_us <= lasts_us[stream] + gap_us);
    }
}

/* What never jumps stays as it is: gaps of seconds, and times that go back a little, too. */
static void test_untouched(void)
{
    struct play play;

    begin(&play);
    for (int i = 0; i < 100; i++) {
        int64_t time_us = 5000 * MS + (i + (i >= 50 ? 200 : 0)) * lasts_us[VIDEO] -
                          (i % 7 == 3 ? 60 * MS : 0);
        show(&play, VIDEO, time_us);
        expect_int(play.last_us[VIDEO], time_us);
        if (i % 40 == 0) {
            show(&play, TEXT, time_us * 3);
            expect_int(play.last_us[TEXT], time_us * 3);
        }
    }
    expect_int(vrt_timeline_settle(&play.timeline, play.streams, N_STREAMS), 0);
    expect_int(play.timeline.n_jumps, 0);
}

/* A stream that has ended isn't waited for, and a text goes to the side that it is of. */
static void test_one_ends(void)
{
    struct play play;

    begin(&play);
    record(&play, 0, 0, 2000 * MS, 0);
    for (int i = 0; i < 100; i++)
        show(&play, VIDEO, 2000 * MS + i * lasts_us[VIDEO]);
    show(&play, VIDEO, 0);
    expect_int(play.n_held, 0);
    expect_int(play.timeline.n_jumps, 1);
    expect_int(play.last_us[VIDEO], 6000 * MS);
    show(&play, TEXT, 40 * MS);
    expect_int(play.last_us[TEXT], 6040 * MS);
    show(&play, SOUND, 48 * MS);
    expect_int(play.last_us[SOUND], 6048 * MS);
    /* Likewise while only the video has jumped. */
    record(&play, 90000 * MS, 90000 * MS, 2000 * MS, 0);
    const int64_t offset_us = play.last_us[VIDEO] - 91960 * MS;
    show(&play, VIDEO, 500000 * MS);
    show(&play, TEXT, 92000 * MS);
    expect_int(play.last_us[TEXT], 92000 * MS + offset_us);
    show(&play, TEXT, 500010 * MS);
    show(&play, SOUND, 500000 * MS);
    expect_int(play.last_us[TEXT] - play.last_us[VIDEO], 10 * MS);
}

/* Recordings of any lengths from any times on: no stream overlaps itself, and each recording's
 * picture and sound are as far apart as they were. */
static void test_any(void)
{
    static struct play play;
    uint64_t random = 7;

    for (int round = 0; round < 2000; round++) {
        int jumps = 0;
        int64_t starts[5], skews[5], n[5][2];
        begin(&play);
        for (int part = 0; part < 5; part++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            int64_t before_us = part ? starts[part - 1] + 20000 * MS : 0;
            starts[part] = (int64_t)(random >> 40) * MS;
            if (part && starts[part] > starts[part - 1] && starts[part] < before_us)
                starts[part] = before_us;
            skews[part] = (int64_t)(random >> 20 & 511) * MS - 256 * MS;
            n[part][VIDEO] = play.n_shown[VIDEO];
            n[part][SOUND] = play.n_shown[SOUND];
            record(&play, starts[part], starts[part] + skews[part],
                   (int64_t)(1000 + (random >> 32 & 2047)) * MS, (int)(random >> 60));
            jumps += part > 0;
            expect_int(play.n_held, 0);
        }
        expect_int(play.timeline.n_jumps, jumps);
        expect_smooth(&play, VIDEO, 1500 * MS);
        expect_smooth(&play, SOUND, 1500 * MS);
        for (int part = 0; part < 5; part++)
            expect_int(play.shown_us[SOUND][n[part][SOUND]] -
                       play.shown_us[VIDEO][n[part][VIDEO]], skews[part]);
    }
}

/* What no packet's time is is none. */
static void test_times(void)
{
    static const struct {
        int64_t time;
        AVRational time_base;
        bool is_one;
    } rows[] = {
        { 0, { 1, 1000 }, true }, { -5, { 1, 1000 }, true }, { AV_NOPTS_VALUE, { 1, 1 }, false },
        { 1732712400, { 1, 1 }, true }, { INT64_C(1) << 32, { 1, 1 }, false },
        { INT64_C(1) << 61, { 1, INT32_MAX }, true }, { INT64_MAX, { 1, INT32_MAX }, false },
        { -(INT64_C(1) << 61) - 1, { 1, INT32_MAX }, false }, { INT64_MAX, { 1, 1000 }, false },
        { INT64_MIN + 1, { 1001, 30000 }, false }, { 1, { INT32_MAX, 1 }, true },
        { 2, { INT32_MAX, 1 }, false },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++)
        expect_int(vrt_packets_time(rows[i].time, rows[i].time_base),
                   rows[i].is_one ? rows[i].time : AV_NOPTS_VALUE);
}

/* A stream that is copied, of which nothing was written yet. */
static struct vrt_join_stream copied(AVFormatContext *format, enum AVMediaType type,
                                     AVRational from, AVRational to)
{
    AVStream *in = avformat_new_stream(format, NULL), *out = avformat_new_stream(format, NULL);

    in->codecpar->codec_type = out->codecpar->codec_type = type;
    in->time_base = from;
    out->time_base = to;
    return (struct vrt_join_stream){ .in = in, .out = out, .last_dts = AV_NOPTS_VALUE,
                                     .next_sample = AV_NOPTS_VALUE };
}

#define NONE AV_NOPTS_VALUE
#define PACKETS_MAX 7
#define DELAYED (LIBAVFORMAT_VERSION_MAJOR < 60 ? 110 : 100)

/* Packets' times, and what they are in the other file. */
static const struct {
    enum AVMediaType type;
    AVRational from, to;
    int64_t offset_us;
    int flags;                      /* of the muxer */
    int delay;                      /* frames; of sound: samples of each packet */
    int n;
    struct {
        int64_t pts, dts, duration, to_pts, to_dts, to_duration;
    } packets[PACKETS_MAX];
    int64_t n_stacked;
    int padding;                    /* samples of Opus */
} retimed[] = {
    /* Pictures, whose times are what they were but for the offset. */
    { AVMEDIA_TYPE_VIDEO, { 1, 1000 }, { 1, 90000 }, 500000, 0, 0, 2, {
        { 540, 500, 40, 3600, 0, 3600 }, { 580, 540, 40, 7200, 3600, 3600 } }, 0 },
    /* Without times of decoding: each is as many frames before as are held back. */
    { AVMEDIA_TYPE_VIDEO, { 1, 1000 }, { 1, 1000 }, 0, 0, 1, 5, {
        { 0, NONE, 40, 0, -40, 40 }, { 120, NONE, 40, 120, 0, 40 }, { 40, NONE, 40, 40, 40, 40 },
        { 80, NONE, 40, 80, 80, 40 }, { 240, NONE, 40, 240, 120, 40 } }, 0 },
    { AVMEDIA_TYPE_VIDEO, { 1, 1000 }, { 1, 1000 }, 0, 0, 2, 6, {
        { 0, NONE, 0, 0, -2, 0 }, { 160, NONE, 40, 160, -1, 40 }, { 80, NONE, 40, 80, 0, 40 },
        { 40, NONE, 40, 40, 40, 40 }, { 120, NONE, 40, 120, 80, 40 },
        { 320, NONE, 40, 320, 120, 40 } }, 0 },
    /* Sound, whose milliseconds are roundings of samples, until there is a gap. */
    { AVMEDIA_TYPE_AUDIO, { 1, 1000 }, { 1, 48000 }, 0, 0, 1024, 5, {
        { 0, 0, 21, 0, 0, 1024 }, { 21, 21, 21, 1024, 1024, 1024 },
        { 43, 43, 21, 2048, 2048, 1024 }, { 65, 65, 21, 3072, 3072, 1024 },
        { 1000, 1000, 21, 48000, 48000, 1024 } }, 0 },
    /* What counts samples knows where the last packet ends. */
    { AVMEDIA_TYPE_AUDIO, { 1, 48000 }, { 1, 48000 }, 1000000, 0, 1024, 3, {
        { 48000, 48000, 1024, 0, 0, 1024 }, { 49025, 49025, 1024, 1025, 1025, 1024 },
        { 50049, 50049, 500, 2049, 2049, 500 } }, 0 },
    { AVMEDIA_TYPE_AUDIO, { 1, 48000 }, { 1, 48000 }, 0, 0, 1024, 1, {
        { 7, 7, 0, 7, 7, 1024 } }, 0 },
    /* What goes back, or stays, goes on; where that may stay, it does. */
    { AVMEDIA_TYPE_AUDIO, { 1, 1000 }, { 1, 1000 }, 0, 0, 0, 5, {
        { 10, 10, 5, 10, 10, 5 }, { 4, 4, 5, 11, 11, 5 }, { 11, 11, 5, 12, 12, 5 },
        { 20, 20, 0, 20, 20, 8 }, { 30, 30, 1, 30, 30, 1 } }, 0 },
    { AVMEDIA_TYPE_AUDIO, { 1, 1000 }, { 1, 1000 }, 0, AVFMT_TS_NONSTRICT, 0, 2, {
        { 10, 10, 5, 10, 10, 5 }, { 4, 4, 5, 10, 10, 5 } }, 0 },
    { AVMEDIA_TYPE_SUBTITLE, { 1, 1000 }, { 1, 1000 }, 0, 0, 0, 4, {
        { 10, 10, 5, 10, 10, 5 }, { 10, 10, 5, 10, 10, 5 }, { 10, 10, 0, 10, 10, 0 },
        { 30, 30, 5, 30, 30, 5 } }, 2 },
    { AVMEDIA_TYPE_DATA, { 1, 1000 }, { 1, 1000 }, 0, 0, 0, 2, {
        { 10, 10, 5, 10, 10, 5 }, { 10, 10, 5, 10, 10, 5 } }, 0 },
    { AVMEDIA_TYPE_AUDIO, { 1, 1000 }, { 1, 1000 }, 0, 0, 0, 1, { { 7, 7, 0, 7, 7, 0 } }, 0 },
    /* Times of which there is one, or none. */
    { AVMEDIA_TYPE_DATA, { 1, 1000 }, { 1, 1000 }, 0, 0, 0, 4, {
        { NONE, NONE, 5, 0, 0, 5 }, { NONE, NONE, 5, 1, 1, 5 }, { NONE, 9, 5, 9, 9, 5 },
        { 12, NONE, 5, 12, 12, 5 } }, 0 },
    /* Where Matroska's muxer takes the codec's delay off it is added before. */
    { AVMEDIA_TYPE_AUDIO, { 1, 1000 }, { 1, 1000 }, 0, 0, 0, 1, {
        { 100, 100, 5, 100, 100, 5 } }, 0, 480 },
    { AVMEDIA_TYPE_AUDIO, { 1, 1000 }, { 1, 1000 }, 0, AVFMT_TS_NONSTRICT, 0, 1, {
        { 100, 100, 5, DELAYED, DELAYED, 5 } }, 0, 480 },
};

static void test_retime(void)
{
    AVFormatContext *format = avformat_alloc_context();
    AVPacket *packet = av_packet_alloc();

    for (size_t i = 0; i < VRT_ARRAY_SIZE(retimed); i++) {
        struct vrt_join_stream stream = copied(format, retimed[i].type, retimed[i].from,
                                               retimed[i].to);
        if (retimed[i].type == AVMEDIA_TYPE_AUDIO) {
            stream.in->codecpar->sample_rate = retimed[i].delay ? 48000 : 0;
            stream.in->codecpar->frame_size = retimed[i].delay;
        } else {
            stream.in->codecpar->video_delay = retimed[i].delay;
        }
        stream.out->codecpar->codec_id = AV_CODEC_ID_OPUS;
        stream.out->codecpar->initial_padding = retimed[i].padding;
        for (int k = 0; k < retimed[i].n; k++) {
            fprintf(stderr, "  row %zu, packet %d\n", i, k);
            expect_int(av_new_packet(packet, 10), 0);
            packet->pts = retimed[i].packets[k].pts;
            packet->dts = retimed[i].packets[k].dts;
            packet->duration = retimed[i].packets[k].duration;
            packet->pos = 77;
            vrt_join_retime(&stream, packet, retimed[i].offset_us, retimed[i].flags);
            expect_int(packet->pts, retimed[i].packets[k].to_pts);
            expect_int(packet->dts, retimed[i].packets[k].to_dts);
            expect_int(packet->duration, retimed[i].packets[k].to_duration);
            expect_int(packet->stream_index, stream.out->index);
            expect_int(packet->pos, -1);
            av_packet_unref(packet);
        }
        expect_int(stream.n_stacked, retimed[i].n_stacked);
    }
    av_packet_free(&packet);
    avformat_free_context(format);
}

/* What belongs to the second from 1 s to 2 s. */
static void test_part(void)
{
    const struct vrt_join_part part = { true, 1000000, 2000000 }, all = { .is_part = false };
    static const struct {
        enum AVMediaType type;
        int64_t pts, dts, duration;
        bool is_key, is_kept;
        int64_t to_pts, to_duration;
        bool is_over;
    } rows[] = {
        { AVMEDIA_TYPE_AUDIO, 999, 999, 20, true, false, 0, 0, false },
        { AVMEDIA_TYPE_AUDIO, 1000, 1000, 20, true, true, 1000, 20, false },
        { AVMEDIA_TYPE_AUDIO, NONE, 1999, 20, true, true, NONE, 20, false },
        { AVMEDIA_TYPE_AUDIO, 2000, 2000, 20, true, false, 0, 0, false },
        { AVMEDIA_TYPE_AUDIO, NONE, NONE, 20, true, false, 0, 0, false },
        { AVMEDIA_TYPE_AUDIO, 32000, 32000, 20, true, false, 0, 0, false },
        { AVMEDIA_TYPE_AUDIO, 32001, 32001, 20, true, false, 0, 0, true },
        /* A line that began before is shortened. */
        { AVMEDIA_TYPE_SUBTITLE, 900, 900, 300, true, true, 1000, 200, false },
        { AVMEDIA_TYPE_SUBTITLE, 900, 900, 100, true, false, 0, 0, false },
        { AVMEDIA_TYPE_SUBTITLE, 900, 900, 101, true, true, 1000, 1, false },
        { AVMEDIA_TYPE_SUBTITLE, 900, 900, 0, true, false, 0, 0, false },
        { AVMEDIA_TYPE_SUBTITLE, NONE, 900, 300, true, false, 0, 0, false },
        { AVMEDIA_TYPE_SUBTITLE, 1500, 1500, 900, true, true, 1500, 900, false },
        /* Pictures begin with a key frame. */
        { AVMEDIA_TYPE_VIDEO, 900, 900, 300, true, false, 0, 0, false },
        { AVMEDIA_TYPE_VIDEO, 1200, 1200, 40, false, false, 0, 0, false },
        { AVMEDIA_TYPE_VIDEO, 1240, 1240, 40, true, true, 1240, 40, false },
        { AVMEDIA_TYPE_VIDEO, 1280, 1280, 40, false, true, 1280, 40, false },
    };
    AVFormatContext *format = avformat_alloc_context();
    AVPacket *packet = av_packet_alloc();
    struct vrt_join_stream streams[AVMEDIA_TYPE_NB];

    for (int type = 0; type < AVMEDIA_TYPE_NB; type++)
        streams[type] = copied(format, (enum AVMediaType)type, (AVRational){ 1, 1000 },
                               (AVRational){ 1, 1000 });
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct vrt_join_stream *stream = &streams[rows[i].type];
        fprintf(stderr, "  row %zu\n", i);
        packet->pts = rows[i].pts;
        packet->dts = rows[i].dts;
        packet->duration = rows[i].duration;
        packet->flags = rows[i].is_key ? AV_PKT_FLAG_KEY : 0;
        expect_true(vrt_join_part_keeps(&all, stream, packet));
        expect_true(!vrt_join_part_is_over(&all, stream, packet));
        expect_int(vrt_join_part_is_over(&part, stream, packet), rows[i].is_over);
        expect_int(vrt_join_part_keeps(&part, stream, packet), rows[i].is_kept);
        if (!rows[i].is_kept)
            continue;
        expect_int(packet->pts, rows[i].to_pts);
        expect_int(packet->duration, rows[i].to_duration);
        expect_int(packet->dts, rows[i].to_pts == NONE ? rows[i].dts : rows[i].to_pts);
    }
    av_packet_free(&packet);
    avformat_free_context(format);
}

/* A stream of two channels whose samples are counted: those of packets that begin at `pts` ms. */
struct counted {
    AVFormatContext *format;
    struct vrt_sound *sound;
    size_t sample_bytes;
    bool is_swapped;
};

static struct counted count_sound(enum AVCodecID id, struct vrt_rational fps)
{
    struct counted counted = {
        .format = avformat_alloc_context(),
        .sample_bytes = id == AV_CODEC_ID_PCM_S24LE || id == AV_CODEC_ID_PCM_S24BE ? 3 : 2,
        .is_swapped = id == AV_CODEC_ID_PCM_S16BE || id == AV_CODEC_ID_PCM_S24BE,
    };
    AVStream *in = avformat_new_stream(counted.format, NULL);
    AVStream *out = avformat_new_stream(counted.format, NULL);

    in->codecpar->codec_type = AVMEDIA_TYPE_AUDIO;
    in->codecpar->codec_id = id;
    in->codecpar->sample_rate = 48000;
    in->codecpar->codec_tag = 7;
    expect_true(!vrt_sound_fits(in->codecpar));
    in->codecpar->ch_layout.nb_channels = 2;
    expect_true(vrt_sound_fits(in->codecpar));
    in->time_base = (AVRational){ 1, 1000 };
    expect_int(vrt_sound_open(in, fps, 500, out->codecpar, &counted.sound), 0);
    expect_int(out->codecpar->codec_id, counted.sample_bytes == 3 ? AV_CODEC_ID_PCM_S24LE
                                                                  : AV_CODEC_ID_PCM_S16LE);
    expect_int(out->codecpar->codec_tag, 0);
    expect_int(out->codecpar->block_align, 2 * (int)counted.sample_bytes);
    expect_int(out->codecpar->bits_per_coded_sample, 8 * (int)counted.sample_bytes);
    return counted;
}

/* `n` samples, the first of which is number `first`, heard at `pts` ms. */
static void add_sound(const struct counted *counted, int first, int n, int64_t pts, int flags)
{
    const size_t bytes = counted->sample_bytes;
    AVPacket *packet = av_packet_alloc();

    expect_int(av_new_packet(packet, n * 2 * (int)bytes), 0);
    for (int i = 0; i < 2 * n; i++) {
        uint8_t *at = packet->data + (size_t)i * bytes;
        const int value = first + i / 2;
        memset(at, i % 2, bytes);
        at[counted->is_swapped ? bytes - 1 : 0] = (uint8_t)value;
        at[counted->is_swapped ? 0 : bytes - 1] = (uint8_t)(value >> 8);
    }
    packet->pts = pts;
    packet->flags = flags;
    expect_int(vrt_sound_add(counted->sound, packet), 0);
    av_packet_free(&packet);
}

/* Frame `k` has `n` samples, all but `n_counted` of which are silent: those behind `silent`. */
static void expect_sound(const struct counted *counted, int64_t k, int n, int silent, int first,
                         int n_counted)
{
    const size_t bytes = counted->sample_bytes;
    AVPacket *packet = av_packet_alloc();

    expect_int(vrt_sound_take(counted->sound, k, packet), 0);
    expect_int(packet->size, n * 2 * (int)bytes);
    expect_true(packet->pts == k && packet->dts == k && packet->duration == 1);
    expect_true(packet->flags & AV_PKT_FLAG_KEY);
    for (int i = 0; i < 2 * n; i++) {
        const uint8_t *at = packet->data + (size_t)i * bytes;
        const int number = i / 2 - silent;
        const bool is_counted = number >= 0 && number < n_counted;
        expect_int(at[0] | at[bytes - 1] << 8, is_counted ? first + number : 0);
        if (bytes == 3)
            expect_int(at[1], is_counted ? i % 2 : 0);
    }
    av_packet_free(&packet);
}

static void end_sound(struct counted *counted, const char *silent, const char *left_out)
{
    struct vrt_warnings warnings = { .n = 0 };

    vrt_sound_warn(counted->sound, 1, &warnings);
    expect_int(warnings.n, (silent != NULL) + (left_out != NULL));
    if (silent)
        expect_contains(warnings.sentences[0], silent);
    if (left_out)
        expect_contains(warnings.sentences[warnings.n - 1], left_out);
    vrt_sound_close(counted->sound);
    avformat_free_context(counted->format);
}

/* Samples one after the other, whatever milliseconds say, in frames of 1601.6 of them. */
static void test_sound(void)
{
    static const enum AVCodecID ids[] = { AV_CODEC_ID_PCM_S16LE, AV_CODEC_ID_PCM_S16BE,
                                          AV_CODEC_ID_PCM_S24LE, AV_CODEC_ID_PCM_S24BE };
    static const int ends[] = { 0, 1602, 3203, 4805, 6406, 8008 };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(ids); i++) {
        struct counted counted = count_sound(ids[i], (struct vrt_rational){ 30000, 1001 });
        for (int k = 0; k < 8; k++)
            add_sound(&counted, 1 + 1001 * k, 1001, 500 + (1001 * k + 24) / 48, 0);
        for (int k = 0; k < 5; k++) {
            expect_true(vrt_sound_has(counted.sound, k));
            expect_sound(&counted, k, ends[k + 1] - ends[k], 0, 1 + ends[k], 8008);
        }
        expect_true(!vrt_sound_has(counted.sound, 5));
        end_sound(&counted, NULL, NULL);
    }
}

/* What isn't there is silence, and for what is before or after the video there is no place. */
static void test_sound_gaps(void)
{
    struct counted counted = count_sound(AV_CODEC_ID_PCM_S24LE, (struct vrt_rational){ 25, 1 });
    AVPacket *packet = av_packet_alloc();

    /* Before the video: what is hidden isn't missed. */
    add_sound(&counted, 1, 4800, 0, AV_PKT_FLAG_DISCARD);
    add_sound(&counted, 1, 4810, 400, 0);
    add_sound(&counted, 4811, 10, 520, 0);      /* 19.8 ms late: no gap */
    expect_sound(&counted, 0, 1920, 0, 4801, 20);
    packet->pts = 500 + 30040;
    expect_true(!vrt_sound_is_ahead(counted.sound, packet, 0));
    packet->pts++;
    expect_true(vrt_sound_is_ahead(counted.sound, packet, 0));
    add_sound(&counted, 5000, 100, 560, 0);     /* 20 ms late */
    add_sound(&counted, 5100, 2000, AV_NOPTS_VALUE, 0);
    add_sound(&counted, 9, 1000, 560, 0);       /* once more, all of it and but for 100 */
    add_sound(&counted, 5000, 2200, 560, 0);
    expect_sound(&counted, 1, 1920, 960, 5000, 960);
    expect_sound(&counted, 2, 1920, 0, 5960, 1240);
    expect_sound(&counted, 3, 1920, 0, 0, 0);
    vrt_sound_end(counted.sound);
    add_sound(&counted, 1, 100, AV_NOPTS_VALUE, 0);
    expect_true(!vrt_sound_is_ahead(counted.sound, packet, 0));
    av_packet_free(&packet);
    end_sound(&counted, "no sound for 0.11 s", "no place for 0.17 s");
}

TEST_MAIN(
    { "times", test_times }, { "untouched", test_untouched }, { "one-ends", test_one_ends },
    { "any", test_any }, { "retime", test_retime }, { "part", test_part }, { "sound", test_sound },
    { "sound-gaps", test_sound_gaps },
)
