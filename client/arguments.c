/* SPDX-License-Identifier: MIT */
/*
 * Own code instead of getopt_long(): its tables can't hold bounds, names and help, and it prints
 * its refusals itself. Options are never abbreviated: what works today must not become ambiguous
 * when an option is added.
 */

#include "client/arguments.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USAGE_ID "usage"
#define TIMEOUT_DEFAULT_S 60        /* as the manual page says */
#define WORD_MAX 32                 /* letters of a word that is compared */

#define A struct vrt_args
const struct vrt_option vrt_common_options[] = {
    { "socket", 's', VRT_OPTION_TEXT, offsetof(A, socket), .argument = "PATH",
      .help = "the daemon's socket" },
    { "timeout", 0, VRT_OPTION_INT, offsetof(A, timeout_s), 1, 86400, .argument = "SECONDS",
      .help = "how long to wait for an answer (default: 60)" },
    { "json", 'j', VRT_OPTION_FLAG, offsetof(A, json),
      .help = "print the daemon's JSON objects, one a line" },
    { "help", 'h', VRT_OPTION_FLAG, offsetof(A, help), .help = "print this" },
    { "version", 0, VRT_OPTION_FLAG, offsetof(A, version), .help = "print the version" },
    { .name = NULL },
};
#undef A

/* Where parsing is. */
struct parsing {
    const struct vrt_command *command;      /* NULL: before it */
    int argc;
    char **argv;
    int next;
    struct vrt_args *args;
    struct vrt_error *error;
};

void vrt_args_init(struct vrt_args *args)
{
    *args = (struct vrt_args){
        .timeout_s = TIMEOUT_DEFAULT_S,
        .frames = VRT_UNKNOWN,
        .batch = VRT_UNKNOWN,
        .time_s = NAN,
        .output_format = VRT_UNKNOWN,
        .nodes = VRT_UNKNOWN,
        .gpus = VRT_UNKNOWN,
    };
    vrt_job_settings_init(&args->settings);
}

static const struct vrt_option *find_in(const struct vrt_option *o, const char *name, size_t n,
                                        char letter)
{
    for (; o && o->name; o++)
        if (letter ? o->letter == letter : strlen(o->name) == n && memcmp(o->name, name, n) == 0)
            return o;
    return NULL;
}

static const struct vrt_option *find(const struct parsing *p, const char *name, size_t n,
                                     char letter)
{
    const struct vrt_option *o = find_in(vrt_common_options, name, n, letter);

    return o || !p->command ? o : find_in(p->command->options, name, n, letter);
}

/* How many letters must be changed, left out, added, or changed places with their neighbours. */
static int distance(const char *a, const char *b)
{
    size_t n = strlen(b);
    int rows[3][WORD_MAX + 1];

    if (strlen(a) > WORD_MAX || n > WORD_MAX)
        return WORD_MAX;
    for (size_t j = 0; j <= n; j++)
        rows[0][j] = (int)j;
    for (size_t i = 1; i <= strlen(a); i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *higher = rows[(i + 1) % 3];
        row[0] = (int)i;
        for (size_t j = 1; j <= n; j++) {
            row[j] = VRT_MIN(VRT_MIN(above[j], row[j - 1]) + 1,
                             above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = VRT_MIN(row[j], higher[j - 2] + 1);
        }
    }
    return rows[strlen(a) % 3][n];
}

const char *vrt_args_closer(const char *typed, const char *best, const char *word)
{
    int to_word = distance(typed, word);
    bool begins = typed[0] && strncmp(word, typed, strlen(typed)) == 0;

    if (best && distance(typed, best) <= to_word)
        return best;
    return begins || to_word * 3 <= (int)strlen(word) ? word : best;
}

static int refuse_unknown(const struct parsing *p, const char *word)
{
    const struct vrt_option *tables[] = {
        vrt_common_options, p->command ? p->command->options : NULL,
    };
    char printable[80], name[80];
    const char *meant = NULL;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
    for (size_t i = 0; word[1] == '-' && i < VRT_ARRAY_SIZE(tables); i++)
        for (const struct vrt_option *o = tables[i]; o && o->name; o++)
            meant = vrt_args_closer(name, meant, o->name);
    return vrt_refuse(p->error, -EINVAL, USAGE_ID, "unknown option %s%s%s%s; see vrtctl%s%s --help",
                      vrt_printable(word, printable, sizeof(printable)),
                      meant ? " (did you mean --" : "", meant ? meant : "", meant ? "?)" : "",
                      p->command ? " " : "", p->command ? p->command->name : "");
}

static int set_int(const struct parsing *p, const struct vrt_option *o, const char *value)
{
    char *end, printable[80];

    errno = 0;
    long long n = strtoll(value, &end, 10);
    if (errno || end == value || *end || n < o->min || n > o->max)
        return vrt_refuse(p->error, -EINVAL, USAGE_ID,
                          "--%s: expected an integer from %" PRId64 " to %" PRId64 ", got \"%s\"",
                          o->name, o->min, o->max,
                          vrt_printable(value, printable, sizeof(printable)));
    *(int64_t *)(void *)((char *)p->args + o->offset) = n;
    return 0;
}

/* k, M, G and T are powers of 1000, Ki, Mi, Gi and Ti of 1024. */
static int set_amount(const struct parsing *p, const struct vrt_option *o, const char *value)
{
    static const char units[] = "kMGT";
    char *end, printable[80];
    double x = strtod(value, &end);
    const bool has_number = end > value && *value >= '0' && *value <= '9';
    const char unit = *end == 'K' ? 'k' : *end;
    const char *found = unit ? strchr(units, unit) : NULL;

    if (found) {
        const bool is_binary = *++end == 'i';
        end += is_binary;
        for (const char *u = units; u <= found; u++)
            x *= is_binary ? 1024 : 1000;
    }
    if (!has_number || *end || !(x >= (double)o->min && x <= (double)o->max))
        return vrt_refuse(p->error, -EINVAL, USAGE_ID,
                          "--%s: expected a number from %" PRId64 " to %" PRId64 ", such as 8M "
                          "(a million) or 8Mi, got \"%s\"", o->name, o->min, o->max,
                          vrt_printable(value, printable, sizeof(printable)));
    *(int64_t *)(void *)((char *)p->args + o->offset) = llrint(x);
    return 0;
}

static int set_number(const struct parsing *p, const struct vrt_option *o, const char *value)
{
    char *end, printable[80];

    double x = strtod(value, &end);
    /* Written so that NaN, which strtod() knows, fails it. */
    if (end == value || *end || !(x >= (double)o->min && x <= (double)o->max))
        return vrt_refuse(p->error, -EINVAL, USAGE_ID,
                          "--%s: expected a number from %" PRId64 " to %" PRId64 ", got \"%s\"",
                          o->name, o->min, o->max,
                          vrt_printable(value, printable, sizeof(printable)));
    *(double *)(void *)((char *)p->args + o->offset) = x;
    return 0;
}

/* Seconds, or hours, minutes and seconds: 90, 1:30, 0:01:30.5. */
static int set_time(const struct parsing *p, const struct vrt_option *o, const char *value)
{
    const char *rest = value;
    char *end, printable[80];
    double s = 0;
    bool is_right;

    do {
        double x = strtod(rest, &end);
        /* What follows a colon is below 60; strtod() also knows signs, spaces and "nan". */
        is_right = end > rest && *rest >= '0' && *rest <= '9' && (rest == value || x < 60);
        s = s * 60 + x;
        rest = end + 1;
    } while (is_right && *end == ':');
    if (!is_right || *end || !(s >= (double)o->min && s <= (double)o->max))
        return vrt_refuse(p->error, -EINVAL, USAGE_ID, "--%s: expected seconds, or a time such as "
                          "1:30 or 1:02:03.5, got \"%s\"", o->name,
                          vrt_printable(value, printable, sizeof(printable)));
    *(double *)(void *)((char *)p->args + o->offset) = s;
    return 0;
}

/* Where values are parted by spaces, none may hold one. */
static int append(const struct parsing *p, const struct vrt_option *o, const char *value)
{
    char *text = (char *)p->args + o->offset, printable[80];
    size_t n = strlen(text);

    if (!value[0] || strchr(value, ' '))
        return vrt_refuse(p->error, -EINVAL, USAGE_ID, "--%s: expected %s without spaces, got "
                          "\"%s\"", o->name, o->argument,
                          vrt_printable(value, printable, sizeof(printable)));
    if (n + strlen(value) + 1 >= (size_t)o->max)
        return vrt_refuse(p->error, -EINVAL, USAGE_ID, "--%s: all together are too long",
                          o->name);
    snprintf(text + n, (size_t)o->max - n, "%s%s", n ? " " : "", value);
    return 0;
}

static int set_word(const struct parsing *p, const struct vrt_option *o, const char *value)
{
    char known[120] = "", printable[80];
    size_t n = 0;

    int index = vrt_name_find(o->names, value);
    if (index != VRT_UNKNOWN) {
        *(int *)(void *)((char *)p->args + o->offset) = index;
        return 0;
    }
    for (int i = 0; o->names[i] && n < sizeof(known); i++)
        n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s",
                              i == 0 ? "" : o->names[i + 1] ? ", " : " or ", o->names[i]);
    return vrt_refuse(p->error, -EINVAL, USAGE_ID, "--%s: expected %s, got \"%s\"", o->name, known,
                      vrt_printable(value, printable, sizeof(printable)));
}

/* `value` is NULL where none stands in the same word. */
static int set(struct parsing *p, const struct vrt_option *o, const char *value)
{
    void *member = (char *)p->args + o->offset;

    if (o->type == VRT_OPTION_FLAG) {
        if (value)
            return vrt_refuse(p->error, -EINVAL, USAGE_ID, "--%s takes no value", o->name);
        *(bool *)member = true;
        return 0;
    }
    if (!value && p->next >= p->argc)
        return vrt_refuse(p->error, -EINVAL, USAGE_ID, "--%s needs a value: %s", o->name,
                          o->argument);
    if (!value)
        value = p->argv[p->next++];
    if (o->type == VRT_OPTION_INT)
        return set_int(p, o, value);
    if (o->type == VRT_OPTION_AMOUNT)
        return set_amount(p, o, value);
    if (o->type == VRT_OPTION_NUMBER)
        return set_number(p, o, value);
    if (o->type == VRT_OPTION_TIME)
        return set_time(p, o, value);
    if (o->type == VRT_OPTION_WORD)
        return set_word(p, o, value);
    if (o->type == VRT_OPTION_APPEND)
        return append(p, o, value);
    *(const char **)member = value;
    return 0;
}

static int parse_long(struct parsing *p, const char *word)
{
    const char *name = word + 2, *value = strchr(name, '=');
    size_t n = value ? (size_t)(value - name) : strlen(name);

    const struct vrt_option *o = find(p, name, n, 0);
    return o ? set(p, o, value ? value + 1 : NULL) : refuse_unknown(p, word);
}

/* "-fj", "-oFILE", "-o FILE". */
static int parse_letters(struct parsing *p, const char *word)
{
    for (const char *s = word + 1; *s; s++) {
        const struct vrt_option *o = find(p, NULL, 0, *s);
        if (!o)
            return refuse_unknown(p, word);
        bool flag = o->type == VRT_OPTION_FLAG;
        int r = set(p, o, flag || !s[1] ? NULL : s + 1);
        if (r < 0 || !flag)
            return r;
    }
    return 0;
}

/* A negative number is an operand: no option is a digit. */
static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] && !(word[1] >= '0' && word[1] <= '9');
}

static int parse_option(struct parsing *p, const char *word)
{
    return word[1] == '-' ? parse_long(p, word) : parse_letters(p, word);
}

int vrt_args_parse_common(int argc, char **argv, struct vrt_args *args, struct vrt_error *error)
{
    struct parsing p = { NULL, argc, argv, 0, args, error };

    while (p.next < argc && is_option(argv[p.next])) {
        int r = parse_option(&p, argv[p.next++]);
        if (r < 0)
            return r;
    }
    return p.next;
}

static int check_operands(const struct parsing *p, int n)
{
    const struct vrt_command *c = p->command;
    char printable[80];
    int min = p->args->all ? 0 : c->min_operands, max = p->args->all ? 0 : c->max_operands;

    if (n >= min && n <= max)
        return 0;
    if (n > 0 && p->args->all)
        return vrt_refuse(p->error, -EINVAL, USAGE_ID, "--all names the jobs: leave \"%s\" out",
                          vrt_printable(p->argv[0], printable, sizeof(printable)));
    if (n < min)
        return vrt_refuse(p->error, -EINVAL, USAGE_ID, "%s needs %s; see vrtctl %s --help", c->name,
                          c->operands, c->name);
    return vrt_refuse(p->error, -EINVAL, USAGE_ID, "\"%s\" is one too many; see vrtctl %s --help",
                      vrt_printable(p->argv[c->max_operands], printable, sizeof(printable)),
                      c->name);
}

int vrt_args_parse(const struct vrt_command *command, int argc, char **argv,
                   struct vrt_args *args, struct vrt_error *error)
{
    struct parsing p = { command, argc, argv, 0, args, error };
    bool only_operands = false;
    int n = 0;

    while (p.next < argc) {
        char *word = argv[p.next++];
        if (!only_operands && strcmp(word, "--") == 0) {
            only_operands = true;
        } else if (only_operands || !is_option(word)) {
            argv[n++] = word;
        } else {
            int r = parse_option(&p, word);
            if (r < 0)
                return r;
        }
    }
    args->operands = argv;
    args->n_operands = n;
    return args->help || args->version ? 0 : check_operands(&p, n);
}

/* What shells read of an option, on a line by itself, always in this order. */
static int print_object(const struct vrt_option *o)
{
    const char letter[] = { o->letter ? '-' : '\0', o->letter, '\0' };
    json_t *json = json_pack("{s:o, s:s, s:s, s:[], s:s}", "option", json_sprintf("--%s", o->name),
                             "letter", letter, "argument", o->argument ? o->argument : "",
                             "values", "help", o->help);

    for (int i = 0; json && o->names && o->names[i]; i++)
        json_array_append_new(json_object_get(json, "values"), json_string(o->names[i]));
    int exit = json ? vrt_cli_print_json(json) : VRT_EXIT_FAILED;
    json_decref(json);
    return exit == VRT_EXIT_OK ? 0 : vrt_raise(-ENOMEM);
}

int vrt_args_print_help(const struct vrt_option *options, bool json)
{
    int r = 0;

    for (const struct vrt_option *o = options; o && o->name && r == 0; o++) {
        char text[60];
        snprintf(text, sizeof(text), "%c%c%c --%s%s%s", o->letter ? '-' : ' ',
                 o->letter ? o->letter : ' ', o->letter ? ',' : ' ', o->name,
                 o->argument ? " " : "", o->argument ? o->argument : "");
        if (json)
            r = print_object(o);
        else
            printf("  %-26s  %s\n", text, o->help);
    }
    return vrt_fold(r);
}
