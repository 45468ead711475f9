/* SPDX-License-Identifier: MIT */

/*
 * Every number here depends on the input, the network and what was asked for, never on the machine:
 * the same job gives the same recipe wherever it is admitted, but for the tile, which must fit.
 */

#include "workers/recipe.h"

#include <errno.h>

#include "base/macro.h"
#include "frames/clip.h"

/* Encoder threads: by the size of the output alone, for its bits depend on them. Enough for the
 * last frames of a file to be encoded on all cores; each holds frames of its own. */
#define ENCODER_THREADS_MIN 4
#define ENCODER_THREADS_MAX 16
#define ENCODER_PIXELS_PER_THREAD 300000

struct vrt_tile_needs vrt_recipe_tile_needs(const struct vrt_recipe *recipe,
                                            const struct vrt_network_info *network)
{
    return vrt_tile_needs(network->multiple, network->radius, recipe->overlap);
}

static int encoder_threads(const struct vrt_recipe_params *params)
{
    int64_t scale = params->network->scale;
    int64_t n = params->width * scale * params->height * scale / ENCODER_PIXELS_PER_THREAD;

    return (int)VRT_MAX(ENCODER_THREADS_MIN, VRT_MIN(n, ENCODER_THREADS_MAX));
}

int vrt_recipe_choose(const struct vrt_recipe_params *params, struct vrt_recipe *ret_recipe,
                      struct vrt_error *error)
{
    struct vrt_tile_needs needs = vrt_tile_needs(params->network->multiple,
                                                 params->network->radius, params->overlap);
    struct vrt_tile_grid grid = vrt_tile_whole(params->width, params->height);
    int clip_frames = vrt_clip_frames(params->width, params->height);

    if (params->tile > 0) {
        int least = vrt_tile_min_size(needs);
        if (params->tile < least) {
            vrt_error_set_field(error, "tile");
            return vrt_refuse(error, -EINVAL, "request.field",
                              "a tile of %d pixels is too small for this network, whose tiles "
                              "overlap by %d on each side: ask for %d or more, or for none",
                              params->tile, needs.overlap, least);
        }
        grid = vrt_tile_grid_of_size(params->width, params->height, params->tile, needs);
    }
    *ret_recipe = (struct vrt_recipe){
        .clip_frames = clip_frames,
        .segment_frames = vrt_clip_segment_frames(params->n_frames, clip_frames),
        .tile_w = grid.x.size,
        .tile_h = grid.y.size,
        .overlap = needs.overlap,
        .precision = params->precision,
        .encoder_threads = encoder_threads(params),
    };
    return 0;
}

struct vrt_tile_grid vrt_recipe_grid(const struct vrt_recipe *recipe,
                                     const struct vrt_network_info *network, int width, int height)
{
    return vrt_tile_restore(width, height, recipe->tile_w, recipe->tile_h,
                            vrt_recipe_tile_needs(recipe, network));
}
