/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * In which order the samples of pictures are, however a graph reshapes and transposes them
 *
 * A layout is a list of axes, the outermost first; each is a part of what was once an axis of the
 * picture: `size` places of it, `step` apart. Those that follow one another in one are one.
 *
 * Pure.
 */

#include <stdbool.h>
#include <stdint.h>

#define VRT_LAYOUT_AXES_MAX 16

struct vrt_axis {
    enum vrt_axis_kind {
        VRT_AXIS_ROWS,
        VRT_AXIS_COLUMNS,
        VRT_AXIS_CHANNELS,
        VRT_AXIS_KEYS,              /* places of a window that are looked at */
    } kind;
    int64_t size, step;
};

/* Zero-filled is that of one sample. */
struct vrt_layout {
    int n;
    struct vrt_axis axes[VRT_LAYOUT_AXES_MAX];
};

/* Appends an axis at the inner end; those of one place are left out. */
void vrt_layout_add(struct vrt_layout *layout, enum vrt_axis_kind kind, int64_t size, int64_t step);

/* Takes axes apart until each dimension is of whole ones. Return: whether they can be. */
bool vrt_layout_fit(struct vrt_layout *layout, const int64_t *dims, int n_dims);

/* The axes of dimension d of a layout that fits. */
struct vrt_layout vrt_layout_of(const struct vrt_layout *layout, const int64_t *dims, int d);

bool vrt_layout_same(const struct vrt_layout *a, const struct vrt_layout *b);

/* a, then b. */
struct vrt_layout vrt_layout_join(const struct vrt_layout *a, const struct vrt_layout *b);
