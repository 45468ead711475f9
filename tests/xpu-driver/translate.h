/* SPDX-License-Identifier: MIT */
#pragma once

/* SPIR-V to LLVM's own form, which is what PoCL takes, by the programs that the build has found;
 * what a module uses of matrix units is added. */

#include <stddef.h>
#include <stdint.h>

/*
 * Checks the module, and translates it, unless the cache has what it was translated to.
 * `matrix_kernel` is the name of its only kernel where that uses matrix units, else NULL. Return:
 * the bytes, to be freed; NULL: it is no valid SPIR-V, or something failed, and *ret_log (freed by
 * the caller) says what.
 */
uint8_t *drv_translate(const void *spirv, size_t n_bytes, const char *matrix_kernel,
                       size_t *ret_n_bytes, char **ret_log);
