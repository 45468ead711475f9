/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Prometheus' text format, version 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/)
 *
 * One exposition is a row of families, each begun once and followed by its samples. What fails, for
 * want of memory or room, fails all that follows: who prints looks at `r` once, at the end.
 *
 * Thread: any one at a time.
 */

#include <stddef.h>

#include "base/buf.h"

#define VRT_EXPOSITION_TYPE "text/plain; version=0.0.4"

/* Zeros but for its buffer. */
struct vrt_exposition {
    struct vrt_buf *buf;
    const char *family;             /* that was begun last */
    int r;                          /* 0; -errno as vrt_buf_append(): nothing more is printed */
};

struct vrt_label {
    const char *name;
    const char *value;              /* any bytes: those that aren't UTF-8 become '?' */
};

#define VRT_EXPOSITION_LABELS_MAX 3

/* What a sample says besides its value. Labels end with the first that has no name. */
struct vrt_sample {
    const char *suffix;             /* behind the family's name: "_sum"; NULL: none */
    struct vrt_label labels[VRT_EXPOSITION_LABELS_MAX];
};

/* Begins a family: `name` as its samples are called, which must live until the next one; `type`
 * "counter", "gauge" or "histogram"; `help` one sentence. */
void vrt_exposition_begin(struct vrt_exposition *exposition, const char *name, const char *type,
                          const char *help);

/* A sample of the family. NAN, for what nobody knows, is left out. */
void vrt_exposition_add(struct vrt_exposition *exposition, const struct vrt_sample *sample,
                        double value);
