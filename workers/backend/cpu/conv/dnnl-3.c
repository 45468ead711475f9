/* SPDX-License-Identifier: MIT */

/* oneDNN 3: a layout is an object, a primitive's description goes on to the next implementation. */

#include "backend/cpu/conv/dnnl-layout.h"

static const_dnnl_memory_desc_t md(const struct vrt_dnnl_layout *layout)
{
    return (const_dnnl_memory_desc_t)(const void *)layout;
}

static const struct vrt_dnnl_layout *layout_of(const_dnnl_memory_desc_t desc)
{
    return (const struct vrt_dnnl_layout *)(const void *)desc;
}

dnnl_status_t vrt_dnnl_layout_new(int n_dims, const dnnl_dims_t dims, dnnl_data_type_t type,
                                  dnnl_format_tag_t tag, struct vrt_dnnl_layout **ret_layout)
{
    return dnnl_memory_desc_create_with_tag((dnnl_memory_desc_t *)(void *)ret_layout, n_dims, dims,
                                            type, tag);
}

dnnl_status_t vrt_dnnl_layout_copy(const struct vrt_dnnl_layout *layout,
                                   struct vrt_dnnl_layout **ret_layout)
{
    return dnnl_memory_desc_clone((dnnl_memory_desc_t *)(void *)ret_layout, md(layout));
}

struct vrt_dnnl_layout *vrt_dnnl_layout_free(struct vrt_dnnl_layout *layout)
{
    if (layout)
        dnnl_memory_desc_destroy((dnnl_memory_desc_t)(void *)layout);
    return NULL;
}

const struct vrt_dnnl_layout *vrt_dnnl_layout_of(const_dnnl_primitive_desc_t desc,
                                                 dnnl_query_t what, int index)
{
    return layout_of(dnnl_primitive_desc_query_md(desc, what, index));
}

const struct vrt_dnnl_layout *vrt_dnnl_memory_layout(const_dnnl_memory_t memory)
{
    const_dnnl_memory_desc_t desc = NULL;

    dnnl_memory_get_memory_desc(memory, &desc);
    return layout_of(desc);
}

bool vrt_dnnl_layout_equals(const struct vrt_dnnl_layout *a, const struct vrt_dnnl_layout *b)
{
    return dnnl_memory_desc_equal(md(a), md(b));
}

size_t vrt_dnnl_layout_bytes(const struct vrt_dnnl_layout *layout)
{
    return dnnl_memory_desc_get_size(md(layout));
}

dnnl_status_t vrt_dnnl_memory_new(const struct vrt_dnnl_layout *layout, dnnl_engine_t engine,
                                  void *data, dnnl_memory_t *ret_memory)
{
    return dnnl_memory_create(ret_memory, md(layout), engine, data);
}

dnnl_status_t vrt_dnnl_reorder_describe(dnnl_engine_t engine, const struct vrt_dnnl_layout *from,
                                        const struct vrt_dnnl_layout *to,
                                        dnnl_primitive_desc_t *ret_desc)
{
    return dnnl_reorder_primitive_desc_create(ret_desc, md(from), engine, md(to), engine, NULL);
}

dnnl_status_t vrt_dnnl_append_relu(dnnl_post_ops_t post_ops, float slope)
{
    return dnnl_post_ops_append_eltwise(post_ops, dnnl_eltwise_relu, slope, 0);
}

/* The offers are a description of a primitive, which is at one of them. */
static dnnl_primitive_desc_t at(const struct vrt_dnnl_offers *offers)
{
    return (dnnl_primitive_desc_t)(const void *)offers;
}

dnnl_status_t vrt_dnnl_offers_new(dnnl_engine_t engine,
                                  const struct vrt_dnnl_convolution *convolution,
                                  const_dnnl_primitive_attr_t attr,
                                  struct vrt_dnnl_offers **ret_offers)
{
    const dnnl_dims_t strides = { 1, 1 }, dilations = { 0, 0 };

    return dnnl_convolution_forward_primitive_desc_create(
        (dnnl_primitive_desc_t *)(void *)ret_offers, engine, dnnl_forward_inference,
        dnnl_convolution_direct, md(convolution->in), md(convolution->weights),
        md(convolution->bias), md(convolution->out), strides, dilations, convolution->pad_first,
        convolution->pad_last, attr);
}

dnnl_primitive_desc_t vrt_dnnl_offers_take(const struct vrt_dnnl_offers *offers)
{
    dnnl_primitive_desc_t desc = NULL;

    return dnnl_primitive_desc_clone(&desc, at(offers)) == dnnl_success ? desc : NULL;
}

bool vrt_dnnl_offers_next(struct vrt_dnnl_offers *offers)
{
    return dnnl_primitive_desc_next_impl(at(offers)) == dnnl_success;
}

struct vrt_dnnl_offers *vrt_dnnl_offers_free(struct vrt_dnnl_offers *offers)
{
    if (offers)
        dnnl_primitive_desc_destroy(at(offers));
    return NULL;
}
