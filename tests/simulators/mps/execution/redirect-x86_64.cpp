/* SPDX-License-Identifier: MIT */
/* Going on elsewhere after a signal, on x86-64. */

#include "tests/simulators/mps/execution/fault.h"

#include <ucontext.h>

constexpr unsigned long red_zone_bytes = 128;

void mtl_redirect(void *context, void (*entry)())
{
    auto *registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
    const auto sp = static_cast<unsigned long>(registers[REG_RSP]);

    /* As a call leaves it: a function begins 8 below a multiple of 16. */
    registers[REG_RSP] = static_cast<greg_t>(((sp - red_zone_bytes) & ~15ul) - 8);
    registers[REG_RIP] = reinterpret_cast<greg_t>(entry);
}
