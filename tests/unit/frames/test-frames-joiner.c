/* SPDX-License-Identifier: MIT */

/* The finished file: what it carries over, exact times, and what happens when things go wrong. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/frames/frames-restore.h"
#include "frames/encode/sink.h"
#include "frames/join/join-video.h"
#include "tests/unit/test.h"

#define CLIP "-f lavfi -i testsrc2=size=160x90:rate=25 "
#define SINE "-f lavfi -i sine=sample_rate=48000 "
#define FAST "-c:v libx264 -preset ultrafast "

static const char *const outs[] = { "out.mp4", "out.mov", "out.mkv" };
static const struct restore_params usual = { .quality = 25, .segment_frames = 12 };

/* A copy that stays, up to 8 of them. */
static const char *keep(const char *said)
{
    static char results[8][65536];
    static int next;
    char *result = results[next++ % 8];

    snprintf(result, sizeof(results[0]), "%s", said);
    return result;
}

/* What ffprobe says of `name`. */
static const char *probe(const char *name, const char *arguments)
{
    return keep(fixture_run("ffprobe -v error %s '%s'", arguments, name));
}

static void convert(const char *in, const char *out, struct restore_result *result)
{
    restore_ok(fixture_path(in), fixture_path(out), &usual, result);
}

/* Presentation times of all video packets, sorted, in seconds. */
static const char *video_times(const char *name)
{
    return keep(fixture_run("ffprobe -v error -select_streams v:0 -show_entries packet=pts_time "
                            "-of csv=p=0 '%s' | tr -d , | sort -n", name));
}

/* Variable frame rate: every time stamp arrives, whatever the container counts in. */
static void test_variable_rate(void)
{
    struct restore_result result;

    fixture_make("in.mp4", CLIP "-frames:v 40 -vf \"settb=1/90000,"
                 "setpts='3600*N+977*mod(N,3)+31*mod(N,7)'\" -vsync vfr -enc_time_base 1/90000 "
                 "-video_track_timescale 90000 -bf 2 " FAST);
    for (int b = 0; b < 2; b++) {
        convert("in.mp4", b ? "out.mov" : "out.mp4", &result);
        expect_str(video_times(b ? "out.mov" : "out.mp4"), video_times("in.mp4"));
    }
    expect_str(probe("out.mp4", "-select_streams v -show_entries stream=time_base -of csv=p=0"),
               "1/90000");
    convert("in.mp4", "out.mkv", &result);
    fixture_run("ffmpeg -v error -y -i in.mp4 -c copy -copyts wanted.mkv");
    expect_str(video_times("out.mkv"), video_times("wanted.mkv"));
    convert("out.mkv", "again.mkv", &result);
    expect_str(video_times("again.mkv"), video_times("out.mkv"));
    /* A time base with a numerator, as AVI has it. */
    fixture_make("in.avi", "-f lavfi -i testsrc2=size=160x90:rate=30000/1001 -frames:v 20 -c:v "
                 "mjpeg");
    convert("in.avi", "out.mp4", &result);
    expect_str(video_times("out.mp4"), video_times("in.avi"));
}

/* All decoding times increase, none is later than its presentation, across segments too. */
static void test_decoding_times(void)
{
    struct restore_params params = { .quality = 25, .segment_frames = 7 };
    struct restore_result result;
    long long last = INT64_MIN, pts, dts;
    int n = 0, used;

    fixture_make("in.mkv", CLIP "-frames:v 40 " FAST);
    for (int codec = VRT_CODEC_H264; codec <= VRT_CODEC_HEVC; codec++) {
        params.codec = (enum vrt_codec)codec;
        restore_ok(fixture_path("in.mkv"), fixture_path("out.mp4"), &params, &result);
        const char *next = probe("out.mp4", "-select_streams v -show_entries packet=pts,dts -of "
                                 "csv=p=0");
        last = INT64_MIN;
        for (n = 0; sscanf(next, "%lld,%lld%n", &pts, &dts, &used) == 2; n++) {
            expect_true(dts > last && pts >= dts);
            last = dts;
            next += used;
            next += strspn(next, ",\n");
        }
        expect_int(n, 40);
        expect_str(fixture_run("ffmpeg -v warning -i out.mp4 -f null - 2>&1"), "");
    }
}

/* The sound's packets are the input's, and begin when they did, to the sample. */
static void test_sound(void)
{
    struct restore_result result;

    fixture_make("in.mp4", CLIP SINE SINE "-map 0 -map 1 -map 2 -t 2 -c:a:0 aac -c:a:1 libmp3lame "
                 FAST);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(outs); i++) {
        convert("in.mp4", outs[i], &result);
        expect_int(result.joined.warnings.n, 0);
        for (int k = 0; k < 2; k++) {
            fixture_run("for f in in.mp4 %s; do ffprobe -v error -select_streams a:%d "
                        "-show_packets -show_data_hash md5 $f | grep data_hash > $f.hashes; done; "
                        "cmp in.mp4.hashes %s.hashes && test $(wc -l < in.mp4.hashes) -gt 80",
                        outs[i], k, outs[i]);
        }
    }
    static const char times[] = "-select_streams a:0 -show_entries packet=pts,duration -of csv=p=0";
    expect_str(probe("out.mp4", times), probe("in.mp4", times));
    expect_str(probe("out.mov", times), probe("in.mp4", times));

    /* Sound that begins later or earlier than the pictures: the difference stays. */
    for (int late = 0; late < 2; late++) {
        fixture_run("ffmpeg -v error -y -i in.mp4 -itsoffset %s -i in.mp4 -map 0:v -map 1:a:0 "
                    "-c copy shifted.mp4", late ? "0.52" : "-0.48");
        for (size_t i = 0; i < VRT_ARRAY_SIZE(outs); i++) {
            double found[2] = { 0 };
            convert("shifted.mp4", outs[i], &result);
            for (int k = 0; k < 2; k++) {
                double video = 0, audio = 0;
                const char *said =
                    fixture_run("for s in v a; do ffprobe -v error -select_streams $s -show_entries"
                                " packet=pts_time -of csv=p=0 %s | tr -d , | sort -n | head -1; "
                                "done", k ? outs[i] : "shifted.mp4");
                expect_int(sscanf(said, "%lf\n%lf", &video, &audio), 2);
                found[k] = audio - video;
            }
            expect_near(found[1], found[0], 0.001);
        }
    }
}

static void make_rich(const char *audio)
{
    static const char srt[] = "1\n00:00:00,200 --> 00:00:00,800\n<i>First</i> line\n\n"
                              "2\n00:00:01,000 --> 00:00:01,500\nSecond\n";
    static const char tags[] = ";FFMETADATA1\ntitle=A title\nartist=Someone\nmood=odd\n"
                               "[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=300\ntitle=Zero\n"
                               "[CHAPTER]\nTIMEBASE=1/1000\nSTART=300\nEND=900\ntitle=One\n"
                               "[CHAPTER]\nTIMEBASE=1/1000\nSTART=900\nEND=1900\ntitle=Two\n"
                               "[CHAPTER]\nTIMEBASE=1/1000\nSTART=1900\nEND=2000\ntitle=End\n";

    fixture_write("text.srt", srt, sizeof(srt) - 1);
    fixture_write("tags.txt", tags, sizeof(tags) - 1);
    fixture_write("font.ttf", "not really a font", 17);
    fixture_make("cover.png", "-f lavfi -i color=red:size=40x40 -frames:v 1");
    fixture_make("rich.mkv", CLIP SINE "-i text.srt -i tags.txt -map 0 -map 1 -map 2 -map_metadata "
                 "3 -map_chapters 3 -t 2 -c:a %s -c:s srt -attach font.ttf "
                 "-metadata:s:t mimetype=application/x-truetype-font -attach cover.png "
                 "-metadata:s:t:1 mimetype=image/png -metadata:s:t:1 filename=cover.png "
                 "-metadata:s:a language=deu -metadata:s:a title=Ton -metadata:s:s language=fra "
                 "-disposition:s forced -vf setsar=4/3 " FAST, audio);
}

static void test_carries_to_mkv(void)
{
    struct restore_result result;
    static const char *const streams =
        "-show_entries stream=codec_name,codec_type,sample_aspect_ratio:stream_tags=language,title,"
        "filename,mimetype:stream_disposition=default,forced,attached_pic -of compact";
    static const char *const rest =
        "-show_chapters -show_entries format_tags=title,artist,mood -show_entries "
        "chapter=start,end:chapter_tags=title -of compact";

    /* Without a start before 0, for which FFmpeg 7.1 and later move chapters, too. */
    make_rich("flac");
    convert("rich.mkv", "out.mkv", &result);
    expect_int(result.joined.warnings.n, 0);
    expect_int(result.info.n_covers, 1);
    expect_int(result.info.n_attachments, 1);
    expect_int(result.info.n_subtitles, 1);
    expect_int(result.info.n_chapters, 4);
    expect_str(probe("out.mkv", streams), probe("rich.mkv", streams));
    expect_str(probe("out.mkv", rest), probe("rich.mkv", rest));
    static const char texts[] = "-select_streams s -show_packets -show_data_hash md5 -show_entries "
                                "packet=pts,duration,data_hash -of csv=p=0";
    expect_str(probe("out.mkv", texts), probe("rich.mkv", texts));
    fixture_run("ffmpeg -v error -y -dump_attachment:t:0 dumped.ttf -i out.mkv -map 0:v:0 -c copy "
                "-f null - && cmp dumped.ttf font.ttf");
    fixture_run("ffmpeg -v error -y -i out.mkv -map 0:m:mimetype:image/png -c copy -f image2 "
                "dumped.png && cmp dumped.png cover.png");
}

static void test_carries_to_mp4(void)
{
    struct restore_result result;

    make_rich("aac");
    struct vrt_warnings preview = { 0 };
    struct vrt_error error = { 0 };
    VRT_CLEANUP(vrt_closep) int fd = fixture_open(fixture_path("rich.mkv"));
    const struct vrt_joiner_preview look = {
        .input_fd = fd,
        .input_name = "rich.mkv",
        .container = VRT_CONTAINER_MP4,
    };
    struct vrt_joiner_rest rest;
    expect_int(vrt_joiner_preview(&look, &rest, &preview, &error), 0);
    expect_int(rest.size_bytes, 0);
    convert("rich.mkv", "out.mp4", &result);
    expect_int(preview.n, 1);
    expect_str(preview.sentences[0], result.joined.warnings.sentences[0]);
    expect_contains(preview.sentences[0], "attachment stream");
    expect_contains(preview.sentences[0], "name the output .mkv to keep it");
    expect_int(result.joined.warnings.n, 1);
    expect_contains(probe("out.mp4", "-show_entries stream=codec_name -of csv=p=0"), "mov_text");
    expect_contains(probe("out.mp4", "-show_entries format_tags -of compact"), "title=A title");
    expect_str(probe("out.mp4", "-show_entries chapter=start_time,end_time:chapter_tags=title "
                     "-of csv=p=0"), "0.000000,0.300000,Zero\n0.300000,0.900000,One\n"
               "0.900000,1.900000,Two\n1.900000,2.000000,End");
    expect_contains(probe("out.mp4", "-select_streams a -show_entries stream_tags -of compact"),
                    "language=deu");
    expect_contains(probe("out.mp4", "-select_streams v:0 -show_entries "
                          "stream=sample_aspect_ratio -of compact"), "4:3");
    fixture_run("for f in rich.mkv out.mp4; do ffmpeg -v error -y -copyts -i $f -map 0:s -f srt "
                "$f.srt; done; sed 's/<[^>]*>//g' rich.mkv.srt > wanted.srt");
    expect_contains(fixture_run("cat wanted.srt"), "First line");
    fixture_run("sed 's/<[^>]*>//g' out.mp4.srt | cmp - wanted.srt");
    fixture_run("ffmpeg -v error -y -i out.mp4 -map 0:v:1 -c copy -f image2 dumped.png && "
                "cmp dumped.png cover.png");

    /* And back again: the cover is an attached picture, the subtitles are SubRip. */
    convert("out.mp4", "back.mkv", &result);
    expect_int(result.joined.warnings.n, 0);
    expect_contains(probe("back.mkv", "-show_entries stream=codec_name -of csv=p=0"), "subrip");
    expect_contains(probe("back.mkv", "-show_entries stream_tags -of compact"),
                    "mimetype=image/png");
    expect_str(fixture_run("ffprobe -v error -select_streams s -show_entries packet=pts -of "
                           "csv=p=0 back.mkv | wc -l"), "2");
    /* MOV has no place for the cover, but chapters and the rest. */
    convert("out.mp4", "out.mov", &result);
    expect_true(fixture_warns(&result.joined.warnings, "cover art"));
    expect_str(fixture_run("ffprobe -v error -show_chapters -of csv=p=0 out.mov | wc -l"), "4");
}

/* How much there is beside the video, of what is kept. */
static void test_rest(void)
{
    static const struct {
        enum vrt_container container;
        const char *streams;
        int n_sound, n_text, n_covers;
    } rows[] = {
        { VRT_CONTAINER_MP4, NULL, 1, 1, 1 }, { VRT_CONTAINER_MKV, "v,s", 0, 1, 1 },
        { VRT_CONTAINER_TS, "v:0,a", 1, 0, 0 },
    };
    long long sizes[3] = { 0 }, counts[3] = { 0 };

    make_rich("aac");
    for (int i = 1; i < 3; i++)
        expect_int(sscanf(fixture_run("ffprobe -v error -select_streams %d -show_entries "
                                      "packet=size -of csv=p=0 rich.mkv | awk -F, '{ n++; s += $1 }"
                                      " END { print n, s }'", i), "%lld %lld", &counts[i],
                          &sizes[i]), 2);
    VRT_CLEANUP(vrt_closep) int fd = fixture_open(fixture_path("rich.mkv"));
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        const int64_t cover = rows[i].n_covers * fixture_size(fixture_path("cover.png"));
        const int64_t size = rows[i].n_sound * sizes[1] + rows[i].n_text * sizes[2];
        const int64_t n = rows[i].n_sound * counts[1] + rows[i].n_text * counts[2];
        /* Longer than the film, whose all it is; then half of it. */
        for (int half = 0; half < 2; half++) {
            const struct vrt_joiner_preview look = {
                .input_fd = fd, .container = rows[i].container, .streams = rows[i].streams,
                .span_ns = (half ? 1 : 4) * VRT_NS_PER_S,
            };
            struct vrt_warnings warnings = { .n = 0 };
            struct vrt_error error = { .id = NULL };
            struct vrt_joiner_rest rest;
            expect_int(vrt_joiner_preview(&look, &rest, &warnings, &error), 0);
            if (half && !rows[i].n_sound)
                continue;
            expect_near(rest.size_bytes - cover, half ? size / 2 : size, half ? size / 20 : 0);
            expect_near(rest.n_packets, half ? n / 2 : n, half ? n / 20 : 0);
        }
    }
}

/* Of a part: lines that begin before it are shortened, and its first picture is the moment 0. */
static void test_part(void)
{
    const struct vrt_reader_range range = { 400 * VRT_NS_PER_MS, 800 * VRT_NS_PER_MS };
    const struct restore_params params = { .quality = 25, .range = range };
    struct restore_result result;

    make_rich("flac");
    restore_ok(fixture_path("rich.mkv"), fixture_path("out.mkv"), &params, &result);
    expect_int(result.joined.n_frames, 20);
    expect_str(probe("out.mkv", "-select_streams s -show_entries packet=pts_time,duration_time "
                     "-of csv=p=0"), "0.000000,0.400000\n0.600000,0.500000");
    expect_str(probe("out.mkv", "-show_entries chapter=start_time,end_time:chapter_tags=title "
                     "-of csv=p=0"), "0.000000,0.500000,One\n0.500000,0.800000,Two");
    expect_str(fixture_run("ffprobe -v error -select_streams a -show_entries packet=pts_time -of "
                           "csv=p=0 out.mkv | awk -F, '$1 >= 0 && $1 < 0.8 { n++ } END { print "
                           "(n == NR && n > 7 && n < 11) }'"), "1");
}

/* Tags of no common kind survive in MP4 too, where there is no cover art. */
static void test_unusual_tags(void)
{
    struct restore_result result;

    fixture_make("in.mkv", CLIP "-t 0.4 -metadata title=T -metadata MOOD=odd -metadata "
                 "com.apple.quicktime.make=Camera " FAST);
    convert("in.mkv", "out.mp4", &result);
    const char *tags = probe("out.mp4", "-show_entries format_tags -of compact");
    expect_contains(tags, "title=T");
    expect_contains(tags, "MOOD=odd");
    expect_contains(tags, "COM.APPLE.QUICKTIME.MAKE=Camera");
}

static void test_rotation_and_colors(void)
{
    static const char *const properties =
        "-select_streams v:0 -show_entries stream=pix_fmt,color_range,color_space,color_transfer,"
        "color_primaries,chroma_location,sample_aspect_ratio:stream_side_data=rotation -of compact";
    struct restore_result result;

    fixture_make("upright.mp4", CLIP "-t 0.4 -vf setsar=4/3 -color_range pc -color_primaries "
                 "bt2020 -color_trc smpte2084 -colorspace bt2020nc -chroma_sample_location topleft "
                 "-pix_fmt yuv420p10le " FAST);
    fixture_turn("turned.mp4", "upright.mp4");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(outs); i++) {
        bool is_mkv = strstr(outs[i], "mkv");
        for (int codec = VRT_CODEC_H264; codec <= VRT_CODEC_HEVC; codec++) {
            const struct restore_params params = { .codec = (enum vrt_codec)codec, .quality = 25 };
            const char *in = is_mkv ? "upright.mp4" : "turned.mp4";
            restore_ok(fixture_path(in), fixture_path(outs[i]), &params, &result);
            expect_str(probe(outs[i], properties), probe(in, properties));
        }
    }
    convert("turned.mp4", "out.mkv", &result);
    if (!strstr(probe("out.mkv", properties), "rotation"))
        expect_true(fixture_warns(&result.joined.warnings, "rotat"));
}

#define YUV(width_) { .width = width_, .height = 48, .depth = 8, .layout = VRT_LAYOUT_YUV, \
    .chroma_shift_x = 1, .chroma_shift_y = 1, .full_range = true, .primaries = 2, .transfer = 2, \
    .color_space = 2, .chroma_location = VRT_CHROMA_LOCATION_CENTER, .sample_aspect = { 1, 1 } }
#define PARAMS(codec_, preset_, width_, num_, den_) { .codec = codec_, .quality = VRT_UNKNOWN, \
    .preset = preset_, .n_threads = 1, .format = YUV(width_), .time_base = { num_, den_ }, \
    .fps = { 25, 1 } }

/* Frames of stripes in a segment file, which is left open. */
static int make_segment(const char *name, const struct vrt_encoder_params *params, int n_frames)
{
    VRT_CLEANUP(vrt_encoder_freep) struct vrt_encoder *encoder = NULL;
    struct vrt_error error = { .id = NULL };
    int64_t size_bytes;
    const int fd = open(fixture_path(name), O_RDWR | O_CREAT | O_TRUNC, 0600);

    if (vrt_encoder_new(params, fd, &encoder, &error) < 0)
        test_fail("%s", error.message);
    for (int i = 0; i < n_frames; i++) {
        VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = NULL;
        expect_int(vrt_frame_new(&params->format, &frame), 0);
        for (int p = 0; p < 3; p++)
            for (int y = 0; y < frame->planes[p].height; y++)
                memset(frame->planes[p].data + (size_t)y * frame->planes[p].stride_bytes,
                       100 + 29 * y * (i + 1) % 100, (size_t)frame->planes[p].width);
        frame->pts = frame->index = i;
        frame->duration = 1;
        expect_int(vrt_encoder_send(encoder, frame, &error), 0);
    }
    expect_int(vrt_encoder_finish(encoder, &size_bytes, &error), 0);
    expect_int(size_bytes, fixture_size(fixture_path(name)));
    return fd;
}

/* Of 10 frames, and the video that they are to be the pictures of. */
static int make_pair(int *ret_input_fd)
{
    static const struct vrt_encoder_params params = PARAMS(VRT_CODEC_H264, "ultrafast", 64, 1, 25);

    *ret_input_fd = fixture_open(fixture_make("in.mkv", CLIP SINE "-frames:v 10 " FAST));
    return make_segment("segment", &params, 10);
}

static int open_segment(void *ctx, int number)
{
    return fcntl(((const int *)ctx)[number], F_DUPFD_CLOEXEC, 0);
}

/* Segments that aren't of one video are none. */
static void test_unlike(void)
{
    static const struct vrt_encoder_params plain = PARAMS(VRT_CODEC_MJPEG, NULL, 64, 1, 25);
    static const struct vrt_encoder_params others[] = {
        PARAMS(VRT_CODEC_MJPEG, NULL, 64, 1, 25), PARAMS(VRT_CODEC_MJPEG, NULL, 48, 1, 25),
        PARAMS(VRT_CODEC_VP9, NULL, 64, 1, 25), PARAMS(VRT_CODEC_MJPEG, NULL, 64, 2, 25),
        PARAMS(VRT_CODEC_MJPEG, NULL, 64, 1, 50),
        PARAMS(VRT_CODEC_H264, "ultrafast", 64, 1, 25), PARAMS(VRT_CODEC_H264, NULL, 64, 1, 25),
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(others); i++) {
        const bool is_head = others[i].codec == VRT_CODEC_H264;
        int fds[] = { make_segment("first", is_head ? &others[5] : &plain,
                                   VRT_SEGMENT_MAX_DELAY),
                      make_segment("second", &others[i], 2) };
        const struct vrt_joiner_segments segments = { .open = open_segment, .ctx = fds, .n = 2 };
        struct vrt_join_video *video = NULL;
        struct vrt_error error = { .id = NULL };
        fprintf(stderr, "  row %zu\n", i);
        const int r = vrt_join_video_open(&segments, &video, &error);
        expect_int(r, i == 0 || i == 5 ? 0 : -EBADMSG);
        if (r == 0)
            expect_true(video->n_frames == VRT_SEGMENT_MAX_DELAY + 2 &&
                        video->n_first == VRT_SEGMENT_MAX_DELAY + 1 &&
                        video->first_pts[VRT_SEGMENT_MAX_DELAY] == 0);
        else
            expect_contains(error.message, "segment 2 of the restored video does not fit");
        vrt_join_video_close(video);
        close(fds[0]);
        close(fds[1]);
    }
}

static int try_join(int segment_fd, int input_fd, const atomic_bool *cancel,
                    struct vrt_joiner_result *result, struct vrt_error *error)
{
    int out = open(fixture_path("joined.mp4"), O_RDWR | O_CREAT, 0600);
    const struct vrt_joiner_params params = {
        .segments = { .open = open_segment, .ctx = &segment_fd, .n = 1 },
        .input_fd = input_fd, .output_fd = out,
        .container = VRT_CONTAINER_MP4, .cancel = cancel,
    };

    *error = (struct vrt_error){ 0 };
    int r = vrt_joiner_run(&params, result, error);
    close(out);
    return r;
}

/* A bit flipped anywhere in a segment, or its end cut off, is noticed. */
static void test_damaged_segment(void)
{
    struct vrt_joiner_result result;
    struct vrt_error error;
    int input_fd;
    int fd = make_pair(&input_fd);

    int64_t n_frames = 0;
    expect_int(try_join(fd, input_fd, NULL, &result, &error), 0);
    expect_int(vrt_joiner_check_segment(fd, 0, VRT_JOINER_CHECK_ALL, &n_frames, &error), 0);
    expect_int(n_frames--, 10);
    expect_int(vrt_joiner_check_segment(fd, 0, VRT_JOINER_CHECK_ENDS, &n_frames, &error), 0);
    expect_int(n_frames, 10);
    int64_t size = fixture_size(fixture_path("segment"));
    for (int64_t at = 0; at < size; at += at < 200 || at > size - 300 ? 5 : size / 23) {
        uint8_t byte, flipped;
        expect_int(pread(fd, &byte, 1, at), 1);
        flipped = byte ^ 0x10;
        expect_int(pwrite(fd, &flipped, 1, at), 1);
        expect_int(try_join(fd, input_fd, NULL, &result, &error), -EBADMSG);
        expect_str(error.id, "segment.damaged");
        error = (struct vrt_error){ 0 };
        expect_int(vrt_joiner_check_segment(fd, 6, VRT_JOINER_CHECK_ALL, &n_frames, &error),
                   -EBADMSG);
        expect_contains(error.message, "segment 7 of the restored video");
        expect_int(pwrite(fd, &byte, 1, at), 1);
    }
    expect_int(try_join(fd, input_fd, NULL, &result, &error), 0);
    int unread_fd = open(fixture_path("segment"), O_WRONLY | O_CLOEXEC);
    expect_int(vrt_joiner_check_segment(unread_fd, 0, VRT_JOINER_CHECK_ENDS, &n_frames, &error),
               -EBADF);
    close(unread_fd);
    for (int i = 0; i < 10; i++) {
        expect_int(ftruncate(fd, size - 1 - i * (size / 10)), 0);
        expect_int(try_join(fd, input_fd, NULL, &result, &error), -EBADMSG);
        expect_int(vrt_joiner_check_segment(fd, 0, VRT_JOINER_CHECK_ENDS, &n_frames, &error),
                   -EBADMSG);
    }
    expect_int(ftruncate(fd, 0), 0);
    expect_int(try_join(fd, input_fd, NULL, &result, &error), -EBADMSG);
    close(fd);
    close(input_fd);
}

static void test_verify(void)
{
    struct vrt_joiner_result result;
    struct vrt_error error;
    int input_fd;
    int fd = make_pair(&input_fd);
    const atomic_bool cancel = true;

    expect_int(try_join(fd, input_fd, &cancel, &result, &error), -ECANCELED);
    expect_str(error.id, "cancelled");
    expect_int(try_join(fd, input_fd, NULL, &result, &error), 0);
    expect_int(result.n_frames, 10);
    expect_int(result.duration_ns, 400000000);
    int out = fixture_open(fixture_path("joined.mp4"));
    struct vrt_joiner_expected expected = { 10, 360000000 };
    expect_int(vrt_joiner_verify(out, &expected, NULL, &error), 0);
    expected.n_frames = 11;
    expect_int(vrt_joiner_verify(out, &expected, NULL, &error), -EBADMSG);
    expect_contains(error.message, "10 frames where 11 were restored");
    error = (struct vrt_error){ 0 };
    expected = (struct vrt_joiner_expected){ 10, 400000000 };
    expect_int(vrt_joiner_verify(out, &expected, NULL, &error), -EBADMSG);
    expect_contains(error.message, "comes 0.360 s after the first instead of 0.400 s");
    close(out);
    out = fixture_open(fixture_cut("half.mp4", fixture_path("joined.mp4"), 2000));
    expect_int(vrt_joiner_verify(out, &expected, NULL, &error), -EBADMSG);
    close(out);
    close(fd);
    close(input_fd);
}

/* No room for the file: the sentence says so, and what to do. */
static void test_no_room(void)
{
    struct vrt_joiner_result result;
    struct vrt_error error;
    struct rlimit limit, small;
    int input_fd;
    int fd = make_pair(&input_fd);

    signal(SIGXFSZ, SIG_IGN);
    expect_int(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    small.rlim_cur = 3000;
    expect_int(setrlimit(RLIMIT_FSIZE, &small), 0);
    int r = try_join(fd, input_fd, NULL, &result, &error);
    expect_int(setrlimit(RLIMIT_FSIZE, &limit), 0);
    expect_int(r, -EFBIG);
    expect_contains(error.message, "the working file grew too large");

    const struct vrt_sink full = { .write_error = -ENOSPC };
    error = (struct vrt_error){ 0 };
    expect_int(vrt_sink_check(&full, 0, &error), -ENOSPC);
    expect_str(error.id, "spool.full");
    expect_contains(error.message, "the working file's disk is full");
    close(fd);
    close(input_fd);
}

static void test_memory(void)
{
    const struct restore_params params = { .quality = 30, .segment_frames = 100 };
    struct restore_result result;
    int64_t rss[3];

    fixture_make("short.mkv", "-f lavfi -i testsrc2=size=320x180:rate=25 " SINE "-t 4 " FAST);
    fixture_make("long.mkv", "-f lavfi -i testsrc2=size=320x180:rate=25 " SINE "-t 40 " FAST);
    for (int i = 0; i < 3; i++) {
        restore_ok(fixture_path(i == 2 ? "long.mkv" : "short.mkv"), fixture_path("out.mp4"),
                   &params, &result);
        rss[i] = fixture_rss_bytes();
    }
    expect_true(rss[2] - rss[1] < 4 * 1024 * 1024);
}

TEST_MAIN_AFTER(fixture_init(),
    { "variable-rate", test_variable_rate }, { "decoding-times", test_decoding_times },
    { "sound", test_sound }, { "carries-to-mkv", test_carries_to_mkv },
    { "carries-to-mp4", test_carries_to_mp4 }, { "rest", test_rest }, { "part", test_part },
    { "unusual-tags", test_unusual_tags }, { "rotation-and-colors", test_rotation_and_colors },
    { "unlike", test_unlike }, { "damaged-segment", test_damaged_segment },
    { "verify", test_verify }, { "no-room", test_no_room }, { "memory", test_memory },
)
