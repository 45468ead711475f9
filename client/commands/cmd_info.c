/* SPDX-License-Identifier: MIT */
/*
 * vrtctl status, codecs, version: a question to the daemon each, and its answer in lines or, with
 * --json, as it came, unknown fields included, so that scripts see what a newer daemon tells.
 *
 * For people everything passes through the tables of proto/ and vrt_printable(): numbers that the
 * daemon doesn't know are "-", and no name of a file can move the terminal's cursor.
 */

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "client/cli.h"
#include "client/commands/listing.h"
#include "client/conn.h"
#include "client/terminal/format.h"
#include "msg_codec.h"
#include "msg_device.h"

/* GET /v1/status. Return: 0; VRT_CONN_E_*; -errno. On 0 both are the caller's. */
static int get_status(struct vrt_cli *cli, json_t **ret_json, struct vrt_status_report *ret_status,
                      struct vrt_error *error)
{
    json_t *json = NULL;

    int r = vrt_conn_get(cli->conn, &json, error, "/v1/status");
    if (r != 0)
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
    if (r != 0)
        return vrt_cli_fail(cli, NULL, r, &error);
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

#define WORKS_BYTES 80              /* of a list of hardware */

static const struct vrt_column codec_columns[] = {
    { "CODEC", VRT_ALIGN_LEFT },
    { "ENCODER", VRT_ALIGN_LEFT },
    { "HARDWARE", VRT_ALIGN_LEFT, .rank = 4 },
    { "DECODER", VRT_ALIGN_LEFT, .rank = 5 },
    { "IN", VRT_ALIGN_LEFT },
    { "QUALITY", VRT_ALIGN_LEFT, .rank = 1 },
    { "PRESETS", VRT_ALIGN_LEFT, .rank = 2 },
    { "BITRATE", VRT_ALIGN_LEFT, .rank = 3 },
    { NULL, VRT_ALIGN_LEFT },
};

/* "a, b"; `none` where there are no words. */
static const char *join_words(char (*words)[VRT_API_WORD_BYTES], size_t n_words, const char *none,
                              char *text, size_t size)
{
    char shown[VRT_API_WORD_BYTES];
    size_t n = 0;

    snprintf(text, size, "%s", none);
    for (size_t i = 0; i < n_words && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "",
                              vrt_printable(words[i], shown, sizeof(shown)));
    return text;
}

/* Several encoders may have one reason. */
static int note_once(struct vrt_table *table, const char *sentence)
{
    const char *said = table->notes.data;

    return said && strstr(said, sentence) ? 0 : vrt_fold(vrt_table_note(table, "%s", sentence));
}

/* What works of n kinds of hardware, as a list; why others don't is noted below the table. */
static int take_hardware(const struct vrt_codec_hardware *hardware, size_t n,
                         const char *const *names, struct vrt_table *table, char list[WORKS_BYTES])
{
    char reason[VRT_API_TEXT_BYTES];
    int length = 0, r = 0;

    snprintf(list, WORKS_BYTES, "-");
    for (size_t i = 0; i < n && r == 0; i++) {
        const struct vrt_codec_hardware *h = &hardware[i];
        if (!h->works)
            r = note_once(table, vrt_printable(h->reason, reason, sizeof(reason)));
        else if (length < WORKS_BYTES)
            length += snprintf(list + length, (size_t)(WORKS_BYTES - length), "%s%s",
                               length ? ", " : "", vrt_name_of(names, h->how));
    }
    return vrt_fold(r);
}

static int add_codec(const json_t *json, struct vrt_table *table, struct vrt_error *error)
{
    struct vrt_codec_report c = { 0 };
    char name[VRT_API_WORD_BYTES], word[VRT_API_WORD_BYTES], encoders[80], endings[80];
    char quality[96] = "-", works[WORKS_BYTES], decode[WORKS_BYTES], problem[VRT_API_TEXT_BYTES];

    vrt_fields_reset(vrt_codec_fields, &c);
    if (vrt_fields_decode(vrt_codec_fields, json, VRT_FIELDS_LENIENT, &c, error) < 0)
        return VRT_CONN_E_BROKEN;
    if (c.quality[0])
        snprintf(quality, sizeof(quality), "%s %" PRId64 " to %" PRId64,
                 vrt_printable(c.quality, word, sizeof(word)), c.quality_best, c.quality_worst);
    vrt_printable(c.name, name, sizeof(name));
    int r = take_hardware(c.hardware, c.n_hardware, vrt_hwaccel_names, table, works);
    if (r == 0)
        r = take_hardware(c.hardware_decoders, c.n_hardware_decoders, vrt_hwdec_names, table,
                          decode);
    if (r == 0 && c.problem[0])
        r = note_once(table, vrt_printable(c.problem, problem, sizeof(problem)));
    const char *const cells[] = {
        name,
        join_words(c.encoders, c.n_encoders, "none here", encoders, sizeof(encoders)),
        works,
        decode,
        join_words(c.containers, c.n_containers, "-", endings, sizeof(endings)),
        quality,
        c.has_presets ? "yes" : "-",
        c.has_bitrate ? "yes" : "-",
    };
    r = r == 0 ? vrt_table_add(table, cells) : r;
    vrt_fields_done(vrt_codec_fields, &c);
    return vrt_fold(r);
}

static int run_codecs(struct vrt_cli *cli)
{
    return vrt_listing_print(cli, &(struct vrt_listing){
        .path = "/v1/codecs",
        .key = "codecs",
        .columns = codec_columns,
        .add = add_codec,
    });
}

const struct vrt_command vrt_command_codecs = {
    .name = "codecs",
    .operands = "",
    .summary = "list what results can be written as",
    .run = run_codecs,
};

const struct vrt_command vrt_command_status = {
    .name = "status",
    .operands = "",
    .summary = "show how the daemon is",
    .run = run_status,
};

const struct vrt_command vrt_command_version = {
    .name = "version",
    .operands = "",
    .summary = "print the versions of vrtctl and vrtd",
    .run = run_version,
};
