/* SPDX-License-Identifier: MIT */

/*
 * yuv_to_rgb: planes of samples to RGB, row by row ("backend/op/colour.h" has the formulas)
 *
 * A row of chroma is first blended from the two nearest, then enlarged to the width of luma; all
 * that is left is a matrix over three rows of floats.
 */

#include <math.h>

#include "backend/op/colour.h"
#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"

/* Rows of a thread, each aligned to 64 bytes. */
struct scratch {
    float *planes[3];       /* [W] */
    float *above, *below;   /* [cw]: rows of chroma */
    float *blended;         /* [1 + cw + 1]: the ends repeated */
    float *rgb;             /* [W,3] */
    size_t size_bytes;
};

static float *place(struct scratch *s, char *base, size_t n)
{
    const size_t at = s->size_bytes;

    s->size_bytes += (n * sizeof(float) + 63) / 64 * 64;
    return (float *)(void *)(base + at);
}

static struct scratch lay_out(const struct vrt_op *op, char *base)
{
    const size_t w = (size_t)op->out.shape.w;
    struct scratch s = { 0 };

    for (int i = 0; i < 3; i++)
        s.planes[i] = place(&s, base, w);
    s.above = place(&s, base, w);
    s.below = place(&s, base, w);
    s.blended = place(&s, base, w + 2);
    s.rgb = place(&s, base, 3 * w);
    return s;
}

static size_t yuv_to_rgb_scratch_bytes(const struct vrt_op *op)
{
    static char anywhere[64];

    return lay_out(op, anywhere).size_bytes;
}

/* Where luma position i looks among chroma samples: index (-1 and on) and weight of the next. */
static int chroma_tap(int i, int r, bool cosited, float *ret_weight)
{
    const float at = ((float)i - (cosited ? 0 : (float)(r - 1) / 2)) / (float)r;
    const float first = floorf(at);

    *ret_weight = at - first;
    return (int)first;
}

/* in [1 + n/r + 1] with its ends repeated, out [n] */
static void enlarge(const float *restrict in, float *restrict out, int n, int r, bool cosited)
{
    int first[4];
    float weight[4];

    for (int j = 0; j < r; j++)
        first[j] = chroma_tap(j, r, cosited, &weight[j]) + 1;
    if (r == 2) {
        const float *a = in + first[0], *b = in + first[1];
        const float wa = weight[0], wb = weight[1];

        for (int k = 0; k < n / 2; k++) {
            out[2 * k] = a[k] + (a[k + 1] - a[k]) * wa;
            out[2 * k + 1] = b[k] + (b[k + 1] - b[k]) * wb;
        }
        if (n % 2)
            out[n - 1] = a[n / 2] + (a[n / 2 + 1] - a[n / 2]) * wa;
        return;
    }
    for (int x = 0; x < n; x++) {
        const float *a = in + x / r + first[x % r];

        out[x] = a[0] + (a[1] - a[0]) * weight[x % r];
    }
}

/* a, b, out [n] */
static void blend(const float *restrict a, const float *restrict b, float weight,
                  float *restrict out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] + (b[i] - a[i]) * weight;
}

/* Row y of plane i of chroma at the width of luma: [W], in place or in scratch. */
static const float *chroma_row(const struct vrt_cpu_call *call, const struct scratch *s, int i,
                               int d, int y)
{
    const struct vrt_op_colour *colour = &call->op->colour;
    const struct vrt_colour c = vrt_colour_of(colour);
    const struct vrt_tensor *plane = &call->op->in[i];
    const int cw = plane->shape.w, ch = plane->shape.h, w = call->op->out.shape.w;
    float weight;
    const int first = chroma_tap(y, 1 << colour->shift_y, c.cosited_y, &weight);
    const int above[3] = { d, VRT_MIN(VRT_MAX(first, 0), ch - 1), 0 };
    const int below[3] = { d, VRT_MIN(first + 1, ch - 1), 0 };

    if (colour->shift_x == 0 && weight == 0)
        return vrt_cpu_row_get(plane, call->in[i], above, cw, s->planes[i]);
    blend(vrt_cpu_row_get(plane, call->in[i], above, cw, s->above),
          vrt_cpu_row_get(plane, call->in[i], below, cw, s->below), weight, s->blended + 1, cw);
    s->blended[0] = s->blended[1];
    s->blended[cw + 1] = s->blended[cw];
    enlarge(s->blended, s->planes[i], w, 1 << colour->shift_x, c.cosited_x);
    return s->planes[i];
}

/* y, u, v [n], out [n,3] */
static void apply_matrix(const struct vrt_colour_matrix *matrix, const float *const yuv[3],
                         float *restrict out, int n)
{
    const struct vrt_colour_matrix m = *matrix;
    const float *restrict py = yuv[0], *restrict pu = yuv[1], *restrict pv = yuv[2];

    for (int x = 0; x < n; x++) {
        const float y = (py[x] - m.y_offset) * m.y_scale;
        const float u = pu[x] - m.c_offset, v = pv[x] - m.c_offset;

        out[3 * x] = y + m.rv * v;
        out[3 * x + 1] = y - m.gu * u - m.gv * v;
        out[3 * x + 2] = y + m.bu * u;
    }
}

/* r, g, b [n], which are the samples less an offset, scaled; out [n,3] */
static void interleave(const struct vrt_colour_matrix *matrix, const float *const rgb[3],
                       float *restrict out, int n)
{
    const float scale = matrix->y_scale, offset = matrix->y_offset;
    const float *restrict r = rgb[0], *restrict g = rgb[1], *restrict b = rgb[2];

    for (int x = 0; x < n; x++) {
        out[3 * x] = (r[x] - offset) * scale;
        out[3 * x + 1] = (g[x] - offset) * scale;
        out[3 * x + 2] = (b[x] - offset) * scale;
    }
}

static void yuv_to_rgb_row(const struct vrt_cpu_call *call, const struct scratch *s,
                           const struct vrt_colour_matrix *matrix, int d, int y)
{
    const struct vrt_op *op = call->op;
    const int w = op->out.shape.w, at[3] = { d, y, 0 };
    float *target = vrt_cpu_row_target(&op->out, call->out, at, s->rgb);
    const float *rows[3];

    rows[0] = vrt_cpu_row_get(&op->in[0], call->in[0], at, w, s->planes[0]);
    if (op->colour.layout == VRT_PLANES_GRAY) {
        interleave(matrix, (const float *[3]){ rows[0], rows[0], rows[0] }, target, w);
    } else {
        for (int i = 1; i < 3; i++)
            rows[i] = chroma_row(call, s, i, d, y);
        if (op->colour.layout == VRT_PLANES_GBR)
            interleave(matrix, (const float *[3]){ rows[2], rows[0], rows[1] }, target, w);
        else
            apply_matrix(matrix, rows, target, w);
    }
    vrt_cpu_row_put(&op->out, call->out, at, w, target);
}

static void yuv_to_rgb_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct scratch s = lay_out(call->op, call->scratch);
    const struct vrt_colour_matrix matrix = vrt_colour_matrix_of(&call->op->colour);

    for (int y = y0; y < y1; y++)
        yuv_to_rgb_row(call, &s, &matrix, d, y);
}

const struct vrt_cpu_kernel vrt_cpu_op_yuv_to_rgb = {
    .rows = yuv_to_rgb_rows,
    .scratch_bytes = yuv_to_rgb_scratch_bytes,
};
