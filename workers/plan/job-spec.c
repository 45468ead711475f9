/* SPDX-License-Identifier: MIT */

#include "workers/plan/job-spec.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "workers/plan/output-size.h"

int vrt_job_spec_new(struct vrt_network *network, const struct vrt_frame_format *in,
                 const struct vrt_frame_format *out, struct vrt_job_spec **ret_spec)
{
    struct vrt_job_spec *spec = calloc(1, sizeof(*spec));

    if (!spec)
        return vrt_raise(-ENOMEM);
    /* Another size is made of that when it is encoded. */
    spec->out = vrt_output_made(in, vrt_network_info(network)->scale, out);
    int r = vrt_frame_pool_new(&spec->out, &spec->results);
    if (r < 0) {
        free(spec);
        return vrt_fold(r);
    }
    atomic_init(&spec->n_refs, 1);
    spec->network = vrt_network_ref(network);
    spec->in = *in;
    spec->recipe.strength = 1;
    spec->passes = vrt_frame_format_same_samples(in, &spec->out);
    spec->rule = vrt_clip_runs(1);
    spec->grid = vrt_tile_whole(in->width, in->height);
    spec->needs = vrt_tile_needs(vrt_network_info(network)->multiple,
                                 vrt_network_info(network)->radius, -1);
    *ret_spec = spec;
    return 0;
}

void vrt_job_spec_set_recipe(struct vrt_job_spec *spec, const struct vrt_recipe *recipe)
{
    const struct vrt_network_info *network = vrt_network_info(spec->network);

    spec->recipe = *recipe;
    spec->noise = vrt_recipe_noise(recipe);
    spec->needs = vrt_recipe_tile_needs(recipe, network);
    spec->rule = vrt_recipe_rule(recipe, network);
    spec->grid = vrt_recipe_grid(recipe, network, spec->in.width, spec->in.height);
}

void vrt_job_spec_set_size(struct vrt_job_spec *spec, const struct vrt_job_spec_size *size)
{
    const struct vrt_network_info *network = vrt_network_info(spec->network);

    if (vrt_recipe_is_temporal(network))
        vrt_recipe_shorten(&spec->recipe, size->frames);
    spec->recipe.tile_w = size->grid.x.size;
    spec->recipe.tile_h = size->grid.y.size;
    spec->grid = size->grid;
    spec->rule = vrt_recipe_rule(&spec->recipe, network);
}

int vrt_job_spec_copy(const struct vrt_job_spec *spec, struct vrt_job_spec **ret_spec)
{
    struct vrt_job_spec *copy;
    int r = vrt_job_spec_new(spec->network, &spec->in, &spec->out, &copy);

    if (r < 0)
        return vrt_fold(r);
    copy->recipe = spec->recipe;
    copy->rule = spec->rule;
    copy->grid = spec->grid;
    copy->needs = spec->needs;
    copy->noise = spec->noise;
    *ret_spec = copy;
    return 0;
}

struct vrt_job_spec_size vrt_job_spec_size(const struct vrt_job_spec *spec)
{
    return (struct vrt_job_spec_size){
        .grid = spec->grid,
        .frames = spec->rule.temporal ? spec->rule.overlap.size : 1,
    };
}

struct vrt_job_spec *vrt_job_spec_ref(struct vrt_job_spec *spec)
{
    atomic_fetch_add(&spec->n_refs, 1);
    return spec;
}

struct vrt_job_spec *vrt_job_spec_unref(struct vrt_job_spec *spec)
{
    if (!spec || atomic_fetch_sub(&spec->n_refs, 1) > 1)
        return NULL;
    vrt_network_unref(spec->network);
    vrt_frame_pool_free(spec->results);
    free(spec);
    return NULL;
}
