/* SPDX-License-Identifier: MIT */

#include "tests/simulators/xpu/driver/faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "tests/simulators/xpu/modules/cache.h"
#include "tests/simulators/xpu/driver/report.h"

#define MAX_RULES 64

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

struct rule {
    int card;                           /* -1: each */
    enum drv_event_kind kind;
    uint64_t first, last, every;
    enum effect effect;
    int64_t value;                      /* after "=": a factor, or a time in ns; 0: none */
    bool has_struck;
};

static const char *const kinds[DRV_EVENT_KIND_COUNT] = {
    [DRV_AT_CALL] = "call", [DRV_AT_ALLOC] = "alloc", [DRV_AT_BUILD] = "build",
    [DRV_AT_NATIVE] = "native", [DRV_AT_COPY] = "copy", [DRV_AT_RUN] = "run",
};

#define WORKING (1u << DRV_AT_COPY | 1u << DRV_AT_RUN)
#define MAKING (1u << DRV_AT_BUILD | 1u << DRV_AT_NATIVE)
#define ANYTHING (WORKING | MAKING | 1u << DRV_AT_CALL | 1u << DRV_AT_ALLOC)

static const struct {
    const char *name;
    unsigned kinds;                     /* a set: of which events it can be */
    enum { NOTHING, FACTOR, TIME, PERHAPS_TIME } value;
} effects[EFFECT_COUNT] = {
    [EFFECT_FAIL] = { "fail", 1u << DRV_AT_ALLOC | MAKING, NOTHING },
    [EFFECT_LOST] = { "lost", ANYTHING, PERHAPS_TIME },
    [EFFECT_MEND] = { "mend", 1u << DRV_AT_CALL, NOTHING },
    [EFFECT_HANG] = { "hang", WORKING, NOTHING },
    [EFFECT_FLIP] = { "flip", WORKING, NOTHING },
    [EFFECT_SLOW] = { "slow", WORKING, FACTOR },
    [EFFECT_DELAY] = { "delay", ANYTHING, TIME },
};

static struct {
    struct rule rules[MAX_RULES];
    size_t n_rules;
    uint64_t n[DRV_MAX_CARDS][DRV_EVENT_KIND_COUNT];
    struct timespec changed;            /* of the file, as it was read last */
    off_t size;
} faults;

/* A number at *at, which is then behind it. */
static bool read_number(const char **at, uint64_t *ret_number)
{
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    *ret_number = strtoull(*at, &end, 10);
    *at = end;
    return true;
}

/* What follows `word` at *at, which is then behind it. */
static bool read_word(const char **at, const char *word)
{
    const size_t n = strlen(word);
    if (strncmp(*at, word, n) != 0)
        return false;
    *at += n;
    return true;
}

static bool read_which(const char **at, struct rule *rule)
{
    rule->last = UINT64_MAX;
    rule->every = 1;
    if (read_word(at, "every=")) {
        if (!read_number(at, &rule->every))
            return false;
        rule->first = rule->every;
        return rule->every > 0;
    }
    if (!read_number(at, &rule->first) || !rule->first)
        return false;
    if (!read_word(at, "-"))
        rule->last = rule->first;
    else if (**at >= '0' && **at <= '9')
        return read_number(at, &rule->last) && rule->last >= rule->first;
    return true;
}

/* What follows an effect's name: "=5", "=20ms". */
static bool read_value(const char **at, struct rule *rule)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = { { "us", 1000 }, { "ms", VRT_NS_PER_MS }, { "s", VRT_NS_PER_S } };
    const int wanted = effects[rule->effect].value;
    uint64_t number;

    if (!read_word(at, "="))
        return wanted == NOTHING || wanted == PERHAPS_TIME;
    if (wanted == NOTHING || !read_number(at, &number) || !number || number > 1000000)
        return false;
    rule->value = (int64_t)number;
    if (wanted == FACTOR)
        return true;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(units); i++) {
        if (read_word(at, units[i].name)) {
            rule->value *= units[i].ns;
            return true;
        }
    }
    return false;
}

static void skip_space(const char **at)
{
    *at += strspn(*at, " \n");
}

static bool read_kind(const char **at, struct rule *rule)
{
    for (int i = 0; i < DRV_EVENT_KIND_COUNT; i++) {
        if (read_word(at, kinds[i])) {
            rule->kind = i;
            return read_word(at, ":");
        }
    }
    return false;
}

static bool read_effect(const char **at, struct rule *rule)
{
    for (int i = 0; i < EFFECT_COUNT; i++) {
        if (read_word(at, effects[i].name)) {
            rule->effect = i;
            return (effects[i].kinds >> rule->kind & 1) && read_value(at, rule);
        }
    }
    return false;
}

static bool read_rule(const char **at, struct rule *rule)
{
    uint64_t card;
    *rule = (struct rule){ .card = -1 };
    if (read_number(at, &card)) {
        if (card >= DRV_MAX_CARDS)
            return false;
        rule->card = (int)card;
        skip_space(at);
    }
    if (!read_kind(at, rule) || !read_which(at, rule) || **at != ' ')
        return false;
    skip_space(at);
    if (!read_effect(at, rule))
        return false;
    skip_space(at);
    return !**at || read_word(at, ";");
}

/* Return: false where `text` is no schedule; the one before stays. */
static bool read_rules(const char *text)
{
    struct rule rules[MAX_RULES];
    size_t n = 0;
    const char *at = text;

    for (skip_space(&at); *at; skip_space(&at)) {
        if (n == MAX_RULES || !read_rule(&at, &rules[n++])) {
            fprintf(stderr, "vrt-xpu-driver: rule %zu of the faults is nonsense: %s\n", n, text);
            return false;
        }
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
    VRT_CLEANUP(vrt_freep) char *text = (char *)drv_file_read(path, &n_bytes);
    if (!text || !read_rules(text))
        drv_misuse(ZE_RESULT_SUCCESS, "VRT_XPU_CONTROL=%s can't be read", path);
}

static bool is_about(const struct rule *rule, unsigned card, enum drv_event_kind kind, uint64_t n)
{
    return rule->kind == kind && (rule->card < 0 || (unsigned)rule->card == card) &&
           n >= rule->first && n <= rule->last && (n - rule->first) % rule->every == 0;
}

static void apply(struct rule *rule, struct drv_device *device, struct drv_fault *fault)
{
    if (!rule->has_struck)
        drv_report_fault(device);
    rule->has_struck = true;
    switch (rule->effect) {
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
        if (is_about(&faults.rules[i], device->card, kind, n))
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
