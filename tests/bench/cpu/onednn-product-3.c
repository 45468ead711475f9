/* SPDX-License-Identifier: MIT */

#include "tests/bench/cpu/onednn-product.h"

dnnl_status_t onednn_product_describe(dnnl_engine_t engine, const struct vrt_dnnl_layout *layout,
                                      dnnl_primitive_desc_t *ret_desc)
{
    const_dnnl_memory_desc_t desc = (const_dnnl_memory_desc_t)(const void *)layout;

    return dnnl_matmul_primitive_desc_create(ret_desc, engine, desc, desc, NULL, desc, NULL);
}
