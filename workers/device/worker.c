/* SPDX-License-Identifier: MIT */

/*
 * One task after the other, each answered with the device's accounts as they are after it, so that
 * the loop never has to ask; but where shards follow one another, the next one's frames are on
 * their way to the device before the last one's are back. A lost device is closed at once: drivers
 * keep nothing that survives it, and what is queued behind then fails fast instead of hanging.
 */

#include "workers/device/worker-impl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "workers/device/restore.h"
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

/* Shards whose frames may be on their way: a last one that comes back, one that is computed, and a
 * first one that goes there. */
#define SHARDS_MAX VRT_DEVICE_IN_FLIGHT

/* A shard on its way. */
struct shard {
    struct vrt_worker_run *run;
    struct vrt_device_executor_shard shard;
    int64_t taken_ns;
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
        struct vrt_worker_task *task;   /* being done, or begun */
        struct vrt_worker_task *next;   /* taken, to be done when no shard is on its way; NULL */
        struct shard shards[SHARDS_MAX];        /* the oldest first */
        size_t n_shards;
        int64_t returned_ns;            /* when the last task was */
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

/* How fast the device will be in `dtype`, if it can be found out: an estimate is no reason to
 * refuse what the device could do. */
static int measure_speed(struct worker *worker, const struct vrt_probe *probe,
                         enum vrt_dtype dtype, double *ret_flops_per_s)
{
    struct vrt_error error = { .id = NULL };
    const struct vrt_speed_measurement measurement = {
        .network = probe->spec->network,
        .dtype = dtype,
        .width = probe->size.grid.x.size,
        .height = probe->size.grid.y.size,
        .watch = { go_on, worker },
    };
    int r = vrt_speed_measure(worker->own.executor, &measurement, ret_flops_per_s, &error);

    if (r == 0)
        vrt_log_info("%s in %s on %s: %.1f GFLOP/s",
                     vrt_network_info(probe->spec->network)->description, vrt_dtype_name(dtype),
                     worker->info->name, *ret_flops_per_s / 1e9);
    else
        vrt_log_info("%s: its speed could not be measured: %s", worker->info->name,
                     error.message);
    return r == VRT_BACKEND_E_LOST || r == -ECANCELED ? r : 0;
}

/* Which type is faster depends on network and processor: both are measured, one right after the
 * other, where the shorter one would be taken because it is thought to be. */
static int compare_speeds(struct worker *worker, struct vrt_probe *probe)
{
    double shorter = NAN, f32 = NAN;

    if (probe->spec->recipe.precision != VRT_PRECISION_AUTO || probe->dtype == VRT_DTYPE_F32 ||
        probe->fastest != VRT_PRECISION_AUTO || !isnan(probe->f32_speedup))
        return 0;
    int r = measure_speed(worker, probe, probe->dtype, &shorter);
    if (r != 0)
        return r;
    r = measure_speed(worker, probe, VRT_DTYPE_F32, &f32);
    if (r != 0)
        return r;
    if (!(probe->flops_per_s[probe->dtype] > 0))
        probe->flops_per_s[probe->dtype] = shorter;
    if (!(probe->flops_per_s[VRT_DTYPE_F32] > 0))
        probe->flops_per_s[VRT_DTYPE_F32] = f32;
    probe->f32_speedup = f32 / shorter;
    return 0;
}

static int do_probe(struct worker *worker, struct vrt_worker_task *task)
{
    struct vrt_probe *probe = &vrt_worker_probe_of(task)->probe;
    int r = vrt_device_executor_probe(worker->own.executor, probe, &task->error);

    if (r != 0 ||
        vrt_speed_frame_flops(probe->spec, probe->tile_flops) <= probe->speed_over_flops)
        return r;
    r = compare_speeds(worker, probe);
    if (r == 0 && probe->dtype != VRT_DTYPE_F32 && probe->fastest == VRT_PRECISION_AUTO &&
        probe->f32_speedup >= 1)
        r = vrt_device_executor_probe(worker->own.executor, probe, &task->error);
    if (r != 0 || probe->flops_per_s[probe->dtype] > 0)
        return r;
    return measure_speed(worker, probe, probe->dtype, &probe->flops_per_s[probe->dtype]);
}

static int do_prepare(struct worker *worker, struct vrt_worker_task *task)
{
    const struct vrt_worker_prepare *prepare =
        vrt_container_of(task, struct vrt_worker_prepare, base);

    const struct vrt_device_executor_order order = {
        .spec = prepare->spec,
        .dtype = prepare->dtype,
        .batch = prepare->batch,
    };

    return vrt_device_executor_prepare(worker->own.executor, &order);
}

/* Between its tiles: the same, of a shard that isn't the only one in hand. */
static bool shard_goes_on(void *ctx)
{
    struct vrt_worker_run *run = ctx;

    vrt_mailbox_beat(run->base.task.mailbox);
    return !atomic_load(&run->base.task.cancel);
}

/* Whether the device is done with what it was given when that returns: then it can be said how far
 * it is within a clip. */
static bool is_synchronous(const struct worker *worker)
{
    return worker->info->n_in_flight == 1;
}

static struct vrt_device_executor_order order_of(const struct worker *worker,
                                                 struct vrt_worker_run *run)
{
    return (struct vrt_device_executor_order){
        .spec = run->spec,
        .dtype = run->dtype,
        .batch = run->batch,
        .watch = {
            .go_on = shard_goes_on,
            .ctx = run,
            .done_flops = is_synchronous(worker) ? &run->done_flops : NULL,
        },
        .op_times = run->by_ops ? &run->op_times : NULL,
        .accepts_odd = run->accepts_odd,
    };
}

static int do_release(struct worker *worker, struct vrt_worker_task *task)
{
    vrt_device_executor_release(worker->own.executor,
                                vrt_container_of(task, struct vrt_worker_release, base)->spec);
    return 0;
}

static int do_trim(struct worker *worker, struct vrt_worker_task *task)
{
    struct vrt_worker_trim *trim = vrt_container_of(task, struct vrt_worker_trim, base);

    trim->freed_bytes = vrt_device_executor_trim(worker->own.executor, trim->idle_ns);
    if (trim->resets_peak)
        trim->peak_bytes = vrt_device_executor_reset_peak(worker->own.executor);
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

static int (*const requests[VRT_WORKER_REQUEST_COUNT])(struct worker *worker,
                                                       struct vrt_worker_task *task) = {
    [VRT_WORKER_OPEN] = do_open,
    [VRT_WORKER_PROBE] = do_probe,
    [VRT_WORKER_PREPARE] = do_prepare,
    [VRT_WORKER_RUN] = NULL,            /* begin_shard() */
    [VRT_WORKER_RELEASE] = do_release,
    [VRT_WORKER_TRIM] = do_trim,
    [VRT_WORKER_TELL] = do_tell,
    [VRT_WORKER_CHECKUP] = do_checkup,
};

/* Whether the task can be done at all. Return: 0, and it can; else its result. */
static int admit(const struct worker *worker, const struct vrt_worker_task *task)
{
    if (atomic_load(&task->task.cancel))
        return -ECANCELED;
    return task->request == VRT_WORKER_OPEN || worker->own.executor ? 0 : VRT_BACKEND_E_LOST;
}

static void note_job_bytes(const struct worker *worker, struct vrt_worker_run *run)
{
    run->job_bytes = vrt_device_executor_job_bytes(worker->own.executor, run->spec);
}

/* Returns a task with its result, and what it tells in any case. */
static void answer(struct worker *worker, struct vrt_worker_task *task, int result,
                   int64_t taken_ns)
{
    enum vrt_task_outcome outcome = VRT_TASK_DONE;

    task->result = result;
    if (task->result) {
        int ignored = vrt_refuse(&task->error, task->result, "device.failed", "%s",
                                 vrt_backend_strerror(task->result));
        (void)ignored;
    }
    /* Before the accounts are taken: what it held is gone. */
    if (task->result == VRT_BACKEND_E_LOST && worker->own.n_shards == 0)
        close_device(worker);
    if (worker->own.executor) {
        vrt_device_executor_usage(worker->own.executor, &task->usage);
        ask_sensors(worker);
        task->sensors = worker->own.sensors;
        if (task->request == VRT_WORKER_RUN)
            note_job_bytes(worker, vrt_worker_run_of(task));
    }
    const int64_t now_ns = vrt_clock_now_ns();
    task->busy_ns = now_ns - VRT_MAX(taken_ns, worker->own.returned_ns);
    worker->own.returned_ns = now_ns;
    worker->own.task = NULL;
    if (task->result)
        outcome = task->result == -ECANCELED ? VRT_TASK_CANCELLED : VRT_TASK_FAILED;
    vrt_mailbox_return(worker->own.mailbox, &task->task, outcome);
}

/* Takes a shard in hand, or returns it at once. */
static void begin_shard(struct worker *worker, struct vrt_worker_run *run, int64_t taken_ns)
{
    struct shard *shard = &worker->own.shards[worker->own.n_shards];

    *shard = (struct shard){ .run = run, .taken_ns = taken_ns };
    shard->shard = (struct vrt_device_executor_shard){
        .order = order_of(worker, run),
        .frames = &run->frames,
        .times = &run->times,
        .error = &run->base.error,
    };
    worker->own.task = &run->base;
    int r = vrt_device_executor_begin(worker->own.executor, &shard->shard);
    if (r == 0)
        worker->own.n_shards++;
    else
        answer(worker, &run->base, r, taken_ns);
}

/* Does what a task asks, or begins to; no shard is on its way that may not be. */
static void do_task(struct worker *worker, struct vrt_worker_task *task)
{
    const int64_t taken_ns = vrt_clock_now_ns();
    int r = admit(worker, task);

    worker->own.task = task;
    if (r == 0 && task->request == VRT_WORKER_RUN) {
        begin_shard(worker, vrt_worker_run_of(task), taken_ns);
        return;
    }
    if (r == 0)
        r = requests[task->request](worker, task);
    answer(worker, task, r, taken_ns);
}

/* Whether another task may be taken while shards are on their way: the device has all of them, and
 * room for one more. */
static bool wants_more(const struct worker *worker)
{
    const size_t n = worker->own.n_shards;

    return !worker->own.next && n < VRT_MIN((size_t)worker->info->n_in_flight, SHARDS_MAX) &&
           !vrt_restore_has_more(&worker->own.shards[n - 1].shard);
}

/* What isn't a shard like those on their way waits until these are done, and nothing overtakes it
 * meanwhile. */
static bool may_join(struct worker *worker, struct vrt_worker_task *task)
{
    if (task->request != VRT_WORKER_RUN || atomic_load(&task->task.cancel))
        return false;
    const struct vrt_device_executor_order order = order_of(worker, vrt_worker_run_of(task));
    return !worker->own.shards[0].run->by_ops &&
           vrt_device_executor_is_ready(worker->own.executor, &order);
}

static void take_more(struct worker *worker)
{
    struct vrt_task *taken = vrt_mailbox_take_more(worker->own.mailbox);

    if (!taken)
        return;
    struct vrt_worker_task *task = vrt_container_of(taken, struct vrt_worker_task, task);
    if (may_join(worker, task))
        do_task(worker, task);
    else
        worker->own.next = task;
}

/* Returns the shards that are done, the oldest first. Of a device that is lost all are. */
static void return_shards(struct worker *worker)
{
    size_t n = 0;

    while (n < worker->own.n_shards && vrt_restore_is_done(&worker->own.shards[n].shard))
        n++;
    for (size_t i = 0; i < n; i++) {
        const struct shard shard = worker->own.shards[0];
        worker->own.n_shards--;
        memmove(worker->own.shards, worker->own.shards + 1,
                worker->own.n_shards * sizeof(worker->own.shards[0]));
        answer(worker, &shard.run->base, shard.shard.result, shard.taken_ns);
    }
}

/* Says how far a shard is on a device that computes beside the host: what came back. */
static void note_returned(struct vrt_worker_run *run, const struct vrt_device_executor_shard *shard)
{
    const double flops = vrt_speed_shard_flops(run->spec, run->tile_flops, &run->frames);

    atomic_store_explicit(&run->done_flops,
                          (long long)(flops * shard->n_ended / shard->frames->computed.n),
                          memory_order_relaxed);
}

/* Brings the shards on their way one step on. */
static void advance(struct worker *worker)
{
    struct vrt_device_executor_shard *shards[SHARDS_MAX];

    vrt_mailbox_beat(worker->own.mailbox);
    for (size_t i = 0; i < worker->own.n_shards; i++)
        shards[i] = &worker->own.shards[i].shard;
    vrt_restore_advance(shards, worker->own.n_shards);
    for (size_t i = 0; !is_synchronous(worker) && i < worker->own.n_shards; i++)
        note_returned(worker->own.shards[i].run, shards[i]);
    return_shards(worker);
}

/* What to do when no shard is on its way any more. NULL: end the thread. */
static struct vrt_worker_task *next_task(struct worker *worker)
{
    struct vrt_task *task;

    while (worker->own.n_shards > 0) {
        if (wants_more(worker))
            take_more(worker);
        advance(worker);
    }
    if (worker->own.next)
        return VRT_STEAL(worker->own.next);
    task = vrt_mailbox_take(worker->own.mailbox);
    return task ? vrt_container_of(task, struct vrt_worker_task, task) : NULL;
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
    struct vrt_worker_task *task;

    vrt_log_set_device(worker->info->name);
    worker->own.mailbox = mailbox;
    while ((task = next_task(worker)))
        do_task(worker, task);
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
