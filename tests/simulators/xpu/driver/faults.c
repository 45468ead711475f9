/* SPDX-License-Identifier: MIT */

#include "tests/simulators/xpu/driver/faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "tests/simulators/common/cache.h"
#include "tests/simulators/common/rules.h"
#include "tests/simulators/xpu/driver/report.h"

enum effect {
    EFFECT_FAIL,
    EFFECT_LOST,
    EFFECT_MEND,
    EFFECT_HANG,
    EFFECT_FLIP,
    EFFECT_SLOW,
    EFFECT_DELAY,
    EFFECT_COUNT,
};

static const char *const kinds[DRV_EVENT_KIND_COUNT] = {
    [DRV_AT_CALL] = "call", [DRV_AT_ALLOC] = "alloc", [DRV_AT_BUILD] = "build",
    [DRV_AT_NATIVE] = "native", [DRV_AT_COPY] = "copy", [DRV_AT_RUN] = "run",
};

#define WORKING (1u << DRV_AT_COPY | 1u << DRV_AT_RUN)
#define MAKING (1u << DRV_AT_BUILD | 1u << DRV_AT_NATIVE)
#define ANYTHING (WORKING | MAKING | 1u << DRV_AT_CALL | 1u << DRV_AT_ALLOC)

static const struct sim_effect effects[EFFECT_COUNT] = {
    [EFFECT_FAIL] = { "fail", 1u << DRV_AT_ALLOC | MAKING, SIM_NOTHING },
    [EFFECT_LOST] = { "lost", ANYTHING, SIM_PERHAPS_TIME },
    [EFFECT_MEND] = { "mend", 1u << DRV_AT_CALL, SIM_NOTHING },
    [EFFECT_HANG] = { "hang", WORKING, SIM_NOTHING },
    [EFFECT_FLIP] = { "flip", WORKING, SIM_NOTHING },
    [EFFECT_SLOW] = { "slow", WORKING, SIM_NUMBER },
    [EFFECT_DELAY] = { "delay", ANYTHING, SIM_TIME },
};

static const struct sim_grammar grammar = {
    .kinds = kinds,
    .n_kinds = DRV_EVENT_KIND_COUNT,
    .effects = effects,
    .n_effects = EFFECT_COUNT,
    .n_devices = DRV_MAX_CARDS,
};

static struct {
    struct sim_rule rules[SIM_MAX_RULES];
    size_t n_rules;
    uint64_t n[DRV_MAX_CARDS][DRV_EVENT_KIND_COUNT];
    struct timespec changed;            /* of the file, as it was read last */
    off_t size;
} faults;

/* Return: false where `text` is no schedule; the one before stays. */
static bool read_rules(const char *text)
{
    struct sim_rule rules[SIM_MAX_RULES];
    size_t n;

    if (!sim_rules_read(&grammar, text, rules, &n)) {
        fprintf(stderr, "vrt-xpu-driver: rule %zu of the faults is nonsense: %s\n", n, text);
        return false;
    }
    memcpy(faults.rules, rules, n * sizeof(rules[0]));
    faults.n_rules = n;
    memset(faults.n, 0, sizeof(faults.n));
    return true;
}

bool drv_faults_read(void)
{
    const char *text = getenv("VRT_XPU_FAULTS");
    return read_rules(text ? text : "");
}

void drv_faults_refresh(void)
{
    const char *path = getenv("VRT_XPU_CONTROL");
    struct stat now;
    size_t n_bytes;

    if (!path || stat(path, &now) != 0 ||
        (now.st_size == faults.size && now.st_mtim.tv_sec == faults.changed.tv_sec &&
         now.st_mtim.tv_nsec == faults.changed.tv_nsec))
        return;
    faults.size = now.st_size;
    faults.changed = now.st_mtim;
    VRT_CLEANUP(vrt_freep) char *text = (char *)sim_file_read(path, &n_bytes);
    if (!text || !read_rules(text))
        drv_misuse(ZE_RESULT_SUCCESS, "VRT_XPU_CONTROL=%s can't be read", path);
}

static void apply(struct sim_rule *rule, struct drv_device *device, struct drv_fault *fault)
{
    if (!rule->has_struck)
        drv_report_fault(device);
    rule->has_struck = true;
    switch ((enum effect)rule->effect) {
    case EFFECT_FAIL:
        fault->fails = true;
        break;
    case EFFECT_LOST:
        drv_device_lose(device, rule->value ? vrt_clock_now_ns() + rule->value : INT64_MAX);
        break;
    case EFFECT_MEND:
        drv_device_mend(device);
        break;
    case EFFECT_HANG:
        fault->hangs = true;
        break;
    case EFFECT_FLIP:
        fault->flips = true;
        break;
    case EFFECT_SLOW:
        fault->slow = (unsigned)rule->value;
        break;
    case EFFECT_DELAY:
        fault->delay_ns += rule->value;
        break;
    case EFFECT_COUNT:
        break;
    }
}

struct drv_fault drv_faults_count(struct drv_device *device, enum drv_event_kind kind)
{
    struct drv_fault fault = { .slow = 1 };
    drv_faults_refresh();
    drv_report_event(device, kind);
    const uint64_t n = ++faults.n[device->card][kind];
    for (size_t i = 0; i < faults.n_rules; i++) {
        if (sim_rule_is_about(&faults.rules[i], device->card, kind, n))
            apply(&faults.rules[i], device, &fault);
    }
    return fault;
}

ze_result_t drv_device_use(struct drv_device *device)
{
    const struct drv_fault fault = drv_faults_count(device, DRV_AT_CALL);
    drv_sleep(fault.delay_ns);
    return drv_device_is_lost(device) ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_SUCCESS;
}
