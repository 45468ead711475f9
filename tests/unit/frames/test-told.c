/* SPDX-License-Identifier: MIT */

/* What is told of a video, and none is needed for it: which of its streams go on, and as what; when
 * its frames are shown, and what was found by its end. And what else than pixels the file of a
 * picture has. */

#include <errno.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "frames/decode/reader-info.h"
#include "frames/join/join-streams.h"
#include "frames/preview/pair.h"
#include "frames/still/embed.h"
#include "frames/still/exif.h"
#include "frames/streams/select.h"
#include "frames/streams/stream-info.h"
#include "tests/unit/test.h"

static AVStream *add_stream(AVFormatContext *format, enum AVMediaType type, enum AVCodecID id)
{
    AVStream *stream = avformat_new_stream(format, NULL);

    expect_true(stream != NULL);
    stream->codecpar->codec_type = type;
    stream->codecpar->codec_id = id;
    stream->time_base = (AVRational){ 1, 1000 };
    return stream;
}

/* All sentences, each on a line; valid until the next call. */
static const char *said(const struct vrt_warnings *warnings)
{
    static char text[4096];
    size_t n = 0;

    text[0] = '\0';
    for (int i = 0; i < warnings->n; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s\n", warnings->sentences[i]);
    return text;
}

/* Streams 0 to 4: two videos, two of sound, subtitles; by which number each was chosen, and which
 * video is restored: of those that were chosen first the default one, then the largest. */
static void test_select(void)
{
    static const struct {
        const char *specifiers, *ranks;
        int r, picked;
        const char *says;
    } rows[] = {
        { "", "00000", 0, 1, NULL }, { "v:1,a", "-011-", 0, 1, NULL },
        { "a,v:1,1", "-100-", 0, 1, NULL }, { "-s", "0000-", 0, 1, NULL },
        { "v,a,-a:m:language:eng", "001--", 0, 1, NULL }, { "-a,a:0", "001-0", 0, 1, NULL },
        { "d?,v", "11---", 0, 1, NULL }, { "-d", "00000", 0, 1, NULL },
        { "-v:1", "0-000", 0, 0, NULL }, { "v:0,v", "01---", 0, 0, NULL },
        { "4", "----0", 0, -ENOENT, "chosen of clip have no video to restore among them: add v" },
        { "d", NULL, -ENOENT, 0, "clip has no stream that \"d\" matches: it has 0 video h264, 1 "
          "video vp9, 2 audio aac (deu), 3 audio aac (eng), 4 subtitle subrip" },
        { "v,", NULL, -EINVAL, 0, "\"\" is no stream specifier" },
        { "-", NULL, -EINVAL, 0, "\"\"" },
        { "v,what", NULL, -EINVAL, 0, "\"what\" is no stream" }, { "?", NULL, -EINVAL, 0, "\"\"" },
    };
    static const struct {
        enum AVMediaType type;
        enum AVCodecID id;
        const char *language;
    } streams[] = {
        { AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_H264, NULL },
        { AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_VP9, NULL },
        { AVMEDIA_TYPE_AUDIO, AV_CODEC_ID_AAC, "deu" },
        { AVMEDIA_TYPE_AUDIO, AV_CODEC_ID_AAC, "eng" },
        { AVMEDIA_TYPE_SUBTITLE, AV_CODEC_ID_SUBRIP, NULL },
    };
    AVFormatContext *format = avformat_alloc_context();
    int ranks[5];
    struct vrt_source source = { .format = format, .n_streams = 5, .ranks = ranks, .name = "clip" };
    char text[400];

    for (size_t i = 0; i < VRT_ARRAY_SIZE(streams); i++) {
        AVStream *stream = add_stream(format, streams[i].type, streams[i].id);
        stream->codecpar->width = stream->codecpar->height = i == 0 ? 64 : 48;
        stream->disposition = i == 1 ? AV_DISPOSITION_DEFAULT : 0;
        if (streams[i].language)
            av_dict_set(&stream->metadata, "language", streams[i].language, 0);
    }
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct vrt_error error = { .id = NULL };
        fprintf(stderr, "  \"%s\"\n", rows[i].specifiers);
        expect_int(vrt_select(format, rows[i].specifiers, "clip", ranks, &error), rows[i].r);
        for (int k = 0; k < 5 && rows[i].ranks; k++)
            expect_int(ranks[k], rows[i].ranks[k] == '-' ? -1 : rows[i].ranks[k] - '0');
        if (rows[i].r == 0)
            expect_int(vrt_source_pick_video(&source, &error), rows[i].picked);
        if (rows[i].says) {
            expect_str(error.id, "input.streams");
            expect_contains(error.message, rows[i].says);
        }
    }
    /* Where neither is the default one the larger, of as many pixels the first. */
    memset(ranks, 0, sizeof(ranks));
    format->streams[1]->disposition = 0;
    for (int width = 47; width < 50; width++) {
        format->streams[1]->codecpar->width = format->streams[1]->codecpar->height = width;
        format->streams[0]->codecpar->width = format->streams[0]->codecpar->height = 48;
        expect_int(vrt_source_pick_video(&source, NULL), width > 48);
    }
    for (int i = 5; i < 13; i++)
        add_stream(format, AVMEDIA_TYPE_DATA, AV_CODEC_ID_NONE);
    expect_contains(vrt_select_list(format, text, sizeof(text)), ", 11 data none and 1 more");
    vrt_select_list(format, text, 30);
    expect_true(strlen(text) < 30 && strncmp(text, "0 video h264", 12) == 0);
    avformat_free_context(format);
}

/* Of a film with some of everything: what each container makes of it, and what is said of that. */
static void test_plan(void)
{
    static const struct {
        enum vrt_container container;
        enum vrt_join_care care;
        const char *kinds;          /* of enum vrt_join_kind, in its order: "-rcvsCa" */
        int n_said;
        const char *says;
    } rows[] = {
        { VRT_CONTAINER_MP4, VRT_JOIN_EVERYTHING, "rc-v--C-c", 4,
          "subtitle stream 3 (ass) loses most of its styles in .mp4\n"
          "subtitle stream 4 (hdmv_pgs_subtitle) cannot be kept in .mp4: name the output .mkv to "
          "keep it\nattachment stream 5 (ttf) cannot be kept in .mp4: name the output .mkv to "
          "keep it\nvideo stream 8 is kept as it is: only stream 0 is restored\n" },
        { VRT_CONTAINER_MKV, VRT_JOIN_EVERYTHING, "rccccca-c", 1, "video stream 8" },
        { VRT_CONTAINER_TS, VRT_JOIN_EVERYTHING, "rc-------", 7,
          "\nthe film's chapters and tags cannot be kept in .ts: name the output .mkv to" },
        { VRT_CONTAINER_MXF, VRT_JOIN_EVERYTHING, "r-s------", 7, "tags cannot be" },
        { VRT_CONTAINER_MP4, VRT_JOIN_PICTURE_AND_SOUND, "rc-------", 5, "it\n" },
        /* Where it refused more than that another one is named. */
        { VRT_CONTAINER_MKV, VRT_JOIN_PICTURE, "r--------", 7,
          "attachment stream 5 (ttf) cannot be kept in .mkv\ncover art stream 6 (png) cannot be "
          "kept in .mkv: name the output .mp4 to keep it\n" },
    };
    static const struct {
        enum AVMediaType type;
        enum AVCodecID id;
    } streams[] = {
        { AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_H264 }, { AVMEDIA_TYPE_AUDIO, AV_CODEC_ID_MP3 },
        { AVMEDIA_TYPE_AUDIO, AV_CODEC_ID_PCM_S24BE }, { AVMEDIA_TYPE_SUBTITLE, AV_CODEC_ID_ASS },
        { AVMEDIA_TYPE_SUBTITLE, AV_CODEC_ID_HDMV_PGS_SUBTITLE },
        { AVMEDIA_TYPE_ATTACHMENT, AV_CODEC_ID_TTF }, { AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_PNG },
        { AVMEDIA_TYPE_DATA, AV_CODEC_ID_NONE }, { AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_MJPEG },
    };
    enum { N = VRT_ARRAY_SIZE(streams) };
    AVFormatContext *format = avformat_alloc_context();
    bool is_unwanted[N];
    int ranks[N] = { 0 };
    struct vrt_source source = { .format = format, .n_streams = N, .ranks = ranks,
                                 .is_unwanted = is_unwanted };

    for (int i = 0; i < N; i++) {
        AVCodecParameters *par = add_stream(format, streams[i].type, streams[i].id)->codecpar;
        par->sample_rate = 48000;
        par->frame_size = 1152;
        par->ch_layout = (AVChannelLayout)AV_CHANNEL_LAYOUT_STEREO;
        par->width = par->height = 64;
    }
    format->streams[6]->disposition = AV_DISPOSITION_ATTACHED_PIC;
    format->streams[6]->attached_pic.size = 9;
    format->streams[7]->codecpar->codec_tag = MKTAG('t', 'm', 'c', 'd');
    av_dict_set(&format->metadata, "title", "a film", 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct vrt_join_streams plan = { .container = rows[i].container, .source = &source };
        struct vrt_warnings warnings = { .n = 0 };
        fprintf(stderr, "  row %zu\n", i);
        /* Newer FFmpegs have a place for it in MP4. */
        ranks[2] = rows[i].container == VRT_CONTAINER_MP4 ? VRT_SELECT_NONE : 0;
        expect_int(vrt_join_streams_plan(&plan, rows[i].care, &warnings), 0);
        for (int k = 0; k < N; k++) {
            expect_int("-rcvsCa"[plan.streams[k].kind], rows[i].kinds[k]);
            expect_int(is_unwanted[k], !strchr("cvs", rows[i].kinds[k]));
        }
        expect_int(warnings.n, rows[i].n_said);
        expect_contains(said(&warnings), rows[i].says);
        expect_int(vrt_join_streams_has_others(&plan), strpbrk(rows[i].kinds, "cv") != NULL);
        vrt_join_streams_done(&plan);
    }
    avformat_free_context(format);
}

#define NONE AV_NOPTS_VALUE

/* Frames are shown as they say, or later than the one before: of 25 a second, in milliseconds. */
static void test_times(void)
{
    static const struct {
        int64_t best, pts, shown;
        int n_repaired, n_undated, n_guessed;
        bool may_lack;
    } steps[] = {
        { NONE, NONE, 0, 1, 1, 1, true },    { 100, 100, 100, 1, 1, 1, false },
        { NONE, NONE, 140, 1, 2, 2, true },  { 140, 140, 141, 2, 2, 2, true },
        { 90, 90, 142, 3, 2, 2, false },     { NONE, NONE, 182, 4, 3, 3, false },
        { 200, 199, 200, 4, 3, 4, false },   { 201, 201, 201, 4, 3, 4, false },
    };
    struct vrt_reader_times times = { .time_base = { 1, 1000 }, .fps = { 25, 1 } };
    AVFrame *frame = av_frame_alloc();

    for (int i = 0; i < (int)VRT_ARRAY_SIZE(steps); i++) {
        fprintf(stderr, "  step %d\n", i);
        times.may_lack = steps[i].may_lack;
        frame->best_effort_timestamp = steps[i].best;
        frame->pts = steps[i].pts;
        expect_int(vrt_reader_times_repair(&times, frame, i + 7), steps[i].shown);
        vrt_reader_times_note(&times, frame, steps[i].shown);
        expect_int(times.last_duration, 40);
        expect_int(times.n_repaired, steps[i].n_repaired);
        expect_int(times.n_undated, steps[i].n_undated);
        expect_int(times.n_guessed, steps[i].n_guessed);
    }
    expect_int(times.first_repaired, 7);
    expect_near(vrt_reader_times_end_s(&times), 0.241, 1e-9);
    /* Half a frame's time is no gap. */
    vrt_reader_times_measure(&times, 261);
    expect_int(times.n_gaps, 0);
    vrt_reader_times_measure(&times, 262);
    vrt_reader_times_measure(&times, 361);
    expect_true(times.n_gaps == 4 && times.first_gap == 241);
    times.fps.num = 0;
    expect_int(vrt_reader_times_duration(&times, frame), 1);
    vrt_reader_times_forget(&times);
    expect_true(times.n_repaired == 0 && times.n_undated == 0 && times.n_guessed == 0);
    av_frame_free(&frame);
}

/* What is said at the end, of a video of 5 frames a second that ends at 3 s. */
static void test_sum_up(void)
{
    static const struct {
        const char *frames;         /* "x": concealed; all of it 40 times where .is_long */
        bool is_long;
        int64_t n_missing;
        struct vrt_reader_end end;
        struct vrt_reader_times times;
        const char *says;
    } rows[] = {
        { "...", false, 0, { .n_decoded = 3 }, { .n_undated = 2 }, "" },
        { ".....x..............xxxxxx.", false, 0, { .n_decoded = 27 }, { .n_gaps = 1 },
          "7 damaged frames were concealed: 5, 20-25\n" },
        { "x", false, 0, { .n_decoded = 1, .is_cut_off = true }, { .n_undated = 0 },
          "the input ends after 1 frame (3.00 s), where it is cut off\n"
          "1 damaged frame was concealed: 0\n" },
        { "xx", true, 0, { .n_decoded = 80 }, { .n_undated = 0 },
          "80 damaged frames were concealed: 0-63, ...\n" },
        { "x.", true, 0, { .n_decoded = 80 }, { .n_undated = 0 },
          "40 damaged frames were concealed: 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, "
          "28, 30, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, ...\n" },
        { "", false, 1, { .n_decoded = 9, .is_broken = true, .first_missing = 10 },
          { .n_undated = 0 }, "the input cannot be read beyond frame 9 (3.00 s): the rest is "
          "damaged and was left out\n1 frame could not be decoded at all and left a gap, the first "
          "near 2.00 s\n" },
        { "", false, 2, { .n_decoded = 2, .is_cut_off = true, .n_jumps = 1 },
          { .n_repaired = 1, .first_repaired = 8 },
          "the input ends after 2 frames (3.00 s), where it is cut off\n"
          "2 frames could not be decoded at all and left a gap, the first near 0.00 s\n"
          "the input's clock jumps 1 time, as where recordings were joined: what follows each is "
          "joined on without a gap\nthe time stamps of 1 frame were missing or not increasing and "
          "have been repaired, the first at frame 8\n" },
        { "", false, 0, { .n_decoded = 9, .has_late = true, .n_jumps = 2 },
          { .n_repaired = 9, .n_undated = 9 },
          "other streams of pictures or sound begin in the midst of the input, as where different "
          "recordings were joined, and are left out: split it there\n"
          "the input's clock jumps 2 times, as where recordings were joined: what follows each is "
          "joined on without a gap\nthe input has no time stamps: its frames are taken to follow "
          "each other at 5.000 a second\n" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct vrt_reader_info info = { .n_missing = rows[i].n_missing };
        struct vrt_reader_times times = rows[i].times;
        struct vrt_reader_end end = rows[i].end;
        const size_t length = strlen(rows[i].frames);
        for (size_t k = 0; k < length * (rows[i].is_long ? 40 : 1); k++) {
            struct vrt_frame frame = { .concealed = rows[i].frames[k % length] == 'x' };
            vrt_reader_info_count(&info, &frame);
            expect_int(frame.index, k);
        }
        times.time_base = (AVRational){ 1, 5 };
        times.last_pts = 14;
        times.last_duration = 1;
        end.times = &times;
        fprintf(stderr, "  row %zu\n", i);
        vrt_reader_info_sum_up(&info, &end);
        expect_str(said(&info.warnings), rows[i].says);
    }
}

#define BYTES(s) { (const uint8_t *)(s), sizeof(s) - 1 }
/* EXIF of one entry: the picture is to be turned. */
#define TURNED "II*\0\10\0\0\0\1\0\22\1\3\0\1\0\0\0\6\0\0\0\0\0\0\0"
#define TURNED_IN_JPEG "\xff\xe1\0\42" "Exif\0\0" TURNED
#define TURNED_IN_PNG "\0\0\0\32" "eXIf" TURNED "\xb7\x48\x11\x29"
#define PNG "\x89PNG\r\n\x1a\n"
#define ENTRY(tag) tag "\3\0\1\0\0\0\6\0\0\0"

static void expect_bytes(const struct vrt_buf *found, const struct vrt_still_part *wanted)
{
    expect_int(found->size_bytes, wanted->size);
    expect_true(!wanted->size || memcmp(found->data, wanted->data, wanted->size) == 0);
}

/* What is taken for EXIF of such a file, and whether there was more. */
static void check_exif(const struct vrt_still_part *file, const struct vrt_still_part *block,
                       bool is_part)
{
    FILE *stored = tmpfile();
    struct vrt_exif exif;

    expect_true(stored && fwrite(file->data, 1, file->size, stored) == file->size);
    expect_int(fflush(stored), 0);
    expect_int(vrt_exif_read(fileno(stored), &exif), 0);
    expect_bytes(&exif.block, block);
    expect_int(exif.is_part, is_part);
    vrt_buf_done(&exif.block);
    fclose(stored);
}

static void test_exif(void)
{
    static const struct {
        struct vrt_still_part file, block;
        bool is_part;
    } rows[] = {
        { BYTES("\xff\xd8" "\xff\xe0\0\4ab" "\xff\xe1\0\14" "http://ab" "c" TURNED_IN_JPEG),
          BYTES(TURNED) },
        { BYTES("\xff\xd8" "\xff\xe1\0\10" "Exif\0\0" TURNED_IN_JPEG), BYTES(TURNED) },
        { BYTES("\xff\xd8" "\xff\xda\0\4ab" TURNED_IN_JPEG) },
        { BYTES("\xff\xd8" "\xff\xe0\0\4ab\0" TURNED_IN_JPEG) },
        { BYTES(PNG "\0\0\0\2" "tEXtabcrc1" TURNED_IN_PNG), BYTES(TURNED) },
        { BYTES(PNG "\0\0\0\0" "IENDcrc1" TURNED_IN_PNG) },
        { BYTES(PNG "\0\0\0\10" "eXIfabcdefghcrc1"), BYTES("abcdefgh") },
        { BYTES(PNG "\0\0\0\7" "eXIfabcdefgcrc1") },
        { BYTES(PNG "\0\0\xff\xf7" "eXIf"), .is_part = false },
        { BYTES(PNG "\0\0\xff\xf8" "eXIf"), .is_part = true },
        { BYTES("RIFF\0\0\0\0WEBP" "VP8 \3\0\0\0abc\0" "VP8 \2\0\0\0ab" "EXIF\40\0\0\0"
                "Exif\0\0" TURNED), BYTES(TURNED) },
        { BYTES("RIFF\0\0\0\0WEBP" "EXIF\32\0\0\0" TURNED), BYTES(TURNED) },
        { BYTES("RIFF\0\0\0\0WAVE" "EXIF\32\0\0\0" TURNED) },
        { BYTES("II*\0\12\0\0\0ab" "\2\0" ENTRY("\0\1") ENTRY("\22\1")), BYTES(TURNED) },
        { BYTES("MM\0*\0\0\0\10" "\0\2" "\1\22\0\3\0\0\0\1\0\6\0\0" "\x87\x69\0\4\0\0\0\1\0\0\0\0"),
          BYTES(TURNED), true },
        { BYTES("II*\0\10\0\0\0" "\1\0" "\22\1\4\0\1\0\0\0\6\0\0\0") },
        { BYTES("II*\0\10\0\0\0" "\2\0" ENTRY("\22\1")) },
        { BYTES("II+\0\10\0\0\0" "\1\0" ENTRY("\22\1")) },
    };
    static const uint8_t big[] = "MM\0*\0\0\0\11" "-\0\1" "\1\22\0\3\0\0\0\1\0\5\0\0";
    uint8_t turned[] = TURNED;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        fprintf(stderr, "  row %zu\n", i);
        check_exif(&rows[i].file, &rows[i].block, rows[i].is_part);
    }
    for (uint8_t i = 0; i < 10; i++) {
        const bool tells = i > 1 && i < 9;
        turned[18] = i;
        expect_int(vrt_exif_orientation(turned, 26), tells ? i : 1);
        check_exif(&(struct vrt_still_part){ turned, 26 },
                   &(struct vrt_still_part){ turned, tells ? 26 : 0 }, false);
    }
    turned[18] = 6;
    for (uint8_t i = 0; i < 3; i++) {
        turned[8] = i;
        expect_int(vrt_exif_orientation(turned, 26), i == 1 ? 6 : 1);
    }
    turned[7] = 0xff;
    expect_int(vrt_exif_orientation(turned, 26), 1);
    for (size_t size = 22; size < 24; size++)
        expect_int(vrt_exif_orientation(big, size), size < 23 ? 1 : 5);
}

#define IHDR PNG "\0\0\0\15" "IHDR-------------crc1"
#define IDAT "\0\0\0\0" "IDATcrc2"
#define JFIF "\xff\xd8" "\xff\xe0\0\4ab"
#define PROFILE "\xff\xe2\0\27" "ICC_PROFILE\0\1\1profile"
#define PIXELS "\10\0\0\0" "/\2\x40\0\x10---"

static const uint8_t large[2 * 65519] = { [65519] = 7 };

/* What becomes of a picture of 3 x 2 that gets EXIF and a profile. */
static const struct {
    enum vrt_container container;
    int r;
    struct vrt_still_part picture, exif, icc, made;
} embedded[] = {
    { VRT_CONTAINER_PNG, 0, BYTES(IHDR "\0\0\0\1" "eXIf-crc3" IDAT "\0\0\0\0" "iCCPcrc4"),
      BYTES("new"), BYTES("profile"),
      BYTES(IHDR "\0\0\0\34" "iCCPICC profile\0\0\x78\x9c\x2b\x28\xca\x4f\xcb\xcc\x49\5\0"
            "\x0b\xfe\x02\xf2" "\xe5\x35\xd1\xbe" "\0\0\0\1" "eXIf-crc3" IDAT "\0\0\0\0"
            "iCCPcrc4") },
    { VRT_CONTAINER_PNG, 0, BYTES(IHDR "\0\0\0\1" "iCCP-crc3" IDAT "\0\0\0\0" "eXIfcrc4"),
      BYTES(TURNED), BYTES("profile"),
      BYTES(IHDR TURNED_IN_PNG "\0\0\0\1" "iCCP-crc3" IDAT "\0\0\0\0" "eXIfcrc4") },
    { VRT_CONTAINER_PNG, 0, BYTES(IHDR), BYTES(TURNED), { 0 }, BYTES(IHDR TURNED_IN_PNG) },
    { VRT_CONTAINER_PNG, -EBADMSG, BYTES(PNG), BYTES("new") },
    { VRT_CONTAINER_JPG, 0, BYTES(JFIF "\xff\xe2\0\20MPF..........." "\xff\xda\0\2" PROFILE),
      BYTES(TURNED), BYTES("profile"),
      BYTES(JFIF TURNED_IN_JPEG PROFILE "\xff\xe2\0\20MPF..........." "\xff\xda\0\2"
            PROFILE) },
    { VRT_CONTAINER_JPG, 0, BYTES("\xff\xd8" "\xff\xdb\0\4ab" PROFILE),
      BYTES(TURNED), BYTES("other"),
      BYTES("\xff\xd8" TURNED_IN_JPEG "\xff\xdb\0\4ab" PROFILE) },
    { VRT_CONTAINER_JPG, -EMSGSIZE, BYTES(JFIF PROFILE), { large, VRT_EXIF_BYTES_MAX + 1 } },
    { VRT_CONTAINER_JPG, -EBADMSG, BYTES("\xff\xd9" "------------------"), BYTES("new") },
    { VRT_CONTAINER_JPG, -EBADMSG, BYTES("\xff\xd8\xff\xe0\0\21--------------"), BYTES("new") },
    { VRT_CONTAINER_WEBP, 0, BYTES("RIFF\24\0\0\0WEBPVP8L" PIXELS), BYTES(TURNED),
      BYTES("profile"),
      BYTES("RIFF\130\0\0\0WEBP" "VP8X\12\0\0\0\70\0\0\0\2\0\0\1\0\0" "ICCP\7\0\0\0profile\0"
            "VP8L" PIXELS "EXIF\32\0\0\0" TURNED) },
    { VRT_CONTAINER_WEBP, 0, BYTES("RIFF\24\0\0\0WEBPVP8 " PIXELS), BYTES("even"), { 0 },
      BYTES("RIFF\62\0\0\0WEBP" "VP8X\12\0\0\0\10\0\0\0\2\0\0\1\0\0" "VP8 " PIXELS
            "EXIF\4\0\0\0even") },
    { VRT_CONTAINER_WEBP, 0, BYTES("RIFF\24\0\0\0WEBPVP8 " PIXELS), { 0 }, BYTES("even"),
      BYTES("RIFF\62\0\0\0WEBP" "VP8X\12\0\0\0\40\0\0\0\2\0\0\1\0\0" "ICCP\4\0\0\0even"
            "VP8 " PIXELS) },
    { VRT_CONTAINER_WEBP, -EBADMSG, BYTES("RIFF\24\0\0\0WEBPVP8X" PIXELS), BYTES("new") },
    { VRT_CONTAINER_TIFF, 0, BYTES("II*\0\12\0\0\0ab" "\2\0" ENTRY("\0\1") ENTRY("\25\1")
                                   "\0\0\0\0" "c"),
      BYTES(TURNED), BYTES("profile"),
      BYTES("II*\0\62\0\0\0ab" "\2\0" ENTRY("\0\1") ENTRY("\25\1") "\0\0\0\0" "c" "\0"
            "profile\0" "\4\0" ENTRY("\0\1") ENTRY("\22\1") ENTRY("\25\1")
            "\x73\x87\7\0\7\0\0\0\52\0\0\0" "\0\0\0\0") },
    { VRT_CONTAINER_TIFF, 0, BYTES("II*\0\10\0\0\0" "\1\0" ENTRY("\22\1") "\0\0\0\0"),
      BYTES(TURNED), { 0 },
      BYTES("II*\0\32\0\0\0" "\1\0" ENTRY("\22\1") "\0\0\0\0" "\1\0" ENTRY("\22\1")
            "\0\0\0\0") },
    { VRT_CONTAINER_TIFF, -EBADMSG, BYTES("II*\0\10\0\0\0" "\1\0" ENTRY("\22\1") "\0\0\0"),
      BYTES(TURNED) },
    { VRT_CONTAINER_TIFF, -EBADMSG, BYTES("II*\0\10\0\0\0"), BYTES(TURNED) },
    { VRT_CONTAINER_TIFF, 0, BYTES("II*\0\10\0\0\0" "\0\0\0\0\0\0"), BYTES("new"), { 0 },
      BYTES("II*\0\16\0\0\0" "\0\0\0\0\0\0" "\0\0\0\0\0\0") },
    { VRT_CONTAINER_EXR, 0, BYTES("plain"), { 0 }, { 0 }, BYTES("plain") },
    { VRT_CONTAINER_EXR, -EMSGSIZE, BYTES("plain"), BYTES(TURNED) },
};

static void test_embed(void)
{
    const struct vrt_still_parts cut = { BYTES("\xff\xd8" "\xff\xe0\0\4ab" "------------"),
                                         .icc = { large, sizeof(large) } };
    VRT_CLEANUP(vrt_buf_done) struct vrt_buf pieces = { .limit_bytes = 0 };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(embedded); i++) {
        const struct vrt_still_parts parts = { embedded[i].picture, embedded[i].exif,
                                               embedded[i].icc, 3, 2 };
        VRT_CLEANUP(vrt_buf_done) struct vrt_buf made = { .limit_bytes = 0 };
        fprintf(stderr, "  row %zu\n", i);
        expect_int(vrt_still_embed(embedded[i].container, &parts, &made), embedded[i].r);
        if (embedded[i].r == 0)
            expect_bytes(&made, &embedded[i].made);
    }
    /* A profile that is too large for a segment is cut into several. */
    expect_int(vrt_still_embed(VRT_CONTAINER_JPG, &cut, &pieces), 0);
    expect_int(pieces.size_bytes, 20 + 2 * 18 + sizeof(large));
    expect_int(memcmp(pieces.data + 8, "\xff\xe2\xff\xffICC_PROFILE\0\1\2", 18), 0);
    expect_int(memcmp(pieces.data + 65545, "\xff\xe2\xff\xffICC_PROFILE\0\2\2\7", 19), 0);
}

/* What a file says of a stream, and what is told of it. What can't be is unknown, 0. */
static void test_info(void)
{
    enum { VIDEO = AVMEDIA_TYPE_VIDEO, AUDIO = AVMEDIA_TYPE_AUDIO };
    static const struct {
        AVCodecParameters par;
        AVRational fps;
        struct vrt_stream_info told;
    } rows[] = {
        { { .codec_type = VIDEO, .width = 64, .height = 48, .sample_rate = 5, .bit_rate = 9 },
          { 30, 1 }, { .kind = VRT_STREAM_VIDEO, .width = 64, .height = 48, .fps_num = 30,
                       .fps_den = 1, .bitrate = 9, .disposition = "default,forced" } },
        { { .codec_type = VIDEO, .bit_rate = -9 }, { 0, 0 }, { .kind = VRT_STREAM_VIDEO } },
        { { .codec_type = VIDEO, .width = -64, .height = -1 }, { 1, 0 },
          { .kind = VRT_STREAM_VIDEO } },
        { { .codec_type = VIDEO }, { -1, 1 }, { .kind = VRT_STREAM_VIDEO } },
        { { .codec_type = AUDIO, .width = 5, .height = 5, .sample_rate = 48000,
            .ch_layout.nb_channels = 2 }, { 3, 1 },
          { .kind = VRT_STREAM_AUDIO, .sample_rate = 48000, .channels = 2 } },
        { { .codec_type = AUDIO, .sample_rate = -1, .ch_layout.nb_channels = -1 }, { 0, 1 },
          { .kind = VRT_STREAM_AUDIO } },
        { { .codec_type = AUDIO }, { 0, 1 }, { .kind = VRT_STREAM_AUDIO } },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        AVCodecParameters par = rows[i].par;
        const AVStream stream = { .codecpar = &par, .avg_frame_rate = rows[i].fps, .disposition =
            i ? 0 : AV_DISPOSITION_DEFAULT | AV_DISPOSITION_FORCED };
        struct vrt_stream_info told, wanted = rows[i].told;
        fprintf(stderr, "  row %zu\n", i);
        wanted.fate = VRT_STREAM_COPIED;
        wanted.fps_den = VRT_MAX(wanted.fps_den, 1);
        snprintf(wanted.codec, sizeof(wanted.codec), "none");
        vrt_stream_info_fill(&stream, VRT_STREAM_COPIED, &told);
        expect_int(memcmp(&told, &wanted, sizeof(told)), 0);
    }
}

/* A picture for eyes is no larger than they need, and keeps its shape. */
static void test_pair(void)
{
    static const int rows[][4] = { { 8192, 1, 8192, 1 }, { 4, 16384, 2, 4096 } };
    FILE *file = tmpfile();

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        const struct vrt_frame_format format = { rows[i][0], rows[i][1], 8, VRT_LAYOUT_GRAY };
        VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = NULL;
        struct vrt_pair_size size;
        expect_int(vrt_frame_new(&format, &frame), 0);
        expect_int(vrt_pair_write(fileno(file), frame, frame, &size, NULL), 0);
        expect_true(size.width == rows[i][2] && size.height == rows[i][3]);
    }
    fclose(file);
}

TEST_MAIN(
    { "info", test_info }, { "pair", test_pair },
    { "select", test_select }, { "plan", test_plan }, { "times", test_times },
    { "sum-up", test_sum_up }, { "exif", test_exif }, { "embed", test_embed },
)
