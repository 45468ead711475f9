/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Golden files: what networks' original definitions computed. tests/data/make-golden.py tells what
 * is in them; what isn't there, or not as it should be, ends the test.
 */

#include "engine/checkpoint.h"
#include "model/network.h"

/* The file NAME.safetensors in tests/data ("vrt/sr-pa2"), to be freed. */
struct vrt_checkpoint *golden_open(const char *name);

/* How many numbers the entry `key` has ("config.depths"). */
int golden_count(const struct vrt_checkpoint *golden, const char *key);

/* The i-th number of the entry `key`, which is an integer. */
int golden_int(const struct vrt_checkpoint *golden, const char *key, int i);

/* The parameter of the i-th entry of shapes, its extents in dims[]; NULL where entry i is of
 * something else. */
const char *golden_nth_parameter(const struct vrt_checkpoint *golden, int i, int dims[5],
                                 int *ret_n_dims);

/* The tensor of the i-th entry of samples, or NULL where entry i is of something else. */
const char *golden_nth_name(const struct vrt_checkpoint *golden, int i);

/* Samples of a tensor: element k * stride of it, flattened, for each k. */
struct golden_samples {
    int stride, count;
    float *values;                  /* to be freed */
};

/* Those of the tensor called `name`. */
struct golden_samples golden_read(const struct vrt_checkpoint *golden, const char *name);

/* Checks that the network's weights are those that the samples were computed with: the first and
 * last value of each that is listed. */
void golden_check_params(const struct vrt_checkpoint *golden, const struct vrt_network *network);
