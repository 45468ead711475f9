/* SPDX-License-Identifier: MIT */
#pragma once

/* A product of matrices by oneDNN 2 or 3, in onednn-product-2.c or onednn-product-3.c. */

#include "backend/cpu/conv/dnnl-layout.h"

/* The best implementation for two square matrices and their product, all in `layout`. Return:
 * oneDNN's status. */
dnnl_status_t onednn_product_describe(dnnl_engine_t engine, const struct vrt_dnnl_layout *layout,
                                      dnnl_primitive_desc_t *ret_desc);
