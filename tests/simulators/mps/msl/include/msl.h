/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * MSL as C++, for programs that translate.py has translated: what <metal_stdlib> declares, as far
 * as kernels that compute need it
 *
 * It is compiled twice. With VRT_MSL_STRICT address spaces are types, and nothing is ever run: what
 * the Metal compiler would refuse is refused there. Without, they are nothing, and kernels run.
 */

#include "spaces.h"
#include "types.h"
#include "bfloat.h"
#include "math.h"
#include "integer.h"
#include "simdgroup.h"
#include "matrix.h"
