/* SPDX-License-Identifier: MIT */
#pragma once

/* What vrt-infer prints. */

#include <stdio.h>

#include "infer/run.h"

/* A few lines for people. */
void vrt_infer_print(FILE *stream, const struct vrt_infer_report *report);

/* One JSON object on one line; what nobody knows is null. `model`: as the request names it. */
void vrt_infer_print_json(FILE *stream, const char *model, const struct vrt_infer_report *report);
