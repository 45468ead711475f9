/* SPDX-License-Identifier: MIT */

/*
 * A ring of packets. The decoder's threads count errors into its entries while the reader's thread
 * adds, shows and forgets them: the counts are atomic, the rest is the reader's.
 */

#include "frames/decode/damage.h"

#include "base/macro.h"

static struct vrt_damage_packet *packet_at(struct vrt_damage *damage, int64_t k)
{
    return &damage->packets[k % VRT_DAMAGE_WINDOW];
}

/* The number of the first packet that the ring still holds. */
static int64_t oldest(const struct vrt_damage *damage)
{
    return VRT_MAX(damage->n_sent - VRT_DAMAGE_WINDOW, 0);
}

static bool has_failed(const struct vrt_damage_packet *packet)
{
    return atomic_load(&packet->n_errors) > 0;
}

/* Counts a packet that leaves without its frame, once. */
static void count_missing(struct vrt_damage *damage, struct vrt_damage_packet *packet)
{
    if (!has_failed(packet) || packet->shown || packet->time < damage->from)
        return;
    if (!damage->n_missing++)
        damage->first_missing = packet->time;
    packet->shown = true;
}

atomic_int *vrt_damage_add(struct vrt_damage *damage, int64_t time)
{
    struct vrt_damage_packet *packet = packet_at(damage, damage->n_sent);

    /* Where there was none yet, none has failed. */
    count_missing(damage, packet);
    packet->time = time;
    packet->shown = false;
    packet->places = damage->places;
    atomic_store(&packet->n_errors, 0);
    damage->n_sent++;
    return &packet->n_errors;
}

int64_t vrt_damage_fail(struct vrt_damage *damage, int delay, bool draining)
{
    int64_t k = VRT_MAX(damage->n_sent - 1 - delay, oldest(damage));
    int64_t n_before = 0;

    if (!damage->n_sent)
        return 0;
    /* Which packet an error belongs to at the end is not known, unless it was logged. */
    for (int64_t i = k; draining && i < damage->n_sent; i++)
        if (has_failed(packet_at(damage, i)) && !packet_at(damage, i)->shown)
            k = i;
    atomic_fetch_add(&packet_at(damage, k)->n_errors, 1);
    if (packet_at(damage, k)->time < damage->from)
        return -1;
    for (int64_t i = oldest(damage); i < damage->n_sent; i++)
        n_before += !packet_at(damage, i)->shown &&
                    packet_at(damage, i)->time < packet_at(damage, k)->time;
    return n_before;
}

int64_t vrt_damage_time(const AVFrame *decoded)
{
    return decoded->pts != AV_NOPTS_VALUE ? decoded->pts : decoded->pkt_dts;
}

bool vrt_damage_show(struct vrt_damage *damage, int64_t time)
{
    for (int64_t i = oldest(damage); i < damage->n_sent; i++) {
        struct vrt_damage_packet *packet = packet_at(damage, i);
        if (packet->time != time || packet->shown)
            continue;
        packet->shown = true;
        return has_failed(packet);
    }
    return false;
}

void vrt_damage_finish(struct vrt_damage *damage)
{
    for (int64_t i = oldest(damage); i < damage->n_sent; i++)
        count_missing(damage, packet_at(damage, i));
}
