/* SPDX-License-Identifier: MIT */
#pragma once

/* A bit that is wrong, on request: of what a dispatch or a copy wrote. */

#include "tests/simulators/mps/queue/command.h"

struct mtl_flip;

/* Remembers what is in the buffers that the dispatch may write to, which is about to run. */
struct mtl_flip *mtl_flip_new(const struct mtl_dispatch *dispatch);
void mtl_flip_free(struct mtl_flip *flip);

/* It has run: makes a bit wrong of the first number that it changed. NULL is left alone. */
void mtl_flip_strike(const struct mtl_flip *flip);

/* Makes a bit wrong in the middle of these bytes. */
void mtl_flip_bytes(char *bytes, size_t n_bytes);
