/* SPDX-License-Identifier: MIT */
#pragma once

/* The order of what may run in any: forward, reverse or random:SEED */

#include <cstdint>

namespace sim {

/* Each machine's own: the variable of the environment that has it. */
extern const char *const order_variable;

class order {
public:
    /* Reads the environment. */
    order();

    /* One of the bits set in `mask`, which is not 0. */
    unsigned choose(uint32_t mask)
    {
        return kind_ == forward    ? unsigned(__builtin_ctz(mask))
               : kind_ == reverse  ? 31 - unsigned(__builtin_clz(mask))
                                   : choose_any(mask);
    }

    /* One of 0 .. n - 1, n > 0. */
    uint64_t choose_of(uint64_t n);

    /* Whether to leave what could go on for something else now. */
    bool wander() { return kind_ == random && next() % 4 == 0; }

    bool is_forward() const { return kind_ == forward; }
    bool is_random() const { return kind_ == random; }

private:
    enum { forward, reverse, random } kind_;
    uint64_t state_;

    uint64_t next();
    unsigned choose_any(uint32_t mask);
};

}
