/* SPDX-License-Identifier: MIT */
/*
 * Reading by libinih, line by line from memory.
 *
 * inih goes on after a mistake and then tells the first line that it didn't like, without why;
 * its handler isn't told any line at all. We count lines as they are handed over, keep our own
 * first refusal, stop handing over lines after it, and compare at the end which came first.
 *
 * The defaults are texts of the table, read by the same functions as the file: they are as valid as
 * what a user may write. Nothing of a file that is refused is used: a daemon that ignores half of
 * its configuration does what nobody asked for.
 */

#include "config/conf.h"

#include <errno.h>
#include <inttypes.h>
#include <ini.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "config/shares.h"

#define FILE_MAX_BYTES (1024 * 1024)    /* no configuration: somebody named a video, or a device */

/* A way through all options: ours, then those that backends declare. */
struct walk {
    vrt_backend_sections *backends;
    size_t n;                       /* options before this one */
    size_t section, n_declared;     /* of backends: this one's, and how many were before it */
    const struct vrt_backend_option *declared;      /* of a backend; NULL: it is ours */
    struct vrt_conf_option option;
};

/* One reading. Lines are counted here: inih tells the line of its own errors alone. */
struct reading {
    const char *name;
    const char *next;               /* what isn't read yet */
    int line;
    struct vrt_conf *conf;          /* a line in conf->lines[] twice is a mistake, and so is an
                                       indented line, which inih takes for a second value */
    vrt_backend_sections *backends;
    struct vrt_error error;         /* the first refusal of ours; inih may know an earlier one */
    int r;
};

/* A backend's option as one of ours; its value is kept with those of others. */
static struct vrt_conf_option option_of(const char *section,
                                        const struct vrt_backend_option *declared, size_t i)
{
    static const enum vrt_conf_type types[] = {
        [VRT_BACKEND_OPTION_INT] = VRT_CONF_INT,
        [VRT_BACKEND_OPTION_BOOL] = VRT_CONF_BOOL,
        [VRT_BACKEND_OPTION_WORD] = VRT_CONF_WORD,
    };

    vrt_assert(i < VRT_CONF_BACKEND_VALUES_MAX);
    return (struct vrt_conf_option){
        .section = section,
        .key = declared->name,
        .type = types[declared->type],
        .offset = offsetof(struct vrt_conf, backend_values) + i * sizeof(struct vrt_backend_value) +
                  offsetof(struct vrt_backend_value, value),
        .size = sizeof(int64_t),
        .min = declared->min,
        .max = declared->max,
        .names = declared->words,
    };
}

/* Goes to the first or the next option. Return: whether there is one. */
static bool walk_on(struct walk *walk)
{
    const bool is_first = !walk->option.section;
    struct vrt_backend_section section;

    walk->n += !is_first;
    if (!walk->declared && vrt_conf_options[walk->n].section) {
        walk->option = vrt_conf_options[walk->n];
        return true;
    }
    walk->n_declared += walk->declared != NULL;
    if (walk->declared)
        walk->declared++;
    while (walk->backends(walk->section, &section)) {
        walk->declared = walk->declared ? walk->declared : section.options;
        if (walk->declared && walk->declared->name) {
            walk->option = option_of(section.name, walk->declared, walk->n_declared);
            return true;
        }
        walk->declared = NULL;
        walk->section++;
    }
    return false;
}

/* Refuses at the current line; the rest isn't read. Return: 0, as inih's handler has it. */
static int refuse(struct reading *reading, const char *what, const char *expected)
{
    reading->r = vrt_refuse(&reading->error, vrt_raise(-EINVAL), "config.invalid", "%s:%d: %s%s",
                            reading->name, reading->line, what, expected);
    return 0;
}

/* A number where it is kept, which for some of our options is less than an int64_t. */
static bool keep(const struct vrt_conf_option *o, int64_t n, void *member)
{
    if (o->size == sizeof(int64_t))
        *(int64_t *)member = n;
    else if (o->type == VRT_CONF_BOOL)
        *(bool *)member = n;
    else
        *(int *)member = (int)n;
    return true;
}

static bool parse_int(const struct vrt_conf_option *o, const char *value, void *member)
{
    char *end;

    errno = 0;
    long long n = strtoll(value, &end, 10);
    if (errno || end == value || *end || n < o->min || n > o->max)
        return false;
    return keep(o, n, member);
}

static bool parse_bytes(const char *value, void *member)
{
    static const char units[] = "KMGT";
    const char *unit;
    int shift = 0;
    char *end;

    /* strtoll() would take a sign or blanks before the number. */
    if (value[0] < '0' || value[0] > '9')
        return false;
    errno = 0;
    long long n = strtoll(value, &end, 10);
    if (*end && (unit = strchr(units, *end))) {
        shift = 10 * (int)(unit - units + 1);
        end++;
    }
    if (errno || *end || n > INT64_MAX >> shift)
        return false;
    *(int64_t *)member = (int64_t)n << shift;
    return true;
}

static bool parse_bool(const struct vrt_conf_option *o, const char *value, void *member)
{
    static const struct {
        const char *word;
        bool value;
    } words[] = {
        { "on", true }, { "yes", true }, { "off", false }, { "no", false },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(words); i++) {
        if (strcmp(words[i].word, value) == 0)
            return keep(o, words[i].value, member);
    }
    return false;
}

static bool parse_word(const struct vrt_conf_option *o, const char *value, void *member)
{
    for (int i = 0; o->names[i]; i++) {
        if (strcmp(o->names[i], value) == 0)
            return keep(o, i, member);
    }
    return false;
}

/* "" leaves an option to the daemon, where it may. */
static bool parse_text(const struct vrt_conf_option *o, const char *value, void *member)
{
    if (strlen(value) >= o->size || strlen(value) < (size_t)o->min)
        return false;
    memcpy(member, value, strlen(value) + 1);
    return true;
}

static bool parse(const struct vrt_conf_option *o, const char *value, struct vrt_conf *conf)
{
    void *member = (char *)conf + o->offset;

    switch (o->type) {
    case VRT_CONF_TEXT:     return parse_text(o, value, member);
    case VRT_CONF_INT:      return parse_int(o, value, member);
    case VRT_CONF_BYTES:    return parse_bytes(value, member);
    case VRT_CONF_SHARES:   return vrt_conf_shares_parse(value, member);
    case VRT_CONF_BOOL:     return parse_bool(o, value, member);
    case VRT_CONF_WORD:     return parse_word(o, value, member);
    default:                return false;
    }
}

/* "an integer from 1 to 8": for the sentence that refuses a value. */
static const char *expected(const struct vrt_conf_option *o, char *buffer, size_t size)
{
    size_t n = 0;

    buffer[0] = '\0';
    switch (o->type) {
    case VRT_CONF_INT:
        snprintf(buffer, size, "an integer from %" PRId64 " to %" PRId64, o->min, o->max);
        break;
    case VRT_CONF_WORD:
        for (int i = 0; o->names[i] && n < size; i++)
            n += (size_t)snprintf(buffer + n, size - n, "%s%s",
                                  i == 0 ? "" : o->names[i + 1] ? ", " : " or ", o->names[i]);
        break;
    case VRT_CONF_TEXT:
        snprintf(buffer, size, "a text of at %s %zu bytes", o->min > 0 ? "least 1 and at most"
                                                                       : "most", o->size - 1);
        break;
    case VRT_CONF_BYTES:
        snprintf(buffer, size, "a number of bytes, such as 8G, 512M or 0");
        break;
    default:
        snprintf(buffer, size, "%s", o->type == VRT_CONF_BOOL ? "on or off" :
                 "a number over 0, at most 1, perhaps with others for devices, each named once: "
                 "0.9, cpu:0=0.5");
    }
    return buffer;
}

static int refuse_value(struct reading *reading, const struct vrt_conf_option *o,
                        const char *value)
{
    char what[200], wanted[200], text[64];

    snprintf(what, sizeof(what), "%s: \"%s\" is not ", o->key,
             vrt_printable(value, text, sizeof(text)));
    return refuse(reading, what, expected(o, wanted, sizeof(wanted)));
}

/* No option is called so: says which there are. */
static int refuse_key(struct reading *reading, const char *section, const char *key)
{
    char what[160], known[300] = "", name[2][48], last[32] = "";
    size_t n = 0;
    bool in_section = false;

    for (struct walk walk = { .backends = reading->backends }; walk_on(&walk);)
        in_section |= strcmp(walk.option.section, section) == 0;
    vrt_printable(section, name[0], sizeof(name[0]));
    vrt_printable(key, name[1], sizeof(name[1]));
    if (in_section)
        snprintf(what, sizeof(what), "[%s] has no option \"%s\"; it has ", name[0], name[1]);
    else if (section[0])
        snprintf(what, sizeof(what), "there is no section [%s]; there are ", name[0]);
    else
        snprintf(what, sizeof(what), "\"%s\" stands before any section; there are ", name[1]);
    for (struct walk walk = { .backends = reading->backends }; walk_on(&walk);) {
        const struct vrt_conf_option *o = &walk.option;
        const char *word = in_section ? o->key : o->section;
        bool named = in_section ? strcmp(o->section, section) != 0 : strcmp(last, word) == 0;
        if (named || n >= sizeof(known))
            continue;
        snprintf(last, sizeof(last), "%s", word);
        n += (size_t)snprintf(known + n, sizeof(known) - n, in_section ? "%s%s" : "%s[%s]",
                              n ? ", " : "", word);
    }
    return refuse(reading, what, known);
}

/* As inih wants it: non-zero is success. */
static int take_option(void *context, const char *section, const char *key, const char *value)
{
    struct reading *reading = context;
    struct walk walk = { .backends = reading->backends };
    const struct vrt_conf_option *o = &walk.option;
    bool found = false;

    if (reading->r)
        return 0;
    while (!found && walk_on(&walk))
        found = strcmp(o->section, section) == 0 && strcmp(o->key, key) == 0;
    if (!found)
        return refuse_key(reading, section, key);
    vrt_assert(walk.n < VRT_CONF_OPTIONS_MAX);
    int *set_on = &reading->conf->lines[walk.n];
    if (*set_on) {
        char what[120];
        snprintf(what, sizeof(what), "%s was set on line %d already", o->key, *set_on);
        return refuse(reading, what, "");
    }
    *set_on = reading->line;
    return parse(o, value, reading->conf) ? 1 : refuse_value(reading, o, value);
}

/* As fgets(): inih's way to the next line. Nothing follows a refusal. */
static char *take_line(char *buffer, int size, void *context)
{
    struct reading *reading = context;

    if (reading->r || !*reading->next)
        return NULL;
    reading->line++;
    size_t n = strcspn(reading->next, "\n");
    n += reading->next[n] == '\n';
    /* inih would take the rest for the next line, and we would count one too many. */
    if (n >= (size_t)size) {
        char what[80];
        snprintf(what, sizeof(what), "the line is longer than %d bytes", size - 2);
        refuse(reading, what, "");
        return NULL;
    }
    memcpy(buffer, reading->next, n);
    buffer[n] = '\0';
    reading->next += n;
    return buffer;
}

void vrt_conf_init(struct vrt_conf *conf, vrt_backend_sections *backends)
{
    *conf = (struct vrt_conf){ 0 };
    for (struct walk walk = { .backends = backends }; walk_on(&walk);) {
        const struct vrt_backend_option *declared = walk.declared;
        bool valid = declared || parse(&walk.option, walk.option.fallback, conf);
        vrt_assert(valid);
        if (declared)
            conf->backend_values[walk.n_declared] = (struct vrt_backend_value){
                walk.option.section, declared->name, declared->fallback,
            };
    }
}

const char *vrt_conf_place(const struct vrt_conf *conf, const char *section, const char *key,
                           char *buffer, size_t size)
{
    size_t n = 0;

    while (strcmp(vrt_conf_options[n].section, section) != 0 ||
           strcmp(vrt_conf_options[n].key, key) != 0)
        n++;
    buffer[0] = '\0';
    if (conf->lines[n])
        snprintf(buffer, size, "%s:%d: ", conf->file, conf->lines[n]);
    return buffer;
}

int vrt_conf_parse(const char *text, const char *name, vrt_backend_sections *backends,
                   struct vrt_conf *ret_conf, struct vrt_error *error)
{
    struct vrt_conf conf;
    struct reading reading = { .name = name, .next = text, .conf = &conf, .backends = backends };

    vrt_conf_init(&conf, backends);
    snprintf(conf.file, sizeof(conf.file), "%s", name);
    int line = ini_parse_stream(take_line, &reading, take_option, &reading);
    if (line < 0)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), name);
    if (line > 0 && (!reading.r || line < reading.line)) {
        reading.error = (struct vrt_error){ 0 };
        reading.line = line;
        refuse(&reading, "neither \"[section]\" nor \"option = value\" nor a comment", "");
    }
    if (reading.r)
        return vrt_refuse(error, reading.r, reading.error.id, "%s", reading.error.message);
    *ret_conf = conf;
    return 0;
}

int vrt_conf_read(const char *path, vrt_backend_sections *backends, struct vrt_conf *ret_conf,
                  struct vrt_error *error)
{
    char name[256];
    VRT_CLEANUP(vrt_freep) char *text = malloc(FILE_MAX_BYTES + 1);

    if (!text)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), path);
    vrt_printable(path, name, sizeof(name));
    FILE *file = fopen(path, "re");
    if (!file)
        return vrt_refuse_errno(error, vrt_raise(-errno), name);

    errno = 0;
    size_t n = fread(text, 1, FILE_MAX_BYTES, file);
    int r = ferror(file) ? -(errno ? errno : EIO) : 0;
    fclose(file);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_raise(r), name);
    text[n] = '\0';
    /* Behind a NUL byte nothing would be read, and nobody would notice. */
    if (n == FILE_MAX_BYTES || strlen(text) != n)
        return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid",
                          "%s: not a configuration file: %s", name,
                          n == FILE_MAX_BYTES ? "it is over 1 MiB" : "it holds NUL bytes");
    return vrt_fold(vrt_conf_parse(text, name, backends, ret_conf, error));
}
