/* SPDX-License-Identifier: MIT */

/*
 * A network's weights as CPU devices keep them: convolutions packed, vectors as they were
 *
 * All CPU devices of a process have one memory, so that what is packed is their replica: each
 * keeps a reference. It has an engine of oneDNN's of its own, because any of them may go first.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/products/deform.h"
#include "backend/cpu/device.h"
#include "backend/op/half.h"

#define ALIGN 64

struct cpu_packed {
    struct vrt_packed base;
    struct vrt_dnnl *dnnl;
    size_t n_params;
    struct vrt_cpu_param *params;
};

/* Whether it can be the weight of a conv2d. */
static bool is_convolution(const struct vrt_param *param)
{
    const int k = param->n_dims == 4 ? param->dims[2] : 0;

    return vrt_param_use_plain(param->use) == VRT_PARAM_WEIGHT && k % 2 == 1 && k <= 7 &&
           param->dims[3] == k;
}

/* Whether its conv2d is done by Winograd's algorithm. */
static bool is_winograd(const struct vrt_param *param, enum vrt_dtype dtype)
{
    return is_convolution(param) && vrt_winograd_fits(param->dims, dtype);
}

static bool is_matrix(const struct vrt_param *param)
{
    return param->n_dims == 2 && param->use != VRT_PARAM_TABLE;
}

static bool is_deform(const struct vrt_param *param)
{
    return vrt_param_use_plain(param->use) == VRT_PARAM_WEIGHT_DEFORM && param->n_dims == 4 &&
           param->dims[2] == 3 && param->dims[3] == 3;
}

static size_t n_elements(const struct vrt_param *param)
{
    size_t n = 1;

    for (int i = 0; i < param->n_dims; i++)
        n *= (size_t)param->dims[i];
    return n;
}

static int keep_values(const struct vrt_param *param, struct vrt_cpu_param *kept)
{
    kept->values = malloc(kept->n_values * sizeof(float));
    if (!kept->values)
        return vrt_raise(-ENOMEM);
    memcpy(kept->values, param->data, kept->n_values * sizeof(float));
    return 0;
}

/* A weight as the half of a unit; the rest: what that leaves of it. */
static uint32_t half_of(float weight, float *ret_rest)
{
    const uint16_t half = vrt_bf16_from_f32(weight);

    *ret_rest = weight - vrt_f32_from_bf16(half);
    return half;
}

/* [O,I,3,3] as "backend/cpu/products/deform.h" says. */
static int keep_deform(const struct vrt_param *param, struct vrt_cpu_param *kept)
{
    const size_t O = (size_t)param->dims[0], I = (size_t)param->dims[1], row = kept->row_units;
    const bool in_pairs = kept->is_split || kept->dtype != VRT_DTYPE_F32;
    const size_t pair_rows = kept->is_split ? 2 : 1;
    uint32_t *units = calloc(kept->n_halves, sizeof(uint16_t));

    if (!units)
        return vrt_raise(-ENOMEM);
    kept->matrix = units;
    for (size_t o = 0; o < O; o++)
    for (size_t i = 0; i < I; i++)
    for (size_t t = 0; t < 9; t++) {
        const size_t k = t * I + i;
        float weight = param->data[(o * I + i) * 9 + t];

        if (!in_pairs)
            units[k * row + o] = vrt_f32_bits(weight);
        for (size_t part = 0; in_pairs && part < pair_rows; part++) {
            uint32_t *unit = &units[(k / 2 * pair_rows + part) * row + o];
            *unit |= half_of(weight, &weight) << k % 2 * 16;
        }
    }
    return 0;
}

/* [O,I] as units: rows of f32, or of bf16 filled up with zeros and, split, of the rests. */
static int keep_matrix(const struct vrt_param *param, struct vrt_cpu_param *kept)
{
    const size_t O = (size_t)param->dims[0], I = (size_t)param->dims[1];

    if (!kept->n_halves) {
        int r = keep_values(param, kept);
        kept->matrix = kept->values;
        return r < 0 ? vrt_fold(r) : 0;
    }
    uint16_t *halves = calloc(kept->n_halves, sizeof(*halves));
    if (!halves)
        return vrt_raise(-ENOMEM);
    for (size_t o = 0; o < O; o++)
        for (size_t i = 0; i < I; i++) {
            uint16_t *to = &halves[o * 2 * kept->row_units + i];
            float rest;

            to[0] = (uint16_t)half_of(param->data[o * I + i], &rest);
            if (kept->is_split)
                to[kept->row_units] = vrt_bf16_from_f32(rest);
        }
    kept->matrix = halves;
    return 0;
}

/* [O,I,3,3] as "backend/cpu/conv/winograd.h" says. */
static int keep_winograd(const struct vrt_param *param, enum vrt_dtype dtype,
                         struct vrt_cpu_param *kept)
{
    kept->matrix = aligned_alloc(ALIGN, kept->n_halves * sizeof(uint16_t));
    if (!kept->matrix)
        return vrt_raise(-ENOMEM);
    vrt_winograd_pack(param, dtype, kept->matrix);
    return 0;
}

/* Whether its op is one that multiplies split numbers: vrt_op.is_exact of a matrix. */
static bool is_split(const struct vrt_param *param, enum vrt_dtype dtype)
{
    return dtype == VRT_DTYPE_BF16 && vrt_param_use_is_f32(param->use) &&
           (is_matrix(param) || is_deform(param)) &&
           vrt_cpu_split_kernel(is_matrix(param) ? VRT_OP_LINEAR : VRT_OP_DEFORM_CONV2D);
}

/* How a param will be kept, as its use says. Return: 0; -EINVAL: nothing here multiplies it in that
 * type; -ENOMEM, -EIO. */
static int lay_out(struct vrt_dnnl *dnnl, const struct vrt_param *param, enum vrt_dtype dtype,
                   struct vrt_cpu_param *kept)
{
    const size_t O = (size_t)param->dims[0], I = (size_t)(param->n_dims > 1 ? param->dims[1] : 1);

    kept->is_split = is_split(param, dtype);
    dtype = vrt_param_dtype(param, dtype);
    if (is_matrix(param) && (kept->is_split || dtype != VRT_DTYPE_F32)) {
        kept->dtype = dtype;
        kept->row_units = vrt_cpu_pairs(I) * (kept->is_split ? 2 : 1);
        kept->n_halves = O * 2 * kept->row_units;
    } else if (is_deform(param)) {
        kept->dtype = dtype;
        kept->row_units = vrt_cpu_deform_row(param->dims[0]);
        const size_t pairs = vrt_cpu_pairs(9 * I);
        const size_t rows = kept->is_split ? 2 * pairs : dtype != VRT_DTYPE_F32 ? pairs : 9 * I;
        kept->n_halves = 2 * kept->row_units * rows;
    } else if (is_winograd(param, dtype)) {
        kept->n_halves = 2 * vrt_winograd_floats(param->dims);
    } else if (is_convolution(param)) {
        int r = vrt_conv_weights_new(dnnl, param->dims, dtype, &kept->weights);
        return r == -ENOENT ? vrt_raise(-EINVAL) : vrt_fold(r);
    } else {
        kept->row_units = I;
        kept->n_values = n_elements(param);
    }
    return 0;
}

static size_t bytes_of(const struct vrt_cpu_param *kept)
{
    if (kept->weights)
        return vrt_conv_weights_bytes(kept->weights);
    return kept->n_values * sizeof(float) + kept->n_halves * sizeof(uint16_t);
}

static const void *data_of(const struct vrt_cpu_param *kept)
{
    if (kept->weights)
        return vrt_conv_weights_data(kept->weights);
    return kept->matrix ? kept->matrix : kept->values;
}

int vrt_cpu_packed_new(struct vrt_device *device, const struct vrt_pack *pack,
                       struct vrt_packed_place *places, struct vrt_packed **ret_packed)
{
    struct cpu_packed *packed;
    size_t offset = 0;
    int r;

    if (!vrt_cpu_multiplies(vrt_cpu_device_of(device), pack->dtype))
        return vrt_raise(-EINVAL);
    packed = calloc(1, sizeof(*packed));
    if (!packed)
        return vrt_raise(-ENOMEM);
    packed->base.is_shared = true;
    packed->params = calloc(pack->n_params + 1, sizeof(*packed->params));
    r = packed->params ? vrt_dnnl_new(1, &packed->dnnl) : vrt_raise(-ENOMEM);
    for (size_t i = 0; r == 0 && i < pack->n_params; i++) {
        struct vrt_cpu_param *kept = &packed->params[packed->n_params++];
        r = lay_out(packed->dnnl, &pack->params[i], pack->dtype, kept);
        if (r < 0)
            break;
        places[i].offset_bytes = offset;
        places[i].size_bytes = bytes_of(kept);
        offset += (places[i].size_bytes + 7) / 8 * 8;
    }
    if (r < 0) {
        vrt_cpu_packed_free(&packed->base);
        return r == -ENOMEM ? VRT_BACKEND_E_NOMEM : vrt_fold(r);
    }
    *ret_packed = &packed->base;
    return 0;
}

int vrt_cpu_packed_fill(struct vrt_packed *base, const struct vrt_pack *pack, size_t i)
{
    struct cpu_packed *packed = vrt_container_of(base, struct cpu_packed, base);
    struct vrt_cpu_param *kept = &packed->params[i];
    const struct vrt_param *param = &pack->params[i];
    const enum vrt_dtype dtype = vrt_param_dtype(param, pack->dtype);
    int r;

    if (kept->weights)
        r = vrt_conv_weights_fill(kept->weights, param);
    else if (is_winograd(param, dtype))
        r = keep_winograd(param, dtype, kept);
    else if (is_deform(param))
        r = keep_deform(param, kept);
    else if (is_matrix(param))
        r = keep_matrix(param, kept);
    else
        r = keep_values(param, kept);
    if (r < 0)
        return r == -ENOMEM ? VRT_BACKEND_E_NOMEM : vrt_fold(r);
    base->places[i].data = data_of(kept);
    return 0;
}

void vrt_cpu_packed_free(struct vrt_packed *base)
{
    struct cpu_packed *packed = vrt_container_of(base, struct cpu_packed, base);

    for (size_t i = 0; i < packed->n_params; i++) {
        struct vrt_cpu_param *kept = &packed->params[i];

        vrt_conv_weights_free(kept->weights);
        if (kept->matrix != kept->values)
            free(kept->matrix);
        free(kept->values);
    }
    vrt_dnnl_free(packed->dnnl);
    free(packed->params);
    free(packed);
}

int vrt_cpu_replica_begin(struct vrt_device *device, struct vrt_packed *base,
                          struct vrt_replica **ret_replica)
{
    const struct cpu_packed *packed = vrt_container_of(base, struct cpu_packed, base);
    struct vrt_cpu_replica *replica = calloc(1, sizeof(*replica));

    (void)device;
    if (!replica)
        return vrt_raise(-ENOMEM);
    replica->params = packed->params;
    *ret_replica = &replica->base;
    return 0;
}

void vrt_cpu_replica_free(struct vrt_device *device, struct vrt_replica *base)
{
    (void)device;
    free(vrt_container_of(base, struct vrt_cpu_replica, base));
}
