/* SPDX-License-Identifier: MIT */
#pragma once

/* Ctrl-C and SIGTERM, of a command that has something to end or to undo. */

#include <signal.h>

struct vrt_conn;

struct vrt_interrupt {
    struct sigaction before[2];
};

/* Isn't 0 from a signal on. */
extern volatile sig_atomic_t vrt_interrupted;

/* Until vrt_interrupt_stop() SIGINT and SIGTERM only set the flag, which from now on ends requests
 * of `conn`. */
void vrt_interrupt_start(struct vrt_interrupt *interrupt, struct vrt_conn *conn);

void vrt_interrupt_stop(const struct vrt_interrupt *interrupt);
