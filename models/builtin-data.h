/* SPDX-License-Identifier: MIT */
#pragma once

/* What embed.py makes of the model files, for builtin.c. */

#include "models/builtin.h"

/* In the order that models/meson.build has them. */
extern const struct vrt_builtin_model vrt_builtin_models[];
extern const size_t vrt_n_builtin_models;
