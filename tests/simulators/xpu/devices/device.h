/* SPDX-License-Identifier: MIT */
#pragma once

/* Cards, and the tiles they may have: what exists, and what it has been through. */

#include "tests/simulators/xpu/driver/object.h"
#include "tests/simulators/xpu/driver/settings.h"

#define DRV_VERSION_BASE 0x01030000u    /* of the driver; the settings have the rest */
#define DRV_MAX_ALLOCATION_BYTES 4294959104u    /* without the descriptor that relaxes it */
#define DRV_MAX_GROUP_SIZE 512
#define DRV_LOCAL_BYTES 65536
#define DRV_MAX_ARGUMENTS_BYTES 2048

/* What a queue can be for: its ordinal. */
enum drv_queue_group {
    DRV_QUEUE_COMPUTE,
    DRV_QUEUE_COPY,
    DRV_QUEUE_GROUP_COUNT,
};

/* What Sysman knows of a device, each by a handle of its own. */
enum drv_sensor_kind {
    DRV_SENSOR_MEMORY,
    DRV_SENSOR_TEMPERATURE_GPU,
    DRV_SENSOR_TEMPERATURE_MEMORY,
    DRV_SENSOR_POWER,
    DRV_SENSOR_ENGINE_COMPUTE,
    DRV_SENSOR_ENGINE_COPY,
    DRV_SENSOR_COUNT,
};

struct drv_sensor {
    struct drv_object object;
    struct drv_device *device;
    enum drv_sensor_kind kind;
};

struct drv_device {
    struct drv_object object;
    struct drv_sensor sensors[DRV_SENSOR_COUNT];
    unsigned card, tile;                /* tile: 0 for a whole card */
    struct drv_device *whole;           /* of a tile that is a subdevice: its card; else NULL */
    struct drv_device *tiles[DRV_MAX_TILES];    /* of a card with subdevices: those to be seen */
    unsigned n_tiles;
    uint64_t memory_bytes, used_bytes;
    int64_t busy_ns[DRV_QUEUE_GROUP_COUNT];     /* that its queues had something to do */
    unsigned n_hanging;                 /* commands */
    bool is_lost;                       /* of each of a card's devices */
    int64_t back_ns;                    /* when it comes back; INT64_MAX: never by itself */
    unsigned life;                      /* how often it came back: what was made before is dead */
};

/* Locked. Makes the devices that the settings and ZE_AFFINITY_MASK ask for. Return: as zeInit(). */
ze_result_t drv_devices_make(void);

/* Locked. Those of zeDeviceGet(). */
struct drv_device *const *drv_devices(uint32_t *ret_n);

/* Locked. NULL: no such device (drv_object_find()). */
struct drv_device *drv_device_find(ze_device_handle_t handle);

/* Locked. Whether the device is lost now. */
bool drv_device_is_lost(struct drv_device *device);

/* Locked. Whether what was made in its life `life` is dead: it is lost, or was since then. */
bool drv_device_is_dead(struct drv_device *device, unsigned life);

/* Locked. The device's card is lost, until `back_ns` (INT64_MAX: for good). */
void drv_device_lose(struct drv_device *device, int64_t back_ns);

/* Locked. It is back, if it was lost. */
void drv_device_mend(struct drv_device *device);

/* Locked. Whether a command hangs on any device. */
bool drv_devices_hang(void);

/* Locked. Whether memory of `owner` can be reached by `device`. */
bool drv_device_reaches(const struct drv_device *device, const struct drv_device *owner);

/* Locked. For how long there have been devices. */
int64_t drv_devices_age_ns(void);

/* The device's clock, of which nothing asks the time, and that of its kernels. */
#define DRV_TICKS_PER_S 19200000u
#define DRV_TICK_BITS 36
#define DRV_KERNEL_TICK_BITS 32
