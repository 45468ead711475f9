/* SPDX-License-Identifier: MIT */

/* Which convolutions Winograd's algorithm is used for, and their weights: G g G'. */

#include "backend/cpu/conv/winograd.h"

#include <string.h>

#include "backend/cpu/isa/tiles.h"
#include "backend/op/half.h"

/* With fewer channels the transforms cost more than the products save; and none fill a vector. */
#define MIN_CHANNELS 16

#define VECTOR 16               /* floats of the longest vectors there are */

int vrt_winograd_block(int outputs)
{
    const int vectors = (outputs + VECTOR - 1) / VECTOR;
    const int blocks = (vectors * VECTOR + VRT_WINOGRAD_BLOCK - 1) / VRT_WINOGRAD_BLOCK;

    return (vectors + blocks - 1) / blocks * VECTOR;
}

bool vrt_winograd_fits(const int dims[4], enum vrt_dtype dtype)
{
    return dims[2] == 3 && dims[0] >= MIN_CHANNELS && dims[1] >= MIN_CHANNELS &&
           (dtype == VRT_DTYPE_F32 || !vrt_cpu_tiles());
}

static int n_blocks(int outputs)
{
    const int block = vrt_winograd_block(outputs);

    return (outputs + block - 1) / block;
}

size_t vrt_winograd_floats(const int dims[4])
{
    return (size_t)(n_blocks(dims[0]) * vrt_winograd_block(dims[0])) * (size_t)dims[1] *
           VRT_WINOGRAD_PRODUCTS;
}

/* G times a column of three: for a point p, the column as a polynomial at p, divided by the product
 * of p's distances from the other points; for infinity, its last element. */
static void transform(const double g[3], double ret_u[VRT_WINOGRAD_IN])
{
    static const double points[] = {
        0, VRT_WINOGRAD_P, -VRT_WINOGRAD_P, VRT_WINOGRAD_Q, -VRT_WINOGRAD_Q,
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(points); i++) {
        double distances = 1;

        for (size_t j = 0; j < VRT_ARRAY_SIZE(points); j++)
            if (j != i)
                distances *= points[i] - points[j];
        ret_u[i] = (g[0] + points[i] * (g[1] + points[i] * g[2])) / distances;
    }
    ret_u[VRT_WINOGRAD_IN - 1] = g[2];
}

/* from [3,3], u [6,6] */
static void transform_both(const float *from, enum vrt_dtype dtype,
                           double u[VRT_WINOGRAD_IN][VRT_WINOGRAD_IN])
{
    double g[3][3], rows[3][VRT_WINOGRAD_IN];

    for (int i = 0; i < 9; i++)
        g[i / 3][i % 3] = (double)(dtype == VRT_DTYPE_BF16
                                       ? vrt_f32_from_bf16(vrt_bf16_from_f32(from[i]))
                                       : from[i]);
    for (int y = 0; y < 3; y++)
        transform(g[y], rows[y]);
    for (int x = 0; x < VRT_WINOGRAD_IN; x++) {
        double column[VRT_WINOGRAD_IN];

        transform((double[3]){ rows[0][x], rows[1][x], rows[2][x] }, column);
        for (int y = 0; y < VRT_WINOGRAD_IN; y++)
            u[y][x] = column[y];
    }
}

void vrt_winograd_pack(const struct vrt_param *param, enum vrt_dtype dtype, float *to)
{
    const int O = param->dims[0], I = param->dims[1], block = vrt_winograd_block(O);

    memset(to, 0, vrt_winograd_floats(param->dims) * sizeof(*to));
    for (int o = 0; o < O; o++)
    for (int i = 0; i < I; i++) {
        double u[VRT_WINOGRAD_IN][VRT_WINOGRAD_IN];

        transform_both(param->data + ((size_t)o * (size_t)I + (size_t)i) * 9, dtype, u);
        for (int p = 0; p < VRT_WINOGRAD_PRODUCTS; p++) {
            const size_t row = (size_t)(o / block * VRT_WINOGRAD_PRODUCTS + p) * (size_t)I +
                               (size_t)i;
            to[row * (size_t)block + (size_t)(o % block)] =
                (float)u[p / VRT_WINOGRAD_IN][p % VRT_WINOGRAD_IN];
        }
    }
}
