/* SPDX-License-Identifier: MIT */

/* As the XDG specification of base folders has them, where its variables say nothing. */

#include "base/home.h"

const struct vrt_home vrt_home = { .cache = "/.cache", .state = "/.local/state" };
