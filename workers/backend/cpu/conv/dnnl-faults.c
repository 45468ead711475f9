/* SPDX-License-Identifier: MIT */

/*
 * Implementations of oneDNN's that must not be made, though it offers them
 *
 * From 2.6 until before 3.1, its convolution by small products on AMX ("brgconv") writes code for
 * many rows of the output in one go, with a mask over the columns between two rows; the generator
 * looks up where the next block of rows begins, after the last one, too, one element past the end
 * of a vector. What it reads there goes nowhere, so that the code is right; but where an allocator
 * puts the vector at the end of what is mapped, as those of sanitizers do now and then, the process
 * dies while a primitive is created. There is a mask where a row is narrower than 256 pixels,
 * unless rows are read in place, which it does for more than 50 pixels without padding at the sides
 * and channels that fill its tiles. AMX doesn't go: it has another implementation that uses it.
 */

#include <string.h>

#include "backend/cpu/conv/dnnl-private.h"

#define MASKED_BELOW_W 256
#define IN_PLACE_ABOVE_W 50
#define TILE_CHANNELS 32
#define UNIT_CHANNELS 2             /* bf16 is multiplied in pairs */

static bool reads_past_end(const dnnl_version_t *version)
{
    if (version->major == 2)
        return version->minor >= 6;
    return version->major == 3 && version->minor < 1;
}

static bool has_mask(const struct vrt_dnnl_shape *shape)
{
    const int out_w = shape->in_w + 2 * shape->pad_side - shape->k + 1;
    const int fill = shape->in_c <= TILE_CHANNELS ? UNIT_CHANNELS : TILE_CHANNELS;
    const bool in_place = shape->pad_side == 0 && out_w > IN_PLACE_ABOVE_W &&
                          shape->in_c % fill == 0;

    return out_w < MASKED_BELOW_W && !in_place;
}

bool vrt_dnnl_is_faulty(const dnnl_version_t *version, const char *name,
                        const struct vrt_dnnl_shape *shape)
{
    static const char masks[] = "brgconv:avx512_core_amx";

    return reads_past_end(version) && strncmp(name, masks, strlen(masks)) == 0 && has_mask(shape);
}
