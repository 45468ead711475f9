/* SPDX-License-Identifier: MIT */

/* What each encoder is told, of which not every machine has all, and the level in what it says. */

#include <errno.h>
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>

#include "base/macro.h"
#include "frames/encode/codec.h"
#include "tests/unit/test.h"

#define YUV VRT_LAYOUT_YUV
#define GBR VRT_LAYOUT_GBR
#define GRAY VRT_LAYOUT_GRAY
#define FORMAT(width, height, shift_x, shift_y, depth)  \
    .format = { width, height, depth, YUV, shift_x, shift_y }
#define X265 "x265-params log-level=none:info=0:pools="

static const char *lacking = "";

/* FFmpeg's own, but for what it is to lack. */
const AVCodec *avcodec_find_encoder_by_name(const char *name)
{
    const AVCodec *codec = NULL;
    void *at = NULL;

    while (!strstr(lacking, name) && (codec = av_codec_iterate(&at)) &&
           (!av_codec_is_encoder(codec) || strcmp(codec->name, name) != 0))
        continue;
    return codec;
}

struct row {
    const char *name, *options;
    struct vrt_encoder_params params;
    int global_quality;
};

/* Segments begin with a key frame each, and have no other. */
static const struct row hardware[] = {
    { "h264_nvenc", "preset p4,rc vbr,cq 20", { VRT_CODEC_H264, 20 } },
    { "hevc_nvenc", "preset p7,rc vbr,cq 1", { VRT_CODEC_HEVC, 0, "placebo" } },
    { "av1_nvenc", "preset p1,rc vbr,cq 51", { VRT_CODEC_AV1, 63, "ultrafast" } },
    { "h264_nvenc", "preset p5,rc vbr", { VRT_CODEC_H264, 20, "slow", 1 } },
    { "h264_qsv", "preset medium", { VRT_CODEC_H264, 0 }, 1 },
    { "vp9_qsv", "preset veryfast", { VRT_CODEC_VP9, 42, "ultrafast" }, 34 },
    { "h264_qsv", "preset veryslow", { VRT_CODEC_H264, 20, "placebo", 1 } },
    { "h264_vaapi", "rc_mode CQP", { VRT_CODEC_H264, 20 }, 20 },
    { "hevc_vaapi", "rc_mode CQP", { VRT_CODEC_HEVC, 0 }, 1 },
    { "vp9_vaapi", "rc_mode CQP", { VRT_CODEC_VP9, 63 }, 255 },
    { "av1_vaapi", "rc_mode CQP", { VRT_CODEC_AV1, 21 }, 85 },
    { "h264_vaapi", "rc_mode VBR", { VRT_CODEC_H264, 20, NULL, 1 } },
    { "h264_videotoolbox", "", { VRT_CODEC_H264, 20 }, 60 * FF_QP2LAMBDA },
    { "hevc_videotoolbox", "", { VRT_CODEC_HEVC, 51 }, FF_QP2LAMBDA },
    { "h264_videotoolbox", "", { VRT_CODEC_H264, 20, NULL, 1 } },
};

static const struct row software[] = {
    { "libx264", "preset medium,crf 20,x264-params cpu-independent=1", { VRT_CODEC_H264, 20 } },
    { "libx264", "preset slow,x264-params cpu-independent=1",
      { VRT_CODEC_H264, 20, "slow", 1, .level = 31 } },
    { "libx265", "preset faster," X265 "8:frame-threads=3:high-tier=0:level-idc=3.1",
      { VRT_CODEC_HEVC, 20, "faster", 1, 1, 93, .n_threads = 8 } },
    { "libx265", "preset medium,crf 20," X265 "64:frame-threads=4",
      { VRT_CODEC_HEVC, 20, .n_threads = 64 } },
    { "ffv1", "level 3,g 1,slicecrc 1,slices 4", { VRT_CODEC_FFV1, FORMAT(64, 64, 0, 0, 8) } },
    { "ffv1", "level 3,g 1,slicecrc 1,slices 0", { VRT_CODEC_FFV1, FORMAT(63, 64, 0, 0, 8) } },
    { "ffv1", "level 3,g 1,slicecrc 1,slices 0", { VRT_CODEC_FFV1, FORMAT(64, 63, 0, 0, 8) } },
    { "ffv1", "level 3,g 1,slicecrc 1,slices 0", { VRT_CODEC_FFV1, FORMAT(65, 64, 1, 1, 8) } },
    { "ffv1", "level 3,g 1,slicecrc 1,slices 0", { VRT_CODEC_FFV1, FORMAT(64, 65, 1, 1, 8) } },
    { "ffv1", "level 3,g 1,slicecrc 1,slices 0", { VRT_CODEC_FFV1, FORMAT(16, 16, 0, 0, 8) } },
    { "ffv1", "level 1,g 1", { VRT_CODEC_FFV1, FORMAT(15, 64, 0, 0, 8) } },
    { "ffv1", "level 1,g 1", { VRT_CODEC_FFV1, FORMAT(64, 15, 0, 0, 8) } },
    { "ffv1", "level 1,g 1", { VRT_CODEC_FFV1, FORMAT(66, 64, 2, 0, 8) } },
    { "ffv1", "level 3,g 1,slicecrc 1,slices 4", { VRT_CODEC_FFV1, FORMAT(64, 64, 2, 2, 8) } },
    { "libsvtav1", "svtav1-params lp=4,preset 7,crf 22", { VRT_CODEC_AV1, 22, .n_threads = 4 } },
    { "libsvtav1", "svtav1-params lp=1,preset 7", { VRT_CODEC_AV1, 22, NULL, 1, .n_threads = 4 } },
    { "libaom-av1", "crf 22,b 0,cpu-used 4,row-mt 1", { VRT_CODEC_AV1, 22 } },
    { "libvpx-vp9", "cpu-used 2,row-mt 0", { VRT_CODEC_VP9, 22, NULL, 1 } },
    { "prores_ks", "profile hq", { VRT_CODEC_PRORES, FORMAT(64, 64, 1, 0, 10) } },
    { "prores_ks", "profile 4444", { VRT_CODEC_PRORES, FORMAT(64, 64, 0, 0, 10) } },
    { "dnxhd", "profile dnxhr_hq", { VRT_CODEC_DNXHR, FORMAT(256, 120, 1, 0, 8) } },
    { "dnxhd", "profile dnxhr_hqx", { VRT_CODEC_DNXHR, FORMAT(256, 120, 1, 0, 10) } },
    { "dnxhd", "profile dnxhr_444", { VRT_CODEC_DNXHR, FORMAT(256, 120, 0, 0, 10) } },
    { "mjpeg", "qmin 1", { VRT_CODEC_MJPEG, 2 }, 2 * FF_QP2LAMBDA },
    { "png", "pred mixed", { VRT_CODEC_PNG, 0 } }, { "apng", "pred mixed", { VRT_CODEC_APNG, 0 } },
    { "tiff", "compression_algo deflate", { VRT_CODEC_TIFF, 0 } },
    { "libwebp", "lossless 1,quality 100", { VRT_CODEC_WEBP, 0 } },
    { "libwebp", "lossless 0,quality 92", { VRT_CODEC_WEBP, 8 } },
    { "exr", "format half,compression zip16", { VRT_CODEC_EXR, 0 } },
};

/* The least side of each; whether sides have to be even, it can't go without a frame, its head
 * comes late, it takes a device's surfaces, and its head tells a level. */
static const char *const kinds[] = {
    "libx264 1 even level", "libx265 1 even level", "ffv1 1", "libsvtav1 64 even frame",
    "libaom-av1 1 late", "libvpx-vp9 1", "prores_ks 1 even", "dnxhd 1", "mjpeg 1", "png 1",
    "apng 1", "tiff 1", "libwebp 1", "exr 1", "h264_nvenc 146 even", "hevc_nvenc 146 even",
    "av1_nvenc 192 even", "h264_qsv 128 even", "hevc_qsv 128 even", "av1_qsv 128 even",
    "vp9_qsv 128 even", "h264_vaapi 128 even surfaces", "hevc_vaapi 128 even surfaces",
    "av1_vaapi 128 even surfaces", "vp9_vaapi 128 even surfaces", "h264_videotoolbox 64 even",
    "hevc_videotoolbox 64 even",
};

static void test_kinds(void)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(kinds); i++) {
        char name[32] = "", said[64];
        expect_int(sscanf(kinds[i], "%31s", name), 1);
        const struct vrt_encoder_kind *kind = vrt_encoder_kind_find(name);
        snprintf(said, sizeof(said), "%s %d%s%s%s%s%s", kind->name, kind->min_side,
                 kind->even_only ? " even" : "", kind->needs_frame ? " frame" : "",
                 kind->late_extradata ? " late" : "", kind->takes_surfaces ? " surfaces" : "",
                 kind->level_of ? " level" : "");
        expect_str(said, kinds[i]);
    }
    expect_true(!vrt_encoder_kind_find("h264"));
}

static void check(const struct row *row, bool is_hardware)
{
    const struct vrt_encoder_kind *kind = vrt_encoder_kind_find(row->name);
    const bool is_intra = row->params.codec == VRT_CODEC_PRORES ||
                          row->params.codec == VRT_CODEC_DNXHR ||
                          row->params.codec == VRT_CODEC_MJPEG;
    AVCodecContext *codec = avcodec_alloc_context3(NULL);
    struct vrt_encoder_told told = { .codec = codec };
    char *said = NULL;

    fprintf(stderr, "  %s %s\n", row->name, row->options);
    expect_true(kind && codec);
    const int level = strcmp(row->name, "libx264") == 0 ? row->params.level : 0;
    const int gop_size = codec->gop_size;
    codec->bit_rate = 77;
    codec->global_quality = 0;
    kind->set_options(&row->params, row->params.quality, &told);
    expect_int(told.r, 0);
    expect_true(av_dict_get_string(told.options, &said, ' ', ',') >= 0);
    expect_str(said, row->options);
    expect_int(codec->global_quality, row->global_quality);
    expect_true(is_hardware ? codec->gop_size >= 600 : codec->gop_size == gop_size);
    expect_int(codec->bit_rate, strstr(row->options, "cq ") ? 0 : 77);
    expect_int(!!(codec->flags & AV_CODEC_FLAG_QSCALE),
               row->global_quality && row->global_quality % FF_QP2LAMBDA == 0);
    expect_int(codec->thread_type == FF_THREAD_SLICE, is_intra);
    expect_int(codec->level, level ? level : FF_LEVEL_UNKNOWN);
    av_free(said);
    av_dict_free(&told.options);
    avcodec_free_context(&codec);
}

static void test_settings(void)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(hardware); i++)
        check(&hardware[i], true);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(software); i++)
        check(&software[i], false);
}

/* Of one option: from the fastest preset to the slowest, and of 2, 5, 8, 12 ... 39 threads. */
static void test_speeds(void)
{
    static const struct {
        const char *name, *option, *values;
    } rows[] = {
        { "libsvtav1", "preset", "12 11 10 9 8 7 6 4 2 0 " },
        { "libsvtav1", "svtav1-params", "lp=2 lp=5 lp=6 lp=6 lp=6 lp=6 lp=6 lp=6 lp=6 lp=6 " },
        { "libaom-av1", "cpu-used", "6 6 6 5 5 4 3 2 1 0 " },
        { "libvpx-vp9", "cpu-used", "5 5 5 4 3 2 1 1 0 0 " },
        { "h264_nvenc", "preset", "p1 p1 p2 p3 p3 p4 p5 p6 p7 p7 " },
        { "h264_qsv", "preset", "veryfast veryfast veryfast faster fast medium slow slower "
          "veryslow veryslow " },
        { "ffv1", "slices", "4 6 9 12 16 24 24 30 30 30 " },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        char said[128];
        size_t n = 0;
        for (int k = 0; vrt_preset_names[k]; k++) {
            const struct vrt_encoder_params params = { VRT_CODEC_H264, 20, vrt_preset_names[k],
                                                       .n_threads = 2 + 3 * k + k * k / 8,
                                                       FORMAT(64, 64, 0, 0, 8) };
            AVCodecContext *codec = avcodec_alloc_context3(NULL);
            struct vrt_encoder_told told = { .codec = codec };
            vrt_encoder_kind_find(rows[i].name)->set_options(&params, 20, &told);
            n += (size_t)snprintf(said + n, sizeof(said) - n, "%s ",
                                  av_dict_get(told.options, rows[i].option, NULL, 0)->value);
            av_dict_free(&told.options);
            avcodec_free_context(&codec);
        }
        expect_str(said, rows[i].values);
    }
}

/* Which encoder there is for what frames, and as what it takes them; none of it needs hardware. */
static void test_choices(void)
{
    static const struct {
        enum vrt_hwaccel hwaccel;
        enum vrt_codec codec;
        struct vrt_frame_format format;
        const char *encoder, *pixfmt;               /* NULL: there is none */
    } rows[] = {
        { VRT_HWACCEL_NVENC, VRT_CODEC_H264, { 146, 146, 8, YUV, 1, 1 }, "h264_nvenc", "yuv420p" },
        { VRT_HWACCEL_NVENC, VRT_CODEC_H264, { 145, 146, 8, YUV, 0, 0 }, NULL, NULL },
        { VRT_HWACCEL_NVENC, VRT_CODEC_H264, { 146, 145, 8, YUV, 0, 0 }, NULL, NULL },
        { VRT_HWACCEL_NVENC, VRT_CODEC_H264, { 147, 148, 8, YUV, 1, 1 }, NULL, NULL },
        { VRT_HWACCEL_NVENC, VRT_CODEC_HEVC, { 148, 147, 8, YUV, 1, 1 }, NULL, NULL },
        { VRT_HWACCEL_NVENC, VRT_CODEC_HEVC, { 147, 147, 8, YUV, 0, 0 }, "hevc_nvenc", "yuv444p" },
        { VRT_HWACCEL_NVENC, VRT_CODEC_HEVC, { 146, 146, 10, YUV, 1, 1 }, "hevc_nvenc", "p010le" },
        { VRT_HWACCEL_NVENC, VRT_CODEC_HEVC, { 146, 146, 8, YUV, 1, 1, .has_alpha = true } },
        { VRT_HWACCEL_NVENC, VRT_CODEC_PRORES, { 146, 146, 10, YUV, 1, 0 }, NULL, NULL },
        { VRT_HWACCEL_QSV, VRT_CODEC_H264, { 128, 128, 8, YUV, 1, 1 }, "h264_qsv", "nv12" },
        { VRT_HWACCEL_QSV, VRT_CODEC_VP9, { 128, 128, 10, YUV, 1, 1 }, "vp9_qsv", "p010le" },
        { VRT_HWACCEL_VAAPI, VRT_CODEC_H264, { 128, 128, 8, YUV, 1, 1 }, "h264_vaapi", "nv12" },
        { VRT_HWACCEL_VAAPI, VRT_CODEC_H264, { 128, 128, 10, YUV, 1, 1 }, NULL, NULL },
        { VRT_HWACCEL_VAAPI, VRT_CODEC_HEVC, { 128, 128, 10, YUV, 1, 1 }, "hevc_vaapi", "p010le" },
        { VRT_HWACCEL_VAAPI, VRT_CODEC_VP9, { 128, 128, 8, YUV, 1, 0 }, NULL, NULL },
        { 0, VRT_CODEC_AV1, { 64, 64, 10, YUV, 1, 1 }, "libsvtav1", "yuv420p10le" },
        { 0, VRT_CODEC_AV1, { 65, 64, 8, YUV, 1, 1 }, "libaom-av1", "yuv420p" },
        { 0, VRT_CODEC_AV1, { 64, 65, 8, YUV, 1, 1 }, "libaom-av1", "yuv420p" },
        { 0, VRT_CODEC_AV1, { 64, 64, 8, YUV, 1, 0 }, "libaom-av1", "yuv422p" },
        { 0, VRT_CODEC_H264, { 1, 1, 8, YUV, 0, 0 }, "libx264", "yuv444p" },
        { 0, VRT_CODEC_H264, { 64, 64, 8, YUV, 1, 1, .has_alpha = true }, NULL, NULL },
        { 0, VRT_CODEC_PNG, { 64, 64, 8, GBR }, "png", "rgb24" },
        { 0, VRT_CODEC_PNG, { 64, 64, 8, GBR, .has_alpha = true }, "png", "rgba" },
        { 0, VRT_CODEC_PNG, { 64, 64, 16, GBR, .has_alpha = true }, "png", "rgba64be" },
        { 0, VRT_CODEC_PNG, { 64, 64, 8, GRAY, .has_alpha = true }, "png", "ya8" },
        { 0, VRT_CODEC_PNG, { 64, 64, 10, GBR, .has_alpha = true }, NULL, NULL },
        { 0, VRT_CODEC_EXR, { 64, 64, 16, GBR }, "exr", "gbrpf32le" },
        { 0, VRT_CODEC_EXR, { 64, 64, 16, GBR, .has_alpha = true }, NULL, NULL },
        { 0, VRT_CODEC_FFV1, { 64, 64, 12, GBR, .has_alpha = true }, "ffv1", "gbrap12le" },
        { 0, VRT_CODEC_FFV1, { 64, 64, 8, YUV, 1, 0, .has_alpha = true }, "ffv1", "yuva422p" },
        { 0, VRT_CODEC_FFV1, { 64, 64, 10, YUV, 1, 1, .has_alpha = true }, "ffv1", "yuva420p10le" },
        { 0, VRT_CODEC_FFV1, { 64, 64, 10, YUV, 0, 1, .has_alpha = true }, NULL, NULL },
        { 0, VRT_CODEC_PRORES, { 64, 64, 10, YUV, 0, 0, .has_alpha = true }, "prores_ks",
          "yuva444p10le" },
        { 0, VRT_CODEC_PRORES, { 64, 64, 10, YUV, 1, 0, .has_alpha = true }, NULL, NULL },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        const struct vrt_codec_choice choice =
            rows[i].hwaccel ? vrt_codec_choose_hardware(rows[i].hwaccel, rows[i].codec,
                                                        &rows[i].format)
                            : vrt_codec_choose(rows[i].codec, &rows[i].format);
        fprintf(stderr, "  row %zu\n", i);
        if (rows[i].encoder && !avcodec_find_encoder_by_name(rows[i].encoder))
            continue;
        expect_str(choice.kind ? choice.kind->name : "", rows[i].encoder ? rows[i].encoder : "");
        if (choice.kind)
            expect_str(av_get_pix_fmt_name(choice.pixfmt), rows[i].pixfmt);
    }
}

/* The level in a head: behind other units, and without what hides start codes. */
static void test_levels(void)
{
#define BYTES(s) (const uint8_t *)s, sizeof(s) - 1
    static const struct {
        const char *name;
        const uint8_t *head;
        int size, level;
    } rows[] = {
        { "libx264", BYTES("\0\0\0\1\x67\x64\0\x1f\xac"), 31 },
        { "libx264", BYTES("\0\0\0\1\x68\0\0\1\x67\0\0\3\0\x28"), 0 },
        { "libx264", BYTES("\0\0\1\x67\x42\xc0\x28"), 40 },
        { "libx264", BYTES("\0\0\1\x67\x42\xc0"), 0 },
        { "libx264", BYTES("\0\0\1\x68\x42\xc0\x28"), 0 }, { "libx264", BYTES("\0\0\1"), 0 },
        { "libx265", BYTES("\0\0\0\1\x40\1\xc\1\xff\xff\1\x60\0\0\3\0\3\0\0\3\0\0\3\0\x5d\x95"),
          93 },
        { "libx265", BYTES("\0\0\0\1\x42\1\xc\1\xff\xff\1\x60\0\0\3\0\x90\0\0\3\0\0\3\0\x5d\x95"),
          0 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        fprintf(stderr, "  row %zu\n", i);
        expect_int(vrt_encoder_kind_find(rows[i].name)->level_of(rows[i].head, rows[i].size),
                   rows[i].level);
    }
#undef BYTES
}

/* What an FFmpeg lacks is said by name, and what is there instead. */
static void test_lacking(void)
{
    static const struct {
        enum vrt_codec codec;
        const char *lacking, *said;
    } rows[] = {
        { VRT_CODEC_H264, "libx264", "H.264 (it was built without libx264): " },
        { VRT_CODEC_AV1, "libsvtav1 libaom-av1", "without libsvtav1 and libaom-av1): " },
        { VRT_CODEC_GIF, "gif", "without gif): " }, { VRT_CODEC_GIF, "png", "without png): " },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct vrt_error error = { .id = NULL };
        lacking = rows[i].lacking;
        expect_int(vrt_codec_check(rows[i].codec, &error), -ENOSYS);
        expect_contains(error.message, rows[i].said);
        const char *others = strstr(error.message, "another codec: ");
        expect_contains(others, "ffv1, ");
        expect_true(!strstr(others, vrt_codec_names[rows[i].codec]));
    }
}

TEST_MAIN(
    { "kinds", test_kinds }, { "settings", test_settings }, { "speeds", test_speeds },
    { "choices", test_choices }, { "levels", test_levels },
    { "lacking", test_lacking },
)
