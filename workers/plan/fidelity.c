/* SPDX-License-Identifier: MIT */

#include "workers/plan/fidelity.h"

#include <errno.h>
#include <stdlib.h>

#include "model/test-picture.h"

int vrt_fidelity_measure(const struct vrt_fidelity_params *params, double *ret_db)
{
    const size_t n_out = vrt_test_picture_n_out(params->network);
    VRT_CLEANUP(vrt_freep) float *a = malloc(n_out * sizeof(float));
    VRT_CLEANUP(vrt_freep) float *b = malloc(n_out * sizeof(float));
    int r;

    if (!a || !b)
        return vrt_raise(-ENOMEM);
    r = params->run(params->ctx, VRT_DTYPE_F32, a);
    if (r != 0)
        return vrt_fold(r);
    r = params->run(params->ctx, params->dtype, b);
    if (r != 0)
        return vrt_fold(r);
    *ret_db = vrt_test_picture_psnr(a, b, n_out);
    return 0;
}
