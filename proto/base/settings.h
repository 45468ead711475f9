/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What may be asked of a job: how its network is applied, and how the result is encoded
 *
 * It is filled in from the request, completed by the configuration, and handed down by const
 * pointer to whoever decides: see workers/plan/recipe.h for what was decided. Nothing asked for is
 * the same everywhere: VRT_UNKNOWN for integers and enums, NAN for doubles, "" for texts.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/codecs.h"
#include "base/error.h"

/* An integer, or an enum's value, that nobody has said or knows. */
#define VRT_UNKNOWN (-1)

#define VRT_SETTING_WORD_BYTES 32
#define VRT_SETTING_OPTIONS_BYTES 256
#define VRT_SETTING_NAME_BYTES 256

enum vrt_precision {
    VRT_PRECISION_AUTO,             /* the fastest of each device that is close enough to f32 */
    VRT_PRECISION_F32,
    VRT_PRECISION_F16,
    VRT_PRECISION_BF16,
    VRT_PRECISION_COUNT,
};

/* Of f32: below this a precision isn't chosen unless it was asked for. */
#define VRT_FIDELITY_MIN_DB 50.0

/* How a network that sees clips is applied to a video. */
enum vrt_tiling {
    VRT_TILING_BLEND,               /* feathered in time and space */
    VRT_TILING_OFFICIAL,            /* as VRT's authors do it */
    VRT_TILING_COUNT,
};

/* What becomes of a video of fields. */
enum vrt_deinterlace {
    VRT_DEINTERLACE_OFF,            /* its frames are taken as they are */
    VRT_DEINTERLACE_AUTO,           /* whole frames, of one that is interlaced */
    VRT_DEINTERLACE_FRAME,          /* each frame becomes a whole one */
    VRT_DEINTERLACE_FIELD,          /* each field does: twice as many */
    VRT_DEINTERLACE_TELECINE,       /* the film's own frames, four of each five */
    VRT_DEINTERLACE_COUNT,
};

/* What becomes of a video's transparency. */
enum vrt_alpha {
    VRT_ALPHA_AUTO,                 /* enlarged, where the output has room for it */
    VRT_ALPHA_RESIZE,               /* enlarged */
    VRT_ALPHA_DROP,
    VRT_ALPHA_NETWORK,              /* restored as the colours are, as a gray video */
    VRT_ALPHA_COUNT,
};

/* By which curve HDR becomes SDR. */
enum vrt_tonemap {
    VRT_TONEMAP_OFF,                /* it stays what it is */
    VRT_TONEMAP_HABLE,
    VRT_TONEMAP_MOBIUS,
    VRT_TONEMAP_REINHARD,
    VRT_TONEMAP_CLIP,
    VRT_TONEMAP_COUNT,
};

struct vrt_job_settings {
    int precision;                  /* enum vrt_precision; unknown: the default, auto */
    int64_t tile;                   /* pixels of the input; unknown: as memory allows */
    int64_t overlap;                /* likewise; unknown: from the network */
    int64_t clip, clip_overlap;     /* frames; unknown: by the network and memory */
    int tiling;                     /* enum vrt_tiling */
    double scene_cuts;              /* threshold; 0: off; NAN: by the tiling */
    double strength;                /* of the network's result, 0 to 1; the rest is the input,
                                     * enlarged plainly; NAN: 1 */
    double denoise;                 /* of a network that removes noise, 0 to 1; the rest is the one
                                     * that keeps it; NAN: the network alone */
    double sigma;                   /* of the noise, where white is 255; NAN: not said */
    int64_t segment_frames;         /* a segment has at least so many; unknown: the default */
    int64_t decoder_threads;        /* unknown, 0: one per core */
    int codec;                      /* enum vrt_codec, or auto; unknown: H.264 */
    int64_t quality;                /* the codec's, such as a CRF; unknown: its default */
    int64_t quality_h264, quality_hevc;     /* where auto becomes those: as configured */
    char preset[VRT_SETTING_WORD_BYTES];        /* "": the encoder's default */
    int64_t bitrate;                /* bits a second, on average; unknown: constant quality */
    int64_t target_size_bytes;      /* of the result, which the bitrate then follows from */
    char scale[VRT_SETTING_WORD_BYTES];         /* the result's size: "1.5" times the input's,
                                     * "1080p" or "1920x1080"; "": as the network makes it */
    char pixel_format[VRT_SETTING_WORD_BYTES];  /* FFmpeg's name; "": the input's, or the next */
    char encoder_options[VRT_SETTING_OPTIONS_BYTES];    /* FFmpeg's: "key=value key=value" */
    char streams[VRT_SETTING_NAME_BYTES];       /* of the input that go on: FFmpeg's specifiers,
                                     * with commas between them; "": all */
    double start_s, duration_s;     /* what is restored of the input; NAN: all; duration 0: to the
                                     * end */
    char pictures[VRT_SETTING_NAME_BYTES];      /* of an input that is a folder: a pattern of
                                     * their names, such as %04d.png; "": all */
    double fps;                     /* of them, in a video; NAN: not said */
    int deinterlace;                /* enum vrt_deinterlace */
    int64_t times;                  /* that many frames are to become of each; unknown: by the
                                     * network */
    int alpha;                      /* enum vrt_alpha */
    int tonemap;                    /* enum vrt_tonemap */
    int hwaccel;                    /* enum vrt_hwaccel: what encodes, and decodes; unknown: as
                                     * configured */
    int hwdec;                      /* enum vrt_hwdec: what decodes; unknown: as by `hwaccel` */
    bool strict;                    /* damaged frames fail the job */
};

/* The words of the API and the command line, by the enums above; each ended by NULL. */
extern const char *const vrt_precision_names[];
extern const char *const vrt_tiling_names[];
extern const char *const vrt_deinterlace_names[];
extern const char *const vrt_alpha_names[];
extern const char *const vrt_tonemap_names[];

/* Nothing asked for. */
void vrt_job_settings_init(struct vrt_job_settings *settings);

/* How large a result is to become, as it is written in `scale`. */
struct vrt_scale {
    double factor;                  /* so many times the input's sides; 0: */
    int width, height;              /* pixels; width 0: by the input's shape */
};

/*
 * Reads "1.5" (times the input), "1080p" (lines) or "1920x1080".
 * Return: 0; -EINVAL with a sentence that says what would be one.
 */
int vrt_scale_parse(const char *text, struct vrt_scale *ret_scale, struct vrt_error *error);
