/* SPDX-License-Identifier: MIT */

/* What a convolution's shapes and the device decide: its tiles, their variants, its scratch. */

#include <errno.h>
#include <stdlib.h>

#include "backend/cpu/conv/dnnl-private.h"
#include "base/macro.h"

#define ALIGN 64

/*
 * Rows that are used in place: so few that there is work for many threads, which costs nothing as
 * long as a call takes some 100 microseconds, and that they stay in the second-level cache. By
 * AMX's tiles a call takes a tenth of the time, and begins by copying its rows with those around
 * them, so that it takes more where that leaves each thread some calls; wherever there are tiles
 * that cache has 2 MB.
 */
#define ROWS_FLOPS (16 * 1000 * 1000)
#define ROWS_BYTES (512 * 1024)
#define TILES_ROWS_FLOPS (16 * ROWS_FLOPS)
#define TILES_ROWS_BYTES (2 * ROWS_BYTES)
#define TILES_CALLS 8

/* Tiles of views: of 192 channels, with what surrounds them, they fit the second-level cache. */
#define TILE_H 8
#define TILE_W 64

struct vrt_conv_tile vrt_conv_tile(const struct vrt_conv *conv, int unit)
{
    const struct vrt_shape out = conv->op.out.shape;
    const int x = unit % conv->n_tiles_x * conv->tile_w;
    const int y = unit / conv->n_tiles_x % conv->n_tiles_y * conv->tile_h;

    return (struct vrt_conv_tile){
        .d = unit / conv->n_tiles_x / conv->n_tiles_y,
        .y0 = y, .y1 = VRT_MIN(y + conv->tile_h, out.h),
        .x0 = x, .x1 = VRT_MIN(x + conv->tile_w, out.w),
    };
}

/* What oneDNN is asked for, to compute a tile. */
static struct vrt_dnnl_shape tile_shape(const struct vrt_conv *conv,
                                        const struct vrt_conv_tile *tile)
{
    const struct vrt_op_conv2d *attr = &conv->op.conv2d;
    const struct vrt_tensor *in = &conv->op.in[0], *out = &conv->op.out;
    const int side = attr->kernel / 2, h = in->shape.h;
    const bool fuses = !conv->finishes && attr->activation != VRT_ACTIVATION_NONE;
    struct vrt_dnnl_shape shape = {
        .in_c = in->shape.c,
        .out_c = out->shape.c,
        .k = attr->kernel,
        .in_h = tile->y1 - tile->y0 + 2 * side,
        .in_w = tile->x1 - tile->x0 + 2 * side,
        .dtype = in->dtype,
        .out_dtype = conv->finishes ? VRT_DTYPE_F32 : out->dtype,
        .has_bias = attr->bias >= 0,
        .has_activation = fuses,
        .slope = fuses && attr->activation == VRT_ACTIVATION_LEAKY_RELU ? attr->slope : 0,
    };

    if (!conv->gathers) {
        shape.in_h = VRT_MIN(tile->y1 + side, h) - VRT_MAX(tile->y0 - side, 0);
        shape.in_w = in->shape.w;
        shape.pad_top = VRT_MAX(side - tile->y0, 0);
        shape.pad_bottom = VRT_MAX(tile->y1 + side - h, 0);
        shape.pad_side = side;
    }
    return shape;
}

const struct vrt_conv_variant *vrt_conv_variant(const struct vrt_conv *conv,
                                                const struct vrt_conv_tile *tile)
{
    const struct vrt_dnnl_shape want = tile_shape(conv, tile);

    for (int i = 0; i < conv->n_variants; i++) {
        const struct vrt_dnnl_shape *have = &conv->variants[i].shape;

        /* All else is the same for all tiles of a convolution. */
        if (have->in_h == want.in_h && have->in_w == want.in_w && have->pad_top == want.pad_top &&
            have->pad_bottom == want.pad_bottom)
            return &conv->variants[i];
    }
    return NULL;
}

static int add_variant(struct vrt_conv *conv, const struct vrt_dnnl_shape *shape,
                       const struct vrt_dnnl_layout *layout)
{
    vrt_assert(conv->n_variants < VRT_CONV_MAX_VARIANTS);
    struct vrt_conv_variant *v = &conv->variants[conv->n_variants++];

    v->shape = *shape;
    int r = vrt_dnnl_describe(conv->dnnl, shape, layout, &v->desc);
    if (r == -ENOENT)
        r = vrt_dnnl_describe(conv->dnnl, shape, NULL, &v->desc);
    return r == -ENOENT ? vrt_raise(-EIO) : vrt_fold(r);
}

static int find_variants(struct vrt_conv *conv)
{
    const struct vrt_conv_tile first = vrt_conv_tile(conv, 0);
    const struct vrt_dnnl_shape any = tile_shape(conv, &first);
    VRT_CLEANUP(vrt_dnnl_layout_freep) struct vrt_dnnl_layout *layout = NULL;
    int r;

    r = vrt_dnnl_weights_layout(conv->dnnl, &any, &layout);
    if (r < 0)
        return r == -ENOENT ? vrt_raise(-EIO) : vrt_fold(r);
    for (int i = 0; i < conv->n_tiles_y * conv->n_tiles_x; i++) {
        const struct vrt_conv_tile tile = vrt_conv_tile(conv, i);
        const struct vrt_dnnl_shape shape = tile_shape(conv, &tile);

        if (vrt_conv_variant(conv, &tile))
            continue;
        r = add_variant(conv, &shape, layout);
        if (r < 0)
            return vrt_fold(r);
    }
    return 0;
}

/* How many rows a call computes. */
static int n_rows(const struct vrt_conv *conv)
{
    const struct vrt_shape in = conv->op.in[0].shape, out = conv->op.out.shape;
    const int64_t row_bytes = (int64_t)sizeof(float) * out.w * (in.c + out.c);
    const int64_t row_flops = vrt_op_flops(&conv->op) / out.d / out.h;
    int64_t rows = VRT_MIN(ROWS_BYTES / row_bytes, ROWS_FLOPS / row_flops);

    if (conv->dnnl->has_tiles && conv->op.in[0].dtype == VRT_DTYPE_BF16) {
        const int64_t all = (int64_t)out.d * out.h / conv->dnnl->n_threads / TILES_CALLS;
        const int64_t more = VRT_MIN(TILES_ROWS_BYTES / row_bytes, TILES_ROWS_FLOPS / row_flops);

        rows = VRT_MAX(rows, VRT_MIN(more, all));
    }
    return (int)VRT_MAX(rows, 1);
}

static void cut(struct vrt_conv *conv)
{
    const struct vrt_shape out = conv->op.out.shape;

    conv->tile_h = TILE_H;
    conv->tile_w = VRT_MIN(TILE_W, out.w);
    if (!conv->gathers) {
        conv->tile_h = n_rows(conv);
        conv->tile_w = out.w;
    }
    conv->tile_h = VRT_MIN(conv->tile_h, out.h);
    conv->n_tiles_y = (out.h + conv->tile_h - 1) / conv->tile_h;
    conv->n_tiles_x = (out.w + conv->tile_w - 1) / conv->tile_w;
}

static size_t aligned(size_t size_bytes)
{
    return (size_bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static void lay_out_scratch(struct vrt_conv *conv)
{
    const struct vrt_tensor *in = &conv->op.in[0], *out = &conv->op.out;
    const size_t around = (size_t)conv->op.conv2d.kernel - 1;
    const size_t in_pixel = (size_t)in->shape.c * vrt_dtype_size(in->dtype);
    const size_t out_pixel = (size_t)out->shape.c * sizeof(float);
    const size_t h = (size_t)conv->tile_h, w = (size_t)conv->tile_w;
    size_t at = 0, scratchpad = 0;

    if (conv->gathers)
        at += aligned((h + around) * (w + around) * in_pixel);
    conv->sums_offset = at;
    if (conv->finishes)
        at += aligned(h * w * out_pixel);
    conv->rows_offset = at;
    if (conv->finishes)
        at += aligned(conv->params.isa->epilogue_scratch_bytes(out->shape.c));
    conv->scratchpad_offset = at;
    for (int i = 0; i < conv->n_variants; i++) {
        const struct vrt_dnnl_layout *layout =
            vrt_dnnl_layout_of(conv->variants[i].desc, dnnl_query_scratchpad_md, 0);

        scratchpad = VRT_MAX(scratchpad, vrt_dnnl_layout_bytes(layout));
    }
    conv->scratch_bytes = at + aligned(scratchpad);
}

/* Whether rows of a frame follow each other without gaps. */
static bool has_dense_frames(const struct vrt_tensor *t)
{
    const struct vrt_shape s = t->shape;

    return (s.w == 1 || t->stride_w == s.c) &&
           (s.h == 1 || t->stride_h == (int64_t)s.w * s.c);
}

int vrt_conv_describe(struct vrt_dnnl *dnnl, const struct vrt_op *op,
                      const struct vrt_cpu_isa *isa, struct vrt_conv **ret_conv)
{
    VRT_CLEANUP(vrt_conv_freep) struct vrt_conv *conv = NULL;
    const struct vrt_tensor *in = &op->in[0], *out = &op->out;
    int r;

    conv = calloc(1, sizeof(*conv));
    if (!conv)
        return vrt_raise(-ENOMEM);
    conv->dnnl = dnnl;
    conv->op = *op;
    conv->params.isa = isa;
    conv->gathers = !has_dense_frames(in);
    conv->finishes = conv->gathers || !has_dense_frames(out) ||
                     (out->dtype != in->dtype && out->dtype != VRT_DTYPE_F32) ||
                     op->conv2d.activation == VRT_ACTIVATION_PRELU || op->conv2d.scale != 1 ||
                     vrt_op_in(op, 1);
    cut(conv);
    r = find_variants(conv);
    if (r < 0)
        return vrt_fold(r);
    lay_out_scratch(conv);
    *ret_conv = VRT_STEAL(conv);
    return 0;
}

int vrt_conv_measure(struct vrt_dnnl *dnnl, const struct vrt_op *op, const struct vrt_cpu_isa *isa,
                     size_t *ret_scratch_bytes)
{
    VRT_CLEANUP(vrt_conv_freep) struct vrt_conv *conv = NULL;
    int r;

    r = vrt_conv_describe(dnnl, op, isa, &conv);
    if (r < 0)
        return vrt_fold(r);
    *ret_scratch_bytes = conv->scratch_bytes;
    return 0;
}
