/* SPDX-License-Identifier: MIT */

/* HDR that becomes SDR, and frames of another size: bit by bit what the ffmpeg program makes of
 * them by the same filters. And what is shown as RGB. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "frames/av.h"
#include "frames/compare/compare.h"
#include "frames/decode/reader.h"
#include "frames/filter/scaler.h"
#include "frames/filter/tonemapper.h"
#include "frames/preview/preview.h"
#include "frames/view.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/test.h"

#define N_FRAMES 3
#define CLIP "-f lavfi -i testsrc2=size=160x90:rate=25 -frames:v 3 "
#define PQ "-color_trc smpte2084 -color_primaries bt2020 -colorspace bt2020nc "
#define HLG "-color_trc arib-std-b67 -color_primaries bt2020 -colorspace bt2020nc "

static int open_mapped(const char *path, enum vrt_tonemap how, struct vrt_reader **ret_reader,
                       struct vrt_error *error)
{
    struct vrt_reader_params params = { .n_threads = 1, .tonemap = how, .name = "clip" };
    int fd = fixture_open(path);
    int r = vrt_reader_open(fd, &params, ret_reader, error);

    if (r < 0)
        close(fd);
    return r < 0 ? r : fd;
}

static void expect_plane(const struct vrt_plane *plane, int sample_bytes, FILE *wanted)
{
    uint8_t row[330 * 2];
    const size_t n = (size_t)plane->width * (size_t)sample_bytes;

    for (int y = 0; y < plane->height; y++) {
        expect_int(fread(row, 1, n, wanted), (long long)n);
        expect_int(memcmp(row, plane->data + (size_t)y * plane->stride_bytes, n), 0);
    }
}

/* A display of 500 cd/m2, and light that was measured. */
#define LIT PQ "-pix_fmt yuv420p10le -c:v libx265 -x265-params 'log-level=none:hdr10=1:" \
    "master-display=G(1,1)B(1,1)R(1,1)WP(1,1)L(5000000,1):"

struct mapping {
    const char *made, *pixels, *curve, *place;
    enum vrt_tonemap how;
    int peak;
};

/* Every sample of every frame is that in the file `wanted`. */
static void expect_frames(struct vrt_reader *reader, const char *wanted_path)
{
    const struct vrt_reader_info *info = vrt_reader_info(reader);
    struct vrt_error error = { .id = NULL };
    struct vrt_frame *frame = NULL;
    FILE *wanted = fopen(wanted_path, "rb");

    expect_true(wanted != NULL);
    for (int n = 0; n < N_FRAMES; n++) {
        expect_int(vrt_reader_next(reader, &frame, &error), 0);
        expect_true(frame->index == n && frame->extra.n_hdr10plus == 0);
        for (int p = 0; p < 3; p++)
            expect_plane(&frame->planes[p], info->format.depth > 8 ? 2 : 1, wanted);
        frame = vrt_frame_unref(frame);
    }
    expect_int(vrt_reader_next(reader, &frame, &error), VRT_READER_END);
    expect_int(fgetc(wanted), EOF);
    fclose(wanted);
}

static void expect_mapped(const struct mapping *m, const char *name)
{
    struct vrt_error error = { .id = NULL };
    struct vrt_reader *reader = NULL;

    int fd = open_mapped(fixture_make(name, CLIP "-c:v ffv1 %s", m->made), m->how, &reader, &error);
    if (fd < 0)
        test_fail("%s: %s", name, error.message);
    const struct vrt_reader_info *info = vrt_reader_info(reader);
    expect_int(info->tonemap, m->how);
    expect_true(info->format.transfer == 1 && info->format.primaries == 1 &&
                info->format.color_space == 1);
    expect_int(info->format.matrix, VRT_FRAME_MATRIX_BT709);
    expect_true(!info->format.full_range);
    expect_true(!vrt_hdr_has_light(&info->format.hdr) && !vrt_hdr_has_display(&info->format.hdr));
    expect_frames(reader, fixture_make("sdr.raw", "-filter_threads 1 -i %s -vf zscale=cin=%s:"
                                       "t=linear:npl=100,format=gbrpf32le,zscale=p=bt709,tonemap="
                                       "%s:desat=0:peak=%d,zscale=t=bt709:m=bt709:r=tv:c=%s,"
                                       "format=%s -f rawvideo", name, m->place, m->curve,
                                       m->peak ? m->peak : 10, m->place, m->pixels));
    vrt_reader_close(reader);
    close(fd);
}

static void test_as_ffmpeg(void)
{
    static const struct mapping mappings[] = {
        { PQ "-pix_fmt yuv420p10le", "yuv420p10le", "hable", "left", VRT_TONEMAP_HABLE },
        { PQ "-pix_fmt yuv444p12le", "yuv444p12le", "mobius", "left", VRT_TONEMAP_MOBIUS },
        { PQ "-pix_fmt yuv420p10le -chroma_sample_location topleft", "yuv420p10le", "reinhard",
          "topleft", VRT_TONEMAP_REINHARD },
        { HLG "-pix_fmt yuv422p10le", "yuv422p10le", "clip", "left", VRT_TONEMAP_CLIP },
        { HLG "-pix_fmt yuv420p -color_range pc", "yuv420p", "hable", "left", VRT_TONEMAP_HABLE },
        { LIT "max-cll=400,9'", "yuv420p10le", "hable", "left", VRT_TONEMAP_HABLE, 4 },
        { LIT "max-cll=0,0'", "yuv420p10le", "hable", "left", VRT_TONEMAP_HABLE, 5 },
        { LIT "max-cll=99,9'", "yuv420p10le", "hable", "left", VRT_TONEMAP_HABLE, 1 },
    };
    char name[32];

    for (size_t i = 0; i < VRT_ARRAY_SIZE(mappings); i++) {
        snprintf(name, sizeof(name), "hdr%zu.mkv", i);
        expect_mapped(&mappings[i], name);
    }
}

/* What is SDR stays as it is; of a curve that FFmpeg hasn't there is no filter. */
static void test_others(void)
{
    struct vrt_tonemapper *none = NULL;
    struct vrt_error error = { .id = NULL };
    struct vrt_reader *reader = NULL;
    int fd = open_mapped(fixture_make("plain.mkv", CLIP "-c:v ffv1 -pix_fmt yuv420p "
                                      "-color_trc bt709"), VRT_TONEMAP_HABLE, &reader, &error);

    expect_true(fd >= 0);
    expect_int(vrt_reader_info(reader)->tonemap, VRT_TONEMAP_OFF);
    expect_contains(vrt_reader_info(reader)->warnings.sentences[0], "isn't HDR");
    expect_int(vrt_tonemapper_new(&vrt_reader_info(reader)->format, VRT_TONEMAP_OFF, &none),
               -ENOTSUP);
    vrt_reader_close(reader);
    close(fd);
}

/* Enlarged and made smaller, wherever chroma lies. */
static void test_scaled(void)
{
    static const struct {
        const char *pixels, *place, *positions;
        int width, height;
    } rows[] = {
        { "yuv420p", "left", "in_h_chr_pos=0:out_h_chr_pos=0:in_v_chr_pos=128:out_v_chr_pos=128",
          320, 180 },
        { "yuv420p", "center",
          "in_h_chr_pos=128:out_h_chr_pos=128:in_v_chr_pos=128:out_v_chr_pos=128", 80, 46 },
        { "yuv420p10", "topleft", "in_h_chr_pos=0:out_h_chr_pos=0:in_v_chr_pos=0:out_v_chr_pos=0",
          162, 88 },
        { "yuv422p", "left", "in_h_chr_pos=0:out_h_chr_pos=0", 242, 135 },
        { "yuv444p", "left", "in_h_chr_pos=-513", 97, 61 },
        { "gray", "unspecified", "in_h_chr_pos=-513", 321, 45 },
        { "gray16le", "unspecified", "in_h_chr_pos=-513", 200, 200 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        VRT_CLEANUP(vrt_av_frame_freep) AVFrame *view = NULL, *scaled = NULL;
        VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = NULL;
        VRT_CLEANUP(vrt_reader_closep) struct vrt_reader *reader = NULL;
        struct vrt_error error = { .id = NULL };
        struct vrt_scaler *scaler = NULL;

        fprintf(stderr, "  %s to %dx%d\n", rows[i].pixels, rows[i].width, rows[i].height);
        const char *large = fixture_make("large.mkv", CLIP "-c:v ffv1 -pix_fmt %s "
                                         "-chroma_sample_location %s", rows[i].pixels,
                                         rows[i].place);
        int fd = open_mapped(large, VRT_TONEMAP_OFF, &reader, &error);
        expect_true(fd >= 0);
        expect_int(vrt_reader_next(reader, &frame, &error), 0);
        struct vrt_frame_format to = frame->format;
        to.width = rows[i].width;
        to.height = rows[i].height;
        expect_int(vrt_scaler_new(&frame->format, &to, &scaler), 0);
        expect_true(vrt_scaler_takes(scaler, &frame->format) && !vrt_scaler_takes(scaler, &to));
        expect_int(vrt_frame_unwrap(frame, &view), 0);
        view->pts = 7;
        expect_int(vrt_scaler_run(scaler, view, &scaled), 0);
        expect_true(scaled->width == to.width && scaled->height == to.height && scaled->pts == 7);
        FILE *wanted = fopen(fixture_make("scaled.raw", "-i large.mkv -frames:v 1 -vf scale=%d:%d:"
                                          "flags=lanczos+accurate_rnd+bitexact:%s -pix_fmt %s -f "
                                          "rawvideo", to.width, to.height, rows[i].positions,
                                          rows[i].pixels), "rb");
        for (int p = 0; p < vrt_frame_format_n_planes(&to); p++) {
            struct vrt_plane plane = { .data = scaled->data[p],
                                       .stride_bytes = scaled->linesize[p] };
            vrt_frame_format_plane_size(&to, p, &plane.width, &plane.height);
            expect_plane(&plane, vrt_frame_format_sample_bytes(&to), wanted);
        }
        expect_int(fgetc(wanted), EOF);
        fclose(wanted);
        vrt_scaler_free(scaler);
        close(fd);
    }
}

/* Whatever colours a video has: compared with the RGB that it was made of, and beside it in a
 * picture, it is the same but for what 8 bits lose. */
static void test_rgb(void)
{
    static const char *const rows[][3] = {
        { "bt709", "tv", "bt709" }, { "bt601", "pc", "smpte170m" }, { "bt2020", "tv", "bt2020nc" },
    };
    VRT_CLEANUP(vrt_closep) int fd = fixture_open(fixture_make("rgb.mkv", CLIP
                                                               "-c:v ffv1 -pix_fmt bgr0"));

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        VRT_CLEANUP(vrt_compare_closep) struct vrt_compare *compare = NULL;
        VRT_CLEANUP(vrt_closep) int other_fd = fixture_open(
            fixture_make("yuv.mkv", "-i rgb.mkv -vf scale=out_color_matrix=%s:out_range=%s:flags="
                         "accurate_rnd+full_chroma_int,format=yuv444p -color_range %s -colorspace "
                         "%s -c:v ffv1", rows[i][0], rows[i][1], rows[i][1], rows[i][2]));
        VRT_CLEANUP(vrt_closep) int picture_fd = open(fixture_path("pair.png"), O_RDWR | O_CREAT,
                                                      0600);
        const struct vrt_compare_params params = { { fd, other_fd }, { "a", "b" }, 0 };
        struct vrt_preview preview = {
            .before_fd = fd, .after_fd = other_fd, .picture_fd = picture_fd, .before_name = "a",
            .after_name = "b", .before_streams = "", .time_ns = -1,
        };
        struct vrt_compare_size size;
        struct vrt_compared compared;
        struct vrt_error error = { .id = NULL };

        fprintf(stderr, "  %s\n", rows[i][2]);
        expect_int(vrt_compare_open(&params, &compare, &size, &error), 0);
        expect_int(vrt_compare_next(compare, &compared, &error), 0);
        expect_true(compared.quality.error_rgb < 1.5);
        expect_int(vrt_preview_make(&preview, &error), 0);
        const char *psnr_db = fixture_run("ffmpeg -nostdin -i pair.png -lavfi 'split[x][y];"
                                          "[x]crop=iw/2:ih:0:0[a];[y]crop=iw/2:ih:iw/2:0[b];"
                                          "[a][b]psnr' -f null - 2>&1 | grep -o 'average:[0-9]*' "
                                          "| cut -d: -f2");
        expect_true(strtod(psnr_db, NULL) > 45);
    }
}

TEST_MAIN_AFTER(fixture_init(),
    { "as-ffmpeg", test_as_ffmpeg }, { "others", test_others }, { "scaled", test_scaled },
    { "rgb", test_rgb },
)
