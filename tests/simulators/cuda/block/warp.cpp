/* SPDX-License-Identifier: MIT */
/* What lanes do together: barriers and shuffles. */

#include "tests/simulators/cuda/include/cuda_runtime.h"

namespace {

void pass(void *const *, unsigned)
{
}

void shuffle(void *const *args, unsigned mask)
{
    unsigned long long shown[32] = {};

    for (unsigned l = 0; l < 32; l++)
        if (mask >> l & 1)
            shown[l] = static_cast<vrt_sim_shuffle_arg *>(args[l])->value;
    for (unsigned l = 0; l < 32; l++) {
        if (!(mask >> l & 1))
            continue;
        auto *arg = static_cast<vrt_sim_shuffle_arg *>(args[l]);

        /* What a lane outside of the mask shows is undefined: NaN, whatever the type. */
        arg->value = mask >> arg->source & 1 ? shown[arg->source] : ~0ull;
    }
}

}

const vrt_sim_collective vrt_sim_syncwarp = {"__syncwarp()", pass};
const vrt_sim_collective vrt_sim_shuffle = {"a shuffle", shuffle};
