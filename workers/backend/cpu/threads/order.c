/* SPDX-License-Identifier: MIT */

#include "backend/cpu/threads/order.h"

#include "base/macro.h"

#define MAX_TENSORS (VRT_OP_MAX_IN + 3)

/* Bytes of a buffer of the program: the arena, or one that is bound. */
struct extent {
    int slot;
    size_t first, end;
};

static bool meet(const struct extent *a, const struct extent *b)
{
    return a->slot == b->slot && a->first < b->end && b->first < a->end;
}

static struct extent extent_of(const struct vrt_tensor *t)
{
    const size_t bytes = (size_t)vrt_tensor_extent(t) * vrt_dtype_size(t->dtype);

    return (struct extent){ t->slot, t->offset_bytes, t->offset_bytes + bytes };
}

static struct extent workspace_of(const struct vrt_cpu_order_step *step)
{
    const size_t first = step->op->workspace_offset_bytes;

    return (struct extent){ VRT_SLOT_ARENA, first, first + step->workspace_bytes };
}

/* The tensors of an op: its inputs, then its outputs from *ret_first_out on. Return: how many. */
static int tensors_of(const struct vrt_op *op, const struct vrt_tensor *tensors[MAX_TENSORS],
                      int *ret_first_out)
{
    int n = 0;

    for (int i = 0; i < op->n_in; i++)
        if (vrt_op_in(op, i))
            tensors[n++] = vrt_op_in(op, i);
    *ret_first_out = n;
    for (int i = 0; i < vrt_op_n_out(op); i++)
        tensors[n++] = vrt_op_out(op, i);
    return n;
}

/* How many rows around its own an op may touch, its tensors' heights being in proportion; -1: rows
 * from anywhere. */
static int reach_of(const struct vrt_op *op)
{
    switch (op->kind) {
    case VRT_OP_CONV2D:
        return op->conv2d.kernel / 2;
    case VRT_OP_LINEAR:
    case VRT_OP_LAYERNORM:
    case VRT_OP_GEGLU:
    case VRT_OP_FLOW_OFFSETS:
    case VRT_OP_AVGPOOL2:
    case VRT_OP_AFFINE:
    case VRT_OP_GATE:
    case VRT_OP_MEAN:
    case VRT_OP_FILL:
    case VRT_OP_DEPTH_TO_SPACE:
    case VRT_OP_SPACE_TO_DEPTH:
    case VRT_OP_CONCAT:
    case VRT_OP_ADD:
    case VRT_OP_COPY:
    case VRT_OP_RANGE:
        return 0;
    case VRT_OP_RESIZE:
        return op->resize.mode == VRT_RESIZE_BICUBIC ? 2 : 1;
    case VRT_OP_YUV_TO_RGB:
    case VRT_OP_RGB_TO_YUV:
        return 1 << (op->colour.shift_y + 1);   /* the filters' taps, in rows of luma */
    default:
        return -1;
    }
}

/* Whether a row of one lies over the same row of the other, and over nothing else of it. */
static bool have_same_rows(const struct vrt_tensor *a, const struct vrt_tensor *b)
{
    const size_t size = vrt_dtype_size(a->dtype);
    const size_t row = (size_t)a->stride_h * size;
    const size_t a_end = a->offset_bytes + (size_t)(a->shape.w - 1) * (size_t)a->stride_w * size +
                         (size_t)a->shape.c * size;
    const size_t b_end = b->offset_bytes + (size_t)(b->shape.w - 1) * (size_t)b->stride_w * size +
                         (size_t)b->shape.c * size;

    return size == vrt_dtype_size(b->dtype) && a->shape.d == b->shape.d &&
           a->shape.h == b->shape.h && a->stride_d == b->stride_d && a->stride_h == b->stride_h &&
           a_end <= b->offset_bytes + row && b_end <= a->offset_bytes + row;
}

/* Rows [first, end) of a picture of `from` rows, in one of `to` rows, and `reach` of these around
 * them: as many as may be touched. */
static void scale_rows(int rows[2], int from, int to, int reach)
{
    rows[0] = (int)((int64_t)rows[0] * to / from) - reach;
    rows[1] = (int)(((int64_t)rows[1] * to + from - 1) / from) + reach;
}

int vrt_cpu_cut_n_bands(const struct vrt_cpu_cut *cut)
{
    return (cut->h + cut->rows - 1) / cut->rows;
}

int vrt_cpu_cut_n_units(const struct vrt_cpu_cut *cut)
{
    return cut->d * vrt_cpu_cut_n_bands(cut) * cut->across;
}

/* Adds to `needs` the units of `before` that touch the rows of its tensor x which units of `after`
 * touch of its tensor y, that lies over x. */
static void add_needs(const struct vrt_cpu_order_step *before, const struct vrt_tensor *x,
                      const struct vrt_cpu_order_step *after, const struct vrt_tensor *y,
                      struct vrt_cpu_span *needs)
{
    const struct vrt_cpu_cut *from = &before->cut, *to = &after->cut;
    const int bands = vrt_cpu_cut_n_bands(from);
    int unit = 0;

    for (int d = 0; d < to->d; d++) {
        for (int y0 = 0; y0 < to->h; y0 += to->rows) {
            int rows[2] = { y0, VRT_MIN(y0 + to->rows, to->h) };

            scale_rows(rows, to->h, y->shape.h, reach_of(after->op));
            rows[0] -= reach_of(before->op);
            rows[1] += reach_of(before->op);
            rows[0] = VRT_MAX(rows[0], 0);
            scale_rows(rows, x->shape.h, from->h, 0);
            const int first = (d * bands + rows[0] / from->rows) * from->across;
            const int last_band = VRT_MIN((rows[1] - 1) / from->rows, bands - 1);
            const int last = (d * bands + last_band) * from->across + from->across - 1;
            for (int i = 0; i < to->across; i++, unit++) {
                needs[unit].first = VRT_MIN(needs[unit].first, first);
                needs[unit].last = VRT_MAX(needs[unit].last, last);
            }
        }
    }
}

/* Whether the workspace of one is over the other's, and not each thread's over its own. */
static bool workspaces_clash(const struct vrt_cpu_order_step *a, const struct vrt_cpu_order_step *b)
{
    const struct extent of_a = workspace_of(a), of_b = workspace_of(b);
    const bool own = !a->shares && !b->shares && of_a.first == of_b.first &&
                     a->scratch_step_bytes == b->scratch_step_bytes;

    return meet(&of_a, &of_b) && !own;
}

/* Whether one step's workspace is over a tensor of the other. */
static bool workspace_meets(const struct vrt_cpu_order_step *step,
                            const struct vrt_tensor *const *tensors, int n)
{
    const struct extent workspace = workspace_of(step);

    for (int i = 0; i < n; i++) {
        const struct extent extent = extent_of(tensors[i]);
        if (meet(&workspace, &extent))
            return true;
    }
    return false;
}

bool vrt_cpu_order_find(const struct vrt_cpu_order_step *before,
                        const struct vrt_cpu_order_step *after, struct vrt_cpu_span *needs)
{
    const struct vrt_tensor *xs[MAX_TENSORS], *ys[MAX_TENSORS];
    int first_out_x, first_out_y;
    const int n_x = tensors_of(before->op, xs, &first_out_x);
    const int n_y = tensors_of(after->op, ys, &first_out_y);

    if (before->cut.d != after->cut.d || reach_of(before->op) < 0 || reach_of(after->op) < 0 ||
        workspaces_clash(before, after) || workspace_meets(before, ys, n_y) ||
        workspace_meets(after, xs, n_x))
        return false;
    for (int unit = 0; unit < vrt_cpu_cut_n_units(&after->cut); unit++)
        needs[unit] = (struct vrt_cpu_span){ vrt_cpu_cut_n_units(&before->cut), -1 };
    for (int i = 0; i < n_x; i++) {
        for (int j = 0; j < n_y; j++) {
            const struct extent x = extent_of(xs[i]), y = extent_of(ys[j]);
            const bool is_written = i >= first_out_x || j >= first_out_y;
            if (!is_written || !meet(&x, &y))
                continue;
            if (!have_same_rows(xs[i], ys[j]))
                return false;
            add_needs(before, xs[i], after, ys[j], needs);
        }
    }
    return true;
}
