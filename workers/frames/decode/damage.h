/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Which frames suffered from damaged packets. For the reader alone.
 *
 * A decoder reports an error for a packet some packets later (its threads run ahead), if it
 * returns it at all rather than only logging it, and may or may not give out a concealed frame for
 * it later still. Packets on their way through the decoder are kept here, a bounded number of
 * them, and found again by their time stamp. What else the decoder's threads have to know of a
 * packet stands beside the count of its errors, which is what they are given of it.
 */

#include <libavutil/frame.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define VRT_DAMAGE_WINDOW 256

struct vrt_places;

struct vrt_damage_packet {
    int64_t time;               /* pts, else dts */
    atomic_int n_errors;        /* that decoder or demuxer reported; counted by any thread */
    struct vrt_places *places;  /* where its frame is decoded to; NULL: anywhere */
    bool shown;                 /* its frame came out */
};

struct vrt_damage {
    struct vrt_damage_packet packets[VRT_DAMAGE_WINDOW];
    int64_t n_sent;             /* packet k of all is packets[k % VRT_DAMAGE_WINDOW] */
    int64_t n_missing;          /* failed ones that left the window without a frame */
    int64_t first_missing;      /* time of the first of those */
    int64_t from;               /* packets before this time are of no matter */
    struct vrt_places *places;  /* of packets to come */
};

/*
 * A packet of time `time` goes to the decoder. Return: where its errors are counted, valid until
 * VRT_DAMAGE_WINDOW more packets were added.
 */
atomic_int *vrt_damage_add(struct vrt_damage *damage, int64_t time);

/*
 * The decoder returned an error while it took the last packet added, `delay` packets late; or
 * for one of the last `delay` packets, where it is being drained.
 * Return: how many frames come before that packet's, of those that are still to come; -1: it is
 * of no matter.
 */
int64_t vrt_damage_fail(struct vrt_damage *damage, int delay, bool draining);

/* The time by which a frame and its packet meet. */
int64_t vrt_damage_time(const AVFrame *decoded);

/* The frame of time `time` came out. Return: whether its packet had errors. */
bool vrt_damage_show(struct vrt_damage *damage, int64_t time);

/* No more frames will come: what failed and was not shown is missing. */
void vrt_damage_finish(struct vrt_damage *damage);
