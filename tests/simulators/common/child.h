/* SPDX-License-Identifier: MIT */
#pragma once

/* For tests of simulators: cases in processes of their own. */

/*
 * Runs `run` in a process of its own whose environment has these settings ("NAME=VALUE", up to
 * NULL; or NULL), and ends the test unless it ends so (`end`: the exit status, or the negative
 * number of a signal), and writes `says` somewhere on standard error; NULL: nothing at all.
 */
void bench_run(void (*run)(void), const char *const *settings, int end, const char *says);
