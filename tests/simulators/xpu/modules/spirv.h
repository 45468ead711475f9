/* SPDX-License-Identifier: MIT */
#pragma once

/* What a module in SPIR-V says of its kernels: their names, arguments and group sizes. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DRV_MAX_ARGUMENTS 64

enum drv_argument_kind {
    DRV_ARGUMENT_VALUE,
    DRV_ARGUMENT_POINTER,               /* to global or constant memory */
};

struct drv_argument_info {
    enum drv_argument_kind kind;
    uint32_t n_bytes;                   /* of a value, as it is passed */
};

struct drv_kernel_info {
    char name[128];
    uint32_t id;
    uint32_t n_arguments;
    struct drv_argument_info arguments[DRV_MAX_ARGUMENTS];
    uint32_t group_size[3];             /* that it asks for; 0: any */
    uint32_t local_bytes;               /* of its own variables */
    uint32_t subgroup_size;             /* that it asks for; 0: any */
};

/* What a module is made of; zero-initialised is none. */
struct drv_spirv {
    struct drv_kernel_info *kernels;    /* freed with free() */
    uint32_t n_kernels;
    char missing[64];                   /* what it needs that PoCL's CPU hasn't: subgroups; or "" */
    char matrix[64];                    /* a function of matrix units that it calls; or "" */
};

/*
 * Reads the module of `n_bytes` at `data`, aligned to 4. Return: false where it is no SPIR-V that
 * this driver knows (what spirv-val finds is no concern here).
 */
bool drv_spirv_parse(const void *data, size_t n_bytes, struct drv_spirv *ret_spirv);
