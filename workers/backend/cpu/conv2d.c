/* SPDX-License-Identifier: MIT */

/*
 * One convolution: its bands, the primitives for the shapes that they have, and how one is run
 *
 * Bands at the top and the bottom of a frame have their own padding and so their own primitives
 * ("variants"); all others but the last share one.
 */

#include <errno.h>
#include <stdlib.h>

#include "backend/cpu/dnnl-private.h"
#include "base/macro.h"

/* Input and output rows of a band shall fit the second-level cache along with the weights. */
#define BAND_BYTES (512 * 1024)
#define BAND_ROWS_MAX 32

#define ALIGN 64

/* Memory objects are bound to addresses, so each thread has its own. */
struct binding {
    dnnl_memory_t in, out, scratchpad;
};

struct variant {
    struct vrt_dnnl_shape shape;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;             /* NULL while there are no weights */
    dnnl_memory_t weights;                  /* a handle on the replica's, almost always */
    struct binding *bindings;               /* [n_threads] */
    size_t scratchpad_bytes;
};

struct vrt_conv {
    struct vrt_dnnl *dnnl;
    struct vrt_conv_params params;          /* params.op points to `op` */
    struct vrt_op op;
    bool gathers;                           /* bands of the input are made dense first */
    bool finishes;                          /* sums go through the epilogue */
    float *slopes;                          /* [O]; NULL: the epilogue has no activation */
    dnnl_memory_t bias;

    int band_rows, n_bands;                 /* of a frame */
    struct variant *variants;
    int n_variants;
    int *variant_of;                        /* [n_bands] */

    /* Places in a thread's scratch memory. */
    size_t sums_offset, rows_offset, scratchpad_offset, scratch_bytes;
};

static void memory_done(dnnl_memory_t memory)
{
    if (memory)
        dnnl_memory_destroy(memory);
}

static void variant_done(const struct vrt_conv *conv, struct variant *v)
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
    free(conv->variants);
    free(conv->variant_of);
    free(conv->slopes);
    free(conv);
    return NULL;
}

/* What a band needs: its rows of the input, and the padding. */
static struct vrt_dnnl_shape band_shape(const struct vrt_conv *conv, int band)
{
    const struct vrt_op_conv2d *attr = &conv->op.conv2d;
    const struct vrt_tensor *in = &conv->op.in[0], *out = &conv->op.out;
    const int side = attr->kernel / 2, h = in->shape.h;
    const int y0 = band * conv->band_rows, y1 = VRT_MIN(y0 + conv->band_rows, h);
    const bool leaky = attr->activation == VRT_ACTIVATION_LEAKY_RELU;

    return (struct vrt_dnnl_shape){
        .in_c = in->shape.c,
        .out_c = out->shape.c,
        .k = attr->kernel,
        .w = in->shape.w,
        .in_h = VRT_MIN(y1 + side, h) - VRT_MAX(y0 - side, 0),
        .pad_top = VRT_MAX(side - y0, 0),
        .pad_bottom = VRT_MAX(y1 + side - h, 0),
        .dtype = in->dtype,
        .out_dtype = conv->finishes ? VRT_DTYPE_F32 : out->dtype,
        .has_bias = attr->bias >= 0,
        .has_activation = !conv->finishes && attr->activation != VRT_ACTIVATION_NONE,
        .slope = leaky && !conv->finishes ? attr->slope : 0,
    };
}

static bool same_shape(const struct vrt_dnnl_shape *a, const struct vrt_dnnl_shape *b)
{
    /* All else is the same for all bands of a convolution. */
    return a->in_h == b->in_h && a->pad_top == b->pad_top && a->pad_bottom == b->pad_bottom;
}

/* Adds the variant of `shape`: described, not yet made. */
static int add_variant(struct vrt_conv *conv, const struct vrt_dnnl_shape *shape,
                       const dnnl_memory_desc_t *layout)
{
    struct variant *v = &conv->variants[conv->n_variants++];
    const dnnl_memory_desc_t *scratchpad;
    int r;

    v->shape = *shape;
    r = vrt_dnnl_describe(conv->dnnl, shape, layout, &v->desc);
    if (r == -ENOENT)
        r = vrt_dnnl_describe(conv->dnnl, shape, NULL, &v->desc);
    if (r)
        return r == -ENOENT ? vrt_raise(-EIO) : vrt_fold(r);
    scratchpad = dnnl_primitive_desc_query_md(v->desc, dnnl_query_scratchpad_md, 0);
    v->scratchpad_bytes = dnnl_memory_desc_get_size(scratchpad);
    return 0;
}

static int find_variants(struct vrt_conv *conv)
{
    const struct vrt_dnnl_shape any = band_shape(conv, 0);
    dnnl_memory_desc_t layout;
    int r;

    r = vrt_dnnl_weights_layout(conv->dnnl, &any, &layout);
    if (r)
        return r == -ENOENT ? vrt_raise(-EIO) : vrt_fold(r);

    conv->variant_of = calloc((size_t)conv->n_bands, sizeof(*conv->variant_of));
    conv->variants = calloc((size_t)conv->n_bands, sizeof(*conv->variants));
    if (!conv->variant_of || !conv->variants)
        return vrt_raise(-ENOMEM);
    for (int i = 0; i < conv->n_bands; i++) {
        const struct vrt_dnnl_shape shape = band_shape(conv, i);
        int v = 0;

        while (v < conv->n_variants && !same_shape(&conv->variants[v].shape, &shape))
            v++;
        conv->variant_of[i] = v;
        if (v < conv->n_variants)
            continue;
        r = add_variant(conv, &shape, &layout);
        if (r)
            return vrt_fold(r);
    }
    return 0;
}

static size_t aligned(size_t size_bytes)
{
    return (size_bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static void lay_out_scratch(struct vrt_conv *conv)
{
    const struct vrt_tensor *in = &conv->op.in[0], *out = &conv->op.out;
    const size_t in_row = (size_t)in->shape.w * (size_t)in->shape.c * vrt_dtype_size(in->dtype);
    const size_t out_row = (size_t)out->shape.w * (size_t)out->shape.c * sizeof(float);
    const size_t in_rows = (size_t)conv->band_rows + (size_t)conv->op.conv2d.kernel - 1;
    size_t at = 0, scratchpad = 0;

    if (conv->gathers)
        at += aligned(in_row * in_rows);
    conv->sums_offset = at;
    if (conv->finishes)
        at += aligned(out_row * (size_t)conv->band_rows);
    conv->rows_offset = at;
    if (conv->finishes)
        at += aligned(conv->params.isa->epilogue_scratch_bytes(out->shape.c));
    conv->scratchpad_offset = at;
    for (int i = 0; i < conv->n_variants; i++)
        scratchpad = VRT_MAX(scratchpad, conv->variants[i].scratchpad_bytes);
    conv->scratch_bytes = at + aligned(scratchpad);
}

/* All that depends on shapes alone. */
static int describe(struct vrt_dnnl *dnnl, const struct vrt_op *op, const struct vrt_cpu_isa *isa,
                    struct vrt_conv **ret_conv)
{
    VRT_CLEANUP(vrt_conv_freep) struct vrt_conv *conv = NULL;
    const struct vrt_tensor *in = &op->in[0], *out = &op->out;
    const struct vrt_op_conv2d *attr = &op->conv2d;
    int r;

    conv = calloc(1, sizeof(*conv));
    if (!conv)
        return vrt_raise(-ENOMEM);
    conv->dnnl = dnnl;
    conv->op = *op;
    conv->params.isa = isa;
    conv->gathers = in->stride_w != in->shape.c ||
                    in->stride_h != (int64_t)in->shape.w * in->shape.c;
    conv->finishes = out->stride_w != out->shape.c ||
                     out->stride_h != (int64_t)out->shape.w * out->shape.c ||
                     (out->dtype != in->dtype && out->dtype != VRT_DTYPE_F32) ||
                     attr->activation == VRT_ACTIVATION_PRELU || vrt_op_in(op, 1) ||
                     attr->scale != 1;

    const size_t row_bytes = (size_t)out->shape.w * sizeof(float) *
                             (size_t)(in->shape.c + out->shape.c);
    conv->band_rows = (int)VRT_MIN(VRT_MAX(BAND_BYTES / row_bytes, 1), BAND_ROWS_MAX);
    conv->band_rows = VRT_MIN(conv->band_rows, out->shape.h);
    conv->n_bands = (out->shape.h + conv->band_rows - 1) / conv->band_rows;

    r = find_variants(conv);
    if (r)
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

    r = describe(dnnl, op, isa, &conv);
    if (r)
        return vrt_fold(r);
    *ret_scratch_bytes = conv->scratch_bytes;
    return 0;
}

static int make_binding(const struct vrt_conv *conv, const struct variant *v, struct binding *b)
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
        const dnnl_memory_desc_t *desc = dnnl_primitive_desc_query_md(v->desc, parts[i].what, 0);
        dnnl_status_t status = dnnl_memory_create(parts[i].memory, desc, conv->dnnl->engine,
                                                  DNNL_MEMORY_NONE);
        if (status != dnnl_success)
            return vrt_dnnl_raise(status, "memory object");
    }
    return 0;
}

static int make_variant(struct vrt_conv *conv, struct variant *v)
{
    dnnl_status_t status;
    int r;

    r = vrt_conv_weights_fit(conv->params.weights, v->desc, &v->weights);
    if (r)
        return vrt_fold(r);
    status = dnnl_primitive_create(&v->primitive, v->desc);
    if (status != dnnl_success)
        return vrt_dnnl_raise(status, "convolution");
    v->bindings = calloc((size_t)conv->dnnl->n_threads, sizeof(*v->bindings));
    if (!v->bindings)
        return vrt_raise(-ENOMEM);
    for (int i = 0; i < conv->dnnl->n_threads; i++) {
        r = make_binding(conv, v, &v->bindings[i]);
        if (r)
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

int vrt_conv_new(struct vrt_dnnl *dnnl, const struct vrt_conv_params *params,
                 struct vrt_conv **ret_conv)
{
    VRT_CLEANUP(vrt_conv_freep) struct vrt_conv *conv = NULL;
    const dnnl_dims_t bias_dims = { params->op->out.shape.c };
    dnnl_memory_desc_t bias;
    int r;

    r = describe(dnnl, params->op, params->isa, &conv);
    if (r)
        return vrt_fold(r);
    conv->params = *params;
    conv->params.op = &conv->op;
    r = make_slopes(conv);
    for (int i = 0; !r && i < conv->n_variants; i++)
        r = make_variant(conv, &conv->variants[i]);
    if (r)
        return vrt_fold(r);
    if (params->bias) {
        dnnl_memory_desc_init_by_tag(&bias, 1, bias_dims, dnnl_f32, dnnl_a);
        dnnl_status_t status = dnnl_memory_create(&conv->bias, &bias, dnnl->engine,
                                                  (void *)params->bias);
        if (status != dnnl_success)
            return vrt_dnnl_raise(status, "bias");
    }
    *ret_conv = VRT_STEAL(conv);
    return 0;
}

int vrt_conv_n_units(const struct vrt_conv *conv)
{
    return conv->n_bands * conv->op.out.shape.d;
}

size_t vrt_conv_scratch_bytes(const struct vrt_conv *conv)
{
    return conv->scratch_bytes;
}

/* The band's rows of the input, dense: in place, or gathered into scratch memory. */
static void *dense_rows(const struct vrt_conv *conv, const struct vrt_cpu_call *call, int d,
                        const int rows[2])
{
    const struct vrt_tensor *in = &conv->op.in[0];
    const size_t element = vrt_dtype_size(in->dtype);
    const size_t row_bytes = (size_t)in->shape.w * (size_t)in->shape.c * element;
    const int64_t first = d * in->stride_d + rows[0] * in->stride_h;

    if (!conv->gathers)
        return (char *)call->in[0] + (size_t)first * element;
    for (int y = rows[0]; y < rows[1]; y++)
        conv->params.isa->gather(in, call->in[0], (int[2]){ d, y },
                                 (char *)call->scratch + (size_t)(y - rows[0]) * row_bytes);
    return call->scratch;
}

static void finish(const struct vrt_conv *conv, const struct vrt_cpu_call *call, int d,
                   const int rows[2])
{
    const struct vrt_tensor *out = &conv->op.out;
    const size_t row = (size_t)out->shape.w * (size_t)out->shape.c;
    struct vrt_cpu_epilogue e = {
        .sums = (const float *)(const void *)((char *)call->scratch + conv->sums_offset),
        .slopes = conv->slopes,
        .scale = conv->op.conv2d.scale,
        .residual = &conv->op.in[1],
        .residual_base = call->in[1],
        .out = out,
        .out_base = call->out,
        .scratch = (float *)(void *)((char *)call->scratch + conv->rows_offset),
    };

    for (int y = rows[0]; y < rows[1]; y++, e.sums += row)
        conv->params.isa->epilogue(&e, d, y);
}

static dnnl_status_t execute(const struct vrt_conv *conv, const struct variant *v, int thread,
                             void *const in_out_scratchpad[3])
{
    const struct binding *b = &v->bindings[thread];
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
    const int d = unit / conv->n_bands, band = unit % conv->n_bands;
    const int side = conv->op.conv2d.kernel / 2, h = out->shape.h;
    const int y0 = band * conv->band_rows, y1 = VRT_MIN(y0 + conv->band_rows, h);
    const int in_rows[2] = { VRT_MAX(y0 - side, 0), VRT_MIN(y1 + side, h) };
    const int out_rows[2] = { y0, y1 };
    const int64_t first = d * out->stride_d + y0 * out->stride_h;
    char *scratch = call->scratch;
    void *target = (char *)call->out + (size_t)first * vrt_dtype_size(out->dtype);
    dnnl_status_t status;

    if (conv->finishes)
        target = scratch + conv->sums_offset;
    status = execute(conv, &conv->variants[conv->variant_of[band]], thread,
                     (void *[3]){ dense_rows(conv, call, d, in_rows), target,
                                  scratch + conv->scratchpad_offset });
    if (status != dnnl_success)
        return vrt_dnnl_raise(status, "execution");
    if (conv->finishes)
        finish(conv, call, d, out_rows);
    return 0;
}
