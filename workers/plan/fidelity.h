/* SPDX-License-Identifier: MIT */
#pragma once

/* What a network loses in a reduced precision. Thread: that of the device. */

#include "backend/backend.h"
#include "model/network.h"

struct vrt_fidelity_params {
    const struct vrt_network *network;
    enum vrt_dtype dtype;           /* the reduced precision */
    /* Runs the network by vrt_test_picture_run() with weights of this type, which nobody needs
     * afterwards. Return: as that. */
    int (*run)(void *ctx, enum vrt_dtype dtype, float *out);
    void *ctx;
};

/*
 * PSNR in dB of the network's output in the reduced precision against its output in f32, which is
 * made first: 200 where they are equal, 0 where the result isn't finite.
 * Return: 0; as run(); -errno.
 */
int vrt_fidelity_measure(const struct vrt_fidelity_params *params, double *ret_db);
