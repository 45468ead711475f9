/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Libavfilter's filters, for frames of ours: what goes in is followed by what comes out. A frame
 * that comes out has in `opaque` which of those that went in it was, counted from 0.
 * For deinterlacer.c and tonemapper.c alone.
 *
 * Thread: its owner's.
 */

#include <libavutil/frame.h>

#include "base/cleanup.h"
#include "frames/frame.h"

struct vrt_filter;

enum {
    VRT_FILTER_MORE = 1,        /* outcome of vrt_filter_pull(): first it must be given more */
    VRT_FILTER_END,             /* nothing more comes */
};

/*
 * Filters one after the other, as FFmpeg writes them ("bwdif=deint=all,decimate"), for frames of
 * `format`, which are given to them as they are, one a second. Return: 0; -ENOTSUP: there is no
 * such filter, or it takes no such frames; -ENOMEM.
 */
int vrt_filter_new(const char *chain, const struct vrt_frame_format *format,
                   struct vrt_filter **ret_filter);

/* Gives it a frame, of which it takes a reference; NULL: that was the last one. Return: 0;
 * -errno. */
int vrt_filter_push(struct vrt_filter *filter, struct vrt_frame *frame);

/* Leaves what comes out next in `frame`, which is empty. Return: 0, an outcome, -errno. */
int vrt_filter_pull(struct vrt_filter *filter, AVFrame *frame);

/* NULL is fine. Return: NULL. */
struct vrt_filter *vrt_filter_free(struct vrt_filter *filter);

VRT_DEFINE_CLEANUP(struct vrt_filter, vrt_filter_free)
