/* SPDX-License-Identifier: MIT */
#pragma once

/* A wrong bit in what a command writes: large in any float that has it. */

#include "tests/simulators/xpu/queue/command.h"

struct drv_flip;

/*
 * Locked. Before the launch: remembers what its arguments point to. NULL: no memory, nothing will
 * be flipped.
 */
struct drv_flip *drv_flip_new(const struct drv_launch *launch);

/* Return: NULL. */
struct drv_flip *drv_flip_free(struct drv_flip *flip);

VRT_DEFINE_CLEANUP(struct drv_flip, drv_flip_free)

/* Locked. After it: changes a bit in the first memory that is not what it was. */
void drv_flip_launch(const struct drv_flip *flip);

/* Changes a bit of these bytes. */
void drv_flip_bytes(uint8_t *bytes, size_t n_bytes);
