/* SPDX-License-Identifier: MIT */

#include "tests/bench/onednn-conv.h"

#include <dnnl.h>
#include <stdlib.h>
#include <string.h>

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
    dnnl_post_ops_append_eltwise(post_ops, 1, dnnl_eltwise_relu, 0.1f, 0);
    status = dnnl_primitive_attr_set_post_ops(*ret_attr, post_ops);
    dnnl_post_ops_destroy(post_ops);
    return status;
}

static dnnl_status_t describe(struct onednn_conv *conv, const struct onednn_conv_shape *s)
{
    const dnnl_data_type_t type = s->bf16 ? dnnl_bf16 : dnnl_f32;
    const dnnl_dims_t in_dims = { 1, s->in_c, s->h, s->w }, out_dims = { 1, s->out_c, s->h, s->w };
    const dnnl_dims_t weights_dims = { s->out_c, s->in_c, s->k, s->k }, bias_dims = { s->out_c };
    const dnnl_dims_t strides = { 1, 1 }, pad = { s->k / 2, s->k / 2 };
    dnnl_memory_desc_t in, weights, bias, out;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_convolution_desc_t desc;
    dnnl_status_t status;

    dnnl_memory_desc_init_by_tag(&in, 4, in_dims, type, dnnl_format_tag_any);
    dnnl_memory_desc_init_by_tag(&out, 4, out_dims, type, dnnl_format_tag_any);
    dnnl_memory_desc_init_by_tag(&weights, 4, weights_dims, type, dnnl_format_tag_any);
    dnnl_memory_desc_init_by_tag(&bias, 1, bias_dims, dnnl_f32, dnnl_a);
    status = dnnl_convolution_forward_desc_init(&desc, dnnl_forward_inference,
                                                dnnl_convolution_direct, &in, &weights, &bias,
                                                &out, strides, pad, pad);
    if (status == dnnl_success)
        status = make_attr(s, &attr);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(&conv->desc, &desc, attr, conv->engine, NULL);
    dnnl_primitive_attr_destroy(attr);
    return status;
}

/* Memory of the part's own layout, filled with small numbers. */
static dnnl_status_t make_part(struct onednn_conv *conv, enum part part)
{
    static const dnnl_query_t queries[N_PARTS] = {
        [IN] = dnnl_query_src_md, [WEIGHTS] = dnnl_query_weights_md,
        [BIAS] = dnnl_query_weights_md, [OUT] = dnnl_query_dst_md,
    };
    const dnnl_memory_desc_t *desc =
        dnnl_primitive_desc_query_md(conv->desc, queries[part], part == BIAS);
    void *data;
    dnnl_status_t status = dnnl_memory_create(&conv->parts[part], desc, conv->engine,
                                              DNNL_MEMORY_ALLOCATE);

    if (status != dnnl_success)
        return status;
    dnnl_memory_get_data_handle(conv->parts[part], &data);
    memset(data, 0x3c, dnnl_memory_desc_get_size(desc));      /* about 0.01, in both types */
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
