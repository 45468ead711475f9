/* SPDX-License-Identifier: MIT */

#include "backend/kernels/weights.h"

#include <string.h>

#define ITEMS 64

const struct vrt_packed_rule vrt_kernel_rule = {
    .order = VRT_PACKED_SLABS,
    .align_elements = VRT_KERNEL_ROW_ALIGN,
    .slab_inputs = VRT_KERNEL_PRODUCT_DEPTH,
};

void vrt_kernel_place_params(const struct vrt_packed *packed, void *memory,
                             struct vrt_kernel_param *params)
{
    for (size_t i = 0; i < packed->n_params; i++) {
        const struct vrt_packed_layout layout =
            vrt_packed_layout_of(&vrt_kernel_rule, &packed->params[i], packed->dtype);
        struct vrt_kernel_param *param = &params[i];
        param->place = (struct vrt_kernel_place){ memory, packed->places[i].offset_bytes };
        param->dtype = layout.dtype;
        param->row_elements = (int)(layout.slab_stride / layout.slab_inputs);
        param->n_dims = packed->params[i].n_dims;
        memcpy(param->dims, packed->params[i].dims, sizeof(param->dims));
    }
}

int vrt_kernel_checksum(const struct vrt_kernel_call *call, void *memory, size_t size_bytes,
                        void *sums)
{
    const struct vrt_kernel_checksum args = { .n_words = (int64_t)(size_bytes / 8) };
    const struct vrt_kernel_launch launch = {
        .kernel = VRT_KERNEL_checksum,
        .args = &args,
        .args_bytes = sizeof(args),
        .data = { { memory, 0 }, { sums, 0 } },
        .n_data = 2,
        .groups = { VRT_KERNEL_CHECKSUM_ITEMS / ITEMS, 1, 1 },
        .local = { ITEMS, 1, 1 },
    };

    return call->target->launch(call, &launch);
}

uint64_t vrt_kernel_total(const uint64_t sums[VRT_KERNEL_CHECKSUM_ITEMS])
{
    uint64_t total = 0;

    for (size_t i = 0; i < VRT_KERNEL_CHECKSUM_ITEMS; i++)
        total += sums[i];
    return total;
}
