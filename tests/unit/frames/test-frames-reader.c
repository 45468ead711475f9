/* SPDX-License-Identifier: MIT */

/* The reader: what it says of a video, its time stamps, and how it meets bad input. */

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "frames/decode/places.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/test.h"

#define CLIP "-f lavfi -i testsrc2=size=160x90:rate=25 "
#define SINE "-f lavfi -i sine=sample_rate=48000 "

/* One reader with all it needs. */
struct session {
    int fd;
    struct vrt_reader *reader;
    const struct vrt_reader_info *info;
    struct vrt_error error;
};

static int try_open(struct session *s, const char *path, bool strict)
{
    struct vrt_reader_params params = { .n_threads = 2, .strict = strict, .name = "clip" };

    *s = (struct session){ .fd = fixture_open(path) };
    int r = vrt_reader_open(s->fd, &params, &s->reader, &s->error);
    if (r == 0)
        s->info = vrt_reader_info(s->reader);
    return r;
}

static void open_ok(struct session *s, const char *path)
{
    if (try_open(s, path, false) != 0)
        test_fail("%s: %s", path, s->error.message);
}

static void end(struct session *s)
{
    s->reader = vrt_reader_close(s->reader);
    close(s->fd);
}

/* Reads to the end. Return: what the last call returned. */
static int read_all(struct session *s)
{
    struct vrt_frame *frame = NULL;
    int64_t n = 0, last_pts = INT64_MIN;
    int r;

    while ((r = vrt_reader_next(s->reader, &frame, &s->error)) == 0) {
        expect_int(frame->index, n++);
        expect_true(frame->pts > last_pts);
        expect_true(frame->duration > 0);
        last_pts = frame->pts;
        frame = vrt_frame_unref(frame);
    }
    expect_int(s->info->n_frames, n);
    return r;
}

static void test_refused(void)
{
    static const struct {
        const char *name, *content;
        int r;
        const char *id, *part;
    } cases[] = {
        { "text.mp4", "This is no video, whatever its name says; it is a text.\n", -EBADMSG,
          "input.not_media", "not a video" },
        { "music.mp4", "Vgm is the magic number of music for a synthesizer, and this is some.\n",
          -EBADMSG, "input.not_media", "not a video" },
        { "subtitles.srt", "1\n00:00:01,000 --> 00:00:02,000\nHello\n\n2\n00:00:03,000 --> "
          "00:00:04,000\nWorld\n", -ENOENT, "input.no_video", "no video" },
        { "empty.mp4", "", -ENODATA, "input.empty", "clip is empty: it holds no video" },
        { ".", NULL, -EISDIR, "input.not_regular", "clip is a folder: give a video file" },
        { "/dev/zero", NULL, -EBADMSG, "input.not_media", "clip is not a video" },
        { "sound.mp4", NULL, -ENOENT, "input.no_video", "clip holds no video, only sound: give" },
        { "cover.m4a", NULL, -ENOENT, "input.no_video", "only sound and cover art: give a file" },
    };
    struct session s;

    fixture_make("cover.png", CLIP "-frames:v 1");
    fixture_make("sound.mp4", SINE "-t 0.2");
    fixture_make("cover.m4a", "-i sound.mp4 -i cover.png -map 0 -map 1 -c copy -disposition:v "
                 "attached_pic");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const char *path = cases[i].name, *content = cases[i].content;
        if (content)
            path = fixture_write(path, content, strlen(content));
        else if (path[0] != '/')
            path = fixture_path(path);
        fprintf(stderr, "  %s\n", cases[i].name);
        expect_int(try_open(&s, path, false), cases[i].r);
        expect_str(s.error.id, cases[i].id);
        expect_contains(s.error.message, cases[i].part);
        end(&s);
    }
}

/* Bytes that no format claims, and formats cut after their magic. */
static void test_noise(void)
{
    static const char *const heads[] = {
        "", "\x1a\x45\xdf\xa3", "RIFF\xff\xff\xff\xff" "AVI LIST", "OggS", "FLV\x01\x05",
        "\x00\x00\x01\xba", "\x00\x00\x00\x18" "ftypisom", "GIF89a", "\x89PNG\r\n\x1a\n",
        "YUV4MPEG2 W64 H48 F25:1\n", "DKIF", "nut/multimedia container",
    };
    uint32_t state = 1;
    struct session s;
    uint8_t noise[65536];

    for (size_t k = 0; k < VRT_ARRAY_SIZE(heads) * 4; k++) {
        size_t size = k % 4 == 0 ? 64 : sizeof(noise);
        for (size_t i = 0; i < size; i++) {
            state = state * 1664525u + 1013904223u;
            noise[i] = (uint8_t)(state >> 24);
        }
        memcpy(noise, heads[k / 4], strlen(heads[k / 4]));
        int r = try_open(&s, fixture_write("noise.mp4", noise, size), false);
        if (r == 0)
            (void)read_all(&s);
        else
            expect_true(s.error.message[0] && s.error.id);
        end(&s);
    }
}

/* The larger picture is the cover: still not the video. */
static void test_cover_art(void)
{
    struct session s;

    fixture_make("big.png", "-f lavfi -i color=size=640x480 -frames:v 1");
    open_ok(&s, fixture_make("covered.mp4", CLIP "-i big.png -map 1 -map 0 -t 1 -frames:v:1 5 "
                             "-c:v:0 png -c:v:1 libx264 -disposition:v:0 attached_pic"));
    expect_int(s.info->format.width, 160);
    expect_int(s.info->n_covers, 1);
    expect_int(read_all(&s), VRT_READER_END);
    expect_int(s.info->n_frames, 5);
    end(&s);
}

static void test_truncated(void)
{
    struct session s;
    const char *plain = fixture_make("plain.mp4", CLIP "-t 4 -c:v libx264 -preset ultrafast");
    const char *front = fixture_make("front.mp4", "-i plain.mp4 -c copy -movflags +faststart");
    const char *mkv = fixture_make("whole.mkv", "-i plain.mp4 -c copy");
    const char *avi = fixture_make("whole.avi", CLIP "-t 4 -c:v mpeg4 -q:v 2");

    expect_int(try_open(&s, fixture_cut("cut1.mp4", plain, fixture_size(plain) / 2), false),
               -EBADMSG);
    expect_str(s.error.id, "input.truncated");
    expect_contains(s.error.message, "moov");
    end(&s);

    const char *const cut[] = {
        fixture_cut("cut2.mp4", front, fixture_size(front) / 2),
        fixture_cut("cut3.mkv", mkv, fixture_size(mkv) / 2),
        fixture_cut("cut4.avi", avi, fixture_size(avi) / 2),
    };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cut); i++) {
        open_ok(&s, cut[i]);
        expect_true(s.info->truncated);
        expect_int(read_all(&s), VRT_READER_END);
        expect_true(s.info->n_frames > 20 && s.info->n_frames < 80);
        expect_true(fixture_warns(&s.info->warnings, "cut off"));
        end(&s);
        expect_int(try_open(&s, cut[i], true), -EBADMSG);
        expect_str(s.error.id, "input.truncated");
        end(&s);
    }
    const char *const whole[] = { plain, front, mkv, avi };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(whole); i++) {
        open_ok(&s, whole[i]);
        expect_true(!s.info->truncated);
        expect_int(read_all(&s), VRT_READER_END);
        expect_int(s.info->n_frames, 100);
        expect_int(s.info->warnings.n, 0);
        end(&s);
    }
}

/* Overwrites 64 bytes in the middle of packet `index` of the video. */
static void damage_packet(const char *path, int index)
{
    long long offset = 0, size = 0;
    const char *line = fixture_run("ffprobe -v error -select_streams v -show_entries "
                                   "packet=pos,size -of csv=p=0 '%s' | sed -n %dp", path,
                                   index + 1);

    expect_int(sscanf(line, "%lld,%lld", &size, &offset), 2);
    int fd = open(path, O_WRONLY);
    char bytes[64];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 167 + 13);
    expect_true(size > 200);
    expect_int(pwrite(fd, bytes, sizeof(bytes), offset + size / 2), (int)sizeof(bytes));
    close(fd);
}

static void test_damaged(void)
{
    struct session s;
    const char *path = fixture_make("damaged.mp4", CLIP "-t 2 -vf noise=alls=20 -c:v libx264 "
                                    "-preset veryfast -bf 0 -g 10 -coder 0");

    damage_packet(path, 7);
    damage_packet(path, 48);            /* whose error comes at the end */
    for (int n_threads = 1; n_threads <= 4; n_threads += 3) {
        struct vrt_reader_params params = { .n_threads = n_threads };
        s = (struct session){ .fd = fixture_open(path) };
        expect_int(vrt_reader_open(s.fd, &params, &s.reader, &s.error), 0);
        s.info = vrt_reader_info(s.reader);
        expect_int(read_all(&s), VRT_READER_END);
        expect_int(s.info->n_frames, 50);
        expect_int(s.info->n_concealed, 2);
        expect_int(s.info->concealed[0], 7);
        expect_int(s.info->concealed[1], 48);
        expect_true(fixture_warns(&s.info->warnings, "2 damaged frames were concealed: 7, 48"));
        end(&s);
    }
    expect_int(try_open(&s, path, true), 0);
    expect_int(read_all(&s), -EBADMSG);
    expect_contains(s.error.message, "frame 7");
    expect_int(s.info->n_frames, 7);
    end(&s);
}

/* Packets that yield nothing at all: their frames are missing, and said to be. So are then those
 * for which there is time. */
static void test_missing(void)
{
    static const char *const says[] = { "1 frame could not be decoded at all and left a gap, the "
                                        "first near 0.40 s",
                                        "3 frames could not be decoded at all and left a gap, the "
                                        "first near 12.00 s" };

    for (int k = 0; k < 2; k++) {
        struct session s;
        const char *path = fixture_make("missing.mkv", CLIP "-t 16 -vf \"select='not(gte(n,300)*"
                                        "lt(n,%d))'\" -fps_mode passthrough -c:v mjpeg -q:v 2",
                                        300 + 3 * k);
        long long offset = 0;
        const char *line = fixture_run("ffprobe -v error -select_streams v -show_entries "
                                       "packet=pos -of csv=p=0 '%s' | sed -n 11p", path);
        expect_int(sscanf(line, "%lld", &offset), 1);
        /* The JPEG's start marker and tables; the container around it stays whole. */
        int fd = open(path, O_WRONLY);
        char zeros[700] = "";
        expect_int(pwrite(fd, zeros, sizeof(zeros), offset + 16), (int)sizeof(zeros));
        close(fd);
        open_ok(&s, path);
        expect_int(read_all(&s), VRT_READER_END);
        expect_int(s.info->n_frames, 399 - 3 * k);
        expect_int(s.info->n_missing, k ? 3 : 1);
        expect_true(fixture_warns(&s.info->warnings, says[k]));
        end(&s);
        int r = try_open(&s, path, true);
        if (r == 0)
            r = read_all(&s);
        expect_int(r, -EBADMSG);
        end(&s);
    }
}

/* What is told of a file: its frames, codec, pixels, container and aspect; the numbers of its
 * colours; how many frames (?: by its length) in how many seconds, at which rate; how it is
 * turned. Valid until the next call. */
static const char *tell(const struct vrt_reader_info *info)
{
    static char text[512];
    const struct vrt_frame_format *format = &info->format;
    char shape[80];

    vrt_frame_format_describe(format, shape, sizeof(shape));
    snprintf(text, sizeof(text), "%s, %s %s %s %d:%d %d/%d/%d/%d %lld%s %.2f %d/%d%s%s%s%s%s %d%s",
             shape, info->codec, info->pixel_format, info->container, format->sample_aspect.num,
             format->sample_aspect.den, format->primaries, format->transfer, format->color_space,
             format->chroma_location, (long long)info->n_frames_estimate,
             info->is_by_duration ? "?" : "", (double)info->duration_ns / 1e9, info->fps.num,
             info->fps.den, info->variable_rate ? " varied" : "", info->truncated ? " cut" : "",
             info->interlaced ? " fields" : "", info->is_still ? " still" : "",
             info->has_alpha ? " alpha" : "", info->rotation_degrees,
             info->has_display_matrix ? " matrix" : "");
    return text;
}

/* Colours that nobody tells are BT.601's in small pictures, BT.709's in large ones, with chroma on
 * the left. How many frames there are the muxer may have counted. */
static void test_metadata(void)
{
#define FEW CLIP "-frames:v 2 -c:v "
    static const struct {
        const char *name, *made, *told, *says;
    } rows[] = {
        { "turned.mp4", NULL,
          "160x90 yuv420p10 bt2020 full, h264 yuv420p10le mp4 4:3 9/16/9/1 10 0.40 25/1 90 "
          "matrix" },
        { "ycgco.mkv", FEW "ffv1 -vf format=yuv444p,setparams=colorspace=ycgco -colorspace ycgco",
          "160x90 yuv444 bt709 limited, ffv1 yuv444p matroska 1:1 2/2/8/1 2? 0.08 25/1 0",
          "the colour system ycgco is not known to the networks: they see the colours off, and "
          "the result may suffer" },
        /* A bare stream has no times: they are made, and the user is told. */
        { "bare.h264", "-f lavfi -i testsrc2=size=160x90:rate=50 -t 1 -vf setsar=0 -c:v libx264",
          "160x90 yuv420 bt601 limited, h264 yuv420p h264 0:1 2/2/6/1 -1 -0.00 50/1 0",
          "the input has no time stamps: its frames are taken to follow each other at 50.000 a "
          "second" },
        { "alpha.webm", FEW "libvpx-vp9 -cpu-used 8 -pix_fmt yuva420p",
          "160x90 yuv420 bt601 limited, vp9 yuv420p matroska 1:1 2/2/6/1 2? 0.08 25/1 alpha 0" },
        { "large.mkv",
          "-f lavfi -i testsrc2=size=1280x720 -frames:v 1 -c:v ffv1 -pix_fmt yuv420p",
          "1280x720 yuv420 bt709 limited, ffv1 yuv420p matroska 1:1 2/2/1/1 1? 0.04 25/1 0" },
        { "jpeg.avi", FEW "mjpeg -pix_fmt yuvj422p",
          "160x90 yuv422 bt601 full, mjpeg yuvj422p avi 1:1 2/2/5/2 2 0.08 25/1 0" },
        { "dim.exr", CLIP "-frames:v 1 -pix_fmt gbrpf32le",
          "160x90 gbr16 full, exr gbrpf32le exr_pipe 1:1 2/8/0/1 1 -0.00 25/1 still 0" },
        { "alpha.mkv", FEW "ffv1 -pix_fmt yuva444p",
          "160x90 yuv444 bt601 limited, ffv1 yuva444p matroska 1:1 2/2/6/1 2? 0.08 25/1 alpha 0" },
        { "few.mov", FEW "mjpeg",
          "160x90 yuv420 bt601 full, mjpeg yuvj420p mov 1:1 2/2/5/2 2 0.08 25/1 0" },
        { "slower.mov",
          CLIP "-frames:v 20 -vf setpts='if(lt(N\\,10)\\,N/25\\,0.4+(N-10)/5)/TB' "
          "-vsync passthrough -c:v mjpeg",
          "160x90 yuv420 bt601 full, mjpeg yuvj420p mov 1:1 2/2/5/2 20 2.24 125/14 varied 0" },
        { "counted.mkv", FEW "ffv1 -metadata:s:v NUMBER_OF_FRAMES=17",
          "160x90 yuv420 bt601 limited, ffv1 yuv420p matroska 1:1 2/2/6/1 17 0.08 25/1 0" },
        { "uncounted.mkv", CLIP "-t 0.4 -c:v ffv1 -metadata:s:v NUMBER_OF_FRAMES=0",
          "160x90 yuv420 bt601 limited, ffv1 yuv420p matroska 1:1 2/2/6/1 10? 0.40 25/1 0" },
        { "fields.mkv", CLIP "-t 0.4 -c:v mpeg2video -flags +ilme+ildct",
          "160x90 yuv420 bt601 limited, mpeg2video yuv420p matroska 1:1 2/2/6/1 10? 0.40 25/1 "
          "fields 0" },
    };
#undef FEW
    struct session s;

    fixture_make("upright.mp4", CLIP "-t 0.4 -vf setsar=4/3,setparams=color_primaries=bt2020:"
                 "color_trc=smpte2084 -c:v libx264 -color_range pc -color_primaries bt2020 "
                 "-color_trc smpte2084 -colorspace bt2020nc -pix_fmt yuv420p10le");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        open_ok(&s, rows[i].made ? fixture_make(rows[i].name, "%s", rows[i].made) :
                                   fixture_turn(rows[i].name, "upright.mp4"));
        expect_str(tell(s.info), rows[i].told);
        expect_int(read_all(&s), VRT_READER_END);
        expect_str(s.info->warnings.sentences[0], rows[i].says ? rows[i].says : "");
        expect_int(s.info->warnings.n, rows[i].says != NULL);
        end(&s);
    }
}

/* H.264 stores whole blocks and says what to crop: exactly that is gone, on every side. */
static void test_cropped(void)
{
    struct session s;

    fixture_make("uncropped.mp4", CLIP "-frames:v 3 -c:v libx264 -qp 0");
    open_ok(&s, fixture_make("cropped.mp4", "-i uncropped.mp4 -c copy -bsf:v "
                             "h264_metadata=crop_left=6:crop_right=8:crop_top=2:crop_bottom=12"));
    expect_int(s.info->format.width, 146);
    expect_int(s.info->format.height, 82);
    struct vrt_frame *frame = NULL;
    expect_int(vrt_reader_next(s.reader, &frame, &s.error), 0);
    /* Frames outlive their reader. */
    end(&s);
    fixture_make("wanted.raw", "-i uncropped.mp4 -frames:v 1 -vf crop=146:82:6:2 -f rawvideo");
    FILE *wanted = fopen(fixture_path("wanted.raw"), "rb");
    for (int y = 0; y < 82; y++) {
        uint8_t row[146];
        expect_int(fread(row, 1, sizeof(row), wanted), (int)sizeof(row));
        expect_int(memcmp(row, frame->planes[0].data + (size_t)y * frame->planes[0].stride_bytes,
                          sizeof(row)), 0);
    }
    fclose(wanted);
    vrt_frame_unref(frame);
}

static void test_size_change(void)
{
    struct session s;

    fixture_make("one.ts", CLIP "-t 0.4 -c:v libx264");
    fixture_make("two.ts", "-f lavfi -i testsrc2=size=96x64 -t 0.4 -c:v libx264");
    fixture_run("cat one.ts two.ts > both.ts");
    open_ok(&s, fixture_path("both.ts"));
    expect_int(read_all(&s), -ENOTSUP);
    expect_str(s.error.id, "input.changed");
    expect_contains(s.error.message, "from 160x90 to 96x64 at frame 10");
    end(&s);
}

static void test_pipe(void)
{
    struct session s = { 0 };
    struct vrt_reader_params params = { .n_threads = 1 };

    fixture_make("piped.mkv", CLIP "-t 1 -c:v libx264");
    char command[256];
    snprintf(command, sizeof(command), "cat '%s'", fixture_path("piped.mkv"));
    FILE *pipe = popen(command, "r");
    expect_int(vrt_reader_open(fileno(pipe), &params, &s.reader, &s.error), 0);
    s.info = vrt_reader_info(s.reader);
    expect_int(read_all(&s), VRT_READER_END);
    expect_int(s.info->n_frames, 25);
    vrt_reader_close(s.reader);
    pclose(pipe);
}

/* A pipe that never gives anything: only the cancel flag helps. */
static void test_cancel(void)
{
    atomic_bool cancel = true;
    struct vrt_reader_params params = { .n_threads = 1, .cancel = &cancel };
    struct vrt_reader *reader = NULL;
    struct vrt_frame *frame = NULL;
    struct vrt_error error = { 0 };
    int fds[2];

    expect_int(pipe(fds), 0);
    expect_int(vrt_reader_open(fds[0], &params, &reader, &error), -ECANCELED);
    expect_str(error.id, "cancelled");
    close(fds[0]);
    close(fds[1]);

    cancel = false;
    int fd = fixture_open(fixture_make("cancel.mkv", CLIP "-t 4 -c:v libx264 -bf 0"));
    expect_int(vrt_reader_open(fd, &params, &reader, &error), 0);
    expect_int(vrt_reader_next(reader, &frame, &error), 0);
    vrt_frame_unref(frame);
    cancel = true;
    int r, n = 0;
    while ((r = vrt_reader_next(reader, &frame, &error)) == 0 && n++ < 50)
        vrt_frame_unref(frame);
    expect_int(r, -ECANCELED);
    vrt_reader_close(reader);
    close(fd);
}

/* What is decoded into another process's file is what is decoded anywhere: blocks and edges beyond
 * the picture, fields, depths, and decoders that bring their own memory. */
static void test_places(void)
{
    static const struct {
        const char *name, *arguments;
        bool is_decoded_there;
    } cases[] = {
        { "h264.mkv", CLIP "-t 2 -c:v libx264 -bf 3 -refs 6", true },
        { "odd.mkv", "-f lavfi -i testsrc2=size=131x77 -t 1 -pix_fmt yuv444p10 -c:v libx264",
          true },
        { "fields.mkv", CLIP "-t 1 -c:v mpeg2video -flags +ildct+ilme", true },
        { "edges.avi", CLIP "-t 1 -c:v mpeg4 -bf 2 -flags +qpel", true },
        { "vp9.webm", CLIP "-t 0.4 -c:v libvpx-vp9 -cpu-used 8", true },
        { "prores.mov", CLIP "-t 0.2 -c:v prores_ks -pix_fmt yuv444p10", true },
        { "own.mkv", CLIP "-t 0.2 -c:v libsvtav1 -preset 12", false },
    };
    const struct vrt_reader_params params = { .n_threads = 3 };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const char *path = fixture_make(cases[i].name, "%s", cases[i].arguments);
        VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *file = NULL, *copy = NULL;
        struct vrt_places *places;
        struct vrt_frame *there, *here;
        struct vrt_reader *readers[2] = { NULL };
        struct vrt_error error = { 0 };
        const int fd = fixture_open(path);
        bool is_there = false;
        int r;
        for (int k = 0; k < 2; k++)
            expect_int(vrt_reader_open(fd, &params, &readers[k], &error), 0);
        const struct vrt_frame_format *format = &vrt_reader_info(readers[0])->format;
        expect_int(vrt_frame_new_shared(format, &file), 0);
        expect_int(vrt_frame_new(format, &copy), 0);
        expect_int(vrt_places_new(file->share.fd, format, &places), 0);
        vrt_reader_decode_into(readers[0], places);
        while ((r = vrt_reader_next(readers[0], &there, &error)) == 0) {
            struct vrt_frame_share planes[VRT_FRAME_MAX_PLANES];
            expect_int(vrt_reader_next(readers[1], &here, &error), 0);
            vrt_places_show(places, there, planes);
            is_there = planes[0].offset_bytes > 0;
            expect_int(vrt_frame_take_samples(file, planes, copy), 0);
            expect_int(fixture_hash(copy), fixture_hash(here));
            vrt_frame_unref(there);
            vrt_frame_unref(here);
        }
        expect_int(r, VRT_READER_END);
        expect_int(is_there, cases[i].is_decoded_there);
        /* Two readers on one descriptor disturb neither each other nor its offset. */
        expect_int(lseek(fd, 0, SEEK_CUR), 0);
        vrt_reader_close(readers[0]);
        vrt_reader_close(readers[1]);
        close(fd);
        vrt_places_free(places);
    }
}

TEST_MAIN_AFTER(fixture_init(),
    { "refused", test_refused }, { "noise", test_noise }, { "cover-art", test_cover_art },
    { "truncated", test_truncated }, { "damaged", test_damaged }, { "missing", test_missing },
    { "metadata", test_metadata }, { "cropped", test_cropped },
    { "size-change", test_size_change }, { "pipe", test_pipe }, { "cancel", test_cancel },
    { "places", test_places },
)
