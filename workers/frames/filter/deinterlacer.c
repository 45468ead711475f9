/* SPDX-License-Identifier: MIT */

/*
 * The filter gives out a frame, or both of its fields, when it has seen the one behind it. What is
 * known of a frame beside its samples waits here meanwhile, in the same order.
 *
 * A film's frames come out by fours, when the five that they were have been seen. Their own times
 * are no help: one of each five is gone. So they share its time evenly, from the first of the five
 * to the first of the next. What remains at the end, less than five, stays, at the same pace; that
 * is what decimate does.
 */

#include "frames/filter/deinterlacer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "frames/av.h"
#include "frames/filter/filter.h"
#include "frames/view.h"

#define CYCLE 5                     /* frames, of which one goes */

/* Those of which some are given out, and as many which the filters hold meanwhile: the next cycle,
 * one frame behind that to match fields with, and one for bwdif. */
#define WAITING_MAX (3 * CYCLE)

/* As long, behind the end of a part. */
#define AHEAD_MAX (2 * CYCLE)

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
    bool is_film;
    int n_film;                         /* of the cycle at frame n_out, frames that came out */
    int64_t cycle_span;                 /* of the last whole one, in ticks; 0: there was none */
    int64_t n_taken;                    /* frames that went in whose captions came out */
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
    bool is_film = fields->deinterlace == VRT_DEINTERLACE_TELECINE;
    const char *order = parity[fields->order];
    char chain[160];

    if (!deinterlacer)
        return vrt_raise(-ENOMEM);
    deinterlacer->format = *format;
    deinterlacer->n_fields = by_field ? 2 : 1;
    deinterlacer->is_film = is_film;
    deinterlacer->filtered = av_frame_alloc();
    if (!deinterlacer->filtered)
        return vrt_raise(-ENOMEM);
    /* As FFmpeg's manual of fieldmatch has it. */
    if (is_film)
        snprintf(chain, sizeof(chain), "fieldmatch=order=%s:combmatch=full,"
                 "bwdif=mode=send_frame:parity=%s:deint=interlaced,decimate", order, order);
    else
        snprintf(chain, sizeof(chain), "bwdif=mode=%s:parity=%s:deint=all",
                 by_field ? "send_field" : "send_frame", order);
    int r = vrt_filter_new(chain, format, &deinterlacer->filter);
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

/* Frame `i` of those that went in, which may be behind the last. */
static const struct waiting *waiting_at(const struct vrt_deinterlacer *deinterlacer, int64_t i)
{
    return &deinterlacer->waiting[i % WAITING_MAX];
}

/* Ticks of the cycle at frame n_out, of which all went in. */
static int64_t measure_cycle(const struct vrt_deinterlacer *deinterlacer)
{
    const int64_t next = deinterlacer->n_out + CYCLE;
    const struct waiting *last = waiting_at(deinterlacer, next - 1);
    const int64_t end = next < deinterlacer->n_in ? waiting_at(deinterlacer, next)->pts :
                                                    last->pts + last->duration;

    return end - waiting_at(deinterlacer, deinterlacer->n_out)->pts;
}

/* Of A/53's cc_data: whether there is anything in the three bytes. */
static bool is_caption(const uint8_t *data)
{
    return data[0] & 4;
}

/* Adds the captions that aren't empty, as far as there is room. */
static void add_captions(const struct vrt_frame_extra *from, struct vrt_frame_extra *to)
{
    for (int i = 0; i < from->n_captions && to->n_captions < VRT_CAPTIONS_BYTES_MAX; i += 3) {
        if (!is_caption(from->captions + i))
            continue;
        memcpy(to->captions + to->n_captions, from->captions + i, 3);
        to->n_captions += 3;
    }
}

/* What goes with frame `was` of those that went in; captions of one before it that is gone, too:
 * they are spelled out over frames. */
static void take_extra(struct vrt_deinterlacer *deinterlacer, int64_t was, struct vrt_frame *frame)
{
    const bool is_alone = was == deinterlacer->n_taken;

    frame->concealed = waiting_at(deinterlacer, was)->concealed;
    frame->extra = waiting_at(deinterlacer, was)->extra;
    if (!is_alone)
        frame->extra.n_captions = 0;
    for (int64_t i = deinterlacer->n_taken; !is_alone && i <= was; i++)
        add_captions(&waiting_at(deinterlacer, i)->extra, &frame->extra);
    deinterlacer->n_taken = was + 1;
}

/* When the frame of a film that came out, the next of its cycle, is shown. */
static void date_film(struct vrt_deinterlacer *deinterlacer, const AVFrame *filtered,
                      struct vrt_frame *frame)
{
    const struct waiting *first = waiting_at(deinterlacer, deinterlacer->n_out);
    const bool is_whole = deinterlacer->n_out + CYCLE <= deinterlacer->n_in;
    const int64_t was = (intptr_t)filtered->opaque;

    if (is_whole)
        deinterlacer->cycle_span = measure_cycle(deinterlacer);
    else if (!deinterlacer->cycle_span)
        deinterlacer->cycle_span = CYCLE * first->duration;
    frame->pts = (CYCLE - 1) * first->pts + deinterlacer->n_film * deinterlacer->cycle_span;
    frame->duration = deinterlacer->cycle_span;
    if (was >= VRT_MAX(deinterlacer->n_out, deinterlacer->n_taken) && was < deinterlacer->n_in)
        take_extra(deinterlacer, was, frame);
    if (++deinterlacer->n_film == CYCLE - 1 && is_whole) {
        deinterlacer->n_film = 0;
        deinterlacer->n_out += CYCLE;
    }
}

/* The next frame of a film. Return: as vrt_deinterlacer_next(). */
static int next_of_film(struct vrt_deinterlacer *deinterlacer, struct vrt_frame **ret_frame)
{
    int r = vrt_frame_wrap(deinterlacer->filtered, &deinterlacer->format, ret_frame);

    if (r == 0)
        date_film(deinterlacer, deinterlacer->filtered, *ret_frame);
    av_frame_unref(deinterlacer->filtered);
    return vrt_fold(r);
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
        if (deinterlacer->is_film)
            return vrt_fold(next_of_film(deinterlacer, ret_frame));
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

int vrt_deinterlacer_ahead(const struct vrt_fields *fields)
{
    return fields->deinterlace == VRT_DEINTERLACE_TELECINE ? AHEAD_MAX : 1;
}

int vrt_deinterlacer_refuse(const struct vrt_frame_format *format, const struct vrt_fields *fields,
                            const char *pixel_format, struct vrt_error *error)
{
    const bool is_film = fields->deinterlace == VRT_DEINTERLACE_TELECINE;

    return vrt_refuse(error, vrt_raise(-ENOTSUP), "input.unsupported", "FFmpeg's %s, which would "
                      "%s it, takes no frames of %dx%d in the pixel format %s: --deinterlace %s",
                      is_film ? "fieldmatch" : "bwdif", is_film ? "undo the telecine of" :
                      "deinterlace", format->width, format->height, pixel_format,
                      is_film ? "frame makes whole frames of them" : "off leaves them as they are");
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
