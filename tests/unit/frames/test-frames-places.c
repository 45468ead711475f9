/* SPDX-License-Identifier: MIT */

/* Between two processes: what the other may say, and that asking it does what is done here. */

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "frames/decode/interlacing.h"
#include "frames/process/child-compare.h"
#include "frames/process/child-encoder.h"
#include "frames/process/wire.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/test.h"

#define CLIP "-f lavfi -i testsrc2=size=160x90:rate=25 "

/* A number of a message, and what it may be. */
struct range {
    size_t at, size;
    int64_t least, most;
};

#define AT(type, member) offsetof(struct type, member), sizeof(((struct type *)0)->member)
#define FORMAT(member) AT(vrt_message_info, format.member)
#define INFO(member) AT(vrt_message_info, member)
#define STREAM(member) AT(vrt_stream_list, streams[1].member)
#define ENCODER(member) AT(vrt_message_encoder, member)

static const struct range info_ranges[] = {
    { FORMAT(width), 1, VRT_FRAME_MAX_SIDE }, { FORMAT(height), 1, VRT_FRAME_MAX_SIDE },
    { FORMAT(depth), 8, 16 }, { FORMAT(layout), 0, VRT_LAYOUT_COUNT - 1 },
    { FORMAT(matrix), 0, VRT_FRAME_MATRIX_COUNT - 1 }, { FORMAT(full_range), 0, 1 },
    { FORMAT(chroma_location), 1, 6 }, { FORMAT(primaries), 0, 255 },
    { FORMAT(transfer), 0, 255 }, { FORMAT(color_space), 0, 255 }, { FORMAT(has_alpha), 0, 1 },
    { FORMAT(sample_aspect.num), 0, INT32_MAX }, { FORMAT(sample_aspect.den), 1, INT32_MAX },
    { FORMAT(hdr.max_light), 0, 65535 }, { FORMAT(hdr.average_light), 0, 65535 },
    { FORMAT(hdr.white[1]), 0, 50000 }, { FORMAT(hdr.red[0]), 0, 50000 },
    { FORMAT(hdr.min), 0, 9 }, { FORMAT(hdr.max), 9, INT32_MAX },
    { INFO(time_base.num), 1, INT32_MAX }, { INFO(time_base.den), 1, INT32_MAX },
    { INFO(fps.num), 0, INT32_MAX }, { INFO(fps.den), 1, INT32_MAX },
    { INFO(variable_rate), 0, 1 }, { INFO(interlaced), 0, 1 }, { INFO(truncated), 0, 1 },
    { INFO(is_by_duration), 0, 1 }, { INFO(has_display_matrix), 0, 1 }, { INFO(is_still), 0, 1 },
    { INFO(has_alpha), 0, 1 }, { INFO(can_go_on), 0, 1 }, { INFO(rotation_degrees), 0, 359 },
    { INFO(deinterlace), 0, 0 }, { INFO(deinterlace), 2, VRT_DEINTERLACE_COUNT - 1 },
    { INFO(field_order), 0, VRT_FIELD_ORDER_COUNT - 1 },
    { INFO(tonemap), 0, VRT_TONEMAP_COUNT - 1 },
    { INFO(n_audio), 0, INT32_MAX }, { INFO(n_subtitles), 0, INT32_MAX },
    { INFO(n_attachments), 0, INT32_MAX }, { INFO(n_chapters), 0, INT32_MAX },
    { INFO(n_covers), 0, INT32_MAX }, { INFO(n_concealed), 0, VRT_WIRE_NUMBER_MAX },
    { INFO(n_missing), 0, VRT_WIRE_NUMBER_MAX },
    { INFO(duration_ns), -1, VRT_WIRE_NUMBER_MAX },
    { INFO(n_frames_estimate), -1, VRT_WIRE_NUMBER_MAX },
    { INFO(n_frames), 0, VRT_WIRE_NUMBER_MAX }, { INFO(n_decoded), 0, VRT_WIRE_NUMBER_MAX },
    { INFO(warnings.n), 0, VRT_WARNINGS_MAX }, { INFO(warnings.n_lost), 0, 1 << 20 },
    { INFO(container[31]), 0, 0 }, { INFO(codec[31]), 0, 0 }, { INFO(pixel_format[31]), 0, 0 },
    { INFO(warnings.sentences[0][255]), 0, 0 },
};

static const struct range list_ranges[] = {
    { AT(vrt_stream_list, n_all), 0, 1 << 20 },
    { STREAM(kind), 0, VRT_STREAM_KIND_COUNT - 1 }, { STREAM(fate), 0, VRT_STREAM_FATE_COUNT - 1 },
    { STREAM(width), 0, INT32_MAX }, { STREAM(height), 0, INT32_MAX },
    { STREAM(fps_num), 0, INT32_MAX }, { STREAM(sample_rate), 0, INT32_MAX },
    { STREAM(fps_den), 1, INT32_MAX }, { STREAM(channels), 0, INT32_MAX },
    { STREAM(bitrate), 0, VRT_WIRE_NUMBER_MAX }, { STREAM(codec[31]), 0, 0 },
    { STREAM(language[15]), 0, 0 }, { STREAM(title[95]), 0, 0 }, { STREAM(disposition[95]), 0, 0 },
};

static const struct range encoder_ranges[] = {
    { ENCODER(codec), 0, VRT_CODEC_COUNT - 1 }, { ENCODER(hwaccel), 0, VRT_HWACCEL_AUTO - 1 },
    { ENCODER(hwaccel), VRT_HWACCEL_AUTO + 1, VRT_HWACCEL_COUNT - 1 },
    { ENCODER(preset[15]), 0, 0 }, { ENCODER(options[sizeof(((struct vrt_message_encoder *)0)->
                                                            options) - 1]), 0, 0 },
    { ENCODER(format.depth), 8, 16 }, { ENCODER(time_base.num), 1, INT32_MAX },
    { ENCODER(fps.num), 0, INT32_MAX }, { ENCODER(fps.den), 1, INT32_MAX },
};

#define UNPRINTABLE '\x1b'

static int take_info(void *wire)
{
    struct vrt_reader_info info;
    const int r = vrt_wire_take_info(wire, &info);

    expect_true(r < 0 || !memchr(&info, UNPRINTABLE, sizeof(info)));
    return r;
}

static int take_list(void *wire)
{
    static struct vrt_stream_list list;
    const int r = vrt_wire_take_stream_list(wire, &list);

    expect_true(r < 0 || !memchr(&list, UNPRINTABLE, sizeof(list)));
    return r;
}

static int take_encoder(void *wire)
{
    struct vrt_encoder_params params;

    return vrt_wire_take_encoder(wire, &params);
}

/* The number at its place, where text has what isn't its end. */
static void put_number(uint8_t *at, size_t size, int64_t value)
{
    const int32_t word = (int32_t)value;

    memcpy(at, size == 8 ? (const void *)&value : &word, size);
}

static void expect_ranges(const struct range *ranges, size_t n, void *wire, int (*take)(void *wire))
{
    for (size_t i = 0; i < n; i++) {
        uint8_t was[8], *at = (uint8_t *)wire + ranges[i].at;
        const size_t size = ranges[i].size;

        fprintf(stderr, "  number %zu\n", i);
        memcpy(was, at, size);
        put_number(at, size, ranges[i].least);
        expect_int(take(wire), 0);
        put_number(at, size, ranges[i].most);
        expect_int(take(wire), 0);
        put_number(at, size, ranges[i].least - 1);
        expect_int(take(wire), -EBADMSG);
        put_number(at, size, ranges[i].most + 1);
        if (ranges[i].most != INT32_MAX)
            expect_int(take(wire), -EBADMSG);
        memcpy(at, was, size);
    }
    expect_int(take(wire), 0);
}

#define FILL(text) memset(text, 'x', sizeof(text) - 1), (text)[0] = UNPRINTABLE

/* Each number of what a process says is taken up to its ends, and not beyond. */
static void test_wire_ranges(void)
{
    static struct vrt_message_info info;
    static struct vrt_stream_list list = { .n_all = 2 };
    static struct vrt_message_encoder encoder;
    static struct vrt_message_found found;
    struct vrt_reader_info told = { .time_base = { 1, 25 }, .fps = { 25, 1 }, .format = {
        .width = 64, .height = 48, .depth = 8, .layout = VRT_LAYOUT_GRAY,
        .chroma_location = VRT_CHROMA_LOCATION_LEFT, .hdr.display = { .min = 9, .max = 9 },
    } };
    struct vrt_codec_found taken;

    vrt_warnings_add(&told.warnings, "one");
    vrt_wire_put_info(&told, &info);
    /* Texts that end with their last byte. */
    FILL(info.container), FILL(info.codec), FILL(info.pixel_format);
    FILL(info.warnings.sentences[0]), FILL(list.streams[1].codec), FILL(list.streams[1].language);
    FILL(list.streams[1].title), FILL(list.streams[1].disposition);
    expect_ranges(info_ranges, VRT_ARRAY_SIZE(info_ranges), &info, take_info);
    for (int i = 0; i < VRT_STREAMS_MAX; i++)
        list.streams[i].fps_den = 1;
    expect_ranges(list_ranges, VRT_ARRAY_SIZE(list_ranges), &list, take_list);
    vrt_wire_put_encoder(&(struct vrt_encoder_params){ .time_base = { 1, 25 }, .fps = { 25, 1 },
                                                       .format = told.format }, &encoder);
    FILL(encoder.preset), FILL(encoder.options);
    expect_ranges(encoder_ranges, VRT_ARRAY_SIZE(encoder_ranges), &encoder, take_encoder);
    expect_int(vrt_wire_take_found(&found, &taken), 0);
    memset(found.pixel_formats, 'x', sizeof(found.pixel_formats));
    expect_int(vrt_wire_take_found(&found, &taken), -EBADMSG);
    found.pixel_formats[9] = '\0';
    memset(found.encoders, 'x', sizeof(found.encoders));
    expect_int(vrt_wire_take_found(&found, &taken), -EBADMSG);
}

/* An answer: an outcome that may be, or a refusal with a sentence, under an id that it may have. */
static void test_wire_result(void)
{
    static const struct {
        int32_t result;
        const char *id, *sentence;
        int r;
        const char *taken;
    } rows[] = {
        { 2, "", "", 2, NULL }, { 3, "", "", -EBADMSG, NULL }, { 0, "", "", 0, NULL },
        { -EIO, "encode.failed", "a sentence\1", -EIO, "encode.failed" },
        { -4095, "spool.full", "a sentence", -4095, "spool.full" },
        { -4096, "spool.full", "a sentence", -EBADMSG, NULL },
        { -EIO, "cancelled", "a sentence", -EIO, "internal" },
        { -EIO, "", "a sentence", -EIO, "internal" }, { -EIO, "input.read", "", -EBADMSG, NULL },
    };
    static struct vrt_message message;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct vrt_error error = { .id = NULL }, said = { .id = rows[i].id };
        fprintf(stderr, "  row %zu\n", i);
        snprintf(said.message, sizeof(said.message), "%s", rows[i].sentence);
        vrt_wire_put_error(rows[i].result, &said, &message);
        expect_int(vrt_wire_take_result(&message, 2, &error), rows[i].r);
        expect_int(error.id != NULL, rows[i].taken != NULL);
        if (rows[i].taken) {
            expect_str(error.id, rows[i].taken);
            expect_true(strncmp(error.message, "a sentence", 10) == 0 &&
                        !strchr(error.message, '\1'));
        }
    }
    memset(message.error, 'x', sizeof(message.error));
    message.result = -EIO;
    expect_int(vrt_wire_take_result(&message, 2, &(struct vrt_error){ .id = NULL }), -EBADMSG);
}

/* What both say of the video, each as it comes through a socket. */
static void put_infos(const struct vrt_child_reader *there, const struct vrt_reader *here,
                      struct vrt_message_info infos[2])
{
    struct vrt_reader_info taken;

    vrt_wire_put_info(vrt_child_reader_info(there), &infos[0]);
    vrt_wire_put_info(vrt_reader_info(here), &infos[1]);
    expect_int(vrt_wire_take_info(&infos[1], &taken), 0);
    vrt_wire_put_info(&taken, &infos[1]);
}

/* Reads all both ways: the same frames, and the same is said of them. */
static void expect_same_frames(struct vrt_child *child, int fd,
                               const struct vrt_reader_params *params)
{
    VRT_CLEANUP(vrt_child_reader_closep) struct vrt_child_reader *there = NULL;
    VRT_CLEANUP(vrt_reader_closep) struct vrt_reader *here = NULL;
    static struct vrt_message_info infos[2];
    struct vrt_error error = { .id = NULL };
    int r = 0;

    expect_int(vrt_reader_open(fd, params, &here, &error), 0);
    if (vrt_child_reader_open(child, fd, params, &there, &error) < 0)
        test_fail("%s", error.message);
    while (r == 0) {
        VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *a = NULL, *b = NULL;
        put_infos(there, here, infos);
        if (infos[0].n_frames == params->first)
            expect_int(memcmp(&infos[0], &infos[1], sizeof(infos[0])), 0);
        expect_int(infos[0].can_go_on, infos[1].can_go_on);
        expect_int(infos[0].n_decoded, infos[1].n_decoded);
        r = vrt_reader_next(here, &a, &error);
        expect_int(vrt_child_reader_next(there, &b, &error), r);
        if (r != 0)
            continue;
        expect_int(fixture_hash(b), fixture_hash(a));
        expect_int(b->pts, a->pts);
        expect_int(b->duration, a->duration);
        expect_int(b->index, a->index);
        expect_int(b->concealed, a->concealed);
        expect_int(memcmp(&b->extra, &a->extra, sizeof(a->extra)), 0);
    }
    expect_int(r, VRT_READER_END);
    put_infos(there, here, infos);
    expect_int(memcmp(&infos[0], &infos[1], sizeof(infos[0])), 0);
}

static const char *make_film(void)
{
    static const char text[] = "1\n00:00:00,200 --> 00:00:00,800\nFirst line\n";

    fixture_write("text.srt", text, sizeof(text) - 1);
    return fixture_make("film.mkv", CLIP "-f lavfi -i testsrc2=size=96x64:rate=25 -f lavfi -i "
                        "sine=sample_rate=48000 -i text.srt -map 0 -map 1 -map 2 -map 3 -t 1 "
                        "-c:v libx264 -preset ultrafast -g 5 -c:a flac -metadata:s:a title=Ton");
}

static struct vrt_child *begin_child(void)
{
    struct vrt_error error = { .id = NULL };
    struct vrt_child *child = NULL;

    if (vrt_child_new(NULL, &child, &error) < 0)
        test_fail("%s", error.message);
    return child;
}

/* All that a reader can be told gets there. */
static void test_child_reader(void)
{
    const struct vrt_reader_params rows[] = {
        { .name = "clip", .n_threads = 1 }, { .streams = "v:1", .n_threads = 2 },
        { .range = { 400 * VRT_NS_PER_MS, 320 * VRT_NS_PER_MS } },
        { .streams = "v:1", .first = 10, .first_pts = 400 },
        { .fields = { VRT_DEINTERLACE_FIELD, VRT_FIELD_ORDER_BOTTOM } },
        { .fields = { VRT_DEINTERLACE_FRAME, VRT_FIELD_ORDER_TOP }, .tonemap = VRT_TONEMAP_HABLE },
    };
    VRT_CLEANUP(vrt_child_freep) struct vrt_child *child = begin_child();
    VRT_CLEANUP(vrt_closep) int fd = fixture_open(make_film());
    struct vrt_reader_info infos[2];
    struct vrt_error error = { .id = NULL };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        fprintf(stderr, "  row %zu\n", i);
        expect_same_frames(child, fd, &rows[i]);
    }
    VRT_CLEANUP(vrt_child_reader_closep) struct vrt_child_reader *there = NULL;
    VRT_CLEANUP(vrt_reader_closep) struct vrt_reader *here = NULL;
    expect_int(vrt_child_reader_open(child, fd, &rows[0], &there, &error), 0);
    expect_int(vrt_reader_open(fd, &rows[0], &here, &error), 0);
    expect_int(vrt_child_reader_look(there, VRT_DEINTERLACE_FIELD, &infos[0], &error), 0);
    expect_int(vrt_interlacing_look(here, VRT_DEINTERLACE_FIELD, &infos[1], &error), 0);
    expect_int(infos[0].fields.deinterlace, VRT_DEINTERLACE_FIELD);
    expect_int(infos[0].fields.order, infos[1].fields.order);
    expect_int(infos[0].n_frames_estimate, infos[1].n_frames_estimate);
    /* A refusal comes with its sentence and its id. */
    const struct vrt_reader_params wrong = { .name = "clip", .streams = "v:7" };
    there = vrt_child_reader_close(there);
    expect_true(vrt_child_reader_open(child, fd, &wrong, &there, &error) < 0);
    expect_str(error.id, "input.streams");
    expect_contains(error.message, "clip");
}

/* An empty file, to be written to. */
static int create(const char *name)
{
    const int fd = open(fixture_path(name), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    expect_true(fd >= 0);
    return fd;
}

/* Encodes the film's second video both ways: the same bytes. Return: one of the segments. */
static int encode_both(struct vrt_child *child, int film_fd)
{
    const struct vrt_reader_params reader_params = { .streams = "v:1", .n_threads = 1 };
    VRT_CLEANUP(vrt_child_encoder_freep) struct vrt_child_encoder *there = NULL;
    VRT_CLEANUP(vrt_encoder_freep) struct vrt_encoder *here = NULL;
    VRT_CLEANUP(vrt_reader_closep) struct vrt_reader *reader = NULL;
    VRT_CLEANUP(vrt_closep) int there_fd = create("there.seg");
    struct vrt_error error = { .id = NULL };
    struct vrt_frame *frame;
    int64_t sizes[2];
    const int here_fd = create("here.seg");

    expect_int(vrt_reader_open(film_fd, &reader_params, &reader, &error), 0);
    const struct vrt_reader_info *info = vrt_reader_info(reader);
    struct vrt_encoder_params params = {
        .codec = VRT_CODEC_H264, .quality = VRT_UNKNOWN, .bitrate = 200000, .max_bitrate = 4000000,
        .preset = "veryfast", .options = "tune=film", .n_threads = 1, .time_base = info->time_base,
        .fps = info->fps,
    };
    const struct vrt_encoder_pick pick = { params.codec, &info->format, 96, 64, "yuv444p" };
    struct vrt_warnings warnings = { .n = 0 };
    expect_int(vrt_child_encoder_pick_format(child, &pick, &params.format, &warnings, &error), 0);
    expect_int(params.format.chroma_shift_x, 0);
    params.format = info->format;
    expect_int(vrt_child_encoder_try(child, &params, &error), 0);
    expect_int(vrt_child_encoder_new(child, &params, there_fd, &there, &error), 0);
    expect_int(vrt_encoder_new(&params, here_fd, &here, &error), 0);
    while (vrt_reader_next(reader, &frame, &error) == 0) {
        expect_int(vrt_child_encoder_send(there, frame, &error), 0);
        expect_int(vrt_encoder_send(here, frame, &error), 0);
        vrt_frame_unref(frame);
    }
    expect_int(vrt_child_encoder_finish(there, &sizes[0], &error), 0);
    expect_int(vrt_encoder_finish(here, &sizes[1], &error), 0);
    expect_int(sizes[0], sizes[1]);
    fixture_run("cmp here.seg there.seg");
    expect_int(vrt_child_encoder_check_segment(child, &params, here_fd, &error), 0);
    params.options = "no-such=1";
    expect_true(vrt_child_encoder_try(child, &params, &(struct vrt_error){ .id = NULL }) < 0);
    params.options = "bf=0";
    params.codec = VRT_CODEC_HEVC;
    expect_int(vrt_child_encoder_check_segment(child, &params, here_fd, &error), -EBADMSG);
    expect_str(error.id, "segment.damaged");
    return here_fd;
}

static int open_segment(void *ctx, int number)
{
    expect_int(number, 0);
    return fcntl(*(const int *)ctx, F_DUPFD_CLOEXEC, 0);
}

static int open_nothing(void *ctx, int number)
{
    (void)number;
    return *(const int *)ctx;
}

/* Joins both ways, of everything and as little as is asked for: the same bytes. */
static void test_child_joiner(void)
{
    VRT_CLEANUP(vrt_child_freep) struct vrt_child *child = begin_child();
    VRT_CLEANUP(vrt_closep) int film_fd = fixture_open(make_film());
    VRT_CLEANUP(vrt_closep) int segment_fd = encode_both(child, film_fd);
    struct vrt_joiner_params rows[] = {
        { .streams = "v:1,a,s", .hdr = { .max_light = 1000, .average_light = 400 } },
        { .streams = "v:1,v:0,s", .is_part = true }, { .streams = "v:1,a", .is_bare = true },
    };
    struct vrt_joiner_result results[2];
    struct vrt_joiner_expected expected = { 25, 960 * VRT_NS_PER_MS };
    struct vrt_error error = { .id = NULL };
    int64_t n_frames;

    expect_int(vrt_child_joiner_check_segment(child, segment_fd, 0, VRT_JOINER_CHECK_ALL,
                                              &n_frames, &error), 0);
    expect_int(n_frames, 25);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        VRT_CLEANUP(vrt_closep) int there_fd = create("there.mkv"), here_fd = create("here.mkv");
        fprintf(stderr, "  row %zu\n", i);
        rows[i].segments = (struct vrt_joiner_segments){ open_segment, &segment_fd, 1 };
        rows[i].input_fd = film_fd;
        rows[i].input_name = "film";
        rows[i].container = VRT_CONTAINER_MKV;
        rows[i].output_fd = here_fd;
        expect_int(vrt_joiner_run(&rows[i], &results[0], &error), 0);
        rows[i].output_fd = there_fd;
        expect_int(vrt_child_joiner_run(child, &rows[i], &results[1], &error), 0);
        fixture_run("cmp here.mkv there.mkv");
        expect_int(results[1].n_frames, 25);
        expect_int(results[1].duration_ns, results[0].duration_ns);
        expect_int(results[1].size_bytes, results[0].size_bytes);
        expect_int(results[1].warnings.n, results[0].warnings.n);
        expect_int(vrt_child_joiner_verify(child, there_fd, &expected, &error), 0);
    }
    VRT_CLEANUP(vrt_closep) int joined_fd = fixture_open(fixture_path("there.mkv"));
    expected.span_ns += VRT_NS_PER_S;
    expect_int(vrt_child_joiner_verify(child, joined_fd, &expected, &error), -EBADMSG);
    expect_str(error.id, "output.verify");
    expected.span_ns -= VRT_NS_PER_S;
    expected.n_frames = 26;
    expect_int(vrt_child_joiner_verify(child, joined_fd, &expected, &error), -EBADMSG);
    VRT_CLEANUP(vrt_closep) int more_fd = create("more.mkv");
    rows[1].output_fd = rows[0].output_fd = more_fd;
    rows[1].segments.open = open_nothing;
    rows[1].size_bytes_max = 1 << 20;       /* which isn't why it fails */
    for (int k = 0; k < 2; k++) {
        int reason = k ? -EMFILE : -EIO;
        error = (struct vrt_error){ .id = NULL };
        rows[1].segments.ctx = &reason;
        expect_int(vrt_child_joiner_run(child, &rows[1], &results[1], &error), reason);
        expect_str(error.id, k ? "out_of_descriptors" : "segment.damaged");
    }
    rows[2].input_fd = more_fd;
    error = (struct vrt_error){ .id = NULL };
    expect_true(vrt_child_joiner_run(child, &rows[2], &results[1], &error) < 0);
    expect_contains(error.message, "film is empty");
    /* More than a user may have. */
    rows[0].size_bytes_max = results[0].size_bytes / 2;
    error = (struct vrt_error){ .id = NULL };
    expect_int(vrt_child_joiner_run(child, &rows[0], &results[1], &error), -EDQUOT);
    expect_str(error.id, "spool.quota");
}

/* What will become of the film's streams. */
static void test_child_preview(void)
{
    VRT_CLEANUP(vrt_child_freep) struct vrt_child *child = begin_child();
    VRT_CLEANUP(vrt_closep) int film_fd = fixture_open(make_film());
    VRT_CLEANUP(vrt_closep) int one_fd = fixture_open(fixture_make("one.mkv", "-i film.mkv -map "
                                                                   "0:v:1 -c copy"));
    VRT_CLEANUP(vrt_closep) int there_fd = create("there.png"), here_fd = create("here.png");
    const struct vrt_joiner_preview look = {
        .input_fd = film_fd, .input_name = "film", .container = VRT_CONTAINER_MP4,
        .streams = "v:1,a,s", .span_ns = VRT_NS_PER_S,
        .deadline_ns = vrt_clock_now_ns() + 600 * VRT_NS_PER_S,
    };
    static struct vrt_joiner_rest rests[2];
    struct vrt_warnings warnings[2] = { { .n = 0 }, { .n = 0 } };
    struct vrt_error error = { .id = NULL };

    expect_int(vrt_joiner_preview(&look, &rests[0], &warnings[0], &error), 0);
    expect_int(vrt_child_joiner_preview(child, &look, &rests[1], &warnings[1], &error), 0);
    expect_int(memcmp(&rests[0], &rests[1], sizeof(rests[0])), 0);
    expect_int(rests[1].streams.streams[0].fate, VRT_STREAM_NOT_CHOSEN);
    expect_int(rests[1].streams.streams[3].fate, VRT_STREAM_CONVERTED);
    expect_int(warnings[1].n, warnings[0].n);
    struct vrt_preview pictures[2] = { {
        .before_fd = film_fd, .after_fd = one_fd, .picture_fd = here_fd, .before_name = "before",
        .after_name = "after", .before_streams = "v:1", .time_ns = 420 * VRT_NS_PER_MS,
    } };
    pictures[1] = pictures[0];
    pictures[1].picture_fd = there_fd;
    expect_int(vrt_preview_make(&pictures[0], &error), 0);
    expect_int(vrt_child_preview(child, &pictures[1], &error), 0);
    expect_int(pictures[1].shown_ns, 400 * VRT_NS_PER_MS);
    expect_int(pictures[1].size.width, pictures[0].size.width);
    expect_int(pictures[1].size.height, 64);
    fixture_run("cmp here.png there.png");
    /* What can't be read is called by its name. */
    VRT_CLEANUP(vrt_closep) int empty_fd = create("empty.mkv");
    const struct vrt_joiner_preview nothing = { .input_fd = empty_fd, .input_name = "film" };
    expect_true(vrt_child_joiner_preview(child, &nothing, &rests[1], &warnings[1], &error) < 0);
    expect_contains(error.message, "film");
    for (int k = 0; k < 2; k++) {
        const struct vrt_compare_params two = { { k ? one_fd : empty_fd, k ? empty_fd : one_fd },
                                                { "before", "after" }, 0 };
        struct vrt_error whys[2] = { { .id = NULL }, { .id = NULL } };
        struct vrt_compare_size size;
        pictures[1].before_fd = two.fds[0];
        pictures[1].after_fd = two.fds[1];
        pictures[1].before_streams = NULL;
        expect_true(vrt_child_preview(child, &pictures[1], &whys[0]) < 0);
        expect_contains(whys[0].message, two.names[k]);
        expect_true(vrt_child_compare_open(child, &two, &size, &whys[1]) < 0);
        expect_contains(whys[1].message, two.names[k]);
    }
}

/* Two videos, which differ: without what is cropped they are as if it had never been there. */
static void test_child_compare(void)
{
    VRT_CLEANUP(vrt_child_freep) struct vrt_child *child = begin_child();
    static const char *const made[] = {
        CLIP "-t 0.2 -pix_fmt bgr0 -c:v ffv1", "-i 0.mkv -vf noise=alls=20:all_seed=1 -c:v ffv1",
        "-i 0.mkv -vf crop=154:84:3:3 -c:v ffv1", "-i 1.mkv -vf crop=154:84:3:3 -c:v ffv1",
    };
    VRT_CLEANUP(vrt_compare_closep) struct vrt_compare *here = NULL;
    int fds[4];
    for (int i = 0; i < 4; i++) {
        char name[8];
        snprintf(name, sizeof(name), "%d.mkv", i);
        fds[i] = fixture_open(fixture_make(name, "%s", made[i]));
    }
    const struct vrt_compare_params params = { { fds[0], fds[1] }, { "a", "b" }, 3 };
    const struct vrt_compare_params cropped = { { fds[2], fds[3] }, { "a", "b" }, 0 };
    struct vrt_pictures pictures[2];
    struct vrt_compare_size size;
    struct vrt_compared compared[2];
    struct vrt_error error = { .id = NULL };
    int r, n = 0;

    expect_int(vrt_compare_open(&cropped, &here, &size, &error), 0);
    expect_int(vrt_child_compare_open(child, &params, &size, &error), 0);
    expect_true(size.width == 160 && size.height == 90);
    for (int i = 0; i < 2; i++)
        expect_int(vrt_pictures_init(&pictures[i]), 0);
    vrt_compare_show(here, &pictures[0]);
    expect_int(vrt_child_compare_show(child, &pictures[1], &error), 0);
    while ((r = vrt_compare_next(here, &compared[0], &error)) == 0) {
        expect_int(vrt_child_compare_next(child, &compared[1], &error), 0);
        expect_int(compared[1].time_ns, 40 * VRT_NS_PER_MS * n++);
        expect_near(compared[1].quality.error_rgb, compared[0].quality.error_rgb, 1e-8);
        expect_near(compared[1].quality.error_y, compared[0].quality.error_y, 1e-8);
        expect_near(compared[1].quality.ssim_rgb, compared[0].quality.ssim_rgb, 1e-8);
        expect_near(compared[1].quality.ssim_y, compared[0].quality.ssim_y, 1e-8);
        expect_true(compared[1].quality.ssim_y < 0.99 && compared[1].quality.error_y > 1);
        expect_int(memcmp(pictures[0].samples, pictures[1].samples,
                          2 * VRT_PICTURE_SAMPLES * sizeof(uint16_t)), 0);
    }
    expect_int(r, VRT_COMPARE_END);
    expect_int(n, 5);
    expect_int(vrt_child_compare_next(child, &compared[1], &error), VRT_COMPARE_END);
    for (int i = 0; i < 4; i++)
        close(fds[i]);
    for (int i = 0; i < 2; i++)
        vrt_pictures_done(&pictures[i]);
}

TEST_MAIN_AFTER(fixture_init(),
    { "wire-ranges", test_wire_ranges },
    { "wire-result", test_wire_result }, { "child-reader", test_child_reader },
    { "child-joiner", test_child_joiner }, { "child-preview", test_child_preview },
    { "child-compare", test_child_compare },
)
