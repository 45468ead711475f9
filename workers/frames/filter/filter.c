/* SPDX-License-Identifier: MIT */

/* Frames come from a buffer, pass the filters and leave by a sink. */

#include "frames/filter/filter.h"

#include <errno.h>
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "frames/av.h"
#include "frames/pixfmt.h"
#include "frames/view.h"

struct vrt_filter {
    AVFilterGraph *graph;
    AVFilterContext *source, *sink;
    int64_t n_pushed;
};

/* Links the source to the chain, and that to the sink. Return: 0; an AVERROR. */
static int link_chain(struct vrt_filter *filter, const char *chain)
{
    AVFilterInOut *in = avfilter_inout_alloc(), *out = avfilter_inout_alloc();
    int r = AVERROR(ENOMEM);

    /* Seen from the chain: what is open before it is an output. */
    if (in && out) {
        *out = (AVFilterInOut){ .name = av_strdup("in"), .filter_ctx = filter->source };
        *in = (AVFilterInOut){ .name = av_strdup("out"), .filter_ctx = filter->sink };
        if (out->name && in->name)
            r = avfilter_graph_parse_ptr(filter->graph, chain, &in, &out, NULL);
    }
    avfilter_inout_free(&in);
    avfilter_inout_free(&out);
    return r;
}

static int build(struct vrt_filter *filter, const char *chain,
                 const struct vrt_frame_format *format)
{
    char shape[128];

    snprintf(shape, sizeof(shape), "video_size=%dx%d:pix_fmt=%d:time_base=1/1:frame_rate=1/1",
             format->width, format->height, vrt_pixfmt_of(format));
    int r = avfilter_graph_create_filter(&filter->source, avfilter_get_by_name("buffer"), "in",
                                         shape, NULL, filter->graph);
    if (r < 0)
        return r;
    r = avfilter_graph_create_filter(&filter->sink, avfilter_get_by_name("buffersink"), "out",
                                     NULL, NULL, filter->graph);
    if (r < 0)
        return r;
    r = link_chain(filter, chain);
    return r < 0 ? r : avfilter_graph_config(filter->graph, NULL);
}

int vrt_filter_new(const char *chain, const struct vrt_frame_format *format,
                   struct vrt_filter **ret_filter)
{
    VRT_CLEANUP(vrt_filter_freep) struct vrt_filter *filter = calloc(1, sizeof(*filter));

    if (!filter || !(filter->graph = avfilter_graph_alloc()))
        return vrt_raise(-ENOMEM);
    filter->graph->nb_threads = 1;
    /* Samples are filtered as they are, or not at all. */
    avfilter_graph_set_auto_convert(filter->graph, AVFILTER_AUTO_CONVERT_NONE);
    int r = build(filter, chain, format);
    if (r < 0)
        return r == AVERROR(ENOMEM) ? vrt_raise(-ENOMEM) : -ENOTSUP;
    *ret_filter = VRT_STEAL(filter);
    return 0;
}

int vrt_filter_push(struct vrt_filter *filter, struct vrt_frame *frame)
{
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *view = NULL;
    int r = frame ? vrt_frame_unwrap(frame, &view) : 0;

    if (r < 0)
        return vrt_fold(r);
    if (view) {
        vrt_av_frame_set_fields(view, frame->interlaced, frame->top_first);
        /* Colours aren't its business, and times are kept by whoever asks. */
        view->color_range = AVCOL_RANGE_UNSPECIFIED;
        view->colorspace = AVCOL_SPC_UNSPECIFIED;
        view->opaque = (void *)(intptr_t)filter->n_pushed;
        view->pts = filter->n_pushed++;
    }
    r = av_buffersrc_add_frame(filter->source, view);
    return r < 0 ? vrt_raise(vrt_av_errno(r)) : 0;
}

int vrt_filter_pull(struct vrt_filter *filter, AVFrame *frame)
{
    int r = av_buffersink_get_frame(filter->sink, frame);

    if (r == AVERROR(EAGAIN))
        return VRT_FILTER_MORE;
    if (r == AVERROR_EOF)
        return VRT_FILTER_END;
    return r < 0 ? vrt_raise(vrt_av_errno(r)) : 0;
}

struct vrt_filter *vrt_filter_free(struct vrt_filter *filter)
{
    if (!filter)
        return NULL;
    avfilter_graph_free(&filter->graph);
    free(filter);
    return NULL;
}
