/* SPDX-License-Identifier: MIT */
#pragma once

/* What the process takes of the host's memory, as the kernel counts it. Thread: any. */

#include <stdint.h>

/* Starts a measurement. Return: the resident bytes now, for vrt_memory_growth(); -1: unknown. */
int64_t vrt_memory_mark(void);

/* The largest growth of the resident bytes since. Return: -1: unknown. */
int64_t vrt_memory_growth(int64_t mark_bytes);
