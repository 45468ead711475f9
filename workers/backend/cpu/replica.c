/* SPDX-License-Identifier: MIT */

/* A network's weights as a CPU device keeps them: convolutions packed, vectors as they were. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/deform.h"
#include "backend/cpu/device.h"
#include "backend/half.h"

/* Whether it can be the weight of a conv2d. */
static bool is_convolution(const struct vrt_param *param)
{
    const int k = param->n_dims == 4 ? param->dims[2] : 0;

    return vrt_param_use_plain(param->use) == VRT_PARAM_WEIGHT && k % 2 == 1 && k <= 7 &&
           param->dims[3] == k;
}

static int keep_values(const struct vrt_param *param, struct vrt_cpu_param *ret_param)
{
    size_t n = 1;

    for (int i = 0; i < param->n_dims; i++)
        n *= (size_t)param->dims[i];
    ret_param->values = malloc(n * sizeof(float));
    if (!ret_param->values)
        return vrt_raise(-ENOMEM);
    memcpy(ret_param->values, param->data, n * sizeof(float));
    ret_param->n_values = n;
    return 0;
}

/* [O,I,3,3] as "backend/cpu/deform.h" says. */
static int keep_deform(const struct vrt_param *param, enum vrt_dtype dtype,
                       struct vrt_cpu_param *ret_param)
{
    const size_t O = (size_t)param->dims[0], I = (size_t)param->dims[1];
    const size_t row = vrt_cpu_deform_row(param->dims[0]);
    const bool in_pairs = dtype != VRT_DTYPE_F32;
    const size_t n_units = in_pairs ? (9 * I + 1) / 2 : 9 * I;
    uint32_t *units = calloc(n_units * row, sizeof(*units));

    if (!units)
        return vrt_raise(-ENOMEM);
    ret_param->dtype = dtype;
    ret_param->matrix = units;
    ret_param->row_units = row;
    ret_param->n_halves = n_units * row * 2;
    for (size_t o = 0; o < O; o++)
    for (size_t i = 0; i < I; i++)
    for (size_t t = 0; t < 9; t++) {
        const float weight = param->data[(o * I + i) * 9 + t];
        const size_t k = t * I + i;

        if (in_pairs)
            units[k / 2 * row + o] |= (uint32_t)vrt_bf16_from_f32(weight) << k % 2 * 16;
        else
            units[k * row + o] = vrt_f32_bits(weight);
    }
    return 0;
}

/* [O,I] as units: rows of f32, or of bf16 filled up to whole pairs. */
static int keep_matrix(const struct vrt_param *param, enum vrt_dtype dtype,
                       struct vrt_cpu_param *ret_param)
{
    const size_t O = (size_t)param->dims[0], I = (size_t)param->dims[1], pairs = (I + 1) / 2;

    if (dtype == VRT_DTYPE_F32) {
        int r = keep_values(param, ret_param);
        ret_param->matrix = ret_param->values;
        ret_param->row_units = I;
        return r ? vrt_fold(r) : 0;
    }
    uint16_t *halves = calloc(O * pairs, 2 * sizeof(*halves));
    if (!halves)
        return vrt_raise(-ENOMEM);
    for (size_t o = 0; o < O; o++)
        for (size_t i = 0; i < I; i++)
            halves[o * 2 * pairs + i] = vrt_bf16_from_f32(param->data[o * I + i]);
    ret_param->dtype = VRT_DTYPE_BF16;
    ret_param->matrix = halves;
    ret_param->row_units = pairs;
    ret_param->n_halves = O * 2 * pairs;
    return 0;
}

static bool is_matrix(const struct vrt_param *param)
{
    return param->n_dims == 2 && param->use != VRT_PARAM_TABLE;
}

/* As its use says. */
static int keep(const struct vrt_cpu_device *cpu, const struct vrt_param *param,
                enum vrt_dtype dtype, struct vrt_cpu_param *ret_param)
{
    if (vrt_param_use_is_f32(param->use))
        dtype = VRT_DTYPE_F32;
    if (is_matrix(param))
        return keep_matrix(param, dtype, ret_param);
    if (vrt_param_use_plain(param->use) == VRT_PARAM_WEIGHT_DEFORM)
        return keep_deform(param, dtype, ret_param);
    if (!is_convolution(param))
        return keep_values(param, ret_param);
    if (vrt_narrow_fits(param->dims, dtype))
        return vrt_narrow_weights_new(param, dtype, &ret_param->narrow);
    return vrt_conv_weights_new(cpu->dnnl, param, dtype, &ret_param->weights);
}

int vrt_cpu_replica_new(struct vrt_device *device, const struct vrt_param *params,
                        size_t n_params, enum vrt_dtype dtype, struct vrt_replica **ret_replica)
{
    struct vrt_cpu_device *cpu = vrt_cpu_device_of(device);
    struct vrt_cpu_replica *replica;
    int r = 0;

    if (!vrt_dnnl_supports(cpu->dnnl, dtype))
        return vrt_raise(-EINVAL);
    replica = calloc(1, sizeof(*replica));
    if (!replica)
        return vrt_raise(-ENOMEM);
    replica->params = calloc(n_params + 1, sizeof(*replica->params));
    if (!replica->params)
        r = vrt_raise(-ENOMEM);
    for (size_t i = 0; !r && i < n_params; i++)
        r = keep(cpu, &params[i], dtype, &replica->params[replica->n_params++]);
    if (r) {
        vrt_cpu_replica_free(device, &replica->base);
        return r == -ENOMEM ? VRT_BACKEND_E_NOMEM : vrt_fold(r);
    }
    *ret_replica = &replica->base;
    return 0;
}

void vrt_cpu_replica_free(struct vrt_device *device, struct vrt_replica *base)
{
    struct vrt_cpu_replica *replica = vrt_container_of(base, struct vrt_cpu_replica, base);

    (void)device;
    for (size_t i = 0; i < replica->n_params; i++) {
        vrt_conv_weights_free(replica->params[i].weights);
        vrt_narrow_weights_free(replica->params[i].narrow);
        if (replica->params[i].matrix != replica->params[i].values)
            free(replica->params[i].matrix);
        free(replica->params[i].values);
    }
    free(replica->params);
    free(replica);
}

size_t vrt_cpu_replica_bytes(const struct vrt_device *device, const struct vrt_replica *base)
{
    const struct vrt_cpu_replica *replica = vrt_container_of(base, struct vrt_cpu_replica, base);
    size_t bytes = 0;

    (void)device;
    for (size_t i = 0; i < replica->n_params; i++) {
        const struct vrt_cpu_param *param = &replica->params[i];

        bytes += param->n_values * sizeof(float) + param->n_halves * sizeof(uint16_t);
        if (param->weights)
            bytes += vrt_conv_weights_bytes(param->weights);
        if (param->narrow)
            bytes += vrt_narrow_weights_bytes(param->narrow);
    }
    return bytes;
}
