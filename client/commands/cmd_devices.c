/* SPDX-License-Identifier: MIT */
/*
 * vrtctl devices: all of them as a table, or everything about those that are named; with --json an
 * object a line, as the daemon tells it. With --trim and --reset-peak what administrators ask of
 * them.
 */

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli.h"
#include "client/conn.h"
#include "client/terminal/format.h"
#include "client/commands/listing.h"
#include "client/terminal/table.h"
#include "msg_device.h"

static const struct vrt_column device_columns[] = {
    { "DEVICE", VRT_ALIGN_LEFT },
    { "STATE", VRT_ALIGN_LEFT },
    { "SHARDS", VRT_ALIGN_RIGHT, .rank = 5 },
    { "FAILED", VRT_ALIGN_RIGHT, .rank = 2 },
    { "S/SHARD", VRT_ALIGN_RIGHT, .rank = 6 },
    { "IN USE", VRT_ALIGN_RIGHT, .rank = 3 },
    { "PEAK", VRT_ALIGN_RIGHT, .rank = 7 },
    { "FREE", VRT_ALIGN_RIGHT, .rank = 1 },
    { "TOTAL", VRT_ALIGN_RIGHT, .rank = 4 },
    { "DESCRIPTION", VRT_ALIGN_LEFT },
    { NULL, VRT_ALIGN_LEFT },
};

/* What the device is, and how, as far as that is of interest at first sight. */
static void print_description(const struct vrt_device_report *d, char *buffer, size_t size)
{
    const struct vrt_device_readings *s = &d->sensors;
    size_t n = strlen(vrt_printable(d->description, buffer, size));

    if (!d->has_sensors)
        return;
    if (!isnan(s->utilization_percent) && n < size)
        n += (size_t)snprintf(buffer + n, size - n, ", %.0f%% busy", s->utilization_percent);
    if (!isnan(s->temperature_celsius) && n < size)
        n += (size_t)snprintf(buffer + n, size - n, ", %.0f C", s->temperature_celsius);
    if (!isnan(s->power_watts) && n < size)
        snprintf(buffer + n, size - n, ", %.0f W", s->power_watts);
}

static int add_device(const json_t *json, struct vrt_table *table, struct vrt_error *error)
{
    struct vrt_device_report d;
    char name[VRT_API_DEVICE_BYTES], description[VRT_API_TEXT_BYTES], numbers[7][32];

    vrt_device_report_init(&d);
    if (vrt_fields_decode(vrt_device_fields, json, VRT_FIELDS_LENIENT, &d, error) < 0)
        return VRT_CONN_E_BROKEN;
    /* last_error is the last there ever was. It is only of interest while it has consequences. */
    bool bad = d.state == VRT_DEVICE_LOST || d.state == VRT_DEVICE_QUARANTINED;
    if (bad && d.last_error[0])
        vrt_printable(d.last_error, description, sizeof(description));
    else
        print_description(&d, description, sizeof(description));
    snprintf(numbers[0], sizeof(numbers[0]), "%" PRId64, d.shards_done);
    snprintf(numbers[1], sizeof(numbers[1]), "%" PRId64, d.shards_failed);
    const char *const cells[] = {
        vrt_printable(d.name, name, sizeof(name)),
        vrt_name_of(vrt_device_state_names, d.state),
        numbers[0],
        numbers[1],
        vrt_format_rate(d.seconds_per_shard, numbers[2], sizeof(numbers[2])),
        vrt_format_bytes(vrt_device_held_bytes(&d.memory), numbers[3], sizeof(numbers[3])),
        vrt_format_bytes(d.memory.peak_bytes, numbers[4], sizeof(numbers[4])),
        vrt_format_bytes(d.memory.free_bytes, numbers[5], sizeof(numbers[5])),
        vrt_format_bytes(d.memory.total_bytes, numbers[6], sizeof(numbers[6])),
        description,
    };
    return vrt_table_add(table, cells);
}

/* What jobs run on that don't say, and why. */
static int add_auto(const json_t *json, struct vrt_table *table, struct vrt_error *error)
{
    struct vrt_auto_report report = { 0 };
    char reason[VRT_API_TEXT_BYTES], name[VRT_API_DEVICE_BYTES];
    struct vrt_buf names = { 0 };
    const json_t *automatic = json_object_get(json, "auto");

    if (!automatic)
        return 0;
    if (vrt_fields_decode(vrt_auto_fields, automatic, VRT_FIELDS_LENIENT, &report, error) < 0)
        return VRT_CONN_E_BROKEN;
    int r = vrt_buf_printf(&names, "%s", "");
    for (size_t i = 0; r == 0 && i < report.n_devices; i++)
        r = vrt_buf_printf(&names, "%s%s", i ? ", " : "",
                           vrt_printable(report.devices[i], name, sizeof(name)));
    if (r == 0)
        r = vrt_table_note(table, "auto takes %s: %s", report.n_devices ? names.data : "none",
                           vrt_printable(report.reason, reason, sizeof(reason)));
    vrt_buf_done(&names);
    vrt_fields_done(vrt_auto_fields, &report);
    return vrt_fold(r);
}

static int list_all(struct vrt_cli *cli)
{
    static const struct vrt_listing listing = {
        .path = "/v1/devices",
        .key = "devices",
        .columns = device_columns,
        .add = add_device,
        .add_notes = add_auto,
    };

    return vrt_listing_print(cli, &listing);
}

/* A line about something, left out where nobody knows it. */
static void show_text(const char *label, const char *text)
{
    char printable[VRT_API_TEXT_BYTES];

    if (text[0])
        printf("  %-12s %s\n", label, vrt_printable(text, printable, sizeof(printable)));
}

static void show_memory(const struct vrt_device_usage *memory)
{
    char texts[6][32];

    printf("  Memory       %s of %s free\n"
           "               %s held: models %s, workspace %s; %s at most\n",
           vrt_format_bytes(memory->free_bytes, texts[0], sizeof(texts[0])),
           vrt_format_bytes(memory->total_bytes, texts[1], sizeof(texts[1])),
           vrt_format_bytes(vrt_device_held_bytes(memory), texts[2], sizeof(texts[2])),
           vrt_format_bytes(memory->replica_bytes, texts[3], sizeof(texts[3])),
           vrt_format_bytes(memory->workspace_bytes, texts[4], sizeof(texts[4])),
           vrt_format_bytes(memory->peak_bytes, texts[5], sizeof(texts[5])));
}

/* The card, and which other devices it is. */
static void show_card(const struct vrt_device_report *d, const char *others)
{
    const struct vrt_device_card *card = &d->card;
    char driver[VRT_API_WORD_BYTES], runtime[VRT_API_WORD_BYTES], kind[VRT_API_WORD_BYTES];

    if (!d->has_card)
        return;
    vrt_printable(d->kind, kind, sizeof(kind));
    for (char *c = kind; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    printf("  Card         number %" PRId64 "%s%s\n", card->number,
           others[0] ? ", shared with " : "", others);
    show_text("UUID", card->uuid);
    show_text("PCI address", card->pci_address);
    show_text("Capability", card->compute_capability);
    if (!card->runtime_version[0])
        show_text("Driver", card->driver_version);
    else if (card->driver_version[0])
        printf("  %-12s %s; the driver is for %s and older\n", kind,
               vrt_printable(card->runtime_version, runtime, sizeof(runtime)),
               vrt_printable(card->driver_version, driver, sizeof(driver)));
}

static void show_sensors(const struct vrt_device_readings *s)
{
    char memory[32] = "", limit[32] = "";

    if (!isnan(s->memory_utilization_percent))
        snprintf(memory, sizeof(memory), ", memory %.0f%%", s->memory_utilization_percent);
    if (!isnan(s->utilization_percent))
        printf("  Utilization  computing %.0f%%%s of the time\n", s->utilization_percent, memory);
    if (!isnan(s->temperature_celsius))
        printf("  Temperature  %.0f C\n", s->temperature_celsius);
    if (!isnan(s->power_limit_watts))
        snprintf(limit, sizeof(limit), " of %.0f", s->power_limit_watts);
    if (!isnan(s->power_watts))
        printf("  Power        %.0f%s W\n", s->power_watts, limit);
    show_text("Throttling", s->throttling);
}

static void show_device(const struct vrt_device_report *d, const char *others)
{
    char name[VRT_API_DEVICE_BYTES], rate[32], retry[48] = "";

    if (d->state == VRT_DEVICE_QUARANTINED && !(d->retry_in_s >= 0.5))
        snprintf(retry, sizeof(retry), ", and being asked again");
    else if (d->state == VRT_DEVICE_QUARANTINED)
        snprintf(retry, sizeof(retry), ", and asked again in %.0f s", d->retry_in_s);
    printf("%s: %s%s\n", vrt_printable(d->name, name, sizeof(name)),
           vrt_name_of(vrt_device_state_names, d->state), retry);
    show_text("Description", d->description);
    show_text("Last error", d->last_error);
    if (d->threads >= 0)
        printf("  Threads      %" PRId64 "\n", d->threads);
    show_card(d, others);
    if (d->has_sensors)
        show_sensors(&d->sensors);
    show_memory(&d->memory);
    printf("  Shards       %" PRId64 " done, %" PRId64 " failed, %s s each\n", d->shards_done,
           d->shards_failed, vrt_format_rate(d->seconds_per_shard, rate, sizeof(rate)));
}

/* Whether `d` is what `name` means: its own name, its kind's, that of the card that it is a part
 * of, or any. */
static bool is_meant(const struct vrt_device_report *d, const char *name)
{
    size_t n = strlen(name);

    return strcmp(d->name, name) == 0 || strcmp(d->kind, name) == 0 || strcmp(name, "all") == 0 ||
           (d->has_card && strncmp(d->name, name, n) == 0 && d->name[n] == '.');
}

/* The names of the other devices that share the card of number `d`. */
static const char *find_others(const struct vrt_device_report *devices, size_t n, size_t d,
                               char *buffer, size_t size)
{
    char name[VRT_API_DEVICE_BYTES];
    size_t used = 0;

    buffer[0] = '\0';
    for (size_t i = 0; i < n && used < size; i++)
        if (i != d && devices[d].has_card && devices[i].has_card &&
            strcmp(devices[i].kind, devices[d].kind) == 0 &&
            devices[i].card.number == devices[d].card.number)
            used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? ", " : "",
                                     vrt_printable(devices[i].name, name, sizeof(name)));
    return buffer;
}

/* Return: enum vrt_exit; everything was said. */
static int show_meant(const struct vrt_cli *cli, const json_t *list,
                      const struct vrt_device_report *devices, const char *name)
{
    size_t n = json_array_size(list);
    char text[VRT_API_TEXT_BYTES];
    bool any = false;

    for (size_t i = 0; i < n; i++) {
        if (!is_meant(&devices[i], name))
            continue;
        any = true;
        if (cli->args.json)
            vrt_cli_print_json(json_array_get(list, i));
        else
            show_device(&devices[i], find_others(devices, n, i, text, sizeof(text)));
    }
    if (any)
        return VRT_EXIT_OK;
    struct vrt_error error = { 0 };
    int r = vrt_refuse(&error, -ENODEV, "device.unknown",
                       "there is no device %s; vrtctl devices lists those there are",
                       vrt_printable(name, text, sizeof(text)));
    return vrt_cli_fail(cli, NULL, r, &error);
}

static int decode_all(const json_t *list, struct vrt_device_report **ret_devices,
                      struct vrt_error *error)
{
    const size_t n = json_array_size(list);
    VRT_CLEANUP(vrt_freep) struct vrt_device_report *devices = calloc(n + 1, sizeof(*devices));

    if (!devices)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "listing");
    if (!json_is_array(list))
        return vrt_refuse(error, VRT_CONN_E_BROKEN, VRT_CONN_BROKEN_ID,
                          "vrtd's answer holds no list of devices");
    for (size_t i = 0; i < n; i++) {
        vrt_device_report_init(&devices[i]);
        if (vrt_fields_decode(vrt_device_fields, json_array_get(list, i), VRT_FIELDS_LENIENT,
                              &devices[i], error) < 0)
            return VRT_CONN_E_BROKEN;
    }
    *ret_devices = VRT_STEAL(devices);
    return 0;
}

/* The request for what the user named: as a job's device, all of them where he named none. */
static int make_request(const struct vrt_cli *cli, struct vrt_devices_request *q,
                        struct vrt_error *error)
{
    size_t n = 0;

    *q = (struct vrt_devices_request){
        .trim = cli->args.trim,
        .reset_peak = cli->args.reset_peak,
    };
    for (int i = 0; i < cli->args.n_operands && n < sizeof(q->device); i++)
        n += (size_t)snprintf(q->device + n, sizeof(q->device) - n, "%s%s", i ? "," : "",
                              cli->args.operands[i]);
    return n < sizeof(q->device) ? 0 :
           vrt_refuse(error, vrt_raise(-EINVAL), "usage", "so many devices can't be named at once: "
                      "name their kinds, or none, which means all");
}

static void print_trimmed(const struct vrt_trimmed_report *t)
{
    char name[VRT_API_DEVICE_BYTES], texts[4][32];

    vrt_printable(t->name, name, sizeof(name));
    printf("%s: ", name);
    if (t->freed_bytes >= 0)
        printf("%s freed, ", vrt_format_bytes(t->freed_bytes, texts[0], sizeof(texts[0])));
    printf("%s in use",
           vrt_format_bytes(vrt_device_held_bytes(&t->memory), texts[1], sizeof(texts[1])));
    if (t->former_peak_bytes >= 0)
        printf("; the peak was %s, and is %s now",
               vrt_format_bytes(t->former_peak_bytes, texts[2], sizeof(texts[2])),
               vrt_format_bytes(t->memory.peak_bytes, texts[3], sizeof(texts[3])));
    putchar('\n');
}

/* What became of a device. Return: 0, *ret_done says whether it did it; VRT_CONN_E_BROKEN. */
static int tell_trimmed(const struct vrt_cli *cli, const json_t *json, bool *ret_done,
                        struct vrt_error *error)
{
    struct vrt_trimmed_report t;
    struct vrt_error why = { 0 };
    char name[VRT_API_DEVICE_BYTES], message[VRT_API_TEXT_BYTES];

    vrt_trimmed_report_init(&t);
    if (vrt_fields_decode(vrt_trimmed_fields, json, VRT_FIELDS_LENIENT, &t, error) < 0)
        return VRT_CONN_E_BROKEN;
    *ret_done = t.done;
    if (cli->args.json) {
        vrt_cli_print_json(json);
    } else if (t.done) {
        print_trimmed(&t);
    } else {
        vrt_refuse(&why, -EAGAIN, "client.trim", "%s: not done: %s",
                   vrt_printable(t.name, name, sizeof(name)),
                   vrt_printable(t.message, message, sizeof(message)));
        vrt_cli_complain(cli, NULL, &why);
    }
    return 0;
}

/* --trim, --reset-peak. Return: enum vrt_exit; everything was said. */
static int trim(struct vrt_cli *cli)
{
    struct vrt_devices_request request;
    struct vrt_error error = { 0 };
    bool all_done = true, done = false;
    json_t *json = NULL;

    int r = make_request(cli, &request, &error);
    if (r < 0) {
        vrt_cli_complain(cli, NULL, &error);
        return VRT_EXIT_USAGE;
    }
    r = vrt_conn_post(cli->conn, &(struct vrt_request){ .path = "/v1/devices" },
                      vrt_devices_request_fields, &request, &json, &error);
    const json_t *list = json_object_get(json, "devices");
    if (r == 0 && !json_is_array(list))
        r = vrt_refuse(&error, VRT_CONN_E_BROKEN, VRT_CONN_BROKEN_ID,
                       "vrtd's answer holds no list of devices");
    for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
        r = tell_trimmed(cli, json_array_get(list, i), &done, &error);
        all_done &= done;
    }
    json_decref(json);
    if (r != 0)
        return vrt_cli_fail(cli, NULL, r, &error);
    return all_done ? VRT_EXIT_OK : VRT_EXIT_FAILED;
}

static int run_devices(struct vrt_cli *cli)
{
    VRT_CLEANUP(vrt_freep) struct vrt_device_report *devices = NULL;
    struct vrt_error error = { 0 };
    int exit = VRT_EXIT_OK;
    json_t *json = NULL;

    if (cli->args.trim || cli->args.reset_peak)
        return trim(cli);
    if (cli->args.n_operands == 0)
        return list_all(cli);
    int r = vrt_conn_get(cli->conn, &json, &error, "/v1/devices");
    const json_t *list = json_object_get(json, "devices");
    if (r == 0)
        r = decode_all(list, &devices, &error);
    if (r != 0)
        exit = vrt_cli_fail(cli, NULL, r, &error);
    for (int i = 0; r == 0 && i < cli->args.n_operands; i++) {
        int one = show_meant(cli, list, devices, cli->args.operands[i]);
        exit = one != VRT_EXIT_OK ? one : exit;
    }
    json_decref(json);
    return exit;
}

#define A struct vrt_args
static const struct vrt_option device_options[] = {
    { "trim", 0, VRT_OPTION_FLAG, offsetof(A, trim),
      .help = "have them give up what no job uses (administrators)" },
    { "reset-peak", 0, VRT_OPTION_FLAG, offsetof(A, reset_peak),
      .help = "begin their peaks of memory anew (administrators)" },
    { .name = NULL },
};
#undef A

const struct vrt_command vrt_command_devices = {
    .name = "devices",
    .operands = "[DEVICE...]",
    .summary = "list the devices, show everything about some, or trim them",
    .options = device_options,
    .max_operands = 1000,
    .run = run_devices,
};
