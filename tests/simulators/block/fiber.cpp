/* SPDX-License-Identifier: MIT */
/* Fibers: their stacks, and what the sanitizers want to know of them. */

#include "tests/simulators/block/fiber.h"

#include <pthread.h>
#include <sys/mman.h>

/* The sanitizers' own: absent from a build without them. */
extern "C" {
[[gnu::weak]] void __sanitizer_start_switch_fiber(void **fake_stack, const void *bottom,
                                                  size_t n_bytes);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void *fake_stack, const void **bottom,
                                                   size_t *n_bytes);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void *data, size_t n_bytes);
[[gnu::weak]] void *__tsan_create_fiber(unsigned flags);
[[gnu::weak]] void *__tsan_get_current_fiber(void);
[[gnu::weak]] void __tsan_destroy_fiber(void *fiber);
[[gnu::weak]] void __tsan_switch_to_fiber(void *fiber, unsigned flags);
}

namespace sim {

namespace {

constexpr size_t page_bytes = 4096;

/* Sanitizers make frames several times as large. */
size_t stack_bytes()
{
    return __sanitizer_start_switch_fiber || __tsan_create_fiber ? 1024 * 1024 : 256 * 1024;
}

/* The fiber that begins: switch_prepare()'s entry takes no argument. */
__thread fiber *beginning;

void begin()
{
    if (__sanitizer_finish_switch_fiber)
        __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
    beginning->body();
    __builtin_trap();
}

void prepare(fiber *f)
{
    /* Stacks begin at different places of their pages, or all would compete for the same lines of
     * the cache. */
    const size_t skew = (reinterpret_cast<size_t>(f->stack) / page_bytes % 29) * 128;

    f->sp = switch_prepare(f->stack + f->n_bytes - skew, begin);
    f->fake_stack = nullptr;
}

}

bool fiber_init(fiber *f, void (*body)())
{
    /* One page more than a power of two: for the cache again. */
    const size_t n_bytes = stack_bytes() + page_bytes;
    void *mapped = mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

    if (mapped == MAP_FAILED)
        return false;
    mprotect(mapped, page_bytes, PROT_NONE);
    f->stack = static_cast<char *>(mapped) + page_bytes;
    f->n_bytes = n_bytes - page_bytes;
    f->body = body;
    if (__tsan_create_fiber)
        f->tsan = __tsan_create_fiber(0);
    prepare(f);
    return true;
}

void fiber_rewind(fiber *f)
{
    if (__asan_unpoison_memory_region)
        __asan_unpoison_memory_region(f->stack, f->n_bytes);
    prepare(f);
}

void fiber_adopt(fiber *f)
{
    pthread_attr_t attr;
    void *stack = nullptr;

    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        pthread_attr_getstack(&attr, &stack, &f->n_bytes);
        f->stack = static_cast<char *>(stack);
        pthread_attr_destroy(&attr);
    }
    if (__tsan_get_current_fiber)
        f->tsan = __tsan_get_current_fiber();
}

void fiber_switch(fiber *from, fiber *to)
{
    if (__tsan_switch_to_fiber)
        __tsan_switch_to_fiber(to->tsan, 0);
    if (__sanitizer_start_switch_fiber)
        __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->n_bytes);
    beginning = to;
    vrt_sim_switch(&from->sp, to->sp);
    if (__sanitizer_finish_switch_fiber)
        __sanitizer_finish_switch_fiber(from->fake_stack, nullptr, nullptr);
}

fiber::~fiber()
{
    if (!body)                      /* the host thread's own */
        return;
    if (tsan)
        __tsan_destroy_fiber(tsan);
    if (__asan_unpoison_memory_region)
        __asan_unpoison_memory_region(stack, n_bytes);
    munmap(stack - page_bytes, n_bytes + page_bytes);
}

}
