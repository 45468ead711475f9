/* SPDX-License-Identifier: MIT */

#include "client/interrupt.h"

#include <stddef.h>

#include "base/macro.h"
#include "client/conn.h"

static const int signals[] = { SIGINT, SIGTERM };

_Static_assert(VRT_ARRAY_SIZE(signals) ==
               VRT_ARRAY_SIZE(((struct vrt_interrupt *)NULL)->before), "each was something before");

volatile sig_atomic_t vrt_interrupted;

static void on_signal(int number)
{
    (void)number;
    vrt_interrupted = 1;
}

void vrt_interrupt_start(struct vrt_interrupt *interrupt, struct vrt_conn *conn)
{
    const struct sigaction action = { .sa_handler = on_signal };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(signals); i++)
        sigaction(signals[i], &action, &interrupt->before[i]);
    vrt_conn_set_interrupt(conn, &vrt_interrupted);
}

void vrt_interrupt_stop(const struct vrt_interrupt *interrupt)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(signals); i++)
        sigaction(signals[i], &interrupt->before[i], NULL);
}
