/* SPDX-License-Identifier: MIT */
/* Switching stacks on x86-64: what a call must preserve, and nothing else. */

#include "tests/simulators/block/fiber.h"

#include <cstdint>

asm(R"(
    .text
    .globl vrt_sim_switch
    .type vrt_sim_switch, @function
vrt_sim_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size vrt_sim_switch, . - vrt_sim_switch
)");

namespace sim {

void *switch_prepare(char *top, void (*entry)())
{
    auto *slot = reinterpret_cast<uintptr_t *>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t(15));

    /* A function begins with its return address above a multiple of 16; entry has none. */
    *--slot = 0;
    *--slot = reinterpret_cast<uintptr_t>(entry);
    for (int i = 0; i < 6; i++)
        *--slot = 0;
    return slot;
}

}
