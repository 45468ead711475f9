/* SPDX-License-Identifier: MIT */
/* vrtctl profile: how fast a device runs a model, and what its time goes into. */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/cli.h"
#include "client/conn.h"
#include "client/commands/models.h"
#include "client/commands/profile.h"
#include "client/files.h"
#include "client/terminal/format.h"
#include "client/terminal/screen.h"
#include "client/terminal/table.h"
#include "msg_device.h"
#include "msg_plan.h"

#define A struct vrt_args
static const struct vrt_option options[] = {
    { "device", 'd', VRT_OPTION_TEXT, offsetof(A, device), .argument = "DEVICE",
      .help = "cpu:0, cuda, ...; all, or several: compare them (default: as configured, auto)" },
    { "size", 0, VRT_OPTION_TEXT, offsetof(A, size), .argument = "WxH",
      .help = "of the frames, in pixels (default: 640x360)" },
    { "precision", 0, VRT_OPTION_WORD, offsetof(A, settings.precision),
      .names = vrt_precision_names, .argument = "TYPE",
      .help = "auto, f32, f16 or bf16 (default: as configured, auto)" },
    { "tile", 0, VRT_OPTION_INT, offsetof(A, settings.tile), 0, VRT_API_TILE_MAX,
      .argument = "PIXELS", .help = "edge of a tile (default: as large as memory allows)" },
    { "overlap", 0, VRT_OPTION_INT, offsetof(A, settings.overlap), 0, VRT_API_OVERLAP_MAX,
      .argument = "PIXELS", .help = "overlap of tiles (default: by the network)" },
    { "batch", 0, VRT_OPTION_INT, offsetof(A, batch), 1, VRT_API_BATCH_MAX, .argument = "N",
      .help = "frames at a time (default: as suits the device)" },
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
    if (VRT_MIN(width, height) < VRT_API_PROFILE_SIDE_MIN ||
        VRT_MAX(width, height) > VRT_API_PROFILE_SIDE_MAX || *end)
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
    q->batch = args->batch;
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

int vrt_profile_post(struct vrt_cli *cli, const struct vrt_profile_request *q,
                     const struct vrt_file *model, json_t **ret_json, struct vrt_error *error)
{
    const struct vrt_request request = {
        .path = "/v1/profile",
        .fds = &model->fd,
        .n_fds = model->fd >= 0 ? 1 : 0,
        .takes_long = true,
    };

    return vrt_fold(vrt_conn_post(cli->conn, &request, vrt_profile_request_fields, q, ret_json,
                                  error));
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

    printf("  Time       %s a frame: p50 %s, p95 %s, p99 %s\n",
           format_seconds(p->frame_mean_s, text[0], sizeof(text[0])),
           format_seconds(p->frame_p50_s, text[1], sizeof(text[1])),
           format_seconds(p->frame_p95_s, text[2], sizeof(text[2])),
           format_seconds(p->frame_p99_s, text[3], sizeof(text[3])));
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

    if (p->n_ops > 0)
        puts("Each op of one more frame, waited for by itself: their sum is not the time above");
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
        vrt_cli_warn(cli, NULL, report.warnings, report.n_warnings);
    vrt_fields_done(vrt_profile_fields, &report);
    return r < 0 ? vrt_refuse_errno(error, r, "printing the profile") : 0;
}

/* What a comparison keeps of each device. */
struct compared {
    char device[VRT_API_DEVICE_BYTES];
    int precision;
    double mean_s, p50_s, p99_s, fps;
};

/* Whether the list has a word of these n characters. */
static bool is_listed(const char *list, const char *word, size_t n)
{
    for (const char *next = list; *next; next += strcspn(next, ",")) {
        next += strspn(next, ", ");
        if (strcspn(next, ", ") == n && strncmp(next, word, n) == 0)
            return true;
    }
    return false;
}

/* Whether `wanted`, "all" or a list such as "cuda:0,xpu", has the device among others. */
static bool is_wanted(const char *wanted, const char *device)
{
    return strcmp(wanted, "all") == 0 || is_listed(wanted, device, strlen(device)) ||
           is_listed(wanted, device, strcspn(device, ":"));
}

/* Whether it can be timed, now or once it is open; that it can't is complained of, but not where it
 * is `wanted` by its name, which check_names() refuses. */
static bool is_usable(struct vrt_cli *cli, const char *wanted,
                      const struct vrt_device_report *device)
{
    struct vrt_error error = { 0 };

    if (device->state == VRT_DEVICE_STARTING || device->state == VRT_DEVICE_READY ||
        device->state == VRT_DEVICE_BUSY)
        return true;
    vrt_refuse(&error, VRT_CONN_E_REFUSED, VRT_CONN_REFUSED_ID, "is left out: it is %s",
               vrt_name_of(vrt_device_state_names, device->state));
    if (!is_listed(wanted, device->name, strlen(device->name)))
        vrt_cli_complain(cli, device->name, &error);
    return false;
}

/* The names of the devices among `wanted` that can be timed. */
static int list_devices(struct vrt_cli *cli, const char *wanted, struct compared **ret_devices,
                        size_t *ret_n, struct vrt_error *error)
{
    struct vrt_device_report device;
    json_t *json = NULL;
    size_t n = 0;

    int r = vrt_conn_get(cli->conn, &json, error, "/v1/devices");
    const json_t *list = json_object_get(json, "devices");
    struct compared *devices = calloc(json_array_size(list) + 1, sizeof(*devices));
    if (r == 0 && !devices)
        r = vrt_refuse_errno(error, vrt_raise(-ENOMEM), "listing the devices");
    for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
        vrt_device_report_init(&device);
        if (vrt_fields_decode(vrt_device_fields, json_array_get(list, i), VRT_FIELDS_LENIENT,
                              &device, error) < 0)
            r = VRT_CONN_E_BROKEN;
        else if (is_wanted(wanted, device.name) && is_usable(cli, wanted, &device))
            snprintf(devices[n++].device, sizeof(devices->device), "%s", device.name);
    }
    json_decref(json);
    *ret_devices = devices;
    *ret_n = n;
    return r;
}

/* Each name of the list must be of something. */
static int check_names(const char *wanted, const struct compared *devices, size_t n,
                       struct vrt_error *error)
{
    char name[VRT_API_TEXT_BYTES], printable[80];

    if (strcmp(wanted, "all") == 0)
        return 0;
    for (const char *p = wanted; *p; p += strcspn(p, ",")) {
        size_t i = 0;
        p += strspn(p, ", ");
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(p, ", "), p);
        while (i < n && !is_wanted(name, devices[i].device))
            i++;
        if (i == n && name[0])
            return vrt_refuse(error, VRT_CONN_E_REFUSED, VRT_CONN_REFUSED_ID,
                              "there is no device %s that is ready: vrtctl devices lists them",
                              vrt_printable(name, printable, sizeof(printable)));
    }
    return 0;
}

static int print_comparison(const struct compared *devices, size_t n)
{
    static const struct vrt_column compared_columns[] = {
        { "DEVICE", VRT_ALIGN_LEFT },
        { "TYPE", VRT_ALIGN_LEFT, .rank = 3 },
        { "MEAN", VRT_ALIGN_RIGHT },
        { "P50", VRT_ALIGN_RIGHT, .rank = 1 },
        { "P99", VRT_ALIGN_RIGHT, .rank = 2 },
        { "FRAMES/S", VRT_ALIGN_RIGHT },
        { "TIMES THE CPU", VRT_ALIGN_RIGHT },
        { NULL, VRT_ALIGN_LEFT },
    };
    const struct compared *cpu = NULL;
    struct vrt_table table;
    char name[VRT_API_DEVICE_BYTES], text[5][32];
    int r = 0;

    for (size_t i = 0; i < n && !cpu; i++)
        cpu = strncmp(devices[i].device, "cpu:", 4) == 0 ? &devices[i] : NULL;
    vrt_table_init(&table, compared_columns);
    for (size_t i = 0; r == 0 && i < n; i++) {
        const struct compared *d = &devices[i];
        const char *const row[] = {
            vrt_printable(d->device, name, sizeof(name)),
            vrt_name_of(vrt_precision_names, d->precision),
            format_seconds(d->mean_s, text[0], sizeof(text[0])),
            format_seconds(d->p50_s, text[1], sizeof(text[1])),
            format_seconds(d->p99_s, text[2], sizeof(text[2])),
            vrt_format_rate(d->fps, text[3], sizeof(text[3])),
            vrt_format_rate(cpu ? d->fps / cpu->fps : NAN, text[4], sizeof(text[4])),
        };
        r = vrt_table_add(&table, row);
    }
    if (r == 0)
        r = vrt_screen_print_table(&table);
    vrt_table_done(&table);
    return vrt_fold(r);
}

/* Times one device. Return: 0; VRT_CONN_E_*; -errno. */
static int compare_one(struct vrt_cli *cli, struct vrt_profile_request *q,
                       const struct vrt_file *model, struct compared *device,
                       struct vrt_error *error)
{
    struct vrt_profile_report report;
    json_t *json = NULL;

    snprintf(q->device, sizeof(q->device), "%s", device->device);
    int r = vrt_profile_post(cli, q, model, &json, error);
    if (r == 0 && vrt_profile_report_decode(json, &report, error) < 0)
        r = VRT_CONN_E_BROKEN;
    if (r == 0) {
        device->precision = report.precision;
        device->mean_s = report.frame_mean_s;
        device->p50_s = report.frame_p50_s;
        device->p99_s = report.frame_p99_s;
        device->fps = report.fps;
        if (cli->args.json)
            vrt_cli_print_json(json);
        vrt_fields_done(vrt_profile_fields, &report);
    }
    json_decref(json);
    return r;
}

/* Each device by itself. One that can't do it is complained of, and left out. */
static int compare(struct vrt_cli *cli, struct vrt_profile_request *q,
                   const struct vrt_file *model, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_freep) struct compared *devices = NULL;
    size_t n = 0, n_timed = 0;

    char wanted[sizeof(q->device)];

    snprintf(wanted, sizeof(wanted), "%s", q->device);
    int r = list_devices(cli, wanted, &devices, &n, error);
    if (r == 0)
        r = check_names(wanted, devices, n, error);
    for (size_t i = 0; r == 0 && i < n; i++) {
        struct vrt_error refusal = { 0 };
        struct compared device = devices[i];
        int one = compare_one(cli, q, model, &device, &refusal);
        /* Where there is no such model, there is none for the others either. */
        bool has_no_model = vrt_error_is(&refusal, VRT_E(MODEL_NOT_FOUND));
        if (one == 0)
            devices[n_timed++] = device;
        else if (one == VRT_CONN_E_REFUSED && !has_no_model)
            vrt_cli_complain(cli, device.device, &refusal);
        else
            r = vrt_refuse(error, one, refusal.id, "%s", refusal.message);
    }
    if (r == 0 && n_timed == 0)
        return vrt_refuse(error, VRT_CONN_E_REFUSED, VRT_CONN_REFUSED_ID,
                          "no device could be timed");
    if (r == 0 && !cli->args.json)
        r = print_comparison(devices, n_timed);
    return r < 0 ? vrt_refuse_errno(error, r, "comparing devices") : r;
}

static int profile(struct vrt_cli *cli, const struct vrt_profile_request *q,
                   const struct vrt_file *model, struct vrt_error *error)
{
    json_t *json = NULL;

    int r = vrt_profile_post(cli, q, model, &json, error);
    if (r == 0)
        r = print_report(cli, json, error);
    json_decref(json);
    return r;
}

static int run(struct vrt_cli *cli)
{
    struct vrt_file model = VRT_FILE_NONE;
    struct vrt_profile_request q;
    struct vrt_error error = { 0 };

    int r = make_request(&cli->args, &q, &error);
    if (r < 0) {
        vrt_cli_complain(cli, NULL, &error);
        return VRT_EXIT_USAGE;
    }
    if (q.model.fd >= 0)
        r = vrt_file_open_model(cli->args.operands[0], &model, &error);
    if (r == 0)
        r = strcmp(q.device, "all") == 0 || strchr(q.device, ',') ?
            compare(cli, &q, &model, &error) : profile(cli, &q, &model, &error);
    vrt_file_close(&model);
    vrt_model_say_pull(cli, q.model.name, &error);
    return r != 0 ? vrt_cli_fail(cli, NULL, r, &error) : VRT_EXIT_OK;
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
