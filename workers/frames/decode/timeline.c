/* SPDX-License-Identifier: MIT */

#include "frames/decode/timeline.h"

#include <stdlib.h>

#include "base/macro.h"

#define FORWARD_US 10000000
#define BACK_US 100000

/* A stream whose end lies so far back when others jump has ended; and so far may one begin before
 * the end of its past that jumps when the timeline is settled already. */
#define LATE_US 1000000

/* Whether a packet at `time_us` may follow on one at `last_us` that ends at `next_us`. */
static bool follows(int64_t time_us, int64_t last_us, int64_t next_us, int64_t back_us)
{
    return time_us <= next_us + FORWARD_US && time_us + back_us >= last_us;
}

static void note(struct vrt_timeline *timeline, struct vrt_timeline_stream *stream,
                 int64_t time_us, int64_t duration_us)
{
    stream->has_begun = true;
    stream->last_us = time_us;
    stream->next_us = time_us + VRT_MAX(duration_us, 0);
    if (stream->is_sparse || stream->has_jumped)
        return;
    int64_t end_us = stream->next_us + stream->offset_us;
    timeline->end_us = timeline->has_begun ? VRT_MAX(timeline->end_us, end_us) : end_us;
    timeline->has_begun = true;
}

/* On which side of the last jump a packet is that has nothing to follow on. Return: whether it is
 * held; else the stream's offset is set. */
static bool place_alone(const struct vrt_timeline *timeline, struct vrt_timeline_stream *stream,
                        int64_t time_us)
{
    int64_t now_us = timeline->end_us;

    if (timeline->is_open &&
        llabs(time_us - timeline->jump_us) < llabs(time_us + timeline->offset_us - now_us))
        return true;
    bool is_before = timeline->n_jumps && llabs(time_us + timeline->previous_us - now_us) <
                                          llabs(time_us + timeline->offset_us - now_us);
    stream->offset_us = is_before ? timeline->previous_us : timeline->offset_us;
    return false;
}

/* The stream jumps. Return: 0: to where others already are; VRT_TIMELINE_HELD. */
static int jump(struct vrt_timeline *timeline, struct vrt_timeline_stream *stream, int64_t time_us)
{
    stream->end_us = stream->next_us + stream->offset_us;
    if (!timeline->is_open &&
        follows(time_us + timeline->offset_us, stream->last_us + stream->offset_us,
                stream->end_us, LATE_US)) {
        stream->offset_us = timeline->offset_us;
        return 0;
    }
    stream->has_jumped = true;
    stream->start_us = time_us;
    if (!timeline->is_open)
        timeline->jump_us = time_us;
    timeline->is_open = true;
    return VRT_TIMELINE_HELD;
}

int vrt_timeline_show(struct vrt_timeline *timeline, struct vrt_timeline_stream *stream,
                      int64_t time_us, int64_t duration_us, int64_t *ret_offset_us)
{
    bool is_alone = stream->is_sparse || !stream->has_begun;
    bool is_next = follows(time_us, stream->last_us, stream->next_us, BACK_US);
    int r = 0;

    if (is_alone && place_alone(timeline, stream, time_us))
        return VRT_TIMELINE_HELD;
    if (!is_alone && stream->has_jumped) {
        if (!is_next)
            return VRT_TIMELINE_AGAIN;
        r = VRT_TIMELINE_HELD;
    } else if (!is_alone && !is_next) {
        r = jump(timeline, stream, time_us);
    }
    note(timeline, stream, time_us, duration_us);
    *ret_offset_us = stream->offset_us;
    return r;
}

bool vrt_timeline_is_complete(const struct vrt_timeline *timeline,
                              const struct vrt_timeline_stream *streams, size_t n_streams)
{
    for (size_t i = 0; i < n_streams; i++) {
        const struct vrt_timeline_stream *stream = &streams[i];
        if (stream->has_begun && !stream->is_sparse && !stream->has_jumped &&
            stream->next_us + stream->offset_us + LATE_US >= timeline->end_us)
            return false;
    }
    return true;
}

int64_t vrt_timeline_settle(struct vrt_timeline *timeline, struct vrt_timeline_stream *streams,
                            size_t n_streams)
{
    int64_t offset_us = INT64_MIN;

    if (!timeline->is_open)
        return timeline->offset_us;
    for (size_t i = 0; i < n_streams; i++)
        if (streams[i].has_jumped)
            offset_us = VRT_MAX(offset_us, streams[i].end_us - streams[i].start_us);
    timeline->previous_us = timeline->offset_us;
    timeline->offset_us = offset_us;
    timeline->is_open = false;
    timeline->n_jumps++;
    for (size_t i = 0; i < n_streams; i++) {
        if (!streams[i].has_jumped)
            continue;
        streams[i].has_jumped = false;
        streams[i].offset_us = offset_us;
        timeline->end_us = VRT_MAX(timeline->end_us, streams[i].next_us + offset_us);
    }
    return offset_us;
}
