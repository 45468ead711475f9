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

/* The most that one op multiplies by. */
#define VRT_OP_MAX_WEIGHTS 3

/* Fills in the params that `op` uses; the optional ones that it does without are left out. The op's
 * shapes are as vrt_op_check() wants them. Return: how many. */
int vrt_op_params(const struct vrt_op *op, struct vrt_op_param params[VRT_OP_MAX_PARAMS]);

/* Fills in the indices of those of them that it multiplies by, which decide its weight_dtype: no
 * vectors, no tables. Return: how many; 0: it has no weights. */
int vrt_op_weights(const struct vrt_op *op, int indices[VRT_OP_MAX_WEIGHTS]);

/*
 * Finds the type that the op's weights have among `params`, n of them, of a replica of `dtype`, and
 * fills in weight_dtype, f32 where it has no weights, and is_exact. The op may have any shapes.
 * Return: NULL, or what is wrong: one isn't there, or they are of several types.
 */
const char *vrt_op_find_weights(struct vrt_op *op, const struct vrt_param *params, size_t n,
                                enum vrt_dtype dtype);
