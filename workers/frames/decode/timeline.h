/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One clock for an input whose own one jumps: recordings that were joined with `cat`, a clock that
 * was set, or that has come to the end of its 33 bits
 *
 * It is shown the packets of all streams in the order of the file, so whoever reads the same file
 * is told the same. A jump is what FFmpeg's own tool takes for one (fftools' dts_delta_threshold):
 * more than 10 s forwards, or 0.1 s back. The streams jump one after the other, and where the new
 * times begin is known when all have: until then the packets behind a jump are held. What comes
 * after it then begins as early as it can without any stream overlapping itself.
 *
 * Thread: one at a time. Unit of times: microseconds.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VRT_TIMELINE_HELD = 1,          /* the offset will be known once the timeline is settled */
    VRT_TIMELINE_AGAIN,             /* settle it, then show the packet again */
};

/* Made by the owner; zero-initialised but for is_sparse. */
struct vrt_timeline_stream {
    bool is_sparse;                 /* subtitles, data: no packet for minutes is no jump */
    bool has_begun;
    bool has_jumped;                /* and the timeline isn't settled since */
    int64_t offset_us;              /* to be added to the file's times */
    int64_t last_us, next_us;       /* by the file's clock: of the last packet, and of its end */
    int64_t start_us;               /* has_jumped: by the file's clock, of the first packet since */
    int64_t end_us;                 /* by the new clock: of what was shown before the jump */
};

/* Zero-initialised: nothing was shown. */
struct vrt_timeline {
    int64_t offset_us, previous_us; /* behind the last jump; and before it */
    int64_t end_us;                 /* by the new clock: the latest end of all streams */
    int64_t jump_us;                /* is_open: by the file's clock, where the first one went */
    int64_t n_jumps;                /* until now; those that are settled */
    bool has_begun;
    bool is_open;                   /* a stream has jumped: not settled */
};

/*
 * Shows the next packet: it is of `stream`, is decoded at `time_us` of the file's clock and lasts
 * for `duration_us`, 0 where nobody knows. Return: 0, and what is to be added to its times;
 * VRT_TIMELINE_HELD; VRT_TIMELINE_AGAIN.
 */
int vrt_timeline_show(struct vrt_timeline *timeline, struct vrt_timeline_stream *stream,
                      int64_t time_us, int64_t duration_us, int64_t *ret_offset_us);

/* Whether there is nothing more to wait for once a packet is held: all streams of the array have
 * jumped which weren't over by then. */
bool vrt_timeline_is_complete(const struct vrt_timeline *timeline,
                              const struct vrt_timeline_stream *streams, size_t n_streams);

/* Settles what came after the jump. Return: what is to be added to the times of packets held. */
int64_t vrt_timeline_settle(struct vrt_timeline *timeline, struct vrt_timeline_stream *streams,
                            size_t n_streams);
