/* SPDX-License-Identifier: MIT */

#include "model/fvd/fvd.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "backend/backend.h"
#include "backend/kind.h"
#include "model/fvd/frechet.h"
#include "model/fvd/i3d.h"

/* Beside those of the jobs, and of lower priority than what else runs. */
#define N_THREADS 2

#define DOING "computing FVD"
#define E_DEVICE "device.failed"

/* Trained ones are below 100. */
#define LOGIT_MAX 1e6f

#define PICTURE_VALUES ((size_t)VRT_FVD_SIDE * VRT_FVD_SIDE * 3)
#define CLIP_VALUES (VRT_FVD_FRAMES * PICTURE_VALUES)

struct vrt_fvd {
    struct vrt_i3d *i3d;            /* until the device has its weights */
    struct vrt_registry *registry;
    struct vrt_device *device;
    struct vrt_replica *replica;
    struct vrt_arena arena;
    struct vrt_graph_executor *executor;
    struct vrt_graph_executor_watch watch;
    struct vrt_buffer *clip, *logits;
    float *clips;                   /* [2][16][224][224][3], in [-1,1] */
    int n_frames;                   /* of them that are there */
    struct vrt_gaussian *seen[2];   /* logits of the clips */
};

/* Return: r, or 0; the error is filled. */
static int check(int r, struct vrt_error *error)
{
    if (r == -ECANCELED)
        return r;
    return r == 0 ? 0 : vrt_refuse(error, r < 0 ? vrt_fold(r) : vrt_raise(-EIO), E_DEVICE,
                                   "FVD could not be computed: %s", vrt_backend_strerror(r));
}

/* The fast CPU device, or the plain one where there is none. */
static int open_device(struct vrt_fvd *fvd, struct vrt_error *error)
{
    const struct vrt_registry_params params = {
        .values = VRT_BACKEND_VALUES({ "cpu", "threads", N_THREADS }),
        .leave_out = 1u << VRT_DEVICE_ACCELERATOR,
    };
    int r = vrt_registry_new(&params, &fvd->registry, error);

    if (r < 0)
        return vrt_fold(r);
    const struct vrt_device_info *info = vrt_registry_find(fvd->registry, "cpu:0");
    if (!info)
        info = vrt_registry_find(fvd->registry, "ref:0");
    vrt_assert(info);
    return check(vrt_device_open(fvd->registry, info, &fvd->device), error);
}

/* The network on the device, for one clip. Return: 0; outcome; -errno. */
static int prepare(struct vrt_fvd *fvd)
{
    const struct vrt_shape shape = { VRT_FVD_FRAMES, VRT_FVD_SIDE, VRT_FVD_SIDE, 3 };
    VRT_CLEANUP(vrt_graph_freep) struct vrt_graph *graph = NULL;
    size_t n_params;
    const struct vrt_param *params = vrt_i3d_params(fvd->i3d, &n_params);

    int r = vrt_graph_new(&graph);
    if (r < 0)
        return vrt_fold(r);
    const struct vrt_tensor in = vrt_graph_input(graph, VRT_DTYPE_F32, shape);
    const struct vrt_tensor out = vrt_graph_output(graph, VRT_DTYPE_F32, (struct vrt_shape){
        1, 1, 1, VRT_I3D_LOGITS });
    r = vrt_i3d_build(fvd->i3d, graph, &in, &out);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_replica_new(fvd->device, params, n_params, VRT_DTYPE_F32, &fvd->replica);
    if (r != 0)
        return r;
    r = vrt_graph_executor_new_all(fvd->device, fvd->replica, &graph, 1, &fvd->arena,
                                   &fvd->executor);
    if (r != 0)
        return r;
    r = vrt_buffer_new(fvd->device, CLIP_VALUES * sizeof(float), &fvd->clip);
    if (r != 0)
        return r;
    return vrt_buffer_new(fvd->device, VRT_I3D_LOGITS * sizeof(float), &fvd->logits);
}

int vrt_fvd_new(int fd, const char *name, const struct vrt_graph_executor_watch *watch,
                struct vrt_fvd **ret_fvd, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_fvd_freep) struct vrt_fvd *fvd = calloc(1, sizeof(*fvd));

    if (!fvd)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), DOING);
    fvd->watch = *watch;
    int r = vrt_i3d_read(fd, name, &fvd->i3d, error);
    if (r < 0)
        return vrt_fold(r);
    r = open_device(fvd, error);
    if (r < 0)
        return vrt_fold(r);
    r = check(prepare(fvd), error);
    fvd->i3d = vrt_i3d_free(fvd->i3d);
    if (r < 0)
        return vrt_fold(r);
    fvd->clips = malloc(2 * CLIP_VALUES * sizeof(*fvd->clips));
    r = fvd->clips ? 0 : vrt_raise(-ENOMEM);
    for (int i = 0; r == 0 && i < 2; i++)
        r = vrt_gaussian_new(VRT_I3D_LOGITS, &fvd->seen[i]);
    if (r < 0)
        return vrt_refuse_errno(error, r, DOING);
    *ret_fvd = VRT_STEAL(fvd);
    return 0;
}

/* What lies on the device goes before it. */
struct vrt_fvd *vrt_fvd_free(struct vrt_fvd *fvd)
{
    if (!fvd)
        return NULL;
    vrt_graph_executor_free(fvd->executor);
    if (fvd->device) {
        vrt_buffer_free(fvd->device, fvd->logits);
        vrt_buffer_free(fvd->device, fvd->clip);
        vrt_arena_done(fvd->device, &fvd->arena);
        vrt_replica_free(fvd->device, fvd->replica);
    }
    vrt_device_close(fvd->device);
    vrt_registry_free(fvd->registry);
    for (int i = 0; i < 2; i++)
        vrt_gaussian_free(fvd->seen[i]);
    free(fvd->clips);
    vrt_i3d_free(fvd->i3d);
    free(fvd);
    return NULL;
}

/* Of one video's clip. Return: 0; outcome; -errno. */
static int compute(struct vrt_fvd *fvd, const float *clip, float *ret_logits)
{
    const struct vrt_binding bindings[] = { { fvd->clip, 0 }, { fvd->logits, 0 } };
    int r = vrt_buffer_write(fvd->device, fvd->clip, 0, clip, CLIP_VALUES * sizeof(*clip));

    if (r != 0)
        return r;
    r = vrt_graph_executor_submit_watched(fvd->executor, bindings, &fvd->watch);
    if (r != 0)
        return r;
    r = vrt_device_finish(fvd->device);
    if (r != 0)
        return r;
    return vrt_buffer_read(fvd->device, fvd->logits, 0, ret_logits,
                           VRT_I3D_LOGITS * sizeof(*ret_logits));
}

static int add_clip(struct vrt_fvd *fvd, int video, struct vrt_error *error)
{
    float logits[VRT_I3D_LOGITS];
    int r = check(compute(fvd, fvd->clips + (size_t)video * CLIP_VALUES, logits), error);

    if (r < 0)
        return vrt_fold(r);
    for (int i = 0; i < VRT_I3D_LOGITS; i++)
        if (!(fabsf(logits[i]) < LOGIT_MAX))
            return vrt_refuse(error, vrt_raise(-EINVAL), "model.invalid", "I3D makes a logit of "
                              "%.3g of a clip: its weights are no trained ones",
                              (double)logits[i]);
    vrt_gaussian_add(fvd->seen[video], logits);
    return 0;
}

int vrt_fvd_add(struct vrt_fvd *fvd, const uint16_t *pictures, struct vrt_error *error)
{
    for (int video = 0; video < 2; video++) {
        float *to = fvd->clips + (size_t)video * CLIP_VALUES +
                    (size_t)fvd->n_frames * PICTURE_VALUES;
        for (size_t i = 0; i < PICTURE_VALUES; i++)
            to[i] = (float)*pictures++ / 65535 * 2 - 1;
    }
    if (++fvd->n_frames < VRT_FVD_FRAMES)
        return 0;
    fvd->n_frames = 0;
    int r = add_clip(fvd, 0, error);
    return r < 0 ? vrt_fold(r) : vrt_fold(add_clip(fvd, 1, error));
}

int64_t vrt_fvd_n_clips(const struct vrt_fvd *fvd)
{
    return vrt_gaussian_count(fvd->seen[1]);
}

int vrt_fvd_distance(const struct vrt_fvd *fvd, double *ret_distance)
{
    return vrt_fold(vrt_frechet_distance(fvd->seen[0], fvd->seen[1], ret_distance));
}
