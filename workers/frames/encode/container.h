/* SPDX-License-Identifier: MIT */
#pragma once

/* The containers that a finished video can have. */

#include "base/error.h"
#include "frames/encode/encoder.h"
#include "frames/warnings.h"

/* "mp4" and the like. Thread: any. */
const char *vrt_container_name(enum vrt_container container);

/* Whether it is Matroska, or the part of it that WebM is. Thread: any. */
bool vrt_container_is_matroska(enum vrt_container container);

/* Whether it is QuickTime's, or MP4, which came of that. Thread: any. */
bool vrt_container_is_mov(enum vrt_container container);

/*
 * The container that the file name `name` asks for by its ending, in any case.
 * Return: 0; -EINVAL with a sentence that lists the endings. Thread: any.
 */
int vrt_container_from_name(const char *name, enum vrt_container *ret_container,
                            struct vrt_error *error);

/* Whether `container` can hold `codec`. Return: 0; -EINVAL with a sentence. Thread: any. */
int vrt_container_check_codec(enum vrt_container container, enum vrt_codec codec,
                              struct vrt_error *error);

/*
 * Whether `container` can hold pictures that come at this rate; `fps` 0/1: unknown. What is rounded
 * is a warning.
 * Return: 0; -EINVAL with a sentence. Thread: any.
 */
int vrt_container_check_rate(enum vrt_container container, struct vrt_rational fps, bool variable,
                             struct vrt_warnings *warnings, struct vrt_error *error);

/* What a file holds: frames of its video, and other packets. */
struct vrt_container_load {
    double n_frames, n_packets, frame_bytes, packet_bytes, duration_s;
};

/* What a file of this kind takes besides, in bytes: right within a tenth or so. Thread: any. */
double vrt_container_overhead_bytes(enum vrt_container container,
                                    const struct vrt_container_load *load);

/* What is encoded, and into what. */
struct vrt_container_content {
    enum vrt_container container;
    enum vrt_codec codec;
    const struct vrt_frame_format *format;
};

/*
 * Whether who plays the file will know what its colours mean. Return: 0, with what he must guess
 * in `warnings`; -EINVAL with a sentence: he would guess wrong. Thread: any.
 */
int vrt_container_check_colors(const struct vrt_container_content *content,
                               struct vrt_warnings *warnings, struct vrt_error *error);
