/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Failures on a schedule: which event of which device they come true at
 *
 *     0 alloc:3 fail; 1 call:200- lost; run:every=5 delay=2ms
 *
 *     rule      [device] kind:which effect; without a device it is about each of them
 *     which     N, N-, N-M, or every=N: the Nth such event of the device, from 1
 *     effect    a name, and "=" with what some need: a number, or a time: 20us, 5ms, 1s
 *
 * The kinds of events and the effects are each simulator's own.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_MAX_RULES 64

struct sim_effect {
    const char *name;
    unsigned kinds;                     /* a set: of which events it can be */
    enum sim_value { SIM_NOTHING, SIM_NUMBER, SIM_TIME, SIM_PERHAPS_TIME } value;
};

struct sim_grammar {
    const char *const *kinds;
    unsigned n_kinds;
    const struct sim_effect *effects;
    unsigned n_effects;
    unsigned n_devices;
};

struct sim_rule {
    int device;                         /* -1: each */
    unsigned kind, effect;
    uint64_t first, last, every;
    int64_t value;                      /* after "=": a number, or a time in ns; 0: none */
    bool has_struck;                    /* the simulator's to set */
};

/*
 * Reads what rules `text` has, separated by semicolons. Return: whether all of them are; *ret_n is
 * how many there are, or which of them, from 1, is nonsense.
 */
bool sim_rules_read(const struct sim_grammar *grammar, const char *text,
                    struct sim_rule rules[SIM_MAX_RULES], size_t *ret_n);

/* Whether the rule is about the n-th event of this kind on the device. */
bool sim_rule_is_about(const struct sim_rule *rule, unsigned device, unsigned kind, uint64_t n);
