/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Memory faults of kernels
 *
 * While a kernel runs on a thread what would kill the process there ends the grid: with a sentence
 * that names the buffer whose guard pages were touched. Faults elsewhere are whoever's they were.
 */

#include "tests/simulators/mps/execution/run.h"

/* The calling thread runs kernels of this grid from now on; it does no longer. */
void mtl_fault_begin(const struct mtl_grid *grid);
void mtl_fault_end(void);

/* In redirect-*.cpp: what a signal interrupted goes on at `entry`, which never returns, on the
 * stack that it has. */
void mtl_redirect(void *context, void (*entry)(void));
