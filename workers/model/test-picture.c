/* SPDX-License-Identifier: MIT */

/*
 * 64 x 64 pixels hold more than a receptive field of the networks whose errors add up over many
 * layers.
 */

#include "model/test-picture.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph-executor.h"
#include "engine/graph.h"

#define SIDE 64

/* Radii of leaves in pixels; how far apart the colours of one may be; beyond so many leaves what is
 * bare stays black. */
#define LEAF_MIN 1.5
#define LEAF_MAX 40.0
#define COLOUR 0.3
#define LEAVES_MAX 20000
#define SEED 7

#define CHANNELS_MAX 3              /* of a network: colour, or gray */

/* Pixels from one frame to the next, for networks that look at several. */
#define MOTION 2

/* For networks that are told how much noise there is. */
#define NOISE 0.1f

/* One network on one picture in one precision. */
struct trial {
    struct vrt_device *device;
    const struct vrt_network *network;
    const float *picture;
    size_t n_in, n_out;                 /* floats */
};

/* What the network is shown: as many frames as it looks at together. */
static struct vrt_shape shape_of(const struct vrt_network *network)
{
    const struct vrt_network_info *info = vrt_network_info(network);
    int frames = VRT_MAX(VRT_MAX(info->window_frames, info->min_frames), 1);

    if (info->max_frames)
        frames = VRT_MIN(frames, info->max_frames);
    return (struct vrt_shape){ frames, SIDE, SIDE, info->in_channels };
}

/* A picture that is being covered, [SIDE,width,channels], seen through a window that moves. */
struct ground {
    int width, channels;
    float *pixels;
    bool *is_covered;                   /* [SIDE,width] */
    int n_bare;
    uint32_t noise;
};

/* From 0 to below 1. */
static double draw(struct ground *ground)
{
    ground->noise = ground->noise * 1664525 + 1013904223;
    return (double)(ground->noise >> 8) / (1 << 24);
}

/* One leaf, under those that lie there already. */
static void lay_leaf(struct ground *ground)
{
    /* Radii with a density of r^-3: as many at each scale as a picture that is looked at from
     * nearer or farther has. */
    const double near_2 = 1 / (LEAF_MIN * LEAF_MIN), far_2 = 1 / (LEAF_MAX * LEAF_MAX);
    const double r = 1 / sqrt(near_2 - draw(ground) * (near_2 - far_2));
    const double cx = draw(ground) * (ground->width + 2 * LEAF_MAX) - LEAF_MAX;
    const double cy = draw(ground) * (SIDE + 2 * LEAF_MAX) - LEAF_MAX;
    const double brightness = draw(ground);
    float colour[CHANNELS_MAX];

    for (int c = 0; c < ground->channels; c++)
        colour[c] = (float)fmin(fmax(brightness + COLOUR * (draw(ground) - 0.5), 0), 1);
    for (int y = VRT_MAX((int)(cy - r), 0); y < VRT_MIN((int)(cy + r) + 1, SIDE); y++) {
        const int end = VRT_MIN((int)(cx + r) + 1, ground->width);
        for (int x = VRT_MAX((int)(cx - r), 0); x < end; x++) {
            size_t i = (size_t)y * (size_t)ground->width + (size_t)x;
            if (ground->is_covered[i] || (x - cx) * (x - cx) + (y - cy) * (y - cy) >= r * r)
                continue;
            ground->is_covered[i] = true;
            ground->n_bare--;
            memcpy(ground->pixels + i * (size_t)ground->channels, colour,
                   (size_t)ground->channels * sizeof(float));
        }
    }
}

/* The picture's frames: from one to the next the window moves a little. Return: 0; -ENOMEM. */
static int draw_frames(const struct vrt_shape *shape, float *picture)
{
    struct ground ground = { .width = SIDE + MOTION * (shape->d - 1), .channels = shape->c,
                             .noise = SEED };
    const size_t row = (size_t)SIDE * (size_t)shape->c;

    ground.n_bare = SIDE * ground.width;
    ground.pixels = calloc((size_t)(ground.n_bare * shape->c), sizeof(float));
    ground.is_covered = calloc((size_t)ground.n_bare, sizeof(bool));
    int r = ground.pixels && ground.is_covered ? 0 : vrt_raise(-ENOMEM);
    for (int i = 0; r == 0 && i < LEAVES_MAX && ground.n_bare > 0; i++)
        lay_leaf(&ground);
    for (int i = 0; r == 0 && i < shape->d * SIDE; i++)
        memcpy(picture + (size_t)i * row,
               ground.pixels + (size_t)((i % SIDE * ground.width + MOTION * (i / SIDE)) * shape->c),
               row * sizeof(float));
    free(ground.pixels);
    free(ground.is_covered);
    return vrt_fold(r);
}

/* With buffers and executor made: runs once. */
static int run_executor(const struct trial *trial, struct vrt_graph_executor *executor,
                        struct vrt_buffer *const buffers[2], float *out)
{
    struct vrt_binding bindings[2] = { { buffers[0], 0 }, { buffers[1], 0 } };
    int r = vrt_buffer_write(trial->device, buffers[0], 0, trial->picture,
                             trial->n_in * sizeof(float));

    if (r != 0)
        return vrt_fold(r);
    r = vrt_graph_executor_submit(executor, bindings);
    if (r != 0)
        return vrt_fold(r);
    r = vrt_device_finish(trial->device);
    if (r != 0)
        return vrt_fold(r);
    r = vrt_buffer_read(trial->device, buffers[1], 0, out, trial->n_out * sizeof(float));
    return vrt_fold(r);
}

static int run_graph(const struct trial *trial, struct vrt_graph *graph,
                     struct vrt_replica *replica, float *out)
{
    struct vrt_buffer *buffers[2] = { NULL, NULL };
    struct vrt_graph_executor *executor = NULL;
    struct vrt_arena arena = { 0 };
    int r = vrt_graph_executor_new_all(trial->device, replica, &graph, 1, &arena, &executor);

    if (r == 0)
        r = vrt_buffer_new(trial->device, trial->n_in * sizeof(float), &buffers[0]);
    if (r == 0)
        r = vrt_buffer_new(trial->device, trial->n_out * sizeof(float), &buffers[1]);
    if (r == 0)
        r = run_executor(trial, executor, buffers, out);
    vrt_graph_executor_free(executor);
    vrt_arena_done(trial->device, &arena);
    vrt_buffer_free(trial->device, buffers[0]);
    vrt_buffer_free(trial->device, buffers[1]);
    return vrt_fold(r);
}

static int run_network(const struct trial *trial, struct vrt_replica *replica,
                       enum vrt_dtype dtype, float *out)
{
    const struct vrt_network_use use = { .dtype = dtype, .noise = NOISE };
    struct vrt_shape shape = shape_of(trial->network);
    VRT_CLEANUP(vrt_graph_freep) struct vrt_graph *graph = NULL;
    int r = vrt_graph_new(&graph);

    if (r != 0)
        return vrt_fold(r);
    struct vrt_tensor x = vrt_graph_input(graph, VRT_DTYPE_F32, shape);
    struct vrt_tensor y = vrt_graph_output(graph, VRT_DTYPE_F32,
                                           vrt_network_out_shape(trial->network, shape));
    r = vrt_network_build(trial->network, graph, &x, &y, &use);
    return r != 0 ? vrt_fold(r) : run_graph(trial, graph, replica, out);
}

size_t vrt_test_picture_n_out(const struct vrt_network *network)
{
    return (size_t)vrt_shape_count(vrt_network_out_shape(network, shape_of(network)));
}

int vrt_test_picture_run(struct vrt_device *device, const struct vrt_network *network,
                  struct vrt_replica *replica, enum vrt_dtype dtype, float *out)
{
    const struct vrt_shape shape = shape_of(network);
    const size_t n_in = (size_t)vrt_shape_count(shape);
    VRT_CLEANUP(vrt_freep) float *picture = malloc(n_in * sizeof(float));
    const struct trial trial = { device, network, picture, n_in, vrt_test_picture_n_out(network) };

    if (!picture)
        return vrt_raise(-ENOMEM);
    int r = draw_frames(&shape, picture);
    if (r < 0)
        return vrt_fold(r);
    return vrt_fold(run_network(&trial, replica, dtype, out));
}

double vrt_test_picture_psnr(const float *a, const float *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        if (!isfinite(a[i]) || !isfinite(b[i]))
            return 0;
        double d = fmin(fmax(a[i], 0), 1) - fmin(fmax(b[i], 0), 1);
        sum += d * d;
    }
    return sum > 0 ? fmin(-10 * log10(sum / (double)n),
                          VRT_TEST_PICTURE_EQUAL_DB) : VRT_TEST_PICTURE_EQUAL_DB;
}

double vrt_test_picture_max_error(const float *a, const float *b, size_t n)
{
    double worst = 0;

    for (size_t i = 0; i < n; i++) {
        if (!isfinite(a[i]) || !isfinite(b[i]))
            return INFINITY;
        worst = fmax(worst, fabs((double)a[i] - (double)b[i]));
    }
    return worst;
}
