/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * For tests of the driver: each case is a process of its own, since a driver reads its settings
 * once, and what the driver says at its end is part of what is tested.
 */

#include <stdbool.h>

#include <level_zero/ze_api.h>

#include "tests/simulators/common/child.h"
#include "tests/unit/test.h"

#define BENCH_MISUSE 70                 /* how a process ends that broke the specification */

/* Where one process of the test has failed if the call wasn't a success. */
#define expect_ok(call) expect_int(call, ZE_RESULT_SUCCESS)

/* zeInit(), the driver, and its devices: at most `max` of them. Return: how many. */
unsigned bench_open(unsigned max, ze_driver_handle_t *ret_driver, ze_device_handle_t *ret_devices);

/* A context for all devices. */
ze_context_handle_t bench_context(ze_driver_handle_t driver);

/* What most cases begin with. */
struct bench {
    ze_driver_handle_t driver;
    ze_device_handle_t devices[8];
    unsigned n_devices;
    ze_context_handle_t context;
};

void bench_init(struct bench *bench);
void bench_done(struct bench *bench);

/* Memory of device `i`, or of the host (`i` < 0); freed by zeMemFree(). */
void *bench_alloc(const struct bench *bench, int i, size_t n_bytes);

/* An asynchronous queue of device `i`, of its copy engine if `copies`. */
ze_command_queue_handle_t bench_queue(const struct bench *bench, int i, bool copies);

/* A list of device `i`, open. */
ze_command_list_handle_t bench_list(const struct bench *bench, int i, bool copies);

/* A list of device `i` that does each command before its append returns. */
ze_command_list_handle_t bench_immediate(const struct bench *bench, int i);

/* The tests' kernels for device `i`. */
ze_module_handle_t bench_module(const struct bench *bench, int i);

/* One of them. */
ze_kernel_handle_t bench_kernel(ze_module_handle_t module, const char *name);

/* `n` events of a pool for the host and times. */
ze_event_pool_handle_t bench_events(const struct bench *bench, unsigned n, ze_event_handle_t *ret);

/* Closes the list, has the queue execute it, and waits. */
void bench_execute(ze_command_queue_handle_t queue, ze_command_list_handle_t list);

/* Copies at once, by a queue of the device. */
void bench_copy(const struct bench *bench, int i, void *to, const void *from, size_t n_bytes);

/* Sets an argument. */
#define bench_argument(kernel, index, value) \
    expect_ok(zeKernelSetArgumentValue(kernel, index, sizeof(value), &(value)))

#define WAIT_NS 20000000000ull          /* longer than anything takes */
