/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How far two sets of vectors are from each other, as two normal distributions are that have their
 * means and covariances (Fréchet 1957; Dowson and Landau 1982)
 *
 * Thread: any, one at a time.
 */

#include <stdint.h>

#include "base/cleanup.h"

/* Mean and covariance of vectors that come one by one; nothing is kept of them. */
struct vrt_gaussian;

/* Of `n_dims` dimensions. Return: 0; -ENOMEM. */
int vrt_gaussian_new(int n_dims, struct vrt_gaussian **ret_gaussian);

/* NULL is fine. Return: NULL. */
struct vrt_gaussian *vrt_gaussian_free(struct vrt_gaussian *gaussian);

/* Adds a vector of n_dims numbers, all finite. */
void vrt_gaussian_add(struct vrt_gaussian *gaussian, const float *x);

/* How many were added. */
int64_t vrt_gaussian_count(const struct vrt_gaussian *gaussian);

/*
 * |m1 - m2|^2 + tr(S1 + S2 - 2 (S1 S2)^(1/2)) of two with as many dimensions, each of at least two
 * vectors: m their means, S their covariances, divided by n - 1. Never below 0.
 * Return: 0; -ENOMEM.
 */
int vrt_frechet_distance(const struct vrt_gaussian *a, const struct vrt_gaussian *b,
                         double *ret_distance);

VRT_DEFINE_CLEANUP(struct vrt_gaussian, vrt_gaussian_free)
