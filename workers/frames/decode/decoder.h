/* SPDX-License-Identifier: MIT */
#pragma once

/* The decoder of a stream, set up as a reader needs it. For the reader alone. */

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

#include "base/error.h"
#include "frames/decode/reader.h"
#include "frames/decode/source.h"

/*
 * Opens a decoder as the reader's parameters say: with so many threads; where transparency is read,
 * of those that there are for the codec the one that knows it; by hardware the one that asks that.
 * Codecs that are known but can't be read are told from those that aren't known. Return: 0; -ENOSYS
 * or another -errno, with a sentence.
 * Its `opaque` is NULL, or the count of errors of a struct vrt_damage_packet, by which it decodes
 * into that's places. Whatever is returned, avcodec_free_context() frees *ret_decoder.
 */
int vrt_decoder_open(const struct vrt_source *source, const AVStream *stream,
                     const struct vrt_reader_params *params, AVCodecContext **ret_decoder,
                     struct vrt_error *error);

/* Has a frame that it gave out be what software would have decoded, where hardware did; OFF: it is.
 * Return: 0; as vrt_hwdec_fetch(). */
int vrt_decoder_fetch(enum vrt_hwdec hwdec, AVCodecContext *decoder, AVFrame *frame,
                      struct vrt_error *error);
