/* SPDX-License-Identifier: MIT */
/*
 * vrtctl status, devices, version: a question to the daemon each, and its answer as a table
 * or, with --json, as it came: an object a line of a list, unknown fields included, so that scripts
 * see what a newer daemon tells.
 *
 * For people everything passes through the tables of proto/ and vrt_printable(): numbers that the
 * daemon doesn't know are "-", and no name of a file can move the terminal's cursor.
 */

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "client/cli.h"
#include "client/conn.h"
#include "client/format.h"
#include "client/listing.h"
#include "client/table.h"
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

static int add_device(const json_t *json, struct vrt_table *table, struct vrt_error *error)
{
    struct vrt_device_report d;
    char name[VRT_API_DEVICE_BYTES], description[VRT_API_TEXT_BYTES], numbers[7][32];

    vrt_device_report_init(&d);
    if (vrt_fields_decode(vrt_device_fields, json, VRT_FIELDS_LENIENT, &d, error) < 0)
        return VRT_CONN_E_BROKEN;
    /* Nothing says that what the daemon tells adds up to an int64_t. */
    bool held = d.memory.replica_bytes >= 0 && d.memory.workspace_bytes >= 0 &&
                d.memory.replica_bytes <= INT64_MAX - d.memory.workspace_bytes;
    /* last_error is the last there ever was. It is only of interest while it has consequences. */
    bool bad = d.state == VRT_DEVICE_LOST || d.state == VRT_DEVICE_QUARANTINED;
    int64_t in_use = held ? d.memory.replica_bytes + d.memory.workspace_bytes : VRT_UNKNOWN;
    snprintf(numbers[0], sizeof(numbers[0]), "%" PRId64, d.shards_done);
    snprintf(numbers[1], sizeof(numbers[1]), "%" PRId64, d.shards_failed);
    const char *const cells[] = {
        vrt_printable(d.name, name, sizeof(name)),
        vrt_name_of(vrt_device_state_names, d.state),
        numbers[0],
        numbers[1],
        vrt_format_rate(d.seconds_per_shard, numbers[2], sizeof(numbers[2])),
        vrt_format_bytes(in_use, numbers[3], sizeof(numbers[3])),
        vrt_format_bytes(d.memory.peak_bytes, numbers[4], sizeof(numbers[4])),
        vrt_format_bytes(d.memory.free_bytes, numbers[5], sizeof(numbers[5])),
        vrt_format_bytes(d.memory.total_bytes, numbers[6], sizeof(numbers[6])),
        vrt_printable(bad && d.last_error[0] ? d.last_error : d.description, description,
                      sizeof(description)),
    };
    return vrt_listing_add_cells(table, cells);
}

static int run_devices(struct vrt_cli *cli)
{
    static const struct vrt_listing listing = {
        "/v1/devices", "devices", device_columns, add_device,
    };

    return vrt_listing_print(cli, &listing);
}

/* GET /v1/status. Return: 0; VRT_CONN_E_*; -errno. On 0 both are the caller's. */
static int get_status(struct vrt_cli *cli, json_t **ret_json, struct vrt_status_report *ret_status,
                      struct vrt_error *error)
{
    json_t *json = NULL;

    int r = vrt_conn_get(cli->conn, &json, error, "/v1/status");
    if (r)
        return vrt_fold(r);
    vrt_status_report_init(ret_status);
    if (vrt_fields_decode(vrt_status_fields, json, VRT_FIELDS_LENIENT, ret_status, error) < 0) {
        json_decref(json);
        return VRT_CONN_E_BROKEN;
    }
    *ret_json = json;
    return 0;
}

/* The states that jobs are seldom in are named only where some are. */
static void print_counts(const struct vrt_status_jobs *jobs)
{
    const struct {
        const char *state;
        int64_t n;
        bool always;
    } counts[] = {
        { "running", jobs->running, true },
        { "fetching", jobs->fetching },
        { "queued", jobs->queued, true },
        { "paused", jobs->paused },
        { "needs_input", jobs->needs_input },
        { "disk_full", jobs->disk_full },
        { "done", jobs->done, true },
        { "failed", jobs->failed, true },
        { "cancelled", jobs->cancelled, true },
    };

    printf("jobs:");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(counts); i++)
        if (counts[i].always || counts[i].n > 0)
            printf("%s %" PRId64 " %s", i ? "," : "", counts[i].n, counts[i].state);
    putchar('\n');
}

static void print_status(const struct vrt_status_report *s)
{
    char text[VRT_API_WORD_BYTES], uptime[64];

    printf("vrtd %s, process %" PRId64 ", up for %s\n",
           vrt_printable(s->version, text, sizeof(text)), s->pid,
           vrt_format_duration(s->uptime_s, uptime, sizeof(uptime)));
    print_counts(&s->jobs);
    for (size_t i = 0; i < s->n_devices; i++)
        printf("%s%s %s", i == 0 ? "devices: " : ", ",
               vrt_printable(s->devices[i].name, text, sizeof(text)),
               vrt_name_of(vrt_device_state_names, s->devices[i].state));
    puts(s->n_devices ? "" : "devices: none");
}

static int run_status(struct vrt_cli *cli)
{
    struct vrt_status_report status;
    struct vrt_error error = { 0 };
    json_t *json = NULL;
    int exit = VRT_EXIT_OK;

    int r = get_status(cli, &json, &status, &error);
    if (r)
        return vrt_cli_fail(NULL, r, &error);
    if (cli->args.json)
        exit = vrt_cli_print_json(json);
    else
        print_status(&status);
    vrt_fields_done(vrt_status_fields, &status);
    json_decref(json);
    return exit;
}

/* Ours, and the daemon's if it answers: that it doesn't is an answer too. */
static int run_version(struct vrt_cli *cli)
{
    struct vrt_status_report status;
    struct vrt_error error = { 0 };
    char text[VRT_API_WORD_BYTES];
    json_t *json = NULL;
    int exit = VRT_EXIT_OK;

    int r = get_status(cli, &json, &status, &error);
    json_decref(json);
    if (r == 0) {
        vrt_printable(status.version, text, sizeof(text));
        vrt_fields_done(vrt_status_fields, &status);
    }
    if (cli->args.json) {
        json = json_pack("{s:s, s:s?}", "vrtctl", VRT_VERSION, "vrtd", r == 0 ? text : NULL);
        exit = json ? vrt_cli_print_json(json) : VRT_EXIT_FAILED;
        json_decref(json);
        return exit;
    }
    printf("vrtctl %s\n", VRT_VERSION);
    printf("vrtd %s\n", r == 0 ? text : "does not answer");
    return exit;
}

const struct vrt_command vrt_command_status = {
    .name = "status",
    .operands = "",
    .summary = "show how the daemon is",
    .run = run_status,
};

const struct vrt_command vrt_command_devices = {
    .name = "devices",
    .operands = "",
    .summary = "list the devices",
    .run = run_devices,
};

const struct vrt_command vrt_command_version = {
    .name = "version",
    .operands = "",
    .summary = "print the versions of vrtctl and vrtd",
    .run = run_version,
};
