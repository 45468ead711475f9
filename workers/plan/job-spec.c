/* SPDX-License-Identifier: MIT */

#include "workers/plan/job-spec.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

int vrt_job_spec_new(struct vrt_network *network, const struct vrt_frame_format *in,
                 const struct vrt_frame_format *out, struct vrt_job_spec **ret_spec)
{
    struct vrt_job_spec *spec = calloc(1, sizeof(*spec));

    if (!spec)
        return vrt_raise(-ENOMEM);
    int r = vrt_frame_pool_new(out, &spec->results);
    if (r) {
        free(spec);
        return vrt_fold(r);
    }
    atomic_init(&spec->n_refs, 1);
    spec->network = vrt_network_ref(network);
    spec->in = *in;
    spec->out = *out;
    spec->rule = vrt_clip_runs(1);
    spec->grid = vrt_tile_whole(in->width, in->height);
    spec->needs = vrt_tile_needs(vrt_network_info(network)->multiple,
                                 vrt_network_info(network)->radius, -1);
    *ret_spec = spec;
    return 0;
}

int vrt_job_spec_copy(const struct vrt_job_spec *spec, struct vrt_job_spec **ret_spec)
{
    struct vrt_job_spec *copy;
    int r = vrt_job_spec_new(spec->network, &spec->in, &spec->out, &copy);

    if (r)
        return vrt_fold(r);
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
