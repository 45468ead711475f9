/* SPDX-License-Identifier: MIT */
#pragma once

/* What becomes of a video whose frames are two fields, each of another moment. */

#include "base/settings.h"

/* Which field is shown first. */
enum vrt_field_order {
    VRT_FIELD_ORDER_FLAGGED,    /* as each frame says; of those that say nothing, the top one */
    VRT_FIELD_ORDER_TOP,
    VRT_FIELD_ORDER_BOTTOM,
    VRT_FIELD_ORDER_COUNT,
};

/* Zero: frames are left as they are. */
struct vrt_fields {
    enum vrt_deinterlace deinterlace;   /* never auto */
    enum vrt_field_order order;
};
