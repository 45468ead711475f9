/* SPDX-License-Identifier: MIT */

/* Metal: requests may name it, and go to other devices, because nothing makes such ones yet. */

#include "backend/backend-impl.h"

const struct vrt_backend vrt_backend_mps = {
    .kind = { "mps", VRT_DEVICE_ACCELERATOR, .has_parts = false },
};
