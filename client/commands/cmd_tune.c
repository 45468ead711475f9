/* SPDX-License-Identifier: MIT */

/*
 * vrtctl tune: finds out what is fastest for a video, and has vrtd keep it for the next jobs.
 *
 * Each device is timed on frames of the video's size: first in each precision, then in the fastest
 * that is close enough to f32 in smaller and smaller tiles, then several frames at a time, as long
 * as that is faster. Clips stay as the network's authors have them: what shorter ones make of a
 * video is another result.
 */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/commands/models.h"
#include "client/commands/profile.h"
#include "client/commands/tune.h"
#include "client/conn.h"
#include "client/interrupt.h"
#include "client/terminal/format.h"
#include "client/terminal/progress.h"
#include "client/terminal/table.h"

#define TIMED_S 3.0
#define TIMED_FRAMES_MIN 5.0
#define TIMED_FRAMES_MAX 200.0

/* Smaller tiles, and larger batches, are kept on with while they are so much faster. */
#define WORTHWHILE 1.02

/* What most devices take: three precisions or two, two or three sizes of tiles, a batch, the best
 * again. */
#define DEVICE_STEPS 7

#define BAR_COLUMNS 16

/* Tiles of a network that sees clips have what its authors test with, at least. */
#define TEMPORAL_TILE_MIN 256

#define ROWS_MAX 256

static const int edges[] = { 512, 384, 256, 192, 128, 96 };

/* One way to do it on a device, and what it gave. */
struct row {
    char device[VRT_API_DEVICE_BYTES];
    int wanted_precision;                   /* enum vrt_precision */
    int64_t wanted_tile, wanted_batch;      /* VRT_UNKNOWN: none was asked for */
    struct vrt_profile_report report;       /* without what is allocated */
    double fps;                             /* by the median: others may use the machine, too */
    bool is_best;                           /* of its device */
};

struct search {
    struct vrt_tune tune;
    struct row rows[ROWS_MAX];
    size_t n_rows;
};

#define A struct vrt_args
static const struct vrt_option options[] = {
    { "model", 'm', VRT_OPTION_TEXT, offsetof(A, model), .argument = "MODEL",
      .help = "a name that vrtctl models lists, or a file (.pth, .safetensors, .onnx, .param)" },
    { "device", 'd', VRT_OPTION_TEXT, offsetof(A, device), .argument = "DEVICES",
      .help = "as for submit (default: auto)" },
    { "sigma", 0, VRT_OPTION_NUMBER, offsetof(A, settings.sigma), 0, VRT_API_SIGMA_MAX,
      .argument = "NOISE", .help = "0 to 50: for networks that must be told how much noise" },
    { .name = NULL },
};
#undef A

void vrt_tune_say(struct vrt_tune *tune, double part, const char *format, ...)
{
    VRT_CLEANUP(vrt_buf_done) struct vrt_buf bar = { 0 };
    char text[200], line[300], percent[20];
    int columns, rows;
    va_list args;

    if (!tune->screen.terminal || tune->cli->args.json)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    vrt_screen_size(&columns, &rows);
    const double done = tune->n_steps_done + part * VRT_TUNE_TRIAL_STEPS;
    /* What is being done is worth more than the bar. */
    const int room = VRT_MAX(columns - 1, 0) - BAR_COLUMNS - 8;
    const bool has_bar = room >= vrt_text_width(text) &&
        vrt_progress_print_bar(done / tune->n_steps, BAR_COLUMNS, tune->screen.utf8, &bar) == 0;
    vrt_format_percent(done, tune->n_steps, percent, sizeof(percent));
    snprintf(line, sizeof(line), "%s%s%4s  %.*s\n", has_bar ? bar.data : "", has_bar ? "  " : "",
             percent, VRT_MAX(columns - 7, 0), text);
    vrt_screen_draw(&tune->screen, line);
}

/* How many frames are timed: those of some seconds of the device; at first vrtd finds that out. */
static int64_t frames_to_time(const struct search *search, const char *device)
{
    for (size_t i = 0; i < search->n_rows; i++)
        if (strcmp(search->rows[i].device, device) == 0)
            return (int64_t)VRT_MIN(VRT_MAX(TIMED_S * search->rows[i].fps, TIMED_FRAMES_MIN),
                                    TIMED_FRAMES_MAX);
    return VRT_UNKNOWN;
}

/* In a job the next frames go up and the last ones come down while one is computed: what takes
 * longest of the three, as a share of their sum. */
static double slowest_share(const struct vrt_profile_report *p)
{
    const double sum = p->upload_s + p->compute_s + p->download_s;

    return sum > 0 ? VRT_MAX(VRT_MAX(p->upload_s, p->compute_s), p->download_s) / sum : 1;
}

/* Times one way. Return: 0, and there is a row; VRT_CONN_E_*; -errno. */
static int time_one(struct search *search, const struct row *wanted, bool keep,
                    struct vrt_error *error)
{
    struct vrt_tune *tune = &search->tune;
    struct row *row = &search->rows[search->n_rows];
    struct vrt_profile_request q;
    char tile[40] = "no tiles", batch[40] = "";
    json_t *json = NULL;

    if (search->n_rows == ROWS_MAX)
        return vrt_refuse(error, vrt_raise(-E2BIG), "client.rows", "there are too many devices");
    *row = *wanted;
    vrt_profile_request_init(&q);
    q.settings.precision = wanted->wanted_precision;
    q.settings.tile = wanted->wanted_tile;
    q.batch = wanted->wanted_batch;
    q.width = tune->plan.video.width;
    q.height = tune->plan.video.height;
    q.frames = frames_to_time(search, wanted->device);
    q.keep = keep;
    snprintf(q.device, sizeof(q.device), "%s", wanted->device);
    snprintf(q.model.name, sizeof(q.model.name), "%s", tune->plan.model.name);
    if (tune->model.fd >= 0)
        q.model.fd = 0;
    if (wanted->wanted_tile > 0)
        snprintf(tile, sizeof(tile), "tiles of %" PRId64, wanted->wanted_tile);
    if (wanted->wanted_batch > 1)
        snprintf(batch, sizeof(batch), ", %" PRId64 " frames at a time", wanted->wanted_batch);
    vrt_tune_say(tune, 0, "timing %s: %s, %s%s", wanted->device,
                 vrt_name_of(vrt_precision_names, wanted->wanted_precision), tile, batch);
    int r = vrt_profile_post(tune->cli, &q, &tune->model, &json, error);
    tune->n_steps_done = VRT_MIN(tune->n_steps_done + 1, tune->n_steps_due);
    if (r == 0 && vrt_profile_report_decode(json, &row->report, error) < 0)
        r = VRT_CONN_E_BROKEN;
    json_decref(json);
    if (r != 0)
        return r;
    vrt_fields_done(vrt_profile_fields, &row->report);
    row->fps = 1 / (row->report.frame_p50_s * slowest_share(&row->report));
    search->n_rows++;
    return 0;
}

/* Whether a device's refusal leaves the other ways to be tried. */
static bool is_of_one_way(int r, const struct vrt_error *error)
{
    return r == VRT_CONN_E_REFUSED &&
           (vrt_error_is(error, VRT_E(DEVICE_UNSUPPORTED)) ||
            vrt_error_is(error, VRT_E(DEVICE_MEMORY)) || vrt_error_is(error, VRT_E(REQUEST_FIELD)));
}

static bool is_faithful(const struct row *row)
{
    return row->report.precision == VRT_PRECISION_F32 ||
           row->report.fidelity_db >= VRT_FIDELITY_MIN_DB;
}

/* The fastest of the rows from `first` on that are close enough to f32. */
static size_t find_best(const struct search *search, size_t first)
{
    size_t best = first;

    for (size_t i = first; i < search->n_rows; i++)
        if (is_faithful(&search->rows[i]) &&
            (!is_faithful(&search->rows[best]) ||
             search->rows[i].fps > search->rows[best].fps))
            best = i;
    return best;
}

/* The precisions but for the one that auto became. */
static int try_precisions(struct search *search, size_t first, struct vrt_error *error)
{
    struct row wanted = search->rows[first];

    for (int p = VRT_PRECISION_F32; p < VRT_PRECISION_COUNT; p++) {
        struct vrt_error refusal = { 0 };
        if (p == search->rows[first].report.precision)
            continue;
        wanted.wanted_precision = p;
        int r = time_one(search, &wanted, false, &refusal);
        if (r != 0 && !is_of_one_way(r, &refusal))
            return vrt_refuse(error, r, refusal.id, "%s", refusal.message);
    }
    return 0;
}

/* Whether the last row is the same way as one before it, of its device: some sizes of tiles give
 * one grid, and of some devices all batches are one frame. */
static bool is_repeated(const struct search *search)
{
    const struct row *last = &search->rows[search->n_rows - 1];
    const struct vrt_profile_report *b = &last->report;

    for (const struct row *row = search->rows; row < last; row++) {
        const struct vrt_profile_report *a = &row->report;
        if (strcmp(row->device, last->device) == 0 && a->precision == b->precision &&
            a->tile_width == b->tile_width && a->tile_height == b->tile_height &&
            a->batch == b->batch)
            return true;
    }
    return false;
}

/* Times a way that may be faster than `*fps`, which it is then. Return: 0, *ret_goes_on says
 * whether one that goes farther may be faster still; as time_one(). */
static int try_way(struct search *search, const struct row *wanted, double *fps, bool *ret_goes_on,
                   struct vrt_error *error)
{
    struct vrt_error refusal = { 0 };
    int r = time_one(search, wanted, false, &refusal);

    *ret_goes_on = false;
    if (r != 0)
        return is_of_one_way(r, &refusal) ? 0 :
               vrt_refuse(error, r, refusal.id, "%s", refusal.message);
    if (is_repeated(search)) {
        search->n_rows--;
        *ret_goes_on = true;
    } else if (search->rows[search->n_rows - 1].fps >= *fps * WORTHWHILE) {
        *fps = search->rows[search->n_rows - 1].fps;
        *ret_goes_on = true;
    }
    return 0;
}

/* Smaller and smaller tiles than in row `best`. */
static int try_tiles(struct search *search, size_t best, struct vrt_error *error)
{
    const struct row base = search->rows[best];
    const bool is_temporal = base.report.batch == VRT_UNKNOWN;
    double fps = base.fps;
    bool goes_on = true;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(edges) && goes_on; i++) {
        struct row wanted = base;
        if (edges[i] >= VRT_MAX(base.report.tile_width, base.report.tile_height) ||
            (is_temporal && edges[i] < TEMPORAL_TILE_MIN))
            continue;
        wanted.wanted_precision = base.report.precision;
        wanted.wanted_tile = edges[i];
        int r = try_way(search, &wanted, &fps, &goes_on, error);
        if (r != 0)
            return r;
    }
    return 0;
}

/* Twice and twice as many frames at a time as in row `best`, or half and half as many, while that
 * is another way, and faster than `*fps`, which it is then. */
static int try_batches(struct search *search, size_t best, bool is_more, double *fps,
                       struct vrt_error *error)
{
    struct row wanted = search->rows[best];
    int64_t n = wanted.report.batch;
    bool goes_on = n > 0;

    wanted.wanted_precision = wanted.report.precision;
    while (goes_on) {
        const size_t n_rows = search->n_rows;
        n = is_more ? n * 2 : n / 2;
        if (n < 1 || n > VRT_API_BATCH_MAX)
            break;
        wanted.wanted_batch = n;
        int r = try_way(search, &wanted, fps, &goes_on, error);
        if (r != 0)
            return r;
        goes_on &= search->n_rows > n_rows;
    }
    return 0;
}

/* The best row of a device that is like the one of row `first`: what is kept holds for both.
 * NULL: there is none. */
static const struct row *find_twin(const struct search *search, size_t first)
{
    const struct row *row = &search->rows[first];
    const size_t n_kind = strcspn(row->device, ":") + 1;

    for (size_t i = 0; i < first; i++) {
        const struct row *other = &search->rows[i];
        if (other->is_best && strncmp(other->device, row->device, n_kind) == 0 &&
            strcmp(other->report.device_description, row->report.device_description) == 0)
            return other;
    }
    return NULL;
}

/* Times a device once in what was found to be the fastest on one like it. */
static int time_like(struct search *search, const struct row *twin, const char *device,
                     struct vrt_error *error)
{
    struct row *row = &search->rows[search->n_rows - 1];
    struct row wanted = { .wanted_precision = twin->report.precision,
                          .wanted_tile = twin->wanted_tile,
                          .wanted_batch = twin->wanted_batch };
    int r = 0;

    if (twin->wanted_tile != row->wanted_tile || twin->wanted_batch != row->wanted_batch ||
        twin->report.precision != row->report.precision) {
        snprintf(wanted.device, sizeof(wanted.device), "%s", device);
        r = time_one(search, &wanted, false, error);
        row = &search->rows[search->n_rows - 1];
    }
    if (r != 0)
        return r;
    row->is_best = true;
    search->tune.fps += row->fps;
    return 0;
}

/* Finds what is fastest on a device, and has it kept. */
static int tune_device(struct search *search, const char *device, struct vrt_error *error)
{
    const size_t first = search->n_rows;
    struct row wanted = { .wanted_precision = VRT_PRECISION_AUTO, .wanted_tile = VRT_UNKNOWN,
                          .wanted_batch = VRT_UNKNOWN };

    snprintf(wanted.device, sizeof(wanted.device), "%s", device);
    int r = time_one(search, &wanted, false, error);
    if (r != 0)
        return r;
    const struct row *twin = find_twin(search, first);
    if (twin)
        return time_like(search, twin, device, error);
    r = try_precisions(search, first, error);
    if (r != 0)
        return r;
    r = try_tiles(search, find_best(search, first), error);
    if (r != 0)
        return r;
    const size_t at = find_best(search, first);
    double fps = search->rows[at].fps;
    r = try_batches(search, at, true, &fps, error);
    if (r != 0)
        return r;
    if (fps == search->rows[at].fps)
        r = try_batches(search, at, false, &fps, error);
    if (r != 0)
        return r;
    struct row *best = &search->rows[find_best(search, first)];
    wanted.wanted_precision = best->report.precision;
    wanted.wanted_tile = best->wanted_tile;
    wanted.wanted_batch = best->wanted_batch;
    /* Once more, and this one is kept. Of both times the shorter one is less disturbed. */
    r = time_one(search, &wanted, true, error);
    if (r != 0)
        return r;
    search->n_rows--;
    best->fps = VRT_MAX(best->fps, search->rows[search->n_rows].fps);
    best->is_best = true;
    search->tune.fps += best->fps;
    return 0;
}

static int print_rows(const struct search *search)
{
    static const struct vrt_column columns[] = {
        { "DEVICE", VRT_ALIGN_LEFT },
        { "TYPE", VRT_ALIGN_LEFT },
        { "CLIP", VRT_ALIGN_RIGHT, .rank = 2 },
        { "TILE", VRT_ALIGN_RIGHT },
        { "BATCH", VRT_ALIGN_RIGHT, .rank = 2 },
        { "FRAMES/S", VRT_ALIGN_RIGHT },
        { "ALL FRAMES", VRT_ALIGN_RIGHT, .rank = 1 },
        { "DB FROM F32", VRT_ALIGN_RIGHT, .rank = 3 },
        { "", VRT_ALIGN_LEFT },
        { NULL, VRT_ALIGN_LEFT },
    };
    const int64_t n_frames = search->tune.plan.frames_total;
    struct vrt_table table;
    int r = 0;

    vrt_table_init(&table, columns);
    for (size_t i = 0; r == 0 && i < search->n_rows; i++) {
        const struct row *row = &search->rows[i];
        const struct vrt_profile_report *p = &row->report;
        char name[VRT_API_DEVICE_BYTES], clip[24], tile[48], batch[24], rate[32], all[32], db[32];
        snprintf(clip, sizeof(clip), "%" PRId64, p->clip_frames);
        snprintf(tile, sizeof(tile), "%" PRId64 "x%" PRId64, p->tile_width, p->tile_height);
        snprintf(batch, sizeof(batch), "%" PRId64, VRT_MAX(p->batch, 1));
        snprintf(db, sizeof(db), "%.1f", p->fidelity_db);
        const char *const cells[] = {
            vrt_printable(row->device, name, sizeof(name)),
            vrt_name_of(vrt_precision_names, p->precision),
            clip,
            p->tiles > 1 ? tile : "none",
            batch,
            vrt_format_rate(row->fps, rate, sizeof(rate)),
            n_frames < 0 ? "-" : vrt_format_duration((double)n_frames / row->fps, all, sizeof(all)),
            isnan(p->fidelity_db) ? "-" : db,
            row->is_best ? "fastest" : "",
        };
        r = vrt_table_add(&table, cells);
    }
    if (r == 0)
        r = vrt_screen_print_table(&table);
    vrt_table_done(&table);
    return vrt_fold(r);
}

/* What is kept already, whatever comes after it. */
static int print_kept(const struct search *search)
{
    const struct vrt_job_video *video = &search->tune.plan.video;
    bool is_any_kept = false;

    for (size_t i = 0; i < search->n_rows; i++)
        is_any_kept |= search->rows[i].is_best;
    if (!is_any_kept || search->tune.cli->args.json)
        return 0;
    int r = print_rows(search);
    printf("\nThe fastest is kept for jobs with this model on videos of %" PRId64 "x%" PRId64 ".\n",
           video->width, video->height);
    return vrt_fold(r);
}

static void print_estimate(const struct vrt_tune *tune)
{
    char video[64], part[64];

    if (isnan(tune->estimated_s))
        puts("How long this video takes can't be said: nobody knows its frames' number.");
    else
        printf("The whole video takes about %s, all included, as %s of it did.\n",
               vrt_format_duration(tune->estimated_s, video, sizeof(video)),
               vrt_format_count(tune->n_tried, "frame", part, sizeof(part)));
}

static int print_json(const struct search *search)
{
    const struct vrt_tune *tune = &search->tune;
    json_t *rows = json_array();
    int r = rows ? 0 : -1;

    for (size_t i = 0; r == 0 && i < search->n_rows; i++) {
        const struct row *row = &search->rows[i];
        const struct vrt_profile_report *p = &row->report;
        json_t *db = isnan(p->fidelity_db) ? json_null() : json_real(p->fidelity_db);
        r = json_array_append_new(rows, json_pack("{ss ss sI sI sI sI sI sf so sb}",
            "device", row->device, "precision", vrt_name_of(vrt_precision_names, p->precision),
            "clip_frames", (json_int_t)p->clip_frames, "tile_width", (json_int_t)p->tile_width,
            "tile_height", (json_int_t)p->tile_height, "tiles", (json_int_t)p->tiles,
            "batch", (json_int_t)p->batch,
            "fps", row->fps, "fidelity_db", db, "fastest", row->is_best));
    }
    json_t *all = json_pack("{so sI so}", "ways", rows, "frames_tried", (json_int_t)tune->n_tried,
                            "estimated_s", isnan(tune->estimated_s) ? json_null() :
                                                                      json_real(tune->estimated_s));
    if (r == 0 && all)
        r = vrt_cli_print_json(all) == VRT_EXIT_OK ? 0 : -1;
    json_decref(all);
    return r == 0 && all ? 0 : vrt_raise(-ENOMEM);
}

static int open_files(struct vrt_tune *tune, struct vrt_error *error)
{
    const char *model = tune->cli->args.model;
    int r = vrt_file_open_input(tune->path, &tune->input, error);

    if (r < 0 || !model || !vrt_file_is_model_path(model))
        return vrt_fold(r);
    return vrt_fold(vrt_file_open_model(model, &tune->model, error));
}

/* All of it. Return: 0; VRT_CONN_E_*; -errno. */
static int tune(struct search *search, struct vrt_error *error)
{
    struct vrt_tune *tune = &search->tune;
    int r = open_files(tune, error);

    if (r == 0)
        r = vrt_tune_plan(tune, error);
    vrt_cli_warn(tune->cli, NULL, tune->plan.warnings, tune->plan.n_warnings);
    tune->n_steps = (int)tune->plan.n_devices * DEVICE_STEPS + VRT_TUNE_TRIAL_STEPS;
    for (size_t i = 0; r == 0 && i < tune->plan.n_devices; i++) {
        tune->n_steps_due = (int)(i + 1) * DEVICE_STEPS;
        r = tune_device(search, tune->plan.devices[i].name, error);
        tune->n_steps_done = tune->n_steps_due;
    }
    if (r == 0)
        r = vrt_tune_try(tune, error);
    vrt_screen_clear(&tune->screen);
    const int printed = print_kept(search);
    if (r != 0)
        return r;
    r = printed;
    if (tune->cli->args.json)
        r = print_json(search);
    else
        print_estimate(tune);
    return r < 0 ? vrt_refuse_errno(error, r, "printing what was found") : 0;
}

static int run(struct vrt_cli *cli)
{
    VRT_CLEANUP(vrt_freep) struct search *search = calloc(1, sizeof(*search));
    struct vrt_error error = { 0 };
    struct vrt_interrupt interrupt;

    if (!search)
        return VRT_EXIT_FAILED;
    search->tune.cli = cli;
    search->tune.path = cli->args.operands[0];
    search->tune.interrupted = &vrt_interrupted;
    search->tune.input = search->tune.model = VRT_FILE_NONE;
    vrt_plan_report_init(&search->tune.plan);
    vrt_screen_init(&search->tune.screen);
    vrt_interrupt_start(&interrupt, cli->conn);
    int r = tune(search, &error);
    vrt_interrupt_stop(&interrupt);
    vrt_file_close(&search->tune.input);
    vrt_file_close(&search->tune.model);
    vrt_fields_done(vrt_plan_fields, &search->tune.plan);
    vrt_model_say_pull(cli, cli->args.model, &error);
    if (r == VRT_CONN_E_INTERRUPTED)
        return VRT_EXIT_INTERRUPTED;
    return r != 0 ? vrt_cli_fail(cli, NULL, r, &error) : VRT_EXIT_OK;
}

const struct vrt_command vrt_command_tune = {
    .name = "tune",
    .operands = "FILE",
    .summary = "find out what is fastest for a video",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
