/* SPDX-License-Identifier: MIT */
#pragma once

/* SPIR-V to what PoCL takes, by the programs that the build has found; what a module uses of matrix
 * units is added. */

#include <stddef.h>
#include <stdint.h>

enum drv_form {
    DRV_FORM_BITCODE,                   /* LLVM's own, for the target spir64 */
    DRV_FORM_SPIRV,
};

/* What is to be made of a module. */
struct drv_wish {
    enum drv_form form;
    const char *matrix_kernel;          /* its only kernel, where that uses matrix units; or NULL */
};

/*
 * Checks the module, and translates it, unless the cache has what it was translated to. Return: the
 * bytes, to be freed; NULL: it is no valid SPIR-V, or something failed, and *ret_log (freed by the
 * caller) says what.
 */
uint8_t *drv_translate(const void *spirv, size_t n_bytes, const struct drv_wish *wish,
                       size_t *ret_n_bytes, char **ret_log);
