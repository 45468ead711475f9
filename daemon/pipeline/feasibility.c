/* SPDX-License-Identifier: MIT */

/*
 * Each device that was asked for says whether and how it would do the work. One device of a class
 * goes first: what it measures, the others of its class needn't.
 *
 * A device that was asked for is in one of these sets, in this order, or it was refused:
 *
 *     asked -> probing -> devices
 *       ^                    |
 *       +--------------------+ where another device needs smaller clips or tiles
 *
 * It stays in `asked` while it starts, is lost or quarantined, and goes back there when it fails
 * while it is asked. One that gives no sign of life is left out as soon as all others have
 * answered, if one of these takes part: it may hang, and nobody knows for how long. A job that is
 * about to run and finds too little memory on every device asks again until its patience ends:
 * other programs may have it only for a while. It is over when the first two are empty, and went
 * well if there is one device at least: to lose the others is a warning, and what became of the
 * last of them is the error if there is none.
 */

#include "daemon/pipeline/feasibility.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/op/precision.h"
#include "base/clock.h"
#include "base/log.h"
#include "workers/device/session/fit.h"
#include "workers/device/speed.h"
#include "workers/plan/fidelity.h"

#define VRT_LOG_TOPIC "pipeline"

/* A device that fails so often while it is asked is left out. */
#define REFUSALS_MAX 3

void vrt_feasibility_init(struct vrt_feasibility *feasibility,
                          const struct vrt_feasibility_params *params)
{
    *feasibility = (struct vrt_feasibility){
        .params = *params,
        .patience = { .pool = params->pool, .is_submission = !params->has_recipe },
    };
}

static const char *device_name(const struct vrt_feasibility *f, size_t d)
{
    size_t n_infos;

    return vrt_pool_infos(f->params.pool, &n_infos)[d]->name;
}

/* The devices that are being asked, and whose answers are waited for. */
static uint64_t probing(const struct vrt_feasibility *f)
{
    uint64_t devices = 0;

    for (size_t d = 0; d < VRT_DEVICES_MAX; d++)
        if (f->of[d].probe)
            devices |= UINT64_C(1) << d;
    return devices;
}

/* The devices that the request names, without those that were tried `n_tries` times for nothing, or
 * lack an op.
 * Return: 0; -errno with `error`. */
static int resolve(const struct vrt_feasibility *f, int n_tries,
                   struct vrt_device_choice *ret_choice, struct vrt_error *error)
{
    const struct vrt_pool_wish wish = { f->params.request, f->params.fallback, n_tries,
                                        f->lacking };

    return vrt_pool_choose(f->params.pool, &wish, ret_choice, error);
}

/* From now on these are asked. */
static void ask_for(struct vrt_feasibility *f, const struct vrt_device_choice *choice)
{
    vrt_progress_note_choice(f->params.progress, choice, f->params.request, f->params.uid);
    f->asked = f->wanted = choice->devices;
}

/* What is fastest on device `d` for frames of this size, as the job's user or an administrator
 * found out. Return: whether anybody did; else *ret_cut stays. */
static bool find_cut(const struct vrt_feasibility *f, struct vrt_network *network, size_t d,
                     const struct vrt_frame_format *in, struct vrt_measured_cut *ret_cut)
{
    return vrt_measurements_cut(vrt_pool_measurements(f->params.pool),
                                vrt_network_checksum(network), d, f->params.uid, in->width,
                                in->height, ret_cut);
}

/* The recipe of a new job, cut into what is fastest on one of its devices. */
static struct vrt_recipe recipe_of(const struct vrt_feasibility *f,
                                   const struct vrt_job_check *check)
{
    const struct vrt_frame_format *in = &check->input.format;
    struct vrt_recipe recipe = check->recipe;
    struct vrt_measured_cut cut;

    for (size_t d = 0; d < vrt_pool_n_devices(f->params.pool) && !f->params.has_recipe; d++) {
        if (!(f->wanted >> d & 1) || !find_cut(f, check->network, d, in, &cut))
            continue;
        vrt_recipe_recut(&recipe, vrt_network_info(check->network), in->width, in->height,
                         cut.tile, cut.clip);
        break;
    }
    return recipe;
}

int vrt_feasibility_begin(struct vrt_feasibility *feasibility,
                          const struct vrt_job_check *check, struct vrt_error *error)
{
    struct vrt_feasibility *f = feasibility;
    struct vrt_device_choice choice = { .devices = 0 };
    int r = f->params.needs_none ? 0 : resolve(f, 0, &choice, error);

    if (r < 0) {
        vrt_error_set_field(error, "device");
        return vrt_refuse_errno(error, vrt_fold(r), "the job");
    }
    r = vrt_job_spec_new(check->network, &check->input.format, &check->encoder.format,
                         &f->spec);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "the job");
    ask_for(f, &choice);
    const struct vrt_recipe recipe = recipe_of(f, check);
    vrt_job_spec_set_recipe(f->spec, &recipe);
    f->size = f->wanted_size = vrt_job_spec_size(f->spec);
    return 0;
}

/* Says that a device stays with f32 although it is faster in another precision. */
static void warn_of_precision(struct vrt_feasibility *f, size_t d, const struct vrt_probe *probe)
{
    size_t n_infos;
    enum vrt_dtype faster = vrt_pool_infos(f->params.pool, &n_infos)[d]->preferred_dtype;
    double db = probe->fidelity_db[faster];

    if (f->spec->recipe.precision != VRT_PRECISION_AUTO || probe->dtype == faster ||
        probe->f32_speedup >= 1 || probe->fastest == VRT_PRECISION_F32)
        return;
    if (isnan(db))
        vrt_progress_warn(f->params.progress, "%s computes this network in %s: how close its "
                          "faster %s comes to that can't be measured; --precision %s takes it all "
                          "the same", device_name(f, d), vrt_dtype_name(probe->dtype),
                          vrt_dtype_name(faster), vrt_dtype_name(faster));
    else
        vrt_progress_warn(f->params.progress, "%s computes this network in %s: its faster %s comes "
                          "to %.1f dB of that, and auto asks for %.0f; --precision %s takes it all "
                          "the same", device_name(f, d), vrt_dtype_name(probe->dtype),
                          vrt_dtype_name(faster), db, VRT_FIDELITY_MIN_DB, vrt_dtype_name(faster));
}

/* A device takes part as it said. All devices of a job use one size of clips and tiles, the
 * smallest that any of them needs: which of them restored a shard must not show where those
 * meet. */
static void accept(struct vrt_feasibility *f, size_t d, const struct vrt_probe *probe)
{
    const uint64_t checksum = vrt_network_checksum(f->spec->network);

    vrt_measurements_note_probe(vrt_pool_measurements(f->params.pool), checksum, d, probe);
    f->of[d].is_probed = true;
    f->of[d].dtype = probe->dtype;
    f->of[d].size = probe->size;
    warn_of_precision(f, d, probe);
    vrt_progress_note_probe(f->params.progress, d, probe);
    f->devices |= UINT64_C(1) << d;
    if (!f->tile_flops || vrt_fit_is_smaller(&probe->size, &f->size)) {
        f->tile_flops = probe->tile_flops;
        f->size = probe->size;
    }
}

/* Keeps why a device doesn't take part. That one has too little memory counts for more than what
 * others say: a smaller recipe may be the cure. */
static void note_error(struct vrt_feasibility *f, const struct vrt_error *error, bool is_short)
{
    if (is_short || !f->short_of_memory)
        f->error = *error;
}

/* A device lacks an op: the others do without it, and if all do, the CPU may. What another one said
 * before is told in the end, too. */
static void note_lack(struct vrt_feasibility *f, size_t d, const struct vrt_probe *probe,
                      const struct vrt_error *error)
{
    f->lacking |= UINT64_C(1) << d;
    if (!f->error.message[0])
        f->error = *error;
    vrt_progress_warn(f->params.progress, "%s takes no part: it lacks %s, which this network needs "
                      "in %s", device_name(f, d), probe->lacks, vrt_dtype_name(probe->dtype));
}

/* A device doesn't take part as it was asked to: it is asked again if that is its own fault, which
 * may pass, and not the job's. */
static void note_refusal(struct vrt_feasibility *f, size_t d, struct vrt_worker_task *task)
{
    uint64_t bit = UINT64_C(1) << d;
    bool told = task->task.outcome == VRT_TASK_FAILED;
    bool is_short = told && (task->result == -ENOSPC || task->result == VRT_BACKEND_E_NOMEM);

    struct vrt_error error = { .id = NULL };

    /* The thread of an abandoned task may still be writing to it. */
    if (!task->task.abandoned)
        error = task->error;
    /* Changes nothing where the device has given its reason. */
    int r = vrt_refuse(&error, -EIO, "device.failed", "%s gave no sign of life",
                       device_name(f, d));
    (void)r;
    if (told && vrt_worker_probe_of(task)->probe.lacks)
        note_lack(f, d, &vrt_worker_probe_of(task)->probe, &error);
    else
        note_error(f, &error, is_short);
    if (is_short)
        f->short_of_memory |= bit;
    else if ((!told || task->result > 0) && ++f->of[d].n_refusals < REFUSALS_MAX)
        f->asked |= bit;
}

static void probed(void *ctx, size_t d, struct vrt_worker_task *task)
{
    struct vrt_feasibility *f = ctx;

    f->of[d].probe = NULL;
    if (task->task.outcome == VRT_TASK_DONE) {
        const struct vrt_probe *probe = &vrt_worker_probe_of(task)->probe;
        accept(f, d, probe);
        vrt_probe_cache_put(vrt_pool_probe_cache(f->params.pool), d, probe, vrt_clock_now_ns());
    } else {
        note_refusal(f, d, task);
    }
    f->params.answered(f->params.ctx);
}

/* What the device is asked. */
static void fill_question(struct vrt_feasibility *f, size_t d, struct vrt_probe *probe)
{
    const uint64_t checksum = vrt_network_checksum(f->spec->network);
    struct vrt_measurements *measurements = vrt_pool_measurements(f->params.pool);
    const struct vrt_job_spec_size size = vrt_job_spec_size(f->spec);
    struct vrt_measured_cut cut = { .precision = VRT_PRECISION_AUTO };

    probe->is_fixed = f->params.has_recipe && !f->params.wants_smaller;
    /* Once a device has said how much smaller, the others follow it. */
    probe->smaller = f->params.wants_smaller && !vrt_fit_is_smaller(&size, &f->wanted_size);
    probe->is_due = f->params.has_recipe;
    probe->memory_fraction = vrt_pool_memory_fraction(f->params.pool, d);
    probe->speed_over_flops = f->params.has_recipe ? INT64_MAX :
                              f->params.wants_speed ? 0 : VRT_RECIPE_FAST_FLOPS;
    memcpy(probe->fidelity_db, vrt_measurements_fidelity(measurements, checksum, d),
           sizeof(probe->fidelity_db));
    memcpy(probe->flops_per_s, vrt_measurements_speed(measurements, checksum, d),
           sizeof(probe->flops_per_s));
    probe->f32_speedup = vrt_measurements_f32_speedup(measurements, checksum, d);
    find_cut(f, f->spec->network, d, &f->spec->in, &cut);
    probe->fastest = cut.precision;
    probe->wanted_batch = cut.batch;
}

static void ask_device(struct vrt_feasibility *f, size_t d)
{
    struct vrt_worker_probe *task = vrt_worker_probe_new(f->spec);
    int r = -ENOMEM;

    f->asked &= ~(UINT64_C(1) << d);
    if (task) {
        fill_question(f, d, &task->probe);
        /* A job that is about to run is measured by what there is now, not a minute ago. */
        if (!f->params.has_recipe && !f->params.wants_speed &&
            vrt_probe_cache_get(vrt_pool_probe_cache(f->params.pool), d, &task->probe,
                                vrt_clock_now_ns())) {
            accept(f, d, &task->probe);
            vrt_worker_task_free(&task->base);
            return;
        }
        r = vrt_pool_submit(f->params.pool, d, &task->base, probed, f);
    }
    if (r == 0) {
        f->of[d].probe = &task->base;
        return;
    }
    /* It isn't asked again: the other devices decide, and without any this is the job's error. */
    r = vrt_refuse_errno(&f->error, r, "a device");
    (void)r;
}

/* Whether a device of d's class is being asked, while nobody of that class has answered. One that
 * is silent holds nobody up. */
static bool is_class_busy(const struct vrt_feasibility *f, size_t d, uint64_t silent)
{
    const uint64_t awaited = probing(f) & ~silent;
    bool busy = false;

    for (size_t e = 0; e < vrt_pool_n_devices(f->params.pool); e++) {
        if (vrt_pool_device_class(f->params.pool, e) != vrt_pool_device_class(f->params.pool, d))
            continue;
        if (f->of[e].is_probed)
            return false;
        busy |= awaited >> e & 1;
    }
    return busy;
}

/* Devices that have room for larger clips or tiles than the others are asked what these take of
 * them. It ends: sizes only become smaller. Nobody else looks at the work. */
static void ask_again(struct vrt_feasibility *f)
{
    uint64_t roomy = 0;

    for (size_t d = 0; d < vrt_pool_n_devices(f->params.pool); d++) {
        if (!(f->devices >> d & 1) || !vrt_fit_is_smaller(&f->size, &f->of[d].size))
            continue;
        roomy |= UINT64_C(1) << d;
        f->of[d].is_probed = false;
        vrt_progress_note_probe(f->params.progress, d, NULL);
    }
    if (!roomy)
        return;
    vrt_job_spec_set_size(f->spec, &f->size);
    f->devices &= ~roomy;
    f->asked |= roomy;
}

static void ask_ready(struct vrt_feasibility *f)
{
    const uint64_t ready = vrt_pool_devices(f->params.pool).ready;
    const uint64_t silent = vrt_pool_silent_devices(f->params.pool);

    for (size_t d = 0; d < vrt_pool_n_devices(f->params.pool); d++)
        if ((f->asked & ready) >> d & 1 && !is_class_busy(f, d, silent))
            ask_device(f, d);
}

/* Says that clips and tiles are others than those that were wanted. */
static void warn_of_size(struct vrt_feasibility *f)
{
    const struct vrt_job_spec_size *old = &f->wanted_size, *now = &f->size;
    char clips[96] = "";

    if (now->frames != old->frames)
        snprintf(clips, sizeof(clips), "clips of %d frame%s in place of %d and ", now->frames,
                 now->frames == 1 ? "" : "s", old->frames);
    vrt_progress_warn(f->params.progress, "the devices ran out of memory, and the job began anew "
                      "with %stiles of %d x %d pixels in place of %d x %d", clips,
                      now->grid.x.size, now->grid.y.size, old->grid.x.size, old->grid.y.size);
}

/* Whether the admission goes on later, when there may be more memory: that of other programs is
 * none of the job's business, but they may end. Where it is over, the devices are asked. */
static bool waits_for_memory(struct vrt_feasibility *f)
{
    const int64_t now_ns = vrt_clock_now_ns();
    double wait_s = vrt_pool_params(f->params.pool)->retry_s;

    if (f->devices || !f->short_of_memory || !f->params.has_recipe || f->params.wants_smaller ||
        vrt_patience_is_over(&f->patience, false))
        return false;
    if (!f->ask_again_ns) {
        for (int i = 0; i < f->n_memory_waits && i < 16; i++)
            wait_s *= 2;
        f->n_memory_waits++;
        f->ask_again_ns = now_ns + (int64_t)(wait_s * VRT_NS_PER_S);
        vrt_log_info("job %s waits %.0f s for memory: %s", f->params.job_id, wait_s,
                     f->error.message);
    } else if (now_ns >= f->ask_again_ns) {
        f->ask_again_ns = 0;
        f->asked |= f->short_of_memory;
        f->short_of_memory = 0;
        ask_ready(f);
    }
    return true;
}

/* Where all devices lack an op. Return: whether there are CPUs in their place. */
static bool replace_lacking(struct vrt_feasibility *f, struct vrt_device_choice *ret_choice)
{
    const struct vrt_pool_wish wish = { "cpu", VRT_FALLBACK_FORBID, .n_tries = 0 };

    if (f->lacking != f->wanted || f->params.fallback == VRT_FALLBACK_FORBID ||
        vrt_pool_choose(f->params.pool, &wish, ret_choice, NULL) < 0 ||
        ret_choice->devices & f->wanted)
        return false;
    ret_choice->is_redirected = true;
    if (f->params.fallback == VRT_FALLBACK_WARN)
        vrt_progress_warn(f->params.progress, "no device that was asked for can compute this "
                          "network: cpu is used instead");
    return true;
}

/*
 * A new job whose devices all lack an op, or that asked for `auto`, and got accelerators of which
 * none has ever worked: the CPUs, of these as soon as they have failed twice, or nobody waits any
 * longer. Not one that has a recipe: it goes on where it was.
 */
static bool replace_unfit(struct vrt_feasibility *f)
{
    struct vrt_device_choice choice;

    if (f->devices || f->params.has_recipe || f->uses_cpu_instead)
        return false;
    const int n_tries = vrt_patience_is_over(&f->patience, false) ? 1 : 2;
    if (!replace_lacking(f, &choice) &&
        (resolve(f, n_tries, &choice, NULL) < 0 || choice.devices == f->wanted))
        return false;
    ask_for(f, &choice);
    f->uses_cpu_instead = true;
    return true;
}

/* Those asked for that are quarantined or lost stay out, unless there are no others. */
static void give_up_absent(struct vrt_feasibility *f)
{
    uint64_t hopeful = vrt_pool_devices(f->params.pool).hopeful & f->asked;

    if (!f->asked)
        return;
    if (!f->devices && hopeful && !vrt_patience_is_over(&f->patience, false))
        return;
    for (size_t d = 0; d < vrt_pool_n_devices(f->params.pool); d++) {
        if (!(f->asked >> d & 1))
            continue;
        struct vrt_error error = { .id = NULL };
        int r = vrt_refuse(&error, -ENODEV, "device.failed", "%s doesn't work: %s",
                           device_name(f, d),
                           vrt_pool_device_error(f->params.pool, d));
        (void)r;
        note_error(f, &error, false);
    }
    f->asked = 0;
}

static void forsake_probe(struct vrt_feasibility *f, size_t d, bool cancel)
{
    if (f->of[d].probe)
        vrt_pool_forsake(f->params.pool, f->of[d].probe, cancel);
    f->of[d].probe = NULL;
}

void vrt_feasibility_forsake(struct vrt_feasibility *feasibility)
{
    for (size_t d = 0; d < VRT_DEVICES_MAX; d++)
        forsake_probe(feasibility, d, true);
}

/* Goes on without a device. What it was asked, it may look at still. */
static void leave_out(struct vrt_feasibility *f, size_t d)
{
    struct vrt_error error = { .id = NULL };

    int r = vrt_refuse(&error, -ETIMEDOUT, "device.failed", "%s gives no sign of life",
                       device_name(f, d));
    (void)r;
    vrt_log_warning("job %s goes on without a device: %s", f->params.job_id, error.message);
    note_error(f, &error, false);
    forsake_probe(f, d, false);
    f->asked &= ~(UINT64_C(1) << d);
}

/* Once all others have answered, and one of them takes part, nobody waits for those that give no
 * sign of life. Return: 0, -ENOMEM. */
static int leave_out_silent(struct vrt_feasibility *f)
{
    const struct vrt_pool *pool = f->params.pool;
    const uint64_t waited_for = probing(f) |
        (f->asked & (vrt_pool_devices(pool).ready | vrt_pool_devices(pool).starting));
    struct vrt_job_spec *spec;

    if (!f->devices || !waited_for || (waited_for & ~vrt_pool_silent_devices(pool)))
        return 0;
    /* They may look at the old one still. */
    int r = vrt_job_spec_copy(f->spec, &spec);
    if (r < 0)
        return vrt_fold(r);
    vrt_job_spec_unref(f->spec);
    f->spec = spec;
    for (size_t d = 0; d < vrt_pool_n_devices(pool); d++)
        if (waited_for >> d & 1)
            leave_out(f, d);
    return 0;
}

int vrt_feasibility_step(struct vrt_feasibility *feasibility, struct vrt_error *error)
{
    struct vrt_feasibility *f = feasibility;
    const uint64_t ready = vrt_pool_devices(f->params.pool).ready;
    const uint64_t starting = vrt_pool_devices(f->params.pool).starting;

    if (!f->spec)
        return VRT_FEASIBILITY_ASKING;
    ask_ready(f);
    int r = leave_out_silent(f);
    if (r < 0)
        return vrt_refuse_errno(error, r, "the job");
    if (probing(f) || f->asked & (ready | starting))
        return VRT_FEASIBILITY_ASKING;
    if (!replace_unfit(f))
        give_up_absent(f);
    if (!f->asked)
        ask_again(f);
    ask_ready(f);
    if (f->asked || probing(f) || waits_for_memory(f))
        return VRT_FEASIBILITY_ASKING;
    if (f->devices || f->params.needs_none)
        return 0;
    *error = f->error;
    return -ENODEV;
}

/* Whether the devices are of one class and of one precision, and so give the same bits. */
static bool is_reproducible(const struct vrt_feasibility *f, size_t first)
{
    const struct vrt_pool *pool = f->params.pool;

    /* Of one class, and yet of two precisions: where one device failed to measure its own. */
    for (size_t d = first; d < vrt_pool_n_devices(pool); d++)
        if (f->devices >> d & 1 &&
            (vrt_pool_device_class(pool, d) != vrt_pool_device_class(pool, first) ||
             f->of[d].dtype != f->of[first].dtype))
            return false;
    return true;
}

/* Shards and segments of a new job follow from what its slowest device needs for a frame. */
static void pace(struct vrt_feasibility *f)
{
    const uint64_t checksum = vrt_network_checksum(f->spec->network);
    const double flops = (double)vrt_speed_frame_flops(f->spec, f->tile_flops);
    struct vrt_recipe recipe = f->spec->recipe;
    double frame_s = 0;

    if (f->params.has_recipe)
        return;
    for (size_t d = 0; d < vrt_pool_n_devices(f->params.pool); d++) {
        double flops_per_s = vrt_measurements_speed(vrt_pool_measurements(f->params.pool),
                                                    checksum, d)[f->of[d].dtype];
        if (f->devices >> d & 1 && flops_per_s > 0)
            frame_s = VRT_MAX(frame_s, flops / flops_per_s);
    }
    vrt_recipe_pace(&recipe, vrt_network_info(f->spec->network), frame_s);
    vrt_job_spec_set_recipe(f->spec, &recipe);
    vrt_job_spec_set_size(f->spec, &f->size);
}

void vrt_feasibility_tell(struct vrt_feasibility *feasibility,
                          const struct vrt_job_check *check,
                          struct vrt_pipeline_info *ret_info)
{
    struct vrt_feasibility *f = feasibility;
    const struct vrt_reader_info *input = &check->input;
    const size_t first = f->devices ? (size_t)__builtin_ctzll(f->devices) : 0;

    /* Those that lack an op have been named. */
    if (f->wanted & ~f->devices & ~f->lacking && f->error.message[0])
        vrt_progress_warn(f->params.progress, "not every device takes part: %s",
                          f->error.message);
    vrt_job_spec_set_size(f->spec, &f->size);
    pace(f);
    struct vrt_pipeline_info info = {
        .network = vrt_network_info(f->spec->network),
        .network_checksum = vrt_network_checksum(f->spec->network),
        .recipe = f->spec->recipe,
        .fingerprint = check->fingerprint, .in_hwdec = check->hwdec,
        .out_codec = check->encoder.codec, .out_quality = check->encoder.quality,
        .out_bitrate = check->encoder.bitrate, .out_hwaccel = check->encoder.hwaccel,
        .out_alpha = check->alpha, .devices = f->devices, .streams = &check->rest.streams,
        .width = f->spec->in.width, .height = f->spec->in.height,
        .out_width = check->encoder.format.width, .out_height = check->encoder.format.height,
        .fps = input->fps.num > 0 ? (double)input->fps.num / input->fps.den : 0,
        .start_s = (double)vrt_job_check_range(check->settings).start_ns / 1e9,
        .duration_s = input->duration_ns < 0 ? -1 : (double)input->duration_ns / 1e9,
        .frames_total = vrt_job_check_n_frames(check),
        .is_estimated = input->is_by_duration,
        .n_shards = input->n_frames_estimate < 0 ? -1 :
                    vrt_clip_count(&f->spec->rule, input->n_frames_estimate),
        .n_tiles = (int64_t)f->size.grid.x.n * f->size.grid.y.n,
        .output_bytes_estimate = check->output_bytes,
        .frame_flops = vrt_speed_frame_flops(f->spec, f->tile_flops),
        .uses_cpu_instead = f->uses_cpu_instead,
        .reproducible = f->devices && is_reproducible(f, first) && !check->encoder.hwaccel,
    };
    snprintf(info.codec, sizeof(info.codec), "%s", input->codec);
    snprintf(info.pixel_format, sizeof(info.pixel_format), "%s", input->pixel_format);
    if (info.reproducible)
        info.recipe.precision = vrt_precision_of(f->of[first].dtype);
    if (f->params.wants_smaller)
        warn_of_size(f);
    *ret_info = info;
}

void vrt_feasibility_done(struct vrt_feasibility *feasibility)
{
    feasibility->spec = vrt_job_spec_unref(feasibility->spec);
}
