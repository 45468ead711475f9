/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A queue of command buffers: committed in order, counted from 1, and waited for with patience
 *
 * Metal's own wait has no end, so each command buffer tells when it is completed, on a thread of
 * Metal's. Which ones failed is kept: it matters to whoever's work they were part of, in whatever
 * order these ask.
 *
 * Thread: that of the device, but for what Metal calls.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/mps/metal.h"

/* Command buffers that may be under way at a time: Metal has 64. */
#define VRT_MPS_IN_FLIGHT 16

struct vrt_mps_queue;

/* What Metal calls when a command buffer is completed: a block that lives for ever, as compilers
 * lay one out, and what it knows. */
struct vrt_mps_flight {
    const void *class;
    int flags, reserved;
    void (*invoke)(struct vrt_mps_flight *flight, vrt_metal_id commands);
    const void *descriptor;

    struct vrt_mps_queue *queue;
    uint64_t number;
    bool is_done;
};

/* Command buffers first .. last, all of which failed. */
struct vrt_mps_failure {
    uint64_t first, last;
    long code;                      /* MTLCommandBufferError */
};

/* How many such are told apart. */
#define VRT_MPS_FAILURES 16

struct vrt_mps_queue {
    vrt_metal_id queue;             /* NULL: it was never begun */
    uint64_t n_committed, n_finished;       /* n_finished: those before are done, too */

    pthread_mutex_t lock;           /* of what follows */
    pthread_cond_t changed;
    struct vrt_mps_flight flights[VRT_MPS_IN_FLIGHT];       /* of number n: n % VRT_MPS_IN_FLIGHT */
    struct vrt_mps_failure failures[VRT_MPS_FAILURES];      /* the oldest may be joined */
    int n_failures;
    char why[160];                  /* of the last */
};

/* Result of a wait that took longer than the patience. */
#define VRT_MPS_STUCK (-1L)

/* Makes a queue of the device. Return: whether it could. */
bool vrt_mps_queue_init(struct vrt_mps_queue *queue, vrt_metal_id device);

/* Gives it back; nothing is under way. One of zeros is fine. */
void vrt_mps_queue_done(struct vrt_mps_queue *queue);

/* A command buffer to be filled, until the pool ends; NULL: there is none. */
vrt_metal_id vrt_mps_queue_begin(struct vrt_mps_queue *queue);

/* Commits it as number n_committed, after a wait where too many are under way. Return: 0;
 * VRT_MPS_STUCK; VRT_METAL_OUT_OF_MEMORY where it is NULL. */
long vrt_mps_queue_commit(struct vrt_mps_queue *queue, vrt_metal_id commands, uint64_t patience_ns);

/* Waits for number n and those before, for each as long as that. Return: 0, or VRT_MPS_STUCK. */
long vrt_mps_queue_await(struct vrt_mps_queue *queue, uint64_t n, uint64_t patience_ns);

/* What became of those behind number `after`, up to n, which were waited for. Return: 0, or the
 * MTLCommandBufferError of one; what Metal said of the last that failed is in `ret_why`. */
long vrt_mps_queue_failure(struct vrt_mps_queue *queue, uint64_t after, uint64_t n, char *ret_why,
                           size_t size);
