/* SPDX-License-Identifier: MIT */

/*
 * Admission asks in the order of cost: the descriptors, the head of the video, the checkpoint, then
 * what follows from both. Whatever a user can have got wrong is found here, before a device is
 * bothered, and said in one sentence; a job that was admitted fails only by what nobody could know
 * (damage further on, a full disk, a device that breaks).
 */

#include "workers/media/job-check.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "engine/checkpoint.h"
#include "frames/process/child-encoder.h"
#include "workers/media/comparison.h"
#include "workers/media/disk-check.h"
#include "workers/media/files/input.h"
#include "workers/media/hwaccel-choice.h"
#include "workers/media/target-size.h"
#include "workers/plan/output-size.h"

/* The decoder's threads while it is only asked what it sees. */
#define PROBE_THREADS 1

/* A file that takes longer to be understood is made so: it would hold its user's places among
 * those that wait, and a thread. A job that goes on was looked at before. */
#define LOOK_NS (30 * VRT_NS_PER_S)

/* When the next look at the input must be over, for a reader or a preview. */
static int64_t look_deadline(const struct vrt_job_check *check)
{
    return check->has_recipe ? 0 : vrt_clock_now_ns() + LOOK_NS;
}

struct vrt_reader_range vrt_job_check_range(const struct vrt_job_settings *settings)
{
    double start_s = isnan(settings->start_s) ? 0 : settings->start_s;
    double duration_s = isnan(settings->duration_s) ? 0 : settings->duration_s;

    return (struct vrt_reader_range){
        .start_ns = llrint(start_s * VRT_NS_PER_S),
        .duration_ns = llrint(duration_s * VRT_NS_PER_S),
    };
}

enum vrt_tonemap vrt_job_check_tonemap(const struct vrt_job_check *check)
{
    return check->is_alpha_pass ? VRT_TONEMAP_OFF
           : check->has_recipe ? check->recipe.tonemap
                               : (enum vrt_tonemap)check->settings->tonemap;
}

/* As far as that is known before the input is. */
static bool keeps_extra(const struct vrt_job_settings *settings)
{
    return settings->codec == VRT_UNKNOWN || settings->codec == VRT_CODEC_AUTO ||
           vrt_codec_facts((enum vrt_codec)settings->codec)->has_metadata;
}

int64_t vrt_job_check_n_frames(const struct vrt_job_check *check)
{
    return vrt_recipe_n_frames(&check->recipe, check->input.n_frames_estimate);
}

static int probe_input(struct vrt_job_check *check, struct vrt_child *child,
                       struct vrt_error *error)
{
    VRT_CLEANUP(vrt_input_closep) struct vrt_input *input = NULL;
    const struct vrt_input_params params = {
        .child = child,
        .files = &check->files,
        .reader = {
            .range = vrt_job_check_range(check->settings),
            .n_threads = PROBE_THREADS,
            .fields = check->has_recipe ? check->recipe.fields : (struct vrt_fields){ 0 },
            .tonemap = vrt_job_check_tonemap(check),
            .streams = check->settings->streams,
            .keeps_extra = keeps_extra(check->settings),
            .is_alpha = check->is_alpha_pass,
            .strict = check->settings->strict,
            .name = check->files.input_name,
            .open_deadline_ns = look_deadline(check),
        },
        .fps = vrt_input_fps(check->settings->fps),
    };

    if (check->files.is_sequence && (params.reader.range.start_ns ||
                                     params.reader.range.duration_ns))
        return vrt_refuse(error, vrt_raise(-EINVAL), "input.part", "a part of a folder of pictures "
                          "is those in another folder: start and duration are for videos");
    if (check->files.is_sequence && check->settings->streams[0])
        return vrt_refuse(error, vrt_raise(-EINVAL), "input.streams", "a folder of pictures has no "
                          "streams to choose from: leave the choice out");
    if (check->files.is_piped && (params.reader.range.start_ns ||
                                  params.reader.range.duration_ns))
        return vrt_refuse(error, vrt_raise(-EINVAL), "input.part", "what comes by a pipe is "
                          "restored whole: have the program that writes it leave out the rest "
                          "(ffmpeg -ss 60 -t 10)");
    int r = vrt_input_open(&params, &input, error);
    if (r != 0)
        return vrt_fold(r);
    check->input = *vrt_input_info(input);
    if (check->has_recipe)
        return 0;
    return vrt_fold(vrt_input_look(input, (enum vrt_deinterlace)check->settings->deinterlace,
                                   &check->input, error));
}

static int load_network(struct vrt_job_check *check, struct vrt_error *error)
{
    if (check->network)
        return 0;
    return vrt_fold(vrt_network_read(check->model_fd, check->model_name, &check->network, error));
}

static int check_network(const struct vrt_job_check *check, struct vrt_error *error)
{
    const struct vrt_network_info *info = vrt_network_info(check->network);
    uint64_t checksum = vrt_network_checksum(check->network);
    int channels = info->in_channels;

    if (check->network_checksum && checksum != check->network_checksum)
        return vrt_refuse(error, vrt_raise(-ESTALE), "model.other",
                          "%s%s is not the model that this job was begun with: its checksum is "
                          "%016" PRIx64 " where it was %016" PRIx64 "; bring that one back, or "
                          "submit a new job", check->model_name,
                          isnan(check->settings->denoise) ? "" : ", or what it is mixed with by "
                          "denoise,", checksum, check->network_checksum);
    if (channels != info->out_channels || (channels != 1 && channels != 3))
        return vrt_refuse(error, -EINVAL, "model.unknown_architecture",
                          "%s maps %d channels to %d: only networks for colour or gray pictures "
                          "can restore a video", info->description, channels, info->out_channels);
    if (info->out_frames && check->input.is_still && !check->files.is_sequence)
        return vrt_refuse(error, -EINVAL, "job.input", "%s makes frames between those of a video, "
                          "and a picture has no others: choose a network that restores it",
                          info->description);
    return 0;
}

/* Codec, quality and what else was asked of the encoder. Return: 0; -EINVAL with a sentence. */
static int take_settings(const struct vrt_job_check *check, enum vrt_codec asked,
                         struct vrt_encoder_params *encoder, struct vrt_error *error)
{
    const struct vrt_job_settings *settings = check->settings;

    encoder->codec = settings->codec != VRT_CODEC_AUTO ? asked
                     : vrt_container_has_own_codec(check->container)
                         ? vrt_container_own_codec(check->container)
                         : vrt_codec_for(check->container, check->input.format.depth);
    const struct vrt_codec_facts *facts = vrt_codec_facts(encoder->codec);
    int64_t quality = settings->quality;
    if (quality != VRT_UNKNOWN && !facts->quality_name && !check->has_recipe)
        return vrt_refuse(error, vrt_raise(-EINVAL), "output.quality",
                          "%s has no quality to choose: leave it out", facts->title);
    if (quality == VRT_UNKNOWN && settings->bitrate == VRT_UNKNOWN &&
        settings->target_size_bytes == VRT_UNKNOWN && facts->quality_name)
        quality = encoder->codec == VRT_CODEC_H264   ? settings->quality_h264
                  : encoder->codec == VRT_CODEC_HEVC ? settings->quality_hevc
                                                     : facts->quality;
    encoder->quality = (int)quality;
    encoder->preset = settings->preset[0] && facts->has_presets ? settings->preset : NULL;
    encoder->bitrate = settings->bitrate;
    encoder->options = settings->encoder_options;
    return 0;
}

/* By the output's name; of a folder by the codec. Where only a plan is made there is no folder yet:
 * its name has no ending. */
static int choose_container(struct vrt_job_check *check, enum vrt_codec codec,
                            struct vrt_error *error)
{
    const struct vrt_codec_facts *facts = vrt_codec_facts(codec);
    const bool has_no_file = check->files.output_fd < 0;
    struct vrt_error ignored = { .id = NULL };

    check->is_folder = check->files.output_is_folder ||
                       (has_no_file && vrt_container_is_picture(facts->container) &&
                        vrt_container_from_name(check->files.output_name, &check->container,
                                                &ignored) < 0);
    if (!check->is_folder)
        return vrt_fold(vrt_container_from_name(check->files.output_name, &check->container,
                                                error));
    if (!vrt_container_is_picture(facts->container))
        return vrt_refuse(error, vrt_raise(-EINVAL), "output.container",
                          "a folder takes pictures, not %s: choose the codec png, jpeg, tiff, "
                          "webp or exr", facts->title);
    check->container = facts->container;
    return 0;
}

static bool has_pictures(const struct vrt_job_check *check)
{
    return check->input.is_still || check->files.is_sequence;
}

/* What is said of transparency that the output has no place for; refused where it is to be kept. */
static int lose_alpha(struct vrt_job_check *check, const char *why, struct vrt_error *error)
{
    const char *what = has_pictures(check) ? "picture" : "video";

    if (check->settings->alpha == VRT_ALPHA_RESIZE || check->settings->alpha == VRT_ALPHA_NETWORK)
        return vrt_refuse(error, vrt_raise(-ENOTSUP), "output.format", "the %s's transparency "
                          "(alpha) can't be kept: %s", what, why);
    check->alpha = VRT_ALPHA_DROP;
    if (check->settings->alpha == VRT_ALPHA_AUTO)
        vrt_warnings_add(&check->warnings, "the %s's transparency (alpha) is dropped: %s", what,
                         why);
    return 0;
}

/* What becomes of the input's transparency, as far as codec and container tell. */
static int check_alpha(struct vrt_job_check *check, enum vrt_codec codec, struct vrt_error *error)
{
    const struct vrt_codec_facts *facts = vrt_codec_facts(codec);
    const bool is_still = has_pictures(check);
    const bool keeps_picture = vrt_container_is_picture(check->container) && facts->keeps_alpha;
    const bool is_unwanted = check->settings->alpha == VRT_ALPHA_DROP;
    const bool by_network = check->settings->alpha == VRT_ALPHA_NETWORK;
    /* Pictures behind the first may have what it hasn't. */
    const bool has_any = check->input.has_alpha || (by_network && check->files.is_sequence);
    char why[160];

    check->alpha = !has_any || check->is_alpha_pass ? VRT_UNKNOWN
                   : by_network ? VRT_ALPHA_NETWORK : VRT_ALPHA_RESIZE;
    if (check->alpha == VRT_UNKNOWN)
        return 0;
    if (is_still && keeps_picture && is_unwanted)
        return vrt_refuse(error, vrt_raise(-EINVAL), "output.format", "a picture's transparency "
                          "goes along into .%s: name the output .jpg to drop it",
                          vrt_container_name(check->container));
    const bool becomes_video = by_network && !vrt_container_is_picture(check->container);
    if (is_unwanted || (is_still && !keeps_picture && !becomes_video))
        return vrt_fold(lose_alpha(check, "name the output .png or .tiff to keep it", error));
    /* Of pictures it is read when they are written. */
    if (is_still && !by_network && check->recipe.times > 1)
        vrt_warnings_add(&check->warnings, "a picture that is made between two has the "
                         "transparency of the first of them");
    if (is_still && !by_network)
        return 0;
    if (check->files.is_piped)
        return vrt_fold(lose_alpha(check, "it would have to be read a second time, and comes by a "
                                   "pipe: give a file", error));
    if (check->recipe.times > 1)
        return vrt_fold(lose_alpha(check, "there is none between two frames", error));
    if (check->input.fields.deinterlace == VRT_DEINTERLACE_TELECINE)
        return vrt_fold(lose_alpha(check, "which fields belong together only the pictures show",
                                   error));
    if (facts->alpha & VRT_CONTAINER_BIT(check->container))
        return 0;
    snprintf(why, sizeof(why), "%s in .%s has no place for it; ProRes in .mov, VP9 in .webm and "
             "FFV1 in .mkv have", facts->title, vrt_container_name(check->container));
    return vrt_fold(lose_alpha(check, why, error));
}

/* Pictures have no times. Return: 0; -EINVAL with a sentence. */
static int check_fps(const struct vrt_job_check *check, struct vrt_error *error)
{
    const double fps = check->settings->fps;
    const bool is_needed = check->files.is_sequence && !vrt_container_is_picture(check->container);

    if (vrt_input_fps(fps).num > 0 || (isnan(fps) && !is_needed) || check->has_recipe)
        return 0;
    return vrt_refuse(error, vrt_raise(-EINVAL), "output.container", is_needed ?
                      "a video needs to be told how many of the pictures it shows a second (fps), "
                      "from 0.001 on" : "a rate (fps) below 0.001 is none: leave it out");
}

/* A file of one picture is made of such a file, and no other. What of it has no place in the output
 * is said. */
static int check_kind(struct vrt_job_check *check, enum vrt_codec codec, struct vrt_error *error)
{
    const bool is_picture = vrt_container_is_picture(check->container);

    if (is_picture && !check->is_folder && !check->input.is_still)
        return vrt_refuse(error, vrt_raise(-EINVAL), "output.container",
                          ".%s holds one picture, and the input is a video: name it .mkv, or .apng "
                          "or .gif", vrt_container_name(check->container));
    if (is_picture && !check->is_folder && check->input.fields.deinterlace == VRT_DEINTERLACE_FIELD)
        return vrt_refuse(error, vrt_raise(-EINVAL), "output.container",
                          ".%s holds one picture, and of each field one makes two: deinterlace "
                          "frames, or name the output .mkv",
                          vrt_container_name(check->container));
    int r = check_fps(check, error);
    if (r < 0)
        return vrt_fold(r);
    if (check->is_folder && check->files.is_sequence && check->recipe.times > 1)
        vrt_warnings_add(&check->warnings, "the results are numbered from 1 on, %d of each "
                         "picture: those that are made between have no names",
                         check->recipe.times);
    if (check->is_folder && check->input.n_audio + check->input.n_subtitles > 0)
        vrt_warnings_add(&check->warnings, "a folder of pictures has no place for the video's "
                         "sound and subtitles: they are left out");
    if (check->is_folder && check->input.has_display_matrix && !check->files.is_sequence)
        vrt_warnings_add(&check->warnings, "a folder of pictures doesn't say how to turn the video "
                         "as its container does: they are stored unturned");
    return vrt_fold(check_alpha(check, codec, error));
}

/* Whether a size was asked for, and the bitrate is still to be found. */
static bool needs_bitrate(const struct vrt_job_check *check)
{
    return check->settings->target_size_bytes != VRT_UNKNOWN &&
           check->settings->bitrate == VRT_UNKNOWN;
}

/* What else the input holds, and the output won't: pictures are looked at when they are written. */
static int check_rest(struct vrt_job_check *check, struct vrt_child *child,
                      struct vrt_error *error)
{
    const struct vrt_joiner_preview preview = {
        .input_fd = check->files.input_fd,
        .input_name = check->files.input_name,
        .container = check->container,
        .streams = check->settings->streams,
        .deadline_ns = look_deadline(check),
        .span_ns = needs_bitrate(check) ? VRT_MAX(check->input.duration_ns, 1) : 0,
    };

    if (check->files.is_sequence || check->is_alpha_pass)
        return 0;
    return vrt_fold(vrt_child_joiner_preview(child, &preview, &check->rest, &check->warnings,
                                             error));
}

/* The bitrate of a result that is to have a size. */
static int choose_bitrate(struct vrt_job_check *check, struct vrt_error *error)
{
    const struct vrt_target_size target = {
        .size_bytes = check->settings->target_size_bytes,
        .container = check->container,
        .rest = check->rest,
        .encoder = &check->encoder,
        .n_frames = vrt_job_check_n_frames(check),
    };

    if (target.size_bytes == VRT_UNKNOWN)
        return 0;
    int r = needs_bitrate(check) ?
            vrt_target_size_bitrate(&target, &check->encoder.bitrate, &check->warnings, error) : 0;
    if (r < 0)
        return vrt_fold(r);
    check->encoder.max_bitrate = VRT_TARGET_SIZE_TIMES_MAX * check->encoder.bitrate;
    return 0;
}

/* How the input's transparency is read. */
static struct vrt_reader_params alpha_of_input(const struct vrt_job_check *check)
{
    return (struct vrt_reader_params){
        .range = vrt_job_check_range(check->settings),
        .n_threads = check->recipe.encoder_threads,
        .fields = check->input.fields,
        .streams = check->settings->streams,
        .is_alpha = true,
        .name = check->files.input_name,
    };
}

struct vrt_reader_params vrt_job_check_alpha(const struct vrt_job_check *check)
{
    if (check->alpha != VRT_ALPHA_NETWORK)
        return alpha_of_input(check);
    return (struct vrt_reader_params){
        .n_threads = check->recipe.encoder_threads,
        .strict = true,
        .name = "the restored transparency",
    };
}

/* The format of frames with transparency, which can be read. Return: 0; -errno with a sentence. */
static int pick_alpha_format(struct vrt_job_check *check, struct vrt_child *child,
                             const struct vrt_encoder_pick *pick, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_child_reader_closep) struct vrt_child_reader *reader = NULL;
    struct vrt_reader_params params = alpha_of_input(check);
    const struct vrt_warnings before = check->warnings;
    struct vrt_frame_format input = *pick->input;
    struct vrt_encoder_pick with_alpha = *pick;

    input.has_alpha = true;
    with_alpha.input = &input;
    params.open_deadline_ns = look_deadline(check);
    int r = vrt_child_encoder_pick_format(child, &with_alpha, &check->encoder.format,
                                          &check->warnings, error);
    if (r == 0 && !has_pictures(check))
        r = vrt_child_reader_open(child, check->files.input_fd, &params, &reader, error);
    if (r < 0)
        check->warnings = before;
    return vrt_fold(r);
}

/* The format of the encoder's frames. Return: 0; -errno with a sentence. */
static int pick_format(struct vrt_job_check *check, struct vrt_child *child,
                       const struct vrt_encoder_pick *pick, struct vrt_error *error)
{
    struct vrt_error why = { .id = NULL };

    if (check->alpha == VRT_ALPHA_NETWORK ||
        (check->alpha == VRT_ALPHA_RESIZE && !has_pictures(check))) {
        int r = pick_alpha_format(check, child, pick, &why);
        if (r == -ENOTSUP || r == -ENOSYS)
            r = lose_alpha(check, why.message, error);
        else if (r < 0)
            *error = why;
        if (r < 0 || check->alpha != VRT_ALPHA_DROP)
            return vrt_fold(r);
    }
    return vrt_fold(vrt_child_encoder_pick_format(child, pick, &check->encoder.format,
                                                  &check->warnings, error));
}

/* Of each frame become `times`: so many more ticks in a second, and frames. Return: 0; -EINVAL with
 * a sentence: nobody counts so fast. */
static int choose_rate(struct vrt_job_check *check, struct vrt_error *error)
{
    const int times = check->recipe.times, every = VRT_MAX(check->recipe.every, 1);
    struct vrt_encoder_params *encoder = &check->encoder;

    if (vrt_rational_scale(check->input.time_base, 1, times, &encoder->time_base) == 0 &&
        vrt_rational_scale(check->input.fps, times, every, &encoder->fps) == 0)
        return 0;
    return vrt_refuse(error, -EINVAL, "job.input", "the input counts time in %d/%d of a second, "
                      "and what would be shown between its frames has no time in it: convert it to "
                      "Matroska with ffmpeg first", check->input.time_base.num,
                      check->input.time_base.den);
}

/* Container, codec and format; then an encoder is made and dropped, to hear its objections now. */
static int choose_encoder(struct vrt_job_check *check, struct vrt_child *child,
                          struct vrt_error *error)
{
    const struct vrt_network_info *info = vrt_network_info(check->network);
    const struct vrt_job_settings *settings = check->settings;
    struct vrt_encoder_params *encoder = &check->encoder;
    struct vrt_frame_format shown = check->input.format;
    struct vrt_encoder_pick pick = {
        .pixel_format = settings->pixel_format,
        .input = &shown,
    };
    /* auto is whatever the output's ending says: of a folder PNG. */
    const int named = settings->codec == VRT_CODEC_AUTO ? (int)VRT_CODEC_PNG : settings->codec;
    const enum vrt_codec asked = named == VRT_UNKNOWN ? VRT_CODEC_H264 : (enum vrt_codec)named;
    int r = choose_container(check, asked, error);

    if (r < 0)
        return vrt_fold(r);
    r = take_settings(check, asked, encoder, error);
    if (r < 0)
        return vrt_fold(r);
    pick.codec = encoder->codec;
    r = vrt_output_size_choose(settings->scale, info->scale, &shown, &check->warnings, error);
    if (r < 0)
        return vrt_fold(r);
    pick.width = shown.width;
    pick.height = shown.height;
    r = check_kind(check, pick.codec, error);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_container_check_codec(check->container, encoder->codec, error);
    if (r < 0)
        return vrt_fold(r);
    r = choose_rate(check, error);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_container_check_rate(check->container, encoder->fps, check->input.variable_rate,
                                 &check->warnings, error);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_child_codec_check(child, encoder->codec, error);
    if (r < 0)
        return vrt_fold(r);
    r = pick_format(check, child, &pick, error);
    if (r < 0)
        return vrt_fold(r);
    const struct vrt_container_content content = { check->container, encoder->codec,
                                                   &encoder->format };
    r = vrt_container_check_colors(&content, &check->warnings, error);
    if (r < 0)
        return vrt_fold(r);
    r = check_rest(check, child, error);
    if (r < 0)
        return vrt_fold(r);
    encoder->n_threads = check->recipe.encoder_threads;
    if (encoder->codec == VRT_CODEC_H264 && encoder->quality == 0 && encoder->format.depth == 8)
        vrt_warnings_add(&check->warnings, "quality 0 of h264 is lossless, in a profile (High "
                         "4:4:4 Predictive) that few players have: 1 plays everywhere");
    return 0;
}

static int choose_recipe(struct vrt_job_check *check, struct vrt_error *error)
{
    const struct vrt_rational unknown = { 0, 1 };
    const struct vrt_recipe_params params = {
        .network = vrt_network_info(check->network),
        .width = check->input.format.width,
        .height = check->input.format.height,
        .n_frames = check->input.n_frames_estimate,
        .fields = check->input.fields,
        .tonemap = check->input.tonemap,
        .fps = check->input.variable_rate ? unknown : check->input.fps,
        /* That of pictures is the video's own. */
        .wanted_fps = check->files.is_sequence ? unknown : vrt_input_fps(check->settings->fps),
    };

    if (check->has_recipe)
        return 0;
    return vrt_fold(vrt_recipe_choose(check->settings, &params,
                                      &check->recipe, error));
}

/* How much room the result will take. One that goes on was warned of it before. */
static void look_ahead(struct vrt_job_check *check)
{
    const struct vrt_disk_check disk_check = {
        .encoder = &check->encoder,
        .n_frames = vrt_job_check_n_frames(check),
        .spool_fd = check->has_recipe ? -1 : check->spool_fd,
        .output_fd = check->has_recipe ? -1 : check->files.output_fd,
        .output_name = check->files.output_name,
    };

    check->output_bytes = vrt_disk_check_run(&disk_check, &check->warnings);
}

/* All that follows from what the files hold. */
static int look(struct vrt_job_check *check, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_child_freep) struct vrt_child *child = NULL;
    int r = vrt_child_new(check->cancel, &child, error);

    if (r != 0)
        return vrt_fold(r);
    r = probe_input(check, child, error);
    if (r != 0)
        return vrt_fold(r);
    r = load_network(check, error);
    if (r != 0)
        return vrt_fold(r);
    r = check_network(check, error);
    if (r != 0)
        return vrt_fold(r);
    r = choose_recipe(check, error);
    if (r != 0)
        return vrt_fold(r);
    r = choose_encoder(check, child, error);
    if (r != 0)
        return vrt_fold(r);
    r = choose_bitrate(check, error);
    if (r != 0)
        return vrt_fold(r);
    r = vrt_child_encoder_try(child, &check->encoder, error);
    if (r != 0)
        return vrt_fold(r);
    r = vrt_hwaccel_choose(check, child, error);
    if (r != 0)
        return vrt_fold(r);
    /* Of one that goes on the result will say it. */
    r = check->has_recipe ? 0 : vrt_comparison_check(check, child, error);
    if (r != 0)
        return vrt_fold(r);
    look_ahead(check);
    vrt_warnings_merge(&check->warnings, &check->input.warnings);
    return 0;
}

int vrt_job_check_run(struct vrt_job_check *check, struct vrt_error *error)
{
    const struct vrt_warnings before = check->warnings;

    check->files.pattern = check->settings->pictures;
    int r = vrt_files_note(&check->files, error);
    if (r != 0)
        return vrt_fold(r);
    r = vrt_fingerprint_settle(&check->files, check->has_fingerprint, &check->fingerprint, error);
    if (r != 0)
        return vrt_fold(r);
    r = look(check, error);
    if (r != -EPIPE || !vrt_error_is(error, "media.crashed"))
        return vrt_fold(r);
    /* It may have been ended for want of memory, or by somebody: once is forgiven. */
    check->warnings = before;
    *error = (struct vrt_error){ .id = NULL };
    return vrt_fold(look(check, error));
}

void vrt_job_check_done(struct vrt_job_check *check)
{
    check->network = vrt_network_unref(check->network);
    vrt_files_done(&check->files);
}
