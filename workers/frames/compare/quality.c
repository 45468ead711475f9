/* SPDX-License-Identifier: MIT */

/*
 * The window is a product of a column's and a row's weights. Of each row of the pictures the
 * weighted sums of x, y, xx, yy and xy are made across; eleven such rows then make a row of SSIM.
 */

#include "frames/compare/quality.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"

#define WHITE 255.0
#define SIGMA 1.5
#define N VRT_QUALITY_WINDOW

/* What is summed under the window. */
enum { X, Y, XX, YY, XY, N_SUMS };

/* Of both pictures one channel, [h,w], and what is made of them. */
struct planes {
    int width, height;
    double *samples[2];
    double *across;                 /* [N_SUMS][h][w - N + 1] */
    double weights[N];
};

static void set_weights(double weights[N])
{
    double sum = 0;

    for (int i = 0; i < N; i++) {
        const double x = i - N / 2;
        weights[i] = exp(-x * x / (2 * SIGMA * SIGMA));
        sum += weights[i];
    }
    for (int i = 0; i < N; i++)
        weights[i] /= sum;
}

static double error_of(const struct planes *planes)
{
    const size_t n = (size_t)planes->width * (size_t)planes->height;
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        const double d = planes->samples[0][i] - planes->samples[1][i];
        sum += d * d;
    }
    return sum / (double)n;
}

static double *sums_at(const struct planes *planes, int sum, int row)
{
    const size_t w = (size_t)(planes->width - N + 1);

    return planes->across + ((size_t)sum * (size_t)planes->height + (size_t)row) * w;
}

static void sum_across(const struct planes *planes, int row)
{
    const double *x = planes->samples[0] + (size_t)row * (size_t)planes->width;
    const double *y = planes->samples[1] + (size_t)row * (size_t)planes->width;
    const int w = planes->width - N + 1;

    for (int sum = 0; sum < N_SUMS; sum++) {
        const double *a = sum == Y || sum == YY ? y : x, *b = sum == XX ? x : y;
        double *restrict out = sums_at(planes, sum, row);
        for (int i = 0; i < w; i++)
            out[i] = 0;
        for (int k = 0; k < N; k++)
            for (int i = 0; i < w; i++)
                out[i] += planes->weights[k] * (sum >= XX ? a[i + k] * b[i + k] : a[i + k]);
    }
}

/* Of the window at row, column. */
static double ssim_at(const struct planes *planes, int row, int column)
{
    const double c1 = 0.01 * WHITE * (0.01 * WHITE), c2 = 0.03 * WHITE * (0.03 * WHITE);
    double s[N_SUMS] = { 0 };

    for (int sum = 0; sum < N_SUMS; sum++)
        for (int k = 0; k < N; k++)
            s[sum] += planes->weights[k] * sums_at(planes, sum, row + k)[column];
    const double xy = s[X] * s[Y], squares = s[X] * s[X] + s[Y] * s[Y];
    return (2 * xy + c1) * (2 * (s[XY] - xy) + c2) /
           ((squares + c1) * (s[XX] + s[YY] - squares + c2));
}

static double ssim_of(const struct planes *planes)
{
    const int w = planes->width - N + 1, h = planes->height - N + 1;
    double sum = 0;

    for (int row = 0; row < planes->height; row++)
        sum_across(planes, row);
    for (int row = 0; row < h; row++)
        for (int column = 0; column < w; column++)
            sum += ssim_at(planes, row, column);
    return sum / ((double)w * h);
}

/* Red, green or blue; 3: luma. */
static double sample(const uint8_t *rgb, int channel)
{
    if (channel < 3)
        return rgb[channel];
    return 16 + (65.481 * rgb[0] + 128.553 * rgb[1] + 24.966 * rgb[2]) / WHITE;
}

static void take_channel(const struct vrt_quality_picture pictures[2], int crop, int channel,
                         struct planes *planes)
{
    for (int p = 0; p < 2; p++) {
        double *out = planes->samples[p];
        for (int y = 0; y < planes->height; y++) {
            const uint8_t *row = pictures[p].rgb + (size_t)(y + crop) * pictures[p].stride_bytes;
            for (int x = 0; x < planes->width; x++)
                *out++ = sample(row + (size_t)(x + crop) * 3, channel);
        }
    }
}

int vrt_quality_of(const struct vrt_quality_picture pictures[2], int width, int height, int crop,
                   struct vrt_quality *ret_quality)
{
    struct planes planes = { .width = width - 2 * crop, .height = height - 2 * crop };
    const size_t n = (size_t)planes.width * (size_t)planes.height;
    VRT_CLEANUP(vrt_freep) double *memory = calloc((2 + N_SUMS) * n, sizeof(*memory));
    struct vrt_quality quality = { .error_rgb = 0 };

    if (!memory)
        return vrt_raise(-ENOMEM);
    planes.samples[0] = memory;
    planes.samples[1] = memory + n;
    planes.across = memory + 2 * n;
    set_weights(planes.weights);
    for (int channel = 0; channel < 4; channel++) {
        take_channel(pictures, crop, channel, &planes);
        const double error = error_of(&planes), ssim = ssim_of(&planes);
        if (channel == 3) {
            quality.error_y = error;
            quality.ssim_y = ssim;
        } else {
            quality.error_rgb += error / 3;
            quality.ssim_rgb += ssim / 3;
        }
    }
    *ret_quality = quality;
    return 0;
}

double vrt_quality_psnr(double error)
{
    return error > 0 ? 10 * log10(WHITE * WHITE / error) : INFINITY;
}

void vrt_quality_add(struct vrt_quality_sums *sums, int64_t time_ns,
                     const struct vrt_quality *quality)
{
    const double psnr_y = vrt_quality_psnr(quality->error_y);

    if (sums->n_frames == 0 || psnr_y < sums->worst_psnr_y) {
        sums->worst_psnr_y = psnr_y;
        sums->worst_ns = time_ns;
    }
    sums->n_frames++;
    sums->n_equal += quality->error_rgb <= 0 ? 1 : 0;
    sums->psnr_rgb += vrt_quality_psnr(quality->error_rgb);
    sums->psnr_y += psnr_y;
    sums->quality.error_rgb += quality->error_rgb;
    sums->quality.error_y += quality->error_y;
    sums->quality.ssim_rgb += quality->ssim_rgb;
    sums->quality.ssim_y += quality->ssim_y;
}

struct vrt_quality_means vrt_quality_mean(const struct vrt_quality_sums *sums)
{
    const double n = (double)sums->n_frames;

    return (struct vrt_quality_means){
        .n_frames = sums->n_frames,
        .n_equal = sums->n_equal,
        .psnr_rgb = sums->psnr_rgb / n,
        .psnr_y = sums->psnr_y / n,
        .psnr_rgb_overall = vrt_quality_psnr(sums->quality.error_rgb / n),
        .psnr_y_overall = vrt_quality_psnr(sums->quality.error_y / n),
        .ssim_rgb = sums->quality.ssim_rgb / n,
        .ssim_y = sums->quality.ssim_y / n,
        .worst_ns = sums->worst_ns,
        .worst_psnr_y = sums->worst_psnr_y,
    };
}
