/* SPDX-License-Identifier: MIT */
#pragma once

/* VMAF, by the filter libvmaf of the ffmpeg that the user has: few systems package the library. */

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"

struct vrt_vmaf_params {
    const char *reference, *distorted;      /* paths */
    int64_t crop;                           /* pixels at each edge that don't count */
    size_t n_frames;                        /* that each has */
    const volatile sig_atomic_t *interrupt; /* isn't 0: end it */
};

struct vrt_vmaf {
    double mean, harmonic_mean, min;        /* as libvmaf pools them */
    double *frames;                         /* of each, as many as were asked for; to free */
    size_t worst;                           /* index of the first that has the least */
};

/* Whether there is such an ffmpeg. Return: 0; -errno, in `error` the sentence that says what is
 * missing. */
int vrt_vmaf_check(const volatile sig_atomic_t *interrupt, struct vrt_error *error) VRT_MUST_CHECK;

/* Compares frame n of one with frame n of the other, whatever their times, by libvmaf's usual
 * model. Return: 0; -EINTR: interrupted; -errno, with `error`. */
int vrt_vmaf_compute(const struct vrt_vmaf_params *params, struct vrt_vmaf *ret_vmaf,
                     struct vrt_error *error) VRT_MUST_CHECK;
