/* SPDX-License-Identifier: MIT */

/*
 * Sizes are found by search rather than by formula: what a remainder and a grid of multiples do to
 * a quotient is easier to test than to derive. Axes are short (tiles, not pixels), so it costs
 * nothing.
 */

#include "frames/clips/tile.h"

#include "base/macro.h"

/* Up to this radius the overlap is the radius: tiles change only how sums are rounded. */
#define RADIUS_EXACT_MAX 64

/* Beyond it, the overlap where nobody asked for one. */
#define OVERLAP_DEFAULT 32

/* A tile keeps at least so many pixels between its overlaps. */
#define KEPT_MIN 16

/* A blended tile is at least so many overlaps wide: both its sides', and as much between them. */
#define OVERLAPS_IN_TILE 3

static int round_up(int value, int multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

struct vrt_tile_needs vrt_tile_needs(int multiple, int radius, int asked)
{
    int overlap = asked;

    if (overlap < 0)
        overlap = radius <= RADIUS_EXACT_MAX ? radius : OVERLAP_DEFAULT;
    return (struct vrt_tile_needs){
        .joint = VRT_TILES_CUT,
        .multiple = multiple,
        .overlap = round_up(overlap, multiple),
    };
}

struct vrt_tile_needs vrt_tile_needs_blended(enum vrt_tile_joint joint, int multiple, int min_size,
                                             int overlap)
{
    return (struct vrt_tile_needs){
        .joint = joint,
        .multiple = multiple,
        .overlap = overlap,
        .least = round_up(VRT_MAX(min_size, OVERLAPS_IN_TILE * overlap), multiple),
    };
}

int vrt_tile_min_size(struct vrt_tile_needs needs)
{
    if (needs.joint != VRT_TILES_CUT)
        return needs.least;
    return 2 * needs.overlap + round_up(KEPT_MIN, needs.multiple) + needs.multiple;
}

static struct vrt_tile_axis whole_axis(int frame)
{
    return (struct vrt_tile_axis){ .frame = frame, .size = frame, .n = 1, .step = frame };
}

/* The axis with tiles of this size, which is below the frame's and leaves its remainder. */
static struct vrt_tile_axis axis_of_size(int frame, int size, struct vrt_tile_needs needs)
{
    int step = (size - 2 * needs.overlap) / needs.multiple * needs.multiple;

    if (needs.joint != VRT_TILES_CUT) {
        step = size - needs.overlap;
        needs.overlap = 0;
    }
    return (struct vrt_tile_axis){
        .frame = frame,
        .size = size,
        .n = (frame - size + step - 1) / step + 1,
        .step = step,
        .cut = needs.overlap,
    };
}

/* The smallest size with which n tiles cover the frame. */
static struct vrt_tile_axis axis_of_count(int frame, int n, struct vrt_tile_needs needs)
{
    bool is_cut = needs.joint == VRT_TILES_CUT;
    int shared = is_cut ? 2 * needs.overlap : needs.overlap;
    int remainder = is_cut ? frame % needs.multiple : 0;
    int size = (frame + (n - 1) * shared + n - 1) / n;

    /* The frame's remainder, so that the last tile's origin is on the grid as well. */
    size += (remainder - size % needs.multiple + needs.multiple) % needs.multiple;
    size = VRT_MAX(size, needs.least);
    while (size < frame && axis_of_size(frame, size, needs).n > n)
        size += needs.multiple;
    return size < frame ? axis_of_size(frame, size, needs) : whole_axis(frame);
}

/* The axis with as few tiles as a limit on their size allows. */
static struct vrt_tile_axis axis_of_limit(int frame, int limit, struct vrt_tile_needs needs)
{
    if (frame <= limit)
        return whole_axis(frame);
    if (needs.joint != VRT_TILES_CUT)
        limit -= limit % needs.multiple;
    else
        limit -= (limit - frame % needs.multiple) % needs.multiple;
    if (needs.joint == VRT_TILES_AVERAGED)
        return axis_of_size(frame, limit, needs);
    return axis_of_count(frame, axis_of_size(frame, limit, needs).n, needs);
}

struct vrt_tile_grid vrt_tile_whole(int width, int height)
{
    return (struct vrt_tile_grid){ .x = whole_axis(width), .y = whole_axis(height) };
}

struct vrt_tile_grid vrt_tile_grid_of_size(int width, int height, int size,
                                           struct vrt_tile_needs needs)
{
    return (struct vrt_tile_grid){
        .x = axis_of_limit(width, size, needs),
        .y = axis_of_limit(height, size, needs),
    };
}

/* Cuts the axis once more. Return: whether its tiles became smaller and are large enough. */
static bool refine_axis(struct vrt_tile_axis *axis, struct vrt_tile_needs needs)
{
    struct vrt_tile_axis finer = *axis;

    for (int n = axis->n + 1; n <= axis->frame && finer.size >= axis->size; n++)
        finer = axis_of_count(axis->frame, n, needs);
    if (finer.size >= axis->size || finer.size < vrt_tile_min_size(needs))
        return false;
    *axis = finer;
    return true;
}

/* Square tiles, smaller by one step than the larger side of what is there. */
static bool refine_square(struct vrt_tile_grid *grid, struct vrt_tile_needs needs)
{
    int side = VRT_MAX(grid->x.size, grid->y.size);
    int size = (side - 1) / needs.multiple * needs.multiple;

    if (size < vrt_tile_min_size(needs))
        return false;
    *grid = vrt_tile_grid_of_size(grid->x.frame, grid->y.frame, size, needs);
    return true;
}

bool vrt_tile_refine(struct vrt_tile_grid *grid, struct vrt_tile_needs needs)
{
    struct vrt_tile_axis *longer = grid->x.size >= grid->y.size ? &grid->x : &grid->y;
    struct vrt_tile_axis *other = longer == &grid->x ? &grid->y : &grid->x;

    if (needs.joint == VRT_TILES_AVERAGED)
        return refine_square(grid, needs);
    return refine_axis(longer, needs) || refine_axis(other, needs);
}

struct vrt_tile_grid vrt_tile_restore(int width, int height, int tile_w, int tile_h,
                                      struct vrt_tile_needs needs)
{
    return (struct vrt_tile_grid){
        .x = tile_w < width ? axis_of_size(width, tile_w, needs) : whole_axis(width),
        .y = tile_h < height ? axis_of_size(height, tile_h, needs) : whole_axis(height),
    };
}

int vrt_tile_origin(const struct vrt_tile_axis *axis, int i)
{
    return i == axis->n - 1 ? axis->frame - axis->size : i * axis->step;
}

int vrt_tile_cut(const struct vrt_tile_axis *axis, int i)
{
    return i ? axis->cut : 0;
}

struct vrt_overlap vrt_tile_overlap(const struct vrt_tile_axis *axis, enum vrt_tile_joint joint,
                                    int scale)
{
    int overlap = axis->size - axis->step;

    /* The authors' rule counts what it drops in pixels of the output, whatever the scale. */
    return (struct vrt_overlap){
        .size = axis->size * scale,
        .shared = overlap * scale,
        .averaged = joint == VRT_TILES_AVERAGED,
        .drop_first = overlap / 2,
        .drop_last = overlap - overlap / 2,
    };
}
