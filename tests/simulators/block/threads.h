/* SPDX-License-Identifier: MIT */
#pragma once

/* What the threads of a block do together, called from a thread that runs. */

/* What lanes do once all of them have come; `args[lane]` is what that lane brought (NULL outside of
 * `mask`). It runs once for all, and writes the results into what they brought. */
struct vrt_sim_collective {
    const char *name;
    void (*run)(void *const args[32], unsigned mask);
};

/* Waits for the lanes of `mask`, which must include the caller, at this collective. */
void vrt_sim_meet(const struct vrt_sim_collective *collective, unsigned mask, void *arg);

/* Waits likewise for all lanes of the warp that have not ended. */
void vrt_sim_meet_living(const struct vrt_sim_collective *collective, void *arg);

/* Waits for the threads of the block; those that have to come by the same way (see is_uniform in
 * block.h) come by `where`, which may be NULL; it is only named. */
void vrt_sim_syncthreads_at(const struct vrt_sim_collective *where);

/* This thread's place in its warp. */
unsigned vrt_sim_lane(void);

/* Ends the grid with `error` and a message that names kernel, block and thread; no return. */
[[noreturn]] void vrt_sim_trap(int error, const char *why);
