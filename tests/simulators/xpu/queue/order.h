/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * In which order a list's commands are done
 *
 * A card is free to begin a command before an earlier one has ended, unless a barrier or an event
 * stands between. By VRT_XPU_ORDER it makes use of that: what needs nothing that isn't done may
 * come first, and so a missing barrier shows as wrong bits.
 */

#include "tests/simulators/xpu/queue/list.h"

/* Locked. Reads VRT_XPU_ORDER. Return: false where it is nonsense; it says so. */
bool drv_order_read(void);

/* Locked, but while it works. Does the list's commands. Return: as drv_command_run(). */
ze_result_t drv_list_run(const struct drv_list *list, const struct drv_place *place);
