/* SPDX-License-Identifier: MIT */

/*
 * What each of FFmpeg's encoders is told. The same frames must become the same bytes, however often
 * and on whatever machine: threads are counted here rather than by the encoder, and what counts on
 * the machine is turned off.
 *
 * By default the quality is constant, not the rate: what a network sharpened must not be smoothed
 * away again.
 */

#include "frames/encode/encoder-kinds.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"

#define SVTAV1_LP_MAX 6

/* Frames from one key frame to the next: more than a segment has, unless longer ones were asked
 * for. */
#define HARDWARE_GOP 600

/* Notes an option of the encoder's own. */
static void VRT_PRINTF(3, 4) tell(struct vrt_encoder_told *told, const char *key,
                                  const char *format, ...)
{
    char text[96];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (told->r >= 0)
        told->r = av_dict_set(&told->options, key, text, 0);
}

/* The place of the preset among vrt_preset_names. */
static int preset_of(const struct vrt_encoder_params *params)
{
    return vrt_preset_find(params->preset ? params->preset : "medium");
}

/* A bitrate is the context's. */
static void set_quality(const struct vrt_encoder_params *params, int quality,
                        struct vrt_encoder_told *told)
{
    if (params->bitrate <= 0)
        tell(told, "crf", "%d", quality);
}

/* cpu-independent: the same bytes whatever vector instructions the machine has. */
static void set_x264(const struct vrt_encoder_params *params, int quality,
                     struct vrt_encoder_told *told)
{
    if (params->level)
        told->codec->level = params->level;
    tell(told, "preset", "%s", vrt_preset_names[preset_of(params)]);
    set_quality(params, quality, told);
    tell(told, "x264-params", "cpu-independent=1");
}

/*
 * Threads are chosen here rather than by libx265 from the machine. info=0: its note in the stream
 * names the machine's vector instructions. Its log goes to standard error whatever we do. Where
 * bitrates of segments differ the tier must not follow from them either.
 */
static void set_x265(const struct vrt_encoder_params *params, int quality,
                     struct vrt_encoder_told *told)
{
    const int n_frame_threads = VRT_MIN(1 + params->n_threads / 4, 4);
    char level[24] = "";

    if (params->level)
        snprintf(level, sizeof(level), ":level-idc=%.1f", params->level / 30.0);
    tell(told, "preset", "%s", vrt_preset_names[preset_of(params)]);
    set_quality(params, quality, told);
    tell(told, "x265-params", "log-level=none:info=0:pools=%d:frame-threads=%d%s%s",
         params->n_threads, n_frame_threads, params->max_bitrate > 0 ? ":high-tier=0" : "", level);
}

/* The byte at `index` of the first NAL unit (ITU-T H.264, H.265: annex B) whose first byte is
 * `first`, without what keeps it from looking like a start code. 0: there is none. */
static int byte_of_unit(const uint8_t *head, int size, uint8_t first, int index)
{
    for (int i = 0; i + 3 < size; i++) {
        if (head[i] || head[i + 1] || head[i + 2] != 1 || head[i + 3] != first)
            continue;
        int n_zeros = 0;
        for (int k = i + 3; k < size; k++) {
            if (n_zeros >= 2 && head[k] == 3) {
                n_zeros = 0;
                continue;
            }
            if (!index--)
                return head[k];
            n_zeros = head[k] ? 0 : n_zeros + 1;
        }
    }
    return 0;
}

/* level_idc: the third byte of the sequence parameter set. */
static int level_of_h264(const uint8_t *head, int size)
{
    return byte_of_unit(head, size, 0x67, 3);
}

/* general_level_idc: of the video parameter set, whose profiles begin at the fifth byte. */
static int level_of_hevc(const uint8_t *head, int size)
{
    return byte_of_unit(head, size, 0x40, 2 + 4 + 11);
}

/* One for each thread, of the numbers that the format has. */
static int pick_slices(int n_threads)
{
    static const int slices[] = { 4, 6, 9, 12, 16, 24, 30 };
    size_t i = 0;

    while (i + 1 < VRT_ARRAY_SIZE(slices) && slices[i] < n_threads)
        i++;
    return slices[i];
}

/*
 * Every frame a key frame, every slice with a checksum; slices are what its threads share out. Some
 * numbers of them don't fit odd sizes: there, and where frames are small, FFmpeg chooses (0). Of
 * slices that are a pixel or two wide or high, and of 4:1:1 and 4:1:0 in odd sizes, FFmpeg stores
 * columns wrong (seen in 5.1), except in the format's first version, which has no slices.
 */
static void set_ffv1(const struct vrt_encoder_params *params, int quality,
                     struct vrt_encoder_told *told)
{
    const struct vrt_frame_format *format = &params->format;
    const bool odd = format->width % (1 << format->chroma_shift_x) ||
                     format->height % (1 << format->chroma_shift_y);
    const bool small = format->width < 64 || format->height < 64;
    const bool tiny = format->width < 16 || format->height < 16;
    const int level = tiny || (odd && format->chroma_shift_x > 1) ? 1 : 3;

    (void)quality;
    tell(told, "level", "%d", level);
    tell(told, "g", "1");
    if (level < 3)
        return;
    tell(told, "slicecrc", "1");
    tell(told, "slices", "%d", odd || small ? 0 : pick_slices(params->n_threads));
}

/*
 * With a bitrate, other than with a quality, its bytes depend on which of several threads is first
 * (seen in 1.4): then it has one. Without "lp" it counts the processors; newer versions know none
 * over 6.
 */
static void set_svtav1(const struct vrt_encoder_params *params, int quality,
                       struct vrt_encoder_told *told)
{
    static const int speeds[] = { 12, 11, 10, 9, 8, 7, 6, 4, 2, 0 };

    tell(told, "svtav1-params", "lp=%d",
         params->bitrate > 0 ? 1 : VRT_MIN(params->n_threads, SVTAV1_LP_MAX));
    tell(told, "preset", "%d", speeds[preset_of(params)]);
    set_quality(params, quality, told);
}

/* Constant quality in both libraries: a CRF, and no rate. */
static void set_aom_or_vpx(const struct vrt_encoder_params *params, int quality, int speed,
                           struct vrt_encoder_told *told)
{
    set_quality(params, quality, told);
    if (params->bitrate <= 0)
        tell(told, "b", "0");
    tell(told, "cpu-used", "%d", speed);
}

static void set_aom(const struct vrt_encoder_params *params, int quality,
                    struct vrt_encoder_told *told)
{
    static const int speeds[] = { 6, 6, 6, 5, 5, 4, 3, 2, 1, 0 };

    set_aom_or_vpx(params, quality, speeds[preset_of(params)], told);
    tell(told, "row-mt", "1");
}

/* Threads by rows may change the result, so there are those by columns alone. */
static void set_vpx(const struct vrt_encoder_params *params, int quality,
                    struct vrt_encoder_told *told)
{
    static const int speeds[] = { 5, 5, 5, 4, 3, 2, 1, 1, 0, 0 };

    set_aom_or_vpx(params, quality, speeds[preset_of(params)], told);
    tell(told, "row-mt", "0");
}

/* Frames are shared out by slices, so that none is held for long. */
static void set_prores(const struct vrt_encoder_params *params, int quality,
                       struct vrt_encoder_told *told)
{
    (void)quality;
    told->codec->thread_type = FF_THREAD_SLICE;
    tell(told, "profile", params->format.chroma_shift_x ? "hq" : "4444");
}

static void set_dnxhd(const struct vrt_encoder_params *params, int quality,
                      struct vrt_encoder_told *told)
{
    (void)quality;
    told->codec->thread_type = FF_THREAD_SLICE;
    tell(told, "profile", !params->format.chroma_shift_x ? "dnxhr_444"
                          : params->format.depth > 8     ? "dnxhr_hqx"
                                                         : "dnxhr_hq");
}

/* One quantiser for all frames. */
static void set_mjpeg(const struct vrt_encoder_params *params, int quality,
                      struct vrt_encoder_told *told)
{
    (void)params;
    told->codec->thread_type = FF_THREAD_SLICE;
    told->codec->flags |= AV_CODEC_FLAG_QSCALE;
    told->codec->global_quality = quality * FF_QP2LAMBDA;
    tell(told, "qmin", "1");
}

/* Each row by the filter that suits it best. */
static void set_png(const struct vrt_encoder_params *params, int quality,
                    struct vrt_encoder_told *told)
{
    (void)params, (void)quality;
    tell(told, "pred", "mixed");
}

static void set_tiff(const struct vrt_encoder_params *params, int quality,
                     struct vrt_encoder_told *told)
{
    (void)params, (void)quality;
    tell(told, "compression_algo", "deflate");
}

/* WebP counts the other way round, to 100; nothing is lost at 0. */
static void set_webp(const struct vrt_encoder_params *params, int quality,
                     struct vrt_encoder_told *told)
{
    (void)params;
    tell(told, "lossless", "%d", quality == 0);
    tell(told, "quality", "%d", 100 - quality);
}

/* Half floats, of which 11 bits count: as many as the first of a sample's 16 that aren't 0. */
static void set_exr(const struct vrt_encoder_params *params, int quality,
                    struct vrt_encoder_told *told)
{
    (void)params, (void)quality;
    tell(told, "format", "half");
    tell(told, "compression", "zip16");
}

/* A scale to 51, as most hardware has it. */
static int quality_of_51(const struct vrt_encoder_params *params, int quality)
{
    return quality * 51 / vrt_codec_facts(params->codec)->quality_max;
}

/* Each segment begins with its encoder: no other frame needs to be a key frame. */
static void set_gop(struct vrt_encoder_told *told)
{
    told->codec->gop_size = HARDWARE_GOP;
}

static void set_nvenc(const struct vrt_encoder_params *params, int quality,
                      struct vrt_encoder_told *told)
{
    static const int speeds[] = { 1, 1, 2, 3, 3, 4, 5, 6, 7, 7 };

    set_gop(told);
    tell(told, "preset", "p%d", speeds[preset_of(params)]);
    tell(told, "rc", "vbr");
    if (params->bitrate > 0)
        return;
    told->codec->bit_rate = 0;
    tell(told, "cq", "%d", VRT_MAX(quality_of_51(params, quality), 1));
}

/* Its own quality, from 1 to 51 (ICQ). */
static void set_qsv(const struct vrt_encoder_params *params, int quality,
                    struct vrt_encoder_told *told)
{
    static const char *const speeds[] = {
        "veryfast", "veryfast", "veryfast", "faster", "fast", "medium", "slow", "slower",
        "veryslow", "veryslow",
    };

    set_gop(told);
    if (params->bitrate <= 0)
        told->codec->global_quality = VRT_MAX(quality_of_51(params, quality), 1);
    tell(told, "preset", "%s", speeds[preset_of(params)]);
}

/* One quantiser, which is all that every driver has; VP9's goes to 255. */
static void set_vaapi(const struct vrt_encoder_params *params, int quality,
                      struct vrt_encoder_told *told)
{
    const bool is_wide = params->codec == VRT_CODEC_VP9 || params->codec == VRT_CODEC_AV1;

    set_gop(told);
    tell(told, "rc_mode", params->bitrate > 0 ? "VBR" : "CQP");
    if (params->bitrate <= 0)
        told->codec->global_quality =
            VRT_MAX(quality_of_51(params, quality) * (is_wide ? 5 : 1), 1);
}

/* From 1 (worst) to 100; only Apple silicon has it. */
static void set_videotoolbox(const struct vrt_encoder_params *params, int quality,
                             struct vrt_encoder_told *told)
{
    set_gop(told);
    if (params->bitrate > 0)
        return;
    told->codec->flags |= AV_CODEC_FLAG_QSCALE;
    told->codec->global_quality =
        VRT_MAX(100 - 2 * quality_of_51(params, quality), 1) * FF_QP2LAMBDA;
}

static const struct vrt_encoder_kind kinds[] = {
    { "libx264", 1, .even_only = true, .level_of = level_of_h264, .set_options = set_x264 },
    { "libx265", 1, .even_only = true, .level_of = level_of_hevc, .set_options = set_x265 },
    { "ffv1", 1, .set_options = set_ffv1 },
    /* Its threads wait for a first frame for ever (seen in 1.4). */
    { "libsvtav1", 64, .even_only = true, .needs_frame = true, .set_options = set_svtav1 },
    { "libaom-av1", 1, .late_extradata = true, .set_options = set_aom },
    { "libvpx-vp9", 1, .set_options = set_vpx },
    { "prores_ks", 1, .even_only = true, .set_options = set_prores },
    { "dnxhd", 1, .set_options = set_dnxhd },
    { "mjpeg", 1, .set_options = set_mjpeg },
    { "png", 1, .set_options = set_png },
    { "apng", 1, .set_options = set_png },
    { "tiff", 1, .set_options = set_tiff },
    { "libwebp", 1, .set_options = set_webp },
    { "exr", 1, .set_options = set_exr },
    { "h264_nvenc", 146, .even_only = true, .set_options = set_nvenc },
    { "hevc_nvenc", 146, .even_only = true, .set_options = set_nvenc },
    { "av1_nvenc", 192, .even_only = true, .set_options = set_nvenc },
    { "h264_qsv", 128, .even_only = true, .set_options = set_qsv },
    { "hevc_qsv", 128, .even_only = true, .set_options = set_qsv },
    { "av1_qsv", 128, .even_only = true, .set_options = set_qsv },
    { "vp9_qsv", 128, .even_only = true, .set_options = set_qsv },
    { "h264_vaapi", 128, .even_only = true, .takes_surfaces = true, .set_options = set_vaapi },
    { "hevc_vaapi", 128, .even_only = true, .takes_surfaces = true, .set_options = set_vaapi },
    { "av1_vaapi", 128, .even_only = true, .takes_surfaces = true, .set_options = set_vaapi },
    { "vp9_vaapi", 128, .even_only = true, .takes_surfaces = true, .set_options = set_vaapi },
    { "h264_videotoolbox", 64, .even_only = true, .set_options = set_videotoolbox },
    { "hevc_videotoolbox", 64, .even_only = true, .set_options = set_videotoolbox },
};

const struct vrt_encoder_kind *vrt_encoder_kind_find(const char *name)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}
