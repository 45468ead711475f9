/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A file that grows while it is read: what comes by a pipe, as far as somebody has stored it
 *
 * Who reads asks for more where the file ends so far, and tells which bytes nobody will read a
 * second time: those of the video, once they are in a packet. All others are read again when the
 * result is joined, from the same places.
 */

#include <stdbool.h>
#include <stdint.h>

struct vrt_error;

/* Ranges told at a time; what is more of them stays stored. */
#define VRT_FEED_SPENT_MAX 64

struct vrt_feed_range {
    int64_t from, to;           /* bytes of the file; `to` is behind the last one */
};

/* A question, and its answer. */
struct vrt_feed_state {
    int64_t size_bytes;         /* of the file, as far as whoever asks knows; then as it is */
    bool at_end;                /* the answer: nothing more will come */
    int n_spent;
    struct vrt_feed_range spent[VRT_FEED_SPENT_MAX];    /* in order */
};

/* Who stores what comes. */
struct vrt_feed {
    /* Waits for more, a moment: perhaps nothing has come by then. Return: 0; -errno with a
     * sentence. */
    int (*more)(void *ctx, struct vrt_feed_state *state, struct vrt_error *error);
    void *ctx;
};

struct AVPacket;

/*
 * Notes what of the file `fd` the packet was made of, where that can be found: a packet that was
 * made up from parts, or is small, isn't noted. With `is_whole` nothing before its end is read
 * again.
 */
void vrt_feed_spend(struct vrt_feed_state *state, int fd, const struct AVPacket *packet,
                    bool is_whole);
