/* SPDX-License-Identifier: MIT */

/* As macOS has them. */

#include "base/home.h"

const struct vrt_home vrt_home = {
    .cache = "/Library/Caches",
    .state = "/Library/Application Support",
};
