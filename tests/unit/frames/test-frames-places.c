/* SPDX-License-Identifier: MIT */

/* Between two processes: frames that are decoded where the other sees them, and what it may say. */

#include <errno.h>
#include <unistd.h>

#include "frames/decode/places.h"
#include "frames/process/wire.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/test.h"

#define CLIP "-f lavfi -i testsrc2=size=160x90:rate=25 "

/* What is decoded into another process's file is what is decoded anywhere: blocks and edges beyond
 * the picture, fields, depths, and decoders that bring their own memory. */
static void test_places(void)
{
    static const struct {
        const char *name, *arguments;
        bool is_decoded_there;
    } cases[] = {
        { "h264.mkv", CLIP "-t 1 -c:v libx264 -bf 3 -refs 6", true },
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
            is_there |= planes[0].offset_bytes > 0;
            expect_int(vrt_frame_take_samples(file, planes, copy), 0);
            expect_int(fixture_hash(copy), fixture_hash(here));
            vrt_frame_unref(there);
            vrt_frame_unref(here);
        }
        expect_int(r, VRT_READER_END);
        expect_int(is_there, cases[i].is_decoded_there);
        vrt_reader_close(readers[0]);
        vrt_reader_close(readers[1]);
        close(fd);
        vrt_places_free(places);
    }
}

/* Of what a process says of a format everything that can be is taken, and nothing else. */
static void test_wire(void)
{
    const struct vrt_frame_format format = {
        .width = 64,
        .height = 48,
        .depth = 8,
        .layout = VRT_LAYOUT_YUV,
        .chroma_shift_x = 1,
        .chroma_shift_y = 1,
        .chroma_location = VRT_CHROMA_LOCATION_LEFT,
        .sample_aspect = { 0, 1 },
    };
    struct vrt_message_format wire;
    struct vrt_frame_format taken;

    for (int place = 0; place <= 7; place++) {
        const bool is_one = place >= 1 && place <= 6;
        vrt_wire_put_format(&format, &wire);
        wire.chroma_location = place;
        expect_int(vrt_wire_take_format(&wire, &taken), is_one ? 0 : -EBADMSG);
        if (is_one)
            expect_int(taken.chroma_location, place);
    }
}

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

static const struct range infos[] = {
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
    { INFO(field_order), 0, VRT_FIELD_ORDER_COUNT - 1 }, { INFO(tonemap), 0, VRT_TONEMAP_COUNT - 1 },
    { INFO(n_audio), 0, INT32_MAX }, { INFO(n_covers), 0, INT32_MAX },
    { INFO(duration_ns), -1, VRT_WIRE_NUMBER_MAX },
    { INFO(n_frames_estimate), -1, VRT_WIRE_NUMBER_MAX },
    { INFO(n_frames), 0, VRT_WIRE_NUMBER_MAX }, { INFO(n_decoded), 0, VRT_WIRE_NUMBER_MAX },
    { INFO(warnings.n), 0, VRT_WARNINGS_MAX }, { INFO(warnings.n_lost), 0, 1 << 20 },
    { INFO(container[31]), 0, 0 }, { INFO(codec[31]), 0, 0 }, { INFO(pixel_format[31]), 0, 0 },
    { INFO(warnings.sentences[0][255]), 0, 0 },
};

static const struct range lists[] = {
    { AT(vrt_stream_list, n_all), 0, 1 << 20 },
    { STREAM(kind), 0, VRT_STREAM_KIND_COUNT - 1 }, { STREAM(fate), 0, VRT_STREAM_FATE_COUNT - 1 },
    { STREAM(width), 0, INT32_MAX }, { STREAM(fps_num), 0, INT32_MAX },
    { STREAM(fps_den), 1, INT32_MAX }, { STREAM(channels), 0, INT32_MAX },
    { STREAM(bitrate), 0, VRT_WIRE_NUMBER_MAX }, { STREAM(codec[31]), 0, 0 },
    { STREAM(language[15]), 0, 0 }, { STREAM(title[95]), 0, 0 }, { STREAM(disposition[95]), 0, 0 },
};

static const struct range encoders[] = {
    { ENCODER(codec), 0, VRT_CODEC_COUNT - 1 }, { ENCODER(hwaccel), 0, VRT_HWACCEL_AUTO - 1 },
    { ENCODER(hwaccel), VRT_HWACCEL_AUTO + 1, VRT_HWACCEL_COUNT - 1 },
    { ENCODER(preset[15]), 0, 0 }, { ENCODER(options[sizeof(((struct vrt_message_encoder *)0)->
                                                            options) - 1]), 0, 0 },
    { ENCODER(format.depth), 8, 16 }, { ENCODER(time_base.num), 1, INT32_MAX },
    { ENCODER(fps.num), 0, INT32_MAX }, { ENCODER(fps.den), 1, INT32_MAX },
};

static int take_info(void *wire)
{
    struct vrt_reader_info info;

    return vrt_wire_take_info(wire, &info);
}

static int take_list(void *wire)
{
    static struct vrt_stream_list list;

    return vrt_wire_take_stream_list(wire, &list);
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
    expect_ranges(infos, VRT_ARRAY_SIZE(infos), &info, take_info);
    list.streams[0].fps_den = list.streams[1].fps_den = 1;
    expect_ranges(lists, VRT_ARRAY_SIZE(lists), &list, take_list);
    vrt_wire_put_encoder(&(struct vrt_encoder_params){ .time_base = { 1, 25 }, .fps = { 25, 1 },
                                                       .format = told.format }, &encoder);
    expect_ranges(encoders, VRT_ARRAY_SIZE(encoders), &encoder, take_encoder);
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
        { -EIO, "input.read", "a sentence\1", -EIO, "input.read" },
        { -4095, "spool.full", "a sentence", -4095, "spool.full" },
        { -4096, "spool.full", "a sentence", -EBADMSG, NULL },
        { -EIO, "cancelled", "a sentence", -EIO, "internal" },
        { -EIO, "", "a sentence", -EIO, "internal" },
        { -EIO, "input.read", "", -EBADMSG, NULL },
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

TEST_MAIN_AFTER(fixture_init(),
    { "places", test_places },
    { "wire", test_wire },
    { "wire-ranges", test_wire_ranges },
    { "wire-result", test_wire_result },
)
