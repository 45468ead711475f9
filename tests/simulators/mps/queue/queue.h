/* SPDX-License-Identifier: MIT */
#pragma once

/* MTLCommandQueue: a thread that runs command buffers in the order in which they were committed. */

#include "tests/simulators/mps/metal/device.h"

struct mtl_command_buffer;
struct mtl_worker;

struct mtl_queue {
    struct mtl_base base;
    struct mtl_device *device;
    struct mtl_worker *worker;
    unsigned n_open;                    /* command buffers that aren't completed; under the lock */
};

extern const struct mtl_class mtl_queue_class;

struct mtl_queue *mtl_queue_new(struct mtl_device *device);

/* Has the thread run the command buffer, of which it keeps a reference until then. */
void mtl_queue_commit(struct mtl_queue *queue, struct mtl_command_buffer *buffer);
