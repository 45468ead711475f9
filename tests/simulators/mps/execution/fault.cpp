/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/execution/fault.h"

#include "tests/simulators/block/threads.h"

#include <csignal>
#include <cstdio>
#include <mutex>

namespace {

thread_local const mtl_grid *running;
struct sigaction before_segv, before_bus;

/* What lies at the address. */
void describe(const mtl_grid &grid, const char *at, char *text, size_t n)
{
    for (unsigned i = 0; i < VRT_MSL_BUFFERS; i++) {
        const mtl_span &span = grid.buffers[i];

        if (span.data && at >= span.pages && at < span.pages + span.n_page_bytes) {
            const long offset = at - static_cast<const char *>(span.data);

            snprintf(text, n, "it reads or writes byte %ld of [[buffer(%u)]], which isn't there",
                     offset, i);
            return;
        }
    }
    snprintf(text, n, "it reads or writes address %p, which is in no buffer",
             static_cast<const void *>(at));
}

void hand_on(int signal, siginfo_t *info, void *context)
{
    const struct sigaction &before = signal == SIGSEGV ? before_segv : before_bus;

    if (before.sa_flags & SA_SIGINFO)
        return before.sa_sigaction(signal, info, context);
    if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        return before.sa_handler(signal);
    sigaction(signal, &before, nullptr);        /* it happens again, and kills */
}

/* It never returns to the kernel, whose stacks are given up. */
void on_fault(int signal, siginfo_t *info, void *context)
{
    char text[160];

    if (!running)
        return hand_on(signal, info, context);
    describe(*running, static_cast<const char *>(info->si_addr), text, sizeof(text));
    vrt_sim_trap(MTL_CODE_PAGE_FAULT, text);
}

void install()
{
    struct sigaction action = {};

    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &before_segv);
    sigaction(SIGBUS, &action, &before_bus);
}

}

void mtl_fault_begin(const mtl_grid *grid)
{
    static std::once_flag once;

    std::call_once(once, install);
    running = grid;
}

void mtl_fault_end(void)
{
    running = nullptr;
}
