/* SPDX-License-Identifier: MIT */

/* The syntax is that of CTA-861-H, annex S; FFmpeg 5.1 reads it and cannot write it. */

#include "frames/metadata/hdr10plus.h"

#include <string.h>

#include "base/error.h"
#include "base/macro.h"

/* The country (the United States), whose it is (Samsung's), for what, and which of its kinds. */
static const uint8_t head[] = { 181, 0, 60, 0, 1, 4 };

struct bits {
    uint8_t *bytes;
    int n;                          /* bits */
};

static void put(struct bits *bits, int n, unsigned int value)
{
    for (int i = n - 1; i >= 0; i--, bits->n++)
        if (value >> i & 1)
            bits->bytes[bits->n / 8] |= (uint8_t)(128 >> bits->n % 8);
}

/* A part of 1, of which the stream has the numerator. */
static void put_part(struct bits *bits, int n, AVRational q)
{
    put(bits, n, (unsigned int)q.num);
}

static void put_luminances(struct bits *bits, bool has_some, int n_rows, int n_columns,
                           const AVRational luminances[25][25])
{
    put(bits, 1, has_some);
    if (!has_some)
        return;
    put(bits, 5, (unsigned int)n_rows);
    put(bits, 5, (unsigned int)n_columns);
    for (int i = 0; i < VRT_MIN(n_rows, 25); i++)
        for (int k = 0; k < VRT_MIN(n_columns, 25); k++)
            put_part(bits, 4, luminances[i][k]);
}

/* How bright the window's pixels are. */
static void put_light(struct bits *bits, const AVHDRPlusColorTransformParams *window)
{
    const int n = VRT_MIN(window->num_distribution_maxrgb_percentiles, 15);

    for (int i = 0; i < 3; i++)
        put_part(bits, 17, window->maxscl[i]);
    put_part(bits, 17, window->average_maxrgb);
    put(bits, 4, (unsigned int)n);
    for (int i = 0; i < n; i++) {
        put(bits, 7, window->distribution_maxrgb[i].percentage);
        put_part(bits, 17, window->distribution_maxrgb[i].percentile);
    }
    put_part(bits, 10, window->fraction_bright_pixels);
}

/* What curve they are to be shown by. */
static void put_curve(struct bits *bits, const AVHDRPlusColorTransformParams *window)
{
    const int n = VRT_MIN(window->num_bezier_curve_anchors, 15);

    put(bits, 1, window->tone_mapping_flag);
    if (window->tone_mapping_flag) {
        put_part(bits, 12, window->knee_point_x);
        put_part(bits, 12, window->knee_point_y);
        put(bits, 4, (unsigned int)n);
        for (int i = 0; i < n; i++)
            put_part(bits, 10, window->bezier_curve_anchors[i]);
    }
    put(bits, 1, window->color_saturation_mapping_flag);
    if (window->color_saturation_mapping_flag)
        put_part(bits, 6, window->color_saturation_weight);
}

bool vrt_hdr10plus_write(const AVDynamicHDRPlus *found, struct vrt_frame_extra *extra)
{
    struct bits bits = {
        .bytes = extra->hdr10plus,
        .n = (int)sizeof(head) * 8,
    };

    if (found->num_windows != 1)
        return false;
    memset(extra->hdr10plus, 0, sizeof(extra->hdr10plus));
    memcpy(extra->hdr10plus, head, sizeof(head));
    put(&bits, 8, found->application_version);
    put(&bits, 2, found->num_windows);
    put_part(&bits, 27, found->targeted_system_display_maximum_luminance);
    put_luminances(&bits, found->targeted_system_display_actual_peak_luminance_flag,
                   found->num_rows_targeted_system_display_actual_peak_luminance,
                   found->num_cols_targeted_system_display_actual_peak_luminance,
                   found->targeted_system_display_actual_peak_luminance);
    put_light(&bits, &found->params[0]);
    put_luminances(&bits, found->mastering_display_actual_peak_luminance_flag,
                   found->num_rows_mastering_display_actual_peak_luminance,
                   found->num_cols_mastering_display_actual_peak_luminance,
                   found->mastering_display_actual_peak_luminance);
    put_curve(&bits, &found->params[0]);
    /* Of one window they are 718 at most. */
    vrt_assert(bits.n <= VRT_HDR10PLUS_BYTES_MAX * 8);
    extra->n_hdr10plus = (bits.n + 7) / 8;
    return true;
}
