/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Programs: modules as PoCL runs them
 *
 * A program belongs to no device: all of them are the same CPU. What was built once stays until the
 * end of the process, and whoever asks for the same module has it.
 */

#include "tests/simulators/xpu/modules/spirv.h"

struct drv_program {
    struct drv_spirv module;
    struct drv_prepared *prepared;      /* program.c's: of which sizes of groups it is compiled */
    void *built;                        /* program.c's */
    struct drv_program *next;
    size_t n_bytes;
    uint8_t spirv[];                    /* the module itself */
};

/* What a kernel is launched with. */
struct drv_launch {
    struct drv_program *program;
    const struct drv_kernel_info *kernel;
    uint64_t module;                    /* the handle of that it is from */
    uint32_t group_size[3], n_groups[3];
    struct drv_argument {
        uint32_t n_bytes;               /* 0: not set */
        union {
            uint8_t bytes[512];
            void *pointer;              /* in the end where the bytes lie */
        };
    } arguments[];                      /* of the kernel's n_arguments */
};

/*
 * Not locked: it may take seconds. The program of the module, which may use matrix units if
 * `has_matrices`, always the same in a process. NULL: there is none, and *ret_log, to be freed,
 * says why (NULL: no memory).
 */
struct drv_program *drv_program_get(const void *spirv, size_t n_bytes, bool has_matrices,
                                    char **ret_log);

/* Its kernel of this name, or NULL. */
const struct drv_kernel_info *drv_program_kernel(const struct drv_program *program,
                                                 const char *name);

/*
 * Not locked: it may take seconds. Has PoCL compile what the launch needs, as it does for each size
 * of a group, so that running it takes no longer than it should.
 */
void drv_launch_prepare(const struct drv_launch *launch);

/* Not locked. Runs the kernel to its end, all of whose arguments are set. Return: 0, or PoCL's. */
int drv_launch_run(const struct drv_launch *launch);
