/* SPDX-License-Identifier: MIT */
#pragma once

/* Metal's own functions, as a client finds them by name. */

#include "tests/simulators/mps/runtime/object.h"

/* An array of all devices, to be released by the caller. */
mtl_object MTLCopyAllDevices(void);

/* The first of them, likewise, or nil. */
mtl_object MTLCreateSystemDefaultDevice(void);
