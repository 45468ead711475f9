/* SPDX-License-Identifier: MIT */

/*
 * When jobs are written, and what a start reads
 *
 * A job may not be freed while a write of it is under way: n_pending counts those, and the last one
 * frees a job that was forgotten meanwhile.
 */

#include "daemon/jobs/job-store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/jobs/job-report.h"
#include "daemon/jobs/queue-context.h"

#define VRT_LOG_TOPIC "queue"

/* Of what is told of a segment in the store, in bytes or frames: 256 TiB. */
#define SEGMENT_NUMBER_MAX (INT64_C(1) << 48)

/* A write on its way; or a removal, which has no job. */
struct saving {
    struct vrt_job_store *store;
    struct vrt_job *job;
    void (*then)(struct vrt_job *job, int r);
    uint64_t number;                /* of the job's writes */
    struct vrt_segment_record segment;
};

void vrt_job_store_await(struct vrt_job *job, struct vrt_job_wait *wait)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    wait->last = job->parts->writes.n_begun;
    wait->n_writes = job->parts->writes.n_pending;
    if (wait->n_writes)
        vrt_list_append(&job->parts->writes.waits, &wait->link);
    else
        wait->stored(wait, job);
}

/* The job's write of this number is through: that of who began to wait behind it. */
static void count_down_waits(struct vrt_job *job, uint64_t number)
{
    struct vrt_job_wait *wait;

    VRT_LIST_FOREACH(wait, &job->parts->writes.waits, link) {
        if (number > wait->last || --wait->n_writes > 0)
            continue;
        vrt_list_remove(&wait->link);
        wait->stored(wait, job);
    }
}

/* A write of the job is through. */
static void end_saving(struct saving *saving, int r)
{
    struct vrt_job_store *store = saving->store;
    struct vrt_job *job = saving->job;
    void (*then)(struct vrt_job *job, int r) = saving->then;
    const uint64_t number = saving->number;

    free(saving);
    store->n_pending--;
    job->parts->writes.n_pending--;
    bool is_last = !job->parts->writes.n_pending && job->parts->writes.is_forgotten;
    count_down_waits(job, number);
    /* It may free a job that was never listed; one that was forgotten it leaves alone. */
    if (then)
        then(job, r);
    if (is_last)
        vrt_queue_free_job(job);
    vrt_queue_check_stopped(store->context);
}

/* Begins a write of the job. Return: NULL: no memory. */
static struct saving *begin_saving(struct vrt_job_store *store, struct vrt_job *job)
{
    struct saving *saving = calloc(1, sizeof(*saving));

    if (!saving)
        return NULL;
    saving->store = store;
    saving->job = job;
    saving->number = ++job->parts->writes.n_begun;
    store->n_pending++;
    job->parts->writes.n_pending++;
    return saving;
}

static void on_saved(void *ctx, int r)
{
    struct saving *saving = ctx;
    struct vrt_job_store *store = saving->store;
    struct vrt_job *job = saving->job;
    struct vrt_job_writes *writes = &job->parts->writes;

    if (r < 0 && !writes->is_unsaved)
        vrt_log_warning("job %" PRId64 " could not be stored: %s, trying again later",
                        job->info.id, strerror(-r));
    writes->is_unsaved = r < 0;
    if (r < 0)
        vrt_queue_look_soon(store->context);
    else if (writes->n_pending == 1)
        store->events.settled(store->context, job);
    end_saving(saving, r);
}

void vrt_job_store_save(struct vrt_job_store *store, struct vrt_job *job,
                        void (*then)(struct vrt_job *job, int r))
{
    struct saving *saving = begin_saving(store, job);
    struct vrt_job_texts texts;
    struct vrt_store_job row;
    int r = saving ? vrt_job_record_print(job, &texts, &row) : -ENOMEM;

    if (saving)
        saving->then = then;
    if (r < 0 && saving) {
        on_saved(saving, r);
    } else if (r < 0) {
        job->parts->writes.is_unsaved = true;
        if (then)
            then(job, r);
    } else {
        vrt_store_put_job(store->context->params.store, &row,
                          (struct vrt_store_done){ on_saved, saving });
        vrt_job_texts_done(&texts);
    }
}

bool vrt_job_store_save_rest(struct vrt_job_store *store)
{
    struct vrt_job *job;
    bool any = false;

    VRT_LIST_FOREACH(job, &store->context->jobs.all, link) {
        if (!job->parts->writes.is_unsaved || job->parts->writes.n_pending)
            continue;
        any = true;
        vrt_job_store_save(store, job, NULL);
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
    /* The files of a job that was cancelled go, and soon its segments with them. */
    if (job->info.state != VRT_JOB_CANCELLED)
        job->info.segments_done = VRT_MAX(job->info.segments_done, (int64_t)job->n_segments);
    job->n_fruitless = 0;
    /* One that was made anew is no progress: a job would go on for ever. */
    if (job->n_segments > job->n_forgiven)
        job->has_media_failed = false;
}

static void on_segment_saved(void *ctx, int r)
{
    struct saving *saving = ctx;
    struct vrt_job_store *store = saving->store;
    const struct vrt_segment_record *segment = &saving->segment;
    struct vrt_job *job = saving->job;
    struct vrt_error error = { .id = NULL };

    /* Only what continues those before it, behind one that failed there is a gap; and what wasn't
     * forgotten on its way. */
    if (r == 0 && segment->number == (int64_t)job->n_segments &&
        saving->number > job->parts->writes.n_cut) {
        vrt_log_debug("job %" PRId64 ": segment %" PRId64 " is stored, up to shard %" PRId64,
                      job->info.id, segment->number, segment->next_shard);
        take_segment(job, segment);
        store->events.segment_stored(store->context, job, segment);
    } else if (r < 0) {
        vrt_refuse(&error, r, r == -ENOSPC ? VRT_E(STORE_FULL) : VRT_E(STORE_FAILED),
                   "what is done of the job can't be stored: %s: make room on the disk of the "
                   "state folder", strerror(-r));
        vrt_queue_stop_run(store->context, job, &error);
    }
    end_saving(saving, r);
}

void vrt_job_store_save_history(struct vrt_job_store *store, const struct vrt_job *job)
{
    struct vrt_buf text = { .limit_bytes = 0 };

    if (job->history.n_points == 0)
        return;
    if (vrt_job_history_print(&job->history, &text) == 0)
        vrt_store_put_history(store->context->params.store, job->info.id, text.data);
    else
        vrt_log_warning("job %" PRId64 ": no memory to store its history, ignoring", job->info.id);
    vrt_buf_done(&text);
}

void vrt_job_store_save_segment(struct vrt_job_store *store, struct vrt_job *job,
                                const struct vrt_segment_record *segment)
{
    struct saving *saving = begin_saving(store, job);
    const struct vrt_error error = {
        .id = VRT_E(OUT_OF_MEMORY),
        .message = "there is no memory to store what is done of the job",
    };

    if (!saving) {
        vrt_queue_stop_run(store->context, job, &error);
        return;
    }
    saving->segment = *segment;
    job->n_made = segment->number + 1;
    vrt_store_add_segment(store->context->params.store, job->info.id, segment,
                          (struct vrt_store_done){ on_segment_saved, saving });
    vrt_job_store_save_history(store, job);
}

/* The job has no segments from this one on, nor any that are still to be stored. */
static void lose_segments(struct vrt_job_store *store, struct vrt_job *job, size_t first)
{
    job->parts->writes.n_cut = job->parts->writes.n_begun;
    store->events.segments_gone(store->context, job, first);
    job->n_segments = first;
    job->info.segments_done = (int64_t)first;
}

void vrt_job_store_cut_segments(struct vrt_job_store *store, struct vrt_job *job, size_t first)
{
    if (first >= job->n_segments && !job->parts->writes.n_pending)
        return;
    lose_segments(store, job, VRT_MIN(first, job->n_segments));
    vrt_store_cut_segments(store->context->params.store, job->info.id, (int64_t)first,
                           (struct vrt_store_done){ .call = NULL });
}

static void on_dropped(void *ctx, int r)
{
    struct saving *saving = ctx;

    if (r == 0)
        lose_segments(saving->store, saving->job, 0);
    end_saving(saving, r);
}

void vrt_job_store_drop_segments(struct vrt_job_store *store, struct vrt_job *job,
                                 void (*then)(struct vrt_job *job, int r))
{
    struct saving *saving = begin_saving(store, job);

    if (!saving) {
        then(job, vrt_raise(-ENOMEM));
        return;
    }
    saving->then = then;
    vrt_store_cut_segments(store->context->params.store, job->info.id, 0,
                           (struct vrt_store_done){ on_dropped, saving });
}

static void on_removed(void *ctx, int r)
{
    end_saving(ctx, r);
}

void vrt_job_store_forget(struct vrt_job_store *store, struct vrt_job *job)
{
    struct saving *saving = begin_saving(store, job);

    if (saving)
        vrt_store_remove_job(store->context->params.store, job->info.id,
                             (struct vrt_store_done){ on_removed, saving });
    /* Freed by the last write. */
    job->parts->writes.is_forgotten = true;
    if (!job->parts->writes.n_pending)
        vrt_queue_free_job(job);
}

/* The start: what is read. */

struct loading {
    struct vrt_job_store *store;
    struct vrt_job *last;               /* the one whose segments come next */
    struct vrt_error *error;
};

/* Somebody may mend its row: it keeps its files until then. */
static int leave_out(struct vrt_job_store *store, int64_t job_id)
{
    int64_t *ids = realloc(store->left_out, (store->n_left_out + 1) * sizeof(*ids));

    if (!ids)
        return vrt_raise(-ENOMEM);
    store->left_out = ids;
    ids[store->n_left_out++] = job_id;
    return 0;
}

bool vrt_job_store_left_out(const struct vrt_job_store *store, int64_t job_id)
{
    for (size_t i = 0; i < store->n_left_out; i++)
        if (store->left_out[i] == job_id)
            return true;
    return false;
}

static int load_job(void *ctx, const struct vrt_store_job *row)
{
    struct loading *loading = ctx;
    VRT_CLEANUP(vrt_queue_free_jobp) struct vrt_job *job = NULL;
    struct vrt_error error = { .id = NULL };

    loading->last = NULL;
    int r = vrt_queue_make_job(row->id, row->uid, &job);
    if (r == 0)
        r = vrt_job_record_read(row, job, &error);
    /* One bad row shall not keep the others from being done. It stays as it is. */
    if (r == -EINVAL) {
        vrt_log_error("job %" PRId64 " is left out: %s", row->id, error.message);
        return leave_out(loading->store, row->id);
    }
    if (r == 0)
        r = vrt_jobs_add(&loading->store->context->jobs, job);
    if (r < 0)
        return vrt_refuse_errno(loading->error, vrt_fold(r), "reading the jobs");
    loading->last = VRT_STEAL(job);
    return 0;
}

/* Whether the numbers can be a segment's: sums of such ones have room in 64 bits. */
static bool is_plausible(const struct vrt_segment_record *segment)
{
    const int64_t numbers[] = { segment->n_frames, segment->next_shard, segment->size_bytes,
                                segment->tail_bytes, segment->n_concealed, segment->ran_ms };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(numbers); i++)
        if (numbers[i] < 0 || numbers[i] > SEGMENT_NUMBER_MAX)
            return false;
    return true;
}

static int load_segment(void *ctx, int64_t job_id, const struct vrt_segment_record *segment)
{
    struct loading *loading = ctx;
    struct vrt_job *job = loading->last;
    int n_fruitless;

    /* What stands behind one that is damaged is made anew as well. */
    if (!job || job->info.id != job_id || segment->number != (int64_t)job->n_segments ||
        !is_plausible(segment))
        return 0;
    n_fruitless = job->n_fruitless;
    take_segment(job, segment);
    job->n_fruitless = n_fruitless;
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

int vrt_job_store_load(struct vrt_job_store *store, struct vrt_error *error)
{
    struct loading loading = { .store = store, .error = error };
    struct vrt_jobs *jobs = &store->context->jobs;
    const struct vrt_store_reader reader = {
        .job = load_job,
        .segment = load_segment,
        .ctx = &loading,
    };
    struct vrt_job *job;

    int r = vrt_store_load(store->context->params.store, &reader, &jobs->last_id, error);
    if (r == 0)
        r = order_ends(jobs);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "reading the jobs");
    VRT_LIST_FOREACH(job, &jobs->all, link)
        if (!vrt_job_state_is_final(job->info.state))
            vrt_job_report_stored(job);
    return 0;
}

void vrt_job_store_init(struct vrt_job_store *store, struct vrt_queue_context *context,
                        const struct vrt_job_store_events *events)
{
    *store = (struct vrt_job_store){ .context = context, .events = *events };
}

void vrt_job_store_done(struct vrt_job_store *store)
{
    vrt_assert(store->n_pending == 0);
    free(store->left_out);
}
