/* SPDX-License-Identifier: MIT */

/* One convolution by oneDNN: its primitives, and how a tile is computed. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/conv/dnnl-private.h"
#include "base/macro.h"

static void memory_done(dnnl_memory_t memory)
{
    if (memory)
        dnnl_memory_destroy(memory);
}

static void variant_done(const struct vrt_conv *conv, struct vrt_conv_variant *v)
{
    for (int i = 0; v->bindings && i < conv->dnnl->n_threads; i++) {
        memory_done(v->bindings[i].in);
        memory_done(v->bindings[i].out);
        memory_done(v->bindings[i].scratchpad);
    }
    free(v->bindings);
    memory_done(v->weights);
    if (v->primitive)
        dnnl_primitive_destroy(v->primitive);
    vrt_dnnl_descp(&v->desc);
}

struct vrt_conv *vrt_conv_free(struct vrt_conv *conv)
{
    if (!conv)
        return NULL;
    for (int i = 0; i < conv->n_variants; i++)
        variant_done(conv, &conv->variants[i]);
    memory_done(conv->bias);
    free(conv->slopes);
    free(conv);
    return NULL;
}

static int make_binding(const struct vrt_conv *conv, const struct vrt_conv_variant *v,
                        struct vrt_conv_binding *b)
{
    const struct {
        dnnl_query_t what;
        dnnl_memory_t *memory;
    } parts[] = {
        { dnnl_query_src_md, &b->in },
        { dnnl_query_dst_md, &b->out },
        { dnnl_query_scratchpad_md, &b->scratchpad },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(parts); i++) {
        const struct vrt_dnnl_layout *layout = vrt_dnnl_layout_of(v->desc, parts[i].what, 0);
        dnnl_status_t status = vrt_dnnl_memory_new(layout, conv->dnnl->engine, DNNL_MEMORY_NONE,
                                                   parts[i].memory);
        if (status != dnnl_success)
            return vrt_dnnl_raise(status, "memory object");
    }
    return 0;
}

static int make_variant(struct vrt_conv *conv, struct vrt_conv_variant *v)
{
    dnnl_status_t status;
    int r;

    r = vrt_conv_weights_fit(conv->params.weights, conv->dnnl->engine, v->desc, &v->weights);
    if (r < 0)
        return vrt_fold(r);
    status = dnnl_primitive_create(&v->primitive, v->desc);
    if (status != dnnl_success)
        return vrt_dnnl_raise(status, "convolution");
    v->bindings = calloc((size_t)conv->dnnl->n_threads, sizeof(*v->bindings));
    if (!v->bindings)
        return vrt_raise(-ENOMEM);
    for (int i = 0; i < conv->dnnl->n_threads; i++) {
        r = make_binding(conv, v, &v->bindings[i]);
        if (r < 0)
            return vrt_fold(r);
    }
    return 0;
}

static int make_slopes(struct vrt_conv *conv)
{
    const struct vrt_op_conv2d *attr = &conv->op.conv2d;
    const int n = conv->op.out.shape.c;

    if (!conv->finishes || attr->activation == VRT_ACTIVATION_NONE)
        return 0;
    conv->slopes = calloc((size_t)n, sizeof(*conv->slopes));
    if (!conv->slopes)
        return vrt_raise(-ENOMEM);
    for (int i = 0; i < n; i++) {
        if (attr->activation == VRT_ACTIVATION_PRELU)
            conv->slopes[i] = conv->params.slopes[i];
        else if (attr->activation == VRT_ACTIVATION_LEAKY_RELU)
            conv->slopes[i] = attr->slope;
    }
    return 0;
}

static int make_bias(struct vrt_conv *conv)
{
    VRT_CLEANUP(vrt_dnnl_layout_freep) struct vrt_dnnl_layout *layout = NULL;
    const dnnl_dims_t dims = { conv->op.out.shape.c };
    dnnl_status_t status;

    if (!conv->params.bias)
        return 0;
    status = vrt_dnnl_layout_new(1, dims, dnnl_f32, dnnl_a, &layout);
    if (status == dnnl_success)
        status = vrt_dnnl_memory_new(layout, conv->dnnl->engine, (void *)conv->params.bias,
                                     &conv->bias);
    return status == dnnl_success ? 0 : vrt_dnnl_raise(status, "bias");
}

int vrt_conv_new(struct vrt_dnnl *dnnl, const struct vrt_conv_params *params,
                 struct vrt_conv **ret_conv)
{
    VRT_CLEANUP(vrt_conv_freep) struct vrt_conv *conv = NULL;
    int r;

    r = vrt_conv_describe(dnnl, params->op, params->isa, &conv);
    if (r < 0)
        return vrt_fold(r);
    conv->params = *params;
    conv->params.op = &conv->op;
    r = make_slopes(conv);
    for (int i = 0; r == 0 && i < conv->n_variants; i++)
        r = make_variant(conv, &conv->variants[i]);
    if (r < 0)
        return vrt_fold(r);
    r = make_bias(conv);
    if (r < 0)
        return vrt_fold(r);
    *ret_conv = VRT_STEAL(conv);
    return 0;
}

struct vrt_cpu_cut vrt_conv_cut(const struct vrt_conv *conv)
{
    const struct vrt_shape out = conv->op.out.shape;

    return (struct vrt_cpu_cut){
        .d = out.d, .h = out.h, .rows = conv->tile_h, .across = conv->n_tiles_x,
    };
}

size_t vrt_conv_scratch_bytes(const struct vrt_conv *conv)
{
    return conv->scratch_bytes;
}

/* Row y of the input, columns [x, x + n), zeros outside of the picture: to dst, [n,I] dense. */
static void gather_row(const struct vrt_conv *conv, const struct vrt_cpu_call *call,
                       const int at[3], int n, char *dst)
{
    const struct vrt_tensor *in = &conv->op.in[0];
    const int x = at[2], before = VRT_MIN(VRT_MAX(-x, 0), n);
    const int after = VRT_MIN(VRT_MAX(x + n - in->shape.w, 0), n);
    const size_t pixel = (size_t)in->shape.c * vrt_dtype_size(in->dtype);

    if (at[1] < 0 || at[1] >= in->shape.h) {
        memset(dst, 0, (size_t)n * pixel);
        return;
    }
    memset(dst, 0, (size_t)before * pixel);
    conv->params.isa->gather(in, call->in[0], (int[3]){ at[0], at[1], x + before },
                             n - before - after, dst + (size_t)before * pixel);
    memset(dst + (size_t)(n - after) * pixel, 0, (size_t)after * pixel);
}

/* The tile's input with what surrounds it: in place, or copied. */
static void *find_input(const struct vrt_conv *conv, const struct vrt_cpu_call *call,
                        const struct vrt_conv_tile *tile)
{
    const struct vrt_tensor *in = &conv->op.in[0];
    const int side = conv->op.conv2d.kernel / 2, n = tile->x1 - tile->x0 + 2 * side;
    const size_t element = vrt_dtype_size(in->dtype);
    const size_t row_bytes = (size_t)n * (size_t)in->shape.c * element;
    char *dst = call->scratch;

    if (!conv->gathers) {
        const int64_t first = tile->d * in->stride_d + VRT_MAX(tile->y0 - side, 0) * in->stride_h;

        return (char *)call->in[0] + (size_t)first * element;
    }
    for (int y = tile->y0 - side; y < tile->y1 + side; y++, dst += row_bytes)
        gather_row(conv, call, (int[3]){ tile->d, y, tile->x0 - side }, n, dst);
    return call->scratch;
}

static void finish(const struct vrt_conv *conv, const struct vrt_cpu_call *call,
                   const struct vrt_conv_tile *tile)
{
    const int n = tile->x1 - tile->x0;
    struct vrt_cpu_epilogue e = {
        .sums = (const float *)(const void *)((char *)call->scratch + conv->sums_offset),
        .slopes = conv->slopes,
        .scale = conv->op.conv2d.scale,
        .residual = &conv->op.in[1],
        .residual_base = call->in[1],
        .out = &conv->op.out,
        .out_base = call->out,
        .scratch = (float *)(void *)((char *)call->scratch + conv->rows_offset),
    };

    for (int y = tile->y0; y < tile->y1; y++, e.sums += (size_t)n * (size_t)e.out->shape.c)
        conv->params.isa->epilogue(&e, (int[3]){ tile->d, y, tile->x0 }, n);
}

static dnnl_status_t execute(const struct vrt_conv *conv, const struct vrt_conv_variant *v,
                             int thread, void *const in_out_scratchpad[3])
{
    const struct vrt_conv_binding *b = &v->bindings[thread];
    const dnnl_exec_arg_t args[] = {
        { DNNL_ARG_SRC, b->in },
        { DNNL_ARG_WEIGHTS, v->weights },
        { DNNL_ARG_DST, b->out },
        { DNNL_ARG_SCRATCHPAD, b->scratchpad },
        { DNNL_ARG_BIAS, conv->bias },
    };

    dnnl_memory_set_data_handle(b->in, in_out_scratchpad[0]);
    dnnl_memory_set_data_handle(b->out, in_out_scratchpad[1]);
    dnnl_memory_set_data_handle(b->scratchpad, in_out_scratchpad[2]);
    return dnnl_primitive_execute(v->primitive, conv->dnnl->streams[thread],
                                  conv->bias ? 5 : 4, args);
}

int vrt_conv_run(const struct vrt_conv *conv, const struct vrt_cpu_call *call, int unit,
                 int thread)
{
    const struct vrt_tensor *out = &conv->op.out;
    const struct vrt_conv_tile tile = vrt_conv_tile(conv, unit);
    const int64_t first = tile.d * out->stride_d + tile.y0 * out->stride_h;
    char *scratch = call->scratch;
    void *target = (char *)call->out + (size_t)first * vrt_dtype_size(out->dtype);
    dnnl_status_t status;

    if (conv->finishes)
        target = scratch + conv->sums_offset;
    status = execute(conv, vrt_conv_variant(conv, &tile), thread,
                     (void *[3]){ find_input(conv, call, &tile), target,
                                  scratch + conv->scratchpad_offset });
    if (status != dnnl_success)
        return vrt_dnnl_raise(status, "execution");
    if (conv->finishes)
        finish(conv, call, &tile);
    return 0;
}
