/* SPDX-License-Identifier: MIT */
#pragma once

/* What a test can make the library that stands in for NCCL do: it loads it, too, and looks up
 * "vrt_fake_nccl", of this type. Thread: set before threads run. */

#include <stdatomic.h>

struct vrt_fake_nccl {
    int fail_init;                  /* the rank that can't be made; 0: all can */
    int fail_rank, fail_chunk;      /* the rank that fails at this broadcast, from 1; 0: never */
    int wrong_rank;                 /* to which other bytes come; 0: none */
    int silent_rank;                /* that never gets to be one; 0: none */
    atomic_int n_broadcasts;        /* done, of all ranks */
    atomic_int n_communicators;     /* there now */
};
