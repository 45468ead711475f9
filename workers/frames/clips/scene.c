/* SPDX-License-Identifier: MIT */

/*
 * Each part of a sketch is the mean of a few samples spread over it: enough to even out noise, and
 * the cost doesn't grow with the frame's size.
 */

#include "frames/clips/scene.h"

#include <stdlib.h>

/* Samples of a part, a side. */
#define SAMPLES 4

static unsigned sample(const struct vrt_plane *plane, bool is_wide, int x, int y)
{
    const uint8_t *row = plane->data + (size_t)y * plane->stride_bytes;

    return is_wide ? ((const uint16_t *)(const void *)row)[x] : row[x];
}

/* Where sample `i` of `n` lies on a side: in the middle of its share. */
static int place(int i, int n, int side)
{
    return (int)((2 * (int64_t)i + 1) * side / (2 * n));
}

void vrt_scene_draw(const struct vrt_frame *frame, struct vrt_scene_sketch *ret_sketch)
{
    const struct vrt_plane *plane = &frame->planes[0];
    bool is_wide = vrt_frame_format_sample_bytes(&frame->format) == 2;
    int shift = frame->format.depth - 8;
    unsigned sums[VRT_SCENE_ROWS * VRT_SCENE_COLUMNS] = { 0 };

    for (int i = 0; i < VRT_SCENE_ROWS * SAMPLES; i++) {
        int y = place(i, VRT_SCENE_ROWS * SAMPLES, plane->height);
        for (int k = 0; k < VRT_SCENE_COLUMNS * SAMPLES; k++) {
            int x = place(k, VRT_SCENE_COLUMNS * SAMPLES, plane->width);
            sums[i / SAMPLES * VRT_SCENE_COLUMNS + k / SAMPLES] += sample(plane, is_wide, x, y);
        }
    }
    for (int p = 0; p < VRT_SCENE_ROWS * VRT_SCENE_COLUMNS; p++)
        ret_sketch->parts[p] = (uint8_t)VRT_MIN((sums[p] / (SAMPLES * SAMPLES)) >> shift, 255U);
}

double vrt_scene_difference(const struct vrt_scene_sketch *a, const struct vrt_scene_sketch *b)
{
    int sum = 0;

    for (int p = 0; p < VRT_SCENE_ROWS * VRT_SCENE_COLUMNS; p++)
        sum += abs(a->parts[p] - b->parts[p]);
    return (double)sum / (255.0 * VRT_SCENE_ROWS * VRT_SCENE_COLUMNS);
}

static size_t slot(int64_t at)
{
    return (size_t)(at % (VRT_SCENE_BEHIND + 1 + VRT_SCENE_AHEAD));
}

void vrt_scene_see(struct vrt_scene *scene, const struct vrt_frame *frame)
{
    vrt_scene_draw(frame, &scene->sketches[slot(scene->n_seen)]);
    scene->n_seen++;
}

/* Between two frames; -1 where one of them is none. */
static double difference(const struct vrt_scene *scene, int64_t a, int64_t b)
{
    if (a < 0 || b >= scene->n_seen)
        return -1;
    return vrt_scene_difference(&scene->sketches[slot(a)], &scene->sketches[slot(b)]);
}

bool vrt_scene_is_cut(const struct vrt_scene *scene, int64_t at, double threshold)
{
    double jump = difference(scene, at - 1, at), calm;

    if (at < 1)
        return false;
    calm = VRT_MAX(difference(scene, at - 2, at - 1), difference(scene, at, at + 1));
    if (jump - VRT_MAX(calm, 0) < threshold)
        return false;
    for (int i = 1; i <= VRT_SCENE_AHEAD; i++) {
        double after = difference(scene, at - 1, at + i);
        double before = difference(scene, at - 1 - i, at);
        if ((after >= 0 && after < threshold) || (before >= 0 && before < threshold))
            return false;
    }
    return true;
}
