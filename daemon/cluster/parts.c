/* SPDX-License-Identifier: MIT */

#include "daemon/cluster/parts.h"

#include "base/macro.h"

/* A film of more frames is cut without regard to reading, so that nothing overflows. */
#define FRAMES_MAX (INT64_MAX / (4 * VRT_CLUSTER_READ_WHOLE))

struct film {
    const struct vrt_segment_plan *segments;
    size_t n_segments;
    int64_t read_share, whole;          /* what a frame takes to read, and to make */
};

/* The end of the part that begins with segment `first`, before which there are *frame frames, if it
 * may take so long; *frame follows. */
static size_t end_of(const struct film *film, size_t first, int64_t limit, int64_t *frame)
{
    const bool is_read = first > 0 && !film->segments[first - 1].prime.first;
    const int64_t left = limit - (is_read ? film->read_share * *frame : 0);
    int64_t n_frames = 0;
    size_t end = first;

    while (end < film->n_segments &&
           (n_frames + film->segments[end].n_frames) * film->whole <= left)
        n_frames += film->segments[end++].n_frames;
    *frame += n_frames;
    return end;
}

/* Whether n parts that may take so long each are all of the film. */
static bool is_enough(const struct film *film, int64_t n, int64_t limit)
{
    int64_t frame = 0;
    size_t at = 0;

    for (int64_t i = 0; i < n && at < film->n_segments; i++) {
        const size_t end = end_of(film, at, limit, &frame);
        /* The next one would begin here, too, with as little room. */
        if (end == at)
            return false;
        at = end;
    }
    return at == film->n_segments;
}

struct vrt_cluster_range vrt_cluster_part(const struct vrt_segment_plan *segments,
                                          size_t n_segments, int64_t read_share, int64_t i,
                                          int64_t n)
{
    struct film film = { segments, n_segments, read_share, VRT_CLUSTER_READ_WHOLE };
    struct vrt_cluster_range part = { .end = 0 };
    int64_t n_frames = 0, frame = 0;

    for (size_t k = 0; k < n_segments; k++)
        n_frames += segments[k].n_frames;
    if (n_frames > FRAMES_MAX) {
        film.read_share = 0;
        film.whole = 1;
    }
    /* The least that is enough is above `less` and at most `enough`. */
    int64_t less = 0, enough = n_frames * (film.read_share + film.whole);
    while (enough - less > 1) {
        const int64_t middle = less + (enough - less) / 2;
        if (is_enough(&film, n, middle))
            enough = middle;
        else
            less = middle;
    }
    for (int64_t k = 0; k <= i; k++) {
        part.first = part.end;
        part.end = (int64_t)end_of(&film, (size_t)part.first, enough, &frame);
    }
    return part;
}
