/* SPDX-License-Identifier: MIT */
#pragma once

/* MTLComputeCommandEncoder and MTLBlitCommandEncoder: who writes into a command buffer. */

#include "tests/simulators/mps/queue/command-buffer.h"

/* What both begin with. */
struct mtl_encoder {
    struct mtl_base base;
    struct mtl_command_buffer *buffer;  /* retained */
    bool is_ended;
};

extern const struct mtl_class mtl_compute_encoder_class, mtl_blit_encoder_class;

/* A new one of this class; dies where another is open. */
void *mtl_encoder_new(const struct mtl_class *class, struct mtl_command_buffer *buffer);

/* Dies where it has ended. */
void mtl_encoder_expect_open(const struct mtl_encoder *encoder);

/* endEncoding. */
void mtl_encoder_end(struct mtl_encoder *encoder);

/* Gives back what both have; dies where it has not ended. */
void mtl_encoder_done(struct mtl_encoder *encoder);
