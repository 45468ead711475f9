/* SPDX-License-Identifier: MIT */

/*
 * Frames of an interlaced video are those that the ffmpeg program makes with its bwdif, bit by bit,
 * and come when it shows them; and whether a video is interlaced is found, whatever it says.
 */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "frames/decode/interlacing.h"
#include "frames/filter/deinterlacer.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/frames/frames-restore.h"
#include "tests/unit/test.h"

/* A film, of which each four frames became five, of 30 a second. */
#define FILM "-f lavfi -i testsrc2=size=160x240:rate=24000/1001:duration=2,scroll=h=0.02:v=0.01 "
#define TELECINED FILM "-vf telecine=first_field=top:pattern=23,setfield=tff "

/* 50 moments a second, of which each frame shows two; and 25 of them. */
#define MOVING "-f lavfi -i testsrc2=size=160x240:rate=50:duration=2,scroll=h=0.01:v=0.005 "
#define TOP_FIRST MOVING "-vf tinterlace=interleave_top,setfield=tff "
#define BOTTOM_FIRST MOVING "-vf tinterlace=interleave_bottom,setfield=bff "
#define WHOLE "-f lavfi -i testsrc2=size=160x240:rate=25:duration=2,scroll=h=0.02:v=0.01 "
#define FFV1 "-c:v ffv1 -flags +ildct+ilme -pix_fmt yuv420p"

static double tick_s(const struct fixture_reading *reading)
{
    return (double)reading->info.time_base.num / reading->info.time_base.den;
}

static double shown_s(const struct fixture_reading *reading, int i)
{
    return (double)reading->pts[i] * tick_s(reading);
}

static void read_all(const char *path, struct vrt_fields fields, struct vrt_reader_range range,
                     struct fixture_reading *ret_reading)
{
    VRT_CLEANUP(vrt_closep) int fd = fixture_open(path);
    const struct vrt_reader_params params = { .range = range, .n_threads = 2, .fields = fields,
                                              .name = "clip" };

    if (fixture_read(fd, &params, ret_reading) != VRT_READER_END)
        test_fail("%s: %s", path, ret_reading->error.message);
    expect_int(ret_reading->info.n_frames, ret_reading->n);
}

static const struct vrt_reader_range all = { 0, 0 };

/* Of the file's frames `fields` makes what `chain` does in the ffmpeg program, so many at least. */
static void expect_as_ffmpeg(const char *path, struct vrt_fields fields, const char *chain,
                             int n_least)
{
    static struct fixture_reading ours, theirs;

    const char *made = fixture_make("theirs.nut", "-i %s -vf %s -fps_mode passthrough -c:v ffv1",
                                    path, chain);
    read_all(made, (struct vrt_fields){ 0 }, all, &theirs);
    read_all(path, fields, all, &ours);
    expect_int(ours.n, theirs.n);
    expect_true(ours.n >= n_least);
    for (int i = 0; i < ours.n; i++)
        if (ours.hashes[i] != theirs.hashes[i])
            test_fail("%s: frame %d isn't that of %s", path, i, chain);
    for (int i = 0; i < ours.n; i++)
        expect_near(shown_s(&ours, i) - shown_s(&ours, 0),
                    shown_s(&theirs, i) - shown_s(&theirs, 0), 0.0011);
    expect_int(ours.info.warnings.n, 0);
}

static const struct vrt_fields by_frame = { VRT_DEINTERLACE_FRAME, VRT_FIELD_ORDER_FLAGGED };
static const struct vrt_fields by_field = { VRT_DEINTERLACE_FIELD, VRT_FIELD_ORDER_FLAGGED };

static void test_as_ffmpeg(void)
{
    const char *const made[] = {
        fixture_make("top.mkv", TOP_FIRST FFV1),
        fixture_make("bottom.mkv", BOTTOM_FIRST FFV1),
        fixture_make("mpeg.mpg", TOP_FIRST "-c:v mpeg2video -flags +ildct+ilme -b:v 4M"),
        fixture_make("deep.mkv", TOP_FIRST "-c:v ffv1 -flags +ildct+ilme -pix_fmt yuv422p10"),
        fixture_make("silent.mkv", MOVING "-vf tinterlace=interleave_top,setfield=prog "
                     "-c:v ffv1 -pix_fmt yuv420p"),
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(made); i++) {
        expect_as_ffmpeg(made[i], by_frame, "bwdif=mode=send_frame:parity=auto:deint=all", 50);
        expect_as_ffmpeg(made[i], by_field, "bwdif=mode=send_field:parity=auto:deint=all", 50);
    }
    expect_as_ffmpeg(made[1], (struct vrt_fields){ VRT_DEINTERLACE_FRAME, VRT_FIELD_ORDER_TOP },
                     "bwdif=mode=send_frame:parity=tff:deint=all", 50);
    expect_as_ffmpeg(made[0], (struct vrt_fields){ VRT_DEINTERLACE_FRAME,
                                                   VRT_FIELD_ORDER_BOTTOM },
                     "bwdif=mode=send_frame:parity=bff:deint=all", 50);
}

/* Twice as many, of twice the rate. */
static void test_fields(void)
{
    static struct fixture_reading fields;
    const char *path = fixture_make("rate.mp4", TOP_FIRST "-c:v mpeg2video -flags +ildct+ilme");

    read_all(path, by_field, all, &fields);
    expect_int(fields.n, 100);
    expect_int(fields.info.n_frames_estimate, 100);
    expect_near((double)fields.info.fps.num / fields.info.fps.den, 50, 0.001);
}

/* What a part begins and ends with was seen beside frames that aren't in it. */
static void test_part(void)
{
    static struct fixture_reading whole, part;
    const char *path = fixture_make("part.mkv", TOP_FIRST
                                    "-c:v mpeg2video -flags +ildct+ilme -g 5 -bf 2");
    const struct vrt_reader_range ranges[] = {
        { 0, VRT_NS_PER_S / 2 }, { VRT_NS_PER_S, VRT_NS_PER_S / 2 }, { 1200 * VRT_NS_PER_MS, 0 },
        { 720 * VRT_NS_PER_MS, 40 * VRT_NS_PER_MS },
    };
    const struct vrt_fields *const made[] = { &by_frame, &by_field };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(ranges) * VRT_ARRAY_SIZE(made); i++) {
        const struct vrt_reader_range range = ranges[i / VRT_ARRAY_SIZE(made)];
        const struct vrt_fields fields = *made[i % VRT_ARRAY_SIZE(made)];
        read_all(path, fields, all, &whole);
        read_all(path, fields, range, &part);
        int first = 0;
        while (shown_s(&whole, first) - shown_s(&whole, 0) < (double)range.start_ns / 1e9 - 0.002)
            first++;
        expect_true(part.n > 0 && first + part.n <= whole.n);
        for (int k = 0; k < part.n; k++)
            if (part.hashes[k] != whole.hashes[first + k])
                test_fail("range %zu: frame %d is another", i, k);
        int64_t n_ns = range.duration_ns ? range.duration_ns : 2 * VRT_NS_PER_S - range.start_ns;
        int64_t n_frames = (n_ns + 40 * VRT_NS_PER_MS - 1) / (40 * VRT_NS_PER_MS);
        expect_int(part.n, n_frames * (int64_t)(1 + i % 2));
    }
}

static const struct vrt_fields as_film = { VRT_DEINTERLACE_TELECINE, VRT_FIELD_ORDER_FLAGGED };
#define INVERSE(order) "fieldmatch=order=" order ":combmatch=full," \
    "bwdif=mode=send_frame:parity=" order ":deint=interlaced,decimate"

/* Whatever is combed or isn't, and however many of the last five frames there are. */
static void test_telecine(void)
{
    const char *const made[] = {
        fixture_make("film.mkv", TELECINED FFV1),
        fixture_make("film.mpg", TELECINED "-c:v mpeg2video -flags +ildct+ilme -b:v 4M"),
        fixture_make("phase.mkv", TELECINED FFV1 " -ss 0.07"),
        fixture_make("video.mkv", "-f lavfi -i testsrc2=size=160x240:rate=60000/1001:duration=2,"
                     "scroll=h=0.01:v=0.005 -vf tinterlace=interleave_top,setfield=tff " FFV1),
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(made); i++)
        expect_as_ffmpeg(made[i], as_film, INVERSE("auto"), 40);
    for (int n = 56; n < 61; n++)
        expect_as_ffmpeg(fixture_make("tail.mkv", TELECINED FFV1 " -frames:v %d", n), as_film,
                         INVERSE("auto"), 45);
    expect_as_ffmpeg(fixture_make("bottom.mkv", FILM "-vf telecine=first_field=bottom:pattern=23,"
                                  "setfield=prog " FFV1),
                     (struct vrt_fields){ VRT_DEINTERLACE_TELECINE, VRT_FIELD_ORDER_BOTTOM },
                     INVERSE("bff"), 40);
    for (int n = 1; n < 12; n++) {
        static struct fixture_reading reading;
        read_all(fixture_make("short.mkv", TELECINED FFV1 " -frames:v %d", n), as_film, all,
                 &reading);
        expect_int(reading.n, n / 5 * 4 + n % 5);
        expect_int(reading.info.n_frames_estimate, reading.n);
    }
}

/* To the tick: the film's own rate, and as long as it was. The film's frames are there again. */
static void test_telecine_times(void)
{
    static struct fixture_reading film, told;
    const char *path = fixture_make("film.mp4", TELECINED "-c:v mpeg2video -q:v 1 -flags "
                                    "+ildct+ilme");

    read_all(path, as_film, all, &told);
    expect_int(told.n, 48);
    expect_int(told.info.n_frames_estimate, 48);
    expect_near((double)told.info.fps.num / told.info.fps.den, 24000.0 / 1001, 1e-9);
    for (int i = 0; i < told.n; i++) {
        expect_near(shown_s(&told, i), i * 1001.0 / 24000, 1e-9);
        expect_near((double)told.durations[i] * tick_s(&told), 1001.0 / 24000, 1e-9);
    }
    read_all(fixture_make("film.mkv", TELECINED FFV1), as_film, all, &told);
    read_all(fixture_make("own.mkv", FILM "-c:v ffv1 -pix_fmt yuv420p"),
             (struct vrt_fields){ 0 }, all, &film);
    expect_int(told.n, film.n);
    int n_same = 0;
    for (int i = 0; i < film.n; i++)
        n_same += told.hashes[i] == film.hashes[i];
    expect_true(n_same >= film.n - 1);
}

/* A part has frames of the whole, whatever cycle it begins or ends in. */
static void test_telecine_part(void)
{
    static struct fixture_reading whole, part;
    const char *path = fixture_make("cycles.mkv", TELECINED FFV1 " -g 5");

    read_all(path, as_film, all, &whole);
    for (int k = 1; k < 12; k++) {
        const struct vrt_reader_range range = { k * 90 * VRT_NS_PER_MS, k * 70 * VRT_NS_PER_MS };
        const double start_s = (double)range.start_ns / 1e9;
        const double end_s = start_s + (double)range.duration_ns / 1e9;
        int first = 0, end = 0;
        read_all(path, as_film, range, &part);
        while (first < whole.n && shown_s(&whole, first) < start_s)
            first++;
        while (end < whole.n && shown_s(&whole, end) < end_s)
            end++;
        expect_int(part.n, end - first);
        for (int i = 0; i < part.n; i++) {
            expect_int((int64_t)part.hashes[i], (int64_t)whole.hashes[first + i]);
            expect_near(shown_s(&part, i), shown_s(&whole, first + i), 1e-9);
        }
    }
}

static int look(const char *path, enum vrt_deinterlace asked, struct vrt_reader_info *ret_info,
                struct vrt_error *error)
{
    VRT_CLEANUP(vrt_reader_closep) struct vrt_reader *reader = NULL;
    VRT_CLEANUP(vrt_closep) int fd = fixture_open(path);

    expect_int(vrt_reader_open(fd, &(struct vrt_reader_params){ .n_threads = 1 }, &reader, error),
               0);
    return vrt_interlacing_look(reader, asked, ret_info, error);
}

/* What a look at a file finds; `warning`: a part of what is said, NULL: nothing is. */
static void expect_look(const char *path, enum vrt_deinterlace asked, struct vrt_fields fields,
                        const char *warning)
{
    struct vrt_reader_info info;
    struct vrt_error error = { .id = NULL };

    if (look(path, asked, &info, &error) != 0)
        test_fail("%s: %s", path, error.message);
    if (info.fields.deinterlace != fields.deinterlace || info.fields.order != fields.order)
        test_fail("%s: mode %d, order %d", path, info.fields.deinterlace, info.fields.order);
    expect_int(info.n_frames, 0);
    expect_int(info.warnings.n, warning != NULL);
    if (warning && !strstr(info.warnings.sentences[0], warning))
        test_fail("%s: %s", path, info.warnings.sentences[0]);
}

static void test_look(void)
{
    const enum vrt_deinterlace automatic = VRT_DEINTERLACE_AUTO;
    const struct vrt_fields off = { 0 };
    const struct vrt_fields top = { VRT_DEINTERLACE_FRAME, VRT_FIELD_ORDER_TOP };
    const struct vrt_fields bottom = { VRT_DEINTERLACE_FRAME, VRT_FIELD_ORDER_BOTTOM };
    const char *told = fixture_make("told.mkv", TOP_FIRST FFV1);
    const char *silent = fixture_make("untold.mkv", MOVING "-vf tinterlace=interleave_top,"
                                      "setfield=prog -c:v ffv1 -pix_fmt yuv420p");
    const char *wrong = fixture_make("wrong.mkv", MOVING "-vf tinterlace=interleave_bottom,"
                                     "setfield=tff " FFV1);
    const char *false_alarm = fixture_make("false.mkv", WHOLE "-vf setfield=tff " FFV1);
    const char *whole = fixture_make("whole.mkv", WHOLE "-c:v ffv1 -pix_fmt yuv420p");
    const char *half = fixture_make("half.mkv", MOVING "-f lavfi -i color=gray:size=480x240:"
                                    "rate=50:duration=2,noise=alls=100:all_seed=1 -lavfi "
                                    "[1][0]hstack,tinterlace=interleave_top,setfield=prog "
                                    "-c:v ffv1 -pix_fmt yuv420p");
    const char *still = fixture_make("still.mkv", "-f lavfi -i color=gray:size=160x240:rate=25 "
                                     "-frames:v 20 -vf setfield=bff " FFV1);

    expect_look(told, automatic, by_frame, NULL);
    expect_look(silent, automatic, top, "though it doesn't say so");
    expect_look(fixture_make("untold-bottom.mkv", MOVING "-vf tinterlace=interleave_bottom,"
                             "setfield=prog -c:v ffv1 -pix_fmt yuv420p"),
                automatic, bottom, "though it doesn't say so");
    expect_look(wrong, automatic, bottom, "its top fields come first");
    expect_look(false_alarm, automatic, off, "its frames are whole");
    expect_look(whole, automatic, off, NULL);
    expect_look(still, automatic, by_frame, NULL);
    /* What stands still is as rough in fields as in frames. */
    expect_look(half, automatic, top, "though it doesn't say so");

    expect_look(told, VRT_DEINTERLACE_OFF, off, "as if it were not");
    expect_look(silent, VRT_DEINTERLACE_OFF, off, NULL);
    expect_look(whole, VRT_DEINTERLACE_FRAME, by_frame, NULL);
    expect_look(told, VRT_DEINTERLACE_FIELD, by_field, NULL);
    expect_look(silent, VRT_DEINTERLACE_FRAME, top, NULL);
    expect_look(fixture_make("film.mkv", TELECINED FFV1), VRT_DEINTERLACE_TELECINE, as_film, NULL);
    expect_look(fixture_make("untold-film.mkv", FILM "-vf telecine=first_field=bottom:pattern=23,"
                             "setfield=prog -c:v ffv1 -pix_fmt yuv420p"), VRT_DEINTERLACE_TELECINE,
                (struct vrt_fields){ VRT_DEINTERLACE_TELECINE, VRT_FIELD_ORDER_BOTTOM }, NULL);
}

/* Frame `n` of 30 a second, of a film whose frame of each four is shown twice: its captions are an
 * empty byte pair, and one of its own. */
static struct vrt_frame *captioned(int n)
{
    static const struct vrt_frame_format format = {
        .width = 160, .height = 240, .depth = 8, .layout = VRT_LAYOUT_YUV, .chroma_shift_x = 1,
        .chroma_shift_y = 1, .chroma_location = VRT_CHROMA_LOCATION_LEFT,
    };
    const uint8_t captions[] = { 0xf8, 0x80, 0x80, 0xfc, (uint8_t)n, 1 };
    const int of_film = n / 5 * 4 + (n % 5 > 2 ? n % 5 - 1 : n % 5);
    struct vrt_frame *frame;

    expect_int(vrt_frame_new(&format, &frame), 0);
    for (int p = 0; p < 3; p++)
        for (int y = 0; y < frame->planes[p].height; y++)
            for (int x = 0; x < frame->planes[p].width; x++)
                frame->planes[p].data[(size_t)y * frame->planes[p].stride_bytes + (size_t)x] =
                    (uint8_t)(128 + 60 * ((x + 7 * of_film) / 16 % 2) - 10 * p);
    frame->pts = n;
    frame->duration = 1;
    memcpy(frame->extra.captions, captions, sizeof(captions));
    frame->extra.n_captions = sizeof(captions);
    return frame;
}

/* A field lasts half as long as until the next frame, or as its frame, whose captions go with the
 * first; the last frames have no neighbour. */
static void test_times(void)
{
    static const int pts[] = { 0, 10, 30, 40, 45 };
    static const int shown[2][10] = { { 10, 30, 40, 45 }, { 20, 30, 60, 70, 80, 85, 90, 100 } };
    static const int durations[2][10] = { { 10, 10, 10, 10 }, { 10, 10, 10, 10, 5, 15, 10, 10 } };

    for (int k = 0; k < 4; k++) {
        VRT_CLEANUP(vrt_deinterlacer_freep) struct vrt_deinterlacer *deinterlacer = NULL;
        const int n_fields = 1 + k % 2, n = k < 2 ? 5 : 2;
        int n_out = 0, r;
        for (int i = 0; i <= n; i++) {
            VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *in = captioned(i), *out = NULL;
            in->pts = pts[VRT_MIN(i, 4)];
            in->duration = 10;
            in->concealed = i == 2;
            if (i == 0)
                expect_int(vrt_deinterlacer_new(&in->format, k % 2 ? &by_field : &by_frame,
                                                &deinterlacer), 0);
            /* The first one is but seen. */
            expect_int(vrt_deinterlacer_push(deinterlacer, i < n ? in : NULL, i == 0), 0);
            while ((r = vrt_deinterlacer_next(deinterlacer, &out)) == 0) {
                const int of = 1 + n_out / n_fields;
                expect_int(out->pts, shown[k % 2][n_out]);
                expect_int(out->duration, durations[k % 2][n_out]);
                expect_int(out->concealed, of == 2);
                expect_int(out->extra.n_captions, n_out++ % n_fields ? 0 : 6);
                expect_true(out->extra.n_captions == 0 || out->extra.captions[4] == of);
                out = vrt_frame_unref(out);
            }
            expect_int(r, i < n ? VRT_DEINTERLACER_MORE : VRT_DEINTERLACER_END);
        }
        expect_int(n_out, (n - 1) * n_fields);
    }
}

/* The captions of a frame that goes are those of the next one, too: none is lost. What is left at
 * the end has the pace of what was before. */
static void test_telecine_captions(void)
{
    VRT_CLEANUP(vrt_deinterlacer_freep) struct vrt_deinterlacer *deinterlacer = NULL;
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *first = captioned(0);
    int n_in = 0, n_out = 0, n_shown = 0, n_merged = 0, r;

    expect_int(vrt_deinterlacer_new(&first->format, &as_film, &deinterlacer), 0);
    for (;;) {
        struct vrt_frame *frame = NULL;
        r = vrt_deinterlacer_next(deinterlacer, &frame);
        if (r == VRT_DEINTERLACER_END)
            break;
        if (r == VRT_DEINTERLACER_MORE) {
            VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *in = captioned(n_in);
            in->duration = n_in < 50 ? 1 : 9;
            in->concealed = n_in % 5 == 0;
            expect_int(vrt_deinterlacer_push(deinterlacer, n_in++ < 53 ? in : NULL, false), 0);
            continue;
        }
        expect_int(r, 0);
        expect_int(frame->duration, 5);
        expect_int(frame->concealed, n_out % 4 == 0);
        expect_int(frame->pts, 5 * n_out++);
        expect_int(frame->extra.n_captions, 6);
        n_merged += frame->extra.captions[0] != 0xf8;
        for (int i = 0; i < frame->extra.n_captions; i += 3)
            if (frame->extra.captions[i] & 4)
                expect_int(frame->extra.captions[i + 1], n_shown++);
        vrt_frame_unref(frame);
    }
    expect_int(n_out, 43);
    expect_int(n_merged, 10);
    expect_int(n_shown, 53);
}

/* What can't be a telecined film, or not be matched, is refused by name. */
static void test_no_telecine(void)
{
    const struct {
        const char *path, *says;
    } cases[] = {
        { fixture_make("pal.mkv", TOP_FIRST FFV1), "and this one has 25" },
        { fixture_make("own.mkv", FILM FFV1), "and this one has 23.976" },
        { fixture_make("deep.mkv", TELECINED "-c:v ffv1 -pix_fmt yuv420p10"),
          "fieldmatch, which would undo the telecine of it, takes no frames of 160x240 in the "
          "pixel format yuv420p10le" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_reader_info info;
        struct vrt_error error = { .id = NULL };
        expect_int(look(cases[i].path, VRT_DEINTERLACE_TELECINE, &info, &error), -ENOTSUP);
        expect_true(vrt_error_is(&error, "input.unsupported"));
        expect_contains(error.message, cases[i].says);
    }
}

/* Frames that bwdif doesn't take are refused where it was asked for, else left as they are. */
static void test_impossible(void)
{
    const char *path = fixture_make("flat.mkv", "-f lavfi -i testsrc2=size=64x2:rate=25 -frames:v "
                                    "9 -vf setfield=tff -c:v ffv1 -pix_fmt yuv444p");
    struct vrt_reader_info info;
    struct vrt_error error = { .id = NULL };

    expect_int(look(path, VRT_DEINTERLACE_FRAME, &info, &error), -ENOTSUP);
    expect_true(vrt_error_is(&error, "input.unsupported"));
    expect_int(look(path, VRT_DEINTERLACE_AUTO, &info, &error), 0);
    expect_int(info.fields.deinterlace, VRT_DEINTERLACE_OFF);
}

TEST_MAIN_AFTER(fixture_init(),
    { "as-ffmpeg", test_as_ffmpeg }, { "fields", test_fields }, { "part", test_part },
    { "telecine", test_telecine }, { "telecine-times", test_telecine_times },
    { "telecine-part", test_telecine_part }, { "times", test_times },
    { "telecine-captions", test_telecine_captions }, { "no-telecine", test_no_telecine },
    { "look", test_look }, { "impossible", test_impossible },
)
