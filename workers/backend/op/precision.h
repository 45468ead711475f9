/* SPDX-License-Identifier: MIT */
#pragma once

/* What a job may ask for, and the types that devices compute in. Thread: any. */

#include "backend/op/tensor.h"
#include "base/settings.h"

/* The type that is computed in where `precision` is asked for; `automatic`: where that is AUTO. */
enum vrt_dtype vrt_precision_dtype(enum vrt_precision precision, enum vrt_dtype automatic);

/* The precision that is asked for to get this type. */
enum vrt_precision vrt_precision_of(enum vrt_dtype dtype);
