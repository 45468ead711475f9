/* SPDX-License-Identifier: MIT */
#pragma once

/* kernels.metal, and what its kernels are to compute. */

#include "tests/simulators/mps/tests/bench.h"

/* The text, with one of its mistakes; 0: none. It stays until the next call. */
const char *kernels_text(int mutant);

/* Runs all of them, and ends the test where one computes what it shouldn't. */
void kernels_check(id device, int mutant);

/* Each by itself. Return: NULL, or what is wrong. */
struct kernels_case {
    const char *name;
    const char *(*check)(id device, id pipeline);
};
extern const struct kernels_case kernels_cases[];

/* Runs one of them, with a mistake. Return: likewise. */
const char *kernels_run(id device, const struct kernels_case *it, int mutant);
