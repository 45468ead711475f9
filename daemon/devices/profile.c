/* SPDX-License-Identifier: MIT */

/*
 * One task at a time is with the device, and what it returned decides on the next:
 *
 *     WAIT -> PROBE -> WARM_UP -> FRAMES (again and again) -> BY_OPS -> over
 *
 * The first frame makes the session, generates code and touches memory for the first time: it isn't
 * counted. Whatever goes wrong marks the profile as over, and the next step ends it: that of the
 * task that is out, or the pool's tick.
 */

#include "daemon/devices/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/devices/pool-job.h"
#include "daemon/devices/profile-report.h"
#include "workers/plan/recipe.h"
#include "workers/device/load.h"
#include "workers/device/speed.h"

#define VRT_LOG_TOPIC "profile"

_Static_assert(VRT_API_BATCH_MAX == VRT_LOAD_BATCH_MAX, "the same limit to both");

/* For networks that are told how strong the noise is. */
#define PROFILE_SIGMA 25

/* Where nobody says how many frames: until so much time was measured, within these bounds. */
#define MEASURE_NS (5 * VRT_NS_PER_S)
#define FRAMES_MIN 5
#define FRAMES_MAX 200

/* A device that fails more often in a row is not profiled. */
#define FAILURES_MAX 1

/* A device that isn't ready for so long is waited for no more. */
#define PATIENCE_NS (60 * VRT_NS_PER_S)

enum phase {
    WAIT,                           /* for a device to be ready */
    PROBE,
    WARM_UP,
    FRAMES,
    BY_OPS,
    OVER,
};

struct vrt_profile {
    struct vrt_pool *pool;
    struct vrt_pool_job job;        /* has nothing to be handed out; listed until the end */
    struct vrt_job_spec *spec;
    uint64_t devices;               /* one of which is to be profiled */
    int frames_wanted;              /* 0: by time */
    bool is_kept;
    uid_t kept_for;                 /* where it is */
    struct vrt_measured_cut cut;    /* as asked for */
    int64_t began_ns;
    void (*done)(void *ctx, const struct vrt_profile_report *report,
                 const struct vrt_error *error);
    void *ctx;

    enum phase phase;
    size_t d;                       /* the device, from PROBE on */
    struct vrt_worker_task *task;   /* that is out; NULL: none */
    int n_failures;                 /* of its tasks, in a row */
    struct vrt_error error;         /* message "": none */
    struct vrt_profile_found found;
};

static void step(struct vrt_profile *profile);

static struct vrt_profile *profile_of(struct vrt_pool_job *job)
{
    return vrt_container_of(job, struct vrt_profile, job);
}

static struct vrt_profile *profile_free(struct vrt_profile *profile)
{
    if (!profile)
        return NULL;
    vrt_job_spec_unref(profile->spec);
    vrt_profile_found_done(&profile->found);
    free(profile);
    return NULL;
}

/* The first error counts. */
static void fail(struct vrt_profile *profile, const struct vrt_error *error)
{
    if (profile->phase == OVER)
        return;
    profile->phase = OVER;
    profile->error = *error;
    if (profile->task)
        atomic_store(&profile->task->task.cancel, true);
}

static void fail_errno(struct vrt_profile *profile, int r, const char *what)
{
    struct vrt_error error = { .id = NULL };

    r = vrt_refuse_errno(&error, r, what);
    (void)r;
    fail(profile, &error);
}

/* The device forgets the work. */
static void release(struct vrt_profile *profile)
{
    struct vrt_worker_task *task = vrt_worker_release_new(profile->spec);

    if (!task)
        return;
    if (vrt_pool_submit(profile->pool, profile->d, task, NULL, NULL))
        vrt_log_debug("device %zu has forgotten its profile already", profile->d);
}

/* The next jobs on such frames are cut as it was. */
static void keep(const struct vrt_profile *profile)
{
    const struct vrt_job_spec *spec = profile->spec;

    vrt_measurements_keep_cut(vrt_pool_measurements(profile->pool),
                              vrt_network_checksum(spec->network), profile->d, profile->kept_for,
                              spec->in.width, spec->in.height, &profile->cut);
}

/* Frees the profile. */
static void end(struct vrt_profile *profile)
{
    struct vrt_profile_report report;
    bool is_good = !profile->error.message[0];

    if (profile->found.info)
        release(profile);
    vrt_pool_job_remove(profile->pool, &profile->job);
    if (is_good && profile->is_kept)
        keep(profile);
    if (is_good)
        vrt_profile_report_fill(&profile->found, profile->spec, &report);
    profile->done(profile->ctx, is_good ? &report : NULL, is_good ? NULL : &profile->error);
    profile_free(profile);
}

/* A run's result may look like nothing: the picture was made up, and the network is anyone's. */
static bool is_timed(const struct vrt_worker_task *task)
{
    return task->task.outcome == VRT_TASK_DONE ||
           (task->task.outcome == VRT_TASK_FAILED && vrt_device_executor_is_wrong(task->result));
}

static void take_probe(struct vrt_profile *profile, const struct vrt_probe *probe)
{
    profile->found.probe = *probe;
    vrt_measurements_note_probe(vrt_pool_measurements(profile->pool),
                                vrt_network_checksum(profile->spec->network), profile->d, probe);
    profile->spec->grid = probe->size.grid;
    vrt_recipe_shorten(&profile->found.recipe, probe->size.frames);
    if (profile->spec->rule.temporal)
        profile->spec->rule = vrt_recipe_rule(&profile->found.recipe,
                                              vrt_network_info(profile->spec->network));
    profile->phase = WARM_UP;
}

/* Notes whether the device, or one that shares its host, works for somebody else. */
static void look_around(struct vrt_profile *profile)
{
    struct vrt_device_snapshot device;

    for (size_t d = 0; d < vrt_pool_n_devices(profile->pool); d++) {
        vrt_pool_device(profile->pool, d, &device);
        profile->found.had_company |= device.in_flight > 0;
    }
}

static bool has_enough_frames(const struct vrt_profile *profile)
{
    const struct vrt_profile_found *found = &profile->found;
    size_t n = found->n_frames;

    if (profile->frames_wanted > 0)
        return n >= (size_t)profile->frames_wanted;
    return n >= FRAMES_MAX || (n >= FRAMES_MIN && found->total_ns >= MEASURE_NS) ||
           found->total_ns >= 4 * MEASURE_NS;
}

static void take_run(struct vrt_profile *profile, const struct vrt_worker_run *run)
{
    struct vrt_profile_found *found = &profile->found;
    int r = 0;

    if (vrt_device_executor_is_wrong(run->base.result))
        found->doubt = run->base.error;
    look_around(profile);
    if (profile->phase == WARM_UP) {
        profile->phase = FRAMES;
    } else if (profile->phase == FRAMES) {
        vrt_measurements_note_run(vrt_pool_measurements(profile->pool), profile->d, run);
        found->job_bytes = run->job_bytes;
        r = vrt_profile_found_add(found, &run->times, run->frames.n_new);
        if (has_enough_frames(profile))
            profile->phase = BY_OPS;
    } else {
        found->op_times = run->op_times;
        profile->phase = OVER;
    }
    if (r < 0)
        fail_errno(profile, r, "the profile");
}

/* As a job would: a piece of work that failed is tried once more. */
static bool may_try_again(const struct vrt_profile *profile, const struct vrt_worker_task *task)
{
    return task->task.outcome == VRT_TASK_FAILED && task->result == VRT_BACKEND_E_FAILED &&
           profile->n_failures < FAILURES_MAX;
}

/* The task that was out came back. */
static void returned(void *ctx, size_t d, struct vrt_worker_task *task)
{
    struct vrt_profile *profile = ctx;
    struct vrt_error error = { .id = NULL };

    (void)d;
    profile->task = NULL;
    if (profile->phase == OVER) {
        /* Cancelled: what it brought is not wanted. */
    } else if (task->request == VRT_WORKER_PROBE && task->task.outcome == VRT_TASK_DONE) {
        take_probe(profile, &vrt_worker_probe_of(task)->probe);
    } else if (task->request == VRT_WORKER_RUN && is_timed(task)) {
        profile->n_failures = 0;
        take_run(profile, vrt_worker_run_of(task));
    } else if (may_try_again(profile, task)) {
        profile->n_failures++;
    } else {
        /* The thread of an abandoned task may still be writing to it. */
        if (!task->task.abandoned)
            error = task->error;
        int r = vrt_refuse(&error, -EIO, "device.failed", "%s gave no sign of life",
                           profile->found.info->name);
        (void)r;
        fail(profile, &error);
    }
    step(profile);
}

/* Posts a task; takes it over. */
static void submit(struct vrt_profile *profile, struct vrt_worker_task *task)
{
    profile->task = task;
    int r = vrt_pool_submit(profile->pool, profile->d, task, returned, profile);
    if (r < 0) {
        profile->task = NULL;
        fail_errno(profile, r, "the device");
    }
}

static void submit_probe(struct vrt_profile *profile)
{
    struct vrt_measurements *measurements = vrt_pool_measurements(profile->pool);
    const uint64_t checksum = vrt_network_checksum(profile->spec->network);
    const double *db = vrt_measurements_fidelity(measurements, checksum, profile->d);
    struct vrt_worker_probe *task = vrt_worker_probe_new(profile->spec);

    if (!task) {
        fail_errno(profile, vrt_raise(-ENOMEM), "the device");
        return;
    }
    for (int i = 0; i < VRT_DTYPE_COUNT; i++)
        task->probe.fidelity_db[i] = db[i];
    task->probe.wanted_batch = profile->cut.batch;
    task->probe.f32_speedup = vrt_measurements_f32_speedup(measurements, checksum, profile->d);
    task->probe.memory_fraction = vrt_pool_memory_fraction(profile->pool, profile->d);
    submit(profile, &task->base);
}

static void submit_run(struct vrt_profile *profile)
{
    const struct vrt_probe *probe = &profile->found.probe;
    struct vrt_worker_run *run = vrt_worker_run_new(profile->spec, probe->dtype,
                                                    profile->cut.batch);
    const int n = profile->spec->rule.temporal ? vrt_job_spec_size(profile->spec).frames :
                  probe->batch;
    int r = run ? vrt_speed_shard_init(profile->spec, n, &run->frames) : vrt_raise(-ENOMEM);

    if (r < 0) {
        if (run)
            vrt_worker_task_free(&run->base);
        fail_errno(profile, r, "the device");
        return;
    }
    run->tile_flops = probe->tile_flops;
    run->by_ops = profile->phase == BY_OPS;
    /* As one in the middle of a video: what clips share is computed more than once. */
    run->frames.n_new = profile->spec->rule.temporal ? vrt_clip_n_new(&profile->spec->rule) : n;
    submit(profile, &run->base);
}

/* Takes the first of the devices that is ready. */
static void find_device(struct vrt_profile *profile)
{
    uint64_t ready = vrt_pool_devices(profile->pool).ready & profile->devices;
    uint64_t hopeful = vrt_pool_devices(profile->pool).hopeful & profile->devices;
    struct vrt_error error = { .id = NULL };
    size_t n_infos, d = 0;

    if (ready) {
        profile->d = (size_t)__builtin_ctzll(ready);
        profile->found.info = vrt_pool_infos(profile->pool, &n_infos)[profile->d];
        profile->phase = PROBE;
    } else if (!hopeful || vrt_clock_now_ns() - profile->began_ns > PATIENCE_NS) {
        d = (size_t)__builtin_ctzll(profile->devices);
        int r = vrt_refuse(&error, -ENODEV, "device.failed", "%s doesn't work: %s",
                           vrt_pool_infos(profile->pool, &n_infos)[d]->name,
                           vrt_pool_device_error(profile->pool, d));
        (void)r;
        fail(profile, &error);
    }
}

/* Takes the next step. The profile may be gone afterwards. */
static void step(struct vrt_profile *profile)
{
    if (profile->task)
        return;
    if (profile->phase == WAIT)
        find_device(profile);
    if (profile->phase == PROBE)
        submit_probe(profile);
    else if (profile->phase != WAIT && profile->phase != OVER)
        submit_run(profile);
    if (profile->phase == OVER && !profile->task)
        end(profile);
}

static void on_tick(struct vrt_pool_job *job)
{
    step(profile_of(job));
}

static void on_stop(struct vrt_pool_job *job)
{
    const struct vrt_error error = {
        .id = "shutting_down",
        .message = "the daemon was stopped before the profile's end",
    };

    fail(profile_of(job), &error);
}

static const struct vrt_pool_job_ops job_ops = {
    .tick = on_tick,
    .stop = on_stop,
};

/* The work as a job on such frames would do it. */
static int make_work(struct vrt_profile *profile, const struct vrt_profile_params *params,
                     struct vrt_error *error)
{
    const struct vrt_network_info *network = vrt_network_info(params->network);
    const struct vrt_recipe_params wanted = {
        .network = network,
        .width = params->width,
        .height = params->height,
        .n_frames = -1,
    };
    struct vrt_job_settings settings = *params->settings;
    struct vrt_recipe *recipe = &profile->found.recipe;
    int channels = network->in_channels;

    if (channels != network->out_channels || (channels != 1 && channels != 3))
        return vrt_refuse(error, -EINVAL, "model.unknown_architecture",
                          "%s maps %d channels to %d: only networks for colour or gray pictures "
                          "can be profiled", network->description, channels,
                          network->out_channels);
    /* How strong the noise is makes no difference to the time. */
    settings.sigma = network->takes_noise ? PROFILE_SIGMA : NAN;
    int r = vrt_recipe_choose(&settings, &wanted, recipe, error);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_speed_spec_new(params->network, params->width, params->height, &profile->spec);
    if (r < 0)
        return vrt_refuse(error, vrt_fold(r), "request.field",
                          "frames of %d x %d pixels, enlarged %d times, are too large",
                          params->width, params->height, network->scale);
    vrt_job_spec_set_recipe(profile->spec, recipe);
    return 0;
}

static int find_devices(struct vrt_profile *profile, const struct vrt_profile_params *params,
                        struct vrt_error *error)
{
    const struct vrt_pool_wish wish = { params->devices, params->fallback, .n_tries = 1 };
    struct vrt_device_choice *choice = &profile->found.choice;
    int r = vrt_pool_choose(profile->pool, &wish, choice, error);

    if (r < 0) {
        vrt_error_set_field(error, "device");
        return vrt_fold(r);
    }
    profile->devices = choice->devices;
    return 0;
}

int vrt_profile_new(struct vrt_pool *pool, const struct vrt_profile_params *params,
                    struct vrt_profile **ret_profile, struct vrt_error *error)
{
    struct vrt_profile *profile;
    int r;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (vrt_pool_is_stopping(pool))
        return vrt_refuse(error, -ESHUTDOWN, "shutting_down", "the daemon is about to stop");
    profile = calloc(1, sizeof(*profile));
    if (!profile)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the profile");
    profile->pool = pool;
    profile->job.ops = &job_ops;
    profile->frames_wanted = params->frames;
    profile->is_kept = params->keeps_for;
    profile->kept_for = params->keeps_for ? *params->keeps_for : 0;
    profile->cut.tile = (int)VRT_MAX(params->settings->tile, 0);
    profile->cut.clip = (int)VRT_MAX(params->settings->clip, 0);
    profile->cut.precision = (enum vrt_precision)params->settings->precision;
    profile->cut.batch = params->batch;
    profile->began_ns = vrt_clock_now_ns();
    profile->done = params->done;
    profile->ctx = params->ctx;
    snprintf(profile->found.model_name, sizeof(profile->found.model_name), "%s",
             params->model_name);
    r = find_devices(profile, params, error);
    if (r == 0)
        r = make_work(profile, params, error);
    if (r < 0) {
        profile_free(profile);
        return vrt_fold(r);
    }
    profile->job.network = profile->spec->network;
    vrt_pool_job_add(pool, &profile->job);
    *ret_profile = profile;
    /* A device that is ready has something to do; it returns by the loop. What can't be begun ends
     * at the next tick: `done` must not be called from here. */
    find_device(profile);
    if (profile->phase == PROBE)
        submit_probe(profile);
    return 0;
}

void vrt_profile_cancel(struct vrt_profile *profile)
{
    const struct vrt_error error = { .id = "job.cancelled",
                                     .message = "the profile was cancelled" };

    vrt_assert_thread(VRT_THREAD_LOOP);
    fail(profile, &error);
}
