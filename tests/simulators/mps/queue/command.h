/* SPDX-License-Identifier: MIT */
#pragma once

/* What a command buffer holds: dispatches, copies, and events to wait for or to signal. */

#include "tests/simulators/mps/execution/run.h"
#include "tests/simulators/mps/metal/buffer.h"
#include "tests/simulators/mps/metal/event.h"
#include "tests/simulators/mps/metal/pipeline.h"

struct mtl_dispatch {
    struct mtl_pipeline *pipeline;                      /* retained */
    struct mtl_buffer *buffers[VRT_MSL_BUFFERS];        /* retained; NULL: none, or bytes */
    struct mtl_memory bytes[VRT_MSL_BUFFERS];           /* of setBytes */
    struct mtl_grid grid;
};

struct mtl_copy {
    struct mtl_buffer *from, *to;                       /* retained */
    size_t from_offset, to_offset, n_bytes;
};

struct mtl_event_use {
    struct mtl_event *event;                            /* retained */
    uint64_t value;
};

struct mtl_command {
    struct mtl_command *next;
    enum mtl_command_kind {
        MTL_COMMAND_DISPATCH,
        MTL_COMMAND_COPY,
        MTL_COMMAND_SIGNAL,
        MTL_COMMAND_WAIT,
    } kind;
    union {
        struct mtl_dispatch dispatch;
        struct mtl_copy copy;
        struct mtl_event_use event;
    };
};

/* A new one, of this kind, in which nothing is set. */
struct mtl_command *mtl_command_new(enum mtl_command_kind kind);

/* Gives it back with all that it retains. NULL is left alone. */
void mtl_command_free(struct mtl_command *command);

/* Does it, on the thread of its queue. What waits for an event ends when the device is gone. */
void mtl_command_run(const struct mtl_command *command, struct mtl_device *device,
                     struct mtl_outcome *ret_outcome);
