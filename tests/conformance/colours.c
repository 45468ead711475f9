/* SPDX-License-Identifier: MIT */

#include "tests/conformance/colours.h"

#include "tests/unit/test.h"

static const struct vrt_shape sizes[] = {
    { 1, 1, 1, 3 }, { 1, 5, 7, 3 }, { 2, 4, 6, 3 }, { 1, 2, 19, 3 }, { 1, 9, 33, 3 },
    { 1, 12, 16, 3 },
};

/* Layout, and chroma shifts in x and y: gray, 4:4:4, 4:2:2, 4:2:0, 4:4:0, 4:1:1, 4:1:0, GBR. */
static const struct {
    enum vrt_plane_layout layout;
    int shift_x, shift_y;
} layouts[] = {
    { VRT_PLANES_YUV, 1, 1 },  { VRT_PLANES_YUV, 0, 0 }, { VRT_PLANES_YUV, 1, 0 },
    { VRT_PLANES_GRAY, 0, 0 }, { VRT_PLANES_GBR, 0, 0 }, { VRT_PLANES_YUV, 2, 0 },
    { VRT_PLANES_YUV, 2, 2 },  { VRT_PLANES_YUV, 0, 1 }, { VRT_PLANES_YUV, 1, 1 },
};

static const int depths[] = { 8, 10, 16, 12, 9, 14 };

_Static_assert(VRT_ARRAY_SIZE(sizes) * VRT_ARRAY_SIZE(layouts) * 12 == CONF_COLOUR_CASES,
               "sizes, layouts and all matrices and ranges are combined");

struct conf_colour conf_colour_case(int i)
{
    static const enum vrt_dtype dtypes[] = { VRT_DTYPE_F32, VRT_DTYPE_F32, VRT_DTYPE_BF16,
                                             VRT_DTYPE_F16 };
    const size_t k = (size_t)i;
    const size_t of_layout = k / VRT_ARRAY_SIZE(sizes) % VRT_ARRAY_SIZE(layouts);
    const int rest = i / (int)(VRT_ARRAY_SIZE(sizes) * VRT_ARRAY_SIZE(layouts));

    return (struct conf_colour){
        .op = {
            .layout = layouts[of_layout].layout,
            .matrix = (enum vrt_yuv_matrix)(rest % 3),
            .site = (enum vrt_chroma_site)((i + rest) % 3),
            .full_range = rest / 3 % 2,
            .depth = depths[(i + rest) % (int)VRT_ARRAY_SIZE(depths)],
            .shift_x = layouts[of_layout].shift_x,
            .shift_y = layouts[of_layout].shift_y,
        },
        .rgb = sizes[k % VRT_ARRAY_SIZE(sizes)],
        .dtype = dtypes[(i / 2 + rest) % 4],
        .rgb_view = (enum conf_view)((i + rest / 6) % CONF_VIEW_COUNT),
        .plane_view = rest / 6 ? CONF_CROP : CONF_DENSE,
    };
}

int conf_colour_planes(const struct conf_colour *colour)
{
    return colour->op.layout == VRT_PLANES_GRAY ? 1 : 3;
}

struct conf_spec conf_colour_plane(const struct conf_colour *colour, int i)
{
    const int rx = i ? 1 << colour->op.shift_x : 1, ry = i ? 1 << colour->op.shift_y : 1;
    const struct vrt_shape rgb = colour->rgb;

    return (struct conf_spec){
        .dtype = colour->op.depth == 8 ? VRT_DTYPE_U8 : VRT_DTYPE_U16,
        .shape = { rgb.d, (rgb.h + ry - 1) / ry, (rgb.w + rx - 1) / rx, 1 },
        .view = colour->plane_view,
        .max = (1 << colour->op.depth) - 1,
    };
}

/* ITU-T H.273, table 4. Rows: Y, Cb, Cr; columns: R, G, B. */
static void forward_matrix(enum vrt_yuv_matrix which, double m[3][3])
{
    const double kr = which == VRT_MATRIX_BT601 ? 0.299 : which == VRT_MATRIX_BT709 ? 0.2126
                                                                                    : 0.2627;
    const double kb = which == VRT_MATRIX_BT601 ? 0.114 : which == VRT_MATRIX_BT709 ? 0.0722
                                                                                    : 0.0593;
    const double y[3] = { kr, 1 - kr - kb, kb };

    for (int c = 0; c < 3; c++) {
        m[0][c] = y[c];
        m[1][c] = 0.5 * ((c == 2) - y[c]) / (1 - kb);
        m[2][c] = 0.5 * ((c == 0) - y[c]) / (1 - kr);
    }
}

/* Solves m rgb = yuv by Cramer's rule. */
static void solve(double m[3][3], const double yuv[3], double rgb[3])
{
    double columns[4][3];

    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++)
            columns[c][r] = m[r][c];
        columns[3][r] = yuv[r];
    }
    double det[4];
    for (int k = 0; k < 4; k++) {
        const double *p[3] = { columns[0], columns[1], columns[2] };
        if (k < 3)
            p[k] = columns[3];
        det[k] = p[0][0] * (p[1][1] * p[2][2] - p[1][2] * p[2][1]) -
                 p[1][0] * (p[0][1] * p[2][2] - p[0][2] * p[2][1]) +
                 p[2][0] * (p[0][1] * p[1][2] - p[0][2] * p[1][1]);
    }
    for (int k = 0; k < 3; k++)
        rgb[k] = det[k] / det[3];
}

/* Plane `i`: sample = *ret_scale * value + *ret_offset. */
static void levels(const struct conf_colour *colour, int i, double *ret_scale, double *ret_offset)
{
    const double unit = pow(2, colour->op.depth - 8), max = pow(2, colour->op.depth) - 1;
    const bool chroma = i > 0 && colour->op.layout == VRT_PLANES_YUV;

    *ret_scale = colour->op.full_range ? max : (chroma ? 224 : 219) * unit;
    *ret_offset = chroma ? 128 * unit : colour->op.full_range ? 0 : 16 * unit;
}

/* Where chroma sample 0 stands along an axis, in luma samples. */
static double phase(const struct conf_colour *colour, bool vertical)
{
    const int r = 1 << (vertical ? colour->op.shift_y : colour->op.shift_x);
    const bool cosited = colour->op.site == VRT_CHROMA_TOP_LEFT ||
                         (colour->op.site == VRT_CHROMA_LEFT && !vertical);

    return cosited ? 0 : (r - 1) / 2.0;
}

/* The weight of chroma sample `k` of `n` at luma position `i`. */
static double weight_up(const struct conf_colour *colour, bool vertical, int i, int k)
{
    const int r = 1 << (vertical ? colour->op.shift_y : colour->op.shift_x);
    const int luma = vertical ? colour->rgb.h : colour->rgb.w, n = (luma + r - 1) / r;
    const double position = (i - phase(colour, vertical)) / r;
    const double inside = fmin(fmax(position, 0), n - 1);

    return fmax(0, 1 - fabs(inside - k));
}

/* The weight of luma position `i` (from outside the picture, too) in chroma sample `k`. */
static double weight_down(const struct conf_colour *colour, bool vertical, int i, int k)
{
    const int r = 1 << (vertical ? colour->op.shift_y : colour->op.shift_x);
    const double p = phase(colour, vertical), distance = fabs(i - (r * k + p));

    if (r == 1)
        return i == k;
    return p > 0 ? (distance < r / 2.0 ? 1.0 / r : 0) : fmax(0, r - distance) / (r * r);
}

/* Value (before or after) of plane `i` at a luma position of frame d. */
static double value_at(const struct conf_colour *colour, float *const *planes, int i,
                       const int at[3])
{
    const struct vrt_shape s = conf_colour_plane(colour, i).shape;
    const bool chroma = i > 0 && colour->op.layout == VRT_PLANES_YUV;
    double scale, offset, sum = 0;

    levels(colour, i, &scale, &offset);
    if (!chroma)
        return ((double)planes[i][(at[0] * s.h + at[1]) * s.w + at[2]] - offset) / scale;
    for (int y = 0; y < s.h; y++)
    for (int x = 0; x < s.w; x++)
        sum += weight_up(colour, true, at[1], y) * weight_up(colour, false, at[2], x) *
               (double)planes[i][(at[0] * s.h + y) * s.w + x];
    return (sum - offset) / scale;
}

void conf_colour_to_rgb(const struct conf_colour *colour, float *const *planes, double *rgb)
{
    const struct vrt_shape s = colour->rgb;
    double m[3][3];

    forward_matrix(colour->op.matrix, m);
    for (int d = 0; d < s.d; d++)
    for (int y = 0; y < s.h; y++)
    for (int x = 0; x < s.w; x++, rgb += 3) {
        double values[3];
        for (int i = 0; i < 3; i++)
            values[i] = i < conf_colour_planes(colour)
                            ? value_at(colour, planes, i, (int[3]){ d, y, x })
                            : values[0];
        if (colour->op.layout == VRT_PLANES_YUV) {
            solve(m, values, rgb);
        } else {
            rgb[0] = values[2];
            rgb[1] = values[0];
            rgb[2] = colour->op.layout == VRT_PLANES_GBR ? values[1] : values[0];
        }
    }
}

static int clamped(int i, int n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

/* Row `row` of the matrix, or the colour that a plane of GBR is, of one place. */
static double component(const struct conf_colour *colour, int i, const float *rgb)
{
    double m[3][3];

    if (colour->op.layout == VRT_PLANES_GBR)
        return (double)rgb[(i + 1) % 3];
    forward_matrix(colour->op.matrix, m);
    return m[i][0] * (double)rgb[0] + m[i][1] * (double)rgb[1] + m[i][2] * (double)rgb[2];
}

static double plane_value(const struct conf_colour *colour, const float *rgb, int i,
                          const int at[3])
{
    const struct vrt_shape s = colour->rgb;
    double sum = 0;

    if (i == 0 || colour->op.layout != VRT_PLANES_YUV)
        return component(colour, i, &rgb[((at[0] * s.h + at[1]) * s.w + at[2]) * 3]);
    for (int y = -4; y < s.h + 4; y++)
    for (int x = -4; x < s.w + 4; x++) {
        const double weight = weight_down(colour, true, y, at[1]) *
                              weight_down(colour, false, x, at[2]);
        const int from = (at[0] * s.h + clamped(y, s.h)) * s.w + clamped(x, s.w);
        if (weight > 0)
            sum += weight * component(colour, i, &rgb[from * 3]);
    }
    return sum;
}

void conf_colour_to_planes(const struct conf_colour *colour, const float *rgb,
                           double *const *planes)
{
    for (int i = 0; i < conf_colour_planes(colour); i++) {
        const struct vrt_shape s = conf_colour_plane(colour, i).shape;
        double *sample = planes[i], scale, offset;
        levels(colour, i, &scale, &offset);
        for (int d = 0; d < s.d; d++)
        for (int y = 0; y < s.h; y++)
        for (int x = 0; x < s.w; x++) {
            const double value = plane_value(colour, rgb, i, (int[3]){ d, y, x });
            *sample++ = fmin(fmax(rint(scale * value + offset), 0), pow(2, colour->op.depth) - 1);
        }
    }
}
