/* SPDX-License-Identifier: MIT */
#pragma once

/* Programs that a simulator has do its work: compilers, mostly. */

#include <stdbool.h>

/*
 * Runs arguments[0], up to a NULL, to its end; its output goes to the file `log`. Return: whether
 * it succeeded.
 */
bool sim_program_run(char *const *arguments, const char *log);
