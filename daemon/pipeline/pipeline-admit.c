/* SPDX-License-Identifier: MIT */

/*
 * Admission: the files are looked at by the decode thread; then each device that was asked for
 * says whether and how it would do the work. One device of a class goes first: what it measures,
 * the others of its class needn't.
 *
 * A device that was asked for is in one of these sets, in this order, or it was refused:
 *
 *     asked -> surveying -> devices
 *       ^                      |
 *       +----------------------+ where another device needs smaller clips or tiles
 *
 * It stays in `asked` while it starts, is lost or quarantined, and goes back there when it fails
 * while it is asked. One that gives no sign of life is left out as soon as all others have
 * answered, if one of these takes part: it may hang, and nobody knows for how long. A job that is
 * about to run and finds too little memory on every device asks again until its patience ends:
 * other programs may have it only for a while. The admission is over when the first two are empty
 * and the decode thread has ended. It succeeds if there is one device at least: to lose the
 * others is a warning, and what became of the last of them is the error if there is none. Nothing
 * is held for the job on any device then but the replicas that a probe leaves warm, which others
 * may push out: an admitted job may wait for hours.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/pipeline/pipeline-impl.h"
#include "workers/device/fit.h"
#include "workers/device/speed.h"

#define VRT_LOG_TOPIC "pipeline"

/* A device that fails so often while it is asked is left out. */
#define REFUSALS_MAX 3

static void decode_thread_ended(void *ctx, bool abandoned)
{
    struct vrt_pipeline *pipeline = ctx;

    (void)abandoned;
    pipeline->decode_thread = NULL;
    vrt_pipeline_step(pipeline);
}

uint64_t vrt_pipeline_probing(const struct vrt_pipeline *pipeline)
{
    uint64_t devices = 0;

    for (size_t d = 0; d < VRT_DEVICES_MAX; d++)
        if (pipeline->parts[d].probe)
            devices |= UINT64_C(1) << d;
    return devices;
}

/* Resolves the request, and makes what the devices will be asked about. */
static int begin_probes(struct vrt_pipeline *pipeline, struct vrt_error *error)
{
    struct vrt_admission *admission = &pipeline->admission;
    struct vrt_device_choice choice;
    struct vrt_device_request request = { .text = pipeline->request,
                                          .fallback = pipeline->fallback };
    int r;

    request.infos = vrt_pool_infos(pipeline->pool, &request.n_infos);
    r = vrt_device_request_resolve(&request, &choice, error);
    /* A queue of jobs with one model holds it once. */
    admission->network = vrt_pool_share_network(pipeline->pool, admission->network);
    pipeline->job.network = admission->network;
    if (r)
        vrt_error_set_field(error, "device");
    else
        r = vrt_job_spec_new(admission->network, &admission->input.format,
                             &admission->encoder.format,
                         &pipeline->spec);
    if (r)
        return vrt_refuse_errno(error, vrt_fold(r), "the job");
    if (choice.warning[0])
        vrt_pipeline_warn(pipeline, "%s", choice.warning);
    vrt_pipeline_warn_all(pipeline, &admission->warnings);

    const struct vrt_network_info *network = vrt_network_info(admission->network);
    pipeline->spec->noise = vrt_recipe_noise(&admission->recipe);
    pipeline->spec->needs = vrt_recipe_tile_needs(&admission->recipe, network);
    pipeline->spec->rule = vrt_recipe_rule(&admission->recipe, network);
    pipeline->spec->grid = vrt_recipe_grid(&admission->recipe, network, pipeline->spec->in.width,
                                           pipeline->spec->in.height);
    pipeline->size = pipeline->too_large = vrt_job_spec_size(pipeline->spec);
    pipeline->asked = pipeline->wanted = choice.devices;
    pipeline->is_probing = true;
    return 0;
}

static void admission_done(struct vrt_task *base)
{
    struct vrt_media_task *task = vrt_container_of(base, struct vrt_media_task, task);
    struct vrt_pipeline *pipeline = task->ctx;
    struct vrt_error error = task->error;
    int r = base->outcome == VRT_TASK_DONE ? 0 : -ECANCELED;

    if (task->result)
        r = task->result;
    vrt_media_task_free(task);
    if (!r && !pipeline->is_closing)
        r = begin_probes(pipeline, &error);
    if (r) {
        r = vrt_refuse_errno(&error, r, "the job");
        vrt_pipeline_fail(pipeline, &error);
    }
    /* Phase 2 has a decode thread of its own. This one's last word takes the next step. */
    if (pipeline->decode_thread)
        vrt_mailbox_stop(pipeline->decode_thread);
}

int vrt_pipeline_admit(struct vrt_pipeline *pipeline)
{
    const struct vrt_decode_thread_params params = {
        .outbox = vrt_pool_outbox(pipeline->pool),
        .files = &pipeline->admission.files,
        .expected = &pipeline->admission.input,
        .strict = pipeline->strict,
        .is_waited_for = true,
        .cancel = &pipeline->cancel,
        .ended = decode_thread_ended,
        .ctx = pipeline,
    };
    struct vrt_media_task *task = vrt_decode_admit_new(&pipeline->admission, admission_done,
                                                       pipeline);
    int r = task ? vrt_decode_thread_new(&params, &pipeline->decode_thread) : vrt_raise(-ENOMEM);

    if (!r) {
        r = vrt_mailbox_post(pipeline->decode_thread, &task->task);
        vrt_assert(!r);
        return 0;
    }
    vrt_media_task_free(task);
    return vrt_fold(r);
}

/* A device takes part as it said. All devices of a job use one size of clips and tiles, the
 * smallest that any of them needs: which of them restored a shard must not show where those
 * meet. */
static void accept(struct vrt_pipeline *pipeline, size_t d, const struct vrt_probe *probe)
{
    vrt_measurements_note_probe(vrt_pool_measurements(pipeline->pool),
                                vrt_network_checksum(pipeline->spec->network), d, probe);
    pipeline->parts[d].is_probed = true;
    pipeline->parts[d].dtype = probe->dtype;
    pipeline->parts[d].size = probe->size;
    pipeline->parts[d].planned_bytes = probe->planned_bytes;
    pipeline->parts[d].replica_bytes = probe->replica_bytes;
    pipeline->parts[d].allowed_bytes = probe->allowed_bytes;
    pipeline->devices |= UINT64_C(1) << d;
    if (!pipeline->job.tile_flops || vrt_fit_is_smaller(&probe->size, &pipeline->size)) {
        pipeline->job.tile_flops = probe->tile_flops;
        pipeline->size = probe->size;
    }
}

/* Keeps why a device doesn't take part. That one has too little memory counts for more than what
 * others say: a smaller recipe may be the cure. */
static void note_error(struct vrt_pipeline *pipeline, const struct vrt_error *error, bool is_short)
{
    if (is_short || !pipeline->short_of_memory)
        pipeline->probe_error = *error;
}

/* A device doesn't take part as it was asked to: it is asked again if that is its own fault, which
 * may pass, and not the job's. */
static void note_refusal(struct vrt_pipeline *pipeline, size_t d,
                         const struct vrt_worker_task *task)
{
    uint64_t bit = UINT64_C(1) << d;
    size_t n_infos;
    bool told = task->task.outcome == VRT_TASK_FAILED;
    bool is_short = told && (task->result == -ENOSPC || task->result == VRT_BACKEND_E_NOMEM);

    struct vrt_error error = { .id = NULL };

    /* The thread of an abandoned task may still be writing to it. */
    if (!task->task.abandoned)
        error = task->error;
    /* Changes nothing where the device has given its reason. */
    int r = vrt_refuse(&error, -EIO, "device.failed", "%s gave no sign of life",
                       vrt_pool_infos(pipeline->pool, &n_infos)[d]->name);
    (void)r;
    note_error(pipeline, &error, is_short);
    if (is_short)
        pipeline->short_of_memory |= bit;
    else if ((!told || task->result > 0) && ++pipeline->parts[d].n_refusals < REFUSALS_MAX)
        pipeline->asked |= bit;
}

static void probed(void *ctx, size_t d, struct vrt_worker_task *task)
{
    struct vrt_pipeline *pipeline = ctx;

    pipeline->parts[d].probe = NULL;
    if (task->task.outcome == VRT_TASK_DONE) {
        const struct vrt_probe *probe = &vrt_worker_probe_of(task)->probe;
        accept(pipeline, d, probe);
        vrt_probe_cache_put(vrt_pool_probe_cache(pipeline->pool), d, probe, vrt_clock_now_ns());
    } else if (!pipeline->is_closing) {
        note_refusal(pipeline, d, task);
    }
    vrt_pipeline_step(pipeline);
}

/* What the device is asked. */
static void fill_question(struct vrt_pipeline *pipeline, size_t d, struct vrt_probe *probe)
{
    const struct vrt_admission *admission = &pipeline->admission;
    const uint64_t checksum = vrt_network_checksum(pipeline->spec->network);
    struct vrt_measurements *measurements = vrt_pool_measurements(pipeline->pool);
    const struct vrt_job_spec_size size = vrt_job_spec_size(pipeline->spec);
    const bool is_fixed = admission->has_recipe && !pipeline->wants_smaller;

    probe->exact_grid = admission->tile > 0 || is_fixed;
    probe->exact_clip = admission->clip.frames > 0 || is_fixed;
    /* Once a device has said how much smaller, the others follow it. */
    probe->smaller = pipeline->wants_smaller && !vrt_fit_is_smaller(&size, &pipeline->too_large);
    probe->is_due = admission->has_recipe;
    probe->precision = admission->precision;
    probe->wants_speed = pipeline->wants_speed;
    memcpy(probe->fidelity_db, vrt_measurements_fidelity(measurements, checksum, d),
           sizeof(probe->fidelity_db));
    memcpy(probe->flops_per_s, vrt_measurements_speed(measurements, checksum, d),
           sizeof(probe->flops_per_s));
}

static void ask_device(struct vrt_pipeline *pipeline, size_t d)
{
    struct vrt_worker_probe *task = vrt_worker_probe_new(pipeline->spec);
    int r = -ENOMEM;

    pipeline->asked &= ~(UINT64_C(1) << d);
    if (task) {
        fill_question(pipeline, d, &task->probe);
        /* A job that is about to run is measured by what there is now, not a minute ago. */
        if (!pipeline->admission.has_recipe && !pipeline->wants_speed &&
            vrt_probe_cache_get(vrt_pool_probe_cache(pipeline->pool), d, &task->probe,
                                vrt_clock_now_ns())) {
            accept(pipeline, d, &task->probe);
            vrt_worker_task_free(&task->base);
            return;
        }
        r = vrt_pool_submit(pipeline->pool, d, &task->base, probed, pipeline);
    }
    if (!r) {
        pipeline->parts[d].probe = &task->base;
        return;
    }
    /* It isn't asked again: the other devices decide, and without any this is the job's error. */
    r = vrt_refuse_errno(&pipeline->probe_error, r, "a device");
    (void)r;
}

/* Whether a device of d's class is being asked, while nobody of that class has answered. One that
 * is silent holds nobody up. */
static bool is_class_busy(const struct vrt_pipeline *pipeline, size_t d, uint64_t silent)
{
    const uint64_t probing = vrt_pipeline_probing(pipeline) & ~silent;
    bool busy = false;

    for (size_t e = 0; e < vrt_pool_n_devices(pipeline->pool); e++) {
        if (vrt_pool_device_class(pipeline->pool, e) != vrt_pool_device_class(pipeline->pool, d))
            continue;
        if (pipeline->parts[e].is_probed)
            return false;
        busy |= probing >> e & 1;
    }
    return busy;
}

/* Makes the work what all devices can do. Nobody else looks at it. */
static void settle_work(struct vrt_pipeline *pipeline)
{
    const struct vrt_network_info *network = vrt_network_info(pipeline->spec->network);

    pipeline->spec->grid = pipeline->size.grid;
    if (vrt_recipe_is_temporal(network))
        vrt_recipe_shorten(&pipeline->admission.recipe, pipeline->size.frames);
    pipeline->spec->rule = vrt_recipe_rule(&pipeline->admission.recipe, network);
}

/* Devices that have room for larger clips or tiles than the others are asked what these take of
 * them. It ends: sizes only become smaller. */
static void ask_again(struct vrt_pipeline *pipeline)
{
    uint64_t roomy = 0;

    for (size_t d = 0; d < vrt_pool_n_devices(pipeline->pool); d++) {
        if (!(pipeline->devices >> d & 1) ||
            !vrt_fit_is_smaller(&pipeline->size, &pipeline->parts[d].size))
            continue;
        roomy |= UINT64_C(1) << d;
        pipeline->parts[d].is_probed = false;
    }
    if (!roomy)
        return;
    settle_work(pipeline);
    pipeline->devices &= ~roomy;
    pipeline->asked |= roomy;
}

/* The device's frame rate, the recipe, and whatever else is told of an admitted job. */
static void fill_info(struct vrt_pipeline *pipeline)
{
    struct vrt_admission *admission = &pipeline->admission;
    const struct vrt_reader_info *input = &admission->input;
    struct vrt_pipeline_info *info = &pipeline->info;
    const struct vrt_network_info *network = vrt_network_info(pipeline->spec->network);
    int first = -1;

    settle_work(pipeline);
    *info = (struct vrt_pipeline_info){
        .network = network,
        .network_checksum = vrt_network_checksum(pipeline->spec->network),
        .recipe = admission->recipe,
        .fingerprint = admission->fingerprint,
        .width = pipeline->spec->in.width,
        .height = pipeline->spec->in.height,
        .out_width = pipeline->spec->out.width,
        .out_height = pipeline->spec->out.height,
        .fps = input->fps.num > 0 ? (double)input->fps.num / input->fps.den : 0,
        .duration_s = input->duration_ns < 0 ? -1 : (double)input->duration_ns / 1e9,
        .frames_total = input->n_frames_estimate,
        .n_shards = -1,
        .n_tiles = (int64_t)pipeline->size.grid.x.n * pipeline->size.grid.y.n,
        .output_bytes_estimate = admission->output_bytes,
        .frame_flops = vrt_speed_frame_flops(pipeline->spec, pipeline->job.tile_flops),
        .devices = pipeline->devices,
        .uses_cpu_instead = info->uses_cpu_instead,
        .reproducible = true,
    };
    info->recipe.tile_w = pipeline->spec->grid.x.size;
    info->recipe.tile_h = pipeline->spec->grid.y.size;
    snprintf(info->codec, sizeof(info->codec), "%s", input->codec);
    snprintf(info->pixel_format, sizeof(info->pixel_format), "%s", input->pixel_format);
    pipeline->frames_total = input->n_frames_estimate;
    if (info->frames_total >= 0)
        info->n_shards = vrt_clip_count(&pipeline->spec->rule, info->frames_total);
    for (size_t d = 0; d < vrt_pool_n_devices(pipeline->pool); d++) {
        if (!(pipeline->devices >> d & 1))
            continue;
        if (first < 0)
            first = (int)d;
        /* Of one class, and yet of two precisions: where one device failed to measure its own. */
        info->reproducible &= vrt_pool_device_class(pipeline->pool, d) ==
                                  vrt_pool_device_class(pipeline->pool, (size_t)first) &&
                              pipeline->parts[d].dtype == pipeline->parts[first].dtype;
    }
    if (info->reproducible)
        info->recipe.precision = vrt_pipeline_precision(pipeline->parts[first].dtype);
}

static void ask_ready(struct vrt_pipeline *pipeline)
{
    const uint64_t ready = vrt_pool_devices(pipeline->pool).ready;
    const uint64_t silent = vrt_pool_silent_devices(pipeline->pool);

    for (size_t d = 0; d < vrt_pool_n_devices(pipeline->pool); d++)
        if ((pipeline->asked & ready) >> d & 1 && !is_class_busy(pipeline, d, silent))
            ask_device(pipeline, d);
}

/* Says that clips and tiles are others than those that were wanted. */
static void warn_of_size(struct vrt_pipeline *pipeline)
{
    const struct vrt_job_spec_size *old = &pipeline->too_large, *now = &pipeline->size;
    char clips[96] = "";

    if (now->frames != old->frames)
        snprintf(clips, sizeof(clips), "clips of %d frame%s in place of %d and ", now->frames,
                 now->frames == 1 ? "" : "s", old->frames);
    vrt_pipeline_warn(pipeline, "the devices ran out of memory, and the job began anew with "
                      "%stiles of %d x %d pixels in place of %d x %d", clips, now->grid.x.size,
                      now->grid.y.size, old->grid.x.size, old->grid.y.size);
}

/* Whether the admission goes on later, when there may be more memory: that of other programs is
 * none of the job's business, but they may end. Where it is over, the devices are asked. */
static bool waits_for_memory(struct vrt_pipeline *pipeline)
{
    const int64_t now_ns = vrt_clock_now_ns();
    double wait_s = vrt_pool_params(pipeline->pool)->retry_s;

    if (pipeline->devices || !pipeline->short_of_memory || !pipeline->admission.has_recipe ||
        pipeline->wants_smaller || vrt_pipeline_waits_too_long(pipeline, false))
        return false;
    if (!pipeline->ask_again_ns) {
        for (int i = 0; i < pipeline->n_memory_waits && i < 16; i++)
            wait_s *= 2;
        pipeline->n_memory_waits++;
        pipeline->ask_again_ns = now_ns + (int64_t)(wait_s * VRT_NS_PER_S);
        vrt_log_info("job %s waits %.0f s for memory: %s", pipeline->job_id, wait_s,
                     pipeline->probe_error.message);
    } else if (now_ns >= pipeline->ask_again_ns) {
        pipeline->ask_again_ns = 0;
        pipeline->asked |= pipeline->short_of_memory;
        pipeline->short_of_memory = 0;
        ask_ready(pipeline);
    }
    return true;
}

/* Every device has answered. */
static void conclude(struct vrt_pipeline *pipeline)
{
    /* Nothing is under way whose return would step. The pipeline may be gone afterwards. */
    if (!pipeline->devices) {
        vrt_pipeline_fail(pipeline, &pipeline->probe_error);
        vrt_pipeline_step(pipeline);
        return;
    }
    if (pipeline->devices != pipeline->wanted && pipeline->probe_error.message[0])
        vrt_pipeline_warn(pipeline, "not every device takes part: %s",
                          pipeline->probe_error.message);
    fill_info(pipeline);
    if (pipeline->wants_smaller)
        warn_of_size(pipeline);
    pipeline->phase = VRT_PIPELINE_ADMITTED;
    pipeline->admitted(pipeline->ctx, NULL);
}

/*
 * A new job that asked for `auto`, and got accelerators of which none has ever worked: the CPUs,
 * as soon as these have failed twice, or nobody waits any longer. Not one that has a recipe: it
 * goes on where it was. Return: whether others are asked now.
 */
static bool replace_unfit(struct vrt_pipeline *pipeline)
{
    struct vrt_device_request request = { .text = pipeline->request,
                                          .fallback = pipeline->fallback };
    struct vrt_device_choice choice;

    if (pipeline->devices || pipeline->admission.has_recipe || pipeline->info.uses_cpu_instead)
        return false;
    request.infos = vrt_pool_infos(pipeline->pool, &request.n_infos);
    request.unfit = vrt_pool_unfit_devices(pipeline->pool,
                                           vrt_pipeline_waits_too_long(pipeline, false) ? 1 : 2);
    if (vrt_device_request_resolve(&request, &choice, NULL) || choice.devices == pipeline->wanted)
        return false;
    if (choice.warning[0])
        vrt_pipeline_warn(pipeline, "%s", choice.warning);
    pipeline->asked = pipeline->wanted = choice.devices;
    pipeline->info.uses_cpu_instead = true;
    return true;
}

/* Those asked for that are quarantined or lost stay out, unless there are no others. */
static void give_up_absent(struct vrt_pipeline *pipeline)
{
    uint64_t hopeful = vrt_pool_devices(pipeline->pool).hopeful & pipeline->asked;

    if (!pipeline->asked)
        return;
    if (!pipeline->devices && hopeful && !vrt_pipeline_waits_too_long(pipeline, false))
        return;
    for (size_t d = 0; d < vrt_pool_n_devices(pipeline->pool); d++) {
        size_t n_infos;
        if (!(pipeline->asked >> d & 1))
            continue;
        struct vrt_error error = { .id = NULL };
        int r = vrt_refuse(&error, -ENODEV, "device.failed", "%s doesn't work: %s",
                           vrt_pool_infos(pipeline->pool, &n_infos)[d]->name,
                           vrt_pool_device_error(pipeline->pool, d));
        (void)r;
        note_error(pipeline, &error, false);
    }
    pipeline->asked = 0;
}

static void forsake_probe(struct vrt_pipeline *pipeline, size_t d, bool cancel)
{
    if (pipeline->parts[d].probe)
        vrt_pool_forsake(pipeline->pool, pipeline->parts[d].probe, cancel);
    pipeline->parts[d].probe = NULL;
}

void vrt_pipeline_forsake_probes(struct vrt_pipeline *pipeline)
{
    for (size_t d = 0; d < VRT_DEVICES_MAX; d++)
        forsake_probe(pipeline, d, true);
}

/* Goes on without a device. What it was asked, it may look at still. */
static void leave_out(struct vrt_pipeline *pipeline, size_t d)
{
    struct vrt_error error = { .id = NULL };
    size_t n_infos;

    int r = vrt_refuse(&error, -ETIMEDOUT, "device.failed", "%s gives no sign of life",
                       vrt_pool_infos(pipeline->pool, &n_infos)[d]->name);
    (void)r;
    vrt_log_warning("job %s goes on without a device: %s", pipeline->job_id, error.message);
    note_error(pipeline, &error, false);
    forsake_probe(pipeline, d, false);
    pipeline->asked &= ~(UINT64_C(1) << d);
}

/* Once all others have answered, and one of them takes part, nobody waits for those that give no
 * sign of life. */
static void leave_out_silent(struct vrt_pipeline *pipeline)
{
    const uint64_t waited_for = vrt_pipeline_probing(pipeline) |
        (pipeline->asked & (vrt_pool_devices(pipeline->pool).ready |
                            vrt_pool_devices(pipeline->pool).starting));
    struct vrt_job_spec *spec;

    if (!pipeline->devices || !waited_for ||
        (waited_for & ~vrt_pool_silent_devices(pipeline->pool)))
        return;
    int r = vrt_job_spec_copy(pipeline->spec, &spec);
    if (r) {
        struct vrt_error error = { .id = NULL };
        r = vrt_refuse_errno(&error, r, "the job");
        vrt_pipeline_fail(pipeline, &error);
        return;
    }
    vrt_job_spec_unref(pipeline->spec);
    pipeline->spec = spec;
    for (size_t d = 0; d < vrt_pool_n_devices(pipeline->pool); d++)
        if (waited_for >> d & 1)
            leave_out(pipeline, d);
}

void vrt_pipeline_admit_step(struct vrt_pipeline *pipeline)
{
    uint64_t ready = vrt_pool_devices(pipeline->pool).ready;
    uint64_t starting = vrt_pool_devices(pipeline->pool).starting;

    if (!pipeline->is_probing)
        return;
    ask_ready(pipeline);
    leave_out_silent(pipeline);
    if (pipeline->is_closing)
        return;
    if (vrt_pipeline_probing(pipeline) || pipeline->asked & (ready | starting))
        return;
    if (!replace_unfit(pipeline))
        give_up_absent(pipeline);
    if (!pipeline->asked)
        ask_again(pipeline);
    ask_ready(pipeline);
    /* `admitted` may free the pipeline, which a thread that is still ending would come back to. */
    if (!pipeline->asked && !vrt_pipeline_probing(pipeline) && !pipeline->decode_thread &&
        !waits_for_memory(pipeline))
        conclude(pipeline);
}
