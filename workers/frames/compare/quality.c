/* SPDX-License-Identifier: MIT */

/*
 * The window is a product of a column's and a row's weights. Of each row of the pictures the
 * weighted sums of x, y, xx + yy and xy are made across; eleven such rows, which a ring keeps, then
 * make a row of SSIM. That the weights are the same from both ends halves the products.
 */

#include "frames/compare/quality.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"

#define WHITE 255.0
#define SIGMA 1.5
#define N VRT_QUALITY_WINDOW

/* Columns at a time. */
#define LANES 4

typedef double lanes __attribute__((vector_size(LANES * sizeof(double)),
                                    aligned(sizeof(double)), may_alias));

/* Red, green, blue, and luma. */
enum { LUMA = 3, N_CHANNELS };

/* What is summed under the window. */
enum { X, Y, SQUARES, XY, N_SUMS };

/* What is made of one channel of both pictures. Rows are longer than they are wide: what is read
 * or written behind their end is nobody's. */
struct lines {
    int width, height;              /* that count */
    size_t stride;
    double *row;                    /* [N_SUMS][stride]: of each pixel what is summed */
    double *across;                 /* [N_SUMS][N][stride]: of row y at y % N */
    double *under;                  /* [N_SUMS][stride]: of a row of windows */
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

/* Rows k and 10 - k, which have one weight. */
#define PAIR(k, i) \
    weights[k] * (*(const lanes *)(rows[k] + (i)) + *(const lanes *)(rows[N - 1 - (k)] + (i)))

/* out[i] = the weighted sum of rows[k][i], n columns and up to LANES more. */
_Static_assert(N == 11, "there are five pairs of rows, and one in their middle");

static void weigh(const double weights[N], const double *const rows[N], int n, double *out)
{
    /* A loop over k isn't unrolled by compilers, which then takes twice as long. */
    for (int i = 0; i < n; i += LANES)
        *(lanes *)(out + i) = weights[5] * *(const lanes *)(rows[5] + i) + PAIR(0, i) +
                              PAIR(1, i) + PAIR(2, i) + PAIR(3, i) + PAIR(4, i);
}

static double *across_at(const struct lines *lines, int sum, int row)
{
    return lines->across + ((size_t)sum * N + (size_t)(row % N)) * lines->stride;
}

static void sum_across(const struct lines *lines, int row)
{
    const double *shifted[N];

    for (int sum = 0; sum < N_SUMS; sum++) {
        for (int k = 0; k < N; k++)
            shifted[k] = lines->row + (size_t)sum * lines->stride + k;
        weigh(lines->weights, shifted, lines->width - N + 1, across_at(lines, sum, row));
    }
}

/* The sum of SSIM of the windows whose last row this is. */
static double ssim_of(const struct lines *lines, int row)
{
    const double c1 = 0.01 * WHITE * (0.01 * WHITE), c2 = 0.03 * WHITE * (0.03 * WHITE);
    const int w = lines->width - N + 1;
    const double *rows[N], *s[N_SUMS];
    double ssim = 0;

    for (int sum = 0; sum < N_SUMS; sum++) {
        double *under = lines->under + (size_t)sum * lines->stride;
        for (int k = 0; k < N; k++)
            rows[k] = across_at(lines, sum, row + 1 + k);
        weigh(lines->weights, rows, w, under);
        s[sum] = under;
    }
    for (int i = 0; i < w; i++) {
        const double xy = s[X][i] * s[Y][i];
        const double squares = s[X][i] * s[X][i] + s[Y][i] * s[Y][i];
        ssim += (2 * xy + c1) * (2 * (s[XY][i] - xy) + c2) /
                ((squares + c1) * (s[SQUARES][i] - squares + c2));
    }
    return ssim;
}

static double sample(const uint8_t *rgb, int channel)
{
    if (channel < LUMA)
        return rgb[channel];
    return 16 + (65.481 * rgb[0] + 128.553 * rgb[1] + 24.966 * rgb[2]) / WHITE;
}

/* Takes a row of a channel. Return: the sum of the squares of how far they are apart. */
static double take_row(const struct lines *lines, const uint8_t *const rgb[2], int channel)
{
    double *x = lines->row, *y = x + lines->stride;
    double *squares = y + lines->stride, *xy = squares + lines->stride;
    double error = 0;

    for (int i = 0; i < lines->width; i++) {
        x[i] = sample(rgb[0] + (size_t)i * 3, channel);
        y[i] = sample(rgb[1] + (size_t)i * 3, channel);
        squares[i] = x[i] * x[i] + y[i] * y[i];
        xy[i] = x[i] * y[i];
        error += (x[i] - y[i]) * (x[i] - y[i]);
    }
    return error;
}

/* One channel, which has a thread of its own. */
struct channel {
    const struct vrt_quality_picture *pictures;
    int number, width, height, crop;
    double error, ssim;
    int r;
};

static void compare(struct channel *channel, const struct lines *lines)
{
    const double n = (double)lines->width * lines->height;
    const double n_windows = (double)(lines->width - N + 1) * (lines->height - N + 1);

    for (int row = 0; row < lines->height; row++) {
        const uint8_t *rgb[2];
        for (int p = 0; p < 2; p++)
            rgb[p] = channel->pictures[p].rgb + (size_t)channel->crop * 3 +
                     (size_t)(row + channel->crop) * channel->pictures[p].stride_bytes;
        channel->error += take_row(lines, rgb, channel->number) / n;
        sum_across(lines, row);
        if (row >= N - 1)
            channel->ssim += ssim_of(lines, row) / n_windows;
    }
}

static void *run(void *ctx)
{
    struct channel *channel = ctx;
    struct lines lines = { .width = channel->width - 2 * channel->crop,
                           .height = channel->height - 2 * channel->crop };

    lines.stride = (size_t)lines.width + N + LANES;
    VRT_CLEANUP(vrt_freep) double *memory = calloc((2 + N) * N_SUMS * lines.stride,
                                                   sizeof(*memory));
    if (!memory) {
        channel->r = vrt_raise(-ENOMEM);
        return NULL;
    }
    lines.row = memory;
    lines.under = lines.row + N_SUMS * lines.stride;
    lines.across = lines.under + N_SUMS * lines.stride;
    set_weights(lines.weights);
    compare(channel, &lines);
    return NULL;
}

int vrt_quality_of(const struct vrt_quality_picture pictures[2], int width, int height, int crop,
                   struct vrt_quality *ret_quality)
{
    struct channel channels[N_CHANNELS];
    pthread_t threads[N_CHANNELS];
    bool has_thread[N_CHANNELS];
    int r = 0;

    for (int c = 0; c < N_CHANNELS; c++) {
        channels[c] = (struct channel){ pictures, c, width, height, crop };
        has_thread[c] = c > 0 && pthread_create(&threads[c], NULL, run, &channels[c]) == 0;
    }
    for (int c = 0; c < N_CHANNELS; c++) {
        if (has_thread[c])
            pthread_join(threads[c], NULL);
        else
            run(&channels[c]);
        r = r < 0 ? r : channels[c].r;
    }
    if (r < 0)
        return vrt_fold(r);
    *ret_quality = (struct vrt_quality){
        .error_rgb = (channels[0].error + channels[1].error + channels[2].error) / 3,
        .error_y = channels[LUMA].error,
        .ssim_rgb = (channels[0].ssim + channels[1].ssim + channels[2].ssim) / 3,
        .ssim_y = channels[LUMA].ssim,
    };
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
