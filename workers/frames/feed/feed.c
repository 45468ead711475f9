/* SPDX-License-Identifier: MIT */

/*
 * Where a packet's bytes are only the demuxer knows, and each says something else of it (the
 * packet, or what stands before it). So they are looked for a little way behind what it says: both
 * ends must be there, byte by byte.
 */

#include "frames/feed/feed.h"

#include <libavcodec/packet.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"

/* Of a smaller packet too few whole blocks of a disk are freed. */
#define PACKET_BYTES_MIN (16 * 1024)

/* Between where a packet is said to be and its bytes: a block's head in Matroska has up to 20. */
#define HEAD_BYTES_MAX 48
#define END_BYTES 32                /* that are compared of each end */

/* Return: where the packet's bytes begin in the file; -1: not where it says. */
static int64_t find(int fd, const AVPacket *packet)
{
    const size_t size = (size_t)packet->size;
    uint8_t head[HEAD_BYTES_MAX + END_BYTES], tail[END_BYTES];

    if (packet->pos < 0 ||
        pread(fd, head, sizeof(head), packet->pos) != (ssize_t)sizeof(head))
        return -1;
    for (size_t i = 0; i <= HEAD_BYTES_MAX; i++) {
        const int64_t begin = packet->pos + (int64_t)i;
        if (memcmp(head + i, packet->data, END_BYTES) == 0 &&
            pread(fd, tail, END_BYTES, begin + (int64_t)size - END_BYTES) == END_BYTES &&
            memcmp(tail, packet->data + size - END_BYTES, END_BYTES) == 0)
            return begin;
    }
    return -1;
}

void vrt_feed_spend(struct vrt_feed_state *state, int fd, const AVPacket *packet, bool is_whole)
{
    struct vrt_feed_range *spent = state->spent;

    if (is_whole) {
        spent[0] = (struct vrt_feed_range){ 0, VRT_MAX(packet->pos, 0) + packet->size };
        state->n_spent = 1;
        return;
    }
    if (packet->size < PACKET_BYTES_MIN || state->n_spent == VRT_FEED_SPENT_MAX)
        return;
    const int64_t begin = find(fd, packet);
    if (begin >= 0)
        spent[state->n_spent++] = (struct vrt_feed_range){ begin, begin + packet->size };
}
