/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the samples of a frame mean.
 *
 * Samples are planar: Y, U, V; or G, B, R; or gray alone. They are uint8_t at depth 8 and uint16_t
 * in the machine's byte order above, the value in the low bits. Numbers of H.273 (which are
 * FFmpeg's too) are carried through from the input to the output without being understood here.
 */

#include <stdbool.h>
#include <stddef.h>

#define VRT_FRAME_MAX_PLANES 3
#define VRT_FRAME_MAX_SIDE 32768

/* 1 in the unit of colours' places, which is that of HEVC. */
#define VRT_HDR_ONE 50000

struct vrt_rational {
    int num, den;
};

/* q * num / den, in lowest terms, but for q * 1 / 1, which is q. All are positive, or q is 0/1.
 * Return: 0; -ERANGE: it has no such form. Thread: any. */
int vrt_rational_scale(struct vrt_rational q, int num, int den, struct vrt_rational *ret_q);

enum vrt_layout {
    VRT_LAYOUT_GRAY,            /* one plane */
    VRT_LAYOUT_YUV,             /* Y, U, V; the last two reduced by the chroma shifts */
    VRT_LAYOUT_GBR,             /* G, B, R: planar non-linear R'G'B' */
    VRT_LAYOUT_COUNT,
};

/* How Y'CbCr relates to R'G'B'. */
enum vrt_matrix {
    VRT_FRAME_MATRIX_BT601,
    VRT_FRAME_MATRIX_BT709,
    VRT_FRAME_MATRIX_BT2020_NCL,
    VRT_FRAME_MATRIX_COUNT,
};

/* Where a chroma sample lies among its luma samples; FFmpeg's numbers. Never unspecified. */
enum vrt_chroma_location {
    VRT_CHROMA_LOCATION_LEFT = 1,        /* MPEG-2, H.264: on the left column, between the rows */
    VRT_CHROMA_LOCATION_CENTER,          /* MPEG-1, JPEG */
    VRT_CHROMA_LOCATION_TOP_LEFT,        /* on the first luma sample: HDR, DV */
    VRT_CHROMA_LOCATION_TOP,
    VRT_CHROMA_LOCATION_BOTTOM_LEFT,
    VRT_CHROMA_LOCATION_BOTTOM,
};

/*
 * HDR10's static metadata, in the units of HEVC and MP4: of the display on which the video was
 * mastered (SMPTE ST 2086), and of the video itself (CTA-861.3). What is unknown is 0.
 */
struct vrt_hdr {
    struct {
        int red[2], green[2], blue[2], white[2];    /* x and y, in 1/50,000 */
        int max, min;               /* luminance in 1/10,000 cd/m2; max 0: unknown */
    } display;
    int max_light, average_light;   /* of the brightest pixel and the brightest frame, in cd/m2 */
};

struct vrt_frame_format {
    int width, height;
    int depth;                          /* bits per sample, 8 to 16 */
    enum vrt_layout layout;
    int chroma_shift_x, chroma_shift_y; /* log2; 0 unless YUV. 4:2:0 is 1, 1; 4:2:2 is 1, 0 */
    enum vrt_matrix matrix;             /* of YUV. For GRAY and GBR: the one to use if made YUV */
    bool full_range;                    /* 0..max; else 16..235 (chroma 16..240) << (depth - 8) */
    enum vrt_chroma_location chroma_location;
    struct vrt_rational sample_aspect;  /* 0/1: unknown */
    int primaries, transfer;            /* H.273 numbers; 2: unspecified */
    bool has_alpha;                     /* transparency goes along, in no plane here: frame.h */
    int color_space;                    /* H.273 number of `matrix`: the more exact of the two */
    struct vrt_hdr hdr;                 /* of the whole video */
};

/* Whether the mastering display's colours, or its luminances, are known. Thread: any. */
bool vrt_hdr_has_display(const struct vrt_hdr *hdr);

/* Whether the content's light is. Thread: any. */
bool vrt_hdr_has_light(const struct vrt_hdr *hdr);

/* Whether the numbers are possible at all. Thread: any. */
bool vrt_hdr_is_valid(const struct vrt_hdr *hdr);

/* Planes of `format`: 1 or 3. Thread: any. */
int vrt_frame_format_n_planes(const struct vrt_frame_format *format);

/* Bytes of one sample: 1 or 2. Thread: any. */
int vrt_frame_format_sample_bytes(const struct vrt_frame_format *format);

/* Samples per row and rows of plane `plane`; chroma sides are rounded up. Thread: any. */
void vrt_frame_format_plane_size(const struct vrt_frame_format *format, int plane, int *ret_width,
                                 int *ret_height);

/* Bytes of all samples of a frame, without any padding. Thread: any. */
size_t vrt_frame_format_size_bytes(const struct vrt_frame_format *format);

/* Whether size, depth, layout and chroma shifts are possible at all. Thread: any. */
bool vrt_frame_format_is_valid(const struct vrt_frame_format *format);

/* Whether frames of one become such of the other where they are scaled. Thread: any. */
bool vrt_frame_format_scales_to(const struct vrt_frame_format *a,
                                const struct vrt_frame_format *b);

/* Whether planes of one can be read as the other's: size, depth, layout, chroma. Thread: any. */
bool vrt_frame_format_same_planes(const struct vrt_frame_format *a,
                                  const struct vrt_frame_format *b);

/* Likewise, and whether their samples mean the same colours. Thread: any. */
bool vrt_frame_format_same_samples(const struct vrt_frame_format *a,
                                   const struct vrt_frame_format *b);

/*
 * The matrix where nothing says which: BT.709 for 720 rows or 1280 columns and more, else BT.601.
 * Thread: any.
 */
enum vrt_matrix vrt_matrix_guess(int width, int height);

/* Writes "1920x1080 yuv420p10 bt709 limited" to `buffer`, for people. Return: buffer. */
const char *vrt_frame_format_describe(const struct vrt_frame_format *format, char *buffer,
                                      size_t size);
