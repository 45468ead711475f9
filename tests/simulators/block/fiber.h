/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Fibers: stacks on which the threads of a block wait for each other
 *
 * An idle fiber sleeps in its body and can be woken for the next thread, of whatever kernel:
 * nothing is set up anew. All of a fiber belongs to the host thread that made it.
 */

#include <cstddef>

namespace sim {

struct fiber {
    void *sp = nullptr;             /* where it was left */
    char *stack = nullptr;          /* lowest address, above the guard page */
    size_t n_bytes = 0;
    void *fake_stack = nullptr;     /* ASan's */
    void *tsan = nullptr;           /* TSan's */
    void (*body)() = nullptr;

    fiber() = default;
    fiber(const fiber &) = delete;
    fiber &operator=(const fiber &) = delete;
    ~fiber();
};

/* Gives `f` a stack, and `body`, which must never return, to begin with when it is first switched
 * to. False where there is no memory. */
bool fiber_init(fiber *f, void (*body)());

/* Makes `f`, whatever it did, begin anew. It must not be the one that runs. */
void fiber_rewind(fiber *f);

/* Makes the host thread's own stack a fiber: to come back to. */
void fiber_adopt(fiber *f);

/* Leaves `from`, which runs, for `to`; returns when somebody switches back to `from`. */
void fiber_switch(fiber *from, fiber *to);

/* In switch-*.cpp: lays out a stack whose top is `top` such that the first switch to what it
 * returns calls `entry`. */
void *switch_prepare(char *top, void (*entry)());

}

/* In switch-*.cpp: keeps the registers in *save and goes on where `load` was saved. */
extern "C" void vrt_sim_switch(void **save, void *load);
