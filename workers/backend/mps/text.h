/* SPDX-License-Identifier: MIT */
#pragma once

/* The kernels' text in Metal's language, in the program itself. */

#include <stddef.h>

struct vrt_mps_text {
    const char *name;               /* of the function; "conv2d_f16_matrix" */
    const unsigned char *data;      /* without what Metal's own headers declare */
    size_t size_bytes;
};

/* What embed.py makes of the kernels. */
extern const struct vrt_mps_text vrt_mps_texts[];
extern const size_t vrt_n_mps_texts;
