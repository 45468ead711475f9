/* SPDX-License-Identifier: MIT */

/*
 * Admission asks in the order of cost: the descriptors, the head of the video, the checkpoint, then
 * what follows from both. Whatever a user can have got wrong is found here, before a device is
 * bothered, and said in one sentence; a job that was admitted fails only by what nobody could know
 * (damage further on, a full disk, a device that breaks).
 */

#include "workers/media/admission.h"

#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "engine/checkpoint.h"
#include "frames/join/joiner.h"
#include "workers/media/disk-check.h"

/* The decoder's threads while it is only asked what it sees. */
#define PROBE_THREADS 1

/* A file that takes longer to be understood is made so: it would hold its user's places among
 * those that wait, and a thread. A job that goes on was looked at before. */
#define LOOK_NS (30 * VRT_NS_PER_S)

/* No network's output is larger: what encoders and frames can hold. */
#define SIDE_MAX 16384

/* When the next look at the input must be over, for a reader or a preview. */
static int64_t look_deadline(const struct vrt_admission *admission)
{
    return admission->has_recipe ? 0 : vrt_clock_now_ns() + LOOK_NS;
}

static int probe_input(struct vrt_admission *admission, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_reader_closep) struct vrt_reader *reader = NULL;
    const struct vrt_reader_params params = {
        .n_threads = PROBE_THREADS,
        .strict = admission->strict,
        .name = admission->files.input_name,
        .cancel = admission->cancel,
        .open_deadline_ns = look_deadline(admission),
    };
    int r = vrt_reader_open(admission->files.input_fd, &params, &reader, error);

    if (r)
        return vrt_fold(r);
    admission->input = *vrt_reader_info(reader);
    return 0;
}

/* The input must be the one that it was when the job was admitted for the first time. */
static int check_input(struct vrt_admission *admission, struct vrt_error *error)
{
    const struct vrt_files *files = &admission->files;
    struct vrt_fingerprint found;
    char shown[160];
    int r = vrt_fingerprint_take(files->input_fd, &found);

    if (r)
        return vrt_refuse_errno(error, vrt_fold(r), files->input_name);
    if (admission->has_fingerprint && !vrt_fingerprint_is_same(&found, &admission->fingerprint))
        return vrt_refuse(error, vrt_raise(-ESTALE), "input.other",
                          "%s is not the file that this job was submitted for: it has other "
                          "bytes; hand that one over, or submit a new job",
                          vrt_printable(files->input_name, shown, sizeof(shown)));
    admission->fingerprint = found;
    return 0;
}

static int load_network(struct vrt_admission *admission, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_checkpoint_freep) struct vrt_checkpoint *checkpoint = NULL;
    int r;

    if (admission->network)
        return 0;
    r = vrt_checkpoint_open(admission->model_fd, admission->model_name, &checkpoint, error);
    if (!r)
        r = vrt_network_new(checkpoint, admission->model_name, &admission->network, error);
    return vrt_fold(r);
}

static int check_network(const struct vrt_admission *admission, struct vrt_error *error)
{
    const struct vrt_network_info *info = vrt_network_info(admission->network);
    const struct vrt_frame_format *format = &admission->input.format;
    uint64_t checksum = vrt_network_checksum(admission->network);
    int channels = info->in_channels;

    if (admission->network_checksum && checksum != admission->network_checksum)
        return vrt_refuse(error, vrt_raise(-ESTALE), "model.other",
                          "%s is not the model that this job was begun with: its checksum is "
                          "%016" PRIx64 " where it was %016" PRIx64 "; bring that one back, or "
                          "submit a new job", admission->model_name, checksum,
                          admission->network_checksum);
    if (channels != info->out_channels || (channels != 1 && channels != 3))
        return vrt_refuse(error, -EINVAL, "model.unknown_architecture",
                          "%s maps %d channels to %d: only networks for colour or gray pictures "
                          "can restore a video", info->description, channels, info->out_channels);
    if (info->out_frames)
        return vrt_refuse(error, -EINVAL, "model.unknown_architecture",
                          "%s makes new frames between those of a video: a job only restores "
                          "those that there are; vrt-infer runs such a network",
                          info->description);
    if (format->width > SIDE_MAX / info->scale || format->height > SIDE_MAX / info->scale)
        return vrt_refuse(error, -EINVAL, "job.input",
                          "%d x %d pixels enlarged %d times are more than %d a side",
                          format->width, format->height, info->scale, SIDE_MAX);
    return 0;
}

/* Container, codec and format; then an encoder is made and dropped, to hear its objections now. */
static int choose_encoder(struct vrt_admission *admission, struct vrt_error *error)
{
    const struct vrt_network_info *info = vrt_network_info(admission->network);
    struct vrt_encoder_params *encoder = &admission->encoder;
    struct vrt_encoder_pick pick = {
        .input = &admission->input.format,
        .width = admission->input.format.width * info->scale,
        .height = admission->input.format.height * info->scale,
    };
    int r = vrt_container_from_name(admission->files.output_name, &admission->container, error);

    if (!r)
        r = vrt_codec_from_name(admission->codec ? admission->codec : "h264", &encoder->codec,
                                error);
    if (!r)
        r = vrt_container_check_codec(admission->container, encoder->codec, error);
    if (!r)
        r = vrt_codec_check(encoder->codec, error);
    pick.codec = encoder->codec;
    if (!r)
        r = vrt_encoder_pick_format(&pick, &encoder->format, &admission->warnings, error);
    if (!r) {
        const struct vrt_container_content content = { admission->container, encoder->codec,
                                                       &encoder->format };
        r = vrt_container_check_colors(&content, &admission->warnings, error);
    }
    if (!r) {
        const struct vrt_joiner_preview preview = {
            .input_fd = admission->files.input_fd,
            .input_name = admission->files.input_name,
            .container = admission->container,
            .cancel = admission->cancel,
            .deadline_ns = look_deadline(admission),
        };
        r = vrt_joiner_preview(&preview, &admission->warnings, error);
    }
    if (r)
        return vrt_fold(r);
    encoder->quality = admission->quality;
    encoder->preset = admission->preset;
    encoder->n_threads = admission->recipe.encoder_threads;
    encoder->time_base = admission->input.time_base;
    encoder->fps = admission->input.fps;
    return 0;
}

static int choose_recipe(struct vrt_admission *admission, struct vrt_error *error)
{
    const struct vrt_recipe_params params = {
        .network = vrt_network_info(admission->network),
        .width = admission->input.format.width,
        .height = admission->input.format.height,
        .n_frames = admission->input.n_frames_estimate,
        .tile = admission->tile,
        .overlap = admission->overlap,
        .clip = admission->clip,
        .segment_frames = admission->segment_frames,
        .precision = admission->precision,
    };

    if (admission->has_recipe)
        return 0;
    return vrt_fold(vrt_recipe_choose(&params, &admission->recipe, error));
}

/* How much room the result will take. One that goes on was warned of it before. */
static void look_ahead(struct vrt_admission *admission)
{
    const struct vrt_disk_check disk_check = {
        .encoder = &admission->encoder,
        .n_frames = admission->input.n_frames_estimate,
        .spool_fd = admission->has_recipe ? -1 : admission->spool_fd,
        .output_fd = admission->has_recipe ? -1 : admission->files.output_fd,
        .output_name = admission->files.output_name,
    };

    admission->output_bytes = vrt_disk_check_run(&disk_check, &admission->warnings);
}

int vrt_admission_run(struct vrt_admission *admission, struct vrt_error *error)
{
    int r = vrt_files_note(&admission->files, error);

    if (!r)
        r = check_input(admission, error);
    if (!r)
        r = probe_input(admission, error);
    if (!r)
        r = load_network(admission, error);
    if (!r)
        r = check_network(admission, error);
    if (!r)
        r = choose_recipe(admission, error);
    if (!r)
        r = choose_encoder(admission, error);
    if (!r)
        r = vrt_encoder_try(&admission->encoder, error);
    if (!r)
        look_ahead(admission);
    if (!r)
        vrt_warnings_merge(&admission->warnings, &admission->input.warnings);
    return vrt_fold(r);
}

void vrt_admission_done(struct vrt_admission *admission)
{
    admission->network = vrt_network_unref(admission->network);
}
