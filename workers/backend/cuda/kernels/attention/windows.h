/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Where the places of window_attention's windows are: pure arithmetic, for host and device alike
 *
 * Windows of a clip are counted row-major, and the places within one likewise. docs/ops.md states
 * what padding, roll, slices and the bias table are.
 */

#include "backend/op/op.h"

/* Before each function here: where it may run. Device code says so before it includes this. */
#ifndef VRT_WINDOWS_INLINE
#define VRT_WINDOWS_INLINE static inline
#endif

/* All sizes are d, h, w. */
struct vrt_cuda_windows {
    int clip[3];
    int full[3];                    /* the window that the bias table is for */
    int size[3], shift[3];          /* as cut to the clip */
    int n[3];                       /* windows in each dimension, the padding's included */
    int n_windows, n_places;        /* in all; of each window */
};

/* The windows of a window_attention. */
static inline struct vrt_cuda_windows vrt_cuda_windows_of(const struct vrt_op *op)
{
    const struct vrt_shape *x = &op->in[0].shape;
    struct vrt_cuda_windows w = { { x->d, x->h, x->w }, { 0 }, { 0 }, { 0 }, { 0 }, 1, 1 };

    vrt_op_window(op, w.size, w.shift);
    for (int k = 0; k < 3; k++) {
        w.full[k] = op->window_attention.window[k];
        w.n[k] = (w.clip[k] + w.size[k] - 1) / w.size[k];
        w.n_windows *= w.n[k];
        w.n_places *= w.size[k];
    }
    return w;
}

/* The window's place among the windows of each dimension. */
VRT_WINDOWS_INLINE void vrt_cuda_windows_split(const struct vrt_cuda_windows *w, int window,
                                               int at[3])
{
    at[0] = window / (w->n[1] * w->n[2]);
    at[1] = window / w->n[2] % w->n[1];
    at[2] = window % w->n[2];
}

/* Place t of a window, in the padded and rolled clip. */
VRT_WINDOWS_INLINE void vrt_cuda_windows_rolled(const struct vrt_cuda_windows *w, int window, int t,
                                                int at[3])
{
    vrt_cuda_windows_split(w, window, at);
    at[0] = at[0] * w->size[0] + t / (w->size[1] * w->size[2]);
    at[1] = at[1] * w->size[1] + t / w->size[2] % w->size[1];
    at[2] = at[2] * w->size[2] + t % w->size[2];
}

/* Place t of a window, in the clip. Return: whether it is there, and not in the padding. */
VRT_WINDOWS_INLINE bool vrt_cuda_windows_place(const struct vrt_cuda_windows *w, int window, int t,
                                               int at[3])
{
    bool is_inside = true;

    vrt_cuda_windows_rolled(w, window, t, at);
    for (int k = 0; k < 3; k++) {
        const int padded = w->n[k] * w->size[k];

        at[k] += w->shift[k];
        if (at[k] >= padded)
            at[k] -= padded;
        is_inside = is_inside && at[k] < w->clip[k];
    }
    return is_inside;
}

/* Equal for two places of a window exactly if those were neighbours before the roll. */
VRT_WINDOWS_INLINE int vrt_cuda_windows_label(const struct vrt_cuda_windows *w, int window, int t)
{
    int at[3], label = 0;

    vrt_cuda_windows_rolled(w, window, t, at);
    for (int k = 0; k < 3; k++) {
        const int padded = w->n[k] * w->size[k];

        label = 3 * label + (at[k] >= padded - w->size[k]) + (at[k] >= padded - w->shift[k]);
    }
    return label;
}

/* Whether a window has places of unlike labels: only the last of a rolled dimension has. */
VRT_WINDOWS_INLINE bool vrt_cuda_windows_is_mixed(const struct vrt_cuda_windows *w, int window)
{
    bool is_mixed = false;
    int at[3];

    vrt_cuda_windows_split(w, window, at);
    for (int k = 0; k < 3; k++)
        is_mixed = is_mixed || (w->shift[k] && at[k] == w->n[k] - 1);
    return is_mixed;
}

/* Rows of the bias table. */
VRT_WINDOWS_INLINE int vrt_cuda_windows_n_biases(const struct vrt_cuda_windows *w)
{
    return (2 * w->full[0] - 1) * (2 * w->full[1] - 1) * (2 * w->full[2] - 1);
}

/* What place t of a window adds to a row of the bias table as a query, and takes from it as a
 * key; a query and a key of the same place have the table's middle row. */
VRT_WINDOWS_INLINE int vrt_cuda_windows_code(const struct vrt_cuda_windows *w, int t)
{
    const int d = t / (w->full[1] * w->full[2]), h = t / w->full[2] % w->full[1];

    return (d * (2 * w->full[1] - 1) + h) * (2 * w->full[2] - 1) + t % w->full[2];
}
