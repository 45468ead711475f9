/* SPDX-License-Identifier: MIT */
#pragma once

/* Which params of the replica an op uses, and of what shape they must be. */

#include "backend/backend.h"

#define VRT_OP_MAX_PARAMS 12

struct vrt_op_param {
    const char *name;               /* "weight", "qkv bias": as messages call it */
    int index;                      /* in the replica */
    enum vrt_param_use use;         /* WEIGHT and WEIGHT_DEFORM stand for their _F32 */
    int n_dims;
    int dims[4];
};

/* Fills in the params that `op` uses; the optional ones that it does without are left out. The op's
 * shapes are as vrt_op_check() wants them. Return: how many. */
int vrt_op_params(const struct vrt_op *op, struct vrt_op_param params[VRT_OP_MAX_PARAMS]);
