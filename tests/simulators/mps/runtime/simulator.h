/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A Mac's Metal made of software: one library in the place of libobjc and of Metal
 *
 * VRT_MPS_LIBRARY=/path/libvrt-mps-sim.so is where vrtd looks for both. Messages are sent as on a
 * Mac, MSL is compiled as C++ and runs on the CPU, a thread to each thread of a threadgroup. Work
 * is asynchronous: each command queue has a thread of the host.
 *
 * What Metal dies of, or leaves undefined, ends the process: one line on standard error names the
 * message, then abort().
 *
 * Settings, in the environment, read at the first call:
 *     VRT_MPS_DEVICES=N         GPUs there are, 0 to 8 (1)
 *     VRT_MPS_MEMORY_MB=N       the working set of each, beyond which nothing is allocated (16384)
 *     VRT_MPS_UNIFIED=0         their memory isn't the host's (1)
 *     VRT_MPS_FAMILY=N          1001 to 1009: Apple's, with simdgroup_matrix since 1007 (1007);
 *                               2002: an Intel Mac's, without
 *     VRT_MPS_SYSTEM=N          the version of macOS: 13, or 14, which knows MSL 3.1 (14)
 *     VRT_MPS_ORDER=...         of threads and threadgroups: forward, reverse, random:SEED
 *                               (forward)
 *     VRT_MPS_FAULTS=RULES      what fails and when: see faults.h
 *     VRT_MPS_CACHE=FOLDER      what is compiled is kept there (a folder of its own in $TMPDIR)
 *     VRT_MPS_REPORT=1          objects that are alive at the end are said on standard error, and
 *                               the process ends with status 70 (0)
 *
 * Thread: any, in all functions of the simulator; those that say "locked" between mtl_lock() and
 * mtl_unlock().
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/macro.h"

#define MTL_EXPORT __attribute__((visibility("default")))

/* Reads the settings, and dies where they are nonsense; any later call does nothing. */
void mtl_start(void);

/* Takes and gives the one lock, which is never held while a client's code runs. */
void mtl_lock(void);
void mtl_unlock(void);

/*
 * Locked. Sleeps, the lock given away, until something changed or the clock (base/clock.h) shows
 * `deadline_ns`; INT64_MAX: never. Return: false where it does.
 */
bool mtl_wait(int64_t deadline_ns);

/* Locked. Sleeps likewise until somebody signals `bell`: an idle thread isn't woken by all that
 * happens. */
void mtl_wait_for(pthread_cond_t *bell);

/* Locked. Wakes all that mtl_wait(). */
void mtl_changed(void);

/* Work that the process's end waits for a moment for, before what is left is reported: locked, its
 * begin; not locked, its end. */
void mtl_work_begin(void);
void mtl_work_end(void);

/* What the calling thread does now, for mtl_die(): "-[class selector]", or a function's name, where
 * `class_name` is NULL. The strings stay. */
void mtl_begin(const char *class_name, const char *selector);

/* Says on standard error what is wrong with the call under way, and aborts. */
void mtl_die(const char *format, ...) VRT_PRINTF(1, 2) VRT_NORETURN;

/* Memory that is 0; dies where there is none. */
void *mtl_allocate(size_t n_bytes);

/* A copy of a string, likewise. */
char *mtl_copy(const char *text);
