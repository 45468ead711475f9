/* SPDX-License-Identifier: MIT */
#pragma once

/* What the user should know although the work went on: a bounded list of sentences, by value. */

#include <stdbool.h>

#include "base/macro.h"

#define VRT_WARNINGS_MAX 16

struct vrt_warnings {
    int n;                                  /* sentences held */
    int n_lost;                             /* further ones, for which there was no place */
    char sentences[VRT_WARNINGS_MAX][256];
};

/* Adds a sentence unless it is there already; NULL warnings: nothing. Cut at 255 bytes. */
void vrt_warnings_add(struct vrt_warnings *warnings, const char *format, ...) VRT_PRINTF(2, 3);

/* Adds each sentence of `from` to `warnings`. */
void vrt_warnings_merge(struct vrt_warnings *warnings, const struct vrt_warnings *from);
