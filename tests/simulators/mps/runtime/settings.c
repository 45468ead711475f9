/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/runtime/settings.h"

#include <stdlib.h>

#include "base/macro.h"
#include "tests/simulators/mps/runtime/simulator.h"

enum family {
    FAMILY_APPLE1 = 1001,
    FAMILY_APPLE7 = 1007,
    FAMILY_APPLE9 = 1009,
    FAMILY_MAC2 = 2002,
};

/* A variable that holds one number. */
struct number {
    const char *name;
    unsigned fallback, least, most;
};

static struct mtl_settings settings;

const struct mtl_settings *mtl_settings(void)
{
    return &settings;
}

static unsigned read_number(const struct number *number)
{
    const char *text = getenv(number->name);
    char *end;

    if (!text || !*text)
        return number->fallback;
    const unsigned long n = strtoul(text, &end, 10);
    if (*end || *text == '-' || n < number->least || n > number->most)
        mtl_die("%s=%s is nonsense", number->name, text);
    return (unsigned)n;
}

void mtl_settings_read(void)
{
    enum { DEVICES, MEMORY, UNIFIED, FAMILY, SYSTEM, REPORT, COUNT };
    static const struct number numbers[COUNT] = {
        [DEVICES] = { "VRT_MPS_DEVICES", 1, 0, MTL_MAX_DEVICES },
        [MEMORY] = { "VRT_MPS_MEMORY_MB", 16384, 1, 1 << 20 },
        [UNIFIED] = { "VRT_MPS_UNIFIED", 1, 0, 1 },
        [FAMILY] = { "VRT_MPS_FAMILY", FAMILY_APPLE7, FAMILY_APPLE1, FAMILY_MAC2 },
        [SYSTEM] = { "VRT_MPS_SYSTEM", 14, 13, 14 },
        [REPORT] = { "VRT_MPS_REPORT", 0, 0, 1 },
    };
    unsigned values[COUNT];

    for (unsigned i = 0; i < COUNT; i++)
        values[i] = read_number(&numbers[i]);
    if (values[FAMILY] > FAMILY_APPLE9 && values[FAMILY] != FAMILY_MAC2)
        mtl_die("VRT_MPS_FAMILY=%u is nonsense", values[FAMILY]);
    settings = (struct mtl_settings){
        .n_devices = values[DEVICES],
        .family = values[FAMILY],
        .system = values[SYSTEM],
        .memory_bytes = (uint64_t)values[MEMORY] << 20,
        .is_unified = values[UNIFIED],
        .has_report = values[REPORT],
    };
}

bool mtl_settings_has_family(int64_t family)
{
    return settings.family <= FAMILY_APPLE9 && family >= FAMILY_APPLE1 &&
           family <= settings.family;
}

bool mtl_settings_has_matrices(void)
{
    return mtl_settings_has_family(FAMILY_APPLE7);
}
