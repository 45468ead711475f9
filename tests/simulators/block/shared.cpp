/* SPDX-License-Identifier: MIT */
/* Shared memory of the block that runs. */

#include "tests/simulators/block/shared.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <link.h>

/* The C library's, which a compiler calls for a thread-local variable of a shared object. */
struct tls_index {
    size_t module, offset;
};
extern "C" void *__tls_get_addr(tls_index *index);

namespace sim {

namespace {

struct search {
    uintptr_t function;
    size_t module, n_bytes;
};

int look(dl_phdr_info *info, size_t, void *opaque)
{
    auto *s = static_cast<search *>(opaque);
    size_t n_tls_bytes = 0;
    bool is_it = false;

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const auto &segment = info->dlpi_phdr[i];

        if (segment.p_type == PT_TLS)
            n_tls_bytes = segment.p_memsz;
        if (segment.p_type == PT_LOAD &&
            s->function - (info->dlpi_addr + segment.p_vaddr) < segment.p_memsz)
            is_it = true;
    }
    if (!is_it)
        return 0;
    if (info->dlpi_name && info->dlpi_name[0] && n_tls_bytes) {
        s->module = info->dlpi_tls_modid;
        s->n_bytes = n_tls_bytes;
    }
    return 1;
}

}

shared_memory::~shared_memory()
{
    free(dynamic_);
}

bool shared_memory::begin_launch(const void *function, size_t dynamic_bytes)
{
    search s = {reinterpret_cast<uintptr_t>(function), 0, 0};
    void *made = nullptr;

    dl_iterate_phdr(look, &s);
    n_static_ = s.n_bytes;
    if (s.n_bytes) {
        tls_index index = {s.module, 0};

        static_ = __tls_get_addr(&index);
    }
    if (dynamic_bytes == n_dynamic_)
        return true;
    free(dynamic_);
    dynamic_ = nullptr;
    n_dynamic_ = 0;
    if (dynamic_bytes && posix_memalign(&made, 128, dynamic_bytes) != 0)
        return false;
    dynamic_ = static_cast<unsigned char *>(made);
    n_dynamic_ = dynamic_bytes;
    return true;
}

void shared_memory::begin_block()
{
    if (n_static_)
        memset(static_, 0xff, n_static_);
    if (n_dynamic_)
        memset(dynamic_, 0xff, n_dynamic_);
}

}
