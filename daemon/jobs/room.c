/* SPDX-License-Identifier: MIT */

#include "daemon/jobs/room.h"

#include "base/macro.h"

/* No disk is larger, and sums of a few such numbers don't overflow. */
#define BYTES_MAX (INT64_C(1) << 60)

static int64_t bytes_of(const struct vrt_segment_record *segment)
{
    return VRT_MIN(VRT_MAX(segment->size_bytes, 0), BYTES_MAX);
}

int64_t vrt_room_stored_bytes(const struct vrt_room *room)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < room->n_segments; i++)
        bytes = VRT_MIN(bytes + bytes_of(&room->segments[i]), BYTES_MAX);
    return bytes;
}

int64_t vrt_room_output_bytes(const struct vrt_room *room)
{
    int64_t stored = vrt_room_stored_bytes(room);
    double n_frames = 0, bytes = (double)room->output_bytes;

    for (size_t i = 0; i < room->n_segments; i++)
        n_frames += (double)room->segments[i].n_frames;
    if (n_frames > 0 && room->frames_total > 0)
        bytes = (double)stored / n_frames * (double)room->frames_total;
    return bytes >= (double)BYTES_MAX ? BYTES_MAX : VRT_MAX((int64_t)bytes, stored);
}

int64_t vrt_room_spool_bytes(const struct vrt_room *room)
{
    return 2 * vrt_room_output_bytes(room) - vrt_room_stored_bytes(room);
}

int64_t vrt_room_next_bytes(const struct vrt_room *room)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < room->n_segments; i++)
        bytes = VRT_MAX(bytes, bytes_of(&room->segments[i]));
    return 2 * bytes;
}
