/* SPDX-License-Identifier: MIT */
/* Memory of a device, as the host's pages. */

#include "tests/simulators/cuda/machine/guard.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

extern "C" [[gnu::weak]] void __asan_unpoison_memory_region(const volatile void *data, size_t n);

namespace sim {

namespace {

constexpr size_t alignment_bytes = 256, page_bytes = 4096;
constexpr size_t max_poisoned_bytes = size_t(256) << 20;

size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* The pages of an allocation: its end is theirs. */
char *pages_of(void *data)
{
    const auto at = reinterpret_cast<uintptr_t>(data);

    return reinterpret_cast<char *>(at / page_bytes * page_bytes);
}

size_t length_of(size_t n_bytes)
{
    return round_up(round_up(n_bytes, alignment_bytes), page_bytes);
}

void *map(size_t n_bytes)
{
    const size_t length = length_of(n_bytes);
    void *pages = mmap(nullptr, length + page_bytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (pages == MAP_FAILED)
        return nullptr;
    return static_cast<char *>(pages) + length - round_up(n_bytes, alignment_bytes);
}

}

void *guarded_new(size_t n_bytes)
{
    void *data = nullptr;

    if (!__asan_unpoison_memory_region)
        data = map(n_bytes);
    else if (posix_memalign(&data, alignment_bytes, n_bytes) != 0)
        return nullptr;
    if (data) {
        guarded_open(data, n_bytes, true);
        memset(data, 0xff, std::min(n_bytes, max_poisoned_bytes));
        guarded_open(data, n_bytes, false);
    }
    return data;
}

void guarded_free(void *data, size_t n_bytes)
{
    if (__asan_unpoison_memory_region)
        free(data);
    else
        munmap(pages_of(data), length_of(n_bytes) + page_bytes);
}

void guarded_open(void *data, size_t n_bytes, bool open)
{
    if (!__asan_unpoison_memory_region)
        mprotect(pages_of(data), length_of(n_bytes), open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

}
