/* SPDX-License-Identifier: MIT */

/*
 * The order of a CPU device's units against the plain truth: which rows of which memory each unit
 * touches, from the ops' definitions.
 */

#include "backend/cpu/threads/order.h"
#include "base/macro.h"
#include "tests/unit/test.h"

#define D 2
#define MAX_UNITS 256
#define PLACES 3            /* of as many bytes as the largest tensor here takes */
#define PLACE_BYTES (1 << 20)

static struct vrt_tensor tensor(int place, int h, int w, int c)
{
    struct vrt_tensor t = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ D, h, w, c });

    t.storage = place;
    t.slot = VRT_SLOT_ARENA;
    t.offset_bytes = (size_t)place * PLACE_BYTES;
    expect_true((size_t)vrt_tensor_extent(&t) * sizeof(float) <= PLACE_BYTES);
    return t;
}

/* Rows of in[0] that output row y is made from, by the op's definition. */
static void rows_read(const struct vrt_op *op, int y, int rows[2])
{
    const int in_h = op->in[0].shape.h, out_h = op->out.shape.h;
    const double at = op->kind == VRT_OP_RESIZE && op->resize.mode == VRT_RESIZE_BILINEAR_CORNERS
                          ? y * (in_h - 1.0) / VRT_MAX(out_h - 1, 1)
                          : (y + 0.5) * in_h / out_h - 0.5;

    switch (op->kind) {
    case VRT_OP_CONV2D:
        rows[0] = y - op->conv2d.kernel / 2;
        rows[1] = y + op->conv2d.kernel / 2 + 1;
        break;
    case VRT_OP_DEPTH_TO_SPACE:
        rows[0] = y / op->depth_to_space.r;
        rows[1] = rows[0] + 1;
        break;
    case VRT_OP_SPACE_TO_DEPTH:
        rows[0] = y * op->space_to_depth.r;
        rows[1] = rows[0] + op->space_to_depth.r;
        break;
    case VRT_OP_AVGPOOL2:
        rows[0] = y * 2;
        rows[1] = rows[0] + 2;
        break;
    case VRT_OP_RESIZE:
        rows[0] = (int)floor(at) - (op->resize.mode == VRT_RESIZE_BICUBIC);
        rows[1] = (int)floor(at) + 2 + (op->resize.mode == VRT_RESIZE_BICUBIC);
        break;
    default:
        rows[0] = y;
        rows[1] = y + 1;
    }
    rows[0] = VRT_MAX(rows[0], 0);
    rows[1] = VRT_MIN(rows[1], in_h);
}

static size_t row_first(const struct vrt_tensor *t, int d, int y)
{
    return t->offset_bytes + (size_t)(d * t->stride_d + y * t->stride_h) * sizeof(float);
}

/* One past the last byte of the row; what other channels take between its own counts as its own. */
static size_t row_end(const struct vrt_tensor *t, int d, int y)
{
    return row_first(t, d, y) +
           (size_t)((t->shape.w - 1) * t->stride_w + t->shape.c) * sizeof(float);
}

/* Whether rows [first, end) of a frame of one tensor and of one of another share a byte. */
static bool rows_meet(const struct vrt_tensor *a, int da, const int ra[2],
                      const struct vrt_tensor *b, int db, const int rb[2])
{
    for (int ya = ra[0]; ya < ra[1]; ya++)
        for (int yb = rb[0]; yb < rb[1]; yb++)
            if (row_first(a, da, ya) < row_end(b, db, yb) &&
                row_first(b, db, yb) < row_end(a, da, ya))
                return true;
    return false;
}

/* What a unit touches: rows of its input, and of its output. */
static int touched(const struct vrt_cpu_order_step *step, int unit, int in[2], int out[2])
{
    const struct vrt_cpu_cut *cut = &step->cut;
    const int bands = (cut->h + cut->rows - 1) / cut->rows;
    const int band = unit / cut->across % bands;
    int rows[2];

    out[0] = band * cut->rows;
    out[1] = VRT_MIN(out[0] + cut->rows, cut->h);
    rows_read(step->op, out[0], in);
    rows_read(step->op, out[1] - 1, rows);
    in[1] = rows[1];
    return unit / cut->across / bands;
}

static bool must_wait(const struct vrt_cpu_order_step *before, int u,
                      const struct vrt_cpu_order_step *after, int v)
{
    int in_u[2], out_u[2], in_v[2], out_v[2];
    const int du = touched(before, u, in_u, out_u), dv = touched(after, v, in_v, out_v);
    const struct vrt_op *x = before->op, *y = after->op;

    return rows_meet(&x->out, du, out_u, &y->in[0], dv, in_v) ||
           rows_meet(&x->out, du, out_u, &y->out, dv, out_v) ||
           rows_meet(&x->in[0], du, in_u, &y->out, dv, out_v);
}

/* Return: whether single units were named. */
static bool check(const struct vrt_cpu_order_step *before, const struct vrt_cpu_order_step *after)
{
    struct vrt_cpu_span needs[MAX_UNITS];
    const int n_before = vrt_cpu_cut_n_units(&before->cut);
    const int n_after = vrt_cpu_cut_n_units(&after->cut);

    expect_true(n_before <= MAX_UNITS && n_after <= MAX_UNITS);
    if (!vrt_cpu_order_find(before, after, needs))
        return false;
    for (int v = 0; v < n_after; v++) {
        expect_true(needs[v].last < needs[v].first ||
                    (needs[v].first >= 0 && needs[v].last < n_before));
        for (int u = 0; u < n_before; u++)
            if (must_wait(before, u, after, v) && !(needs[v].first <= u && u <= needs[v].last))
                test_fail("%s then %s: unit %d doesn't wait for %d",
                          vrt_op_kind_name(before->op->kind), vrt_op_kind_name(after->op->kind),
                          v, u);
    }
    return true;
}

static struct vrt_cpu_order_step step(const struct vrt_op *op, int rows, int across)
{
    return (struct vrt_cpu_order_step){
        .op = op, .cut = { .d = D, .h = op->out.shape.h, .rows = rows, .across = across },
    };
}

static struct vrt_op conv(const struct vrt_tensor *in, const struct vrt_tensor *out, int kernel)
{
    return (struct vrt_op){
        .kind = VRT_OP_CONV2D, .n_in = 1, .in = { *in }, .out = *out, .conv2d.kernel = kernel,
        .workspace_offset_bytes = PLACES * PLACE_BYTES,
    };
}

static struct vrt_op other(enum vrt_op_kind kind, const struct vrt_tensor *in,
                           const struct vrt_tensor *out)
{
    struct vrt_op op = {
        .kind = kind, .n_in = 1, .in = { *in }, .out = *out,
        .workspace_offset_bytes = PLACES * PLACE_BYTES,
    };

    if (kind == VRT_OP_DEPTH_TO_SPACE)
        op.depth_to_space.r = out->shape.h / in->shape.h;
    if (kind == VRT_OP_SPACE_TO_DEPTH)
        op.space_to_depth.r = in->shape.h / out->shape.h;
    return op;
}

/* Two places in turn, as a chain of convolutions uses them; bands of many heights. */
static void test_chain(void)
{
    const struct vrt_tensor a = tensor(0, 37, 20, 8), b = tensor(1, 37, 20, 8);

    for (int k = 1; k <= 7; k += 2) {
        for (int l = 1; l <= 7; l += 2) {
            const struct vrt_op first = conv(&a, &b, k), second = conv(&b, &a, l);
            for (int rows = 1; rows <= 37; rows += 5) {
                const struct vrt_cpu_order_step before = step(&first, rows, 1);
                for (int across = 1; across <= 3; across++) {
                    const struct vrt_cpu_order_step after = step(&second, 38 - rows, across);
                    expect_true(check(&before, &after));
                    expect_true(check(&after, &before));
                }
            }
        }
    }
}

/* Ops that change the height, before and after a convolution. */
static void test_scales(void)
{
    static const enum vrt_op_kind kinds[] = {
        VRT_OP_DEPTH_TO_SPACE, VRT_OP_SPACE_TO_DEPTH, VRT_OP_RESIZE,
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(kinds); i++) {
        for (int scale = 2; scale <= 4; scale++) {
            const bool grows = kinds[i] != VRT_OP_SPACE_TO_DEPTH;
            const int h = 12, more = kinds[i] == VRT_OP_RESIZE ? h * scale - 5 : h * scale;
            const struct vrt_tensor small = tensor(0, h, 6, 16), large = tensor(1, more, 24, 4);
            const struct vrt_tensor end = tensor(2, grows ? more : h, 24, 4);
            const struct vrt_tensor in = grows ? small : large, out = grows ? large : small;
            const struct vrt_op scales = other(kinds[i], &in, &out), conv3 = conv(&out, &end, 3);
            const struct vrt_op back = conv(&end, &out, 5);
            for (int rows = 1; rows <= 7; rows++) {
                const struct vrt_cpu_order_step a = step(&scales, rows, 1);
                const struct vrt_cpu_order_step b = step(&conv3, 8 - rows, 2);
                const struct vrt_cpu_order_step c = step(&back, rows, 1);
                expect_true(check(&a, &b));
                expect_true(check(&b, &c));
            }
        }
    }
}

/* To fewer rows and to more, each way of resizing, and what halves them. */
static void test_resized(void)
{
    for (int in_h = 1; in_h <= 40; in_h += 3) {
        for (int out_h = 1; out_h <= 40; out_h += 3) {
            const struct vrt_tensor a = tensor(0, in_h, 6, 4), b = tensor(1, in_h, 6, 4);
            const struct vrt_tensor c = tensor(2, out_h, 6, 4);
            const struct vrt_op first = other(VRT_OP_LAYERNORM, &a, &b);
            for (int mode = VRT_RESIZE_BILINEAR; mode <= VRT_RESIZE_BICUBIC; mode++) {
                struct vrt_op resize = other(VRT_OP_RESIZE, &b, &c);
                resize.resize.mode = (enum vrt_resize_mode)mode;
                for (int rows = 1; rows <= 7; rows++) {
                    const struct vrt_cpu_order_step before = step(&first, rows, 1);
                    const struct vrt_cpu_order_step after = step(&resize, 8 - rows, 1);
                    expect_true(check(&before, &after));
                }
            }
        }
        const struct vrt_tensor large = tensor(0, 2 * in_h, 12, 4), small = tensor(1, in_h, 6, 4);
        const struct vrt_tensor end = tensor(2, in_h, 6, 4);
        const struct vrt_op pool = other(VRT_OP_AVGPOOL2, &large, &small);
        const struct vrt_op last = conv(&small, &end, 7);
        const struct vrt_cpu_order_step before = step(&pool, 3, 1), after = step(&last, 2, 2);
        expect_true(check(&before, &after));
    }
}

/* Channels of a wide tensor side by side: a dense block. */
static void test_slices(void)
{
    const struct vrt_tensor wide = tensor(0, 30, 10, 24);
    struct vrt_tensor slices[3];

    for (int i = 0; i < 3; i++) {
        slices[i] = vrt_tensor_channels(&wide, 8 * i, 8);
        slices[i].offset_bytes = wide.offset_bytes + (size_t)i * 8 * sizeof(float);
    }
    const struct vrt_tensor two = vrt_tensor_channels(&wide, 0, 16);
    const struct vrt_op first = conv(&slices[0], &slices[1], 3), second = conv(&two, &slices[2], 3);
    const struct vrt_cpu_order_step before = step(&first, 4, 1), after = step(&second, 8, 1);
    expect_true(check(&before, &after));
}

/* Where memory is used again in another layout, or rows come from anywhere, all must be done. */
static void test_refused(void)
{
    const struct vrt_tensor a = tensor(0, 32, 10, 8), b = tensor(1, 32, 10, 8);
    const struct vrt_tensor narrow = tensor(0, 32, 10, 4);
    const struct vrt_op first = conv(&a, &b, 3), to_narrow = conv(&b, &narrow, 3);
    const struct vrt_op back = conv(&b, &a, 3);
    static const enum vrt_op_kind from_anywhere[] = {
        VRT_OP_PAD, VRT_OP_WARP, VRT_OP_DEFORM_CONV2D, VRT_OP_WINDOW_ATTENTION,
    };
    struct vrt_cpu_order_step before = step(&first, 8, 1), after = step(&to_narrow, 8, 1);

    expect_true(!check(&before, &after));
    for (size_t i = 0; i < VRT_ARRAY_SIZE(from_anywhere); i++) {
        const struct vrt_op op = other(from_anywhere[i], &b, &a);
        after = step(&op, 8, 1);
        expect_true(!check(&before, &after));
    }

    /* Scratch memory: each thread's own in the same place, or over the other's or a tensor. */
    after = step(&back, 8, 1);
    before.scratch_step_bytes = after.scratch_step_bytes = 64;
    before.workspace_bytes = after.workspace_bytes = 128;
    expect_true(check(&before, &after));
    after.scratch_step_bytes = 32;
    expect_true(!check(&before, &after));
    after.scratch_step_bytes = 64;
    after.shares = true;
    expect_true(!check(&before, &after));
    after.shares = false;
    struct vrt_op moved = first;
    moved.workspace_offset_bytes = 0;
    before.op = &moved;
    expect_true(!check(&before, &after));
    before.op = &first;
    moved = back;
    moved.workspace_offset_bytes = PLACE_BYTES;
    after.op = &moved;
    expect_true(!check(&before, &after));

    struct vrt_cpu_order_step frames = step(&back, 8, 1);
    frames.cut.d = 1;
    expect_true(!check(&before, &frames));
}

TEST_MAIN(
    { "chain", test_chain },     { "scales", test_scales },
    { "resized", test_resized }, { "slices", test_slices },
    { "refused", test_refused },
)
