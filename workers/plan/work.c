/* SPDX-License-Identifier: MIT */

#include "workers/plan/work.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

int vrt_work_new(struct vrt_network *network, const struct vrt_frame_format *in,
                 const struct vrt_frame_format *out, struct vrt_work **ret_work)
{
    struct vrt_work *work = calloc(1, sizeof(*work));

    if (!work)
        return vrt_raise(-ENOMEM);
    int r = vrt_frame_pool_new(out, &work->results);
    if (r) {
        free(work);
        return vrt_fold(r);
    }
    atomic_init(&work->n_refs, 1);
    work->network = vrt_network_ref(network);
    work->in = *in;
    work->out = *out;
    work->rule = vrt_clip_runs(1);
    work->grid = vrt_tile_whole(in->width, in->height);
    work->needs = vrt_tile_needs(vrt_network_info(network)->multiple,
                                 vrt_network_info(network)->radius, -1);
    *ret_work = work;
    return 0;
}

int vrt_work_copy(const struct vrt_work *work, struct vrt_work **ret_work)
{
    struct vrt_work *copy;
    int r = vrt_work_new(work->network, &work->in, &work->out, &copy);

    if (r)
        return vrt_fold(r);
    copy->rule = work->rule;
    copy->grid = work->grid;
    copy->needs = work->needs;
    copy->noise = work->noise;
    *ret_work = copy;
    return 0;
}

struct vrt_work_size vrt_work_size(const struct vrt_work *work)
{
    return (struct vrt_work_size){
        .grid = work->grid,
        .frames = work->rule.temporal ? work->rule.lap.size : 1,
    };
}

struct vrt_work *vrt_work_ref(struct vrt_work *work)
{
    atomic_fetch_add(&work->n_refs, 1);
    return work;
}

struct vrt_work *vrt_work_unref(struct vrt_work *work)
{
    if (!work || atomic_fetch_sub(&work->n_refs, 1) > 1)
        return NULL;
    vrt_network_unref(work->network);
    vrt_frame_pool_free(work->results);
    free(work);
    return NULL;
}
