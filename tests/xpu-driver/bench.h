/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * For tests of the driver: each case is a process of its own, since a driver reads its settings
 * once, and what the driver says at its end is part of what is tested.
 */

#include <level_zero/ze_api.h>

#include "tests/unit/test.h"

#define BENCH_MISUSE 70                 /* how a process ends that broke the specification */

/*
 * Runs `run` in a process of its own whose environment has these settings ("NAME=VALUE", up to
 * NULL), and ends the test unless it exits with `status`, and writes `says` somewhere on standard
 * error; NULL: nothing at all.
 */
void bench_run(void (*run)(void), const char *const *settings, int status, const char *says);

/* Where one process of the test has failed if the call wasn't a success. */
#define expect_ok(call) expect_int(call, ZE_RESULT_SUCCESS)

/* zeInit(), the driver, and its devices: at most `max` of them. Return: how many. */
unsigned bench_open(unsigned max, ze_driver_handle_t *ret_driver, ze_device_handle_t *ret_devices);

/* A context for all devices. */
ze_context_handle_t bench_context(ze_driver_handle_t driver);
