/* SPDX-License-Identifier: MIT */
#pragma once

/* A network for tests that only need any. */

#include "model/network.h"

/* The first of those that vrtd brings with it. The caller owns the reference. */
struct vrt_network *builtin_network(void);
