/* SPDX-License-Identifier: MIT */

/*
 * The eigenvalues of S1 S2 are the squares of the singular values of B1 B2', whatever B'B = S: so
 * that the trace of its root is the sum of those. Both come from one function, by which the rows of
 * a matrix are turned until they are at right angles (one-sided Jacobi rotations: Hestenes 1958):
 * their lengths are the singular values then. Of a symmetric S they are eigenvalue times
 * eigenvector, which divided by the root of their length make B. Nothing is squared on the way, and
 * fewer vectors than dimensions, where S has no inverse, are no special case.
 */

#include "model/fvd/frechet.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Ten do; where rounding has the last two rows turn for ever, they are right as they are. */
#define SWEEPS_MAX 40

struct vrt_gaussian {
    int n_dims;
    int64_t n;
    double *mean;                   /* [n_dims] */
    double *scatter;                /* [n_dims,n_dims]: the covariance times n - 1 */
    double *off;                    /* [n_dims]: of the last vector from the mean before */
};

int vrt_gaussian_new(int n_dims, struct vrt_gaussian **ret_gaussian)
{
    const size_t n = (size_t)n_dims;
    VRT_CLEANUP(vrt_gaussian_freep) struct vrt_gaussian *gaussian = calloc(1, sizeof(*gaussian));

    if (!gaussian)
        return vrt_raise(-ENOMEM);
    gaussian->n_dims = n_dims;
    gaussian->mean = calloc(n, sizeof(double));
    gaussian->off = calloc(n, sizeof(double));
    gaussian->scatter = calloc(n * n, sizeof(double));
    if (!gaussian->mean || !gaussian->off || !gaussian->scatter)
        return vrt_raise(-ENOMEM);
    *ret_gaussian = VRT_STEAL(gaussian);
    return 0;
}

struct vrt_gaussian *vrt_gaussian_free(struct vrt_gaussian *gaussian)
{
    if (!gaussian)
        return NULL;
    free(gaussian->mean);
    free(gaussian->off);
    free(gaussian->scatter);
    free(gaussian);
    return NULL;
}

/* Welford 1962, "Note on a method for calculating corrected sums of squares and products". */
void vrt_gaussian_add(struct vrt_gaussian *gaussian, const float *x)
{
    const int n_dims = gaussian->n_dims;
    const double n = (double)++gaussian->n;
    double *row = gaussian->scatter;

    for (int i = 0; i < n_dims; i++) {
        gaussian->off[i] = x[i] - gaussian->mean[i];
        gaussian->mean[i] += gaussian->off[i] / n;
    }
    for (int i = 0; i < n_dims; i++, row += n_dims) {
        const double factor = gaussian->off[i] * (n - 1) / n;
        for (int k = 0; k < n_dims; k++)
            row[k] += factor * gaussian->off[k];
    }
}

int64_t vrt_gaussian_count(const struct vrt_gaussian *gaussian)
{
    return gaussian->n;
}

/* Four sums, none of which waits for another. */
static double dot(const double *a, const double *b, int n)
{
    double sums[4] = { 0 };
    int i;

    for (i = 0; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++)
            sums[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        sums[0] += a[i] * b[i];
    return sums[0] + sums[1] + (sums[2] + sums[3]);
}

/* Turns two rows in their plane until they are at right angles. Return: whether they weren't. */
static bool turn(double *p, double *q, int n, double least)
{
    const double pp = dot(p, p, n), qq = dot(q, q, n), pq = dot(p, q, n);

    /* What is left of a row that depends on others is rounding alone, at any angle. */
    if (pp <= least || qq <= least || fabs(pq) <= n * DBL_EPSILON * sqrt(pp) * sqrt(qq))
        return false;
    const double zeta = (qq - pp) / (2 * pq);
    const double t = copysign(1, zeta) / (fabs(zeta) + sqrt(1 + zeta * zeta));
    const double c = 1 / sqrt(1 + t * t), s = c * t;
    for (int i = 0; i < n; i++) {
        const double x = p[i], y = q[i];
        p[i] = c * x - s * y;
        q[i] = s * x + c * y;
    }
    return true;
}

/* Turns the rows of a square matrix until they are at right angles; those of no length but rounding
 * become 0. ret_lengths: of the rows. */
static void turn_rows(double *rows, int n, double *ret_lengths)
{
    bool turned = true;
    double most = 0;

    for (int i = 0; i < n; i++)
        most = fmax(most, dot(rows + (size_t)i * (size_t)n, rows + (size_t)i * (size_t)n, n));
    const double least = most * n * DBL_EPSILON * n * DBL_EPSILON;
    for (int sweep = 0; turned && sweep < SWEEPS_MAX; sweep++) {
        turned = false;
        for (int i = 0; i < n; i++)
            for (int k = i + 1; k < n; k++)
                turned |= turn(rows + (size_t)i * (size_t)n, rows + (size_t)k * (size_t)n, n,
                               least);
    }
    for (int i = 0; i < n; i++) {
        double *row = rows + (size_t)i * (size_t)n;
        const double square = dot(row, row, n);

        ret_lengths[i] = square > least ? sqrt(square) : 0;
        if (square <= least)
            memset(row, 0, (size_t)n * sizeof(*row));
    }
}

/* ret_root: B with B'B the covariance, and *ret_trace the trace of that. */
static void take_root(const struct vrt_gaussian *gaussian, double *ret_root, double *lengths,
                      double *ret_trace)
{
    const int n = gaussian->n_dims;

    *ret_trace = 0;
    for (size_t i = 0; i < (size_t)n * (size_t)n; i++)
        ret_root[i] = gaussian->scatter[i] / (double)(gaussian->n - 1);
    for (int i = 0; i < n; i++)
        *ret_trace += ret_root[(size_t)i * (size_t)n + (size_t)i];
    turn_rows(ret_root, n, lengths);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n && lengths[i] > 0; k++)
            ret_root[(size_t)i * (size_t)n + (size_t)k] /= sqrt(lengths[i]);
}

int vrt_frechet_distance(const struct vrt_gaussian *a, const struct vrt_gaussian *b,
                         double *ret_distance)
{
    const int n = a->n_dims;
    const size_t square = (size_t)n * (size_t)n;
    VRT_CLEANUP(vrt_freep) double *memory = calloc(3 * square + (size_t)n, sizeof(*memory));
    double traces[2], distance = 0;

    vrt_assert(b->n_dims == n && a->n > 1 && b->n > 1);
    if (!memory)
        return vrt_raise(-ENOMEM);
    double *roots[2] = { memory, memory + square }, *product = memory + 2 * square;
    double *lengths = memory + 3 * square;
    take_root(a, roots[0], lengths, &traces[0]);
    take_root(b, roots[1], lengths, &traces[1]);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            product[(size_t)i * (size_t)n + (size_t)k] =
                dot(roots[0] + (size_t)i * (size_t)n, roots[1] + (size_t)k * (size_t)n, n);
    turn_rows(product, n, lengths);
    for (int i = 0; i < n; i++) {
        const double off = a->mean[i] - b->mean[i];
        distance += off * off - 2 * lengths[i];
    }
    *ret_distance = fmax(distance + traces[0] + traces[1], 0);
    return 0;
}
