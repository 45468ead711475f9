/* SPDX-License-Identifier: MIT */

#include "daemon/web/brake.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"

/* Where the address is, or VRT_BRAKE_ADDRESSES. */
static size_t find(const struct vrt_brake *brake, const char *address)
{
    size_t i = 0;

    while (i < VRT_BRAKE_ADDRESSES && strcmp(brake->addresses[i].address, address) != 0)
        i++;
    return i;
}

int64_t vrt_brake_wait_s(const struct vrt_brake *brake, const char *address, int64_t now_ns)
{
    size_t i = find(brake, address);

    if (i == VRT_BRAKE_ADDRESSES || now_ns >= brake->addresses[i].until_ns)
        return 0;
    return (brake->addresses[i].until_ns - now_ns + VRT_NS_PER_S - 1) / VRT_NS_PER_S;
}

/* The address's place, made where it has none. */
static size_t take_place(struct vrt_brake *brake, const char *address, int64_t now_ns)
{
    size_t i = find(brake, address), quietest = 0;

    if (i < VRT_BRAKE_ADDRESSES &&
        now_ns - brake->addresses[i].failed_ns < VRT_BRAKE_FORGET_S * VRT_NS_PER_S)
        return i;
    for (size_t j = 1; i == VRT_BRAKE_ADDRESSES && j < VRT_BRAKE_ADDRESSES; j++)
        if (brake->addresses[j].failed_ns < brake->addresses[quietest].failed_ns)
            quietest = j;
    i = i == VRT_BRAKE_ADDRESSES ? quietest : i;
    memset(&brake->addresses[i], 0, sizeof(brake->addresses[i]));
    snprintf(brake->addresses[i].address, sizeof(brake->addresses[i].address), "%s", address);
    return i;
}

int vrt_brake_failed(struct vrt_brake *brake, const char *address, int64_t now_ns)
{
    size_t i = take_place(brake, address, now_ns);
    int n_failed = ++brake->addresses[i].n_failed;

    brake->addresses[i].failed_ns = now_ns;
    if (n_failed > VRT_BRAKE_FREE) {
        int64_t wait_s = INT64_C(1) << VRT_MIN(n_failed - VRT_BRAKE_FREE - 1, 20);
        brake->addresses[i].until_ns = now_ns + VRT_MIN(wait_s, VRT_BRAKE_MAX_S) * VRT_NS_PER_S;
    }
    return n_failed;
}

void vrt_brake_passed(struct vrt_brake *brake, const char *address)
{
    size_t i = find(brake, address);

    if (i < VRT_BRAKE_ADDRESSES)
        memset(&brake->addresses[i], 0, sizeof(brake->addresses[i]));
}
