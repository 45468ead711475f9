/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/execution/fault.h"

#include "tests/simulators/block/threads.h"

#include <csignal>
#include <cstdio>
#include <mutex>

namespace {

thread_local const mtl_grid *running;
struct sigaction before_segv, before_bus;

thread_local char text[160];

/* What lies at the address. */
void describe(const mtl_grid &grid, const char *at)
{
    for (unsigned i = 0; i < VRT_MSL_BUFFERS; i++) {
        const mtl_span &span = grid.buffers[i];

        if (span.data && at >= span.pages && at < span.pages + span.n_page_bytes) {
            const long offset = at - static_cast<const char *>(span.data);

            snprintf(text, sizeof(text),
                     "it reads or writes byte %ld of [[buffer(%u)]], which isn't there", offset, i);
            return;
        }
    }
    snprintf(text, sizeof(text), "it reads or writes address %p, which is in no buffer",
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

/* What the kernel does instead of going on; no handler of a signal runs any more. */
void give_up()
{
    vrt_sim_trap(MTL_CODE_PAGE_FAULT, text);
}

void on_fault(int signal, siginfo_t *info, void *context)
{
    if (!running)
        return hand_on(signal, info, context);
    describe(*running, static_cast<const char *>(info->si_addr));
    mtl_redirect(context, give_up);
}

void install()
{
    struct sigaction action = {};

    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
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
