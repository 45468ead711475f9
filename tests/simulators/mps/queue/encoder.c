/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/queue/encoder.h"

void *mtl_encoder_new(const struct mtl_class *class, struct mtl_command_buffer *buffer)
{
    mtl_command_buffer_expect_open(buffer);
    if (buffer->has_encoder)
        mtl_die("another encoder of the command buffer is open");
    struct mtl_encoder *encoder = mtl_new(class);
    encoder->buffer = mtl_retain(buffer);
    buffer->has_encoder = true;
    return encoder;
}

void mtl_encoder_expect_open(const struct mtl_encoder *encoder)
{
    if (encoder->is_ended)
        mtl_die("the encoder has ended");
}

void mtl_encoder_end(struct mtl_encoder *encoder)
{
    mtl_encoder_expect_open(encoder);
    encoder->is_ended = true;
    encoder->buffer->has_encoder = false;
}

void mtl_encoder_done(struct mtl_encoder *encoder)
{
    if (!encoder->is_ended)
        mtl_die("the encoder is freed before endEncoding");
    mtl_release(encoder->buffer);
}
