/* SPDX-License-Identifier: MIT */

/* What a worker can be asked for: how each request is made, and freed with the references that it
 * holds. */

#include <math.h>
#include <stdlib.h>

#include "workers/device/worker-impl.h"

static void drop_probe(struct vrt_worker_task *task)
{
    vrt_job_spec_unref(vrt_worker_probe_of(task)->probe.spec);
}

static void drop_prepare(struct vrt_worker_task *task)
{
    vrt_job_spec_unref(vrt_container_of(task, struct vrt_worker_prepare, base)->spec);
}

static void drop_run(struct vrt_worker_task *task)
{
    struct vrt_worker_run *run = vrt_worker_run_of(task);

    vrt_shard_frames_done(&run->frames);
    vrt_job_spec_unref(run->spec);
}

static void drop_release(struct vrt_worker_task *task)
{
    vrt_job_spec_unref(vrt_container_of(task, struct vrt_worker_release, base)->spec);
}

static void drop_checkup(struct vrt_worker_task *task)
{
    vrt_checkup_free(vrt_container_of(task, struct vrt_worker_checkup, base)->checkup);
}

static void (*const drops[VRT_WORKER_REQUEST_COUNT])(struct vrt_worker_task *task) = {
    [VRT_WORKER_PROBE] = drop_probe,
    [VRT_WORKER_PREPARE] = drop_prepare,
    [VRT_WORKER_RUN] = drop_run,
    [VRT_WORKER_RELEASE] = drop_release,
    [VRT_WORKER_CHECKUP] = drop_checkup,
};

struct vrt_worker_task *vrt_worker_task_free(struct vrt_worker_task *task)
{
    if (task && drops[task->request])
        drops[task->request](task);
    free(task);
    return NULL;
}

static void discard(struct vrt_task *task)
{
    vrt_worker_task_free(vrt_container_of(task, struct vrt_worker_task, task));
}

/* A request of `size` bytes, zeros but for its first member. */
static void *task_new(enum vrt_worker_request request, size_t size)
{
    struct vrt_worker_task *task = calloc(1, size);

    if (!task)
        return NULL;
    vrt_task_init(&task->task, NULL, discard);
    task->request = request;
    task->usage.total_bytes = task->usage.free_bytes = -1;
    task->sensors = (struct vrt_device_sensors)VRT_DEVICE_SENSORS_UNKNOWN;
    return task;
}

struct vrt_worker_task *vrt_worker_open_new(void)
{
    return task_new(VRT_WORKER_OPEN, sizeof(struct vrt_worker_task));
}

struct vrt_worker_probe *vrt_worker_probe_new(struct vrt_job_spec *spec)
{
    struct vrt_worker_probe *probe = task_new(VRT_WORKER_PROBE, sizeof(*probe));

    if (!probe)
        return NULL;
    probe->probe.spec = vrt_job_spec_ref(spec);
    probe->probe.speed_over_flops = INT64_MAX;
    probe->probe.f32_speedup = NAN;
    return probe;
}

struct vrt_worker_task *vrt_worker_prepare_new(struct vrt_job_spec *spec, enum vrt_dtype dtype,
                                               int batch)
{
    struct vrt_worker_prepare *prepare = task_new(VRT_WORKER_PREPARE, sizeof(*prepare));

    if (!prepare)
        return NULL;
    prepare->spec = vrt_job_spec_ref(spec);
    prepare->dtype = dtype;
    prepare->batch = batch;
    return &prepare->base;
}

struct vrt_worker_run *vrt_worker_run_new(struct vrt_job_spec *spec, enum vrt_dtype dtype,
                                          int batch)
{
    struct vrt_worker_run *run = task_new(VRT_WORKER_RUN, sizeof(*run));

    if (!run)
        return NULL;
    run->spec = vrt_job_spec_ref(spec);
    run->dtype = dtype;
    run->batch = batch;
    run->job_bytes = -1;
    return run;
}

struct vrt_worker_task *vrt_worker_release_new(struct vrt_job_spec *spec)
{
    struct vrt_worker_release *release = task_new(VRT_WORKER_RELEASE, sizeof(*release));

    if (!release)
        return NULL;
    release->spec = vrt_job_spec_ref(spec);
    return &release->base;
}

struct vrt_worker_trim *vrt_worker_trim_new(int64_t idle_ns, bool resets_peak)
{
    struct vrt_worker_trim *trim = task_new(VRT_WORKER_TRIM, sizeof(*trim));

    if (!trim)
        return NULL;
    trim->idle_ns = idle_ns;
    trim->resets_peak = resets_peak;
    return trim;
}

struct vrt_worker_task *vrt_worker_tell_new(void)
{
    return task_new(VRT_WORKER_TELL, sizeof(struct vrt_worker_task));
}

struct vrt_worker_checkup *vrt_worker_checkup_new(struct vrt_checkup *checkup)
{
    struct vrt_worker_checkup *task = task_new(VRT_WORKER_CHECKUP, sizeof(*task));

    if (task)
        task->checkup = checkup;
    return task;
}
