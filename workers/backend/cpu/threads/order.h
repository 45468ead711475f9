/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Which units of one step must be done before a unit of the next may begin
 *
 * Ops work on each frame by itself, and on rows that lie near each other: a unit needs the units
 * that write the rows it reads, and those that still read the rows, of memory used again, that it
 * writes. Where memory is used again for tensors of unlike layout, or an op reads rows from
 * elsewhere, the next step needs all of the one before.
 */

#include "backend/cpu/threads/pool.h"
#include "backend/backend.h"

/* Units of a step: in each of d frames of h rows, bands of `rows` rows, each cut into `across`
 * units side by side. */
struct vrt_cpu_cut {
    int d, h, rows, across;
};

/* A step, as far as its memory and its units go. */
struct vrt_cpu_order_step {
    const struct vrt_op *op;
    struct vrt_cpu_cut cut;
    size_t scratch_step_bytes;      /* from one thread's scratch memory to the next one's */
    size_t workspace_bytes;         /* of all threads, and what they share */
    bool shares;                    /* whether there is such */
};

/* Bands of a frame. */
int vrt_cpu_cut_n_bands(const struct vrt_cpu_cut *cut);

/* How many units the cut makes. */
int vrt_cpu_cut_n_units(const struct vrt_cpu_cut *cut);

/*
 * What each unit of `after`, the step that follows `before`, needs of it: to needs, with room for
 * all units of `after`.
 * Return: whether single units can be named; else all are needed, and `needs` holds nothing.
 */
bool vrt_cpu_order_find(const struct vrt_cpu_order_step *before,
                        const struct vrt_cpu_order_step *after, struct vrt_cpu_span *needs);
