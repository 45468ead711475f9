/* SPDX-License-Identifier: MIT */
/* config: the example file says the defaults, every refusal names its place. */

#include "tests/unit/test.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "backend/kind.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "config/conf.h"
#include "msg_job.h"

/* What a backend's option is set to. */
static int64_t value_of(const struct vrt_conf *conf, const char *backend, const char *option)
{
    for (const struct vrt_backend_value *value = conf->backend_values; value->backend; value++)
        if (strcmp(value->backend, backend) == 0 && strcmp(value->option, option) == 0)
            return value->value;
    test_fail("[%s] %s has no value", backend, option);
}

static void test_defaults(void)
{
    struct vrt_conf conf;

    vrt_conf_init(&conf, vrt_backend_section_at);
    expect_str(conf.daemon.socket, "");
    expect_str(conf.log.level, "info");
    expect_str(conf.jobs.device, "auto");
    expect_int(conf.jobs.precision, VRT_PRECISION_AUTO);
    expect_int(conf.jobs.codec, VRT_CODEC_H264);
    expect_int(conf.jobs.max_running, 2);
    expect_int(conf.devices.fallback, VRT_CONF_FALLBACK_WARN);
    expect_near(conf.devices.memory_fraction.all, 0.9, 0);
    expect_int(conf.devices.memory_fraction.n, 0);
    expect_int(conf.devices.memory_limit, 0);
    expect_true(!conf.devices.reference);
    expect_int(value_of(&conf, "cuda", "workers_per_device"), 1);
    expect_int(value_of(&conf, "cuda", "tf32"), 0);
    expect_int(value_of(&conf, "xpu", "tiles"), 0);
    expect_int(value_of(&conf, "xpu", "patience_s"), 600);
    expect_int(conf.devices.patience_s, 120);
    expect_int(value_of(&conf, "cuda", "f32"), 0);
    expect_int(value_of(&conf, "cuda", "libraries"), 0);
    expect_int(value_of(&conf, "cpu", "devices"), 1);
}

static char *read_all(const char *path)
{
    char *text = calloc(1, 1 << 20);
    FILE *file = fopen(path, "r");

    if (!file || !text)
        test_fail("%s cannot be read", path);
    size_t n = fread(text, 1, (1 << 20) - 1, file);
    fclose(file);
    expect_true(n > 0);
    return text;
}

/* The example's values are the defaults, and it lists every option, as the manual does. */
static void test_example(void)
{
    struct vrt_conf defaults, conf;
    struct vrt_error error = { 0 };
    VRT_CLEANUP(vrt_freep) char *example = read_all(EXAMPLE_PATH), *manual = read_all(MANUAL_PATH);

    memset(&conf, 0x5a, sizeof(conf));
    vrt_conf_init(&defaults, vrt_backend_section_at);
    if (vrt_conf_read(EXAMPLE_PATH, vrt_backend_section_at, &conf, &error) < 0)
        test_fail("%s", error.message);
    for (const struct vrt_conf_option *o = vrt_conf_options; o->section; o++) {
        const char *a = (const char *)&conf + o->offset, *b = (const char *)&defaults + o->offset;
        bool same = o->type == VRT_CONF_TEXT ? strcmp(a, b) == 0 : memcmp(a, b, o->size) == 0;
        if (!same)
            test_fail("[%s] %s isn't at its default", o->section, o->key);
        char line[100], entry[100];
        snprintf(line, sizeof(line), "\n%s = %s", o->key, o->fallback);
        if (!o->fallback[0])
            snprintf(line, sizeof(line), "\n%s =\n", o->key);
        expect_contains(example, line);
        snprintf(entry, sizeof(entry), "\n*%s*", o->key);
        expect_contains(manual, entry);
        snprintf(entry, sizeof(entry), "[%s]", o->section);
        expect_contains(manual, entry);
    }
}

/* The text with each comment as one line behind what it stands below. */
static void unfold(char *text)
{
    char *to = text;

    for (const char *from = text; *from; to++) {
        const bool goes_on = strncmp(from, "\n# ", 3) == 0;
        *to = goes_on ? ' ' : *from;
        from += goes_on ? 3 : 1;
    }
    *to = '\0';
}

static void print_default(const struct vrt_backend_option *s, char *text, size_t size)
{
    if (s->type == VRT_BACKEND_OPTION_INT)
        snprintf(text, size, "%s\n%s = %d\n", s->help, s->name, (int)s->fallback);
    else
        snprintf(text, size, "%s\n%s = %s\n", s->help, s->name,
                 s->type == VRT_BACKEND_OPTION_WORD ? s->words[s->fallback] :
                 s->fallback ? "on" : "off");
}

/* The same of options that backends declare, and the example has the words of their help. */
static void test_backends(void)
{
    VRT_CLEANUP(vrt_freep) char *example = read_all(EXAMPLE_PATH), *manual = read_all(MANUAL_PATH);
    struct vrt_conf defaults, conf;
    struct vrt_backend_section section;
    struct vrt_error error = { 0 };
    char text[600];
    size_t n = 0;

    vrt_conf_init(&defaults, vrt_backend_section_at);
    expect_int(vrt_conf_read(EXAMPLE_PATH, vrt_backend_section_at, &conf, &error), 0);
    unfold(example);
    for (size_t i = 0; vrt_backend_section_at(i, &section); i++)
        for (const struct vrt_backend_option *s = section.options; s && s->name; s++, n++) {
            expect_str(conf.backend_values[n].option, s->name);
            expect_int(conf.backend_values[n].value, s->fallback);
            expect_int(defaults.backend_values[n].value, s->fallback);
            print_default(s, text, sizeof(text));
            expect_contains(example, text);
            snprintf(text, sizeof(text), "\n*%s*", s->name);
            expect_contains(manual, text);
            snprintf(text, sizeof(text), "[%s]", section.name);
            expect_contains(example, text);
            expect_contains(manual, text);
        }
    expect_true(n > 0 && !conf.backend_values[n].backend);
}

/* The manual's list of what changes at once is the table's. */
static void test_live_in_manual(void)
{
    VRT_CLEANUP(vrt_freep) char *manual = read_all(MANUAL_PATH);
    char *list = strstr(manual, "These options then\nchange at once");
    char *end = list ? strstr(list, "\nOf any other") : NULL;

    expect_true(list && end);
    *end = '\0';
    for (const struct vrt_conf_option *o = vrt_conf_options; o->section; o++) {
        char section[60], key[60];
        snprintf(section, sizeof(section), "\n- of _%s_:", o->section);
        snprintf(key, sizeof(key), "*%s*", o->key);
        char *part = strstr(list, section);
        char *next = part ? strstr(part + 1, "\n- ") : NULL;
        char *found = part ? strstr(part, key) : NULL;
        bool is_listed = found && (!next || found < next);
        if (is_listed != ((o->flags & VRT_CONF_LIVE) != 0))
            test_fail("[%s] %s is%s in the manual's list of what changes at once", o->section,
                      o->key, is_listed ? "" : " not");
    }
}

struct told_options {
    char text[300];
};

static void tell_option(void *ctx, const struct vrt_conf_option *option)
{
    struct told_options *told = ctx;
    size_t n = strlen(told->text);

    snprintf(told->text + n, sizeof(told->text) - n, "%s.%s%s ", option->section, option->key,
             option->flags & VRT_CONF_LIVE ? "" : "(waits)");
}

static void test_apply(void)
{
    struct vrt_conf conf, next, before;
    struct vrt_error error = { 0 };
    struct told_options told = { .text = "" };

    vrt_conf_init(&conf, vrt_backend_section_at);
    vrt_conf_init(&next, vrt_backend_section_at);
    expect_int(vrt_conf_apply(&conf, &next, tell_option, &told), 0);
    expect_str(told.text, "");
    /* What lies behind a text's end is no difference. */
    memset(next.jobs.model + 1, 'x', sizeof(next.jobs.model) - 2);
    expect_int(vrt_conf_apply(&conf, &next, tell_option, &told), 0);

    expect_int(vrt_conf_parse("[daemon]\nsocket = /tmp/s\n[log]\nlevel = debug\n[jobs]\n"
                              "preset = fast\nscene_cuts = off\n[cpu]\nthreads = 3\n",
                              "t.conf", vrt_backend_section_at, &next, &error), 0);
    expect_int(vrt_conf_apply(&conf, &next, tell_option, &told), 5);
    expect_str(told.text, "daemon.socket(waits) log.level jobs.preset jobs.scene_cuts "
                          "cpu.threads(waits) ");
    expect_str(conf.daemon.socket, "");
    expect_int(value_of(&conf, "cpu", "threads"), 0);
    expect_str(conf.log.level, "debug");
    expect_str(conf.jobs.preset, "fast");
    expect_true(!conf.jobs.scene_cuts);
    /* What waits is told each time, the rest is done. */
    before = conf;
    told.text[0] = '\0';
    expect_int(vrt_conf_apply(&conf, &next, tell_option, &told), 2);
    expect_str(told.text, "daemon.socket(waits) cpu.threads(waits) ");
    expect_int(memcmp(&before, &conf, sizeof(conf)), 0);
}

static void test_values(void)
{
    struct vrt_conf conf;
    struct vrt_error error = { 0 };

    expect_int(vrt_conf_parse("[daemon]\r\nsocket = /tmp/a b.sock ; where\n[log]\nlevel=debug\n"
                              "[jobs]\ncodec = ffv1\nmax_running=64\n[cpu]\nthreads = 3\n"
                              "# devices = 7\n[cuda]\nworkers_per_device = 2\ntf32 = yes\n"
                              "f32 = fma\n"
                              "libraries = off\n"
                              "[devices]\nmemory_fraction = 1\nfallback = forbid\n"
                              "reference = on",
                              "t.conf", vrt_backend_section_at, &conf, &error), 0);
    expect_str(conf.daemon.socket, "/tmp/a b.sock");
    expect_str(conf.log.level, "debug");
    expect_int(conf.jobs.codec, VRT_CODEC_FFV1);
    expect_int(conf.jobs.max_running, 64);
    expect_int(value_of(&conf, "cpu", "threads"), 3);
    expect_int(value_of(&conf, "cpu", "devices"), 1);
    expect_int(value_of(&conf, "cuda", "workers_per_device"), 2);
    expect_int(value_of(&conf, "cuda", "tf32"), 1);
    expect_int(value_of(&conf, "cuda", "f32"), 1);
    expect_int(value_of(&conf, "cuda", "libraries"), 1);
    expect_int(conf.devices.fallback, VRT_CONF_FALLBACK_FORBID);
    expect_near(conf.devices.memory_fraction.all, 1, 0);
    expect_true(conf.devices.reference);
    expect_int(vrt_conf_parse("", "t.conf", vrt_backend_section_at, &conf, &error), 0);
}

/* What is refused only where it is used is told of with its place, too. */
static void test_places(void)
{
    struct vrt_error error = { 0 };
    struct vrt_conf conf;
    char place[80];

    vrt_conf_init(&conf, vrt_backend_section_at);
    expect_str(vrt_conf_place(&conf, "jobs", "device", place, sizeof(place)), "");
    expect_int(vrt_conf_parse("[cpu]\nthreads = 3\n\n[jobs]\ndevice = cuda:0,cpu\nmodel =\n"
                              "precision = bf16\n", "/etc/t.conf", vrt_backend_section_at, &conf,
                              &error), 0);
    expect_str(conf.jobs.device, "cuda:0,cpu");
    expect_int(conf.jobs.precision, VRT_PRECISION_BF16);
    expect_str(vrt_conf_place(&conf, "jobs", "device", place, sizeof(place)), "/etc/t.conf:5: ");
    expect_str(vrt_conf_place(&conf, "jobs", "model", place, sizeof(place)), "/etc/t.conf:6: ");
    expect_str(vrt_conf_place(&conf, "jobs", "preset", place, sizeof(place)), "");
    expect_str(vrt_conf_place(&conf, "jobs", "device", place, 8), "/etc/t.");
}

static void test_bytes(void)
{
    static const struct {
        const char *value;
        int64_t bytes;
    } cases[] = {
        { "0", 0 }, { "1", 1 }, { "123456789", 123456789 }, { "64K", 64 << 10 },
        { "512M", 512 << 20 }, { "8G", INT64_C(8) << 30 }, { "1T", INT64_C(1) << 40 },
        { "8388607T", INT64_C(8388607) << 40 }, { "9223372036854775807", INT64_MAX },
        { "8388608T", -1 }, { "9223372036854775808", -1 }, { "-1", -1 }, { "+1", -1 },
        { "", -1 }, { "G", -1 }, { "8g", -1 }, { "8GB", -1 }, { "8 G", -1 }, { "0x10", -1 },
        { "1.5G", -1 }, { "nan", -1 },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct vrt_error error = { 0 };
        struct vrt_conf conf;
        char text[100];
        snprintf(text, sizeof(text), "[devices]\nmemory_limit = %s", cases[i].value);
        int r = vrt_conf_parse(text, "t.conf", vrt_backend_section_at, &conf, &error);
        expect_int(r, cases[i].bytes < 0 ? -EINVAL : 0);
        if (r == 0)
            expect_int(conf.devices.memory_limit, cases[i].bytes);
        else
            expect_contains(error.message, "is not a number of bytes, such as 8G, 512M or 0");
    }
}

/* A general share, and those of kinds, cards and devices: the most exact name counts. */
static void test_shares(void)
{
    static const struct {
        const char *value;
        double of[5];                   /* of the devices below; 0: it is refused */
    } cases[] = {
        { "0.5", { 0.5, 0.5, 0.5, 0.5, 0.5 } },
        { "1e-1", { 0.1, 0.1, 0.1, 0.1, 0.1 } },
        { "0.8, cuda:1=0.5", { 0.8, 0.5, 0.5, 0.8, 0.8 } },
        { "cuda:1=0.5", { 0.9, 0.5, 0.5, 0.9, 0.9 } },
        { "cpu=0.25,cuda=0.5 ,cuda:1 = 0.6,\tcuda:1.1=0.7, 1", { 0.5, 0.6, 0.7, 0.25, 0.25 } },
        { "cuda:1.1=0.7, cuda:1=0.6", { 0.9, 0.6, 0.7, 0.9, 0.9 } },
        { "cpu:1=0.1, cpu:1=0.1", { 0 } }, { "0.9, 0.8", { 0 } }, { "", { 0 } }, { ",", { 0 } },
        { "0.9,", { 0 } }, { "cpu=", { 0 } }, { "=0.5", { 0 } }, { "cpu=0", { 0 } },
        { "cpu=1.1", { 0 } }, { "cpu=nan", { 0 } }, { "0.9 cpu=0.5", { 0 } },
        { "cpu=0.5=0.6", { 0 } }, { "cpu:1234567890123456789012345678=0.5", { 0 } },
        { "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1,j=1,k=1,l=1,m=1,n=1,o=1,p=1,q=1", { 0 } },
    };
    static const char *const devices[][2] = {
        { "cuda:0", "cuda" }, { "cuda:1.0", "cuda" }, { "cuda:1.1", "cuda" }, { "cpu:1", "cpu" },
        { "cpu:10", "cpu" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_error error = { 0 };
        struct vrt_conf conf;
        char text[160];
        snprintf(text, sizeof(text), "[devices]\nmemory_fraction = %s", cases[i].value);
        int r = vrt_conf_parse(text, "t.conf", vrt_backend_section_at, &conf, &error);
        expect_int(r, cases[i].of[0] > 0 ? 0 : -EINVAL);
        if (r < 0)
            expect_contains(error.message, "is not a number over 0, at most 1, perhaps with others "
                                           "for devices, each named once: 0.9, cpu:0=0.5");
        for (size_t d = 0; r == 0 && d < VRT_ARRAY_SIZE(devices); d++)
            expect_near(vrt_conf_share_of(&conf.devices.memory_fraction, devices[d][0],
                                          devices[d][1], NULL), cases[i].of[d], 0);
    }
}

static void test_long_line(void)
{
    char text[1000] = "[daemon]\nsocket = ";
    struct vrt_conf conf = { .jobs.history = 42 };
    struct vrt_error error = { 0 };

    expect_int(vrt_conf_parse("[cpu]\nthreads = \033[1m", "t.conf", vrt_backend_section_at, &conf,
                              &error), -EINVAL);
    expect_contains(error.message, "t.conf:2: threads: \"?[1m\" is not");
    error = (struct vrt_error){ 0 };
    memset(text + strlen(text), 'x', 150);
    expect_int(vrt_conf_parse(text, "t.conf", vrt_backend_section_at, &conf, &error), -EINVAL);
    expect_contains(error.message, "a text of at most 107 bytes");
    error = (struct vrt_error){ 0 };
    memset(text + strlen(text), 'x', 200);
    expect_int(vrt_conf_parse(text, "t.conf", vrt_backend_section_at, &conf, &error), -EINVAL);
    expect_contains(error.message, "t.conf:2: the line is longer than");
    expect_int(conf.jobs.history, 42);
}

static void test_files(void)
{
    char path[] = "/tmp/vrt-conf-XXXXXX";
    struct vrt_conf conf;
    struct vrt_error error = { 0 };

    expect_int(vrt_conf_read("/nowhere/vrtd.conf", vrt_backend_section_at, &conf, &error), -ENOENT);
    expect_contains(error.message, "/nowhere/vrtd.conf: No such file");
    error = (struct vrt_error){ 0 };
    expect_int(vrt_conf_read("/tmp", vrt_backend_section_at, &conf, &error), -EISDIR);
    error = (struct vrt_error){ 0 };
    int fd = mkstemp(path);
    expect_true(fd >= 0 && write(fd, "[cpu]\nde\0vices = 1", 18) == 18);
    expect_int(vrt_conf_read(path, vrt_backend_section_at, &conf, &error), -EINVAL);
    expect_contains(error.message, "NUL bytes");
    close(fd);
    unlink(path);
}

TEST_MAIN(
    { "defaults", test_defaults },
    { "example", test_example },
    { "backends", test_backends },
    { "live-in-manual", test_live_in_manual },
    { "apply", test_apply },
    { "values", test_values },
    { "places", test_places },
    { "bytes", test_bytes },
    { "shares", test_shares },
    { "long-line", test_long_line },
    { "files", test_files },
)
