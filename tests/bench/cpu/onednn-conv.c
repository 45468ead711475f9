/* SPDX-License-Identifier: MIT */

#include "tests/bench/cpu/onednn-conv.h"

#include <stdlib.h>
#include <string.h>

#include "backend/cpu/conv/dnnl-layout.h"
#include "base/cleanup.h"
#include "base/macro.h"

enum part { IN, WEIGHTS, BIAS, OUT, N_PARTS };

struct onednn_conv {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    dnnl_memory_t parts[N_PARTS];
    const char *name;
};

VRT_DEFINE_CLEANUP(struct onednn_conv, onednn_conv_free)

static dnnl_status_t make_attr(const struct onednn_conv_shape *shape,
                               dnnl_primitive_attr_t *ret_attr)
{
    dnnl_status_t status = dnnl_primitive_attr_create(ret_attr);
    dnnl_post_ops_t post_ops;

    if (status != dnnl_success || !shape->has_activation)
        return status;
    status = dnnl_post_ops_create(&post_ops);
    if (status != dnnl_success)
        return status;
    vrt_dnnl_append_relu(post_ops, 0.1f);
    status = dnnl_primitive_attr_set_post_ops(*ret_attr, post_ops);
    dnnl_post_ops_destroy(post_ops);
    return status;
}

static dnnl_status_t describe(struct onednn_conv *conv, const struct onednn_conv_shape *s)
{
    VRT_CLEANUP(vrt_dnnl_layout_freep) struct vrt_dnnl_layout *in = NULL;
    VRT_CLEANUP(vrt_dnnl_layout_freep) struct vrt_dnnl_layout *weights = NULL;
    VRT_CLEANUP(vrt_dnnl_layout_freep) struct vrt_dnnl_layout *bias = NULL;
    VRT_CLEANUP(vrt_dnnl_layout_freep) struct vrt_dnnl_layout *out = NULL;
    VRT_CLEANUP(vrt_dnnl_offers_freep) struct vrt_dnnl_offers *offers = NULL;
    const dnnl_data_type_t type = s->bf16 ? dnnl_bf16 : dnnl_f32;
    const dnnl_dims_t in_dims = { 1, s->in_c, s->h, s->w }, out_dims = { 1, s->out_c, s->h, s->w };
    const dnnl_dims_t weights_dims = { s->out_c, s->in_c, s->k, s->k }, bias_dims = { s->out_c };
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t status = vrt_dnnl_layout_new(4, in_dims, type, dnnl_format_tag_any, &in);

    if (status == dnnl_success)
        status = vrt_dnnl_layout_new(4, out_dims, type, dnnl_format_tag_any, &out);
    if (status == dnnl_success)
        status = vrt_dnnl_layout_new(4, weights_dims, type, dnnl_format_tag_any, &weights);
    if (status == dnnl_success)
        status = vrt_dnnl_layout_new(1, bias_dims, dnnl_f32, dnnl_a, &bias);
    if (status == dnnl_success)
        status = make_attr(s, &attr);
    if (status != dnnl_success)
        return status;
    const struct vrt_dnnl_convolution convolution = {
        .in = in, .weights = weights, .bias = bias, .out = out,
        .pad_first = { s->k / 2, s->k / 2 }, .pad_last = { s->k / 2, s->k / 2 },
    };
    status = vrt_dnnl_offers_new(conv->engine, &convolution, attr, &offers);
    dnnl_primitive_attr_destroy(attr);
    if (status != dnnl_success)
        return status;
    conv->desc = vrt_dnnl_offers_take(offers);
    return conv->desc ? dnnl_success : dnnl_out_of_memory;
}

/* Memory of the part's own layout, filled with small numbers. */
static dnnl_status_t make_part(struct onednn_conv *conv, enum part part)
{
    static const dnnl_query_t queries[N_PARTS] = {
        [IN] = dnnl_query_src_md, [WEIGHTS] = dnnl_query_weights_md,
        [BIAS] = dnnl_query_weights_md, [OUT] = dnnl_query_dst_md,
    };
    const struct vrt_dnnl_layout *layout =
        vrt_dnnl_layout_of(conv->desc, queries[part], part == BIAS);
    void *data;
    dnnl_status_t status = vrt_dnnl_memory_new(layout, conv->engine, DNNL_MEMORY_ALLOCATE,
                                               &conv->parts[part]);

    if (status != dnnl_success)
        return status;
    dnnl_memory_get_data_handle(conv->parts[part], &data);
    memset(data, 0x3c, vrt_dnnl_layout_bytes(layout));      /* about 0.01, in both types */
    return status;
}

struct onednn_conv *onednn_conv_new(const struct onednn_conv_shape *shape)
{
    VRT_CLEANUP(onednn_conv_freep) struct onednn_conv *conv = calloc(1, sizeof(*conv));
    dnnl_status_t status;

    if (!conv)
        return NULL;
    status = dnnl_engine_create(&conv->engine, dnnl_cpu, 0);
    if (status == dnnl_success)
        status = dnnl_stream_create(&conv->stream, conv->engine, dnnl_stream_default_flags);
    if (status == dnnl_success)
        status = describe(conv, shape);
    if (status == dnnl_success)
        status = dnnl_primitive_create(&conv->primitive, conv->desc);
    for (enum part i = 0; i < N_PARTS && status == dnnl_success; i++)
        status = make_part(conv, i);
    if (status != dnnl_success)
        return NULL;
    dnnl_primitive_desc_query(conv->desc, dnnl_query_impl_info_str, 0, &conv->name);
    return VRT_STEAL(conv);
}

struct onednn_conv *onednn_conv_free(struct onednn_conv *conv)
{
    if (!conv)
        return NULL;
    for (enum part i = 0; i < N_PARTS; i++)
        if (conv->parts[i])
            dnnl_memory_destroy(conv->parts[i]);
    if (conv->primitive)
        dnnl_primitive_destroy(conv->primitive);
    if (conv->desc)
        dnnl_primitive_desc_destroy(conv->desc);
    if (conv->stream)
        dnnl_stream_destroy(conv->stream);
    if (conv->engine)
        dnnl_engine_destroy(conv->engine);
    free(conv);
    return NULL;
}

bool onednn_conv_run(struct onednn_conv *conv)
{
    const dnnl_exec_arg_t args[] = {
        { DNNL_ARG_SRC, conv->parts[IN] },
        { DNNL_ARG_WEIGHTS, conv->parts[WEIGHTS] },
        { DNNL_ARG_BIAS, conv->parts[BIAS] },
        { DNNL_ARG_DST, conv->parts[OUT] },
    };

    return dnnl_primitive_execute(conv->primitive, conv->stream, VRT_ARRAY_SIZE(args), args) ==
               dnnl_success && dnnl_stream_wait(conv->stream) == dnnl_success;
}

const char *onednn_conv_name(const struct onednn_conv *conv)
{
    return conv->name;
}
