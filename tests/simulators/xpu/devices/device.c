/* SPDX-License-Identifier: MIT */

#include "tests/simulators/xpu/devices/device.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/simulators/xpu/devices/affinity.h"
#include "base/clock.h"

static struct {
    struct drv_device cards[DRV_MAX_CARDS], tiles[DRV_MAX_CARDS][DRV_MAX_TILES];
    struct drv_device *seen[DRV_MAX_CARDS];
    uint32_t n_seen;
    int64_t start_ns;
} machine;

static void make_device(struct drv_device *device, unsigned card, unsigned tile)
{
    device->card = card;
    device->tile = tile;
    drv_object_add(&device->object, DRV_DEVICE, NULL);
    for (int kind = 0; kind < DRV_SENSOR_COUNT; kind++) {
        device->sensors[kind].device = device;
        device->sensors[kind].kind = kind;
        drv_object_add(&device->sensors[kind].object, DRV_SENSOR, NULL);
    }
}

static void make_card(unsigned card, uint32_t tiles)
{
    const struct drv_settings *settings = drv_settings();
    const bool whole = settings->n_tiles == 1 || (tiles & (tiles - 1)) != 0;
    struct drv_device *device = &machine.cards[card];

    if (whole) {
        make_device(device, card, 0);
        machine.seen[machine.n_seen++] = device;
    }
    if (settings->n_tiles == 1) {
        device->memory_bytes = settings->memory_bytes[card];
        return;
    }
    for (unsigned i = 0; i < settings->n_tiles; i++) {
        struct drv_device *tile = &machine.tiles[card][i];
        if (!(tiles >> i & 1))
            continue;
        tile->memory_bytes = settings->memory_bytes[card] / settings->n_tiles;
        make_device(tile, card, i);
        if (whole) {
            tile->whole = device;
            device->tiles[device->n_tiles++] = tile;
            device->memory_bytes += tile->memory_bytes;
        } else {
            machine.seen[machine.n_seen++] = tile;
        }
    }
}

ze_result_t drv_devices_make(void)
{
    uint32_t tiles[DRV_MAX_CARDS];
    const struct drv_settings *settings = drv_settings();
    const char *mask = getenv("ZE_AFFINITY_MASK");

    if (!drv_affinity_parse(mask, settings->n_cards, settings->n_tiles, tiles)) {
        fprintf(stderr, "vrt-xpu-driver: ZE_AFFINITY_MASK=%s is no list of devices\n", mask);
        return ZE_RESULT_ERROR_UNINITIALIZED;
    }
    machine.start_ns = vrt_clock_now_ns();
    for (unsigned card = 0; card < settings->n_cards; card++) {
        if (tiles[card])
            make_card(card, tiles[card]);
    }
    return machine.n_seen ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNINITIALIZED;
}

struct drv_device *const *drv_devices(uint32_t *ret_n)
{
    *ret_n = machine.n_seen;
    return machine.seen;
}

struct drv_device *drv_device_find(ze_device_handle_t handle)
{
    return drv_object_find(handle, DRV_DEVICE);
}

/* What there is of the device's card, itself included: `change` for each. */
static void for_card(const struct drv_device *device, void (*change)(struct drv_device *, int64_t),
                     int64_t value)
{
    change(&machine.cards[device->card], value);
    for (unsigned i = 0; i < DRV_MAX_TILES; i++)
        change(&machine.tiles[device->card][i], value);
    drv_changed();
}

static void lose(struct drv_device *device, int64_t back_ns)
{
    device->is_lost = true;
    device->back_ns = back_ns;
}

static void mend(struct drv_device *device, int64_t value)
{
    (void)value;
    device->is_lost = false;
    device->life++;
}

void drv_device_lose(struct drv_device *device, int64_t back_ns)
{
    for_card(device, lose, back_ns);
}

void drv_device_mend(struct drv_device *device)
{
    if (device->is_lost)
        for_card(device, mend, 0);
}

bool drv_device_is_lost(struct drv_device *device)
{
    if (device->is_lost && vrt_clock_now_ns() >= device->back_ns)
        drv_device_mend(device);
    return device->is_lost;
}

bool drv_device_is_dead(struct drv_device *device, unsigned life)
{
    return drv_device_is_lost(device) || device->life != life;
}

bool drv_devices_hang(void)
{
    for (uint32_t i = 0; i < machine.n_seen; i++) {
        const struct drv_device *device = machine.seen[i];
        unsigned n = device->n_hanging;
        for (unsigned k = 0; k < device->n_tiles; k++)
            n += device->tiles[k]->n_hanging;
        if (n)
            return true;
    }
    return false;
}

bool drv_device_reaches(const struct drv_device *device, const struct drv_device *owner)
{
    return device->card == owner->card || drv_settings()->can_peer;
}

int64_t drv_devices_age_ns(void)
{
    return vrt_clock_now_ns() - machine.start_ns;
}
