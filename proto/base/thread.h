/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Which thread runs this function?
 *
 * A thread says once what it is; what begins or ends a life on the loop checks it, by
 * vrt_assert_thread(VRT_THREAD_LOOP). A thread that never said anything is VRT_THREAD_ANY, and
 * passes every such check: unit tests call what they like.
 */

#include <sys/types.h>

#include "base/error.h"

enum vrt_thread_role {
    VRT_THREAD_ANY,
    VRT_THREAD_LOOP,        /* the daemon's: everything a user can name */
    VRT_THREAD_WORKER,      /* one per device, and one per job's reader and writer */
    VRT_THREAD_POOL,        /* computes on behalf of a worker; touches nothing but its tensors */
};

/*
 * Says what the calling thread is, and names it `name` (15 bytes are kept) for debuggers.
 *
 * Workers and pools then take no signal that is sent to the process, and neither do the threads
 * that they, or libraries on their behalf, start from now on: drivers and decoders are not
 * interrupted, and the thread that waits for signals gets them. What a thread brings upon itself
 * (SIGSEGV, SIGBUS, SIGFPE, ...) still reaches it.
 */
void vrt_thread_set_role(enum vrt_thread_role role, const char *name);

/*
 * The calling thread, and those it starts from now on, compute for long: they stay behind threads
 * that answer, by `nice` (never a higher priority than before) and by giving way to them.
 */
void vrt_thread_set_background(int nice);

/*
 * The calling thread, and those it starts from now on until they say otherwise, answer somebody who
 * waits: they compute little at a time, and come before what computes for long.
 */
void vrt_thread_set_responsive(void);

/* Gives the threads of `process`, and those that they start from now on, the priority of the
 * calling thread, which is none higher than theirs. */
void vrt_thread_share_priority(pid_t process);

/* What the calling thread said it is. */
enum vrt_thread_role vrt_thread_role(void);

#define vrt_assert_thread(role) \
    vrt_assert(vrt_thread_role() == (role) || vrt_thread_role() == VRT_THREAD_ANY)
