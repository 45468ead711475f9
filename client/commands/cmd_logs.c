/* SPDX-License-Identifier: MIT */
/* vrtctl logs: what the daemon logged about a job. */

#include <jansson.h>
#include <stdio.h>

#include "client/cli.h"
#include "client/conn.h"
#include "client/terminal/format.h"
#include "msg_log.h"

static void print_lines(const struct vrt_log_report *report, long long id)
{
    char time[40], topic[40], text[1100];

    for (size_t i = 0; i < report->n_lines; i++) {
        const struct vrt_log_entry *line = &report->lines[i];
        printf("%s %s %s: %s\n", vrt_format_time(line->at, time, sizeof(time)),
               vrt_name_of(vrt_log_level_names, line->level),
               vrt_printable(line->topic, topic, sizeof(topic)),
               vrt_printable(line->text, text, sizeof(text)));
    }
    if (report->n_lines == 0)
        printf("vrtd logged nothing about job %lld since it began; what was before is where its "
               "log goes, such as journalctl -u vrtd --grep 'job %lld'\n", id, id);
}

static int run(struct vrt_cli *cli)
{
    struct vrt_log_report report = { 0 };
    struct vrt_error error = { 0 };
    json_t *json = NULL;
    int exit = VRT_EXIT_OK;

    long long id = vrt_cli_job_id(cli, 0);
    if (!id)
        return VRT_EXIT_USAGE;
    int r = vrt_conn_get(cli->conn, &json, &error, "/v1/jobs/%lld/log", id);
    if (r == 0 && cli->args.json)
        exit = vrt_cli_print_json(json);
    else if (r == 0 &&
             vrt_fields_decode(vrt_log_fields, json, VRT_FIELDS_LENIENT, &report, &error) < 0)
        r = VRT_CONN_E_BROKEN;
    else if (r == 0)
        print_lines(&report, id);
    vrt_fields_done(vrt_log_fields, &report);
    json_decref(json);
    return r != 0 ? vrt_cli_fail(cli, NULL, r, &error) : exit;
}

const struct vrt_command vrt_command_logs = {
    .name = "logs",
    .operands = "ID",
    .summary = "show what vrtd logged about a job",
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
