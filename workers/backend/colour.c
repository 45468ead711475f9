/* SPDX-License-Identifier: MIT */

#include "backend/colour.h"

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
