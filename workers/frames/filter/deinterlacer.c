/* SPDX-License-Identifier: MIT */

/*
 * The filter gives out a frame, or both of its fields, when it has seen the one behind it. What is
 * known of a frame beside its samples waits here meanwhile, in the same order.
 */

#include "frames/filter/deinterlacer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "frames/av.h"
#include "frames/filter/filter.h"
#include "frames/view.h"

/* One that is given out, one that waits for the next, and that one. */
#define WAITING_MAX 4

/* A frame that went in. */
struct waiting {
    int64_t pts, duration;
    bool concealed, is_context;
    struct vrt_frame_extra extra;
};

struct vrt_deinterlacer {
    struct vrt_frame_format format;
    struct vrt_filter *filter;
    AVFrame *filtered;
    int n_fields;                       /* that each frame becomes frames of: 1 or 2 */
    struct waiting waiting[WAITING_MAX];    /* a ring */
    int64_t n_in, n_out;                /* frame k of those that went in is waiting[k % ...] */
    int n_shown;                        /* fields of frame n_out that came out */
};

int vrt_deinterlacer_new(const struct vrt_frame_format *format, const struct vrt_fields *fields,
                         struct vrt_deinterlacer **ret_deinterlacer)
{
    static const char *const parity[VRT_FIELD_ORDER_COUNT] = {
        [VRT_FIELD_ORDER_FLAGGED] = "auto",
        [VRT_FIELD_ORDER_TOP] = "tff",
        [VRT_FIELD_ORDER_BOTTOM] = "bff",
    };
    VRT_CLEANUP(vrt_deinterlacer_freep) struct vrt_deinterlacer *deinterlacer =
        calloc(1, sizeof(*deinterlacer));
    bool by_field = fields->deinterlace == VRT_DEINTERLACE_FIELD;
    char options[64];

    if (!deinterlacer)
        return vrt_raise(-ENOMEM);
    deinterlacer->format = *format;
    deinterlacer->n_fields = by_field ? 2 : 1;
    deinterlacer->filtered = av_frame_alloc();
    if (!deinterlacer->filtered)
        return vrt_raise(-ENOMEM);
    snprintf(options, sizeof(options), "mode=%s:parity=%s:deint=all",
             by_field ? "send_field" : "send_frame", parity[fields->order]);
    int r = vrt_filter_new("bwdif", options, format, &deinterlacer->filter);
    if (r < 0)
        return vrt_fold(r);
    *ret_deinterlacer = VRT_STEAL(deinterlacer);
    return 0;
}

int vrt_deinterlacer_push(struct vrt_deinterlacer *deinterlacer, struct vrt_frame *frame,
                          bool is_context)
{
    if (frame) {
        vrt_assert(deinterlacer->n_in - deinterlacer->n_out < WAITING_MAX);
        deinterlacer->waiting[deinterlacer->n_in++ % WAITING_MAX] = (struct waiting){
            .pts = frame->pts,
            .duration = frame->duration,
            .concealed = frame->concealed,
            .is_context = is_context,
            .extra = frame->extra,
        };
    }
    return vrt_fold(vrt_filter_push(deinterlacer->filter, frame));
}

/* Ticks from the frame to the next one, or as long as it is shown itself. */
static int64_t span_of(const struct vrt_deinterlacer *deinterlacer)
{
    const int64_t n = deinterlacer->n_out;
    const struct waiting *is = &deinterlacer->waiting[n % WAITING_MAX];
    const struct waiting *next = &deinterlacer->waiting[(n + 1) % WAITING_MAX];

    return n + 1 < deinterlacer->n_in ? VRT_MIN(next->pts - is->pts, is->duration) : is->duration;
}

/* When the field that came out is shown. */
static void date(const struct vrt_deinterlacer *deinterlacer, struct vrt_frame *frame)
{
    const struct waiting *is = &deinterlacer->waiting[deinterlacer->n_out % WAITING_MAX];
    const int64_t span = span_of(deinterlacer);
    const bool is_second = deinterlacer->n_shown;

    frame->concealed = is->concealed;
    frame->pts = is->pts;
    frame->duration = is->duration;
    /* Captions are spelled out once. */
    if (!is_second)
        frame->extra = is->extra;
    if (deinterlacer->n_fields == 1)
        return;
    frame->pts = 2 * is->pts + (is_second ? span : 0);
    frame->duration = is_second ? 2 * is->duration - span : span;
}

int vrt_deinterlacer_next(struct vrt_deinterlacer *deinterlacer, struct vrt_frame **ret_frame)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = NULL;
    bool is_context = true;

    while (is_context) {
        int r = vrt_filter_pull(deinterlacer->filter, deinterlacer->filtered);
        if (r != 0)
            return r == VRT_FILTER_MORE  ? VRT_DEINTERLACER_MORE
                   : r == VRT_FILTER_END ? VRT_DEINTERLACER_END
                                         : vrt_fold(r);
        vrt_assert(deinterlacer->n_out < deinterlacer->n_in);
        is_context = deinterlacer->waiting[deinterlacer->n_out % WAITING_MAX].is_context;
        if (!is_context)
            r = vrt_frame_wrap(deinterlacer->filtered, &deinterlacer->format, &frame);
        av_frame_unref(deinterlacer->filtered);
        if (r < 0)
            return vrt_fold(r);
        if (frame)
            date(deinterlacer, frame);
        if (++deinterlacer->n_shown == deinterlacer->n_fields) {
            deinterlacer->n_shown = 0;
            deinterlacer->n_out++;
        }
    }
    *ret_frame = VRT_STEAL(frame);
    return 0;
}

struct vrt_deinterlacer *vrt_deinterlacer_free(struct vrt_deinterlacer *deinterlacer)
{
    if (!deinterlacer)
        return NULL;
    vrt_filter_free(deinterlacer->filter);
    av_frame_free(&deinterlacer->filtered);
    free(deinterlacer);
    return NULL;
}
