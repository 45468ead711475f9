/* SPDX-License-Identifier: MIT */
#pragma once

/* MTLCommandBuffer: commands from the first encoder to the last, and how they went. */

#include "tests/simulators/mps/foundation/foundation.h"
#include "tests/simulators/mps/queue/command.h"
#include "tests/simulators/mps/queue/queue.h"

struct mtl_block;

struct mtl_command_buffer {
    struct mtl_base base;
    struct mtl_queue *queue;            /* retained */
    struct mtl_command *first, **last;
    bool has_encoder;                   /* one is open */
    struct mtl_block *handlers[16];
    unsigned n_handlers;
    struct mtl_command_buffer *next;    /* in its queue */
    /* Under the lock: */
    enum mtl_status {
        MTL_STATUS_NOT_ENQUEUED = 0,
        MTL_STATUS_COMMITTED = 2,
        MTL_STATUS_SCHEDULED = 3,
        MTL_STATUS_COMPLETED = 4,
        MTL_STATUS_ERROR = 5,
    } status;
    struct mtl_error *error;            /* or NULL */
    bool is_done;                       /* its handlers have run, too */
};

extern const struct mtl_class mtl_command_buffer_class;

/* A new one of the queue, which has counted it. */
struct mtl_command_buffer *mtl_command_buffer_new(struct mtl_queue *queue);

/* Dies unless it can still be written to, that is before commit. */
void mtl_command_buffer_expect_open(const struct mtl_command_buffer *buffer);

/* Adds a command, which is the buffer's then. */
void mtl_command_buffer_add(struct mtl_command_buffer *buffer, struct mtl_command *command);

/* Runs it to its end, with its handlers, and releases it. Thread: its queue's. */
void mtl_command_buffer_run(struct mtl_command_buffer *buffer);
