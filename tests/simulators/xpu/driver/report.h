/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a process made of its cards, in the file VRT_XPU_REPORT at its end: a line for each figure,
 * "card figure number". Bytes are those of copies: from_host and to_host where the other end is the
 * host's memory, of whatever kind, from_card where it is another card's. faults are the rules of
 * schedules (faults.h) that came true on the card, each counted once.
 */

#include "tests/simulators/xpu/driver/faults.h"

/* Locked. Counts a copy; an owner is NULL where it is the host's memory. */
void drv_report_copy(const struct drv_device *to_owner, const struct drv_device *from_owner,
                     size_t n_bytes);

/* Locked. `used_bytes` of the device's memory are in use. */
void drv_report_use(const struct drv_device *device, uint64_t used_bytes);

/* Locked. An event, as the schedule of faults counts them. */
void drv_report_event(const struct drv_device *device, enum drv_event_kind kind);

/* Locked. A rule of a schedule came true on the device for the first time. */
void drv_report_fault(const struct drv_device *device);

/* Locked. The device did something since then: a line "card engine begin end" in the file
 * VRT_XPU_TIMELINE, if there is to be one; of the engines up, run and down; nanoseconds. */
void drv_report_span(const struct drv_device *device, const char *engine, int64_t start_ns);

/* Locked. Writes the file, if there is to be one. */
void drv_report_write(unsigned n_misuses);
