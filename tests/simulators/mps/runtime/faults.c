/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/runtime/faults.h"

#include <stdlib.h>

#include "tests/simulators/common/rules.h"
#include "tests/simulators/mps/runtime/settings.h"
#include "tests/simulators/mps/runtime/simulator.h"

enum effect {
    EFFECT_FAIL,
    EFFECT_ERROR,
    EFFECT_HANG,
    EFFECT_FLIP,
    EFFECT_COUNT,
};

static const char *const kinds[MTL_EVENT_KIND_COUNT] = {
    [MTL_AT_ALLOC] = "alloc",   [MTL_AT_LIBRARY] = "library", [MTL_AT_PIPELINE] = "pipeline",
    [MTL_AT_COMMIT] = "commit", [MTL_AT_COPY] = "copy",       [MTL_AT_RUN] = "run",
};

#define MAKING (1u << MTL_AT_ALLOC | 1u << MTL_AT_LIBRARY | 1u << MTL_AT_PIPELINE)

static const struct sim_effect effects[EFFECT_COUNT] = {
    [EFFECT_FAIL] = { "fail", MAKING, SIM_NOTHING },
    [EFFECT_ERROR] = { "error", 1u << MTL_AT_COMMIT, SIM_NUMBER },
    [EFFECT_HANG] = { "hang", 1u << MTL_AT_COMMIT, SIM_NOTHING },
    [EFFECT_FLIP] = { "flip", 1u << MTL_AT_COPY | 1u << MTL_AT_RUN, SIM_NOTHING },
};

static const struct sim_grammar grammar = {
    .kinds = kinds,
    .n_kinds = MTL_EVENT_KIND_COUNT,
    .effects = effects,
    .n_effects = EFFECT_COUNT,
    .n_devices = MTL_MAX_DEVICES,
};

static struct {
    struct sim_rule rules[SIM_MAX_RULES];
    size_t n_rules;
    uint64_t n[MTL_MAX_DEVICES][MTL_EVENT_KIND_COUNT];      /* under the lock */
} faults;

void mtl_faults_read(void)
{
    const char *text = getenv("VRT_MPS_FAULTS");

    if (text && !sim_rules_read(&grammar, text, faults.rules, &faults.n_rules))
        mtl_die("rule %zu of VRT_MPS_FAULTS=%s is nonsense", faults.n_rules, text);
}

static void apply(const struct sim_rule *rule, struct mtl_fault *fault)
{
    switch ((enum effect)rule->effect) {
    case EFFECT_FAIL:
        fault->fails = true;
        break;
    case EFFECT_ERROR:
        fault->error = (int)rule->value;
        break;
    case EFFECT_HANG:
        fault->hangs = true;
        break;
    case EFFECT_FLIP:
        fault->flips = true;
        break;
    case EFFECT_COUNT:
        break;
    }
}

struct mtl_fault mtl_faults_count(unsigned device, enum mtl_event_kind kind)
{
    struct mtl_fault fault = { 0 };

    mtl_lock();
    const uint64_t n = ++faults.n[device][kind];
    mtl_unlock();
    for (size_t i = 0; i < faults.n_rules; i++) {
        if (sim_rule_is_about(&faults.rules[i], device, kind, n))
            apply(&faults.rules[i], &fault);
    }
    return fault;
}
