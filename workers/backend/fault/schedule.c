/* SPDX-License-Identifier: MIT */

/*
 * The grammar is at the head of backend/fault.h. A schedule is a list of rules, all of which are
 * looked at for each call: what happens depends on the device, the call and its number alone, never
 * on time, so that a failure that a test has found comes again.
 *
 * A mistake is told with its rule and word: a schedule that is half understood would let a test
 * pass because nothing ever failed.
 */

#include "backend/fault/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/kind.h"
#include "base/clock.h"

#define DIGITS "0123456789"
#define MAX_RULES 64
#define MAX_WORDS 4             /* of a rule: device, when, effect, revive */
#define MAX_TEXT 4096
#define MAX_NUMBER 1000000000
#define MAX_DELAY_NS (3600 * VRT_NS_PER_S)

static const char *const calls[] = {
    [VRT_FAULT_OPEN] = "open",       [VRT_FAULT_ALLOC] = "alloc",     [VRT_FAULT_WRITE] = "write",
    [VRT_FAULT_READ] = "read",       [VRT_FAULT_PACK] = "pack",
    [VRT_FAULT_REPLICA] = "replica", [VRT_FAULT_COPY] = "copy",
    [VRT_FAULT_CHECKSUM] = "checksum",
    [VRT_FAULT_PROGRAM] = "program", [VRT_FAULT_SUBMIT] = "submit",
    [VRT_FAULT_FINISH] = "finish",
};

_Static_assert(VRT_ARRAY_SIZE(calls) == VRT_FAULT_CALL_COUNT, "every call has its name");

#define ANY_CALL ((1u << VRT_FAULT_CALL_COUNT) - 1)
#define ALLOCATING (1u << VRT_FAULT_OPEN | 1u << VRT_FAULT_ALLOC | 1u << VRT_FAULT_PACK | \
                    1u << VRT_FAULT_REPLICA | 1u << VRT_FAULT_PROGRAM)
#define SUBMITTING (1u << VRT_FAULT_SUBMIT)
#define BESIDE (1u << VRT_FAULT_WRITE | 1u << VRT_FAULT_READ | 1u << VRT_FAULT_SUBMIT)
#define HOLDING (1u << VRT_FAULT_COPY | 1u << VRT_FAULT_CHECKSUM)

static const struct {
    const char *word;
    enum vrt_fault_effect effect;
    unsigned calls;             /* a set: where it makes sense */
} effects[] = {
    { "fail", VRT_FAULT_FAIL, ANY_CALL },
    { "nomem", VRT_FAULT_NOMEM, ALLOCATING },
    { "lost", VRT_FAULT_LOST, ANY_CALL },
    { "corrupt=nan", VRT_FAULT_CORRUPT_NAN, SUBMITTING },
    { "corrupt=zeros", VRT_FAULT_CORRUPT_ZEROS, SUBMITTING },
    { "corrupt=garbage", VRT_FAULT_CORRUPT_GARBAGE, SUBMITTING },
    { "black", VRT_FAULT_BLACK, SUBMITTING },
    { "corrupt", VRT_FAULT_CORRUPT_COPY, HOLDING },
};

static const struct {
    const char *unit;
    int64_t ns;
} units[] = { { "us", 1000 }, { "ms", VRT_NS_PER_MS }, { "s", VRT_NS_PER_S } };

const char *vrt_fault_call_name(enum vrt_fault_call call)
{
    return calls[call];
}

/* Words of one rule, and where it is, for messages. */
struct words {
    const char *word[MAX_WORDS];
    int n;
    int number;                 /* of the rule, from 1 */
};

static int refuse(const struct words *words, const char *why, const char *word,
                  struct vrt_error *error)
{
    char shown[64];

    return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid",
                      "rule %d of the fault schedule is not understood at \"%s\": %s",
                      words->number, vrt_printable(word, shown, sizeof(shown)), why);
}

/* Decimal digits, 1 to MAX_NUMBER. Return: what follows them; NULL: no such number. */
static const char *parse_number(const char *text, int64_t *ret_number)
{
    int64_t number = 0;

    if (*text < '1' || *text > '9')
        return NULL;
    for (; *text >= '0' && *text <= '9'; text++) {
        number = number * 10 + (*text - '0');
        if (number > MAX_NUMBER)
            return NULL;
    }
    *ret_number = number;
    return text;
}

/* What follows `prefix` in `word`, or NULL. */
static const char *after_prefix(const char *word, const char *prefix)
{
    const size_t n = strlen(prefix);

    return strncmp(word, prefix, n) == 0 ? word + n : NULL;
}

/* "3", "3-5", "3-" or "every=3". Return: whether it is one of these. All become one form: each
 * `every`th from `first` to `last`. */
static bool parse_which(const char *text, struct vrt_fault_rule *rule)
{
    const char *every = after_prefix(text, "every=");

    rule->last = INT64_MAX;
    rule->every = 1;
    if (every) {
        const char *end = parse_number(every, &rule->every);
        rule->first = rule->every;
        return end && !*end;
    }
    text = parse_number(text, &rule->first);
    if (text && !*text)
        rule->last = rule->first;
    if (!text || !*text)
        return text != NULL;
    if (*text++ != '-')
        return false;
    if (*text)
        text = parse_number(text, &rule->last);
    return text && !*text && rule->last >= rule->first;
}

/* The call that a word like "submit:3" begins with, or VRT_FAULT_CALL_COUNT. */
static enum vrt_fault_call call_of(const char *word)
{
    const size_t n = strcspn(word, ":");
    enum vrt_fault_call call = 0;

    while (call < VRT_FAULT_CALL_COUNT &&
           (strlen(calls[call]) != n || strncmp(word, calls[call], n) != 0))
        call++;
    return call;
}

static bool is_when(const char *word)
{
    return after_prefix(word, "after") || call_of(word) != VRT_FAULT_CALL_COUNT;
}

static int parse_when(const struct words *words, const char *word, struct vrt_fault_rule *rule,
                      struct vrt_error *error)
{
    const char *after = after_prefix(word, "after=");

    if (after) {
        const char *end = parse_number(after, &rule->first);
        if (!end || *end)
            return refuse(words, "after \"after=\" stands a number of submissions", word, error);
        /* After ten submissions it is the eleventh that meets it. */
        rule->first++;
        rule->last = INT64_MAX;
        rule->every = 1;
        rule->call = VRT_FAULT_SUBMIT;
        return 0;
    }
    rule->call = call_of(word);
    if (rule->call == VRT_FAULT_CALL_COUNT)
        return refuse(words, "calls are open, alloc, write, read, replica, program, submit and "
                      "finish", word, error);
    const char *which = strchr(word, ':');
    if (!which || !parse_which(which + 1, rule))
        return refuse(words, "which calls is said like submit:3, submit:3-5, submit:3- or "
                      "submit:every=3", word, error);
    return 0;
}

/* "cpu", "cpu:1" or, of a card with parts, "KIND:0.1". Return: whether it can be a device's. */
static bool parse_device(const char *word, struct vrt_fault_rule *rule)
{
    const size_t n = strcspn(word, ":");

    if (strlen(word) >= sizeof(rule->device))
        return false;
    memcpy(rule->device, word, strlen(word) + 1);
    if (!vrt_device_kind_find(word, n))
        return false;
    if (!word[n])
        return true;
    const char *number = word + n + 1;
    const size_t n_digits = strspn(number, DIGITS);
    /* No device is called so: the rule would never apply. */
    if (n_digits > 1 && number[0] == '0')
        return false;
    if (n_digits == 0 || number[n_digits] != '.')
        return n_digits > 0 && !number[n_digits];
    number += n_digits + 1;
    return *number && strspn(number, DIGITS) == strlen(number) && (number[0] != '0' || !number[1]);
}

/* "50ms". Return: whether it is a time. */
static bool parse_delay(const char *text, int64_t *ret_ns)
{
    int64_t number;

    text = parse_number(text, &number);
    for (size_t i = 0; text && i < VRT_ARRAY_SIZE(units); i++)
        if (strcmp(text, units[i].unit) == 0 && number <= MAX_DELAY_NS / units[i].ns) {
            *ret_ns = number * units[i].ns;
            return true;
        }
    return false;
}

/* "nomem>4096" of a rule about alloc. */
static int parse_limit(const struct words *words, const char *word, struct vrt_fault_rule *rule,
                       struct vrt_error *error)
{
    const char *end = parse_number(after_prefix(word, "nomem>"), &rule->above_bytes);

    if (rule->call != VRT_FAULT_ALLOC)
        return refuse(words, "this effect doesn't go with this call", word, error);
    rule->effect = VRT_FAULT_NOMEM;
    return end && !*end ? 0 : refuse(words, "after \"nomem>\" stands a number of bytes", word,
                                     error);
}

static bool is_op(const char *name)
{
    for (int kind = 0; kind < VRT_OP_KIND_COUNT; kind++)
        if (strcmp(name, vrt_op_kind_name((enum vrt_op_kind)kind)) == 0)
            return true;
    return false;
}

static int parse_effect(const struct words *words, const char *word, struct vrt_fault_rule *rule,
                        struct vrt_error *error)
{
    const char *delay = after_prefix(word, "delay="), *takes = after_prefix(word, "takes=");

    if (takes && !(BESIDE & 1u << rule->call))
        return refuse(words, "this effect doesn't go with this call", word, error);
    if (delay || takes) {
        rule->effect = delay ? VRT_FAULT_DELAY : VRT_FAULT_TAKES;
        return parse_delay(delay ? delay : takes, delay ? &rule->delay_ns : &rule->takes_ns)
                   ? 0
                   : refuse(words, "a time is like 20us, 50ms or 2s, an hour at most", word,
                            error);
    }
    rule->file = after_prefix(word, "hang=");
    if (rule->file) {
        rule->effect = VRT_FAULT_HANG;
        return rule->file[0] ? 0 : refuse(words, "after \"hang=\" stands a file", word, error);
    }
    rule->lacks = after_prefix(word, "lacks=");
    if (rule->lacks) {
        rule->effect = VRT_FAULT_LACKS;
        return rule->call == VRT_FAULT_OPEN && is_op(rule->lacks)
                   ? 0
                   : refuse(words, "after \"open\" and \"lacks=\" stands an op, as in "
                            "lacks=conv2d", word, error);
    }
    if (after_prefix(word, "nomem>"))
        return parse_limit(words, word, rule, error);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(effects); i++) {
        if (strcmp(word, effects[i].word) != 0)
            continue;
        if (!(effects[i].calls & 1u << rule->call))
            return refuse(words, "this effect doesn't go with this call", word, error);
        rule->effect = effects[i].effect;
        return 0;
    }
    return refuse(words, "effects are fail, nomem, nomem>BYTES, lost, delay=TIME, takes=TIME, "
                  "lacks=OP, hang=FILE, corrupt=nan, corrupt=zeros, corrupt=garbage, black and "
                  "corrupt", word, error);
}

static int parse_revive(const struct words *words, const char *word, struct vrt_fault_rule *rule,
                        struct vrt_error *error)
{
    const char *number = after_prefix(word, "revive=");
    const char *end = number;

    if (rule->effect != VRT_FAULT_LOST || !number)
        return refuse(words, "nothing is expected here, but revive=N after lost", word, error);
    if (strcmp(number, "never") == 0) {
        rule->revive = VRT_FAULT_NEVER;
        return 0;
    }
    end = parse_number(number, &rule->revive);
    return end && !*end ? 0 : refuse(words, "after \"revive=\" stands a number, or never", word,
                                     error);
}

static int parse_rule(const struct words *words, struct vrt_fault_rule *rule,
                      struct vrt_error *error)
{
    int at = 0;

    *rule = (struct vrt_fault_rule){ .revive = 1 };
    if (!is_when(words->word[at]) && !parse_device(words->word[at++], rule))
        return refuse(words, "a rule begins with a device like cpu:1 or cpu, or a call like "
                      "submit:3", words->word[0], error);
    if (at >= words->n)
        return refuse(words, "a call like submit:3 is missing", words->word[at - 1], error);
    int r = parse_when(words, words->word[at++], rule, error);
    if (r < 0)
        return r;
    if (at >= words->n)
        return refuse(words, "an effect like fail is missing", words->word[at - 1], error);
    r = parse_effect(words, words->word[at++], rule, error);
    if (r < 0)
        return r;
    if (at < words->n)
        r = parse_revive(words, words->word[at++], rule, error);
    if (r < 0)
        return r;
    if (at < words->n)
        r = refuse(words, "nothing is expected here", words->word[at], error);
    return r;
}

static int parse(struct vrt_fault_schedule *schedule, char *text, struct vrt_error *error)
{
    struct words words = { .number = 0 };
    char *rest_rules = text, *rest_words, *rule, *word;

    /* strsep(), unlike strtok_r(), yields empty rules too, which count: rule 3 in a message is the
     * third of the text. */
    while ((rule = strsep(&rest_rules, ";"))) {
        words.number++;
        words.n = 0;
        for (word = strtok_r(rule, " \t\n", &rest_words); word;
             word = strtok_r(NULL, " \t\n", &rest_words)) {
            if (words.n == MAX_WORDS)
                return refuse(&words, "nothing is expected here", word, error);
            words.word[words.n++] = word;
        }
        /* A ';' at the end, or two in a row. */
        if (words.n == 0)
            continue;
        if (schedule->n_rules == MAX_RULES)
            return refuse(&words, "a schedule has 64 rules at most", words.word[0], error);
        int r = parse_rule(&words, &schedule->rules[schedule->n_rules++], error);
        if (r < 0)
            return r;
    }
    return 0;
}

int vrt_fault_schedule_new(const char *text, struct vrt_fault_schedule **ret_schedule,
                           struct vrt_error *error)
{
    VRT_CLEANUP(vrt_fault_schedule_freep) struct vrt_fault_schedule *schedule = NULL;

    if (strlen(text) > MAX_TEXT)
        return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid",
                          "The fault schedule is longer than %d characters", MAX_TEXT);
    schedule = calloc(1, sizeof(*schedule));
    if (schedule) {
        schedule->text = strdup(text);
        schedule->rules = calloc(MAX_RULES, sizeof(*schedule->rules));
    }
    if (!schedule || !schedule->text || !schedule->rules)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "Reading the fault schedule");
    int r = parse(schedule, schedule->text, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_schedule = VRT_STEAL(schedule);
    return 0;
}

struct vrt_fault_schedule *vrt_fault_schedule_free(struct vrt_fault_schedule *schedule)
{
    if (!schedule)
        return NULL;
    free(schedule->text);
    free(schedule->rules);
    free(schedule);
    return NULL;
}

static bool is_for(const struct vrt_fault_rule *rule, const struct vrt_device_info *info)
{
    return !rule->device[0] || strcmp(rule->device, info->name) == 0 ||
           strcmp(rule->device, info->kind) == 0;
}

static bool rule_fits(const struct vrt_fault_rule *rule, const struct vrt_device_info *info,
                      const struct vrt_fault_occasion *occasion)
{
    const int64_t count = occasion->count;

    return is_for(rule, info) && rule->call == occasion->call && count >= rule->first &&
           count <= rule->last && (count - rule->first) % rule->every == 0 &&
           (!rule->above_bytes || occasion->size_bytes > rule->above_bytes);
}

bool vrt_fault_schedule_takes_time(const struct vrt_fault_schedule *schedule,
                                   const struct vrt_device_info *info)
{
    bool takes = false;

    for (size_t i = 0; i < schedule->n_rules; i++)
        takes |= schedule->rules[i].takes_ns > 0 && is_for(&schedule->rules[i], info);
    return takes;
}

bool vrt_fault_schedule_lacks(const struct vrt_fault_schedule *schedule,
                              const struct vrt_device_info *info, const char *op)
{
    bool lacks = false;

    for (size_t i = 0; i < schedule->n_rules; i++) {
        const struct vrt_fault_rule *rule = &schedule->rules[i];
        lacks |= rule->lacks && is_for(rule, info) && strcmp(rule->lacks, op) == 0;
    }
    return lacks;
}

struct vrt_fault_event vrt_fault_schedule_at(const struct vrt_fault_schedule *schedule,
                                             const struct vrt_device_info *info,
                                             const struct vrt_fault_occasion *occasion)
{
    struct vrt_fault_event event = { .effect = VRT_FAULT_NOTHING };

    for (size_t i = 0; i < schedule->n_rules; i++) {
        const struct vrt_fault_rule *rule = &schedule->rules[i];
        if (!rule_fits(rule, info, occasion))
            continue;
        event.delay_ns += rule->delay_ns;
        event.takes_ns += rule->takes_ns;
        if (!event.file)
            event.file = rule->file;
        if (rule->effect == VRT_FAULT_DELAY || rule->effect == VRT_FAULT_TAKES ||
            rule->effect == VRT_FAULT_HANG || rule->effect == VRT_FAULT_LACKS ||
            event.effect != VRT_FAULT_NOTHING)
            continue;
        event.effect = rule->effect;
        event.revive = rule->revive;
        event.seed = (uint64_t)occasion->count * 64 + i;     /* MAX_RULES: no two share one */
    }
    return event;
}
