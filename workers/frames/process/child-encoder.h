/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The functions of encoder.h, with the same contracts, as asked of a process: as in child.h
 */

#include "frames/encode/encoder.h"
#include "frames/process/child.h"

struct vrt_child_encoder;

/* A child has one encoder at a time; its segment stays open as long. */
int vrt_child_codec_find(struct vrt_child *child, enum vrt_codec codec,
                         struct vrt_codec_found *ret_found, struct vrt_error *error);
int vrt_child_codec_check(struct vrt_child *child, enum vrt_codec codec, struct vrt_error *error);
int vrt_child_encoder_pick_format(struct vrt_child *child, const struct vrt_encoder_pick *pick,
                                  struct vrt_frame_format *ret_format,
                                  struct vrt_warnings *warnings, struct vrt_error *error);
int vrt_child_encoder_try(struct vrt_child *child, const struct vrt_encoder_params *params,
                          struct vrt_error *error) VRT_MUST_CHECK;
int vrt_child_encoder_new(struct vrt_child *child, const struct vrt_encoder_params *params, int fd,
                          struct vrt_child_encoder **ret_encoder,
                          struct vrt_error *error) VRT_MUST_CHECK;
int vrt_child_encoder_send(struct vrt_child_encoder *encoder, struct vrt_frame *frame,
                           struct vrt_error *error) VRT_MUST_CHECK;
int vrt_child_encoder_finish(struct vrt_child_encoder *encoder, int64_t *ret_size_bytes,
                             struct vrt_error *error) VRT_MUST_CHECK;
struct vrt_child_encoder *vrt_child_encoder_free(struct vrt_child_encoder *encoder);
int vrt_child_encoder_check_segment(struct vrt_child *child,
                                    const struct vrt_encoder_params *params, int fd,
                                    struct vrt_error *error) VRT_MUST_CHECK;

VRT_DEFINE_CLEANUP(struct vrt_child_encoder, vrt_child_encoder_free)
