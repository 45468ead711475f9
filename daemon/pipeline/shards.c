/* SPDX-License-Identifier: MIT */

/*
 * A shard between decoder and encoder: it waits, is with a device, fails and waits again, or is
 * restored and waits for those before it. What failed goes once more to the same device, then to
 * the others; what fails everywhere fails the job. One that is with a device for too long may be
 * given to a second one: then the first result is taken, and nobody waits for the other.
 */

#include "daemon/pipeline/glimpse.h"
#include "daemon/pipeline/shards.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/kind.h"
#include "base/log.h"
#include "frames/clips/clip.h"

#define VRT_LOG_TOPIC "pipeline"

/* A shard that failed so often, but for odd results, fails its job, however many devices there
 * are. */
#define FAILURES_MAX 16

/* So often a shard that failed on every device begins anew, unless all it ever got was wrong
 * results: then they are the network's. */
#define ROUNDS_MAX 2

/* A device on which there was no memory so often leaves the job: for the two shards that it held at
 * a time, and for one by itself. */
#define NOMEM_MAX 3

/* Shards that wait, beyond one for each place with a device: none ever waits for the decoder. */
#define READY_SPARE 2

/* Tasks that the decode thread holds besides: one in hand, one to go on with. */
#define DECODING 2

/* Shards that live take no more of the host's memory, as far as every device still gets its own.
 * Among unlike devices more may run ahead of a slow one, within AHEAD_BYTES. */
#define LIVE_BYTES (INT64_C(1) << 30)
#define AHEAD_BYTES (INT64_C(256) << 20)
#define AHEAD_MAX 64

/* A shard's stay with a device. */
struct try {
    struct vrt_worker_run *run;
    size_t device;
};

/* A run of frames on its way. It is in one of the lists. */
struct shard {
    struct vrt_list link;
    int64_t index;
    struct vrt_shard_frames frames;     /* in[]: until restored; out[]: from then on */
    struct try tries[2];                /* that are out: one, or a straggler's two */
    int n_tries;
    int last_failed;                    /* the device it failed on last; -1: none */
    uint64_t excluded;                  /* devices on which it failed twice */
    uint64_t suspects;                  /* devices whose results for it were wrong */
    uint64_t odd;                       /* likewise, unless the network means it */
    int n_failures, n_rounds;           /* round: it failed twice on every device there is */
    bool failed_otherwise;              /* than by wrong results, in this round */
    char why[640];                      /* of the last failure */
    char wrong[512];                    /* what was wrong with the last result */
};

static struct vrt_shards *shards_of(struct vrt_pool_job *job)
{
    return vrt_container_of(job, struct vrt_shards, job);
}

static const char *device_name(const struct vrt_shards *shards, size_t d)
{
    size_t n_infos;

    return vrt_pool_infos(shards->params.pool, &n_infos)[d]->name;
}

static struct shard *shard_free(struct shard *shard)
{
    vrt_shard_frames_done(&shard->frames);
    free(shard);
    return NULL;
}

/* Puts the shard into a list that is sorted by index. */
static void insert_sorted(struct vrt_list *list, struct shard *shard)
{
    struct vrt_list *at = list;

    while (at->previous != list &&
           vrt_container_of(at->previous, struct shard, link)->index > shard->index)
        at = at->previous;
    vrt_list_insert_before(at, &shard->link);
}

/* Return: how many there were. */
static int drop_all(struct vrt_list *list)
{
    struct shard *shard;
    int n = 0;

    VRT_LIST_FOREACH(shard, list, link) {
        vrt_list_remove(&shard->link);
        shard_free(shard);
        n++;
    }
    return n;
}

static void drop_waiting(struct vrt_shards *shards)
{
    shards->n_shards -= drop_all(&shards->ready) + drop_all(&shards->restored);
    shards->n_ready = shards->job.n_ready = 0;
}

int vrt_shards_add(struct vrt_shards *shards, struct vrt_shard_frames *frames)
{
    struct shard *shard = calloc(1, sizeof(*shard));

    if (!shard)
        return vrt_raise(-ENOMEM);
    shard->index = shards->next_index++;
    shard->last_failed = -1;
    shard->frames = *frames;
    frames->n = 0;
    shards->params.progress->frames_decoded += shard->frames.n_new;
    shards->n_shards++;
    shards->n_ready++;
    insert_sorted(&shards->ready, shard);
    return 0;
}

/* The first one for the encoder, though others before it may be missing. */
static struct shard *first_restored(const struct vrt_shards *shards)
{
    return VRT_LIST_FIRST(&shards->restored, struct shard, link);
}

bool vrt_shards_next_is_restored(const struct vrt_shards *shards)
{
    const struct shard *shard = first_restored(shards);

    return shard && shard->index == shards->next_encode;
}

int64_t vrt_shards_take_restored(struct vrt_shards *shards, struct vrt_shard_frames *ret_frames)
{
    struct shard *shard = first_restored(shards);

    *ret_frames = shard->frames;
    shard->frames.n = 0;
    vrt_list_remove(&shard->link);
    shard_free(shard);
    shards->n_shards--;
    return shards->next_encode++;
}

/* Where the shard may go: once more to the device it failed on, else where it didn't fail twice. */
static uint64_t devices_for(const struct vrt_shards *shards, const struct shard *shard)
{
    uint64_t devices = shards->devices & ~shard->excluded;
    uint64_t again = shard->last_failed < 0 ? 0 : UINT64_C(1) << shard->last_failed;

    again &= devices & vrt_pool_devices(shards->params.pool).ready;
    return again ? again : devices;
}

void vrt_shards_describe(struct vrt_shards *shards)
{
    const struct shard *head = VRT_LIST_FIRST(&shards->ready, struct shard, link);
    int64_t frames_total = shards->params.progress->told.frames_total, n_left = INT_MAX, n_clips;

    /* The container's count may be a few off, and scenes add clips: while frames come, there is
     * one more. */
    if (shards->at_end) {
        n_left = shards->n_ready;
    } else if (frames_total >= 0) {
        n_clips = vrt_clip_count(&shards->work.spec->rule,
                                 frames_total * shards->work.spec->recipe.every /
                                     shards->work.spec->recipe.times);
        n_left = VRT_MAX(n_clips - shards->n_handed, shards->n_ready + 1);
    }
    shards->job.n_ready = shards->is_held ? 0 : shards->n_ready;
    shards->job.n_left = (int)VRT_MIN(n_left, INT_MAX);
    shards->job.n_window = shards->live_max;
    shards->job.is_held_up = !shards->n_ready && !shards->is_held &&
        (shards->at_end || (shards->n_shards >= shards->live_max && !shards->n_elsewhere));
    shards->job.devices = head ? devices_for(shards, head) : 0;
}

/* Says of each device that is lost or in quarantine that the job does without it. */
static void warn_of_absent(struct vrt_shards *shards)
{
    const uint64_t absent = shards->devices & ~vrt_pool_devices(shards->params.pool).ready &
                            ~vrt_pool_devices(shards->params.pool).starting;
    const uint64_t missed = absent & ~shards->absent;

    shards->absent = absent;
    for (size_t d = 0; missed && d < vrt_pool_n_devices(shards->params.pool); d++)
        if (missed >> d & 1)
            vrt_progress_warn(shards->params.progress, "%s is left out until it works again: %s",
                              device_name(shards, d),
                              vrt_pool_device_error(shards->params.pool, d));
}

/* Why no device is left for the shard, or has been for too long. */
static int refuse_devices(const struct vrt_shards *shards, const struct shard *shard,
                          bool any_may_come, struct vrt_error *error)
{
    const struct vrt_pool *pool = shards->params.pool;
    char why[sizeof(shard->why)];

    snprintf(why, sizeof(why), "%s", shard->why);
    for (size_t d = 0; !why[0] && d < vrt_pool_n_devices(pool); d++)
        if (shards->work.devices >> d & 1 && vrt_pool_device_error(pool, d)[0])
            snprintf(why, sizeof(why), "%s: %s", device_name(shards, d),
                     vrt_pool_device_error(pool, d));
    if (shards->devices & shard->excluded && !any_may_come)
        return vrt_refuse(error, -EIO, "device.failed",
                          "the frames from %" PRId64 " on could not be restored on any device: %s",
                          shard->frames.in[0]->index, why);
    /* Those that left could do smaller shards, whatever became of the others. */
    return vrt_refuse(error, -EIO, shards->devices == shards->work.devices ?
                      "device.failed" : "device.memory", "no device is left for the job: %s", why);
}

int vrt_shards_check_devices(struct vrt_shards *shards, struct vrt_error *error)
{
    const struct shard *head = VRT_LIST_FIRST(&shards->ready, struct shard, link);
    uint64_t ready = vrt_pool_devices(shards->params.pool).ready;
    uint64_t hopeful = vrt_pool_devices(shards->params.pool).hopeful;

    warn_of_absent(shards);
    if (!head || shards->is_held)
        return 0;
    uint64_t able = shards->devices & ~head->excluded;
    bool waits = vrt_patience_is_over(&shards->patience, able & ready);
    if (able & ready || (able & hopeful && !waits))
        return 0;
    return refuse_devices(shards, head, able & (ready | hopeful), error);
}

/* Makes the shard's task for device `d`. Return: NULL: no memory. */
static struct vrt_worker_run *begin_try(struct vrt_shards *shards, struct shard *shard, size_t d)
{
    struct vrt_progress_device *device = &shards->params.progress->devices[d];
    struct vrt_worker_run *run = vrt_worker_run_new(shards->work.spec, device->dtype,
                                                   device->batch);

    if (!run)
        return NULL;
    vrt_log_debug("job %s: shard %" PRId64 " goes to %s", shards->params.job_id, shard->index,
                  device_name(shards, d));
    run->base.ctx = shard;
    run->accepts_odd = shards->accepts_odd;
    vrt_shard_frames_copy(&shard->frames, &run->frames);
    shard->tries[shard->n_tries++] = (struct try){ .run = run, .device = d };
    shards->n_running++;
    vrt_progress_note_run(shards->params.progress, d, shard->n_tries == 1 ? run : NULL);
    /* Whatever becomes of it, the device must be told to forget the job. */
    shards->holding |= UINT64_C(1) << d;
    return run;
}

/* Takes the shard's try on device `d` back: it came back, or is not waited for. */
static struct vrt_worker_run *end_try(struct vrt_shards *shards, struct shard *shard, size_t d)
{
    struct vrt_worker_run *run;
    int i = 0;

    while (shard->tries[i].device != d)
        i++;
    run = shard->tries[i].run;
    shard->tries[i] = shard->tries[--shard->n_tries];
    shards->n_running--;
    vrt_progress_forget_run(shards->params.progress, d, run);
    return run;
}

static struct vrt_worker_run *take(struct vrt_pool_job *job, size_t d)
{
    struct vrt_shards *shards = shards_of(job);
    struct shard *shard = VRT_LIST_FIRST(&shards->ready, struct shard, link);
    struct vrt_worker_run *run;

    if (!shard || shards->is_closed || shards->is_held || !(devices_for(shards, shard) >> d & 1))
        return NULL;
    run = begin_try(shards, shard, d);
    if (!run)
        return NULL;
    vrt_list_remove(&shard->link);
    vrt_list_append(&shards->running, &shard->link);
    shards->n_ready--;
    shards->n_handed++;
    vrt_shards_describe(shards);
    return run;
}

static uint64_t may_copy(const struct vrt_pool_job *job, const void *ctx)
{
    const struct vrt_shards *shards = vrt_container_of(job, const struct vrt_shards, job);
    const struct shard *shard = ctx;
    uint64_t devices = shards->devices & ~shard->excluded;

    if (shards->is_closed || shard->n_tries != 1)
        return 0;
    if (shard->last_failed >= 0)
        devices &= ~(UINT64_C(1) << shard->last_failed);
    return devices & ~(UINT64_C(1) << shard->tries[0].device);
}

static struct vrt_worker_run *copy(struct vrt_pool_job *job, void *ctx, size_t d)
{
    struct vrt_shards *shards = shards_of(job);
    struct shard *shard = ctx;
    struct vrt_worker_run *run = begin_try(shards, shard, d);

    if (!run)
        return NULL;
    vrt_log_info("job %s: shard %" PRId64 " takes long on %s, %s runs it too",
                 shards->params.job_id, shard->index,
                 device_name(shards, shard->tries[0].device), device_name(shards, d));
    return run;
}

/* The shard is restored: its pictures take the place of the decoder's. */
static void accept(struct vrt_shards *shards, struct shard *shard, size_t d,
                   struct vrt_worker_run *run)
{
    struct vrt_progress_device *device = &shards->params.progress->devices[d];

    while (shard->n_tries > 0)
        vrt_pool_job_drop(&shards->job, end_try(shards, shard, shard->tries[0].device));
    vrt_list_remove(&shard->link);
    vrt_glimpse_note(shards->params.glimpse, &shard->frames, &run->frames);
    vrt_shard_frames_take_out(&shard->frames, &run->frames);
    device->shards_done++;
    device->frames_done += shard->frames.n_new;
    shards->n_nomem[d] = 0;
    insert_sorted(&shards->restored, shard);
    /* This device shows that the shard can be done: those whose results were wrong are at fault. */
    for (size_t e = 0; e < vrt_pool_n_devices(shards->params.pool); e++)
        if (e != d && (shard->suspects | (shards->accepts_odd ? 0 : shard->odd)) >> e & 1)
            vrt_pool_blame(shards->params.pool, e, shard->wrong);
}

static void begin_round(struct shard *shard)
{
    shard->excluded = 0;
    shard->failed_otherwise = false;
}

/* Whether what all devices made of the shard looked odd, and one of them is a processor, of which
 * no driver stands in between: then it is the network that blackens or recolours. */
static bool is_meant(const struct vrt_shards *shards, const struct shard *shard)
{
    size_t n_infos;
    const struct vrt_device_info *const *infos = vrt_pool_infos(shards->params.pool, &n_infos);
    bool any_cpu = false;

    for (size_t d = 0; d < n_infos; d++)
        any_cpu |= shards->devices >> d & 1 && !vrt_device_kind_is_accelerator(infos[d]->kind);
    return any_cpu && !(shards->devices & ~shard->odd);
}

/* From now on the job takes such pictures as they are: also those that were under way meanwhile. */
static void accept_odd(struct vrt_shards *shards, struct shard *shard)
{
    if (!shards->accepts_odd)
        vrt_progress_warn(shards->params.progress, "this network blackens or recolours pictures on "
                          "every device, a processor too (%s): they are taken as they are",
                          shard->why);
    shards->accepts_odd = true;
    begin_round(shard);
}

/* Notes what the shard went through. */
static void note_failure(struct vrt_shards *shards, struct shard *shard, size_t d,
                         const struct vrt_worker_task *task)
{
    bool told = task->task.outcome == VRT_TASK_FAILED;
    uint64_t bit = UINT64_C(1) << d;
    const char *name = device_name(shards, d);
    VRT_LOG_DEVICE(name);

    /* Never begun: nobody's fault. */
    if (task->task.outcome == VRT_TASK_STOPPED)
        return;
    snprintf(shard->why, sizeof(shard->why), "%s: %s", name,
             told ? task->error.message : "no sign of life");
    vrt_log_warning("job %s: shard %" PRId64 " failed on %s", shards->params.job_id, shard->index,
                    shard->why);
    shards->params.progress->devices[d].shards_failed++;
    if (told && task->result == VRT_BACKEND_E_NOMEM) {
        if (++shards->n_nomem[d] >= NOMEM_MAX) {
            vrt_progress_warn(shards->params.progress, "%s ran out of memory and left the job",
                              name);
            shards->devices &= ~bit;
        }
        return;
    }
    bool is_odd = told && task->result == VRT_DEVICE_EXECUTOR_E_ODD;
    if (told && vrt_device_executor_is_wrong(task->result)) {
        *(is_odd ? &shard->odd : &shard->suspects) |= bit;
        snprintf(shard->wrong, sizeof(shard->wrong), "%s", task->error.message);
    } else {
        shard->failed_otherwise = true;
    }
    /* Once more on the same device, then elsewhere. */
    if (shard->last_failed == (int)d)
        shard->excluded |= bit;
    shard->last_failed = shard->last_failed == (int)d ? -1 : (int)d;
    bool all = !(shards->devices & ~shard->excluded);
    /* Odd results harm no device, and all are to be asked. */
    shard->n_failures += !is_odd;
    if (shard->n_failures >= FAILURES_MAX)
        shard->excluded = shards->devices;
    else if (all && is_meant(shards, shard))
        accept_odd(shards, shard);
    else if (all && shard->failed_otherwise && shard->n_rounds++ < ROUNDS_MAX)
        begin_round(shard);
}

/* The shard goes back to those that wait, unless another device has it too. */
static void requeue(struct vrt_shards *shards, struct shard *shard)
{
    if (shard->n_tries > 0)
        return;
    vrt_list_remove(&shard->link);
    insert_sorted(&shards->ready, shard);
    shards->n_ready++;
    shards->n_handed--;
}

static void returned(struct vrt_pool_job *job, size_t d, struct vrt_worker_run *run)
{
    struct vrt_shards *shards = shards_of(job);
    const struct vrt_worker_task *task = &run->base;
    struct shard *shard = task->ctx;
    struct vrt_progress_device *device = &shards->params.progress->devices[d];

    end_try(shards, shard, d);
    if (!task->task.abandoned) {
        vrt_progress_note_times(shards->params.progress, d, &run->times);
        if (run->job_bytes >= 0)
            device->job_bytes = run->job_bytes;
    }
    if (!shards->is_closed && task->task.outcome == VRT_TASK_DONE) {
        accept(shards, shard, d, run);
    } else if (!shards->is_closed) {
        note_failure(shards, shard, d, task);
        requeue(shards, shard);
    } else if (!shard->n_tries) {
        vrt_list_remove(&shard->link);
        shard_free(shard);
        shards->n_shards--;
    }
    shards->params.changed(shards->params.ctx);
}

static void tick(struct vrt_pool_job *job)
{
    shards_of(job)->params.changed(shards_of(job)->params.ctx);
}

static void stop(struct vrt_pool_job *job)
{
    shards_of(job)->params.stopped(shards_of(job)->params.ctx);
}

static const struct vrt_pool_job_ops job_ops = {
    .take = take,
    .may_copy = may_copy,
    .copy = copy,
    .returned = returned,
    .tick = tick,
    .stop = stop,
};

void vrt_shards_init(struct vrt_shards *shards, const struct vrt_shards_params *params)
{
    *shards = (struct vrt_shards){
        .params = *params,
        .job = { .ops = &job_ops, .priority = params->priority, .uid = params->uid },
        .patience.pool = params->pool,
    };
    vrt_list_init(&shards->job.link);
    vrt_list_init(&shards->ready);
    vrt_list_init(&shards->restored);
    vrt_list_init(&shards->running);
    vrt_pool_job_add(params->pool, &shards->job);
}

/* Shards that may live between decoder and encoder. */
static int live_max(const struct vrt_shards_work *work)
{
    int places = VRT_SCHED_IN_FLIGHT * __builtin_popcountll(work->devices);
    int64_t live = 3 * places + READY_SPARE + DECODING;
    const struct vrt_recipe *recipe = &work->spec->recipe;
    const struct vrt_frame_format *in = &work->spec->in, *out = &work->spec->out;
    const int n_out = VRT_MAX(vrt_clip_n_new(&work->spec->rule), recipe->clip_frames);
    int64_t shard_bytes = (int64_t)vrt_frame_format_size_bytes(in) * recipe->clip_frames +
                          (int64_t)vrt_frame_format_size_bytes(out) * n_out;

    /* What it shares with both neighbours is kept as pictures until those are there. */
    shard_bytes += (int64_t)vrt_picture_bytes(out->width, out->height) * 2 * recipe->clip_overlap;
    if (!work->reproducible)
        live = VRT_MAX(live, VRT_MIN(AHEAD_BYTES / shard_bytes, AHEAD_MAX));
    return (int)VRT_MAX(places + READY_SPARE, VRT_MIN(live, LIVE_BYTES / shard_bytes));
}

void vrt_shards_begin(struct vrt_shards *shards, const struct vrt_shards_work *work)
{
    shards->work = *work;
    vrt_job_spec_ref(work->spec);
    shards->devices = work->devices;
    shards->job.tile_flops = work->tile_flops;
    shards->live_max = live_max(work);
}

void vrt_shards_skip(struct vrt_shards *shards, int64_t first)
{
    shards->next_index = shards->next_encode = shards->n_handed = first;
}

int vrt_shards_room(const struct vrt_shards *shards, int n_encoding)
{
    uint64_t ready = vrt_pool_devices(shards->params.pool).ready & shards->devices;
    int wanted = VRT_SCHED_IN_FLIGHT * __builtin_popcountll(ready) + READY_SPARE;

    return VRT_MIN(wanted - shards->n_ready, shards->live_max - shards->n_shards - n_encoding);
}

void vrt_shards_prepare_devices(struct vrt_shards *shards)
{
    for (size_t d = 0; d < vrt_pool_n_devices(shards->params.pool); d++) {
        const struct vrt_progress_device *device = &shards->params.progress->devices[d];
        struct vrt_worker_task *task;
        if (!((shards->devices & ~shards->holding) >> d & 1))
            continue;
        task = vrt_worker_prepare_new(shards->work.spec, device->dtype, device->batch);
        if (!task)
            continue;
        /* A failure will be met again, and handled, by the first shard. */
        if (vrt_pool_submit(shards->params.pool, d, task, NULL, NULL) == 0)
            shards->holding |= UINT64_C(1) << d;
    }
}

/* If the devices can't be told, no memory is lost for good: a device executor gives up sessions of
 * other jobs when it needs room, and a device that was lost holds nothing. */
void vrt_shards_release_devices(struct vrt_shards *shards)
{
    for (size_t d = 0; d < vrt_pool_n_devices(shards->params.pool); d++) {
        if (!(shards->holding >> d & 1))
            continue;
        struct vrt_worker_task *task = vrt_worker_release_new(shards->work.spec);
        if (!task)
            continue;
        shards->holding &= ~(UINT64_C(1) << d);
        if (vrt_pool_submit(shards->params.pool, d, task, NULL, NULL))
            vrt_log_debug("job %s: device %zu has forgotten it already", shards->params.job_id, d);
    }
}

void vrt_shards_keep_held(struct vrt_shards *shards)
{
    if (shards->is_held && !shards->n_running)
        vrt_shards_release_devices(shards);
    if (!shards->is_held && shards->n_ready > 0)
        vrt_shards_prepare_devices(shards);
}

void vrt_shards_close(struct vrt_shards *shards, bool cancel)
{
    struct shard *shard;

    shards->is_closed = true;
    if (cancel)
        VRT_LIST_FOREACH(shard, &shards->running, link)
            for (int i = 0; i < shard->n_tries; i++)
                atomic_store(&shard->tries[i].run->base.task.cancel, true);
    drop_waiting(shards);
}

void vrt_shards_leave(struct vrt_shards *shards)
{
    if (shards->job.ops)
        vrt_pool_job_remove(shards->params.pool, &shards->job);
    shards->job.ops = NULL;
    shards->work.spec = vrt_job_spec_unref(shards->work.spec);
}
