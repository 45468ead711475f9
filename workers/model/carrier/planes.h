/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a graph computes, plane by plane, so that whatever way a file states it compares equal
 *
 * A plane is one channel of a picture. Each has a number, and what is computed in the same way of
 * the same planes has the same number. So to join channels, or to cut some out, is to copy numbers;
 * a constant factor is moved behind a change of size; sums and products have no order.
 *
 * A file's reader makes the planes of its operations. Who knows a network then makes that one's by
 * the same functions, and asks which of the file's convolutions reads them: when the last are the
 * file's last, the file computes that network and nothing else.
 *
 * Thread: any one at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"
#include "engine/checkpoint/arena.h"
#include "engine/dag/dag.h"

#define VRT_PLANES_CONVS_MAX 128
#define VRT_PLANES_CONSTANTS_MAX 256

/* Channels one after the other; their numbers are the planes', or the list's they were cut from. */
struct vrt_plane_list {
    int n;
    const int *at;
};

struct vrt_plane;

/* A convolution, whose edge of zeros keeps the size, or what remains of it by its stride. */
struct vrt_plane_conv {
    struct vrt_plane_list in, out;
    int kernel, stride;
    bool is_transposed;             /* it makes pictures larger by its stride */
    float *weight, *bias;           /* owned: [O,I,K,K] even where it is transposed, [O] */
};

/* Embedded by value. */
struct vrt_planes {
    struct vrt_dag *dag;            /* whose messages are used */
    struct vrt_cp_arena arena;      /* of lists */
    struct vrt_plane *planes;
    int n_planes, capacity;
    int *places;                    /* planes by what makes them; 0: free, else number + 1 */
    int n_places;
    uint32_t key;                   /* by which they are hashed */
    struct vrt_plane_conv convs[VRT_PLANES_CONVS_MAX];
    int n_convs;
    struct {
        float *values;              /* owned */
        int n;
    } constants[VRT_PLANES_CONSTANTS_MAX];
    int n_constants;
    int r;                          /* the first failure, said: lists are empty after it */
};

void vrt_planes_init(struct vrt_planes *planes, struct vrt_dag *dag);
void vrt_planes_done(struct vrt_planes *planes);

/* Fills the error unless something failed before. Return: the first failure. */
int vrt_planes_refuse(struct vrt_planes *planes, const char *format, ...) VRT_PRINTF(2, 3);

/* The following make planes, of lists that fit each other: of as many planes, or, of factors and
 * addends, of one. Return: the list; an empty one where planes->r is a failure. */

/* Picture `input` of those that come in. */
struct vrt_plane_list vrt_planes_input(struct vrt_planes *planes, int input, int n);

/* Numbers of the file's, each for a whole plane; they are taken over. */
struct vrt_plane_list vrt_planes_constant(struct vrt_planes *planes, float *values, int n);

/* The same list again, of constant `i`. */
struct vrt_plane_list vrt_planes_constants(struct vrt_planes *planes, int i);

/* The convolution `like`, of like->in to n_out planes; its arrays are taken over. */
struct vrt_plane_list vrt_planes_conv(struct vrt_planes *planes, const struct vrt_plane_conv *like,
                                      int n_out);

/* x where it is positive, else x * slope. */
struct vrt_plane_list vrt_planes_leaky(struct vrt_planes *planes, struct vrt_plane_list x,
                                       float slope);

/* x * scale + shift */
struct vrt_plane_list vrt_planes_affine(struct vrt_planes *planes, struct vrt_plane_list x,
                                        float scale, float shift);

struct vrt_plane_list vrt_planes_sigmoid(struct vrt_planes *planes, struct vrt_plane_list x);

/* To `factor` times the size, bilinear, corners not aligned. */
struct vrt_plane_list vrt_planes_resize(struct vrt_planes *planes, struct vrt_plane_list x,
                                        float factor);

/* a + b; a * b */
struct vrt_plane_list vrt_planes_add(struct vrt_planes *planes, struct vrt_plane_list a,
                                     struct vrt_plane_list b);
struct vrt_plane_list vrt_planes_mul(struct vrt_planes *planes, struct vrt_plane_list a,
                                     struct vrt_plane_list b);

/* x, where each sample is taken from where the two planes of `flow` say, beside its own place. */
struct vrt_plane_list vrt_planes_warp(struct vrt_planes *planes, struct vrt_plane_list x,
                                      struct vrt_plane_list flow);

/* x, where each sample is taken from where the two planes of `grid` say, from -1 to 1. Of `base`
 * the first two are each place's own, the others how far it is to the next: what a grid is besides
 * its own place is a flow. */
struct vrt_plane_list vrt_planes_sample(struct vrt_planes *planes, struct vrt_plane_list x,
                                        struct vrt_plane_list grid, struct vrt_plane_list base);

/* Four planes each become one of twice the size. */
struct vrt_plane_list vrt_planes_shuffle(struct vrt_planes *planes, struct vrt_plane_list x);

/* Lists one after the other. */
struct vrt_plane_list vrt_planes_join(struct vrt_planes *planes, const struct vrt_plane_list *lists,
                                      int n);

/* `n` planes of x from `first` on; those that it has. */
static inline struct vrt_plane_list vrt_planes_cut(struct vrt_plane_list x, int first, int n)
{
    first = VRT_MAX(0, VRT_MIN(first, x.n));
    return (struct vrt_plane_list){ VRT_MAX(0, VRT_MIN(n, x.n - first)),
                                    x.n > 0 ? x.at + first : NULL };
}

bool vrt_planes_same(struct vrt_plane_list a, struct vrt_plane_list b);

/* The file's convolution that reads just this; NULL: it has none. */
const struct vrt_plane_conv *vrt_planes_conv_of(const struct vrt_planes *planes,
                                                struct vrt_plane_list x);

/* The number of the constant whose first number the first plane of x is multiplied with; -1: there
 * is none. */
int vrt_planes_factor_of(const struct vrt_planes *planes, struct vrt_plane_list x);
