/* SPDX-License-Identifier: MIT */

/*
 * One task after the other, each answered with the device's accounts as they are after it, so that
 * the loop never has to ask. A lost device is closed at once: drivers keep nothing that survives
 * it, and what is queued behind then fails fast instead of hanging.
 */

#include "workers/device/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "workers/device/speed.h"

#define VRT_LOG_TOPIC "worker"

/* Between the loop and what computes on processors (see NICE in the cpu backend's pool.c): an
 * accelerator that waits for its next launch wastes more than anybody else can use. */
#define WORKER_NICE 5

/* Sensors are asked so often at most: a shard doesn't wait for them more than now and then. */
#define SENSORS_PERIOD_NS VRT_NS_PER_S

struct vrt_shared_registry {
    atomic_int n_refs;
    struct vrt_registry *registry;
};

/* Requests that nobody but the worker looks into. */
struct prepare {
    struct vrt_worker_task base;
    struct vrt_job_spec *spec;      /* a reference */
    enum vrt_dtype dtype;
};

struct release {
    struct vrt_worker_task base;
    struct vrt_job_spec *spec;      /* a reference */
};

struct trim {
    struct vrt_worker_task base;
    int64_t idle_ns;
};

struct worker {
    /* immutable */
    struct vrt_shared_registry *registry;   /* a reference */
    const struct vrt_device_info *info;
    struct vrt_device_executor_params executor_params;

    struct {                            /* the worker's thread */
        struct vrt_mailbox *mailbox;
        struct vrt_device *device;      /* NULL: not open */
        struct vrt_device_executor *executor;
        struct vrt_worker_task *task;   /* in hand */
        struct vrt_device_sensors sensors;
        int64_t sensors_ns;             /* when they were asked; 0: not since it was opened */
    } own;
};

int vrt_shared_registry_new(struct vrt_registry *registry,
                            struct vrt_shared_registry **ret_shared)
{
    struct vrt_shared_registry *shared = calloc(1, sizeof(*shared));

    if (!shared)
        return vrt_raise(-ENOMEM);
    atomic_init(&shared->n_refs, 1);
    shared->registry = registry;
    *ret_shared = shared;
    return 0;
}

const struct vrt_registry *vrt_shared_registry_get(const struct vrt_shared_registry *shared)
{
    return shared->registry;
}

struct vrt_shared_registry *vrt_shared_registry_unref(struct vrt_shared_registry *shared)
{
    if (shared && atomic_fetch_sub(&shared->n_refs, 1) == 1) {
        vrt_registry_free(shared->registry);
        free(shared);
    }
    return NULL;
}

static void close_device(struct worker *worker)
{
    worker->own.executor = vrt_device_executor_free(worker->own.executor);
    worker->own.device = vrt_device_close(worker->own.device);
    worker->own.sensors = (struct vrt_device_sensors)VRT_DEVICE_SENSORS_UNKNOWN;
    worker->own.sensors_ns = 0;
}

static void ask_sensors(struct worker *worker)
{
    const int64_t now_ns = vrt_clock_now_ns();

    if (worker->own.sensors_ns && now_ns - worker->own.sensors_ns < SENSORS_PERIOD_NS)
        return;
    vrt_device_sensors(worker->own.device, &worker->own.sensors);
    worker->own.sensors_ns = now_ns;
}

/* Writes a few bytes to the device and reads them back. */
static int try_out(struct vrt_device *device, struct vrt_error *error)
{
    static const unsigned char wanted[64] = "a device that answers gives back what it was given";
    unsigned char got[sizeof(wanted)] = { 0 };
    struct vrt_buffer *buffer = NULL;
    int r = vrt_buffer_new(device, sizeof(wanted), &buffer);

    if (r == 0)
        r = vrt_buffer_write(device, buffer, 0, wanted, sizeof(wanted));
    if (r == 0)
        r = vrt_device_finish(device);
    if (r == 0)
        r = vrt_buffer_read(device, buffer, 0, got, sizeof(got));
    vrt_buffer_free(device, buffer);
    if (r != 0 || memcmp(got, wanted, sizeof(wanted)) == 0)
        return r;
    return vrt_refuse(error, VRT_BACKEND_E_FAILED, "device.failed",
                      "bytes that it was given came back as others");
}

/* Between tiles, and while weights come: the device is alive, and the shard still wanted. */
static bool go_on(void *ctx)
{
    struct worker *worker = ctx;

    vrt_mailbox_beat(worker->own.mailbox);
    return !atomic_load(&worker->own.task->task.cancel);
}

/* Within what may take long before there is a tile. */
static void alive(void *ctx)
{
    struct worker *worker = ctx;

    vrt_mailbox_beat(worker->own.mailbox);
}

static int do_open(struct worker *worker, struct vrt_worker_task *task)
{
    int r = 0;

    if (!worker->own.device) {
        r = vrt_device_open(worker->registry->registry, worker->info, &worker->own.device);
        struct vrt_device_executor_params params = worker->executor_params;
        params.watch = (struct vrt_replica_watch){ go_on, worker };
        if (r == 0) {
            vrt_device_watch(worker->own.device, alive, worker);
            r = vrt_device_executor_new(worker->own.device, &params, &worker->own.executor);
        }
    }
    if (r == 0)
        r = try_out(worker->own.device, &task->error);
    if (r != 0)
        close_device(worker);
    return r;
}

/* Fills in how fast the device will be, if it can be found out: an estimate is no reason to refuse
 * what the device could do. */
static int measure_speed(struct worker *worker, struct vrt_probe *probe)
{
    struct vrt_error error = { .id = NULL };
    const struct vrt_speed_measurement measurement = {
        .network = probe->spec->network,
        .dtype = probe->dtype,
        .width = probe->size.grid.x.size,
        .height = probe->size.grid.y.size,
        .watch = { go_on, worker },
    };
    double *flops_per_s = &probe->flops_per_s[probe->dtype];
    int r = vrt_speed_measure(worker->own.executor, &measurement, flops_per_s, &error);

    if (r == 0)
        vrt_log_info("%s in %s on %s: %.1f GFLOP/s",
                     vrt_network_info(probe->spec->network)->description,
                     vrt_dtype_name(probe->dtype), worker->info->name, *flops_per_s / 1e9);
    else
        vrt_log_info("%s: its speed could not be measured: %s", worker->info->name,
                     error.message);
    return r == VRT_BACKEND_E_LOST || r == -ECANCELED ? r : 0;
}

static int do_probe(struct worker *worker, struct vrt_worker_task *task)
{
    struct vrt_probe *probe = &vrt_worker_probe_of(task)->probe;
    int r = vrt_device_executor_probe(worker->own.executor, probe, &task->error);

    if (r != 0)
        return r;
    if (vrt_speed_frame_flops(probe->spec, probe->tile_flops) > probe->speed_over_flops &&
        !(probe->flops_per_s[probe->dtype] > 0))
        r = measure_speed(worker, probe);
    return r;
}

static void drop_probe(struct vrt_worker_task *task)
{
    vrt_job_spec_unref(vrt_worker_probe_of(task)->probe.spec);
}

static int do_prepare(struct worker *worker, struct vrt_worker_task *task)
{
    const struct prepare *prepare = vrt_container_of(task, struct prepare, base);

    return vrt_device_executor_prepare(worker->own.executor, prepare->spec, prepare->dtype);
}

static void drop_prepare(struct vrt_worker_task *task)
{
    vrt_job_spec_unref(vrt_container_of(task, struct prepare, base)->spec);
}

static int do_run(struct worker *worker, struct vrt_worker_task *task)
{
    struct vrt_worker_run *run = vrt_worker_run_of(task);
    const struct vrt_device_executor_order order = {
        .spec = run->spec,
        .dtype = run->dtype,
        .watch = { go_on, worker },
        .op_times = run->by_ops ? &run->op_times : NULL,
        .accepts_odd = run->accepts_odd,
    };

    return vrt_device_executor_run(worker->own.executor, &order, &run->frames, &run->times,
                                   &task->error);
}

static void drop_run(struct vrt_worker_task *task)
{
    struct vrt_worker_run *run = vrt_worker_run_of(task);

    vrt_shard_frames_done(&run->frames);
    vrt_job_spec_unref(run->spec);
}

static int do_release(struct worker *worker, struct vrt_worker_task *task)
{
    vrt_device_executor_release(worker->own.executor,
                                vrt_container_of(task, struct release, base)->spec);
    return 0;
}

static void drop_release(struct vrt_worker_task *task)
{
    vrt_job_spec_unref(vrt_container_of(task, struct release, base)->spec);
}

static int do_trim(struct worker *worker, struct vrt_worker_task *task)
{
    vrt_device_executor_trim(worker->own.executor,
                             vrt_container_of(task, struct trim, base)->idle_ns);
    return 0;
}

static int do_tell(struct worker *worker, struct vrt_worker_task *task)
{
    (void)worker;
    (void)task;
    return 0;
}

static int do_checkup(struct worker *worker, struct vrt_worker_task *task)
{
    return vrt_device_executor_checkup(worker->own.executor, vrt_container_of(task,
                                       struct vrt_worker_checkup, base)->checkup);
}

static void drop_checkup(struct vrt_worker_task *task)
{
    vrt_checkup_free(vrt_container_of(task, struct vrt_worker_checkup, base)->checkup);
}

/* What to do for each request, and how to drop the references that it holds; NULL: it has none. */
static const struct {
    int (*perform)(struct worker *worker, struct vrt_worker_task *task);
    void (*drop)(struct vrt_worker_task *task);
} requests[VRT_WORKER_REQUEST_COUNT] = {
    [VRT_WORKER_OPEN] = { do_open, NULL },
    [VRT_WORKER_PROBE] = { do_probe, drop_probe },
    [VRT_WORKER_PREPARE] = { do_prepare, drop_prepare },
    [VRT_WORKER_RUN] = { do_run, drop_run },
    [VRT_WORKER_RELEASE] = { do_release, drop_release },
    [VRT_WORKER_TRIM] = { do_trim, NULL },
    [VRT_WORKER_TELL] = { do_tell, NULL },
    [VRT_WORKER_CHECKUP] = { do_checkup, drop_checkup },
};

struct vrt_worker_task *vrt_worker_task_free(struct vrt_worker_task *task)
{
    if (task && requests[task->request].drop)
        requests[task->request].drop(task);
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
    return probe;
}

struct vrt_worker_task *vrt_worker_prepare_new(struct vrt_job_spec *spec, enum vrt_dtype dtype)
{
    struct prepare *prepare = task_new(VRT_WORKER_PREPARE, sizeof(*prepare));

    if (!prepare)
        return NULL;
    prepare->spec = vrt_job_spec_ref(spec);
    prepare->dtype = dtype;
    return &prepare->base;
}

struct vrt_worker_run *vrt_worker_run_new(struct vrt_job_spec *spec, enum vrt_dtype dtype)
{
    struct vrt_worker_run *run = task_new(VRT_WORKER_RUN, sizeof(*run));

    if (!run)
        return NULL;
    run->spec = vrt_job_spec_ref(spec);
    run->dtype = dtype;
    run->job_bytes = -1;
    return run;
}

struct vrt_worker_task *vrt_worker_release_new(struct vrt_job_spec *spec)
{
    struct release *release = task_new(VRT_WORKER_RELEASE, sizeof(*release));

    if (!release)
        return NULL;
    release->spec = vrt_job_spec_ref(spec);
    return &release->base;
}

struct vrt_worker_task *vrt_worker_trim_new(int64_t idle_ns)
{
    struct trim *trim = task_new(VRT_WORKER_TRIM, sizeof(*trim));

    if (!trim)
        return NULL;
    trim->idle_ns = idle_ns;
    return &trim->base;
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

static int perform(struct worker *worker, struct vrt_worker_task *task)
{
    if (atomic_load(&task->task.cancel))
        return -ECANCELED;
    if (task->request != VRT_WORKER_OPEN && !worker->own.executor)
        return VRT_BACKEND_E_LOST;
    return requests[task->request].perform(worker, task);
}

static void note_job_bytes(const struct worker *worker, struct vrt_worker_run *run)
{
    run->job_bytes = vrt_device_executor_job_bytes(worker->own.executor, run->spec);
}

/* Does what the task asks, and fills in what it tells in any case. */
static enum vrt_task_outcome do_task(struct worker *worker, struct vrt_worker_task *task)
{
    int64_t start_ns = vrt_clock_now_ns();

    task->result = perform(worker, task);
    if (task->result) {
        int ignored = vrt_refuse(&task->error, task->result, "device.failed", "%s",
                                 vrt_backend_strerror(task->result));
        (void)ignored;
    }
    /* Before the accounts are taken: what it held is gone. */
    if (task->result == VRT_BACKEND_E_LOST)
        close_device(worker);
    if (worker->own.executor) {
        vrt_device_executor_usage(worker->own.executor, &task->usage);
        ask_sensors(worker);
        task->sensors = worker->own.sensors;
        if (task->request == VRT_WORKER_RUN)
            note_job_bytes(worker, vrt_worker_run_of(task));
    }
    task->busy_ns = vrt_clock_now_ns() - start_ns;
    if (task->result == -ECANCELED)
        return VRT_TASK_CANCELLED;
    return task->result ? VRT_TASK_FAILED : VRT_TASK_DONE;
}

static void done(struct worker *worker)
{
    vrt_replica_store_unref(worker->executor_params.store);
    vrt_shared_registry_unref(worker->registry);
    free(worker);
}

static void run(struct vrt_mailbox *mailbox, void *ctx)
{
    struct worker *worker = ctx;
    struct vrt_task *task;

    worker->own.mailbox = mailbox;
    while ((task = vrt_mailbox_take(mailbox))) {
        worker->own.task = vrt_container_of(task, struct vrt_worker_task, task);
        enum vrt_task_outcome outcome = do_task(worker, worker->own.task);
        worker->own.task = NULL;
        vrt_mailbox_return(mailbox, task, outcome);
    }
    close_device(worker);
    done(worker);
}

int vrt_worker_new(const struct vrt_worker_params *params, struct vrt_mailbox **ret_mailbox)
{
    struct worker *worker = calloc(1, sizeof(*worker));
    int r;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!worker)
        return vrt_raise(-ENOMEM);
    atomic_fetch_add(&params->registry->n_refs, 1);
    worker->registry = params->registry;
    worker->info = params->info;
    worker->executor_params = params->executor;
    if (params->executor.store)
        vrt_replica_store_ref(params->executor.store);
    const struct vrt_mailbox_params mailbox = {
        .name = params->info->name,
        .capacity = VRT_WORKER_CAPACITY,
        .nice = WORKER_NICE,
        .run = run,
        .run_ctx = worker,
        .ended = params->ended,
        .ended_ctx = params->ctx,
    };
    r = vrt_mailbox_new(params->outbox, &mailbox, ret_mailbox);
    if (r < 0) {
        done(worker);
        return vrt_fold(r);
    }
    return 0;
}
