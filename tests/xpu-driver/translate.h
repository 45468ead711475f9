/* SPDX-License-Identifier: MIT */
#pragma once

/* SPIR-V to LLVM's own form, which is what PoCL takes, by the programs that the build has found. */

#include <stddef.h>
#include <stdint.h>

/*
 * Checks the module, and translates it, unless the cache has what it was translated to. Return: the
 * bytes, to be freed; NULL: it is no valid SPIR-V, or something failed, and *ret_log (freed by the
 * caller) says what.
 */
uint8_t *drv_translate(const void *spirv, size_t n_bytes, size_t *ret_n_bytes, char **ret_log);
