/* SPDX-License-Identifier: MIT */

#include "backend/op/precision.h"

enum vrt_dtype vrt_precision_dtype(enum vrt_precision precision, enum vrt_dtype automatic)
{
    static const enum vrt_dtype dtypes[VRT_PRECISION_COUNT] = {
        [VRT_PRECISION_F32] = VRT_DTYPE_F32,
        [VRT_PRECISION_F16] = VRT_DTYPE_F16,
        [VRT_PRECISION_BF16] = VRT_DTYPE_BF16,
    };

    return precision == VRT_PRECISION_AUTO ? automatic : dtypes[precision];
}

enum vrt_precision vrt_precision_of(enum vrt_dtype dtype)
{
    if (dtype == VRT_DTYPE_F16)
        return VRT_PRECISION_F16;
    return dtype == VRT_DTYPE_BF16 ? VRT_PRECISION_BF16 : VRT_PRECISION_F32;
}
