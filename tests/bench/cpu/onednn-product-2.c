/* SPDX-License-Identifier: MIT */

#include "tests/bench/cpu/onednn-product.h"

dnnl_status_t onednn_product_describe(dnnl_engine_t engine, const struct vrt_dnnl_layout *layout,
                                      dnnl_primitive_desc_t *ret_desc)
{
    const dnnl_memory_desc_t *desc = (const dnnl_memory_desc_t *)(const void *)layout;
    dnnl_matmul_desc_t product;
    dnnl_status_t status = dnnl_matmul_desc_init(&product, desc, desc, NULL, desc);

    return status == dnnl_success ? dnnl_primitive_desc_create(ret_desc, &product, NULL, engine,
                                                               NULL) : status;
}
