/* SPDX-License-Identifier: MIT */
#pragma once

/* What a network loses in a reduced precision. Thread: that of the device. */

#include "backend/backend.h"
#include "model/network.h"

/* Below this the precision isn't chosen unless it was asked for. */
#define VRT_FIDELITY_MIN_DB 50.0

struct vrt_fidelity_params {
    const struct vrt_network *network;
    struct vrt_replica *full;       /* of the network, in f32 */
    struct vrt_replica *reduced;    /* in `dtype` */
    enum vrt_dtype dtype;
};

/*
 * PSNR in dB of the network's output in the reduced precision against its output in f32, both on
 * this device, on a fixed picture: 200 where they are equal, 0 where the result isn't finite.
 * Return: 0; outcome; -EINVAL: an op isn't supported; -errno.
 */
int vrt_fidelity_measure(struct vrt_device *device, const struct vrt_fidelity_params *params,
                         double *ret_db);
