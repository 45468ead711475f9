/* SPDX-License-Identifier: MIT */
#pragma once

/* What the environment says (the list is simulator.h's). */

#include <stdbool.h>
#include <stdint.h>

#define MTL_MAX_DEVICES 8

struct mtl_settings {
    unsigned n_devices, family, system;
    uint64_t memory_bytes;
    bool is_unified, has_report;
};

/* The settings, as mtl_settings_read() found them. */
const struct mtl_settings *mtl_settings(void);

/* Reads them; dies where a variable is nonsense. Thread: one. */
void mtl_settings_read(void);

/* Whether devices are of this family of Apple's GPUs, by MTLGPUFamily's numbers. */
bool mtl_settings_has_family(int64_t family);

/* Whether they multiply matrices. */
bool mtl_settings_has_matrices(void);
