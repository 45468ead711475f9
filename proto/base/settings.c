/* SPDX-License-Identifier: MIT */
/* The names of what may be asked of a job. Thread: any; nothing here has a state. */

#include "base/settings.h"

#include <math.h>
#include <stddef.h>

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
