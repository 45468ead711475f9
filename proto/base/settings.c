/* SPDX-License-Identifier: MIT */
/* The names of what may be asked of a job. Thread: any; nothing here has a state. */

#include "base/settings.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS "0123456789"
#define SIDE_DIGITS_MAX 5
#define FACTOR_MAX 64

const char *const vrt_precision_names[] = {
    [VRT_PRECISION_AUTO] = "auto",
    [VRT_PRECISION_F32] = "f32",
    [VRT_PRECISION_F16] = "f16",
    [VRT_PRECISION_BF16] = "bf16",
    [VRT_PRECISION_COUNT] = NULL,
};

const char *const vrt_tiling_names[] = {
    [VRT_TILING_BLEND] = "blend",
    [VRT_TILING_OFFICIAL] = "official",
    [VRT_TILING_COUNT] = NULL,
};

const char *const vrt_deinterlace_names[] = {
    [VRT_DEINTERLACE_OFF] = "off",
    [VRT_DEINTERLACE_AUTO] = "auto",
    [VRT_DEINTERLACE_FRAME] = "frame",
    [VRT_DEINTERLACE_FIELD] = "field",
    [VRT_DEINTERLACE_TELECINE] = "telecine",
    [VRT_DEINTERLACE_COUNT] = NULL,
};

const char *const vrt_alpha_names[] = {
    [VRT_ALPHA_AUTO] = "auto",
    [VRT_ALPHA_RESIZE] = "resize",
    [VRT_ALPHA_DROP] = "drop",
    [VRT_ALPHA_NETWORK] = "network",
    [VRT_ALPHA_COUNT] = NULL,
};

/* Those of FFmpeg's filter. */
const char *const vrt_tonemap_names[] = {
    [VRT_TONEMAP_OFF] = "off",
    [VRT_TONEMAP_HABLE] = "hable",
    [VRT_TONEMAP_MOBIUS] = "mobius",
    [VRT_TONEMAP_REINHARD] = "reinhard",
    [VRT_TONEMAP_CLIP] = "clip",
    [VRT_TONEMAP_COUNT] = NULL,
};

void vrt_job_settings_init(struct vrt_job_settings *settings)
{
    *settings = (struct vrt_job_settings){
        .precision = VRT_UNKNOWN,
        .tile = VRT_UNKNOWN,
        .overlap = VRT_UNKNOWN,
        .clip = VRT_UNKNOWN,
        .clip_overlap = VRT_UNKNOWN,
        .tiling = VRT_TILING_BLEND,
        .scene_cuts = NAN,
        .start_s = NAN,
        .duration_s = NAN,
        .deinterlace = VRT_DEINTERLACE_AUTO,
        .times = VRT_UNKNOWN,
        .alpha = VRT_ALPHA_AUTO,
        .tonemap = VRT_TONEMAP_OFF,
        .hwaccel = VRT_UNKNOWN,
        .hwdec = VRT_UNKNOWN,
        .strength = NAN,
        .denoise = NAN,
        .sigma = NAN,
        .fps = NAN,
        .segment_frames = VRT_UNKNOWN,
        .decoder_threads = VRT_UNKNOWN,
        .codec = VRT_UNKNOWN,
        .quality = VRT_UNKNOWN,
        .quality_h264 = VRT_UNKNOWN,
        .quality_hevc = VRT_UNKNOWN,
        .bitrate = VRT_UNKNOWN,
        .target_size_bytes = VRT_UNKNOWN,
    };
}

/* A number of pixels, as far as digits go. Return: 0 where there is none. */
static int take_side(const char **text)
{
    const size_t n = strspn(*text, DIGITS);
    int side = 0;

    for (size_t i = 0; i < n && n <= SIDE_DIGITS_MAX; i++)
        side = 10 * side + (*text)[i] - '0';
    *text += n;
    return side;
}

static int refuse(const char *text, struct vrt_error *error)
{
    char shown[40];

    vrt_error_set_field(error, "scale");
    return vrt_refuse(error, vrt_raise(-EINVAL), "request.field", "scale: \"%s\" is no size: write "
                      "how many times the input's (1.5), how many lines (1080p) or how many pixels "
                      "(1920x1080)", vrt_printable(text, shown, sizeof(shown)));
}

int vrt_scale_parse(const char *text, struct vrt_scale *ret_scale, struct vrt_error *error)
{
    struct vrt_scale scale = { .factor = 0 };
    const char *rest = text;

    scale.height = take_side(&rest);
    if (scale.height > 0 && strcmp(rest, "p") == 0) {
        *ret_scale = scale;
        return 0;
    }
    if (scale.height > 0 && *rest == 'x') {
        rest++;
        scale.width = scale.height;
        scale.height = take_side(&rest);
        if (scale.height <= 0 || *rest)
            return refuse(text, error);
        *ret_scale = scale;
        return 0;
    }
    if (!text[0] || strspn(text, DIGITS ".") != strlen(text))
        return refuse(text, error);
    char *end;
    scale = (struct vrt_scale){ .factor = strtod(text, &end) };
    if (*end || !(scale.factor > 0 && scale.factor <= FACTOR_MAX))
        return refuse(text, error);
    *ret_scale = scale;
    return 0;
}
