/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How near one picture is to another, as VRT's authors and others test: of RGB in 8 bits, without
 * so many rows and columns at each edge. Pure.
 *
 * The error is the mean square over the samples of red, green and blue, or of luma, where white is
 * 255 (PSNR = 10 log10(255^2 / error)). SSIM: Wang et al. 2004, "Image quality assessment", as
 * its authors' MATLAB code has it: a Gaussian window of 11 x 11 with sigma 1.5, only where all of
 * it is inside, K1 = 0.01, K2 = 0.03; of red, green and blue the mean of the three. Luma is ITU-R
 * BT.601's, from 16 to 235, not rounded.
 */

#include <stddef.h>
#include <stdint.h>

#define VRT_QUALITY_WINDOW 11

/* Samples R, G, B, R, ...; rows begin at multiples of the stride. */
struct vrt_quality_picture {
    const uint8_t *rgb;
    size_t stride_bytes;
};

struct vrt_quality {
    double error_rgb, error_y;          /* mean squares, 0 to 65025 */
    double ssim_rgb, ssim_y;            /* -1 to 1; 1: equal */
};

/*
 * Compares two pictures of width x height, of which `crop` are left out at each edge: what remains
 * is VRT_QUALITY_WINDOW a side at least. Return: 0; -ENOMEM.
 */
int vrt_quality_of(const struct vrt_quality_picture pictures[2], int width, int height, int crop,
                   struct vrt_quality *ret_quality);

/* In decibels; INFINITY where there is none. */
double vrt_quality_psnr(double error);
