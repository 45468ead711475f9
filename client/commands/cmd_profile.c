/* SPDX-License-Identifier: MIT */
/* vrtctl profile: how fast a device runs a model, and what its time goes into. */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "client/cli.h"
#include "client/conn.h"
#include "client/files.h"
#include "client/terminal/format.h"
#include "client/terminal/screen.h"
#include "client/terminal/table.h"
#include "msg_plan.h"

#define A struct vrt_args
static const struct vrt_option options[] = {
    { "device", 'd', VRT_OPTION_TEXT, offsetof(A, device), .argument = "DEVICE",
      .help = "cpu:0, cuda, ... (default: auto)" },
    { "size", 0, VRT_OPTION_TEXT, offsetof(A, size), .argument = "WxH",
      .help = "of the frames, in pixels (default: 640x360)" },
    { "precision", 0, VRT_OPTION_WORD, offsetof(A, settings.precision),
      .names = vrt_precision_names, .argument = "TYPE",
      .help = "auto, f32, f16 or bf16 (default: auto)" },
    { "tile", 0, VRT_OPTION_INT, offsetof(A, settings.tile), VRT_API_TILE_MIN, VRT_API_TILE_MAX,
      .argument = "PIXELS", .help = "edge of a tile (default: as large as memory allows)" },
    { "overlap", 0, VRT_OPTION_INT, offsetof(A, settings.overlap), 0, VRT_API_OVERLAP_MAX,
      .argument = "PIXELS", .help = "overlap of tiles (default: by the network)" },
    { "frames", 'n', VRT_OPTION_INT, offsetof(A, frames), 1, VRT_API_PROFILE_FRAMES_MAX,
      .argument = "N", .help = "to be timed (default: as many as take some seconds)" },
    { .name = NULL },
};
#undef A

static const struct vrt_column columns[] = {
    { "OP", VRT_ALIGN_LEFT },
    { "COUNT", VRT_ALIGN_RIGHT },
    { "TIME", VRT_ALIGN_RIGHT },
    { "SHARE", VRT_ALIGN_RIGHT },
    { "GFLOP/S", VRT_ALIGN_RIGHT },
    { NULL, VRT_ALIGN_LEFT },
};

/* "640x360" into the request. */
static int take_size(const char *text, struct vrt_profile_request *q, struct vrt_error *error)
{
    char printable[80], *end;

    long width = text[0] >= '0' && text[0] <= '9' ? strtol(text, &end, 10) : 0;
    long height = width > 0 && *end == 'x' && end[1] >= '0' && end[1] <= '9' ?
                  strtol(end + 1, &end, 10) : 0;
    if (height <= 0 || *end || VRT_MIN(width, height) < VRT_API_PROFILE_SIDE_MIN ||
        VRT_MAX(width, height) > VRT_API_PROFILE_SIDE_MAX)
        return vrt_refuse(error, -EINVAL, "usage", "--size: expected WIDTHxHEIGHT, such as "
                          "640x360, each from %d to %d, got \"%s\"", VRT_API_PROFILE_SIDE_MIN,
                          VRT_API_PROFILE_SIDE_MAX,
                          vrt_printable(text, printable, sizeof(printable)));
    q->width = width;
    q->height = height;
    return 0;
}

/* A text of the command line that the API has no room for names nothing. */
static int take_text(const char *text, const char *what, char *buffer, size_t size,
                     struct vrt_error *error)
{
    char printable[80];

    if (text[0] && snprintf(buffer, size, "%s", text) < (int)size)
        return 0;
    return vrt_refuse(error, -EINVAL, "usage", "\"%s\" is no %s",
                      vrt_printable(text, printable, sizeof(printable)), what);
}

/* What the command line asks for; a model that is a file has a descriptor, not open yet. */
static int make_request(const struct vrt_args *args, struct vrt_profile_request *q,
                        struct vrt_error *error)
{
    const char *name = args->operands[0];
    int r = 0;

    vrt_profile_request_init(q);
    q->settings = args->settings;
    q->frames = args->frames;
    if (args->size)
        r = take_size(args->size, q, error);
    if (r == 0 && args->device)
        r = take_text(args->device, "device", q->device, sizeof(q->device), error);
    if (r < 0 || !vrt_file_is_model_path(name))
        return r < 0 ? r : take_text(name, "model", q->model.name, sizeof(q->model.name), error);
    q->model.fd = 0;
    vrt_file_name(name, q->model.name, sizeof(q->model.name));
    return 0;
}

static int post(struct vrt_cli *cli, const struct vrt_profile_request *q,
                const struct vrt_file *model, json_t **ret_json, struct vrt_error *error)
{
    struct vrt_buf body = { 0 };

    int r = vrt_fields_print(vrt_profile_request_fields, q, &body);
    if (r < 0)
        return vrt_refuse_errno(error, r, "writing the request");
    const struct vrt_request request = {
        .method = "POST",
        .path = "/v1/profile",
        .body = body.data,
        .fds = &model->fd,
        .n_fds = model->fd >= 0 ? 1 : 0,
        .takes_long = true,
    };
    r = vrt_conn_request(cli->conn, &request, ret_json, error);
    vrt_buf_done(&body);
    return vrt_fold(r);
}

/* "1.53 s", "20.7 ms", "83 us". */
static const char *format_seconds(double seconds, char *buffer, size_t size)
{
    if (!(seconds >= 0))
        snprintf(buffer, size, "-");
    else if (seconds >= 1)
        snprintf(buffer, size, "%.2f s", seconds);
    else if (seconds >= 1e-3)
        snprintf(buffer, size, seconds >= 0.1 ? "%.0f ms" : "%.1f ms", seconds * 1e3);
    else
        snprintf(buffer, size, "%.0f us", seconds * 1e6);
    return buffer;
}

static void print_subject(const struct vrt_profile_report *p)
{
    char name[VRT_API_NAME_BYTES], text[VRT_API_TEXT_BYTES];

    printf("%s on %s, %s\n", vrt_printable(p->model.name, name, sizeof(name)),
           vrt_printable(p->device, text, sizeof(text)),
           vrt_name_of(vrt_precision_names, p->precision));
    printf("  Network    %s, %" PRId64 " parameters\n",
           vrt_printable(p->description, text, sizeof(text)), p->parameters);
    printf("  Device     %s\n", vrt_printable(p->device_description, text, sizeof(text)));
    printf("  Frames     %" PRId64 "x%" PRId64 " to %" PRId64 "x%" PRId64 ", %" PRId64
           " timed\n", p->width, p->height, p->output_width, p->output_height, p->frames);
    printf("  Recipe     clips of %s",
           vrt_format_count(p->clip_frames, "frame", text, sizeof(text)));
    if (p->clip_overlap > 0)
        printf(" sharing %" PRId64, p->clip_overlap);
    printf(", ");
    if (p->tiles > 1)
        printf("%" PRId64 " tiles of %" PRId64 "x%" PRId64 ", overlapping by %" PRId64 "\n",
               p->tiles, p->tile_width, p->tile_height, p->overlap);
    else
        puts("not tiled");
}

static void print_speed(const struct vrt_profile_report *p)
{
    char text[4][32];

    printf("  Time       %s a frame: p50 %s, p95 %s\n",
           format_seconds(p->frame_mean_s, text[0], sizeof(text[0])),
           format_seconds(p->frame_p50_s, text[1], sizeof(text[1])),
           format_seconds(p->frame_p95_s, text[2], sizeof(text[2])));
    printf("             upload %s, compute %s, download %s\n",
           format_seconds(p->upload_s, text[0], sizeof(text[0])),
           format_seconds(p->compute_s, text[1], sizeof(text[1])),
           format_seconds(p->download_s, text[2], sizeof(text[2])));
    printf("  Speed      %s frames/s, %s GFLOP/s (%s GFLOP a frame)\n",
           vrt_format_rate(p->fps, text[0], sizeof(text[0])),
           vrt_format_rate(p->gflop_per_s, text[1], sizeof(text[1])),
           vrt_format_rate(p->gflop_per_frame, text[2], sizeof(text[2])));
    printf("  Memory     peak %s (model %s, workspace %s) of %s allowed\n\n",
           vrt_format_bytes(p->peak_bytes, text[0], sizeof(text[0])),
           vrt_format_bytes(p->replica_bytes, text[1], sizeof(text[1])),
           vrt_format_bytes(p->workspace_bytes, text[2], sizeof(text[2])),
           vrt_format_bytes(p->allowed_bytes, text[3], sizeof(text[3])));
}

static int print_ops(const struct vrt_profile_report *p)
{
    struct vrt_table table;
    int r = 0;

    vrt_table_init(&table, columns);
    for (size_t i = 0; r == 0 && i < p->n_ops; i++) {
        const struct vrt_profile_op *op = &p->ops[i];
        char kind[VRT_API_WORD_BYTES], count[32], seconds[32], share[32], rate[32];
        snprintf(count, sizeof(count), "%" PRId64, op->count);
        snprintf(share, sizeof(share), "%.1f%%", 100 * op->share);
        const char *const row[] = {
            vrt_printable(op->kind, kind, sizeof(kind)),
            count,
            format_seconds(op->seconds, seconds, sizeof(seconds)),
            isnan(op->share) ? "-" : share,
            op->gflop_per_s > 0 ? vrt_format_rate(op->gflop_per_s, rate, sizeof(rate)) : "-",
        };
        r = vrt_table_add(&table, row);
    }
    if (r == 0)
        r = vrt_screen_print_table(&table);
    vrt_table_done(&table);
    return vrt_fold(r);
}

static int print_report(const struct vrt_cli *cli, const json_t *json, struct vrt_error *error)
{
    struct vrt_profile_report report;
    int r = 0;

    if (vrt_profile_report_decode(json, &report, error) < 0)
        return VRT_CONN_E_BROKEN;
    if (cli->args.json) {
        r = vrt_cli_print_json(json) == VRT_EXIT_OK ? 0 : -ENOMEM;
    } else {
        print_subject(&report);
        print_speed(&report);
        r = print_ops(&report);
    }
    if (r == 0)
        vrt_cli_warn(NULL, report.warnings, report.n_warnings);
    vrt_fields_done(vrt_profile_fields, &report);
    return r < 0 ? vrt_refuse_errno(error, r, "printing the profile") : 0;
}

static int run(struct vrt_cli *cli)
{
    struct vrt_file model = VRT_FILE_NONE;
    struct vrt_profile_request q;
    struct vrt_error error = { 0 };
    json_t *json = NULL;

    int r = make_request(&cli->args, &q, &error);
    if (r < 0) {
        vrt_cli_complain(NULL, &error);
        return VRT_EXIT_USAGE;
    }
    if (q.model.fd >= 0)
        r = vrt_file_open_input(cli->args.operands[0], &model, &error);
    if (r == 0)
        r = post(cli, &q, &model, &json, &error);
    if (r == 0)
        r = print_report(cli, json, &error);
    json_decref(json);
    vrt_file_close(&model);
    return r != 0 ? vrt_cli_fail(NULL, r, &error) : VRT_EXIT_OK;
}

const struct vrt_command vrt_command_profile = {
    .name = "profile",
    .operands = "MODEL",
    .summary = "time a model on a device",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
