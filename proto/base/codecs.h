/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a result may be written as: codecs, the encoders of FFmpeg's that make them, and the
 * containers that hold them. One table, for client, daemon and encoder alike. Pure.
 */

#include <stdbool.h>

#define VRT_CODEC_ENCODERS_MAX 2

/* Of all codecs. */
#define VRT_QUALITY_MAX 63

/* Bits a second. */
#define VRT_BITRATE_MIN 1000
#define VRT_BITRATE_MAX 2000000000

/* Numbers are stored in segments: new ones come last. */
enum vrt_codec {
    VRT_CODEC_H264,
    VRT_CODEC_HEVC,
    VRT_CODEC_FFV1,
    VRT_CODEC_AV1,
    VRT_CODEC_VP9,
    VRT_CODEC_PRORES,
    VRT_CODEC_DNXHR,
    VRT_CODEC_MJPEG,
    VRT_CODEC_PNG,
    VRT_CODEC_JPEG,
    VRT_CODEC_TIFF,
    VRT_CODEC_WEBP,
    VRT_CODEC_EXR,
    VRT_CODEC_GIF,
    VRT_CODEC_APNG,
    VRT_CODEC_COUNT,
    VRT_CODEC_AUTO = VRT_CODEC_COUNT,   /* of what is asked for: by container and input */
};

enum vrt_container {
    VRT_CONTAINER_MP4,
    VRT_CONTAINER_MOV,
    VRT_CONTAINER_MKV,
    VRT_CONTAINER_WEBM,
    VRT_CONTAINER_TS,
    VRT_CONTAINER_MXF,
    VRT_CONTAINER_GIF,             /* from here on files with a codec of their own: animations */
    VRT_CONTAINER_APNG,
    VRT_CONTAINER_PNG,             /* from here on files of one picture */
    VRT_CONTAINER_JPG,
    VRT_CONTAINER_TIFF,
    VRT_CONTAINER_WEBP,
    VRT_CONTAINER_EXR,
    VRT_CONTAINER_COUNT,
};

/* What encodes: FFmpeg's software, or hardware by its interface. */
enum vrt_hwaccel {
    VRT_HWACCEL_OFF,
    VRT_HWACCEL_AUTO,               /* of what is asked for: the first that works */
    VRT_HWACCEL_NVENC,
    VRT_HWACCEL_QSV,
    VRT_HWACCEL_VAAPI,
    VRT_HWACCEL_VIDEOTOOLBOX,
    VRT_HWACCEL_COUNT,
};

/* What decodes: FFmpeg's software, or hardware that its decoders ask. */
enum vrt_hwdec {
    VRT_HWDEC_OFF,
    VRT_HWDEC_AUTO,                 /* of what is asked for: the first that works */
    VRT_HWDEC_NVDEC,
    VRT_HWDEC_VAAPI,
    VRT_HWDEC_VIDEOTOOLBOX,
    VRT_HWDEC_COUNT,
};

/* Which range and matrix of Y'CbCr a codec's players expect. */
enum vrt_codec_colors {
    VRT_CODEC_COLORS_ANY,           /* the stream, or its container, tells */
    VRT_CODEC_COLORS_LIMITED,       /* limited range */
    VRT_CODEC_COLORS_BT709,         /* limited range, BT.709's matrix */
    VRT_CODEC_COLORS_JFIF,          /* full range, BT.601's matrix */
};

struct vrt_codec_facts {
    const char *title;              /* for people */
    const char *ffmpeg;             /* FFmpeg's name of it */
    const char *encoders[VRT_CODEC_ENCODERS_MAX];   /* FFmpeg's, the best first; NULL: no more */
    const char *joined_by;          /* FFmpeg's encoder that makes the file of what those made,
                                     * where frames depend on all others; NULL: packets stay */
    unsigned int containers;        /* that hold it: VRT_CONTAINER_BIT() of each */
    enum vrt_container container;   /* where nobody named one */
    const char *quality_name;       /* what its numbers are called; NULL: there is none to choose */
    int quality_min, quality_max;   /* the best and the worst */
    int quality;                    /* where nobody chooses one */
    bool has_presets;
    bool has_bitrate;               /* it can be told how large to become, rather than how good */
    bool yuv_only;                  /* RGB and gray are converted for the sake of the players */
    bool rgb_only;                  /* Y'CbCr is converted: the format has none */
    bool has_metadata;              /* its stream has a place for captions and what HDR says */
    bool keeps_alpha;               /* of a picture; else it is dropped */
    unsigned int alpha;             /* containers in which it holds a video's transparency, as
                                     * `containers`; 0: it has none */
    int max_depth;                  /* deeper samples lose what is below; 0: such are refused */
    bool even_only;                 /* sides must be multiples of the chroma's step */
    enum vrt_codec_colors colors;
    int max_side, min_width, min_height;    /* in pixels, that the encoder takes */
    const char *instead;            /* what to use where its depth or size does not suffice */
};

#define VRT_CONTAINER_BIT(container) (1U << (container))

/* The words of the API and the command line, by the enum, "auto" the last; ended by NULL. */
extern const char *const vrt_codec_names[];

/* Endings of files, without the dot; ended by NULL. */
extern const char *const vrt_container_names[];

/* The presets that all codecs with presets share, the fastest first; ended by NULL. */
extern const char *const vrt_preset_names[];

/* Of enum vrt_hwaccel; ended by NULL. */
extern const char *const vrt_hwaccel_names[];

/* Of enum vrt_hwdec; ended by NULL. */
extern const char *const vrt_hwdec_names[];

/* What decodes where `hwaccel` is asked for: the same card; of OFF and AUTO the same. */
enum vrt_hwdec vrt_hwdec_of(enum vrt_hwaccel hwaccel);

/* What a process is started for that decodes by `hwdec`, which isn't AUTO. */
enum vrt_hwaccel vrt_hwdec_hwaccel(enum vrt_hwdec hwdec);

/* Whether hardware decodes a codec of that name (FFmpeg's) to the same samples as software: where
 * its standard says what each of them is. */
bool vrt_hwdec_is_exact(const char *codec);

/* FFmpeg's encoder of the codec by that hardware; static. NULL: there is none. */
const char *vrt_hwaccel_encoder(enum vrt_hwaccel hwaccel, enum vrt_codec codec);

/* What is known of the codec; static. */
const struct vrt_codec_facts *vrt_codec_facts(enum vrt_codec codec);

/* What "auto" is in `container`, for frames of so many bits a sample. */
enum vrt_codec vrt_codec_for(enum vrt_container container, int depth);

/* What the codec's quality is called, for people; `codec` may be any number. */
const char *vrt_quality_name(int codec);

/* Whether `container` can hold `codec`. */
bool vrt_container_holds(enum vrt_container container, enum vrt_codec codec);

/* The container of files that end so (without the dot, in any case). Return: whether there is
 * one. */
bool vrt_container_find(const char *ending, enum vrt_container *ret_container);

/* Whether files that end so, without the dot, hold one picture, of a kind that is written or of
 * another one that FFmpeg reads. */
bool vrt_ending_is_picture(const char *ending);

/* Whether it is a file of one picture, which has a codec of its own. */
bool vrt_container_is_picture(enum vrt_container container);

/* Whether it is one of an animation, which is made of whole pictures at the end. */
bool vrt_container_is_animation(enum vrt_container container);

/* Whether its files have a codec of their own, which nobody has to name: pictures, animations. */
bool vrt_container_has_own_codec(enum vrt_container container);

/* The codec of such files. */
enum vrt_codec vrt_container_own_codec(enum vrt_container container);

/* The place of `preset` among vrt_preset_names. Return: -1: there is no such. */
int vrt_preset_find(const char *preset);
