/* SPDX-License-Identifier: MIT */

/* depth_to_space: channels become r x r pixels; the base, enlarged, is added on the way */

#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"

static size_t depth_to_space_scratch_bytes(const struct vrt_op *op)
{
    return vrt_cpu_run_bytes(3, op->in[0].shape.c);
}

/* in [n,C,r,r], out [n*r,C]: row i of the blocks */
static inline void spread(const float *restrict in, float *restrict out, int n, int c, const int r,
                          int i)
{
    for (int x = 0; x < n; x++)
    for (int j = 0; j < r; j++)
    for (int k = 0; k < c; k++)
        out[(x * r + j) * c + k] = in[((x * c + k) * r + i) * r + j];
}

/* in [n,r,r,C]: columns first; out [n*r,C]: row i of the blocks */
static void spread_blocks(const float *restrict in, float *restrict out, int n, int c, int r, int i)
{
    for (int x = 0; x < n; x++)
    for (int j = 0; j < r; j++)
    for (int k = 0; k < c; k++)
        out[(x * r + j) * c + k] = in[((x * r + j) * r + i) * c + k];
}

/* The scales that networks have, known to the compiler. */
static void spread_any(const struct vrt_op_depth_to_space *attr, const float *in, float *out,
                       const int n_c[2], int i)
{
    const int n = n_c[0], c = n_c[1], r = attr->r;

    if (attr->order == VRT_SHUFFLE_BLOCKS)
        spread_blocks(in, out, n, c, r, i);
    else if (r == 2 && c == 3)
        spread(in, out, n, 3, 2, i);
    else if (r == 4 && c == 3)
        spread(in, out, n, 3, 4, i);
    else if (r == 2)
        spread(in, out, n, c, 2, i);
    else
        spread(in, out, n, c, r, i);
}

/*
 * out [n,C] += base [...,C], each of whose columns stands for `repeat` of the output's; the first
 * of them is the one for column x of the output.
 */
static inline void add_base(const float *restrict base, float *restrict out, int x, int n, int c,
                            int repeat)
{
    int left = repeat - x % repeat;

    for (int i = 0; i < n; i++) {
        for (int k = 0; k < c; k++)
            out[i * c + k] += base[k];
        if (--left == 0) {
            left = repeat;
            base += c;
        }
    }
}

/* The same for whole repeats, of a number known to the compiler. */
static inline void add_base_whole(const float *restrict base, float *restrict out, int n, int c,
                                  int repeat)
{
    for (int i = 0; i < n / repeat; i++)
    for (int j = 0; j < repeat; j++)
    for (int k = 0; k < c; k++)
        out[(i * repeat + j) * c + k] += base[i * c + k];
}

static void add_base_any(const float *base, float *out, const int x_n[2], const int c_repeat[2])
{
    const int x = x_n[0], n = x_n[1], c = c_repeat[0], repeat = c_repeat[1];

    if (c == 3 && repeat == 2 && x % 2 == 0 && n % 2 == 0)
        add_base_whole(base, out, n, 3, 2);
    else if (c == 3 && repeat == 4 && x % 4 == 0 && n % 4 == 0)
        add_base_whole(base, out, n, 3, 4);
    else
        add_base(base, out, x, n, c, repeat);
}

static void depth_to_space_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct vrt_op *op = call->op;
    const struct vrt_tensor *in = &op->in[0], *base = &op->in[1], *out = &op->out;
    const bool has_base = op->n_in > 1 && vrt_tensor_exists(base);
    const int r = op->depth_to_space.r, c = out->shape.c;
    const int repeat_y = has_base ? out->shape.h / base->shape.h : 1;
    const int repeat_x = has_base ? out->shape.w / base->shape.w : 1;
    const int columns = vrt_cpu_run_columns(in->shape.c);
    const size_t step = vrt_cpu_run_bytes(1, in->shape.c) / sizeof(float);
    float *scratch = call->scratch;

    for (int y = y0; y < y1; y++)
    for (int x = 0; x < in->shape.w; x += columns) {
        const int n = VRT_MIN(columns, in->shape.w - x);
        const int in_at[3] = { d, y / r, x }, at[3] = { d, y, x * r };
        const float *src = vrt_cpu_row_get(in, call->in[0], in_at, n, scratch);
        float *target = vrt_cpu_row_target(out, call->out, at, scratch + step);

        spread_any(&op->depth_to_space, src, target, (int[2]){ n, c }, y % r);
        if (has_base) {
            const int first = x * r / repeat_x, last = ((x + n) * r - 1) / repeat_x;
            const int base_at[3] = { d, y / repeat_y, first };
            const float *b = vrt_cpu_row_get(base, call->in[1], base_at, last - first + 1,
                                             scratch + 2 * step);

            add_base_any(b, target, (int[2]){ x * r, n * r }, (int[2]){ c, repeat_x });
        }
        vrt_cpu_row_put(out, call->out, at, n * r, target);
    }
}

/* A band reads whole rows of its input. */
static int depth_to_space_align_rows(const struct vrt_op *op)
{
    return op->depth_to_space.r;
}

const struct vrt_cpu_kernel vrt_cpu_op_depth_to_space = {
    .rows = depth_to_space_rows,
    .scratch_bytes = depth_to_space_scratch_bytes,
    .align_rows = depth_to_space_align_rows,
};
