/* SPDX-License-Identifier: MIT */

/* What oneDNN 2 and 3 have in common, but for the type of a layout: here it goes by void *. */

#include "backend/cpu/conv/dnnl-layout.h"

const struct vrt_dnnl_layout *vrt_dnnl_layout_of(const_dnnl_primitive_desc_t desc,
                                                 dnnl_query_t what, int index)
{
    return (const void *)dnnl_primitive_desc_query_md(desc, what, index);
}

bool vrt_dnnl_layout_equals(const struct vrt_dnnl_layout *a, const struct vrt_dnnl_layout *b)
{
    return dnnl_memory_desc_equal((const void *)a, (const void *)b);
}

size_t vrt_dnnl_layout_bytes(const struct vrt_dnnl_layout *layout)
{
    return dnnl_memory_desc_get_size((const void *)layout);
}

dnnl_status_t vrt_dnnl_memory_new(const struct vrt_dnnl_layout *layout, dnnl_engine_t engine,
                                  void *data, dnnl_memory_t *ret_memory)
{
    return dnnl_memory_create(ret_memory, (const void *)layout, engine, data);
}

dnnl_status_t vrt_dnnl_reorder_describe(dnnl_engine_t engine, const struct vrt_dnnl_layout *from,
                                        const struct vrt_dnnl_layout *to,
                                        dnnl_primitive_desc_t *ret_desc)
{
    return dnnl_reorder_primitive_desc_create(ret_desc, (const void *)from, engine,
                                              (const void *)to, engine, NULL);
}
