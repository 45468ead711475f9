/* SPDX-License-Identifier: MIT */
#pragma once

/* The decoder of a stream, set up as a reader needs it. For the reader alone. */

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

#include "base/error.h"
#include "frames/decode/source.h"

/*
 * Opens a decoder with `n_threads` (0: one per core); where `is_alpha`, of those that there are for
 * the codec the one that knows transparency. Codecs that are known but can't be read are told from
 * those that aren't known. Return: 0; -ENOSYS or another -errno, with a sentence.
 * Its `opaque` is NULL, or the count of errors of a struct vrt_damage_packet, by which it decodes
 * into that's places. Whatever is returned, avcodec_free_context() frees *ret_decoder.
 */
int vrt_decoder_open(const struct vrt_source *source, const AVStream *stream, int n_threads,
                     bool is_alpha, AVCodecContext **ret_decoder, struct vrt_error *error);
