/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What is in a message, and what is ours: to the wire as it is, from the wire only what can be true
 *
 * vrt-media reads what a stranger made, and may say anything. vrt_..._take() refuses what no video
 * has; text is made printable UTF-8. Pure.
 */

#include "frames/process/message.h"

/* What is more could overflow when it is reckoned with: no video has so many nanoseconds, ticks or
 * frames. */
#define VRT_WIRE_NUMBER_MAX (INT64_MAX / 1024)

void vrt_wire_put_format(const struct vrt_frame_format *format,
                         struct vrt_message_format *ret_wire);
void vrt_wire_put_rational(struct vrt_rational q, struct vrt_message_rational *ret_wire);
void vrt_wire_put_warnings(const struct vrt_warnings *warnings,
                           struct vrt_message_warnings *ret_wire);
void vrt_wire_put_info(const struct vrt_reader_info *info, struct vrt_message_info *ret_wire);
void vrt_wire_put_encoder(const struct vrt_encoder_params *params,
                          struct vrt_message_encoder *ret_wire);

void vrt_wire_put_hdr(const struct vrt_hdr *hdr, struct vrt_message_hdr *ret_wire);

/* A name, cut where it is too long. */
void vrt_wire_put_name(const char *name, char ret_wire[VRT_MESSAGE_NAME_BYTES]);

/* The refusal of a function that returned `r`. */
void vrt_wire_put_error(int r, const struct vrt_error *error, struct vrt_message *ret_message);

/* Return: 0; -EBADMSG. */
int vrt_wire_take_format(const struct vrt_message_format *wire,
                         struct vrt_frame_format *ret_format) VRT_MUST_CHECK;

/* Return: 0; -EBADMSG. */
int vrt_wire_take_hdr(const struct vrt_message_hdr *wire, struct vrt_hdr *ret_hdr) VRT_MUST_CHECK;

/* Likewise; both numbers positive, or where `may_be_unknown` the first is 0. */
int vrt_wire_take_rational(const struct vrt_message_rational *wire, bool may_be_unknown,
                           struct vrt_rational *ret_q) VRT_MUST_CHECK;

/* Which streams go on; NULL: all. */
void vrt_wire_put_streams(const char *streams, char ret_wire[VRT_SETTING_NAME_BYTES]);

/* Adds the sentences. Return: 0; -EBADMSG. */
int vrt_wire_take_warnings(const struct vrt_message_warnings *wire,
                           struct vrt_warnings *warnings) VRT_MUST_CHECK;

/* Likewise the streams of an input, of whose numbers any may be unknown. Return: 0; -EBADMSG. */
int vrt_wire_take_stream_list(const struct vrt_stream_list *wire,
                              struct vrt_stream_list *ret_list) VRT_MUST_CHECK;

/* Return: 0; -EBADMSG. */
int vrt_wire_take_info(const struct vrt_message_info *wire,
                       struct vrt_reader_info *ret_info) VRT_MUST_CHECK;

/* Return: 0; -EBADMSG. */
int vrt_wire_take_found(const struct vrt_message_found *wire,
                        struct vrt_codec_found *ret_found) VRT_MUST_CHECK;

/* The strings are those of `wire`. Return: 0; -EBADMSG. */
int vrt_wire_take_encoder(struct vrt_message_encoder *wire,
                          struct vrt_encoder_params *ret_params) VRT_MUST_CHECK;

/*
 * The outcome of an answer: at most `outcome_max` where it isn't a failure. Return: it; -errno with
 * the sentence in `error`; -EBADMSG without one: no answer that a function of ours gives.
 */
int vrt_wire_take_result(const struct vrt_message *message, int outcome_max,
                         struct vrt_error *error) VRT_MUST_CHECK;
