/* SPDX-License-Identifier: MIT */
#pragma once

/* What the environment says (the list is driver.h's). */

#include <stdbool.h>
#include <stdint.h>

#define DRV_MAX_CARDS 64
#define DRV_MAX_TILES 4

struct drv_settings {
    unsigned n_cards, n_tiles;
    uint64_t memory_bytes[DRV_MAX_CARDS];
    bool can_peer, is_strict;
    bool are_integrated;                /* their memory is the host's */
    bool has_matrices;                  /* modules for matrix units are executed */
    enum drv_sysman {
        DRV_SYSMAN_NONE,
        DRV_SYSMAN_WHOLE,
        DRV_SYSMAN_FORBIDDEN,           /* it is answered, but not to this user */
    } sysman;
    unsigned version;
};

/* Locked. The settings, as drv_settings_read() found them. */
const struct drv_settings *drv_settings(void);

/* Locked. Reads them. Return: false where a variable is nonsense, of which a line says why. */
bool drv_settings_read(void);
