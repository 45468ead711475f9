/* SPDX-License-Identifier: MIT */
/* The table of codecs, and which containers hold them. */

#include "base/codecs.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/macro.h"

#define MP4 VRT_CONTAINER_BIT(VRT_CONTAINER_MP4)
#define MOV VRT_CONTAINER_BIT(VRT_CONTAINER_MOV)
#define MKV VRT_CONTAINER_BIT(VRT_CONTAINER_MKV)
#define WEBM VRT_CONTAINER_BIT(VRT_CONTAINER_WEBM)
#define TS VRT_CONTAINER_BIT(VRT_CONTAINER_TS)
#define MXF VRT_CONTAINER_BIT(VRT_CONTAINER_MXF)
#define GIF VRT_CONTAINER_BIT(VRT_CONTAINER_GIF)
#define APNG VRT_CONTAINER_BIT(VRT_CONTAINER_APNG)
#define PNG VRT_CONTAINER_BIT(VRT_CONTAINER_PNG)
#define JPG VRT_CONTAINER_BIT(VRT_CONTAINER_JPG)
#define TIFF VRT_CONTAINER_BIT(VRT_CONTAINER_TIFF)
#define WEBP VRT_CONTAINER_BIT(VRT_CONTAINER_WEBP)
#define EXR VRT_CONTAINER_BIT(VRT_CONTAINER_EXR)

/* What frames may have. */
#define SIDE_MAX 16384

static const struct vrt_codec_facts facts[VRT_CODEC_COUNT] = {
    [VRT_CODEC_H264] = {
        .title = "H.264", .ffmpeg = "h264", .encoders = { "libx264" },
        .containers = MP4 | MOV | MKV | TS, .container = VRT_CONTAINER_MKV,
        .quality_name = "CRF", .quality_max = 51, .quality = 17,
        .has_presets = true, .has_bitrate = true, .yuv_only = true, .has_metadata = true,
        .even_only = true, .max_side = 16384, .instead = "HEVC or FFV1",
    },
    [VRT_CODEC_HEVC] = {
        .title = "HEVC", .ffmpeg = "hevc", .encoders = { "libx265" },
        .containers = MP4 | MOV | MKV | TS, .container = VRT_CONTAINER_MKV,
        .quality_name = "CRF", .quality_max = 51, .quality = 19,
        .has_presets = true, .has_bitrate = true, .yuv_only = true, .has_metadata = true,
        .even_only = true, .max_side = 8192, .instead = "FFV1",
    },
    [VRT_CODEC_FFV1] = {
        .title = "FFV1", .ffmpeg = "ffv1", .encoders = { "ffv1" },
        .containers = MOV | MKV, .container = VRT_CONTAINER_MKV,
        .alpha = MOV | MKV, .max_side = SIDE_MAX, .instead = "a shallower input",
    },
    [VRT_CODEC_AV1] = {
        .title = "AV1", .ffmpeg = "av1", .encoders = { "libsvtav1", "libaom-av1" },
        .containers = MP4 | MKV | WEBM, .container = VRT_CONTAINER_MKV,
        .quality_name = "CRF", .quality_max = 63, .quality = 22,
        .has_presets = true, .has_bitrate = true, .yuv_only = true, .has_metadata = true,
        .max_side = SIDE_MAX, .instead = "FFV1",
    },
    [VRT_CODEC_VP9] = {
        .title = "VP9", .ffmpeg = "vp9", .encoders = { "libvpx-vp9" },
        .containers = MP4 | MKV | WEBM, .container = VRT_CONTAINER_MKV,
        .quality_name = "CRF", .quality_max = 63, .quality = 22,
        .has_presets = true, .has_bitrate = true, .yuv_only = true,
        .alpha = MKV | WEBM,
        .max_side = SIDE_MAX, .instead = "FFV1",
    },
    [VRT_CODEC_PRORES] = {
        .title = "ProRes", .ffmpeg = "prores", .encoders = { "prores_ks" },
        .containers = MOV | MKV | MXF, .container = VRT_CONTAINER_MOV,
        .yuv_only = true, .max_depth = 10, .alpha = MOV | MKV,
        .even_only = true, .colors = VRT_CODEC_COLORS_LIMITED,
        .max_side = SIDE_MAX, .instead = "FFV1",
    },
    [VRT_CODEC_DNXHR] = {
        .title = "DNxHR", .ffmpeg = "dnxhd", .encoders = { "dnxhd" },
        .containers = MOV | MKV | MXF, .container = VRT_CONTAINER_MOV,
        .yuv_only = true, .colors = VRT_CODEC_COLORS_BT709,
        .max_side = SIDE_MAX, .min_width = 256, .min_height = 120, .instead = "ProRes or FFV1",
    },
    [VRT_CODEC_MJPEG] = {
        .title = "MJPEG", .ffmpeg = "mjpeg", .encoders = { "mjpeg" },
        .containers = MOV | MKV, .container = VRT_CONTAINER_MKV,
        .quality_name = "qscale", .quality_min = 1, .quality_max = 31, .quality = 2,
        .yuv_only = true, .colors = VRT_CODEC_COLORS_JFIF,
        .max_side = SIDE_MAX, .instead = "ProRes or FFV1",
    },
    [VRT_CODEC_PNG] = {
        .title = "PNG", .ffmpeg = "png", .encoders = { "png" },
        .containers = PNG, .container = VRT_CONTAINER_PNG,
        .rgb_only = true, .keeps_alpha = true, .alpha = PNG,
        .max_side = SIDE_MAX, .instead = "a shallower input",
    },
    [VRT_CODEC_JPEG] = {
        .title = "JPEG", .ffmpeg = "mjpeg", .encoders = { "mjpeg" },
        .containers = JPG, .container = VRT_CONTAINER_JPG,
        .quality_name = "qscale", .quality_min = 1, .quality_max = 31, .quality = 2,
        .yuv_only = true, .max_depth = 8, .colors = VRT_CODEC_COLORS_JFIF,
        .max_side = SIDE_MAX, .instead = "PNG or TIFF",
    },
    [VRT_CODEC_TIFF] = {
        .title = "TIFF", .ffmpeg = "tiff", .encoders = { "tiff" },
        .containers = TIFF, .container = VRT_CONTAINER_TIFF,
        .rgb_only = true, .keeps_alpha = true, .alpha = TIFF,
        .max_side = SIDE_MAX, .instead = "a shallower input",
    },
    [VRT_CODEC_WEBP] = {
        .title = "WebP", .ffmpeg = "webp", .encoders = { "libwebp" },
        .containers = WEBP, .container = VRT_CONTAINER_WEBP,
        .quality_name = "loss", .quality_max = 63, .quality = 8,
        .rgb_only = true, .max_depth = 8,
        .max_side = 16383, .instead = "PNG or TIFF",
    },
    [VRT_CODEC_EXR] = {
        .title = "OpenEXR", .ffmpeg = "exr", .encoders = { "exr" },
        .containers = EXR, .container = VRT_CONTAINER_EXR,
        .rgb_only = true,
        .max_side = SIDE_MAX, .instead = "PNG or TIFF",
    },
    /* Segments have pictures, in PNG: which colours there are to be only all of them tell. */
    [VRT_CODEC_GIF] = {
        .title = "GIF", .ffmpeg = "png", .encoders = { "png" }, .joined_by = "gif",
        .containers = GIF, .container = VRT_CONTAINER_GIF,
        .rgb_only = true, .alpha = GIF, .max_depth = 8,
        .max_side = SIDE_MAX, .instead = "APNG",
    },
    [VRT_CODEC_APNG] = {
        .title = "APNG", .ffmpeg = "png", .encoders = { "png" }, .joined_by = "apng",
        .containers = APNG, .container = VRT_CONTAINER_APNG,
        .rgb_only = true, .alpha = APNG,
        .max_side = SIDE_MAX, .instead = "a shallower input",
    },
};

const char *const vrt_codec_names[] = {
    [VRT_CODEC_H264] = "h264",
    [VRT_CODEC_HEVC] = "hevc",
    [VRT_CODEC_FFV1] = "ffv1",
    [VRT_CODEC_AV1] = "av1",
    [VRT_CODEC_VP9] = "vp9",
    [VRT_CODEC_PRORES] = "prores",
    [VRT_CODEC_DNXHR] = "dnxhr",
    [VRT_CODEC_MJPEG] = "mjpeg",
    [VRT_CODEC_PNG] = "png",
    [VRT_CODEC_JPEG] = "jpeg",
    [VRT_CODEC_TIFF] = "tiff",
    [VRT_CODEC_WEBP] = "webp",
    [VRT_CODEC_EXR] = "exr",
    [VRT_CODEC_GIF] = "gif",
    [VRT_CODEC_APNG] = "apng",
    [VRT_CODEC_AUTO] = "auto",
    NULL,
};

const char *const vrt_container_names[] = {
    [VRT_CONTAINER_MP4] = "mp4",
    [VRT_CONTAINER_MOV] = "mov",
    [VRT_CONTAINER_MKV] = "mkv",
    [VRT_CONTAINER_WEBM] = "webm",
    [VRT_CONTAINER_TS] = "ts",
    [VRT_CONTAINER_MXF] = "mxf",
    [VRT_CONTAINER_GIF] = "gif",
    [VRT_CONTAINER_APNG] = "apng",
    [VRT_CONTAINER_PNG] = "png",
    [VRT_CONTAINER_JPG] = "jpg",
    [VRT_CONTAINER_TIFF] = "tiff",
    [VRT_CONTAINER_WEBP] = "webp",
    [VRT_CONTAINER_EXR] = "exr",
    [VRT_CONTAINER_COUNT] = NULL,
};

const char *const vrt_hwaccel_names[] = {
    [VRT_HWACCEL_OFF] = "off",
    [VRT_HWACCEL_AUTO] = "auto",
    [VRT_HWACCEL_NVENC] = "nvenc",
    [VRT_HWACCEL_QSV] = "qsv",
    [VRT_HWACCEL_VAAPI] = "vaapi",
    [VRT_HWACCEL_VIDEOTOOLBOX] = "videotoolbox",
    NULL,
};

const char *const vrt_hwdec_names[] = {
    [VRT_HWDEC_OFF] = "off",
    [VRT_HWDEC_AUTO] = "auto",
    [VRT_HWDEC_NVDEC] = "nvdec",
    [VRT_HWDEC_VAAPI] = "vaapi",
    [VRT_HWDEC_VIDEOTOOLBOX] = "videotoolbox",
    NULL,
};

/* Those of MPEG-2 and before leave it to decoders how to round. */
static const char *const exact_codecs[] = { "h264", "hevc", "vp9", "av1" };

/* Intel's cards decode by VAAPI: QSV's own decoders have neither captions nor HDR10+. */
static const enum vrt_hwdec hwdecs[VRT_HWACCEL_COUNT] = {
    [VRT_HWACCEL_OFF] = VRT_HWDEC_OFF,
    [VRT_HWACCEL_AUTO] = VRT_HWDEC_AUTO,
    [VRT_HWACCEL_NVENC] = VRT_HWDEC_NVDEC,
    [VRT_HWACCEL_QSV] = VRT_HWDEC_VAAPI,
    [VRT_HWACCEL_VAAPI] = VRT_HWDEC_VAAPI,
    [VRT_HWACCEL_VIDEOTOOLBOX] = VRT_HWDEC_VIDEOTOOLBOX,
};

static const enum vrt_hwaccel hwaccels[VRT_HWDEC_COUNT] = {
    [VRT_HWDEC_OFF] = VRT_HWACCEL_OFF,
    [VRT_HWDEC_NVDEC] = VRT_HWACCEL_NVENC,
    [VRT_HWDEC_VAAPI] = VRT_HWACCEL_VAAPI,
    [VRT_HWDEC_VIDEOTOOLBOX] = VRT_HWACCEL_VIDEOTOOLBOX,
};

static const char *const hardware[VRT_HWACCEL_COUNT][VRT_CODEC_COUNT] = {
    [VRT_HWACCEL_NVENC] = {
        [VRT_CODEC_H264] = "h264_nvenc", [VRT_CODEC_HEVC] = "hevc_nvenc",
        [VRT_CODEC_AV1] = "av1_nvenc",
    },
    [VRT_HWACCEL_QSV] = {
        [VRT_CODEC_H264] = "h264_qsv", [VRT_CODEC_HEVC] = "hevc_qsv",
        [VRT_CODEC_AV1] = "av1_qsv", [VRT_CODEC_VP9] = "vp9_qsv",
    },
    [VRT_HWACCEL_VAAPI] = {
        [VRT_CODEC_H264] = "h264_vaapi", [VRT_CODEC_HEVC] = "hevc_vaapi",
        [VRT_CODEC_AV1] = "av1_vaapi", [VRT_CODEC_VP9] = "vp9_vaapi",
    },
    [VRT_HWACCEL_VIDEOTOOLBOX] = {
        [VRT_CODEC_H264] = "h264_videotoolbox", [VRT_CODEC_HEVC] = "hevc_videotoolbox",
    },
};

const char *const vrt_preset_names[] = {
    "ultrafast", "superfast", "veryfast", "faster", "fast",
    "medium", "slow", "slower", "veryslow", "placebo", NULL,
};

const struct vrt_codec_facts *vrt_codec_facts(enum vrt_codec codec)
{
    vrt_assert((unsigned int)codec < VRT_CODEC_COUNT);
    return &facts[codec];
}

const char *vrt_hwaccel_encoder(enum vrt_hwaccel hwaccel, enum vrt_codec codec)
{
    vrt_assert((unsigned int)hwaccel < VRT_HWACCEL_COUNT &&
               (unsigned int)codec < VRT_CODEC_COUNT);
    return hardware[hwaccel][codec];
}

enum vrt_hwdec vrt_hwdec_of(enum vrt_hwaccel hwaccel)
{
    vrt_assert((unsigned int)hwaccel < VRT_HWACCEL_COUNT);
    return hwdecs[hwaccel];
}

enum vrt_hwaccel vrt_hwdec_hwaccel(enum vrt_hwdec hwdec)
{
    vrt_assert((unsigned int)hwdec < VRT_HWDEC_COUNT && hwdec != VRT_HWDEC_AUTO);
    return hwaccels[hwdec];
}

bool vrt_hwdec_is_exact(const char *codec)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(exact_codecs); i++)
        if (strcmp(exact_codecs[i], codec) == 0)
            return true;
    return false;
}

enum vrt_codec vrt_codec_for(enum vrt_container container, int depth)
{
    if (container == VRT_CONTAINER_WEBM)
        return VRT_CODEC_VP9;
    if (container == VRT_CONTAINER_MXF)
        return VRT_CODEC_DNXHR;
    if (depth > 12 && vrt_container_holds(container, VRT_CODEC_FFV1))
        return VRT_CODEC_FFV1;
    return depth > 8 ? VRT_CODEC_HEVC : VRT_CODEC_H264;
}

const char *vrt_quality_name(int codec)
{
    const char *name = (unsigned int)codec < VRT_CODEC_COUNT ? facts[codec].quality_name : NULL;

    return name ? name : "quality";
}

bool vrt_container_holds(enum vrt_container container, enum vrt_codec codec)
{
    return vrt_codec_facts(codec)->containers & VRT_CONTAINER_BIT(container);
}

bool vrt_container_find(const char *ending, enum vrt_container *ret_container)
{
    static const struct {
        const char *ending;
        enum vrt_container container;
    } others[] = {
        { "jpeg", VRT_CONTAINER_JPG },
        { "tif", VRT_CONTAINER_TIFF },
    };

    for (int i = 0; vrt_container_names[i]; i++)
        if (strcasecmp(ending, vrt_container_names[i]) == 0) {
            *ret_container = (enum vrt_container)i;
            return true;
        }
    for (size_t i = 0; i < VRT_ARRAY_SIZE(others); i++)
        if (strcasecmp(ending, others[i].ending) == 0) {
            *ret_container = others[i].container;
            return true;
        }
    return false;
}

bool vrt_ending_is_picture(const char *ending)
{
    static const char *const others[] = {
        "bmp", "dpx", "jp2", "pbm", "pcx", "pgm", "pnm", "ppm", "psd", "qoi", "tga",
    };
    enum vrt_container container;

    if (vrt_container_find(ending, &container))
        return vrt_container_is_picture(container);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(others); i++)
        if (strcasecmp(ending, others[i]) == 0)
            return true;
    return false;
}

bool vrt_container_is_picture(enum vrt_container container)
{
    return container >= VRT_CONTAINER_PNG;
}

bool vrt_container_is_animation(enum vrt_container container)
{
    return container == VRT_CONTAINER_GIF || container == VRT_CONTAINER_APNG;
}

bool vrt_container_has_own_codec(enum vrt_container container)
{
    return container >= VRT_CONTAINER_GIF;
}

enum vrt_codec vrt_container_own_codec(enum vrt_container container)
{
    static const enum vrt_codec codecs[VRT_CONTAINER_COUNT] = {
        [VRT_CONTAINER_GIF] = VRT_CODEC_GIF,
        [VRT_CONTAINER_APNG] = VRT_CODEC_APNG,
        [VRT_CONTAINER_PNG] = VRT_CODEC_PNG,
        [VRT_CONTAINER_JPG] = VRT_CODEC_JPEG,
        [VRT_CONTAINER_TIFF] = VRT_CODEC_TIFF,
        [VRT_CONTAINER_WEBP] = VRT_CODEC_WEBP,
        [VRT_CONTAINER_EXR] = VRT_CODEC_EXR,
    };

    vrt_assert(vrt_container_has_own_codec(container));
    return codecs[container];
}

int vrt_preset_find(const char *preset)
{
    for (int i = 0; vrt_preset_names[i]; i++)
        if (strcmp(vrt_preset_names[i], preset) == 0)
            return i;
    return -1;
}
