/* SPDX-License-Identifier: MIT */
#pragma once

/* Other programs, of which vrtctl needs what they print. */

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"

struct vrt_program {
    char *const *argv;
    char *const *environment;
    const char *input;              /* what it is given to read; NULL: nothing */
};

/* Starts the program argv[0], found by $PATH, and waits for its end. Return: its exit status, `out`
 * and `err` have what it wrote, and need vrt_buf_done() in any case; -ENOENT: there is no such
 * program; -errno with `error`. */
int vrt_program_run(const struct vrt_program *program, struct vrt_buf *out, struct vrt_buf *err,
                    struct vrt_error *error) VRT_MUST_CHECK;
