/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Failures on a schedule
 *
 *     0 alloc:3 fail; 1 call:200- lost; run:every=5 delay=2ms; 1 copy:1- slow=5
 *
 *     rule      [card] what:which effect; without a card it is about each of them
 *     what      call    each call of the API that gives the card something to do, or asks for it
 *               alloc   each allocation of its memory
 *               build   each module that is made for it of SPIR-V
 *               native  each that is made of a native binary of its own
 *               copy    each copy, as it is done
 *               run     each kernel, as it is run
 *     which     N, N-, N-M, or every=N: the Nth such event of the card, from 1
 *     effect    fail    alloc: no device memory; build, native: it isn't made
 *               lost    it is, from then on; lost=T: for so long
 *               mend    a lost card is back: what was made before stays dead
 *               hang    copy, run: it never ends, until the card is lost
 *               flip    copy, run: a bit is wrong of what it wrote
 *               slow=F  copy, run: it takes F times as long
 *               delay=T it waits first: T is 20us, 5ms or 1s
 *
 * VRT_XPU_FAULTS has the rules. VRT_XPU_CONTROL names a file of them, which may appear or change at
 * any time: they are then those of the file, and events are counted anew.
 */

#include "tests/simulators/xpu/devices/device.h"

enum drv_event_kind {
    DRV_AT_CALL,
    DRV_AT_ALLOC,
    DRV_AT_BUILD,
    DRV_AT_NATIVE,
    DRV_AT_COPY,
    DRV_AT_RUN,
    DRV_EVENT_KIND_COUNT,
};

/* What comes of an event. */
struct drv_fault {
    bool fails, hangs, flips;
    unsigned slow;                      /* 1: as fast as ever */
    int64_t delay_ns;
};

/* Locked. Reads the rules of the environment. Return: false where they are nonsense; it says so. */
bool drv_faults_read(void);

/*
 * Locked. Counts the event, and does what the rules say of the card itself: it is lost, or mended.
 * The rest is the caller's to do.
 */
struct drv_fault drv_faults_count(struct drv_device *device, enum drv_event_kind kind);

/* Locked. The file may have changed: what waits for nothing else looks now and then. */
void drv_faults_refresh(void);

/*
 * Locked. For calls of the API that need the card: counts DRV_AT_CALL. Return: DEVICE_LOST where it
 * is lost.
 */
ze_result_t drv_device_use(struct drv_device *device);
