/* SPDX-License-Identifier: MIT */

/*
 * What the queue does to the store, and what it finds there at a start
 *
 * A job may not be freed while a write of it is under way: n_saving counts those, and the last one
 * frees a job that was forgotten meanwhile. Working files go only after the row that made them
 * needless is on the disk: a crash between the two leaves files without a use, never the reverse.
 */

#include "daemon/jobs/queue-impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/systemd/fd-store.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/access/quota.h"
#include "daemon/jobs/spool.h"

#define VRT_LOG_TOPIC "queue"

/* A start that comes to nothing so often is not tried again. */
#define BARREN_MAX 3

/* Of what is told of a segment in the store, in bytes or frames: 256 TiB. */
#define SEGMENT_NUMBER_MAX (INT64_C(1) << 48)

/* A write on its way; or a removal, which has no job. */
struct saving {
    struct vrt_queue *queue;
    struct vrt_job *job;
    void (*then)(struct vrt_job *job, int r);
    uint64_t number;                /* of the job's writes */
    struct vrt_segment_record segment;
};

void vrt_queue_await_stored(struct vrt_job *job, struct vrt_queue_wait *wait)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    wait->last = job->n_writes;
    wait->n_writes = job->n_saving;
    if (wait->n_writes)
        vrt_list_append(&job->waits, &wait->link);
    else
        wait->stored(wait, job);
}

/* The job's write of this number is through: that of who began to wait behind it. */
static void count_down_waits(struct vrt_job *job, uint64_t number)
{
    struct vrt_queue_wait *wait;

    VRT_LIST_FOREACH(wait, &job->waits, link) {
        if (number > wait->last || --wait->n_writes > 0)
            continue;
        vrt_list_remove(&wait->link);
        wait->stored(wait, job);
    }
}

/* A write of the job is through. */
static void end_saving(struct saving *saving, int r)
{
    struct vrt_queue *queue = saving->queue;
    struct vrt_job *job = saving->job;
    void (*then)(struct vrt_job *job, int r) = saving->then;
    const uint64_t number = saving->number;

    free(saving);
    queue->n_saving--;
    job->n_saving--;
    bool is_last = !job->n_saving && job->is_forgotten;
    count_down_waits(job, number);
    /* It may free a job that was never listed; one that was forgotten it leaves alone. */
    if (then)
        then(job, r);
    if (is_last)
        vrt_job_free(job);
    vrt_queue_check_stopped(queue);
}

/* Begins a write of the job. Return: NULL: no memory. */
static struct saving *begin_saving(struct vrt_queue *queue, struct vrt_job *job)
{
    struct saving *saving = calloc(1, sizeof(*saving));

    if (!saving)
        return NULL;
    saving->queue = queue;
    saving->job = job;
    saving->number = ++job->n_writes;
    queue->n_saving++;
    job->n_saving++;
    return saving;
}

static void on_saved(void *ctx, int r)
{
    struct saving *saving = ctx;
    struct vrt_job *job = saving->job;
    int state = job->info.state;
    /* What was fetched for a job that then was refused serves no retry either. */
    bool is_useless = state == VRT_JOB_DONE || state == VRT_JOB_CANCELLED ||
                      (state == VRT_JOB_FAILED && !job->work->is_admitted);

    if (r < 0 && !job->unsaved)
        vrt_log_warning("job %" PRId64 " could not be stored: %s, trying again later",
                        job->info.id, strerror(-r));
    job->unsaved = r < 0;
    if (r < 0)
        vrt_queue_look_soon(saving->queue);
    /* An earlier row says that it isn't over: with the last one its end is on the disk. */
    bool is_last = r == 0 && job->n_saving == 1;
    if (is_last && is_useless)
        vrt_queue_sweep(saving->queue, job);
    if (is_last && vrt_job_state_is_final(state))
        vrt_fd_store_drop(saving->queue->params.fd_store, job->info.id);
    end_saving(saving, r);
}

void vrt_queue_save(struct vrt_queue *queue, struct vrt_job *job,
                    void (*then)(struct vrt_job *job, int r))
{
    struct saving *saving = begin_saving(queue, job);
    struct vrt_job_texts texts;
    struct vrt_store_job row;
    int r = saving ? vrt_job_record_print(job, &texts, &row) : -ENOMEM;

    if (saving)
        saving->then = then;
    if (r < 0 && saving) {
        on_saved(saving, r);
    } else if (r < 0) {
        job->unsaved = true;
        if (then)
            then(job, r);
    } else {
        vrt_store_put_job(queue->params.store, &row, (struct vrt_store_done){ on_saved, saving });
        vrt_job_texts_done(&texts);
    }
}

bool vrt_queue_save_rest(struct vrt_queue *queue)
{
    struct vrt_job *job;
    bool any = false;

    VRT_LIST_FOREACH(job, &queue->jobs.all, link) {
        if (!job->unsaved || job->n_saving)
            continue;
        any = true;
        vrt_queue_save(queue, job, NULL);
    }
    return any;
}

/* The segment is stored: from here on nothing can make it be computed again. */
static void take_segment(struct vrt_job *job, const struct vrt_segment_record *segment)
{
    struct vrt_segment_record *segments = realloc(job->segments,
                                                  (job->n_segments + 1) * sizeof(*segments));

    /* It is in the store: the next start of the daemon finds it. */
    if (!segments)
        return;
    job->segments = segments;
    segments[job->n_segments++] = *segment;
    job->info.segments_done = VRT_MAX(job->info.segments_done, (int64_t)job->n_segments);
    job->n_barren = 0;
}

static void on_segment_saved(void *ctx, int r)
{
    struct saving *saving = ctx;
    struct vrt_job *job = saving->job;
    struct vrt_error error = { .id = NULL };

    /* Only what continues those before it: behind one that failed there is a gap. */
    if (r == 0 && saving->segment.number == (int64_t)job->n_segments) {
        vrt_log_debug("job %" PRId64 ": segment %" PRId64 " is stored, up to shard %" PRId64,
                      job->info.id, saving->segment.number, saving->segment.next_shard);
        take_segment(job, &saving->segment);
        /* What is swept is gone: nobody would give the charge back. */
        if (!job->is_swept)
            vrt_queue_charge_segment(job, &saving->segment);
        job->untold |= job->info.state != VRT_JOB_DONE;
        if (vrt_queue_run_is_going(job))
            vrt_pipeline_committed(job->pipeline, saving->segment.number);
        /* It is above suspicion now. */
        if (saving->queue->has_suspects)
            vrt_queue_start_jobs(saving->queue);
    } else if (r < 0) {
        vrt_refuse(&error, r, r == -ENOSPC ? VRT_E(STORE_FULL) : VRT_E(STORE_FAILED),
                   "what is done of the job can't be stored: %s: make room on the disk of the "
                   "state folder", strerror(-r));
        vrt_queue_run_end(job, VRT_RUN_STOP, &error);
    }
    end_saving(saving, r);
}

void vrt_queue_save_segment(struct vrt_queue *queue, struct vrt_job *job,
                            const struct vrt_segment_record *segment)
{
    struct saving *saving = begin_saving(queue, job);
    const struct vrt_error error = {
        .id = VRT_E(OUT_OF_MEMORY),
        .message = "there is no memory to store what is done of the job",
    };

    if (!saving) {
        vrt_queue_run_end(job, VRT_RUN_STOP, &error);
        return;
    }
    saving->segment = *segment;
    job->n_made = segment->number + 1;
    vrt_store_add_segment(queue->params.store, job->info.id, segment,
                          (struct vrt_store_done){ on_segment_saved, saving });
}

void vrt_queue_cut_segments(struct vrt_queue *queue, struct vrt_job *job, size_t first)
{
    if (first >= job->n_segments)
        return;
    vrt_queue_uncharge_segments(job, first);
    job->n_segments = first;
    job->info.segments_done = (int64_t)first;
    vrt_store_cut_segments(queue->params.store, job->info.id, (int64_t)first,
                           (struct vrt_store_done){ .call = NULL });
}

static void on_dropped(void *ctx, int r)
{
    struct saving *saving = ctx;
    struct vrt_job *job = saving->job;

    if (r == 0) {
        vrt_queue_uncharge_segments(job, 0);
        job->n_segments = 0;
        job->info.segments_done = 0;
    }
    end_saving(saving, r);
}

void vrt_queue_drop_segments(struct vrt_queue *queue, struct vrt_job *job,
                             void (*then)(struct vrt_job *job, int r))
{
    struct saving *saving = begin_saving(queue, job);

    if (!saving) {
        then(job, vrt_raise(-ENOMEM));
        return;
    }
    saving->then = then;
    vrt_store_cut_segments(queue->params.store, job->info.id, 0,
                           (struct vrt_store_done){ on_dropped, saving });
}

static void on_removed(void *ctx, int r)
{
    end_saving(ctx, r);
}

void vrt_queue_forget(struct vrt_queue *queue, struct vrt_job *job)
{
    struct saving *saving = begin_saving(queue, job);

    if (job->user)
        vrt_jobs_remove(&queue->jobs, job);
    vrt_queue_sweep(queue, job);
    vrt_fd_store_drop(queue->params.fd_store, job->info.id);
    if (saving)
        vrt_store_remove_job(queue->params.store, job->info.id,
                             (struct vrt_store_done){ on_removed, saving });
    /* Freed by the last write. */
    job->is_forgotten = true;
    if (!job->n_saving)
        vrt_job_free(job);
}

/* The start: what is read, and what becomes of it. */

struct loading {
    struct vrt_queue *queue;
    struct vrt_job *last;               /* the one whose segments come next */
    struct vrt_error *error;
};

/* Somebody may mend its row: it keeps its files until then. */
static int leave_out(struct vrt_queue *queue, int64_t job_id)
{
    int64_t *ids = realloc(queue->left_out, (queue->n_left_out + 1) * sizeof(*ids));

    if (!ids)
        return vrt_raise(-ENOMEM);
    queue->left_out = ids;
    ids[queue->n_left_out++] = job_id;
    return 0;
}

static int load_job(void *ctx, const struct vrt_store_job *row)
{
    struct loading *loading = ctx;
    struct vrt_error error = { .id = NULL };
    struct vrt_job *job = NULL;

    loading->last = NULL;
    int r = vrt_job_record_read(row, &job, &error);
    /* One bad row shall not keep the others from being done. It stays as it is. */
    if (r == -EINVAL) {
        vrt_log_error("job %" PRId64 " is left out: %s", row->id, error.message);
        return leave_out(loading->queue, row->id);
    }
    if (r == 0)
        r = vrt_jobs_add(&loading->queue->jobs, job);
    if (r < 0) {
        vrt_job_free(job);
        return vrt_refuse_errno(loading->error, vrt_fold(r), "reading the jobs");
    }
    job->queue = loading->queue;
    loading->last = job;
    return 0;
}

/* Whether the numbers can be a segment's: sums of such ones have room in 64 bits. */
static bool is_plausible(const struct vrt_segment_record *segment)
{
    const int64_t numbers[] = { segment->n_frames, segment->next_shard, segment->size_bytes,
                                segment->tail_bytes, segment->n_concealed };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(numbers); i++)
        if (numbers[i] < 0 || numbers[i] > SEGMENT_NUMBER_MAX)
            return false;
    return true;
}

static int load_segment(void *ctx, int64_t job_id, const struct vrt_segment_record *segment)
{
    struct loading *loading = ctx;
    struct vrt_job *job = loading->last;
    int n_barren;

    /* What stands behind one that is damaged is made anew as well. */
    if (!job || job->info.id != job_id || segment->number != (int64_t)job->n_segments ||
        !is_plausible(segment))
        return 0;
    n_barren = job->n_barren;
    take_segment(job, segment);
    job->n_barren = n_barren;
    return job->n_segments == (size_t)segment->number + 1 ? 0 :
           vrt_refuse_errno(loading->error, vrt_raise(-ENOMEM), "reading the jobs");
}

static int by_end(const void *a, const void *b)
{
    const struct vrt_job *x = *(struct vrt_job *const *)a, *y = *(struct vrt_job *const *)b;

    if (x->info.finished_at != y->info.finished_at)
        return x->info.finished_at < y->info.finished_at ? -1 : 1;
    return x->info.id < y->info.id ? -1 : 1;
}

/* Jobs that are over are forgotten in the order in which they were. Return: 0, -ENOMEM. */
static int order_ends(struct vrt_jobs *jobs)
{
    int n_over = jobs->counts[VRT_JOB_DONE] + jobs->counts[VRT_JOB_FAILED] +
                 jobs->counts[VRT_JOB_CANCELLED], n = 0;
    struct vrt_job **over = calloc((size_t)n_over + 1, sizeof(struct vrt_job *)), *job;

    if (!over)
        return vrt_raise(-ENOMEM);
    VRT_LIST_FOREACH(job, &jobs->all, link)
        if (vrt_job_state_is_final(job->info.state))
            over[n++] = job;
    qsort(over, (size_t)n, sizeof(struct vrt_job *), by_end);
    /* Dates are trusted here only, where nothing else is known; one to come is none. */
    for (int i = 0; i < n; i++) {
        int64_t age_ns = vrt_clock_wall_ns() - over[i]->info.finished_at;
        over[i]->ended = ++jobs->n_ended;
        over[i]->ended_ns = vrt_clock_now_ns() - VRT_MAX(age_ns, 0);
    }
    free(over);
    return 0;
}

/* A job that wasn't over when the last daemon ended. */
static void take_up(struct vrt_queue *queue, struct vrt_job *job)
{
    const struct vrt_error crash_loop = {
        .id = VRT_E(JOB_CRASH_LOOP),
        .message = "vrtd ended three times while it began this job, before anything was done: "
                   "see its log, then retry the job",
    };
    bool was_running = job->info.state == VRT_JOB_RUNNING ||
                       job->info.state == VRT_JOB_FINISHING;

    job->info.frames_done = 0;
    job->info.segments_done = (int64_t)job->n_segments;
    for (size_t i = 0; i < job->n_segments; i++)
        job->info.frames_done += job->segments[i].n_frames;
    for (size_t i = 0; i < job->info.n_devices; i++)
        job->info.devices[i].shards_running = 0;
    job->is_charged = vrt_quota_charge(queue->params.quota, VRT_QUOTA_JOBS, job->uid, 1) == 0;
    if (was_running) {
        vrt_assert(vrt_jobs_move(&queue->jobs, job, VRT_JOB_REQUEUE));
        vrt_log_info("job %" PRId64 " was interrupted: %zu segments are stored", job->info.id,
                     job->n_segments);
    }
    if (job->work->is_cancelled) {
        vrt_queue_end_job(queue, job, VRT_JOB_CANCEL, NULL);
        return;
    }
    if (was_running && job->n_barren >= BARREN_MAX) {
        vrt_queue_end_job(queue, job, VRT_JOB_FAIL, &crash_loop);
        return;
    }
    queue->has_suspects |= job->n_barren > 0;
    vrt_queue_find_files(queue, job);
    /* That files are missing is found again by the next start: ten thousand jobs may wait. */
    if (was_running)
        vrt_queue_save(queue, job, NULL);
}

static bool is_known(void *ctx, int64_t job_id)
{
    const struct vrt_queue *queue = ctx;
    const struct vrt_job *job = vrt_jobs_find(&queue->jobs, job_id);

    for (size_t i = 0; i < queue->n_left_out; i++)
        if (queue->left_out[i] == job_id)
            return true;
    return job && job->info.state != VRT_JOB_DONE && job->info.state != VRT_JOB_CANCELLED;
}

int vrt_queue_load(struct vrt_queue *queue, struct vrt_error *error)
{
    struct loading loading = { .queue = queue, .error = error };
    const struct vrt_store_reader reader = {
        .job = load_job,
        .segment = load_segment,
        .ctx = &loading,
    };
    struct vrt_job *job;

    int r = vrt_store_load(queue->params.store, &reader, &queue->jobs.last_id, error);
    if (r == 0)
        r = order_ends(&queue->jobs);
    if (r == 0)
        r = vrt_spool_clean(queue->params.spool_fd, is_known, queue);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "reading the jobs");
    VRT_LIST_FOREACH(job, &queue->jobs.all, link) {
        job->is_swept = job->info.state == VRT_JOB_DONE || job->info.state == VRT_JOB_CANCELLED;
        if (!job->is_swept)
            vrt_queue_charge_stored(job);
        if (vrt_job_state_is_final(job->info.state))
            vrt_queue_send_notice(queue, job);
        else
            take_up(queue, job);
    }
    return 0;
}
