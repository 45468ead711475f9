/* SPDX-License-Identifier: MIT */
#pragma once

/* Other programs, of which vrtctl needs what they print. */

#include <signal.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"

struct vrt_program {
    char *const *argv;
    char *const *environment;
    const char *input;              /* what it is given to read; NULL: nothing */
    const volatile sig_atomic_t *interrupt; /* isn't 0: end it; NULL: nobody does */
};

/* Starts the program argv[0], found by $PATH, and waits for its end. Return: its exit status, or
 * 128 and the signal that ended it, `out` and `err` have what it wrote, and need vrt_buf_done() in
 * any case; -ENOENT: there is no such program; -EINTR: it was interrupted, and told to end; -errno
 * with `error`. */
int vrt_program_run(const struct vrt_program *program, struct vrt_buf *out, struct vrt_buf *err,
                    struct vrt_error *error) VRT_MUST_CHECK;
