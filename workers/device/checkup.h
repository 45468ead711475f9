/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A checkup: what a device is made to show, so that somebody can tell whether it is well
 *
 * A kernel whose result is known to the last bit; weights that it holds, by checksums that it
 * computes; and a network on a small picture, whose result is for others to compare with that of
 * the reference device (vrt_checkup_refer()). Each part is tried, whatever became of those before,
 * unless the device is lost.
 *
 * Thread: that of the device until the task is done, then the loop's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "model/network.h"

/* Beside outcomes of the backend and -errno: it was computed, but not well. */
#define VRT_CHECKUP_E_WRONG 96

/* Not tried, for the device was lost before, or nobody wanted to know any more. */
#define VRT_CHECKUP_E_NOT_TRIED 97

/* A network's result, in one precision. */
struct vrt_checkup_run {
    enum vrt_dtype dtype;
    int result;                     /* 0; outcome; -errno; NOT_TRIED */
    float *out;                     /* [vrt_test_picture_n_out()], where the result is 0 */
};

#define VRT_CHECKUP_RUNS 2          /* in f32, and in what the device rather takes, if anything */

struct vrt_checkup {
    struct vrt_network *network;    /* a reference */

    int kernel_result;              /* 0; E_WRONG; outcome; -errno; NOT_TRIED */
    double kernel_max_error;        /* E_WRONG */

    int weights_result;             /* likewise */
    int n_weights, n_weights_wrong; /* networks that it holds; those it had in other bytes */
    int64_t weights_bytes;          /* of all */

    struct vrt_checkup_run runs[VRT_CHECKUP_RUNS];
    size_t n_runs;
};

/* For `network`, of which a reference is taken; nothing is tried yet. Return: 0, -ENOMEM. */
int vrt_checkup_new(struct vrt_network *network, struct vrt_checkup **ret_checkup);

/* Return: NULL. */
struct vrt_checkup *vrt_checkup_free(struct vrt_checkup *checkup);

/*
 * The kernel: a convolution of small integers, whose sums no order of additions changes. Return: 0;
 * VRT_CHECKUP_E_WRONG, with the largest error; outcome; -errno. Thread: that of the device.
 */
int vrt_checkup_run_kernel(struct vrt_device *device, double *ret_max_error);

/*
 * What the reference device makes of the network, in `out` of vrt_test_picture_n_out() numbers: on
 * one of its own, which nobody else uses. That takes about a second of the built-in network, and
 * minutes of large ones: those are computed `by_processor` in f32. Return: 0; outcome; -errno.
 * Thread: any.
 */
int vrt_checkup_refer(const struct vrt_network *network, bool by_processor, float *out);

VRT_DEFINE_CLEANUP(struct vrt_checkup, vrt_checkup_free)
