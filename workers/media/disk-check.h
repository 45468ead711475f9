/* SPDX-License-Identifier: MIT */
#pragma once

/* Whether the disks will have room for a job's files. Thread: the decode thread. */

#include <stdint.h>

#include "frames/encode/encoder.h"
#include "frames/warnings.h"

struct vrt_disk_check {
    const struct vrt_encoder_params *encoder;
    int64_t n_frames;               /* -1: unknown */
    int spool_fd, output_fd;        /* -1: not looked at */
    const char *output_name;
};

/*
 * Estimates the size of the result, which is right within a factor of two or three, and warns where
 * a disk has clearly too little room. Return: bytes; -1: nobody can tell.
 */
int64_t vrt_disk_check_run(const struct vrt_disk_check *disk_check, struct vrt_warnings *warnings);
