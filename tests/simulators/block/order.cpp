/* SPDX-License-Identifier: MIT */
/* The order in which things run that may run in any. */

#include "tests/simulators/block/order.h"

#include <cstdlib>
#include <cstring>

namespace sim {

order::order() : kind_(forward), state_(0x9e3779b97f4a7c15u)
{
    const char *text = getenv(order_variable);

    if (!text)
        return;
    if (strcmp(text, "reverse") == 0)
        kind_ = reverse;
    if (strncmp(text, "random", 6) == 0) {
        kind_ = random;
        if (text[6] == ':')
            state_ ^= strtoull(text + 7, nullptr, 10) * 0xbf58476d1ce4e5b9u;
        state_ |= 1;
    }
}

/* xorshift64* */
uint64_t order::next()
{
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du >> 16;
}

unsigned order::choose_any(uint32_t mask)
{
    for (uint64_t n = next() % unsigned(__builtin_popcount(mask)); n; n--)
        mask &= mask - 1;
    return unsigned(__builtin_ctz(mask));
}

uint64_t order::choose_of(uint64_t n)
{
    return kind_ == forward ? 0 : kind_ == reverse ? n - 1 : next() % n;
}

}
