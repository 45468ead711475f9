/* SPDX-License-Identifier: MIT */
/*
 * vrtctl info: what is in a file, stream by stream, and what would become of it: a job's plan, as
 * --dry-run asks for it, of which this shows the other half. The file is looked at by vrt-media,
 * behind its walls.
 */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/conn.h"
#include "client/submit/submit.h"
#include "client/terminal/format.h"
#include "client/terminal/screen.h"
#include "client/terminal/table.h"
#include "msg_plan.h"

static const struct vrt_column columns[] = {
    { "STREAM", VRT_ALIGN_RIGHT },
    { "KIND", VRT_ALIGN_LEFT },
    { "CODEC", VRT_ALIGN_LEFT },
    { "FORMAT", VRT_ALIGN_LEFT, .rank = 1 },
    { "BITRATE", VRT_ALIGN_RIGHT, .rank = 5 },
    { "LANGUAGE", VRT_ALIGN_LEFT, .rank = 2 },
    { "TITLE", VRT_ALIGN_LEFT, .rank = 4 },
    { "DISPOSITION", VRT_ALIGN_LEFT, .rank = 3 },
    { "WHAT BECOMES OF IT", VRT_ALIGN_LEFT, .least = 28 },
    { NULL, VRT_ALIGN_LEFT },
};

/* What becomes of a stream, for people; `container`: of the output, its ending. */
static const char *say_fate(const struct vrt_plan_report *plan, const struct vrt_plan_stream *s,
                            char *text, size_t size)
{
    static const char *const phrases[] = {
        [VRT_STREAM_RESTORED] = "restored",
        [VRT_STREAM_COPIED] = "copied",
        [VRT_STREAM_CONVERTED] = "converted to text that the container has",
        [VRT_STREAM_MADE_ANEW] = "made anew",
        [VRT_STREAM_NOT_CHOSEN] = "left out by --streams",
    };
    char ending[VRT_API_WORD_BYTES];
    const char *dot = strrchr(plan->output_name, '.');

    if (s->fate == VRT_STREAM_NO_PLACE)
        snprintf(text, size, "left out: %s files have no place for it",
                 vrt_printable(dot ? dot : "such", ending, sizeof(ending)));
    else if (s->fate == VRT_STREAM_RESTORED)
        snprintf(text, size, "restored, to %" PRId64 "x%" PRId64 " %s", plan->video.output_width,
                 plan->video.output_height, vrt_name_of(vrt_codec_names, plan->recipe.codec));
    else
        snprintf(text, size, "%s", s->fate >= 0 ? phrases[s->fate] : "-");
    return text;
}

/* "1920x1080, 25.0 fps", "48000 Hz, 2 channels", "-". */
static const char *say_format(const struct vrt_plan_stream *s, char *text, size_t size)
{
    char rate[32], channels[40];

    snprintf(text, size, "-");
    if (s->width > 0 && s->height > 0 && s->fps > 0)
        snprintf(text, size, "%" PRId64 "x%" PRId64 ", %s fps", s->width, s->height,
                 vrt_format_rate(s->fps, rate, sizeof(rate)));
    else if (s->width > 0 && s->height > 0)
        snprintf(text, size, "%" PRId64 "x%" PRId64, s->width, s->height);
    else if (s->sample_rate > 0)
        snprintf(text, size, "%" PRId64 " Hz, %s", s->sample_rate,
                 vrt_format_count(s->channels, "channel", channels, sizeof(channels)));
    return text;
}

static const char *or_nothing(const char *text, char *buffer, size_t size)
{
    return text[0] ? vrt_printable(text, buffer, (int)size) : "-";
}

static int add_stream(const struct vrt_plan_report *plan, const struct vrt_plan_stream *s,
                      struct vrt_table *table)
{
    char index[24], codec[VRT_API_WORD_BYTES], format[80], bitrate[40] = "-";
    char language[VRT_API_WORD_BYTES], title[VRT_API_NAME_BYTES];
    char disposition[VRT_API_NAME_BYTES], fate[120];

    snprintf(index, sizeof(index), "%" PRId64, s->index);
    if (s->bitrate > 0)
        snprintf(bitrate, sizeof(bitrate), "%.0f kbit/s", (double)s->bitrate / 1000);
    const char *const cells[] = {
        index,
        vrt_name_of(vrt_stream_kind_names, s->kind),
        vrt_printable(s->codec, codec, sizeof(codec)),
        say_format(s, format, sizeof(format)),
        bitrate,
        or_nothing(s->language, language, sizeof(language)),
        or_nothing(s->title, title, sizeof(title)),
        or_nothing(s->disposition, disposition, sizeof(disposition)),
        say_fate(plan, s, fate, sizeof(fate)),
    };
    return vrt_fold(vrt_table_add(table, cells));
}

static int print_streams(const struct vrt_plan_report *plan)
{
    char input[VRT_API_NAME_BYTES], output[VRT_API_NAME_BYTES], duration[64], frames[40];
    struct vrt_table table;
    int r = 0;

    printf("%s: %s, %s%s; as %s:\n", vrt_printable(plan->input_name, input, sizeof(input)),
           vrt_format_duration(plan->video.duration_s, duration, sizeof(duration)),
           plan->frames_total < 0 ? "" : "about ",
           vrt_format_count(plan->frames_total, "frame", frames, sizeof(frames)),
           vrt_printable(plan->output_name, output, sizeof(output)));
    vrt_table_init(&table, columns);
    for (size_t i = 0; i < plan->n_streams && r == 0; i++)
        r = add_stream(plan, &plan->streams[i], &table);
    if (r == 0 && plan->streams_total > (int64_t)plan->n_streams)
        r = vrt_table_note(&table, "and %" PRId64 " more, of which nothing is told",
                           plan->streams_total - (int64_t)plan->n_streams);
    if (r == 0 && plan->n_streams)
        r = vrt_screen_print_table(&table);
    else if (r == 0)
        puts("pictures, of which there are no streams to tell of");
    vrt_table_done(&table);
    return vrt_fold(r);
}

int vrt_info_print(const struct vrt_cli *cli, const struct json_t *json, struct vrt_error *error)
{
    struct vrt_plan_report plan;
    int r;

    if (vrt_plan_report_decode(json, &plan, error) < 0)
        return VRT_CONN_E_BROKEN;
    if (cli->args.json)
        r = vrt_cli_print_json(json) == VRT_EXIT_OK ? 0 : -ENOMEM;
    else
        r = print_streams(&plan);
    if (r == 0)
        vrt_cli_warn(cli, plan.input_name, plan.warnings, plan.n_warnings);
    vrt_fields_done(vrt_plan_fields, &plan);
    return r < 0 ? vrt_refuse_errno(error, r, "printing the streams") : 0;
}

static int run_info(struct vrt_cli *cli)
{
    cli->args.dry_run = cli->args.tells_streams = true;
    return vrt_submit(cli);
}

#define A struct vrt_args
static const struct vrt_option options[] = {
    { "output", 'o', VRT_OPTION_TEXT, offsetof(A, output), .argument = "FILE",
      .help = "as if the result was called so: its ending decides what has a place" },
    { "streams", 0, VRT_OPTION_TEXT, offsetof(A, streams), .argument = "SPEC,SPEC...",
      .help = "as if these were to go on, as of submit" },
    { "model", 'm', VRT_OPTION_TEXT, offsetof(A, model), .argument = "MODEL",
      .help = "as if this restored it (default: as configured)" },
    { .name = NULL },
};
#undef A

const struct vrt_command vrt_command_info = {
    .name = "info",
    .operands = "FILE...",
    .summary = "show what is in videos, and what would become of it",
    .options = options,
    .min_operands = 1,
    .max_operands = 10000,
    .run = run_info,
};
