/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Convolutions of 3x3 by a quarter of the products: Winograd's F(4x4, 3x3)
 *
 * Y = A' [(G g G') * (B' d B)] A, of A. Lavin and S. Gray, "Fast Algorithms for Convolutional
 * Neural Networks" (2015): d is a tile of 6x6 of the input, g are weights, Y is 4x4 of the output,
 * and * multiplies the 36 elements one by one, so that over channels it is 36 products of
 * matrices. The polynomials' points are 0, +-1/sqrt(2), +-sqrt(2) and infinity, with which sums
 * have twice the rounding error of plain ones; with the paper's 0, +-1, +-2 it is four times.
 *
 * What is transformed is f32 in bf16, too, where it would lose too much: so many fewer products
 * outweigh that vectors multiply twice as many bf16 at once. Tiles (AMX) multiply still more, and
 * so bf16 is oneDNN's where there are such.
 */

#include "backend/backend.h"

#define VRT_WINOGRAD_OUT 4              /* rows and columns of a tile of the output */
#define VRT_WINOGRAD_IN 6               /* the same of the input */
#define VRT_WINOGRAD_PRODUCTS 36

/* The most output channels that a block of weights has. */
#define VRT_WINOGRAD_BLOCK 64

/* The points +-P and +-Q; P * Q = 1. */
#define VRT_WINOGRAD_P 0.70710678118654752
#define VRT_WINOGRAD_Q 1.41421356237309505

/*
 * Weights lie in blocks of output channels, [O / block,36,I,block] f32: O filled up with zeros to
 * whole blocks, which are multiples of 16. Return: channels of a block.
 */
int vrt_winograd_block(int outputs);

/* Whether a convolution of [O,I,K,K] weights of this type is done so. */
bool vrt_winograd_fits(const int dims[4], enum vrt_dtype dtype);

/* How many floats [O,I,3,3] weights become. */
size_t vrt_winograd_floats(const int dims[4]);

/* Rounds [O,I,3,3] weights to this type and transforms them: to `to`, vrt_winograd_floats(). */
void vrt_winograd_pack(const struct vrt_param *param, enum vrt_dtype dtype, float *to);
