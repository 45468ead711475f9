/* SPDX-License-Identifier: MIT */
/* Switching stacks where there is no assembly for it: slower, for each switch is a system call. */

#include "tests/simulators/block/fiber.h"

#include <cstdint>
#include <ucontext.h>

namespace {

/* What `sp` points to: on the stack that it saves. */
struct saved {
    ucontext_t context;
};

constexpr size_t room_bytes = (sizeof(saved) + 63) & ~size_t(63);

}

extern "C" void vrt_sim_switch(void **save, void *load)
{
    saved here;

    *save = &here;
    swapcontext(&here.context, &static_cast<saved *>(load)->context);
}

namespace sim {

void *switch_prepare(char *top, void (*entry)())
{
    const uintptr_t end = reinterpret_cast<uintptr_t>(top) & ~uintptr_t(63);
    auto *first = reinterpret_cast<saved *>(end - room_bytes);

    getcontext(&first->context);
    first->context.uc_stack.ss_sp = reinterpret_cast<char *>(end) - room_bytes - 65536;
    first->context.uc_stack.ss_size = 65536;
    first->context.uc_link = nullptr;
    makecontext(&first->context, entry, 0);
    return first;
}

}
