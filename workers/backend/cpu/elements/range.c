/* SPDX-License-Identifier: MIT */

/*
 * range: the smallest and largest finite value of each frame, how many are not finite, and how
 * many there are
 *
 * Each row leaves its own in memory that the threads share, and they are joined frame by frame:
 * minima, maxima and counts don't depend on the order.
 */

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"

#define LANES 64                    /* so many that the compiler keeps them a loop */

struct part {
    float smallest, largest;
    int32_t n_bad;                  /* of a row: its elements fit an int */
};

struct lanes {
    float smallest[LANES], largest[LANES];
    int32_t n_bad[LANES];
};

static size_t range_scratch_bytes(const struct vrt_op *op)
{
    return vrt_cpu_run_bytes(1, op->in[0].shape.c);
}

static size_t range_shared_bytes(const struct vrt_op *op)
{
    return sizeof(struct part) * (size_t)op->in[0].shape.d * (size_t)op->in[0].shape.h;
}

/* Lanes apart, so that the loop becomes vector instructions. v [n], n <= LANES */
static inline void look(struct lanes *lanes, const float *restrict v, int n)
{
    for (int i = 0; i < n; i++) {
        const bool finite = fabsf(v[i]) <= FLT_MAX;
        const float low = finite ? v[i] : FLT_MAX, high = finite ? v[i] : -FLT_MAX;

        lanes->smallest[i] = low < lanes->smallest[i] ? low : lanes->smallest[i];
        lanes->largest[i] = high > lanes->largest[i] ? high : lanes->largest[i];
        lanes->n_bad[i] += !finite;
    }
}

static void look_at_run(struct lanes *lanes, const float *v, size_t n)
{
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        look(lanes, v + i, LANES);
    look(lanes, v + i, (int)(n - i));
}

static struct part join_lanes(const struct lanes *lanes)
{
    struct part part = { .smallest = FLT_MAX, .largest = -FLT_MAX };

    for (int i = 0; i < LANES; i++) {
        part.smallest = VRT_MIN(part.smallest, lanes->smallest[i]);
        part.largest = VRT_MAX(part.largest, lanes->largest[i]);
        part.n_bad += lanes->n_bad[i];
    }
    return part;
}

static void range_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct vrt_tensor *in = &call->op->in[0];
    const int w = in->shape.w, c = in->shape.c, columns = vrt_cpu_run_columns(c);
    struct part *parts = call->shared;

    for (int y = y0; y < y1; y++) {
        struct lanes lanes = { 0 };

        for (int i = 0; i < LANES; i++) {
            lanes.smallest[i] = FLT_MAX;
            lanes.largest[i] = -FLT_MAX;
        }
        for (int x = 0; x < w; x += columns) {
            const int n = VRT_MIN(columns, w - x), at[3] = { d, y, x };

            look_at_run(&lanes, vrt_cpu_row_get(in, call->in[0], at, n, call->scratch),
                        (size_t)n * (size_t)c);
        }
        parts[(size_t)d * (size_t)in->shape.h + (size_t)y] = join_lanes(&lanes);
    }
}

static void range_join(const struct vrt_cpu_call *call, int d)
{
    const struct vrt_tensor *in = &call->op->in[0];
    const int h = in->shape.h;
    const struct part *parts = (const struct part *)call->shared + (size_t)d * (size_t)h;
    struct part all = parts[0];
    int64_t n_bad = 0;
    float *out = (float *)(void *)vrt_cpu_at(&call->op->out, call->out, d, 0, 0);

    for (int y = 0; y < h; y++) {
        all.smallest = VRT_MIN(all.smallest, parts[y].smallest);
        all.largest = VRT_MAX(all.largest, parts[y].largest);
        n_bad += parts[y].n_bad;
    }
    if (all.smallest > all.largest)     /* nothing is finite */
        all.smallest = all.largest = 0;
    out[0] = all.smallest;
    out[1] = all.largest;
    out[2] = (float)n_bad;
    out[3] = (float)((int64_t)h * in->shape.w * in->shape.c);
}

const struct vrt_cpu_kernel vrt_cpu_op_range = {
    .rows = range_rows,
    .scratch_bytes = range_scratch_bytes,
    .shared_bytes = range_shared_bytes,
    .join = range_join,
    .cuts_input = true,
};
