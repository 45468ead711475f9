/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Tiles: how a frame that is too large for a device is cut in space. Pure.
 *
 * All tiles of a frame have one size, so that one recorded program serves them all. A tile's
 * origin is a multiple of the network's grid, and its size leaves the remainder that the frame's
 * leaves, so that a network which pads to its grid pads where it would have padded the frame.
 *
 * Neighbours share at least 2 * overlap pixels. Tiles are computed row by row, and each writes
 * what lies right of and below its cut (overlap pixels from its left and top side, 0 at the
 * frame's edge) up to its very end; what a later neighbour knows better, that one overwrites.
 * So each pixel of the result comes from a tile in which it is at least `overlap` pixels away
 * from every side that isn't the frame's, and only four kinds of cut exist.
 *
 * That suits networks which see no further than their radius: tiles don't show. One that sees the
 * whole tile gives other results in each, which are blended: neighbours share `overlap` pixels
 * (frames/clips/overlap.h), feathered, or averaged as VRT's authors test.
 *
 * Unit: pixels of the network's input.
 */

#include <stdbool.h>

#include "frames/clips/overlap.h"

enum vrt_tile_joint {
    VRT_TILES_CUT,                  /* each pixel comes from one tile */
    VRT_TILES_FEATHERED,
    VRT_TILES_AVERAGED,
};

/* What a network asks of its tiles. */
struct vrt_tile_needs {
    enum vrt_tile_joint joint;
    int multiple;                   /* cut: of it origins are multiples; blended: sizes */
    int overlap;                    /* cut: context on each inner side, a multiple of `multiple`;
                                     * blended: what neighbours share */
    int least;                      /* blended: no tile is smaller */
};

/* One dimension of a grid. */
struct vrt_tile_axis {
    int frame;                      /* the frame's extent */
    int size;                       /* every tile's; the frame's where it isn't cut */
    int n;                          /* tiles */
    int step;                       /* from origin to origin, but for the last */
    int cut;                        /* what a tile leaves out where it isn't the first; 0 of
                                     * tiles that are blended */
};

struct vrt_tile_grid {
    struct vrt_tile_axis x, y;
};

/* The context that a network of this radius needs; `asked` is the user's own number, or -1. */
struct vrt_tile_needs vrt_tile_needs(int multiple, int radius, int asked);

/* For tiles that are blended, of at least min_size pixels a side: `joint` says how. */
struct vrt_tile_needs vrt_tile_needs_blended(enum vrt_tile_joint joint, int multiple, int min_size,
                                             int overlap);

/* The smallest tile side that leaves something after its overlaps. */
int vrt_tile_min_size(struct vrt_tile_needs needs);

/* A frame in one piece. */
struct vrt_tile_grid vrt_tile_whole(int width, int height);

/*
 * The grid whose tiles have at most `size` pixels a side (at least vrt_tile_min_size()): as few
 * tiles as that allows, and those as small as so many can be; averaged ones are as large as
 * allowed, for whoever asks for them wants the authors' size.
 */
struct vrt_tile_grid vrt_tile_grid_of_size(int width, int height, int size,
                                           struct vrt_tile_needs needs);

/*
 * The next finer grid: one more tile along the side on which tiles are longer; averaged tiles
 * stay square, and become smaller by `multiple`.
 * Return: whether there is one whose tiles aren't below the minimum; *grid is changed only then.
 */
bool vrt_tile_refine(struct vrt_tile_grid *grid, struct vrt_tile_needs needs);

/* The grid that has tiles of exactly this size, as an earlier call made it (a stored recipe). */
struct vrt_tile_grid vrt_tile_restore(int width, int height, int tile_w, int tile_h,
                                      struct vrt_tile_needs needs);

/* Where tile `i` of the axis begins. */
int vrt_tile_origin(const struct vrt_tile_axis *axis, int i);

/* What tile `i` leaves out at its beginning: axis->cut, or 0 for the first. */
int vrt_tile_cut(const struct vrt_tile_axis *axis, int i);

/* How blended tiles overlap along the axis, in pixels of an output `scale` times as large. */
struct vrt_overlap vrt_tile_overlap(const struct vrt_tile_axis *axis, enum vrt_tile_joint joint,
                            int scale);
