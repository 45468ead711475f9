/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What hardware decoded, as it lies when it was copied from the card (NV12, P010 and the like), as
 * the planes that software would have decoded to. For frames/ alone.
 */

#include <libavutil/frame.h>

/*
 * Copies the samples of `surface` to `planar`, which has memory, the same size and a pixel format
 * of ours. Samples are taken apart, and moved from the high bits, where deep ones lie, to the low
 * ones: nothing is computed.
 * Return: 0; -ENOTSUP: the one can't hold what the other has, or samples aren't whole bytes. Pure.
 */
int vrt_surface_copy(const AVFrame *surface, AVFrame *planar);
