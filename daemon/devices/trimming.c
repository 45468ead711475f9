/* SPDX-License-Identifier: MIT */

/*
 * Every device gets one task, and what came of it is told when the last has come back, or when
 * patience ends. Whoever is told then is gone from here: what still is with a device is only waited
 * for in order to free it.
 */

#include "daemon/devices/trimming.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "daemon/devices/pool-job.h"

struct vrt_trimming {
    struct vrt_pool *pool;
    struct vrt_pool_job job;        /* has nothing to be handed out; listed until the end */
    struct vrt_trimming_params params;      /* without `device` */
    int64_t began_ns;
    bool is_over;                   /* nothing more is waited for */
    bool is_told;
    int n_out;                      /* devices that have their task */
    size_t n_devices;
    struct vrt_trimmed devices[];
};

static struct vrt_trimming *trimming_of(struct vrt_pool_job *job)
{
    return vrt_container_of(job, struct vrt_trimming, job);
}

/* Takes the next step. The trimming may be gone afterwards. */
static void step(struct vrt_trimming *trimming)
{
    const double waited_s = (double)(vrt_clock_now_ns() - trimming->began_ns) / VRT_NS_PER_S;
    const bool is_late = waited_s > trimming->params.patience_s;

    if (!trimming->is_told && (!trimming->n_out || is_late || trimming->is_over)) {
        trimming->is_told = true;
        trimming->params.done(trimming->params.ctx, trimming->devices, trimming->n_devices);
    }
    if (trimming->n_out)
        return;
    vrt_pool_job_remove(trimming->pool, &trimming->job);
    free(trimming);
}

static void say(struct vrt_trimmed *device, const char *message)
{
    snprintf(device->message, sizeof(device->message), "%s", message);
}

/* A device's task came back. */
static void returned(void *ctx, size_t d, struct vrt_worker_task *task)
{
    struct vrt_trimming *trimming = ctx;
    struct vrt_trimmed *device = &trimming->devices[d];

    trimming->n_out--;
    if (task->task.outcome == VRT_TASK_LOST) {
        say(device, "it gave no sign of life, was given up, and holds nothing any more");
    } else if (task->task.outcome == VRT_TASK_DONE) {
        const struct vrt_worker_trim *trim = vrt_container_of(task, struct vrt_worker_trim, base);
        device->is_done = true;
        device->freed_bytes = trimming->params.trim ? trim->freed_bytes : -1;
        device->peak_bytes = trimming->params.reset_peak ? trim->peak_bytes : -1;
        say(device, "");
    } else {
        say(device, task->error.message);
    }
    step(trimming);
}

static void ask(struct vrt_trimming *trimming, size_t d)
{
    struct vrt_worker_trim *task = vrt_worker_trim_new(trimming->params.trim ? 0 : INT64_MAX,
                                                       trimming->params.reset_peak);
    struct vrt_error error = { .id = NULL };
    int r = task ? vrt_pool_submit(trimming->pool, d, &task->base, returned, trimming) :
                   vrt_raise(-ENOMEM);

    if (r == 0) {
        trimming->n_out++;
        say(&trimming->devices[d], "it is at a job's work, and does it when that is done");
    } else {
        vrt_refuse_errno(&error, r, "it could not be asked");
        say(&trimming->devices[d], error.message);
    }
}

/* Why a device that takes no shards isn't asked. */
static void excuse(const struct vrt_device_snapshot *snapshot, struct vrt_trimmed *device)
{
    const char *what = snapshot->state == VRT_DEVICE_LOST ?
        "it is lost until vrtd starts again, and holds nothing" :
        snapshot->state == VRT_DEVICE_QUARANTINED ?
        "it is in quarantine: ask again when vrtctl devices says that it is ready" :
        "it is being opened: ask again in a moment";

    snprintf(device->message, sizeof(device->message), "%s%s%.300s%s", what,
             snapshot->last_error[0] ? " (" : "", snapshot->last_error,
             snapshot->last_error[0] ? ")" : "");
}

static void on_tick(struct vrt_pool_job *job)
{
    step(trimming_of(job));
}

static void on_stop(struct vrt_pool_job *job)
{
    trimming_of(job)->is_over = true;
}

static const struct vrt_pool_job_ops job_ops = {
    .tick = on_tick,
    .stop = on_stop,
};

/* Which devices are meant: what isn't there is refused, not replaced by others. */
static int choose(const struct vrt_pool *pool, const char *request, uint64_t *ret_devices,
                  struct vrt_error *error)
{
    const struct vrt_pool_wish wish = { request, VRT_FALLBACK_FORBID, .n_tries = 0 };
    struct vrt_device_choice choice = { .devices = UINT64_MAX };
    int r = request[0] ? vrt_pool_choose(pool, &wish, &choice, error) : 0;

    if (r < 0) {
        vrt_error_set_field(error, "device");
        return vrt_fold(r);
    }
    *ret_devices = choice.devices;
    return 0;
}

int vrt_trimming_begin(struct vrt_pool *pool, const struct vrt_trimming_params *params,
                       struct vrt_error *error)
{
    const size_t n = vrt_pool_n_devices(pool);
    struct vrt_trimming *trimming;
    struct vrt_device_snapshot snapshot;
    uint64_t meant = 0;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (vrt_pool_is_stopping(pool))
        return vrt_refuse(error, -ESHUTDOWN, "shutting_down", "the daemon is about to stop");
    int r = choose(pool, params->device, &meant, error);
    if (r < 0)
        return vrt_fold(r);
    trimming = calloc(1, sizeof(*trimming) + n * sizeof(trimming->devices[0]));
    if (!trimming)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "asking the devices");
    trimming->pool = pool;
    trimming->job.ops = &job_ops;
    vrt_list_init(&trimming->job.link);
    trimming->params = *params;
    trimming->params.device = NULL;
    trimming->began_ns = vrt_clock_now_ns();
    trimming->n_devices = n;
    vrt_pool_job_add(pool, &trimming->job);
    const uint64_t ready = vrt_pool_devices(pool).ready;
    for (size_t d = 0; d < n; d++) {
        struct vrt_trimmed *device = &trimming->devices[d];
        *device = (struct vrt_trimmed){ .freed_bytes = -1, .peak_bytes = -1 };
        device->is_meant = meant >> d & 1;
        vrt_pool_device(pool, d, &snapshot);
        if (device->is_meant && (ready >> d & 1))
            ask(trimming, d);
        else if (device->is_meant)
            excuse(&snapshot, device);
    }
    return 0;
}
