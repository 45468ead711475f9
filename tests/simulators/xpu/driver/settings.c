/* SPDX-License-Identifier: MIT */

#include "tests/simulators/xpu/driver/settings.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macro.h"

/* A variable that holds one number. */
struct number {
    const char *name;
    unsigned fallback, least, most;
    size_t offset;                      /* of an unsigned, in struct raw */
};

struct raw {
    unsigned cards, tiles, peer, sysman, strict, version, matrices, integrated, zes;
};

static const struct number numbers[] = {
    { "VRT_XPU_DEVICES", 1, 0, DRV_MAX_CARDS, offsetof(struct raw, cards) },
    { "VRT_XPU_TILES", 1, 1, DRV_MAX_TILES, offsetof(struct raw, tiles) },
    { "VRT_XPU_PEER", 0, 0, 1, offsetof(struct raw, peer) },
    { "VRT_XPU_SYSMAN", 1, 0, 2, offsetof(struct raw, sysman) },
    { "VRT_XPU_STRICT", 1, 0, 1, offsetof(struct raw, strict) },
    { "VRT_XPU_VERSION", 1, 1, 65535, offsetof(struct raw, version) },
    { "VRT_XPU_DPAS", 0, 0, 1, offsetof(struct raw, matrices) },
    { "VRT_XPU_INTEGRATED", 0, 0, 1, offsetof(struct raw, integrated) },
    { "ZES_ENABLE_SYSMAN", 0, 0, 1, offsetof(struct raw, zes) },
};

static struct drv_settings settings;

const struct drv_settings *drv_settings(void)
{
    return &settings;
}

static bool refuse(const char *name, const char *text)
{
    fprintf(stderr, "vrt-xpu-driver: %s=%s is nonsense\n", name, text);
    return false;
}

/* A number at *text, which is then behind it. */
static bool read_number(const char **text, unsigned long least, unsigned long most,
                        unsigned long *ret_number)
{
    char *end;
    unsigned long n = strtoul(*text, &end, 10);
    if (end == *text || **text == '-' || n < least || n > most)
        return false;
    *text = end;
    *ret_number = n;
    return true;
}

static bool read_numbers(struct raw *raw)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(numbers); i++) {
        const struct number *number = &numbers[i];
        const char *text = getenv(number->name), *at = text;
        unsigned long n = number->fallback;
        if (text && *text && (!read_number(&at, number->least, number->most, &n) || *at))
            return refuse(number->name, text);
        *(unsigned *)(void *)((char *)raw + number->offset) = (unsigned)n;
    }
    return true;
}

static bool read_memory(void)
{
    static const char name[] = "VRT_XPU_MEMORY_MIB";
    const char *text = getenv(name), *at = text && *text ? text : "16384";
    unsigned long mib = 0;

    for (unsigned i = 0; i < DRV_MAX_CARDS; i++) {
        if (*at) {
            if (!read_number(&at, 1, 1 << 20, &mib) || (*at && *at++ != ','))
                return refuse(name, text);
        }
        settings.memory_bytes[i] = (uint64_t)mib << 20;
    }
    return !*at || refuse(name, text);
}

bool drv_settings_read(void)
{
    struct raw raw;
    if (!read_numbers(&raw) || !read_memory())
        return false;
    settings.n_cards = raw.cards;
    settings.n_tiles = raw.tiles;
    settings.can_peer = raw.peer;
    settings.sysman = raw.zes ? raw.sysman : DRV_SYSMAN_NONE;
    settings.is_strict = raw.strict;
    settings.version = raw.version;
    settings.has_matrices = raw.matrices;
    settings.are_integrated = raw.integrated;
    return true;
}
