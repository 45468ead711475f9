/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A Level Zero driver made of software, for the real loader
 *
 * ZE_ENABLE_ALT_DRIVERS=/path/libvrt-xpu-driver.so puts it in the place of Intel's. It describes
 * its devices as Arc A770 cards, and runs kernels in SPIR-V on the CPU by PoCL. Work is
 * asynchronous, a thread for each queue. A host that touches the memory of a device, and a kernel
 * that leaves an allocation, end there and then.
 *
 * What the specification leaves undefined is refused here: the call fails, a line on standard error
 * says why, and the process ends with status 70, unless it fails anyway. So does what still exists
 * at the end of the process.
 *
 * Settings, in the environment, read by zeInit():
 *     VRT_XPU_DEVICES=N         cards there are, 0 to 64 (1)
 *     VRT_XPU_TILES=N           subdevices of each, 1 to 4 (1: none)
 *     VRT_XPU_MEMORY_MIB=N,...  memory of each card (16384); the last is that of all further ones
 *     VRT_XPU_PEER=1            each card reaches the others' memory (0)
 *     VRT_XPU_SYSMAN=0          Sysman isn't answered (1); 2: the user isn't allowed to ask
 *     VRT_XPU_VERSION=N         the driver's version, of which its native binaries are (1)
 *     VRT_XPU_DPAS=1            modules that use matrix units are executed, and one that doesn't
 *                               build is misuse (0: such modules don't build)
 *     VRT_XPU_INTEGRATED=1      they say that their memory is the host's (0)
 *     VRT_XPU_CACHE=FOLDER      what is compiled is kept there (a folder of its own in $TMPDIR)
 *     VRT_XPU_FAULTS=RULES      what fails and when: see faults.h
 *     VRT_XPU_CONTROL=FILE      the same, while the process runs
 *     VRT_XPU_ORDER=...         of what no barrier orders: forward, reverse, random:SEED (forward)
 *     VRT_XPU_REPORT=FILE       what was done is counted there: see report.h
 *     VRT_XPU_TIMELINE=FILE     when copies and kernels went on: likewise
 *     VRT_XPU_STRICT=0          misuse and leaks only print a line (1)
 * and as with any driver
 *     ZE_AFFINITY_MASK=LIST     which cards and tiles are there: 0,1.1
 *     ZES_ENABLE_SYSMAN=1       without it Sysman isn't answered either
 *
 * Thread: any, in all functions of the driver; those that say "locked" between drv_enter() and
 * drv_leave().
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <level_zero/ze_api.h>

#include "base/cleanup.h"
#include "base/macro.h"

/* A call into the driver, which holds its lock; it is never looked at. */
struct __attribute__((unused)) drv_call {
    const char *outer;                  /* the call that this one is part of; NULL: none */
};

/*
 * Begins the call `function`, named "drv_" and what the API calls it: takes the lock.
 *
 *     VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
 */
struct drv_call drv_enter(const char *function) VRT_MUST_CHECK;

/* Ends it. */
void drv_leave(const struct drv_call *call);

/* Locked. Gives the lock away for what takes long, and takes it back. */
void drv_unlock(void);
void drv_relock(void);

/*
 * Locked. Sleeps, the lock given away, until something changed, or the clock (base/clock.h) shows
 * `deadline_ns`. Return: false where it does.
 */
bool drv_wait(int64_t deadline_ns);

/* Locked. Sleeps likewise until somebody signals `bell`, whatever else changed: what waits for one
 * thing for long isn't woken by all that happens on other devices. */
void drv_wait_for(pthread_cond_t *bell);

/* Locked. Sleeps for so long whatever changes, the lock given away; 0: not at all. */
void drv_sleep(int64_t ns);

/* Locked. The deadline of a wait that takes `timeout_ns` at most, as the API counts them. */
int64_t drv_deadline(uint64_t timeout_ns);

/* Locked. Wakes all that drv_wait(). */
void drv_changed(void);

/*
 * Locked. Says on standard error that the call under way breaks the specification, and counts it.
 * Return: result, for `return drv_misuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "...")`.
 */
ze_result_t drv_misuse(ze_result_t result, const char *format, ...) VRT_PRINTF(2, 3);

/*
 * What the API asks of a function that lists things: `have` of them, where the caller wants to know
 * how many (no array, or *count 0), else as many as fit; to ask for more than there are is taken
 * for misuse. Return: how many to write.
 */
uint32_t drv_list_count(uint32_t *count, uint32_t have, const void *array);
