/* SPDX-License-Identifier: MIT */

/*
 * To plan a size takes a graph of hundreds of ops: among the grids for one length of clip, each of
 * which needs less than the one before, the first that fits is found by halving. (Of a network so
 * small that its flows outweigh the rest, a finer grid may need some MiB more: they are computed
 * in chunks of as many frames as are worth it. It then gets a smaller size than it might have, or
 * none.)
 */

#include "workers/device/session/fit.h"

#include <errno.h>

#include "base/error.h"

/* Tiles of longer clips are no smaller. */
#define TILE_GOOD 128

#define GRIDS_MAX 512

struct search {
    struct vrt_device *device;
    const struct vrt_fit_params *params;
    struct vrt_tile_grid grids[GRIDS_MAX];  /* coarsest first */
    int n_grids;
};

bool vrt_fit_is_smaller(const struct vrt_job_spec_size *a, const struct vrt_job_spec_size *b)
{
    if (a->frames != b->frames)
        return a->frames < b->frames;

    const int64_t n_a = (int64_t)a->grid.x.n * a->grid.y.n;
    const int64_t n_b = (int64_t)b->grid.x.n * b->grid.y.n;
    /* Averaged tiles may be as many, and smaller. */
    return n_a != n_b ? n_a > n_b : (int64_t)a->grid.x.size * a->grid.y.size <
                                    (int64_t)b->grid.x.size * b->grid.y.size;
}

/* The shorter side of the tiles, of those that are cut at all. */
static int cut_side(const struct vrt_tile_grid *grid)
{
    if (grid->x.n > 1 && grid->y.n > 1)
        return VRT_MIN(grid->x.size, grid->y.size);
    return grid->x.n > 1 ? grid->x.size : grid->y.size;
}

/* Lists the grids from the wanted one on whose tiles are not smaller than `least`. */
static void list_grids(struct search *search, int least)
{
    const struct vrt_fit_params *params = search->params;
    struct vrt_tile_grid grid = params->spec->grid;
    const bool is_exact = params->is_fixed || params->spec->recipe.exact_tile;

    search->n_grids = 0;
    do {
        search->grids[search->n_grids++] = grid;
    } while (!is_exact && search->n_grids < GRIDS_MAX &&
             vrt_tile_refine(&grid, params->spec->needs) && cut_side(&grid) >= least);
}

static int plan(struct search *search, int i, int frames, struct vrt_fit *ret_fit)
{
    ret_fit->size = (struct vrt_job_spec_size){ search->grids[i], frames };
    return vrt_fold(vrt_session_plan(search->device, search->params->spec, &ret_fit->size,
                                 search->params->dtype, &ret_fit->plan));
}

static bool fits(const struct search *search, const struct vrt_fit *fit)
{
    int64_t allowed_bytes = search->params->allowed_bytes;

    /* Where the driver can't tell, the allocation will. */
    return allowed_bytes < 0 || (int64_t)fit->plan.bytes <= allowed_bytes;
}

/* The coarsest of the grids that fits clips of so many frames. Return: as vrt_fit_find(). */
static int find_grid(struct search *search, int frames, struct vrt_fit *ret_fit)
{
    /* What is below `low` doesn't fit, what is from `high` on does. */
    int low = 0, high = search->n_grids - 1;
    int r = plan(search, high, frames, ret_fit);

    if (r != 0 || !fits(search, ret_fit))
        return r != 0 ? vrt_fold(r) : -ENOSPC;
    /* Mostly the first one does; it is tried before those between. */
    for (int at = 0; low < high; at = (low + high) / 2) {
        struct vrt_fit fit;
        r = plan(search, at, frames, &fit);
        if (r != 0)
            return vrt_fold(r);
        if (fits(search, &fit)) {
            high = at;
            *ret_fit = fit;
        } else {
            low = at + 1;
        }
    }
    return 0;
}

/* The next shorter clip: half as long, in whole windows. Return: 0: there is none. */
static int shorter(const struct vrt_fit_params *params, int frames)
{
    const struct vrt_network_info *network = vrt_network_info(params->spec->network);
    int least = VRT_MAX(network->window_frames, network->min_frames);
    const int step = vrt_network_clip_step(network);
    int half = frames / 2 / step * step;

    if (params->is_fixed || params->spec->recipe.exact_clip || !params->spec->rule.temporal ||
        frames <= least)
        return 0;
    return VRT_MAX(half, least);
}

/* The largest size that fits, from the wanted one on. Return: as vrt_fit_find(). */
static int find(struct vrt_device *device, const struct vrt_fit_params *params,
                struct vrt_fit *ret_fit)
{
    struct search search = { .device = device, .params = params };
    int frames = vrt_job_spec_size(params->spec).frames, next, r;

    do {
        next = shorter(params, frames);
        list_grids(&search, next ? TILE_GOOD : 0);
        r = find_grid(&search, frames, ret_fit);
        frames = next;
    } while (r == -ENOSPC && next);
    return r == -ENOSPC ? r : vrt_fold(r);
}

/* A size that takes clearly less than the wanted one. Return: as vrt_fit_find(). */
static int find_smaller(struct vrt_device *device, const struct vrt_fit_params *params,
                        struct vrt_fit *ret_fit)
{
    struct vrt_fit_params bounded = *params;
    struct vrt_fit wanted = { .size = vrt_job_spec_size(params->spec) };
    int r = vrt_session_plan(device, params->spec, &wanted.size, params->dtype, &wanted.plan);

    if (r != 0)
        return vrt_fold(r);
    const int64_t bytes = (int64_t)wanted.plan.bytes, less_bytes = bytes - bytes / 4;
    if (params->allowed_bytes < 0 || params->allowed_bytes > less_bytes)
        bounded.allowed_bytes = less_bytes;
    r = find(device, &bounded, ret_fit);
    /* The smallest there is may be only a little smaller. */
    if (r == -ENOSPC && vrt_fit_is_smaller(&ret_fit->size, &wanted.size) &&
        (int64_t)ret_fit->plan.bytes < bytes &&
        (params->allowed_bytes < 0 || (int64_t)ret_fit->plan.bytes <= params->allowed_bytes))
        return 0;
    return r == -ENOSPC ? r : vrt_fold(r);
}

int vrt_fit_find(struct vrt_device *device, const struct vrt_fit_params *params,
                 struct vrt_fit *ret_fit)
{
    return params->smaller ? find_smaller(device, params, ret_fit) :
                             find(device, params, ret_fit);
}
