/* SPDX-License-Identifier: MIT */

#include "model/carrier/planes.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/hash.h"

#define PLANES_MAX (1 << 19)
#define PLACES_MIN 1024
#define LISTS_BYTES (16 << 20)
#define SQUARE 4
#define CLOSE 6e-4f                 /* as f16 rounds numbers */

enum kind {
    INPUT,                          /* of picture at[0], channel at[1] */
    NUMBER,                         /* by[0] everywhere */
    CONSTANT,                       /* number at[1] of constant at[0] */
    CONV,                           /* output at[1] of convolution at[0] */
    LEAKY, AFFINE, SIGMOID, RESIZE, /* of at[0], as by[] says */
    ADD, MUL,                       /* at[0] and at[1], the lower one first */
    WARP,                           /* at[0] by at[1] and at[2] */
    SHUFFLE,                        /* four */
};

struct vrt_plane {
    enum kind kind;
    int at[SQUARE];
    float by[2];
};

void vrt_planes_init(struct vrt_planes *planes, struct vrt_dag *dag)
{
    *planes = (struct vrt_planes){ .dag = dag, .key = vrt_hash_key() };
    vrt_cp_arena_init(&planes->arena, LISTS_BYTES);
}

void vrt_planes_done(struct vrt_planes *planes)
{
    for (int i = 0; i < planes->n_convs; i++) {
        free(planes->convs[i].weight);
        free(planes->convs[i].bias);
    }
    for (int i = 0; i < planes->n_constants; i++)
        free(planes->constants[i].values);
    free(planes->planes);
    free(planes->places);
    vrt_cp_arena_done(&planes->arena);
}

int vrt_planes_refuse(struct vrt_planes *planes, const char *format, ...)
{
    char why[240];
    va_list args;

    if (planes->r < 0)
        return planes->r;
    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    planes->r = vrt_dag_refuse(planes->dag, "%s", why);
    return planes->r;
}

static void fail_memory(struct vrt_planes *planes)
{
    if (planes->r == 0)
        planes->r = vrt_refuse_errno(planes->dag->error, vrt_raise(-ENOMEM), planes->dag->source);
}

static int *new_list(struct vrt_planes *planes, int n)
{
    int *at = planes->r < 0 ? NULL : vrt_cp_arena_alloc(&planes->arena, (size_t)n, sizeof(*at));

    if (!at && planes->arena.is_exhausted)
        vrt_planes_refuse(planes, "is one of more than a network of such layers has");
    else if (!at)
        fail_memory(planes);
    return at;
}

/* Where the plane is among the places, or belongs: there is a free one. */
static int *place_of(const struct vrt_planes *planes, const struct vrt_plane *plane)
{
    for (uint32_t at = vrt_hash(planes->key, plane, sizeof(*plane)); ; at++) {
        int *place = &planes->places[at % (uint32_t)planes->n_places];

        if (*place == 0 || memcmp(&planes->planes[*place - 1], plane, sizeof(*plane)) == 0)
            return place;
    }
}

/* Has room for one more plane. */
static bool make_room(struct vrt_planes *planes)
{
    if (planes->n_planes == PLANES_MAX) {
        vrt_planes_refuse(planes, "makes more channels than a network of such layers has");
        return false;
    }
    if (planes->n_planes < planes->capacity)
        return true;
    const int n = planes->capacity ? 2 * planes->capacity : PLACES_MIN;
    struct vrt_plane *grown = reallocarray(planes->planes, (size_t)n, sizeof(*grown));
    if (grown)
        planes->planes = grown;
    int *places = grown ? calloc(2 * (size_t)n, sizeof(*places)) : NULL;
    if (!places) {
        fail_memory(planes);
        return false;
    }
    free(planes->places);
    planes->places = places;
    planes->n_places = 2 * n;
    planes->capacity = n;
    for (int i = 0; i < planes->n_planes; i++)
        *place_of(planes, &planes->planes[i]) = i + 1;
    return true;
}

/* The number of the plane that is made so; 0 where that failed. */
static int plane_of(struct vrt_planes *planes, const struct vrt_plane *plane)
{
    if (planes->r < 0 || !make_room(planes))
        return 0;
    int *place = place_of(planes, plane);
    if (*place == 0) {
        planes->planes[planes->n_planes++] = *plane;
        *place = planes->n_planes;
    }
    return *place - 1;
}

static int number(struct vrt_planes *planes, float value)
{
    return plane_of(planes, &(struct vrt_plane){ .kind = NUMBER, .by = { value + 0.0f } });
}

static int affine(struct vrt_planes *planes, int x, float scale, float shift)
{
    const struct vrt_plane of = planes->planes[x];

    if (of.kind == NUMBER || scale == 0)
        return number(planes, (of.kind == NUMBER ? of.by[0] * scale : 0) + shift);
    if (of.kind == AFFINE)
        return affine(planes, of.at[0], of.by[0] * scale, of.by[1] * scale + shift);
    if (scale == 1 && shift == 0)
        return x;
    return plane_of(planes, &(struct vrt_plane){ .kind = AFFINE, .at = { x },
                                                 .by = { scale, shift + 0.0f } });
}

/* What is computed of each plane alone. */
static int unary(struct vrt_planes *planes, enum kind kind, int x, float by)
{
    const struct vrt_plane of = planes->planes[x];

    if (kind == RESIZE && (of.kind == NUMBER || by == 1))
        return x;
    if (kind == RESIZE && of.kind == AFFINE) {
        const int resized = unary(planes, RESIZE, of.at[0], by);
        return affine(planes, resized, of.by[0], of.by[1]);
    }
    return plane_of(planes, &(struct vrt_plane){ .kind = kind, .at = { x }, .by = { by } });
}

static struct vrt_plane_list each(struct vrt_planes *planes, enum kind kind,
                                  struct vrt_plane_list x, float by)
{
    int *at = new_list(planes, x.n);

    for (int i = 0; at && planes->r == 0 && i < x.n; i++)
        at[i] = unary(planes, kind, x.at[i], by);
    return (struct vrt_plane_list){ planes->r == 0 ? x.n : 0, at };
}

struct vrt_plane_list vrt_planes_leaky(struct vrt_planes *planes, struct vrt_plane_list x,
                                       float slope)
{
    return each(planes, LEAKY, x, slope);
}

struct vrt_plane_list vrt_planes_sigmoid(struct vrt_planes *planes, struct vrt_plane_list x)
{
    return each(planes, SIGMOID, x, 0);
}

struct vrt_plane_list vrt_planes_resize(struct vrt_planes *planes, struct vrt_plane_list x,
                                        float factor)
{
    return each(planes, RESIZE, x, factor);
}

struct vrt_plane_list vrt_planes_affine(struct vrt_planes *planes, struct vrt_plane_list x,
                                        float scale, float shift)
{
    int *at = new_list(planes, x.n);

    for (int i = 0; at && planes->r == 0 && i < x.n; i++)
        at[i] = affine(planes, x.at[i], scale, shift);
    return (struct vrt_plane_list){ planes->r == 0 ? x.n : 0, at };
}

static int combine(struct vrt_planes *planes, enum kind kind, int a, int b)
{
    const struct vrt_plane of_a = planes->planes[a], of_b = planes->planes[b];

    if (of_a.kind == NUMBER && of_b.kind != NUMBER)
        return combine(planes, kind, b, a);
    if (of_b.kind == NUMBER)
        return kind == ADD ? affine(planes, a, 1, of_b.by[0]) : affine(planes, a, of_b.by[0], 0);
    return plane_of(planes, &(struct vrt_plane){ .kind = kind,
                                                 .at = { VRT_MIN(a, b), VRT_MAX(a, b) } });
}

static struct vrt_plane_list pairs(struct vrt_planes *planes, enum kind kind,
                                   struct vrt_plane_list a, struct vrt_plane_list b)
{
    const int n = VRT_MAX(a.n, b.n);
    int *at = new_list(planes, n);

    if ((a.n != n && a.n != 1) || (b.n != n && b.n != 1))
        vrt_planes_refuse(planes, "combines %d channels with %d", a.n, b.n);
    for (int i = 0; at && planes->r == 0 && i < n; i++)
        at[i] = combine(planes, kind, a.at[a.n == 1 ? 0 : i], b.at[b.n == 1 ? 0 : i]);
    return (struct vrt_plane_list){ planes->r == 0 ? n : 0, at };
}

struct vrt_plane_list vrt_planes_add(struct vrt_planes *planes, struct vrt_plane_list a,
                                     struct vrt_plane_list b)
{
    return pairs(planes, ADD, a, b);
}

struct vrt_plane_list vrt_planes_mul(struct vrt_planes *planes, struct vrt_plane_list a,
                                     struct vrt_plane_list b)
{
    return pairs(planes, MUL, a, b);
}

/* Planes of one thing, counted by at[1]. */
static struct vrt_plane_list counted(struct vrt_planes *planes, enum kind kind, int of, int n)
{
    int *at = new_list(planes, n);

    for (int i = 0; at && planes->r == 0 && i < n; i++)
        at[i] = plane_of(planes, &(struct vrt_plane){ .kind = kind, .at = { of, i } });
    return (struct vrt_plane_list){ planes->r == 0 ? n : 0, at };
}

struct vrt_plane_list vrt_planes_input(struct vrt_planes *planes, int input, int n)
{
    return counted(planes, INPUT, input, n);
}

struct vrt_plane_list vrt_planes_constant(struct vrt_planes *planes, float *values, int n)
{
    if (planes->n_constants == VRT_PLANES_CONSTANTS_MAX) {
        free(values);
        vrt_planes_refuse(planes, "is one of more than %d constants", VRT_PLANES_CONSTANTS_MAX);
        return (struct vrt_plane_list){ 0 };
    }
    planes->constants[planes->n_constants].values = values;
    planes->constants[planes->n_constants++].n = n;
    return vrt_planes_constants(planes, planes->n_constants - 1);
}

struct vrt_plane_list vrt_planes_constants(struct vrt_planes *planes, int i)
{
    if (planes->constants[i].n > 1)
        return counted(planes, CONSTANT, i, planes->constants[i].n);
    int *at = new_list(planes, 1);
    if (at)
        at[0] = number(planes, planes->constants[i].values[0]);
    return (struct vrt_plane_list){ planes->r == 0, at };
}

struct vrt_plane_list vrt_planes_conv(struct vrt_planes *planes, const struct vrt_plane_conv *like,
                                      int n_out)
{
    if (planes->n_convs == VRT_PLANES_CONVS_MAX) {
        free(like->weight);
        free(like->bias);
        vrt_planes_refuse(planes, "is one of more than %d convolutions", VRT_PLANES_CONVS_MAX);
        return (struct vrt_plane_list){ 0 };
    }
    struct vrt_plane_conv *conv = &planes->convs[planes->n_convs];
    *conv = *like;
    conv->out = counted(planes, CONV, planes->n_convs++, n_out);
    return conv->out;
}

struct vrt_plane_list vrt_planes_warp(struct vrt_planes *planes, struct vrt_plane_list x,
                                      struct vrt_plane_list flow)
{
    int *at = new_list(planes, x.n);

    if (flow.n != 2)
        vrt_planes_refuse(planes, "moves a picture by %d channels, not 2", flow.n);
    for (int i = 0; at && planes->r == 0 && i < x.n; i++)
        at[i] = plane_of(planes, &(struct vrt_plane){ .kind = WARP,
                                                      .at = { x.at[i], flow.at[0], flow.at[1] } });
    return (struct vrt_plane_list){ planes->r == 0 ? x.n : 0, at };
}

/* What is left of a sum of which plane `base` is one part. Return: -1: it is none. */
static int without(struct vrt_planes *planes, int x, int base)
{
    const struct vrt_plane of = planes->planes[x];
    const bool is_scaled = of.kind == AFFINE;
    const struct vrt_plane sum = planes->planes[is_scaled ? of.at[0] : x];
    const float scale = is_scaled ? of.by[0] : 1, shift = is_scaled ? of.by[1] : 0;

    for (int k = 0; sum.kind == ADD && k < 2; k++) {
        const int part = affine(planes, sum.at[k], scale, shift);
        const struct vrt_plane *made = &planes->planes[part];

        if (part == base || (made->kind == AFFINE && made->at[0] == base &&
                             fabsf(made->by[0] - 1) <= CLOSE && fabsf(made->by[1]) <= CLOSE))
            return affine(planes, sum.at[1 - k], scale, 0);
    }
    return -1;
}

/* What x is a multiple of by plane `factor`; where that is a number, by whole ones of it. Return:
 * -1: it is none. */
static int unscaled(struct vrt_planes *planes, int x, int factor)
{
    const struct vrt_plane of = planes->planes[x], by = planes->planes[factor];

    for (int k = 0; by.kind != NUMBER && of.kind == MUL && k < 2; k++)
        if (of.at[k] == factor)
            return of.at[1 - k];
    if (by.kind != NUMBER)
        return -1;
    const float scale = (of.kind == AFFINE ? of.by[0] : 1) / by.by[0], whole = rintf(scale);
    if (whole < 1 || !(fabsf(scale - whole) <= CLOSE * whole) ||
        (of.kind == AFFINE && of.by[1] != 0))
        return -1;
    return affine(planes, of.kind == AFFINE ? of.at[0] : x, whole, 0);
}

struct vrt_plane_list vrt_planes_sample(struct vrt_planes *planes, struct vrt_plane_list x,
                                        struct vrt_plane_list grid, struct vrt_plane_list base)
{
    int flow[2];

    for (int k = 0; k < 2 && planes->r == 0; k++) {
        const int step = grid.n == 2 ? without(planes, grid.at[k], base.at[k]) : -1;

        flow[k] = step < 0 ? -1 : unscaled(planes, step, base.at[2 + k]);
        if (flow[k] < 0)
            vrt_planes_refuse(planes, "samples a picture otherwise than at each place plus a flow "
                              "in pixels, corners aligned");
    }
    return planes->r < 0 ? (struct vrt_plane_list){ 0 } :
           vrt_planes_warp(planes, x, (struct vrt_plane_list){ 2, flow });
}

struct vrt_plane_list vrt_planes_shuffle(struct vrt_planes *planes, struct vrt_plane_list x)
{
    const int n = x.n / SQUARE;
    int *at = new_list(planes, n);

    if (x.n % SQUARE != 0)
        vrt_planes_refuse(planes, "is to move pixels by 2 of %d channels", x.n);
    for (int i = 0; at && planes->r == 0 && i < n; i++) {
        const int *of = &x.at[SQUARE * i];

        at[i] = plane_of(planes, &(struct vrt_plane){ .kind = SHUFFLE,
                                                      .at = { of[0], of[1], of[2], of[3] } });
    }
    return (struct vrt_plane_list){ planes->r == 0 ? n : 0, at };
}

struct vrt_plane_list vrt_planes_join(struct vrt_planes *planes, const struct vrt_plane_list *lists,
                                      int n)
{
    int n_all = 0, first = 0;

    for (int i = 0; i < n; i++)
        n_all += lists[i].n;
    int *at = new_list(planes, n_all);
    for (int i = 0; at && i < n; i++) {
        for (int k = 0; k < lists[i].n; k++)
            at[first + k] = lists[i].at[k];
        first += lists[i].n;
    }
    return (struct vrt_plane_list){ at ? n_all : 0, at };
}

bool vrt_planes_same(struct vrt_plane_list a, struct vrt_plane_list b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, (size_t)a.n * sizeof(*a.at)) == 0);
}

const struct vrt_plane_conv *vrt_planes_conv_of(const struct vrt_planes *planes,
                                                struct vrt_plane_list x)
{
    for (int i = 0; x.n > 0 && i < planes->n_convs; i++)
        if (vrt_planes_same(planes->convs[i].in, x))
            return &planes->convs[i];
    return NULL;
}

int vrt_planes_factor_of(const struct vrt_planes *planes, struct vrt_plane_list x)
{
    for (int i = 0; x.n > 0 && i < planes->n_planes; i++) {
        const struct vrt_plane *plane = &planes->planes[i];

        for (int k = 0; plane->kind == MUL && k < 2; k++) {
            const struct vrt_plane *factor = &planes->planes[plane->at[1 - k]];

            if (plane->at[k] == x.at[0] && factor->kind == CONSTANT && factor->at[1] == 0)
                return factor->at[0];
        }
    }
    return -1;
}
