/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How near one picture is to another, as VRT's authors and others test: of RGB in 8 bits, without
 * so many rows and columns at each edge. Pure; each channel has a thread meanwhile.
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

/* How near all frames of a video are to those of another. PSNR in decibels. */
struct vrt_quality_means {
    int64_t n_frames, n_equal;          /* of those so many are the same, in RGB */
    double psnr_rgb, psnr_y;            /* the mean of all frames; INFINITY: of one it is */
    double psnr_rgb_overall, psnr_y_overall;        /* of the mean of their errors */
    double ssim_rgb, ssim_y;            /* the mean */
    int64_t worst_ns;                   /* when the first frame is shown that has the least PSNR */
    double worst_psnr_y;                /* of Y, and that */
};

/* What they follow from; zero before the first frame. */
struct vrt_quality_sums {
    int64_t n_frames, n_equal, worst_ns;
    double psnr_rgb, psnr_y, worst_psnr_y;
    struct vrt_quality quality;
};

/* Adds a frame that is shown at this time. */
void vrt_quality_add(struct vrt_quality_sums *sums, int64_t time_ns,
                     const struct vrt_quality *quality);

/* What the sums of one frame and more come to. */
struct vrt_quality_means vrt_quality_mean(const struct vrt_quality_sums *sums);
