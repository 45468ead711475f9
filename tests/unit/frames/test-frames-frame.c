/* SPDX-License-Identifier: MIT */

/* What needs no video: formats, frames, warnings, and the sizes that files claim to have. */

#include <errno.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/macro.h"
#include "frames/decode/damage.h"
#include "frames/decode/extent.h"
#include "frames/frame.h"
#include "frames/join/join-caps.h"
#include "frames/join/join-loops.h"
#include "frames/metadata/crop.h"
#include "frames/warnings.h"
#include "tests/unit/test.h"

static void test_planes(void)
{
    static const struct {
        struct vrt_frame_format format;
        int chroma_width, chroma_height;
        size_t size_bytes;
        const char *text;
    } cases[] = {
        { { .width = 7, .height = 5, .depth = 8, .layout = VRT_LAYOUT_YUV, .chroma_shift_x = 1,
            .chroma_shift_y = 1 }, 4, 3, 35 + 24, "7x5 yuv420 bt601 limited" },
        { { .width = 7, .height = 5, .depth = 10, .layout = VRT_LAYOUT_YUV, .chroma_shift_x = 1,
            .matrix = VRT_FRAME_MATRIX_BT2020_NCL, .full_range = true }, 4, 5, 2 * (35 + 40),
          "7x5 yuv422p10 bt2020 full" },
        { { .width = 9, .height = 9, .depth = 8, .layout = VRT_LAYOUT_YUV, .chroma_shift_x = 2,
            .chroma_shift_y = 2 }, 3, 3, 81 + 18, "9x9 yuv410 bt601 limited" },
        { { .width = 3, .height = 2, .depth = 16, .layout = VRT_LAYOUT_GBR, .full_range = true },
          3, 2, 36, "3x2 gbr16 full" },
        { { .width = 1, .height = 1, .depth = 8, .layout = VRT_LAYOUT_GRAY, .full_range = true },
          0, 0, 1, "1x1 gray full" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const struct vrt_frame_format *format = &cases[i].format;
        struct vrt_frame *frame = NULL;
        char text[64];

        expect_true(vrt_frame_format_is_valid(format));
        expect_int(vrt_frame_format_size_bytes(format), cases[i].size_bytes);
        expect_int(vrt_frame_new(format, &frame), 0);
        for (int p = 0; p < vrt_frame_format_n_planes(format); p++) {
            const struct vrt_plane *plane = &frame->planes[p];
            size_t row = (size_t)(plane->width * vrt_frame_format_sample_bytes(format));
            expect_int((uintptr_t)plane->data % VRT_FRAME_ALIGN_BYTES, 0);
            expect_int(plane->stride_bytes % VRT_FRAME_ALIGN_BYTES, 0);
            expect_true(plane->stride_bytes >= row);
            expect_int(plane->width, p ? cases[i].chroma_width : format->width);
            expect_int(plane->height, p ? cases[i].chroma_height : format->height);
            /* All of it is ours to write: the sanitizers watch. */
            memset(plane->data, 0xab, plane->stride_bytes * (size_t)plane->height);
        }
        expect_true(frame->writable);
        expect_str(vrt_frame_format_describe(format, text, sizeof(text)), cases[i].text);
        expect_true(vrt_frame_ref(frame) == frame);
        expect_true(vrt_frame_unref(frame) == NULL);
        expect_int(frame->planes[0].data[0], 0xab);
        vrt_frame_unref(frame);
    }
    expect_true(vrt_frame_unref(NULL) == NULL);
}

/* New frames take over the memory of those that are gone, and outlive the pool. */
static void test_pool(void)
{
    static const struct vrt_frame_format format = {
        .width = 70, .height = 5, .depth = 10, .layout = VRT_LAYOUT_YUV, .chroma_shift_x = 1,
    };
    struct vrt_frame_pool *pool = NULL;
    struct vrt_frame *first = NULL, *second = NULL, *third = NULL;

    expect_int(vrt_frame_pool_new(&format, &pool), 0);
    expect_int(vrt_frame_pool_get(pool, &first), 0);
    expect_int(vrt_frame_pool_get(pool, &second), 0);
    const uint8_t *memory = first->planes[0].data, *end = memory + vrt_frame_bytes(&format);
    expect_true(second->planes[0].data != memory);
    memset(first->planes[0].data, 0xab, vrt_frame_bytes(&format));
    first = vrt_frame_unref(first);
    expect_int(vrt_frame_pool_get(pool, &third), 0);
    expect_true(third->planes[0].data == memory && third->writable && third->pts == 0);
    expect_int(third->planes[1].width, 35);
    for (int p = 0; p < 3; p++)
        for (int y = 0; y < third->planes[p].height; y++) {
            const struct vrt_plane *plane = &third->planes[p];
            const uint8_t *row = plane->data + (size_t)y * plane->stride_bytes;
            for (size_t x = 0; x < plane->stride_bytes; x++)
                expect_int(row[x], x < 2 * (size_t)plane->width ? 0xab : 0);
        }
    expect_true(end[-1] == 0 && end[-VRT_FRAME_ALIGN_BYTES] == 0);
    expect_true(!vrt_frame_pool_free(pool));
    memset(second->planes[0].data, 0xcd, second->planes[0].stride_bytes * 5);
    vrt_frame_unref(second);
    vrt_frame_unref(third);
    expect_true(access((const char *)memory, F_OK) < 0 && errno == EFAULT);
    expect_true(!vrt_frame_pool_free(NULL));
}

/* Without a descriptor for more of what is shared a frame has memory of its own. */
static void test_pool_without_descriptors(void)
{
    static const struct vrt_frame_format format = {
        .width = 1920, .height = 1080, .depth = 16, .layout = VRT_LAYOUT_GBR,
    };
    struct vrt_frame *frames[20] = { NULL };
    struct vrt_frame_pool *pool = NULL;
    struct rlimit limit, none;

    expect_int(vrt_frame_pool_new(&format, &pool), 0);
    expect_int(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){ 0, limit.rlim_max };
    expect_int(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(frames); i++)
        expect_int(vrt_frame_pool_get(pool, &frames[i]), 0);
    expect_int(setrlimit(RLIMIT_NOFILE, &limit), 0);
    expect_true(frames[0]->share.fd >= 0);
    expect_true(frames[VRT_ARRAY_SIZE(frames) - 1]->share.fd < 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(frames); i++) {
        frames[i]->planes[0].data[0] = 0xab;
        vrt_frame_unref(frames[i]);
    }
    expect_true(!vrt_frame_pool_free(pool));
}

/* What another process says of where a frame is, which has samples beyond its depth. */
static void test_shared(void)
{
    const struct vrt_frame_format format = { .width = 6, .height = 4, .depth = 10,
        .layout = VRT_LAYOUT_YUV, .chroma_shift_x = 1, .chroma_shift_y = 1 };
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *place = NULL, *frame = NULL;
    size_t place_bytes;
    const int n = vrt_frame_places(&format, &place_bytes);
    const int64_t size = n * (int64_t)place_bytes;
    const struct {
        struct vrt_frame_share luma;
        int outcome;
    } cases[] = {
        { { 0, 12 }, 0 }, { { 7, 100 }, 0 },
        { { size - 48, 12 }, 0 }, { { size - 47, 12 }, -EBADMSG },
        { { 0, 11 }, -EBADMSG }, { { 0, -12 }, -EBADMSG },
        { { -1, 12 }, -EBADMSG }, { { size, 12 }, -EBADMSG },
        { { INT64_MAX, 12 }, -EBADMSG }, { { 0, INT64_MAX }, -EBADMSG },
        { { 0, (size - 12) / 3 }, 0 }, { { 1, (size - 12) / 3 + 1 }, -EBADMSG },
        { { 0, size }, -EBADMSG }, { { INT64_MIN, INT64_MIN }, -EBADMSG },
    };

    expect_int(n, VRT_FRAME_PLACES_MAX);
    expect_int(vrt_frame_new_shared(&format, &place), 0);
    expect_int(vrt_frame_new(&format, &frame), 0);
    memset(place->planes[0].data, 0xfe, (size_t)size);
    /* What stands behind its planes is none. */
    frame->duration = frame->index = INT64_MAX;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const struct vrt_frame_share good = { 0, 6 };
        const struct vrt_frame_share planes[VRT_FRAME_MAX_PLANES] = {
            cases[i].luma, good, good,
        };
        memset(frame->planes[0].data, 0, frame->planes[0].stride_bytes * 4);
        expect_int(vrt_frame_take_samples(place, planes, frame), cases[i].outcome);
        expect_int(((uint16_t *)(void *)frame->planes[0].data)[5], cases[i].outcome ? 0 : 1023);
    }
    /* Other planes are looked at as well. */
    expect_int(vrt_frame_take_samples(place, (struct vrt_frame_share[]){ { 0, 12 }, { 0, 6 },
                                                                         { size, 6 } }, frame),
               -EBADMSG);
    /* Of the largest there is one place. */
    expect_int(vrt_frame_places(&(struct vrt_frame_format){ .width = 16384, .height = 16384,
                                    .depth = 16, .layout = VRT_LAYOUT_GBR }, &place_bytes), 1);
    expect_true(place_bytes >= (size_t)16384 * 16384 * 6);
}

/* What a format with one number changed is of what it was: [v]alid, and with the same [s]amples of
 * another size, [p]lanes, or all that is the same [b]it by bit. */
static void test_formats(void)
{
#define AT(member) offsetof(struct vrt_frame_format, member)
    static const struct {
        size_t at;
        int value;
        const char *yuv, *gray;         /* 4:2:2, and gray, of 5x5 in 8 bits */
    } rows[] = {
        { AT(width), 0, "s", "s" }, { AT(width), VRT_FRAME_MAX_SIDE, "vs", "vs" },
        { AT(width), VRT_FRAME_MAX_SIDE + 1, "s", "s" }, { AT(width), INT32_MAX, "s", "s" },
        { AT(height), -1, "s", "s" }, { AT(height), VRT_FRAME_MAX_SIDE, "vs", "vs" },
        { AT(height), VRT_FRAME_MAX_SIDE + 1, "s", "s" },
        { AT(depth), 7, "", "" }, { AT(depth), 16, "v", "v" }, { AT(depth), 17, "", "" },
        { AT(layout), VRT_LAYOUT_GRAY, "", "vspb" }, { AT(layout), VRT_LAYOUT_COUNT, "", "" },
        { AT(matrix), VRT_FRAME_MATRIX_BT709, "vsp", "vspb" },
        { AT(matrix), VRT_FRAME_MATRIX_COUNT, "sp", "spb" },
        { AT(chroma_shift_x), -1, "", "" }, { AT(chroma_shift_x), 1, "vspb", "" },
        { AT(chroma_shift_x), 2, "v", "" }, { AT(chroma_shift_x), 3, "", "" },
        { AT(chroma_shift_y), -1, "", "" }, { AT(chroma_shift_y), 1, "v", "" },
        { AT(chroma_shift_y), 2, "v", "" }, { AT(chroma_shift_y), 3, "", "" },
        { AT(chroma_location), VRT_CHROMA_LOCATION_CENTER, "vsp", "vspb" },
    };
#undef AT

    for (size_t i = 0; i < 2 * VRT_ARRAY_SIZE(rows); i++) {
        const bool is_gray = i % 2;
        const struct vrt_frame_format was = {
            .width = 5, .height = 5, .depth = 8, .chroma_shift_x = !is_gray,
            .layout = is_gray ? VRT_LAYOUT_GRAY : VRT_LAYOUT_YUV,
        };
        struct vrt_frame_format is = was;
        struct vrt_frame_pool *pool = NULL;
        struct vrt_frame *frame = NULL;
        char said[8];
        memcpy((uint8_t *)&is + rows[i / 2].at, &rows[i / 2].value, sizeof(int));
        const bool is_valid = vrt_frame_format_is_valid(&is);
        snprintf(said, sizeof(said), "%s%s%s%s", is_valid ? "v" : "",
                 vrt_frame_format_scales_to(&is, &was) ? "s" : "",
                 vrt_frame_format_same_planes(&is, &was) ? "p" : "",
                 vrt_frame_format_same_samples(&is, &was) ? "b" : "");
        expect_str(said, is_gray ? rows[i / 2].gray : rows[i / 2].yuv);
        expect_int(vrt_frame_new(&is, &frame), is_valid ? 0 : -EINVAL);
        expect_int(vrt_frame_pool_new(&is, &pool), is_valid ? 0 : -EINVAL);
        expect_true(!frame == !is_valid && !pool == !is_valid);
        vrt_frame_unref(frame);
        vrt_frame_pool_free(pool);
    }
}

static void test_guess(void)
{
    expect_int(vrt_matrix_guess(640, 480), VRT_FRAME_MATRIX_BT601);
    expect_int(vrt_matrix_guess(1279, 719), VRT_FRAME_MATRIX_BT601);
    expect_int(vrt_matrix_guess(1280, 534), VRT_FRAME_MATRIX_BT709);
    expect_int(vrt_matrix_guess(960, 720), VRT_FRAME_MATRIX_BT709);
}

static void test_warnings(void)
{
    struct vrt_warnings warnings = { 0 }, other = { 0 };

    vrt_warnings_add(NULL, "nobody listens");
    vrt_warnings_add(&warnings, "frame %d", 1);
    vrt_warnings_add(&warnings, "frame %d", 1);
    expect_int(warnings.n, 1);
    for (int i = 0; i < VRT_WARNINGS_MAX + 3; i++)
        vrt_warnings_add(&warnings, "frame %d", i);
    expect_int(warnings.n, VRT_WARNINGS_MAX);
    expect_int(warnings.n_lost, 3);
    vrt_warnings_add(&other, "%0400d", 0);
    expect_int(strlen(other.sentences[0]), 255);
    vrt_warnings_merge(&other, &warnings);
    expect_int(other.n, VRT_WARNINGS_MAX);
    expect_int(other.n_lost, 4);
}

static FILE *store(const char *data, size_t size)
{
    FILE *file = tmpfile();

    expect_true(file && fwrite(data, 1, size, file) == size);
    expect_int(fflush(file), 0);
    return file;
}

#define BYTES(s) s, sizeof(s) - 1

static bool find_crop(const char *demuxer, const char *data, size_t size, struct vrt_crop *ret_crop)
{
    const struct vrt_crop all = { 64, 48 };
    FILE *file = store(data, size);
    const bool is_found = vrt_crop_find(fileno(file), (int64_t)size, demuxer, all, ret_crop);
    fclose(file);
    return is_found;
}

static void test_extent(void)
{
    static const char mov[] = "mov,mp4,m4a,3gp,3g2,mj2", mkv[] = "matroska,webm";
    static const struct {
        const char *demuxer, *data;
        size_t size;
        bool truncated, lacks_index, is_index_last;
    } cases[] = {
        { mov, BYTES("\0\0\0\x08" "ftyp\0\0\0\x08" "moov"), false, false },
        { mov, BYTES("\0\0\0\x08" "ftyp\0\0\0\x08" "mdat"), false, true, true },
        { mov, BYTES("\0\0\0\x08" "mdat\0\0\0\x08" "moov"), false, false, true },
        { mov, BYTES("\0\0\0\x08" "moov\0\0\0\x09" "mdat"), true, false },
        { mov, BYTES("\0\0\0\x08" "moov\0\0\0\0" "mdatabc"), false, false },
        { mov, BYTES("\0\0\0\x08" "moov\0\0\0\x01" "mdat\xff\xff\xff\xff\xff\xff\xff\xff"), true,
          false },
        { mov, BYTES("\0\0\0\x08" "moov\0\0\0\x01" "mdat\0\0\0\0\0\0\0\x10"), false, false },
        { mov, BYTES("\0\0\0\x08" "moov\0\0\0\x01" "mdat\0\0\0\0\0\0\0\0"), false, false },
        { mov, BYTES("\0\0\0\x08" "moov\0\0\0\x03" "mdat"), false, false },
        { mov, BYTES("\0\0\0"), false, true },
        { mkv, BYTES("\x1a\x45\xdf\xa3\x81x\x18\x53\x80\x67\x82yz"), false, false },
        { mkv, BYTES("\x1a\x45\xdf\xa3\x81x\x18\x53\x80\x67\x83yz"), true, false },
        { mkv, BYTES("\x1a\x45\xdf\xa3\x81x\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff"),
          false, false },
        { mkv, BYTES("\x1a\x45\xdf\xa3\x81x\x18\x53\x80\x67\x01\x7f\xff\xff\xff\xff\xff\xff"),
          true, false },
        { mkv, BYTES("\x1a\x45\xdf\xa3\x81x\x18\x53\x80\x67\x01\x7f\xff"), false, false },
        { mkv, BYTES("\x1a\x45\xdf\xa3\0\0\0\0"), false, false },
        { mkv, BYTES("\x1a\x45\xdf\xa3\x81x\x18\x53\x80\x68\x83yz"), false, false },
        { "avi", BYTES("RIFF\x04\0\0\0AVI "), false, false },
        { "avi", BYTES("RIFF\x05\0\0\0AVI "), true, false },
        { "avi", BYTES("RIFF\xff\xff\xff\xff" "AVI "), false, false },
        { "avi", BYTES("RIFF\x04\0\0\0AVI RIFF\x09\0\0\0AVIX"), true, false },
        { "avi", BYTES("RIFF\x05\0\0\0AVI x\0RIFF\x05\0\0\0AVIX"), true, false },
        { "ogg", BYTES("RIFF\x05\0\0\0AVI "), false, false },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        FILE *file = store(cases[i].data, cases[i].size);
        const struct vrt_extent extent = vrt_extent_check(fileno(file), (int64_t)cases[i].size,
                                                          cases[i].demuxer);
        fprintf(stderr, "  case %zu\n", i);
        fclose(file);
        expect_int(extent.truncated, cases[i].truncated);
        expect_int(extent.lacks_index, cases[i].lacks_index);
        expect_int(extent.is_index_last, cases[i].is_index_last);
    }
}

/* Packets' errors, and the frames that come of them: also of more than are remembered. */
static void test_damage(void)
{
    static struct vrt_damage damage;

    expect_int(vrt_damage_fail(&damage, 0, false), 0);
    for (int i = 0; i < 8; i++)
        (void)vrt_damage_add(&damage, 10 * (i ^ 1));    /* 10, 0, 30, 20, 50, 40, 70, 60 */
    /* Two late: of packet 5, before which are the frames of 10, 0, 30 and 20 that are to come. */
    expect_true(!vrt_damage_show(&damage, 0));
    expect_int(vrt_damage_fail(&damage, 2, false), 3);
    expect_true(vrt_damage_show(&damage, 40) && !vrt_damage_show(&damage, 40));
    expect_true(!vrt_damage_show(&damage, 35));
    /* At the end that one of the last is meant which failed, and hasn't been shown. */
    atomic_fetch_add(&damage.packets[6].n_errors, 1);
    expect_int(vrt_damage_fail(&damage, 3, true), 5);
    expect_int(atomic_load(&damage.packets[6].n_errors), 2);
    expect_int(vrt_damage_fail(&damage, 3, false), 3);
    expect_int(atomic_load(&damage.packets[4].n_errors), 1);
    damage.from = 70;
    expect_int(vrt_damage_fail(&damage, 3, false), -1);
    expect_int(vrt_damage_fail(&damage, 1, false), 5);
    vrt_damage_finish(&damage);
    expect_true(damage.n_missing == 1 && damage.first_missing == 70);
    vrt_damage_finish(&damage);
    expect_int(damage.n_missing, 1);
    /* What falls out is missing; and what fell out isn't known any more. */
    damage = (struct vrt_damage){ .n_sent = 0 };
    for (int i = 0; i < VRT_DAMAGE_WINDOW + 2; i++)
        atomic_fetch_add(vrt_damage_add(&damage, i + 5), i == 0 || i == 1 || i == 7);
    expect_true(damage.n_missing == 2 && damage.first_missing == 5);
    expect_true(!vrt_damage_show(&damage, 6) && !damage.packets[1].shown);
    expect_true(vrt_damage_show(&damage, 12));
    expect_int(vrt_damage_fail(&damage, 1000, false), 0);
    vrt_damage_finish(&damage);
    expect_int(damage.n_missing, 3);
}

#define ZEROS "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define STSD(size) "\0\0\0\x8e" "stsd\0\0\0\0\0\0\0\1" "\0\0\0\x7e" "avc1\0\0\0\0\0\0\0\1" \
    ZEROS size "\0\x48\0\0\0\x48\0\0\0\0\0\0\0\1" ZEROS ZEROS "\0\x18\xff\xff"
#define MOV_STSD STSD("\0\x40\0\x30")
#define MOV_OTHER STSD("\0\x40\0\x31")
#define CLAP(width, height) "\0\0\0\x28" "clap" width "\0\0\0\1" height "\1\0\0\0" ZEROS
#define MOV_TRAK "\0\0\0\xae" "trak\0\0\0\xa6" "mdia\0\0\0\x9e" "minf\0\0\0\x96" "stbl"
#define MOV_HEAD "\0\0\0\x08" "ftyp\0\0\0\xb6" "moov" MOV_TRAK
#define MKV_HEAD "\x1a\x45\xdf\xa3\x81x\x18\x53\x80\x67\xa0\xec\x81z\x16\x54\xae\x6b\x98\xae\x96"

/* What a container shows of a video of 64 x 48; and no byte of it, whatever it is, does harm. */
static void test_crop(void)
{
    static const char mov[] = "mov,mp4,m4a,3gp,3g2,mj2", mkv[] = "matroska,webm";
    static const struct {
        const char *demuxer, *data;
        size_t size;
        struct vrt_crop wanted;         /* zero: all is shown */
    } cases[] = {
        { mov, BYTES(MOV_HEAD MOV_STSD CLAP("\0\0\0\x3c", "\x2c\0\0\0")), { 60, 44 } },
        { mov, BYTES(MOV_HEAD MOV_STSD CLAP("\0\0\0\x40", "\x30\0\0\0")), { 0, 0 } },
        { mov, BYTES(MOV_HEAD MOV_STSD CLAP("\0\0\0\0", "\x2c\0\0\0")), { 0, 0 } },
        { mov, BYTES("\0\0\0\x08" "moov"), { 0, 0 } },
        { mov, BYTES("\0\0\0\x08" "ftyp\0\0\0\x08" "free"), { 0, 0 } },
        /* Of the first track that is as large as the video. */
        { mov, BYTES("\0\0\0\0" "moov" MOV_TRAK MOV_OTHER CLAP("\0\0\0\x10", "\x10\0\0\0")
                     MOV_TRAK MOV_STSD CLAP("\0\0\0\x3c", "\x2c\0\0\0")), { 60, 44 } },
        { mov, BYTES("\0\0\0\0" "moov" MOV_TRAK MOV_OTHER CLAP("\0\0\0\x10", "\x10\0\0\0")),
          { 0, 0 } },
        { mov, BYTES("\0\0\0\0" "moov" MOV_TRAK MOV_STSD CLAP("\0\0\0\x3c", "\x2c\0\0\0")),
          { 60, 44 } },
        { mov, BYTES("\0\0\0\x01" "moov\0\0\0\0\0\0\0\xbe" MOV_TRAK MOV_STSD
                     CLAP("\0\0\0\x3c", "\x2c\0\0\0")), { 60, 44 } },
        { mov, BYTES("\0\0\0\x01" "moov\0\0\0\0\0\0\0\xb6" MOV_TRAK MOV_STSD
                     CLAP("\0\0\0\x3c", "\x2c\0\0\0")), { 0, 0 } },
        { mkv, BYTES("\x1a\x45\xdf\xa3\x81x\x18\x53\x80\x67\x83\xec\x81z"), { 0, 0 } },
        { mkv, BYTES(MKV_HEAD "\xe0\x94\xb0\x81\x40\xba\x81\x30\x54\xcc\x81\x04\x54\xdd\x81\x02"
                     "\x9a\x81\x02\xec\x81z"), { 58, 48 } },
        { mkv, BYTES(MKV_HEAD "\xe0\x94\xb0\x81\x40\xba\x81\x30\x54\xaa\x81\x08\x54\xbb\x81\x08"
                     "\x9a\x81\x02\xec\x81z"), { 64, 32 } },
        { mkv, BYTES(MKV_HEAD "\xe0\x94\xb0\x84\0\0\0\x40\xba\x81\x30\x54\xcc\x81\x04"
                     "\x54\xdd\x81\x02\xec\x81z"), { 58, 48 } },
        { mkv, BYTES(MKV_HEAD "\xe0\x94\xb0\x81\x20\xba\x81\x30\x54\xaa\x81\x08\x54\xbb\x81\x08"
                     "\x9a\x81\x02\xec\x81z"), { 0, 0 } },
        { mkv, BYTES(MKV_HEAD "\xe0\x94\xb0\x81\x40\xba\x81\x30\x54\xaa\x81\x30\x54\xbb\x81\x08"
                     "\x9a\x81\x02\xec\x81z"), { 0, 0 } },
        { "avi", BYTES("RIFF\x04\0\0\0AVI "), { 0, 0 } },
    };
    char bytes[512];

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_crop crop = { 0, 0 };
        const bool is_found = find_crop(cases[i].demuxer, cases[i].data, cases[i].size, &crop);
        fprintf(stderr, "  case %zu\n", i);
        expect_int(is_found, cases[i].wanted.width > 0);
        expect_int(crop.width, cases[i].wanted.width);
        expect_int(crop.height, cases[i].wanted.height);
        for (size_t k = 0; k < cases[i].size; k++)
            for (int value = 0; value <= 0xff; value += 0x55) {
                memcpy(bytes, cases[i].data, cases[i].size);
                bytes[k] = (char)value;
                find_crop(cases[i].demuxer, bytes, cases[i].size, &crop);
                find_crop(cases[i].demuxer, bytes, k, &crop);
            }
    }
}

/* What is cropped over and over never comes to a small number beyond the largest. */
static void test_crop_sum(void)
{
    static const char head[] = "\x1a\x45\xdf\xa3\x80\x18\x53\x80\x67\xff\x16\x54\xae\x6b\xff"
                               "\xae\xff\xe0\xff\xb0\x81\x40\xba\x81\x30\x54\xcc\x82\x00\x0a";
    static const char lost[] = "\x54\xcc\x83\xff\xff\xff", rest[] = "\x54\xcc\x82\x01\x00";
    struct vrt_crop crop = { 0, 0 };
    char bytes[2048];
    size_t n = sizeof(head) - 1;

    memcpy(bytes, head, n);
    expect_true(find_crop("matroska,webm", bytes, n, &crop));
    expect_int(crop.width, 54);
    for (int i = 0; i < 256; i++, n += sizeof(lost) - 1)
        memcpy(bytes + n, lost, sizeof(lost) - 1);
    memcpy(bytes + n, rest, sizeof(rest) - 1);
    expect_true(!find_crop("matroska,webm", bytes, n + sizeof(rest) - 1, &crop));
}

/* Ticks and rates of which there are more: exact, or there are none such. */
static void test_rational_scale(void)
{
    static const struct {
        struct vrt_rational q;
        int num, den;
        struct vrt_rational wanted;     /* den 0: refused */
    } cases[] = {
        { { 1, 1000 }, 1, 2, { 1, 2000 } }, { { 1001, 30000 }, 1, 2, { 1001, 60000 } },
        { { 25, 2 }, 2, 1, { 25, 1 } }, { { 30000, 1001 }, 2, 1, { 60000, 1001 } },
        { { 0, 1 }, 2, 1, { 0, 1 } }, { { 2, 50 }, 1, 1, { 2, 50 } },
        { { 1, INT32_MAX }, 1, 2, { 0, 0 } }, { { 2, INT32_MAX }, 1, 2, { 1, INT32_MAX } },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_rational q = { -1, -1 };
        int r = vrt_rational_scale(cases[i].q, cases[i].num, cases[i].den, &q);
        expect_int(r, cases[i].wanted.den ? 0 : -ERANGE);
        if (r < 0)
            continue;
        expect_int(q.num, cases[i].wanted.num);
        expect_int(q.den, cases[i].wanted.den);
    }
}

#define GIF "GIF89a\1\0\1\0\0\0\0"
#define NETSCAPE "\x21\xff\xbNETSCAPE2.0"
#define PNG "\x89PNG\r\n\x1a\n" "\0\0\0\xdIHDR\0\0\0\1\0\0\0\1\b\2\0\0\0\0\0\0\0"

/* How often an animation is played, wherever its head is cut off. */
static void test_plays(void)
{
    static const struct {
        const char *data;
        size_t size;
        int wanted;
    } rows[] = {
        { BYTES(GIF NETSCAPE "\3\1\0\0\0" ","), 0 }, { BYTES(GIF NETSCAPE "\3\1\4\1\0" ","), 261 },
        { BYTES("GIF89a\1\0\1\0\x80\0\0abcdef" NETSCAPE "\3\1\4\0\0" ","), 5 },
        { BYTES(GIF "\x21\xf9\4\0\0\0\0\0" NETSCAPE "\3\1\1\0\0" ","), 2 },
        { BYTES(GIF "\x21\xf9\4\0\0\0\0\0" ",\0"), 1 },
        { BYTES(GIF "\x21\xff\xbNETSCAPE1.0\3\1\4\0\0" ",\0"), 1 },
        { BYTES(GIF NETSCAPE "\3\2\4\0\0" ",\0"), 1 }, { BYTES(GIF NETSCAPE "\2\1\4\0" ",\0"), 1 },
        { BYTES(GIF "\x21\xff\1x\xbNETSCAPE2.0\3\1\4\0\0" ",\0"), 1 },
        { BYTES(GIF NETSCAPE "\3\1"), -1 }, { BYTES(GIF NETSCAPE), -1 }, { BYTES(GIF), -1 },
        { BYTES("GIF89a\1\0\1"), -1 }, { BYTES("GIF89a\1\0\1\0\x80\0\0abcde"), -1 },
        { BYTES(PNG "\0\0\0\bacTL\0\0\0\2\0\0\0\3crc " "\0\0\0\0IDAT"), 3 },
        { BYTES(PNG "\0\0\0\bacTL\0\0\0\2\0\0\0\0crc " "\0\0\0\0IDAT"), 0 },
        { BYTES(PNG "\0\0\0\bacTL\0\0\0\2\x7f\xff\xff\xff" "crc "), INT32_MAX },
        { BYTES(PNG "\0\0\0\bacTL\0\0\0\2\x80\0\0\0crc "), 0 },
        { BYTES(PNG "\0\0\0\bacTL\0\0\0\2\0\0\0\3crc"), -1 },
        { BYTES(PNG "\0\0\0\7acTL\0\0\0\2\0\0\0crc " "\0\0\0\bacTL"), -1 },
        { BYTES(PNG "\0\0\0\0IDATcrc \0\0\0\bacTL\0\0\0\2\0\0\0\3crc "), -1 },
        { BYTES("\x89PNG\r\n\x1a\r\0\0\0\bacTL\0\0\0\2\0\0\0\3crc "), -1 },
        { BYTES("GIF89a"), -1 }, { BYTES(""), -1 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        FILE *file = store(rows[i].data, rows[i].size);
        fprintf(stderr, "  row %zu\n", i);
        expect_int(vrt_join_plays(fileno(file)), rows[i].wanted);
        fclose(file);
    }
    expect_int(vrt_join_plays(-1), -1);
}

/* As much of what isn't picture or sound as is carried over, and one more. */
static void test_caps(void)
{
    static const char *const says[] = {
        "no more than 1 streams", "the first 10000 chapters are kept, and the other 1 left out",
        "1001 tags are left out: no more than 1000 of one thing, and 16 MiB in all",
    };
    AVFormatContext *format = avformat_alloc_context();
    struct vrt_source source = { .format = format };
    char text[16];

    avformat_new_stream(format, NULL);
    for (int more = 0; more < 2; more++) {
        struct vrt_warnings warnings = { .n = 0 };
        format->chapters = av_calloc(10001, sizeof(*format->chapters));
        for (int i = 0; i < 10000 + more; i++)
            format->chapters[format->nb_chapters++] = av_mallocz(sizeof(AVChapter));
        for (int i = 0; i < 1000 + more; i++) {
            snprintf(text, sizeof(text), "%d", i);
            av_dict_set(&format->chapters[7]->metadata, text, "x", 0);
        }
        format->max_streams = 2 - more;
        vrt_join_caps_trim(&source, &warnings);
        expect_int(warnings.n, 3 * more);
        for (int i = 0; i < warnings.n; i++)
            expect_contains(warnings.sentences[i], says[i]);
        expect_int(format->nb_chapters, 10000);
        expect_int(av_dict_count(format->chapters[7]->metadata), more ? 0 : 1000);
        while (format->nb_chapters) {
            av_dict_free(&format->chapters[--format->nb_chapters]->metadata);
            av_freep(&format->chapters[format->nb_chapters]);
        }
        av_freep(&format->chapters);
    }
    avformat_free_context(format);
}

/* Likewise of files that go along, and of lines of text. */
static void test_caps_of_streams(void)
{
    AVFormatContext *format = avformat_alloc_context();
    AVStream *in = avformat_new_stream(format, NULL);
    struct vrt_join_stream stream = { .in = in };
    struct vrt_warnings warnings = { .n = 0 };
    AVPacket packet = { .size = 1 << 29 };
    int64_t attached_bytes = (1 << 30) - 10;
    in->codecpar->codec_type = AVMEDIA_TYPE_ATTACHMENT;
    in->codecpar->extradata_size = 10;
    expect_true(vrt_join_caps_attaches(&stream, &attached_bytes, &warnings));
    expect_int(attached_bytes, 1 << 30);
    in->codecpar->codec_type = AVMEDIA_TYPE_VIDEO;
    in->attached_pic.size = 1;
    expect_true(vrt_join_caps_attaches(&stream, &attached_bytes, &warnings));
    expect_true(vrt_join_caps_shows(&stream, &packet) && stream.n_events == 0);
    expect_int(warnings.n, 0);
    stream.kind = VRT_JOIN_COVER;
    expect_true(!vrt_join_caps_attaches(&stream, &attached_bytes, &warnings));
    expect_contains(warnings.sentences[0], "attached file 0 is left out: no more than 1024 MiB of");
    in->codecpar->codec_type = AVMEDIA_TYPE_SUBTITLE;
    for (int i = 0; i < 3; i++) {
        vrt_join_caps_warn(&stream, &warnings);
        expect_int(warnings.n, 1);
        expect_int(vrt_join_caps_shows(&stream, &packet), i < 2);
    }
    vrt_join_caps_warn(&stream, &warnings);
    expect_contains(warnings.sentences[1], "stream 0 ends before it is over: no more than 1000000 "
                    "lines, or 1024 MiB, of one");
    stream = (struct vrt_join_stream){ .in = in, .n_events = 999999 };
    packet.size = 1;
    expect_true(vrt_join_caps_shows(&stream, &packet) && !vrt_join_caps_shows(&stream, &packet));
    vrt_join_caps_warn(&stream, &(struct vrt_warnings){ .n = 0 });
    avformat_free_context(format);
}

TEST_MAIN(
    { "rational-scale", test_rational_scale }, { "planes", test_planes }, { "pool", test_pool },
    { "pool-without-descriptors", test_pool_without_descriptors }, { "shared", test_shared },
    { "formats", test_formats }, { "guess", test_guess }, { "warnings", test_warnings },
    { "extent", test_extent }, { "damage", test_damage }, { "crop", test_crop },
    { "crop_sum", test_crop_sum }, { "plays", test_plays }, { "caps", test_caps },
    { "caps-of-streams", test_caps_of_streams },
)
