/* SPDX-License-Identifier: MIT */

#include "tests/simulators/xpu/driver/report.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

enum figure {
    /* Of DRV_EVENT_KIND_COUNT kinds of event, in their order. */
    FIGURE_CALLS,
    FIGURE_ALLOCS,
    FIGURE_BUILDS,
    FIGURE_NATIVES,
    FIGURE_COPIES,
    FIGURE_RUNS,
    FIGURE_FROM_HOST,
    FIGURE_TO_HOST,
    FIGURE_FROM_CARD,
    FIGURE_PEAK,
    FIGURE_FAULTS,
    FIGURE_COUNT,
};

static const char *const names[FIGURE_COUNT] = {
    "calls",           "allocs",        "builds",          "natives",    "copies", "runs",
    "from_host_bytes", "to_host_bytes", "from_card_bytes", "peak_bytes", "faults",
};

static uint64_t figures[DRV_MAX_CARDS][FIGURE_COUNT];

void drv_report_copy(const struct drv_device *to_owner, const struct drv_device *from_owner,
                     size_t n_bytes)
{
    if (to_owner && !from_owner)
        figures[to_owner->card][FIGURE_FROM_HOST] += n_bytes;
    else if (from_owner && !to_owner)
        figures[from_owner->card][FIGURE_TO_HOST] += n_bytes;
    else if (to_owner && from_owner && to_owner->card != from_owner->card)
        figures[to_owner->card][FIGURE_FROM_CARD] += n_bytes;
}

void drv_report_use(const struct drv_device *device, uint64_t used_bytes)
{
    uint64_t *peak = &figures[device->card][FIGURE_PEAK];
    *peak = VRT_MAX(*peak, used_bytes);
}

void drv_report_event(const struct drv_device *device, enum drv_event_kind kind)
{
    figures[device->card][FIGURE_CALLS + kind]++;
}

void drv_report_fault(const struct drv_device *device)
{
    figures[device->card][FIGURE_FAULTS]++;
}

void drv_report_span(const struct drv_device *device, const char *engine, int64_t start_ns)
{
    static FILE *file;
    static bool is_open;

    if (!is_open) {
        const char *path = getenv("VRT_XPU_TIMELINE");
        file = path && *path ? fopen(path, "w") : NULL;
        is_open = true;
    }
    if (!file)
        return;
    fprintf(file, "%u %s %" PRId64 " %" PRId64 "\n", device->card, engine, start_ns,
            vrt_clock_now_ns());
    fflush(file);
}

void drv_report_write(unsigned n_misuses)
{
    const char *path = getenv("VRT_XPU_REPORT");
    FILE *file = path && *path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    for (unsigned card = 0; card < drv_settings()->n_cards; card++) {
        for (int i = 0; i < FIGURE_COUNT; i++)
            fprintf(file, "%u %s %" PRIu64 "\n", card, names[i], figures[card][i]);
    }
    fprintf(file, "all misuses %u\n", n_misuses);
    fclose(file);
}
