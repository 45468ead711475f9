/* SPDX-License-Identifier: MIT */
#pragma once

/* Cases for ops that work on each element by itself: types, views, sizes and channel counts. */

#include "tests/conformance/conformance.h"

#define CONF_SWEEP_CASES 180

struct conf_sweep {
    struct conf_spec in, more, out;     /* an input, another of the same shape, the output */
};

/* Case `i`. */
struct conf_sweep conf_sweep_case(int i);
