/* SPDX-License-Identifier: MIT */

/* Red, green and blue are scaled each for itself, as gray: libswscale would make YUV of them. */

#include "frames/filter/scaler.h"

#include <errno.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/macro.h"
#include "frames/av.h"
#include "frames/pixfmt.h"

#define FLAGS (SWS_LANCZOS | SWS_ACCURATE_RND | SWS_BITEXACT)

/* Between two samples of luma, in libswscale's unit. */
#define HALF_WAY 128

struct vrt_scaler {
    struct vrt_frame_format from, to;
    enum AVPixelFormat pixfmt;
    struct SwsContext *sws;         /* of all planes, or of each of those that are scaled as gray */
    bool is_each;
};

static int set_chroma(struct SwsContext *sws, const struct vrt_frame_format *format)
{
    const bool is_top = format->chroma_location == VRT_CHROMA_LOCATION_TOP_LEFT;
    const int x = format->chroma_location == VRT_CHROMA_LOCATION_CENTER ? HALF_WAY : 0;
    const int y = is_top ? 0 : HALF_WAY;
    int r = 0;

    if (format->chroma_shift_x)
        r = av_opt_set_int(sws, "src_h_chr_pos", x, 0);
    if (r >= 0 && format->chroma_shift_x)
        r = av_opt_set_int(sws, "dst_h_chr_pos", x, 0);
    if (r >= 0 && format->chroma_shift_y)
        r = av_opt_set_int(sws, "src_v_chr_pos", y, 0);
    if (r >= 0 && format->chroma_shift_y)
        r = av_opt_set_int(sws, "dst_v_chr_pos", y, 0);
    return r;
}

static int set_up(struct SwsContext *sws, const struct vrt_frame_format *from,
                  const struct vrt_frame_format *to, enum AVPixelFormat pixfmt)
{
    const struct {
        const char *name;
        int64_t value;
    } options[] = {
        { "srcw", from->width },
        { "srch", from->height },
        { "src_format", pixfmt },
        { "src_range", from->full_range },
        { "dstw", to->width },
        { "dsth", to->height },
        { "dst_format", pixfmt },
        { "dst_range", from->full_range },
        { "sws_flags", FLAGS },
    };
    int r = 0;

    for (size_t i = 0; r >= 0 && i < VRT_ARRAY_SIZE(options); i++)
        r = av_opt_set_int(sws, options[i].name, options[i].value, 0);
    if (r >= 0)
        r = set_chroma(sws, to);
    return r >= 0 ? sws_init_context(sws, NULL, NULL) : r;
}

int vrt_scaler_new(const struct vrt_frame_format *from, const struct vrt_frame_format *to,
                   struct vrt_scaler **ret_scaler)
{
    VRT_CLEANUP(vrt_scaler_freep) struct vrt_scaler *scaler = calloc(1, sizeof(*scaler));
    struct vrt_frame_format plane = *to;

    if (!scaler)
        return vrt_raise(-ENOMEM);
    scaler->from = *from;
    scaler->to = *to;
    scaler->pixfmt = vrt_pixfmt_of(to);
    scaler->is_each = to->layout != VRT_LAYOUT_YUV;
    if (scaler->is_each)
        plane.layout = VRT_LAYOUT_GRAY;
    const enum AVPixelFormat pixfmt = vrt_pixfmt_of(&plane);
    scaler->sws = sws_alloc_context();
    if (!scaler->sws)
        return vrt_raise(-ENOMEM);
    if (set_up(scaler->sws, from, &plane, pixfmt) < 0)
        return vrt_raise(-ENOTSUP);
    *ret_scaler = VRT_STEAL(scaler);
    return 0;
}

bool vrt_scaler_takes(const struct vrt_scaler *scaler, const struct vrt_frame_format *from)
{
    return vrt_frame_format_same_planes(&scaler->from, from);
}

int vrt_scaler_run(struct vrt_scaler *scaler, const AVFrame *view, AVFrame **ret_frame)
{
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *frame = av_frame_alloc();

    if (!frame)
        return vrt_raise(-ENOMEM);
    frame->width = scaler->to.width;
    frame->height = scaler->to.height;
    frame->format = scaler->pixfmt;
    if (av_frame_get_buffer(frame, 0) < 0 || av_frame_copy_props(frame, view) < 0)
        return vrt_raise(-ENOMEM);
    const int n = scaler->is_each ? vrt_frame_format_n_planes(&scaler->to) : 1;
    for (int p = 0; p < n; p++) {
        const int r = sws_scale(scaler->sws, (const uint8_t *const *)view->data + p,
                                view->linesize + p, 0, view->height, frame->data + p,
                                frame->linesize + p);
        if (r < 0)
            return vrt_raise(vrt_av_errno(r));
    }
    *ret_frame = VRT_STEAL(frame);
    return 0;
}

struct vrt_scaler *vrt_scaler_free(struct vrt_scaler *scaler)
{
    if (!scaler)
        return NULL;
    sws_freeContext(scaler->sws);
    free(scaler);
    return NULL;
}
