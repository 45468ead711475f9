/* SPDX-License-Identifier: MIT */

#include "tests/conformance/sweep.h"

#include "tests/unit/test.h"

static const struct vrt_shape shapes[] = {
    { 1, 1, 1, 1 },  { 1, 1, 1, 3 },   { 1, 5, 7, 3 },   { 2, 3, 5, 12 },  { 3, 2, 9, 16 },
    { 1, 9, 2, 24 }, { 1, 4, 4, 33 },  { 2, 1, 17, 64 }, { 1, 17, 1, 96 }, { 1, 6, 5, 128 },
    { 1, 3, 3, 192 }, { 1, 13, 31, 3 },
};

/* Mixed types are what a network has at its ends. */
static const enum vrt_dtype types[][3] = {
    { VRT_DTYPE_F32, VRT_DTYPE_F32, VRT_DTYPE_F32 },
    { VRT_DTYPE_BF16, VRT_DTYPE_BF16, VRT_DTYPE_BF16 },
    { VRT_DTYPE_F16, VRT_DTYPE_F16, VRT_DTYPE_F16 },
    { VRT_DTYPE_BF16, VRT_DTYPE_F32, VRT_DTYPE_F32 },
    { VRT_DTYPE_F32, VRT_DTYPE_F32, VRT_DTYPE_BF16 },
};

static const enum conf_view views[][3] = {
    { CONF_DENSE, CONF_DENSE, CONF_DENSE },
    { CONF_CHANNELS, CONF_DENSE, CONF_CROP },
    { CONF_CROP, CONF_BOTH, CONF_CHANNELS },
};

_Static_assert(VRT_ARRAY_SIZE(shapes) * VRT_ARRAY_SIZE(types) * VRT_ARRAY_SIZE(views) ==
                   CONF_SWEEP_CASES,
               "every combination is a case");

struct conf_sweep conf_sweep_case(int i)
{
    const size_t k = (size_t)i;
    const struct vrt_shape shape = shapes[k % VRT_ARRAY_SIZE(shapes)];
    const enum vrt_dtype *type = types[k / VRT_ARRAY_SIZE(shapes) % VRT_ARRAY_SIZE(types)];
    const enum conf_view *view =
        views[k / VRT_ARRAY_SIZE(shapes) / VRT_ARRAY_SIZE(types) % VRT_ARRAY_SIZE(views)];

    return (struct conf_sweep){
        .in = { type[0], shape, view[0], 0 },
        .more = { type[1], shape, view[1], 0 },
        .out = { type[2], shape, view[2], 0 },
    };
}
