/* SPDX-License-Identifier: MIT */

#include "tests/simulators/common/rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"

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

static bool read_which(const char **at, struct sim_rule *rule)
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
static bool read_value(const char **at, enum sim_value wanted, struct sim_rule *rule)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = { { "us", 1000 }, { "ms", VRT_NS_PER_MS }, { "s", VRT_NS_PER_S } };
    uint64_t number;

    if (!read_word(at, "="))
        return wanted == SIM_NOTHING || wanted == SIM_PERHAPS_TIME;
    if (wanted == SIM_NOTHING || !read_number(at, &number) || !number || number > 1000000)
        return false;
    rule->value = (int64_t)number;
    if (wanted == SIM_NUMBER)
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

static bool read_kind(const struct sim_grammar *grammar, const char **at, struct sim_rule *rule)
{
    for (unsigned i = 0; i < grammar->n_kinds; i++) {
        if (read_word(at, grammar->kinds[i])) {
            rule->kind = i;
            return read_word(at, ":");
        }
    }
    return false;
}

static bool read_effect(const struct sim_grammar *grammar, const char **at, struct sim_rule *rule)
{
    for (unsigned i = 0; i < grammar->n_effects; i++) {
        const struct sim_effect *effect = &grammar->effects[i];

        if (read_word(at, effect->name)) {
            rule->effect = i;
            return (effect->kinds >> rule->kind & 1) && read_value(at, effect->value, rule);
        }
    }
    return false;
}

static bool read_rule(const struct sim_grammar *grammar, const char **at, struct sim_rule *rule)
{
    uint64_t device;
    *rule = (struct sim_rule){ .device = -1 };
    if (read_number(at, &device)) {
        if (device >= grammar->n_devices)
            return false;
        rule->device = (int)device;
        skip_space(at);
    }
    if (!read_kind(grammar, at, rule) || !read_which(at, rule) || **at != ' ')
        return false;
    skip_space(at);
    if (!read_effect(grammar, at, rule))
        return false;
    skip_space(at);
    return !**at || read_word(at, ";");
}

bool sim_rules_read(const struct sim_grammar *grammar, const char *text,
                    struct sim_rule rules[SIM_MAX_RULES], size_t *ret_n)
{
    const char *at = text;

    *ret_n = 0;
    for (skip_space(&at); *at; skip_space(&at)) {
        if (*ret_n == SIM_MAX_RULES || !read_rule(grammar, &at, &rules[(*ret_n)++]))
            return false;
    }
    return true;
}

bool sim_rule_is_about(const struct sim_rule *rule, unsigned device, unsigned kind, uint64_t n)
{
    return rule->kind == kind && (rule->device < 0 || (unsigned)rule->device == device) &&
           n >= rule->first && n <= rule->last && (n - rule->first) % rule->every == 0;
}
