/* SPDX-License-Identifier: MIT */

#include "backend/op/colour.h"

struct vrt_colour vrt_colour_of(const struct vrt_op_colour *op)
{
    static const struct {
        double kr, kb;
    } matrices[] = {
        [VRT_MATRIX_BT601] = { 0.299, 0.114 },
        [VRT_MATRIX_BT709] = { 0.2126, 0.0722 },
        [VRT_MATRIX_BT2020] = { 0.2627, 0.0593 },
    };
    const double kr = matrices[op->matrix].kr, kb = matrices[op->matrix].kb;
    const double unit = (double)(1 << (op->depth - 8));
    const double max = (double)((1 << op->depth) - 1);

    return (struct vrt_colour){
        .kr = kr,
        .kg = 1 - kr - kb,
        .kb = kb,
        .y_scale = op->full_range ? max : 219 * unit,
        .y_offset = op->full_range ? 0 : 16 * unit,
        .c_scale = op->full_range ? max : 224 * unit,
        .c_offset = 128 * unit,
        .max = max,
        .cosited_x = op->site != VRT_CHROMA_CENTER,
        .cosited_y = op->site == VRT_CHROMA_TOP_LEFT,
    };
}

struct vrt_colour_matrix vrt_colour_matrix_of(const struct vrt_op_colour *op)
{
    const struct vrt_colour c = vrt_colour_of(op);

    return (struct vrt_colour_matrix){
        .y_scale = (float)(1 / c.y_scale),
        .rv = (float)(2 * (1 - c.kr) / c.c_scale),
        .gu = (float)(2 * (1 - c.kb) * c.kb / c.kg / c.c_scale),
        .gv = (float)(2 * (1 - c.kr) * c.kr / c.kg / c.c_scale),
        .bu = (float)(2 * (1 - c.kb) / c.c_scale),
        .y_offset = (float)c.y_offset,
        .c_offset = (float)c.c_offset,
    };
}

struct vrt_colour_line vrt_colour_line_of(const struct vrt_op_colour *op, int i)
{
    const struct vrt_colour c = vrt_colour_of(op);
    const double y[3] = { c.kr, c.kg, c.kb };
    double rgb[3] = { 0 }, offset = c.y_offset;

    if (op->layout == VRT_PLANES_GBR) {
        rgb[(i + 1) % 3] = c.y_scale;
    } else if (i == 0) {
        for (int k = 0; k < 3; k++)
            rgb[k] = y[k] * c.y_scale;
    } else {
        const int own = i == 1 ? 2 : 0;
        const double scale = c.c_scale / (2 * (1 - y[own]));

        for (int k = 0; k < 3; k++)
            rgb[k] = ((k == own) - y[k]) * scale;
        offset = c.c_offset;
    }
    return (struct vrt_colour_line){ (float)rgb[0], (float)rgb[1], (float)rgb[2], (float)offset };
}

struct vrt_colour_filter vrt_colour_filter_of(int r, bool cosited)
{
    struct vrt_colour_filter f = { .first = cosited ? 1 - r : 0, .n = cosited ? 2 * r - 1 : r };

    for (int i = 0; i < f.n; i++) {
        const int distance = f.first + i < 0 ? -f.first - i : f.first + i;

        f.weights[i] = cosited ? (float)(r - distance) / (float)(r * r) : 1 / (float)r;
    }
    return f;
}
