/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared memory of the block that runs: 0xff when the block begins
 *
 * Dynamic shared memory is an allocation of exactly the launch's size, so that ASan sees what lies
 * beyond. Static shared memory is all thread-local storage of the shared object that has the kernel
 * (not of the program itself: a sanitizer may keep its own state there).
 */

#include <cstddef>

namespace sim {

class shared_memory {
public:
    shared_memory() = default;
    shared_memory(const shared_memory &) = delete;
    shared_memory &operator=(const shared_memory &) = delete;
    ~shared_memory();

    /* False where there is no memory. */
    bool begin_launch(const void *function, size_t dynamic_bytes);
    void begin_block();

    /* 128-byte aligned; NULL where the launch asked for none. */
    unsigned char *dynamic() { return dynamic_; }

private:
    unsigned char *dynamic_ = nullptr;
    size_t n_dynamic_ = 0;
    void *static_ = nullptr;
    size_t n_static_ = 0;
};

}
