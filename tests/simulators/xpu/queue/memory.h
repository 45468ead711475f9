/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Memory, by the addresses that the API gives out
 *
 * The address of a device's memory is one that nobody can touch; its bytes lie elsewhere, where the
 * driver alone finds them. Memory of the host, and memory that host and device share, lies where
 * its address says. Each allocation ends where a page does, but for what its alignment asks for,
 * with pages on both sides that can't be touched. Its first 256 MiB are 0xff. An address is never
 * given out twice.
 */

#include "tests/simulators/xpu/driver/context.h"

struct drv_memory {
    struct drv_context *context;        /* its parent */
    struct drv_device *device;          /* whose it is; NULL: the host's */
    ze_memory_type_t type;
    char *address;                      /* what the API calls it */
    char *data;                         /* the bytes; NULL: freed */
    size_t n_bytes;
    char *mapping;                      /* that data lies in */
    size_t mapping_bytes, charged_bytes;
    unsigned life;                      /* of the device, when it was made */
};

/* Locked. The living or freed memory that `address` is in. NULL: it is none of ours. */
struct drv_memory *drv_memory_find(const void *address);

/*
 * Locked. Where the bytes lie that `device` reads or writes as the `n_bytes` at `address`, which
 * may be of plain host memory where `allow_host` says so. Return: NULL, and misuse, where it can't
 * have them: freed, of another context, out of the device's reach, or beyond the end.
 */
void *drv_memory_reach(const struct drv_context *context, const struct drv_device *device,
                       const void *address, size_t n_bytes, bool allow_host);

/* Locked. Says what was never freed: each is misuse. */
void drv_memory_report_leaks(void);
