/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A network on a small picture that is always the same, of dead leaves: discs of all sizes on top
 * of each other, which has the statistics of natural pictures, edges at each scale with flat areas
 * between them (Lee, Mumford, Huang: Occlusion Models for Natural Images, 2001)
 *
 * Thread: that of the device.
 */

#include <stddef.h>

#include "backend/backend.h"
#include "model/network.h"

/* What vrt_test_picture_psnr() says of equal pictures. */
#define VRT_TEST_PICTURE_EQUAL_DB 200.0

/* Numbers in what comes out of a trial of the network. */
size_t vrt_test_picture_n_out(const struct vrt_network *network);

/*
 * Runs the network on the device in the type of `replica`, which is of the network; `out` has room
 * for vrt_test_picture_n_out(). Return: 0; outcome; -EINVAL: an op isn't supported; -errno.
 */
int vrt_test_picture_run(struct vrt_device *device, const struct vrt_network *network,
                  struct vrt_replica *replica, enum vrt_dtype dtype, float *out);

/* PSNR in dB of what would be shown, values beyond [0,1] are clamped to it first; 0 where anything
 * isn't finite. */
double vrt_test_picture_psnr(const float *a, const float *b, size_t n);

/* The largest difference between any two; infinite where anything isn't finite. */
double vrt_test_picture_max_error(const float *a, const float *b, size_t n);
