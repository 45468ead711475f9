/* SPDX-License-Identifier: MIT */

/* oneDNN 2: a layout is a struct, implementations are gone through by an iterator. */

#include <stdlib.h>

#include "backend/cpu/conv/dnnl-layout.h"

static const dnnl_memory_desc_t *md(const struct vrt_dnnl_layout *layout)
{
    return (const dnnl_memory_desc_t *)(const void *)layout;
}

static const struct vrt_dnnl_layout *layout_of(const dnnl_memory_desc_t *desc)
{
    return (const struct vrt_dnnl_layout *)(const void *)desc;
}

dnnl_status_t vrt_dnnl_layout_new(int n_dims, const dnnl_dims_t dims, dnnl_data_type_t type,
                                  dnnl_format_tag_t tag, struct vrt_dnnl_layout **ret_layout)
{
    dnnl_memory_desc_t desc;
    dnnl_status_t status = dnnl_memory_desc_init_by_tag(&desc, n_dims, dims, type, tag);

    return status == dnnl_success ? vrt_dnnl_layout_copy(layout_of(&desc), ret_layout) : status;
}

dnnl_status_t vrt_dnnl_layout_copy(const struct vrt_dnnl_layout *layout,
                                   struct vrt_dnnl_layout **ret_layout)
{
    dnnl_memory_desc_t *copy = malloc(sizeof(*copy));

    if (!copy)
        return dnnl_out_of_memory;
    *copy = *md(layout);
    *ret_layout = (struct vrt_dnnl_layout *)(void *)copy;
    return dnnl_success;
}

struct vrt_dnnl_layout *vrt_dnnl_layout_free(struct vrt_dnnl_layout *layout)
{
    free(layout);
    return NULL;
}

const struct vrt_dnnl_layout *vrt_dnnl_layout_of(const_dnnl_primitive_desc_t desc,
                                                 dnnl_query_t what, int index)
{
    return layout_of(dnnl_primitive_desc_query_md(desc, what, index));
}

const struct vrt_dnnl_layout *vrt_dnnl_memory_layout(const_dnnl_memory_t memory)
{
    const dnnl_memory_desc_t *desc = NULL;

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
    return dnnl_post_ops_append_eltwise(post_ops, 1, dnnl_eltwise_relu, slope, 0);
}

/* The iterator reads the description as long as it is there. */
struct vrt_dnnl_offers {
    dnnl_convolution_desc_t convolution;
    dnnl_primitive_desc_iterator_t it;
};

dnnl_status_t vrt_dnnl_offers_new(dnnl_engine_t engine,
                                  const struct vrt_dnnl_convolution *convolution,
                                  const_dnnl_primitive_attr_t attr,
                                  struct vrt_dnnl_offers **ret_offers)
{
    VRT_CLEANUP(vrt_dnnl_offers_freep) struct vrt_dnnl_offers *offers = calloc(1, sizeof(*offers));
    const dnnl_dims_t strides = { 1, 1 };
    dnnl_status_t status;

    if (!offers)
        return dnnl_out_of_memory;
    status = dnnl_convolution_forward_desc_init(
        &offers->convolution, dnnl_forward_inference, dnnl_convolution_direct,
        md(convolution->in), md(convolution->weights), md(convolution->bias),
        md(convolution->out), strides, convolution->pad_first, convolution->pad_last);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_iterator_create(&offers->it, &offers->convolution, attr,
                                                     engine, NULL);
    if (status == dnnl_success)
        *ret_offers = VRT_STEAL(offers);
    return status;
}

dnnl_primitive_desc_t vrt_dnnl_offers_take(const struct vrt_dnnl_offers *offers)
{
    return dnnl_primitive_desc_iterator_fetch(offers->it);
}

bool vrt_dnnl_offers_next(struct vrt_dnnl_offers *offers)
{
    return dnnl_primitive_desc_iterator_next(offers->it) == dnnl_success;
}

struct vrt_dnnl_offers *vrt_dnnl_offers_free(struct vrt_dnnl_offers *offers)
{
    if (!offers)
        return NULL;
    if (offers->it)
        dnnl_primitive_desc_iterator_destroy(offers->it);
    free(offers);
    return NULL;
}
