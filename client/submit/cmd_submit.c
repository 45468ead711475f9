/* SPDX-License-Identifier: MIT */
/*
 * vrtctl submit: opens the files, hands them over, and follows the jobs if asked to.
 *
 * Each FILE is a request by itself. One that is refused doesn't hold up the others, but a daemon
 * that cannot be reached, or takes no more jobs, ends it all. Our descriptors are closed once the
 * request is answered: the daemon has its own copies. One that was restarted without them is given
 * them again, as long as we follow the job.
 */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "client/cli.h"
#include "client/cluster/cluster.h"
#include "client/cluster/film.h"
#include "client/conn.h"
#include "client/commands/jobs.h"
#include "client/commands/models.h"
#include "client/terminal/format.h"
#include "client/commands/plan.h"
#include "client/submit/submit.h"
#include "client/submit/texts.h"

#define A struct vrt_args
static const struct vrt_option options[] = {
    { "model", 'm', VRT_OPTION_TEXT, offsetof(A, model), .argument = "MODEL",
      .help = "a name that vrtctl models lists, or a file (.pth, .safetensors, .onnx, .param)" },
    { "output", 'o', VRT_OPTION_TEXT, offsetof(A, output), .argument = "FILE",
      .help = "the result, a folder/ for it, or - (default: beside the input, NAME.restored.mp4)" },
    { "recursive", 'r', VRT_OPTION_FLAG, offsetof(A, recursive),
      .help = "all videos in a folder, and below it" },
    { "match", 0, VRT_OPTION_TEXT, offsetof(A, match), .argument = "PATTERN",
      .help = "of a folder those that are called so, such as '*.mkv' (default: all videos)" },
    { "output-dir", 0, VRT_OPTION_TEXT, offsetof(A, output_dir), .argument = "DIR",
      .help = "a folder for their results, in which they are in the same folders" },
    { "skip-done", 0, VRT_OPTION_FLAG, offsetof(A, skip_done),
      .help = "not those that have a result or a job already" },
    { "settled", 0, VRT_OPTION_INT, offsetof(A, settled_s), 0, 86400, .argument = "SECONDS",
      .help = "not those that changed within so long, such as by being copied" },
    { "device", 'd', VRT_OPTION_TEXT, offsetof(A, device), .argument = "DEVICES",
      .help = "auto, all, cuda, xpu, cpu, xpu:0,xpu:1, ... (default: as configured, auto)" },
    { "precision", 0, VRT_OPTION_WORD, offsetof(A, settings.precision),
      .names = vrt_precision_names, .argument = "TYPE",
      .help = "auto, f32, f16 or bf16 (default: as configured, auto)" },
    { "tile", 0, VRT_OPTION_INT, offsetof(A, settings.tile), 0, VRT_API_TILE_MAX,
      .argument = "PIXELS",
      .help = "edge of a tile; 0: the whole frame (default: as large as memory allows)" },
    { "overlap", 0, VRT_OPTION_INT, offsetof(A, settings.overlap), 0, VRT_API_OVERLAP_MAX,
      .argument = "PIXELS", .help = "overlap of tiles (default: by the network)" },
    { "clip", 0, VRT_OPTION_INT, offsetof(A, settings.clip), 0, VRT_API_CLIP_MAX,
      .argument = "FRAMES",
      .help = "length of a clip; 0: the whole video (default: by the network, as memory allows)" },
    { "clip-overlap", 0, VRT_OPTION_INT, offsetof(A, settings.clip_overlap), 0,
      VRT_API_CLIP_MAX / 2, .argument = "FRAMES",
      .help = "frames that clips share (default: by the network)" },
    { "tiling", 0, VRT_OPTION_WORD, offsetof(A, settings.tiling), .names = vrt_tiling_names,
      .argument = "RULE", .help = "blend, or official: as VRT's authors do (default: blend)" },
    { "scene-cuts", 0, VRT_OPTION_TEXT, offsetof(A, scene_cuts), .argument = "HOW",
      .help = "off, on, or a threshold up to 1: scenes end clips" },
    { "sigma", 0, VRT_OPTION_NUMBER, offsetof(A, settings.sigma), 0, VRT_API_SIGMA_MAX,
      .argument = "NOISE", .help = "0 to 50: for networks that must be told how much noise" },
    { "strength", 0, VRT_OPTION_NUMBER, offsetof(A, settings.strength), 0, 1, .argument = "SHARE",
      .help = "of the network's result, 0 to 1; the rest is the input, enlarged plainly (1)" },
    { "denoise", 0, VRT_OPTION_NUMBER, offsetof(A, settings.denoise), 0, 1, .argument = "SHARE",
      .help = "realesr-general-x4v3: how much noise goes, 0 to 1 (1)" },
    { "scale", 0, VRT_OPTION_TEXT, offsetof(A, scale), .argument = "SIZE",
      .help = "of the result: 1.5 (times the input), 1080p, 1920x1080 (default: by the network)" },
    { "codec", 0, VRT_OPTION_WORD, offsetof(A, settings.codec), .names = vrt_codec_names,
      .argument = "CODEC",
      .help = "h264, hevc, ffv1, av1, vp9, prores, dnxhr, mjpeg or auto (default: as configured)" },
    { "quality", 0, VRT_OPTION_INT, offsetof(A, settings.quality), 0, VRT_QUALITY_MAX,
      .argument = "CRF",
      .help = "0 (best) to 51, or 63 (default: as configured, or by the codec)" },
    { "preset", 0, VRT_OPTION_TEXT, offsetof(A, preset), .names = vrt_preset_names,
      .argument = "PRESET", .help = "ultrafast to veryslow (default: as configured)" },
    { "bitrate", 0, VRT_OPTION_AMOUNT, offsetof(A, settings.bitrate), VRT_BITRATE_MIN,
      VRT_BITRATE_MAX, .argument = "RATE",
      .help = "bits a second, such as 8M, instead of a quality" },
    { "target-size", 0, VRT_OPTION_AMOUNT, offsetof(A, settings.target_size_bytes),
      VRT_API_TARGET_SIZE_MIN, VRT_API_TARGET_SIZE_MAX, .argument = "SIZE",
      .help = "how large the result is to become, such as 700M bytes, instead of a quality" },
    { "pix-fmt", 0, VRT_OPTION_TEXT, offsetof(A, pixel_format), .argument = "FORMAT",
      .help = "how pictures are stored, such as yuv420p10le (default: by the input)" },
    { "enc", 0, VRT_OPTION_APPEND, offsetof(A, settings.encoder_options), 0,
      VRT_SETTING_OPTIONS_BYTES, .argument = "KEY=VALUE",
      .help = "an option of FFmpeg's encoder; may be given again" },
    { "streams", 0, VRT_OPTION_TEXT, offsetof(A, streams), .argument = "SPEC,SPEC...",
      .help = "what goes on, in FFmpeg's words, such as v:0,a,-s (default: all)" },
    { "hwaccel", 0, VRT_OPTION_WORD, offsetof(A, settings.hwaccel), .names = vrt_hwaccel_names,
      .argument = "HOW", .help = "hardware: auto, nvenc, qsv, vaapi, videotoolbox, or off" },
    { "hwdec", 0, VRT_OPTION_WORD, offsetof(A, settings.hwdec), .names = vrt_hwdec_names,
      .argument = "HOW", .help = "only what decodes: auto, nvdec, vaapi, videotoolbox, off" },
    { "start", 0, VRT_OPTION_TIME, offsetof(A, settings.start_s), 0, VRT_API_TIME_MAX_S,
      .argument = "TIME", .help = "restore from here on: seconds, or 1:30 (default: all)" },
    { "duration", 0, VRT_OPTION_TIME, offsetof(A, settings.duration_s), 0, VRT_API_TIME_MAX_S,
      .argument = "TIME", .help = "restore so much, to judge a model (default: to the end)" },
    { "end", 0, VRT_OPTION_TIME, offsetof(A, time_s), 0, VRT_API_TIME_MAX_S,
      .argument = "TIME", .help = "restore as far as there, instead of a duration" },
    { "fps", 0, VRT_OPTION_NUMBER, offsetof(A, settings.fps), 0, VRT_API_FPS_MAX,
      .argument = "RATE",
      .help = "pictures a second of a folder; of a video, by frames made between" },
    { "deinterlace", 0, VRT_OPTION_WORD, offsetof(A, settings.deinterlace),
      .names = vrt_deinterlace_names, .argument = "HOW",
      .help = "off, auto, of each frame or field a whole one: frame, field; telecine (auto)" },
    { "alpha", 0, VRT_OPTION_WORD, offsetof(A, settings.alpha), .names = vrt_alpha_names,
      .argument = "HOW",
      .help = "transparency: resize, network, drop, or auto: resize where it can be (default)" },
    { "output-format", 0, VRT_OPTION_WORD, offsetof(A, output_format),
      .names = vrt_container_names, .argument = "FORMAT",
      .help = "what --output - writes: mkv, mp4, ... (default: mkv)" },
    { "times", 0, VRT_OPTION_INT, offsetof(A, settings.times), VRT_API_TIMES_MIN,
      VRT_API_TIMES_MAX, .argument = "N",
      .help = "so many times the frames, by a network that makes such (default: by the network)" },
    { "tonemap", 0, VRT_OPTION_WORD, offsetof(A, settings.tonemap), .names = vrt_tonemap_names,
      .argument = "HOW", .help = "HDR to SDR by hable, mobius, reinhard or clip (default: off)" },
    { "priority", 0, VRT_OPTION_INT, offsetof(A, priority), VRT_API_PRIORITY_MIN,
      VRT_API_PRIORITY_MAX, .argument = "N", .help = "-100 to 100, higher first (default: 0)" },
    { "strict", 0, VRT_OPTION_FLAG, offsetof(A, settings.strict),
      .help = "fail on damaged frames instead of concealing them" },
    { "overwrite", 0, VRT_OPTION_FLAG, offsetof(A, overwrite), .help = "replace the output" },
    { "dry-run", 0, VRT_OPTION_FLAG, offsetof(A, dry_run),
      .help = "only print what would be done, and how long it would take" },
    { "reference", 0, VRT_OPTION_TEXT, offsetof(A, reference), .argument = "FILE",
      .help = "what the result should be like: says how near it is, as compare does" },
    { "webhook", 0, VRT_OPTION_TEXT, offsetof(A, webhook), .argument = "URL",
      .help = "who is told of the job's end, if vrtd is configured so" },
    { "cluster", 0, VRT_OPTION_FLAG, offsetof(A, cluster),
      .help = "by the machines of a Slurm cluster, which all see the files; no vrtd is asked" },
    { "nodes", 0, VRT_OPTION_INT, offsetof(A, nodes), 1, VRT_FILM_NODES_MAX, .argument = "N",
      .help = "with --cluster: parts that are made at a time, a machine each (default: 1)" },
    { "gpus", 0, VRT_OPTION_INT, offsetof(A, gpus), 0, 64, .argument = "N",
      .help = "with --cluster: cards of each (default: 1 for --device cuda or xpu)" },
    { "partition", 0, VRT_OPTION_TEXT, offsetof(A, partition), .argument = "NAME",
      .help = "with --cluster: Slurm's queue (default: as Slurm has it)" },
    { "account", 0, VRT_OPTION_TEXT, offsetof(A, account), .argument = "NAME",
      .help = "with --cluster: who pays for it, in Slurm" },
    { "time", 0, VRT_OPTION_TEXT, offsetof(A, time_limit), .argument = "LIMIT",
      .help = "with --cluster: of a task, such as 4:00:00; what isn't done then goes on" },
    { "slurm-url", 0, VRT_OPTION_TEXT, offsetof(A, slurm_url), .argument = "URL",
      .help = "with --cluster: a slurmrestd, unix:/PATH or http://HOST:PORT (default: sbatch)" },
    { "follow", 'f', VRT_OPTION_FLAG, offsetof(A, follow),
      .help = "show the progress until the end" },
    { "preview", 0, VRT_OPTION_FLAG, offsetof(A, preview),
      .help = "then a picture of before and after, beside the result (with --follow)" },
    { .name = NULL },
};
#undef A

/* What is open while one request is made. */
struct opened {
    struct vrt_file input, output, model, reference;
};

static void opened_done(struct opened *o)
{
    vrt_file_close(&o->input);
    vrt_file_close(&o->output);
    vrt_file_close(&o->model);
    vrt_file_close(&o->reference);
}

static void submissions_done(struct vrt_submissions *s)
{
    for (size_t i = 0; i < s->n_items; i++) {
        free(s->items[i].output);
        free(s->items[i].folder.path);
    }
    free(s->items);
    vrt_series_done(&s->series);
    vrt_pipes_done(&s->pipes);
}

static int open_input(const char *input, const struct vrt_submission *s, struct vrt_pipes *pipes,
                      struct vrt_file *file, struct vrt_error *error)
{
    if (pipes->has_input)
        return vrt_fold(vrt_pipes_open_input(pipes, file, error));
    if (vrt_file_is_url(input))
        return 0;
    return vrt_fold(s->folder.path ? vrt_folder_open(s->folder.path, file, error) :
                                     vrt_file_open_input(input, file, error));
}

static int open_files(struct vrt_submissions *all, const char *input,
                      const struct vrt_submission *s, struct opened *o, struct vrt_error *error)
{
    const struct vrt_cli *cli = all->cli;
    const struct vrt_args *args = &cli->args;

    int r = args->preview ? vrt_jobs_check_preview(cli, s->output, error) : 0;
    if (r < 0)
        return vrt_fold(r);
    r = open_input(input, s, &all->pipes, &o->input, error);
    if (r < 0)
        return vrt_fold(r);
    r = args->model && vrt_file_is_model_path(args->model) ?
        vrt_file_open_model(args->model, &o->model, error) : 0;
    if (r == 0 && args->reference)
        r = vrt_file_open_input(args->reference, &o->reference, error);
    if (r < 0 || args->dry_run)
        return vrt_fold(r);
    if (all->pipes.has_output)
        return vrt_fold(vrt_pipes_open_output(&all->pipes, &o->output, error));
    if (args->recursive)
        r = vrt_series_make_folder(s->output, error);
    if (r < 0)
        return vrt_fold(r);
    if (s->makes_folder)
        return vrt_fold(vrt_folder_open_output(s->output, args->overwrite, &o->input, &o->output,
                                               error));
    return vrt_fold(vrt_file_open_output(s->output, args->overwrite, &o->input, &o->output,
                                         error));
}

/* The request's body, and the descriptors in its order. */
static int make_request(const struct vrt_args *args, const char *operand,
                        const struct vrt_submission *s, const struct opened *o,
                        struct vrt_job_request *q, struct vrt_error *error)
{
    const char *input = s->folder.path ? s->folder.path : operand, *output = s->output;
    int r = 0, n_fds = 0;

    vrt_job_request_init(q);
    if (o->input.fd >= 0) {
        q->input.fd = n_fds++;
        vrt_file_name(vrt_pipes_is_one(operand) ? VRT_PIPES_INPUT_NAME : input, q->input.name,
                      sizeof(q->input.name));
        if (!vrt_pipes_is_one(operand))
            vrt_file_absolute(input, q->input.path, sizeof(q->input.path));
    } else {
        r = vrt_take_text(input, "input", q->input.url, sizeof(q->input.url), error);
        vrt_file_url_name(input, q->input.name, sizeof(q->input.name));
    }
    if (o->output.fd >= 0)
        q->output.fd = n_fds++;
    vrt_file_name(output, q->output.name, sizeof(q->output.name));
    /* Not to be opened by the daemon, but to be known when the files must be given again. */
    if (!args->dry_run && !vrt_pipes_is_one(args->output))
        vrt_file_absolute(output, q->output.path, sizeof(q->output.path));
    if (o->model.fd >= 0) {
        q->model.fd = n_fds++;
        vrt_file_name(args->model, q->model.name, sizeof(q->model.name));
        vrt_file_absolute(args->model, q->model.path, sizeof(q->model.path));
    } else if (r == 0 && args->model) {
        r = vrt_take_text(args->model, "model", q->model.name, sizeof(q->model.name), error);
    }
    if (o->reference.fd >= 0) {
        q->reference.fd = n_fds;
        vrt_file_name(args->reference, q->reference.name, sizeof(q->reference.name));
        vrt_file_absolute(args->reference, q->reference.path, sizeof(q->reference.path));
    }
    if (r == 0 && args->device)
        r = vrt_take_text(args->device, "device", q->device, sizeof(q->device), error);
    q->settings = args->settings;
    if (s->makes_folder && q->settings.codec == VRT_UNKNOWN)
        q->settings.codec = vrt_folder_codec(&s->folder);
    if (r == 0 && s->folder.path && s->folder.pattern[0])
        r = vrt_take_text(s->folder.pattern, "input", q->settings.pictures,
                          sizeof(q->settings.pictures), error);
    if (r == 0 && args->preset)
        r = vrt_take_text(args->preset, "preset", q->settings.preset, sizeof(q->settings.preset),
                          error);
    if (r == 0 && args->pixel_format)
        r = vrt_take_text(args->pixel_format, "pix-fmt", q->settings.pixel_format,
                          sizeof(q->settings.pixel_format), error);
    if (r == 0 && args->scale)
        r = vrt_take_text(args->scale, "scale", q->settings.scale, sizeof(q->settings.scale),
                          error);
    if (r == 0 && args->streams)
        r = vrt_take_text(args->streams, "streams", q->settings.streams,
                          sizeof(q->settings.streams), error);
    if (r == 0 && args->webhook)
        r = vrt_take_text(args->webhook, "webhook", q->webhook, sizeof(q->webhook), error);
    if (r == 0)
        r = vrt_take_scene_cuts(args->scene_cuts, &q->settings.scene_cuts, error);
    q->priority = args->priority;
    q->overwrite = args->overwrite;
    q->dry_run = args->dry_run;
    return r;
}

static int post(struct vrt_cli *cli, const struct vrt_job_request *q, const struct opened *o,
                json_t **ret_json, struct vrt_error *error)
{
    /* In the order in which make_request() counted them. */
    const int opened[] = { o->input.fd, o->output.fd, o->model.fd, o->reference.fd };
    int fds[VRT_JOB_FILE_COUNT], n_fds = 0;

    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++)
        if (opened[i] >= 0)
            fds[n_fds++] = opened[i];
    const struct vrt_request request = {
        .path = "/v1/jobs",
        .fds = fds,
        .n_fds = n_fds,
        /* Trying a large network on a slow device may take minutes. */
        .takes_long = q->dry_run,
    };
    return vrt_fold(vrt_conn_post(cli->conn, &request, vrt_job_request_fields, q, ret_json, error));
}

/* Reads the job that was made. With --follow the daemon's further word is printed instead. */
static int take_answer(const struct vrt_cli *cli, const json_t *json, struct vrt_submission *s,
                       struct vrt_error *error)
{
    struct vrt_job_info job;
    VRT_CLEANUP(vrt_freep) char *folder = getcwd(NULL, 0);
    char input[VRT_API_PATH_BYTES], output[VRT_API_PATH_BYTES];

    if (vrt_job_info_decode(json, &job, error) < 0)
        return VRT_CONN_E_BROKEN;
    s->id = job.id;
    vrt_format_path(job.input_path, job.input_name, folder ? folder : "", input, sizeof(input));
    vrt_format_path(job.output_path, job.output_name, folder ? folder : "", output,
                    sizeof(output));
    int r = 0;
    if (s->id <= 0)
        r = vrt_refuse(error, VRT_CONN_E_BROKEN, VRT_CONN_BROKEN_ID, "vrtd's answer names no job");
    else if (cli->args.json && !cli->args.follow)
        r = vrt_cli_print_json(json);
    else if (!cli->args.follow)
        printf("job %lld: %s -> %s\n", s->id, input, output);
    /* Who follows the job is told at its end. */
    if (r == 0 && !cli->args.follow)
        vrt_cli_warn(cli, job.input_name, job.warnings, job.n_warnings);
    vrt_job_info_done(&job);
    return r;
}

/* Whether what was refused would be refused for every other file just as well. */
static bool is_full(const struct vrt_error *error)
{
    return vrt_error_is(error, VRT_E(JOB_QUEUE_FULL)) ||
           vrt_error_is(error, VRT_E(OUT_OF_DESCRIPTORS));
}

/* What to call an input in a message. */
static const char *shown_name(const char *input, char *buffer, int size)
{
    if (vrt_pipes_is_one(input))
        return VRT_PIPES_INPUT_NAME;
    return vrt_file_is_url(input) ? vrt_file_url_name(input, buffer, size) :
                                    vrt_file_name(input, buffer, size);
}

/* Prints the plan; then what would be wrong with the output, which is no reason not to see it. */
static int take_plan(const struct vrt_cli *cli, const json_t *json, const struct vrt_submission *s,
                     const struct opened *o, struct vrt_error *error)
{
    int r = cli->args.tells_streams ? vrt_info_print(cli, json, error) :
            vrt_plan_print(cli, json, error);

    if (r != 0 || cli->args.tells_streams)
        return vrt_fold(r);
    fflush(stdout);
    /* Folders of series are made when they are needed. */
    if (s->makes_folder || cli->args.recursive || vrt_pipes_is_one(cli->args.output))
        return 0;
    return vrt_fold(vrt_file_check_output(s->output, cli->args.overwrite, &o->input, error));
}

/* Submits one file. Return: enum vrt_exit; everything was said. */
static int submit_one(struct vrt_submissions *all, const char *input, struct vrt_submission *s)
{
    struct vrt_cli *cli = all->cli;
    struct opened o = { VRT_FILE_NONE, VRT_FILE_NONE, VRT_FILE_NONE, VRT_FILE_NONE };
    struct vrt_job_request q;
    struct vrt_error error = { 0 };
    char name[VRT_API_NAME_BYTES];
    json_t *json = NULL;

    int r = open_files(all, input, s, &o, &error);
    if (r < 0) {
        vrt_cli_complain(cli, NULL, &error);
        opened_done(&o);
        return VRT_EXIT_FAILED;
    }
    s->file = o.output;
    r = make_request(&cli->args, input, s, &o, &q, &error);
    if (r == 0)
        r = cli->args.cluster ? vrt_cluster_submit(cli, &q, &error) :
            post(cli, &q, &o, &json, &error);
    s->is_submitted = r == 0 && cli->args.cluster;
    if (r == 0 && !cli->args.cluster)
        r = cli->args.dry_run ? take_plan(cli, json, s, &o, &error) :
            take_answer(cli, json, s, &error);
    json_decref(json);
    opened_done(&o);
    vrt_pipes_let_go(&all->pipes);
    if (r == 0)
        return VRT_EXIT_OK;
    vrt_file_remove_created(s->output, &s->file);
    vrt_model_say_pull(cli, cli->args.model, &error);
    all->full = r == VRT_CONN_E_REFUSED && is_full(&error);
    bool about_the_file = r == VRT_CONN_E_REFUSED || r == VRT_CONN_E_NOT_FOUND;
    return vrt_cli_fail(cli, about_the_file ? shown_name(input, name, sizeof(name)) : NULL, r,
                        &error);
}

/* Takes --end for the duration that it comes to. Return: enum vrt_exit. */
static int take_end(struct vrt_cli *cli)
{
    struct vrt_args *args = &cli->args;
    const double start_s = isnan(args->settings.start_s) ? 0 : args->settings.start_s;

    if (isnan(args->time_s))
        return VRT_EXIT_OK;
    if (!isnan(args->settings.duration_s))
        return vrt_cli_misused(cli, "--duration and --end both say where the part ends: leave one "
                               "of them out");
    if (args->time_s <= start_s)
        return vrt_cli_misused(cli, "--end: the part would end before it begins; both times are "
                               "counted from the film's first picture");
    args->settings.duration_s = args->time_s - start_s;
    return VRT_EXIT_OK;
}

/* What the command line gets wrong. Return: enum vrt_exit. */
static int check(const struct vrt_cli *cli)
{
    const struct vrt_args *args = &cli->args;
    struct vrt_error error = { 0 };
    double ignored;

    if (args->output && args->n_operands > 1 && !vrt_file_is_folder(args->output))
        return vrt_cli_misused(cli, "--output names one file, and there are %d inputs: name a "
                               "folder/, or leave it out, and each result stands beside its input",
                               args->n_operands);
    if (args->reference && (args->n_operands > 1 || args->recursive))
        return vrt_cli_misused(cli, "--reference names what one result should be like: submit one "
                               "video with it");
    if (args->settings.duration_s <= 0)
        return vrt_cli_misused(cli, "--duration: nothing lasts so long; leave it out for all that "
                               "follows --start");
    if (args->dry_run && args->follow)
        return vrt_cli_misused(cli, "--dry-run makes no job that --follow could show");
    if (args->preview && !args->follow)
        return vrt_cli_misused(cli, "--preview waits for the result: say --follow too, or make the "
                               "picture later with vrtctl preview");
    if (vrt_take_scene_cuts(args->scene_cuts, &ignored, &error) < 0) {
        vrt_cli_complain(cli, NULL, &error);
        return VRT_EXIT_USAGE;
    }
    const int exit = vrt_cluster_check(cli);
    return exit == VRT_EXIT_OK ? vrt_series_check(cli) : exit;
}

/* The paths of the outputs, before anything is made. */
static int prepare(const struct vrt_cli *cli, struct vrt_submissions *s)
{
    const struct vrt_args *args = &cli->args;
    struct vrt_error error = { 0 };

    if (!args->n_operands)
        return VRT_EXIT_OK;
    s->items = calloc((size_t)args->n_operands, sizeof(*s->items));
    for (int i = 0; s->items && i < args->n_operands; i++) {
        struct vrt_submission *item = &s->items[s->n_items];
        item->file = VRT_FILE_NONE;
        s->n_items++;
        if (vrt_folder_parse(args->operands[i], &item->folder) < 0)
            break;
        item->makes_folder = vrt_submission_makes_folder(args, args->operands[i],
                                                          item->folder.path);
        item->output = vrt_submission_output(args, s, i);
        if (!item->output)
            break;
        item->is_left_out = args->skip_done &&
            vrt_series_leaves_out(cli, &s->series, args->operands[i], item->output);
    }
    if (s->n_items && s->items[s->n_items - 1].output)
        return VRT_EXIT_OK;
    vrt_refuse_errno(&error, -ENOMEM, "submitting");
    vrt_cli_complain(cli, NULL, &error);
    return VRT_EXIT_FAILED;
}

/* Of many files some may find no room: which ones, so that they can be submitted later. */
static void say_rest(const struct vrt_submissions *s, size_t next)
{
    const char *first = NULL;
    size_t n_left = 0;
    struct vrt_error error = { 0 };
    char name[VRT_API_NAME_BYTES];

    for (; next < s->n_items; next++) {
        if (s->items[next].is_left_out)
            continue;
        if (n_left++ == 0)
            first = s->cli->args.operands[next];
    }
    if (!first)
        return;
    vrt_refuse(&error, -EAGAIN, "client.rest",
               "%zu %s not submitted, from %s on; submit them when there is room", n_left,
               n_left == 1 ? "file was" : "files were", vrt_file_name(first, name, sizeof(name)));
    vrt_cli_complain(s->cli, NULL, &error);
}

/* What is in the folder, in the place of it. Return: enum vrt_exit. */
static int find_series(struct vrt_submissions *s)
{
    int exit = vrt_series_find(s->cli, &s->series);

    s->cli->args.operands = s->series.inputs;
    s->cli->args.n_operands = (int)s->series.n;
    return exit;
}

int vrt_submit(struct vrt_cli *cli)
{
    struct vrt_submissions s = { .cli = cli };
    size_t n = 0;

    int exit = vrt_pipes_init(&s.pipes, cli);
    if (exit == VRT_EXIT_OK)
        exit = take_end(cli);
    if (exit == VRT_EXIT_OK)
        exit = check(cli);
    if (exit == VRT_EXIT_OK && cli->args.recursive)
        exit = find_series(&s);
    if (exit == VRT_EXIT_OK)
        exit = prepare(cli, &s);
    const bool is_ready = exit == VRT_EXIT_OK;
    if (is_ready && cli->args.recursive)
        exit = vrt_series_say(cli, &s.series);
    for (; is_ready && exit != VRT_EXIT_UNREACHABLE && n < s.n_items && !s.full; n++) {
        int one = s.items[n].is_left_out ? VRT_EXIT_OK :
                  submit_one(&s, cli->args.operands[n], &s.items[n]);
        if (one != VRT_EXIT_OK)
            exit = one;
    }
    if (s.full && n < s.n_items)
        say_rest(&s, n);
    if (is_ready && cli->args.follow && exit != VRT_EXIT_UNREACHABLE) {
        int followed = vrt_submissions_follow(&s);
        exit = followed != VRT_EXIT_OK ? followed : exit;
    }
    submissions_done(&s);
    return exit;
}

const struct vrt_command vrt_command_submit = {
    .name = "submit",
    .operands = "FILE|FOLDER|URL...",
    .summary = "restore videos and pictures",
    .options = options,
    .min_operands = 1,
    .max_operands = 10000,
    .run = vrt_submit,
};
