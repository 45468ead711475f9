/* SPDX-License-Identifier: MIT */
/* vrtctl show: everything about jobs. */

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/cli.h"
#include "client/cluster/cluster.h"
#include "client/commands/plan.h"
#include "client/show/history.h"
#include "client/conn.h"
#include "client/terminal/format.h"
#include "client/terminal/progress.h"

/* Printable copies and numbers of one line each. */
struct text {
    char data[VRT_API_TEXT_BYTES];
};

#define PRINTABLE(text, buffer) vrt_printable((text), (buffer).data, sizeof((buffer).data))

struct path {
    char data[VRT_API_PATH_BYTES];
};

/* Where the file is, or else what it is called; "-" where nobody but its owner may know. */
static const char *path_or_name(const char *path, const char *name, struct path *buffer)
{
    const char *text = path[0] ? path : name[0] ? name : "-";

    return vrt_printable(text, buffer->data, sizeof(buffer->data));
}

static void show_files(const struct vrt_job_info *job)
{
    const struct vrt_job_video *v = &job->video;
    struct text codec, format, number[2];
    struct path path;

    printf("  Input      %s", path_or_name(job->input_path, job->input_name, &path));
    if (job->has_video)
        printf("\n             %" PRId64 "x%" PRId64 ", %s fps, %s, %s%s%s", v->width, v->height,
               vrt_format_rate(v->fps, number[0].data, sizeof(number[0].data)),
               vrt_format_part(v->start_s, v->duration_s, number[1].data,
                               sizeof(number[1].data)),
               PRINTABLE(v->codec, codec), v->pixel_format[0] ? " " : "",
               PRINTABLE(v->pixel_format, format));
    printf("\n  Output     %s", path_or_name(job->output_path, job->output_name, &path));
    if (job->has_video && v->output_width > 0)
        printf("\n             %" PRId64 "x%" PRId64, v->output_width, v->output_height);
    putchar('\n');
}

static void show_model(const struct vrt_job_info *job)
{
    struct text architecture, checksum;
    struct path path;

    printf("  Model      %s", path_or_name(job->model_path, job->model.name, &path));
    if (job->model.scale > 0)
        printf("\n             %s x%" PRId64, PRINTABLE(job->model.architecture, architecture),
               job->model.scale);
    if (job->model.scale > 0 && job->model.checksum[0])
        printf(", checksum %s", PRINTABLE(job->model.checksum, checksum));
    putchar('\n');
}

/* How near the result is to what it was to be. */
static void show_comparison(const struct vrt_job_info *job)
{
    const struct vrt_compare_report *c = &job->comparison;
    struct text rgb, y, worst;
    struct path path;

    if (!job->reference_name[0] && !job->has_comparison)
        return;
    printf("  Reference  %s\n", path_or_name(job->reference_path, job->reference_name, &path));
    if (job->has_comparison)
        printf("             PSNR RGB %s, Y %s; SSIM RGB %.4f, Y %.4f\n"
               "             worst at %.3f s: Y %s; %" PRId64 " of %" PRId64 " frames equal\n",
               vrt_format_psnr(c->psnr_rgb, rgb.data, sizeof(rgb.data)),
               vrt_format_psnr(c->psnr_y, y.data, sizeof(y.data)), c->ssim_rgb, c->ssim_y,
               c->worst_s, vrt_format_psnr(c->worst_psnr_y, worst.data, sizeof(worst.data)),
               c->frames_equal, c->frames_total);
}

static void show_times(const struct vrt_job_info *job)
{
    const struct {
        const char *label;
        int64_t wall_ns;
    } times[] = {
        { "Created", job->created_at },
        { "Started", job->started_at },
        { "Finished", job->finished_at },
    };
    struct text time;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(times); i++)
        if (times[i].wall_ns)
            printf("  %-9s  %s\n", times[i].label,
                   vrt_format_time(times[i].wall_ns, time.data, sizeof(time.data)));
}

static void show_progress(const struct vrt_job_info *job)
{
    struct text percent, rate, left, elapsed;

    printf("  Progress   %" PRId64, job->frames_done);
    if (job->frames_total >= 0)
        printf(" of %s%" PRId64, job->frames_estimated ? "about " : "", job->frames_total);
    printf(" frames (%s), %s fps, %s elapsed",
           vrt_progress_percent(job, percent.data, sizeof(percent.data)),
           vrt_format_rate(job->fps, rate.data, sizeof(rate.data)),
           vrt_format_duration(job->elapsed_s, elapsed.data, sizeof(elapsed.data)));
    if (job->state == VRT_JOB_RUNNING && !job->cancelling)
        printf(", %s left", vrt_format_duration(job->left_s, left.data, sizeof(left.data)));
    putchar('\n');
    if (job->frames_repeated > 0)
        printf("  Repeated   %s like the one before, not computed\n",
               vrt_format_count(job->frames_repeated, "frame", rate.data, sizeof(rate.data)));
    if (job->segments_done > 0 || job->n_starts > 1)
        printf("  Stored     %" PRId64 " %s of the result; begun %" PRId64 " %s\n",
               job->segments_done, job->segments_done == 1 ? "segment" : "segments",
               job->n_starts, job->n_starts == 1 ? "time" : "times");
}

static void show_stages(const struct vrt_job_info *job)
{
    const struct {
        const char *name;
        double share;
    } stages[] = {
        { "decode", job->stages.decode },
        { "upload", job->stages.upload },
        { "compute", job->stages.compute },
        { "download", job->stages.download },
        { "encode", job->stages.encode },
    };
    struct text name;
    bool any = false;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(stages); i++) {
        if (isnan(stages[i].share))
            continue;
        printf("%s%s %.0f%%", any ? ", " : "  Stages     ", stages[i].name,
               100 * stages[i].share);
        any = true;
    }
    if (any)
        putchar('\n');
    if (job->bottleneck[0])
        printf("  Bottleneck %s\n", PRINTABLE(job->bottleneck, name));
}

static void show_devices(const struct vrt_job_info *job)
{
    struct text name, frames, shards, rate, replica, workspace, peak;

    for (size_t i = 0; i < job->n_devices; i++) {
        const struct vrt_job_device *d = &job->devices[i];
        printf("  %-9s  %s: %s, %s, %" PRId64 " under way, %s fps\n"
               "             model %s, workspace %s, peak %s\n",
               i == 0 ? "Devices" : "", PRINTABLE(d->name, name),
               vrt_format_count(d->frames_done, "frame", frames.data, sizeof(frames.data)),
               vrt_format_count(d->shards_done, "shard", shards.data, sizeof(shards.data)),
               d->shards_running, vrt_format_rate(d->fps, rate.data, sizeof(rate.data)),
               vrt_format_bytes(d->replica_bytes, replica.data, sizeof(replica.data)),
               vrt_format_bytes(d->workspace_bytes, workspace.data, sizeof(workspace.data)),
               vrt_format_bytes(d->peak_bytes, peak.data, sizeof(peak.data)));
    }
}

static void show_recipe(const struct vrt_job_info *job)
{
    const struct vrt_job_recipe *recipe = &job->recipe;
    bool tiled = recipe->tile_width < job->video.width || recipe->tile_height < job->video.height;
    struct text frames, options;

    if (!job->has_recipe)
        return;
    printf("  Recipe     clips of %s",
           vrt_format_count(recipe->clip_frames, "frame", frames.data, sizeof(frames.data)));
    if (recipe->clip_overlap > 0)
        printf(" sharing %" PRId64, recipe->clip_overlap);
    printf(", ");
    if (tiled)
        printf("tiles of %" PRId64 "x%" PRId64 " overlapping by %" PRId64, recipe->tile_width,
               recipe->tile_height, recipe->overlap);
    else
        printf("not tiled");
    if (recipe->tiling == VRT_TILING_OFFICIAL)
        printf(", official");
    if (recipe->scene_cuts > 0)
        printf(", scene cuts from %g", recipe->scene_cuts);
    if (recipe->deinterlace != VRT_DEINTERLACE_OFF)
        printf(", deinterlaced by %s", vrt_name_of(vrt_deinterlace_names, recipe->deinterlace));
    if (recipe->times > 1)
        printf(", %s times the frames", vrt_format_ratio(recipe->times, recipe->times_every,
                                                         frames.data, sizeof(frames.data)));
    if (recipe->tonemap != VRT_TONEMAP_OFF)
        printf(", HDR to SDR by %s", vrt_name_of(vrt_tonemap_names, recipe->tonemap));
    if (recipe->strength < 1)
        printf(", strength %g", recipe->strength);
    if (recipe->denoise >= 0)
        printf(", denoise %g", recipe->denoise);
    if (recipe->sigma >= 0)
        printf(", sigma %g", recipe->sigma);
    printf(", %s\n             ", vrt_name_of(vrt_precision_names, recipe->precision));
    vrt_plan_print_encoding(recipe);
    if (recipe->hwdec > VRT_HWDEC_OFF)
        printf(", decoded by %s", vrt_name_of(vrt_hwdec_names, recipe->hwdec));
    printf(", %" PRId64 " encoder threads%s\n", recipe->encoder_threads,
           job->reproducible ? "; reproducible" : "");
    if (recipe->streams[0])
        printf("  Streams    %s\n", PRINTABLE(recipe->streams, options));
}

/* What a user can do about a job of his own that doesn't go on by itself: others' have no names. */
static void show_next(const struct vrt_job_info *job)
{
    const struct {
        int state;
        const char *verb, *what;
    } cures[] = {
        { VRT_JOB_PAUSED, "resume", "lets it go on" },
        { VRT_JOB_NEEDS_INPUT, "resume", "gives its files again" },
        { VRT_JOB_DISK_FULL, "resume", "tries at once whether there is room" },
        { VRT_JOB_FAILED, "retry", job->segments_done > 0 ? "tries again, from what is stored" :
                                                            "tries again" },
        { VRT_JOB_CANCELLED, "retry", "begins it anew" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cures); i++)
        if (cures[i].state == job->state && job->input_name[0] && !job->input_piped)
            printf("  Next       vrtctl %s %" PRId64 " %s\n", cures[i].verb, job->id,
                   cures[i].what);
}

static void show_job(const struct vrt_job_info *job)
{
    struct text sentence;

    printf("Job %" PRId64 ": %s\n", job->id, vrt_progress_state_name(job));
    if (job->has_error)
        printf("  Error      %s\n", PRINTABLE(job->error.message, sentence));
    show_next(job);
    show_files(job);
    show_model(job);
    show_comparison(job);
    printf("  Requested  device %s, priority %" PRId64, PRINTABLE(job->device, sentence),
           job->priority);
    if (job->owner[0])
        printf(", by %s", PRINTABLE(job->owner, sentence));
    putchar('\n');
    show_progress(job);
    show_stages(job);
    show_devices(job);
    show_recipe(job);
    show_times(job);
    for (size_t i = 0; i < job->n_warnings; i++)
        printf("  %-9s  %s\n", i == 0 ? "Warnings" : "", PRINTABLE(job->warnings[i], sentence));
}

/* Return: enum vrt_exit; everything was said. */
static int show(struct vrt_cli *cli, long long id)
{
    struct vrt_job_info job;
    struct vrt_error error = { 0 };
    json_t *json = NULL;
    int exit = VRT_EXIT_OK;

    int r = vrt_conn_get_job(cli->conn, id, &job, &json, &error);
    if (r != 0)
        return vrt_cli_fail(cli, NULL, r, &error);
    if (cli->args.json)
        exit = vrt_cli_print_json(json);
    else
        show_job(&job);
    vrt_job_info_done(&job);
    json_decref(json);
    return exit;
}

static int run(struct vrt_cli *cli)
{
    int exit;

    if (!vrt_cluster_take(cli, "show", &exit))
        return exit;
    for (int i = 0; i < cli->args.n_operands && exit != VRT_EXIT_UNREACHABLE; i++) {
        long long id = vrt_cli_job_id(cli, i);
        if (!id)
            return VRT_EXIT_USAGE;
        int one = cli->args.history ? vrt_history_show(cli, id) : show(cli, id);
        exit = one != VRT_EXIT_OK ? one : exit;
    }
    return exit;
}

#define A struct vrt_args
static const struct vrt_option show_options[] = {
    { "history", 0, VRT_OPTION_FLAG, offsetof(A, history),
      .help = "plots of frames a second and memory over the life of jobs" },
    { .name = NULL },
};
#undef A

const struct vrt_command vrt_command_show = {
    .name = "show",
    .operands = "ID|FILM...",
    .summary = "show everything about jobs",
    .options = show_options,
    .min_operands = 1,
    .max_operands = 10000,
    .run = run,
};
