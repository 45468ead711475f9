/* SPDX-License-Identifier: MIT */

/* Which op is done by which launcher, and of which types. */

#include "backend/cuda/device.h"

struct launcher {
    int (*launch)(const struct vrt_cuda_call *call);
    size_t (*workspace_bytes)(const struct vrt_cuda_limits *limits, const struct vrt_op *op);
};

static const struct launcher launchers[VRT_OP_KIND_COUNT] = {
    [VRT_OP_FILL] = { vrt_cuda_fill, NULL },
};

static bool is_supported_type(const struct vrt_cuda_device *cuda, enum vrt_dtype dtype)
{
    return dtype != VRT_DTYPE_BF16 || cuda->limits.capability >= 80;
}

bool vrt_cuda_supports(const struct vrt_device *device, const struct vrt_op *op)
{
    const struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);

    if (!launchers[op->kind].launch)
        return false;
    for (int i = 0; i < op->n_in; i++)
        if (vrt_op_in(op, i) && !is_supported_type(cuda, vrt_op_in(op, i)->dtype))
            return false;
    for (int i = 0; i < vrt_op_n_out(op); i++)
        if (!is_supported_type(cuda, vrt_op_out(op, i)->dtype))
            return false;
    return true;
}

size_t vrt_cuda_workspace_bytes(const struct vrt_device *device, const struct vrt_op *op)
{
    const struct launcher *launcher = &launchers[op->kind];

    return launcher->workspace_bytes ?
           launcher->workspace_bytes(&vrt_cuda_device_of(device)->limits, op) : 0;
}

int vrt_cuda_launch(const struct vrt_cuda_call *call)
{
    return launchers[call->op->kind].launch(call);
}
