/* SPDX-License-Identifier: MIT */
/* Going on elsewhere after a signal, on arm64. */

#include "tests/simulators/mps/execution/fault.h"

#include <ucontext.h>

void mtl_redirect(void *context, void (*entry)())
{
    auto *registers = &static_cast<ucontext_t *>(context)->uc_mcontext;

    registers->sp &= ~15ul;
    registers->pc = reinterpret_cast<unsigned long>(entry);
}
