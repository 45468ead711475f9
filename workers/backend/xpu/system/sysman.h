/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How a GPU is, as Level Zero's system management (Sysman) tells, where the driver has it
 *
 * Utilisation and power are differences of counters: unknown until they are asked for twice.
 */

#include "backend/backend.h"
#include "backend/xpu/system/system.h"

/* What was found once, and the counters as they were last. Handles are NULL where there is none. */
struct vrt_xpu_sysman {
    const struct vrt_xpu_loader *loader;
    zes_device_handle_t device;
    zes_temp_handle_t temperature;
    zes_pwr_handle_t power;
    zes_engine_handle_t compute;
    zes_engine_stats_t compute_stats;
    zes_power_energy_counter_t energy;
};

/* Finds what there is to ask; never fails. */
void vrt_xpu_sysman_init(struct vrt_xpu_sysman *sysman, const struct vrt_xpu_system *system,
                         const struct vrt_xpu_unit *unit);

/* *ret_info has -1 for what the driver doesn't tell. */
void vrt_xpu_sysman_memory(const struct vrt_xpu_sysman *sysman, struct vrt_memory_info *ret_info);

/* What isn't known is NAN. */
void vrt_xpu_sysman_read(struct vrt_xpu_sysman *sysman, struct vrt_device_sensors *ret_sensors);
