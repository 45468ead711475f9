/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A fuzz target: fuzz-NAME.c with one function, listed in meson.build.
 *
 * Built with clang and -Dfuzz=true it becomes a fuzzer (libFuzzer); in every build replay.c runs
 * it over its corpus, where whatever a fuzzer found is kept. A target ends the process by
 * vrt_assert() where something does not hold; the sanitizers see the rest.
 */

#include <stddef.h>
#include <stdint.h>

/* Tries the bytes. Return: 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
