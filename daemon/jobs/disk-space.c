/* SPDX-License-Identifier: MIT */

/*
 * A segment is charged twice its size, because all of them together are once more on the disk when
 * they are joined; what was fetched or uploaded for a job, as it is. Both are charged when they are
 * there: a user's limit is passed by what was under way for him, at most. His job then waits until
 * other jobs of his have freed enough; one that is alone too large for the limit fails.
 *
 * How much of the input will be in the finished file beside the video nobody knows before: it may
 * take what the user may still have, and is charged when it stays. One that didn't get by with that
 * is made again when there is twice as much, or when the job is alone.
 *
 * A result that vrtd keeps is charged by its size once it is there, and until its job is forgotten:
 * before, it is one more copy of what is charged for being joined.
 *
 * Working files go only after the row that made them needless is on the disk: a crash between the
 * two leaves files without a use, never the reverse.
 *
 * On a full disk a job goes on when there is space for all that it still has to write, as far as
 * that is known: its segments that are missing, and all of them once more, joined. The estimate may
 * be wrong, and what filled the disk may have been gone when it was looked at: after DISK_AGAIN_S
 * space for the next segment is enough.
 *
 * Of the jobs of one user that run or wait for spool_per_user only the first in order (the highest
 * priority, then the oldest) goes on in whatever space there is; the others where there is space
 * for them to the end. When none of his jobs runs, nothing would ever become free: then the last in
 * order that wait give their segments back until the first can go on. That ends: the first never
 * gives anything back, each of its runs stores a segment or more, and so it is done, or alone too
 * large, after a number of starts that is bounded by its segments; then the next one is the first.
 */

#include "daemon/jobs/disk-space.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/access/quota.h"
#include "daemon/jobs/job-report.h"
#include "daemon/jobs/queue-context.h"
#include "daemon/jobs/spool.h"
#include "daemon/uploads/uploads.h"

#define VRT_LOG_TOPIC "queue"

/* What must have become free before a job tries a full disk again, at least. */
#define DISK_MIN_BYTES (INT64_C(4) << 20)

/* ... or so much later. */
#define DISK_AGAIN_S (15 * 60)

/* What a container's tables take is not what limits are about. */
#define TABLES_BYTES (INT64_C(4) << 20)

/* Files to be removed, by a thread: there may be thousands. */
struct sweep {
    uv_work_t work;
    struct vrt_disk_space *space;
    char name[64];
};

static void sweep_files(uv_work_t *work)
{
    const struct sweep *sweep = work->data;

    vrt_spool_remove(sweep->space->context->params.spool_fd, sweep->name);
}

static void on_swept(uv_work_t *work, int status)
{
    struct sweep *sweep = work->data;
    struct vrt_disk_space *space = sweep->space;

    (void)status;
    free(sweep);
    space->n_removals--;
    vrt_queue_check_stopped(space->context);
}

/* Has a thread remove sweep->name. Return: 0; -errno. */
static int begin_sweep(struct vrt_disk_space *space, struct sweep *sweep)
{
    sweep->work.data = sweep;
    sweep->space = space;
    int r = uv_queue_work(space->context->params.loop, &sweep->work, sweep_files, on_swept);
    space->n_removals += r == 0;
    return r;
}

/* All of them; or with `keeps_given` those of runs. */
static void remove_files(struct vrt_disk_space *space, int64_t job_id, bool keeps_given)
{
    const struct vrt_queue_params *params = &space->context->params;
    struct sweep *sweep = calloc(1, sizeof(*sweep));
    int r = sweep ? vrt_spool_detach(params->spool_fd, job_id, sweep->name, sizeof(sweep->name)) :
            -ENOMEM;

    if (r == 0 && keeps_given)
        vrt_spool_take_back(params->spool_fd, sweep->name, job_id);
    if (r == 0)
        r = begin_sweep(space, sweep);
    if (r == 0)
        return;
    free(sweep);
    /* The next start finds that they belong to nobody. */
    if (r != -ENOENT)
        vrt_log_warning("job %" PRId64 ": its working files stay for now: %s", job_id,
                        strerror(-r));
}

static int64_t charge_of(const struct vrt_segment_record *segment)
{
    return 2 * VRT_MAX(segment->size_bytes, 0);
}

static struct vrt_error quota_error(bool is_too_large)
{
    struct vrt_error error = { .id = NULL };

    vrt_refuse(&error, -EDQUOT, is_too_large ? VRT_E(SPOOL_TOO_LARGE) : VRT_E(SPOOL_QUOTA),
               is_too_large ? "the job's working files take more than one user may have: cut the "
                          "video, or ask the administrator for a higher spool_per_user" :
                          "the working files of this user's jobs take as much as he may have: the "
                          "job goes on when others of them are over");
    return error;
}

/* Charges what is there, whatever the user may have. */
static void charge_anyway(struct vrt_disk_space *space, struct vrt_job *job, int64_t bytes)
{
    if (vrt_quota_charge(space->context->params.quota, VRT_QUOTA_SPOOL_BYTES, job->uid,
                         bytes) == 0)
        job->parts->disk.charged_bytes += bytes;
}

void vrt_disk_space_charge(struct vrt_disk_space *space, struct vrt_job *job, int64_t bytes)
{
    struct vrt_quota *quota = space->context->params.quota;
    struct vrt_job_disk *disk = &job->parts->disk;

    if (bytes <= 0)
        return;
    int r = vrt_quota_take_amount(quota, VRT_QUOTA_SPOOL_BYTES, job->uid, bytes);
    if (r == 0) {
        disk->charged_bytes += bytes;
        return;
    }
    charge_anyway(space, job, bytes);
    const struct vrt_error error =
        quota_error(disk->charged_bytes > vrt_quota_limit(quota, VRT_QUOTA_SPOOL_BYTES));
    vrt_queue_stop_run(space->context, job, &error);
}

void vrt_disk_space_charge_segment(struct vrt_disk_space *space, struct vrt_job *job,
                                   const struct vrt_segment_record *segment)
{
    /* What is swept is gone: nobody would give the charge back. */
    if (!job->parts->disk.is_swept)
        vrt_disk_space_charge(space, job, charge_of(segment));
}

void vrt_disk_space_charge_pipe(struct vrt_disk_space *space, struct vrt_job *job)
{
    struct vrt_job_files *files = &job->parts->files;
    int64_t held = files->pipe_fd < 0 ? 0 : vrt_spool_held_bytes(files->fds[VRT_JOB_INPUT]);

    if (held <= files->piped_bytes)
        return;
    const int64_t more = held - files->piped_bytes;
    files->piped_bytes = held;
    vrt_disk_space_charge(space, job, more);
}

/* Gives back so many bytes. */
static void give_back(struct vrt_disk_space *space, struct vrt_job *job, int64_t bytes)
{
    struct vrt_job_disk *disk = &job->parts->disk;

    bytes = VRT_MIN(bytes, disk->charged_bytes);
    if (bytes > 0)
        vrt_quota_give_amount(space->context->params.quota, VRT_QUOTA_SPOOL_BYTES, job->uid, bytes);
    disk->charged_bytes -= bytes;
}

/* What files of other jobs of the same user that are being made may still take. */
static int64_t promised_bytes(const struct vrt_jobs *jobs, const struct vrt_job *to)
{
    const struct vrt_job *job;
    int64_t bytes = 0;

    VRT_LIST_FOREACH(job, &jobs->all, link)
        if (job->uid == to->uid && job != to)
            bytes += job->parts->disk.promised_bytes;
    return bytes;
}

int64_t vrt_disk_space_joined_max(struct vrt_disk_space *space, struct vrt_job *job)
{
    const struct vrt_quota *quota = space->context->params.quota;
    const int64_t limit = vrt_quota_limit(quota, VRT_QUOTA_SPOOL_BYTES);
    const int64_t held = vrt_quota_held(quota, VRT_QUOTA_SPOOL_BYTES, job->uid);
    struct vrt_job_disk *disk = &job->parts->disk;
    const int64_t promised = promised_bytes(&space->context->jobs, job);

    if (limit == INT64_MAX)
        return 0;
    /* A finished file of an earlier run is replaced. */
    const int64_t left = VRT_MIN(VRT_MAX(limit - held - promised + disk->joined_bytes, 0),
                                 VRT_SPOOL_BYTES_MAX);
    disk->was_alone = held <= disk->charged_bytes && promised == 0;
    disk->promised_bytes = left;
    disk->wanted_bytes = VRT_MIN(2 * VRT_MAX(left, TABLES_BYTES),
                                 VRT_MAX(limit - disk->charged_bytes, 1));
    return vrt_spool_stored_bytes(job) + left + TABLES_BYTES;
}

/* Charges what the finished file has beside the segments, for which it is charged already. */
static void charge_joined(struct vrt_disk_space *space, struct vrt_job *job)
{
    struct vrt_job_disk *disk = &job->parts->disk;
    const int64_t joined = vrt_spool_joined_bytes(space->context->params.spool_fd, job->info.id);
    const int64_t bytes = VRT_MAX(joined - vrt_spool_stored_bytes(job), 0);

    give_back(space, job, disk->joined_bytes);
    disk->joined_bytes = 0;
    if (bytes == 0)
        return;
    charge_anyway(space, job, bytes);
    disk->joined_bytes = bytes;
}

void vrt_disk_space_note_run(struct vrt_disk_space *space, struct vrt_job *job,
                             struct vrt_error *error)
{
    struct vrt_job_disk *disk = &job->parts->disk;

    disk->promised_bytes = 0;
    if (!disk->is_swept)
        charge_joined(space, job);
    /* Where it was a segment that didn't fit, that was said as it is. */
    if (!vrt_error_is(error, VRT_E(SPOOL_QUOTA)))
        disk->wanted_bytes = 0;
    else if (disk->wanted_bytes > 0)
        *error = quota_error(disk->was_alone);
}

void vrt_disk_space_uncharge_segments(struct vrt_disk_space *space, struct vrt_job *job,
                                      size_t first)
{
    for (size_t i = first; i < job->n_segments; i++)
        give_back(space, job, charge_of(&job->segments[i]));
}

void vrt_disk_space_load(struct vrt_disk_space *space, struct vrt_job *job)
{
    const struct vrt_job_info *info = &job->info;
    struct vrt_job_disk *disk = &job->parts->disk;
    int64_t bytes = 0;

    disk->is_swept = info->state == VRT_JOB_DONE || info->state == VRT_JOB_CANCELLED;
    if (info->state == VRT_JOB_DONE && info->result_bytes > 0)
        charge_anyway(space, job, info->result_bytes);
    if (disk->is_swept)
        return;
    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++)
        bytes += vrt_spool_file_bytes(space->context->params.spool_fd, info->id, i);
    for (size_t i = 0; i < job->n_segments; i++)
        bytes += charge_of(&job->segments[i]);
    if (bytes > 0)
        charge_anyway(space, job, bytes);
    charge_joined(space, job);
}

/* Whether the job's user may have so many more bytes of working files now. */
static bool may_take(const struct vrt_disk_space *space, const struct vrt_job *job, int64_t bytes)
{
    struct vrt_quota *quota = space->context->params.quota;

    if (vrt_quota_take_amount(quota, VRT_QUOTA_SPOOL_BYTES, job->uid, bytes) != 0)
        return false;
    vrt_quota_give_amount(quota, VRT_QUOTA_SPOOL_BYTES, job->uid, bytes);
    return true;
}

void vrt_disk_space_sweep(struct vrt_disk_space *space, struct vrt_job *job)
{
    struct vrt_job_disk *disk = &job->parts->disk;

    if (disk->is_swept)
        return;
    disk->is_swept = true;
    give_back(space, job, disk->charged_bytes);
    disk->joined_bytes = disk->wanted_bytes = 0;
    remove_files(space, job->info.id, false);
    if (job->info.state != VRT_JOB_DONE)
        vrt_disk_space_drop_result(space, job);
    else if (job->info.result_bytes > 0)
        charge_anyway(space, job, job->info.result_bytes);
}

void vrt_disk_space_drop_result(struct vrt_disk_space *space, struct vrt_job *job)
{
    const struct vrt_queue_params *params = &space->context->params;
    struct sweep *sweep = job->keeps_result ? calloc(1, sizeof(*sweep)) : NULL;

    if (job->info.state == VRT_JOB_DONE)
        give_back(space, job, job->parts->disk.charged_bytes);
    job->info.result_bytes = VRT_UNKNOWN;
    /* Without memory the next start finds that it is nobody's. */
    if (!sweep)
        return;
    if (vrt_spool_detach_result(params->spool_fd, job->info.id, sweep->name,
                                sizeof(sweep->name)) < 0 ||
        begin_sweep(space, sweep) < 0)
        free(sweep);
}

bool vrt_disk_space_keeps(const struct vrt_job *job, bool is_result)
{
    if (!job || job->info.state == VRT_JOB_CANCELLED)
        return false;
    return job->info.state != VRT_JOB_DONE || (is_result && job->info.result_bytes >= 0);
}

void vrt_disk_space_retry(struct vrt_disk_space *space, struct vrt_job *job)
{
    if (job->info.state == VRT_JOB_CANCELLED)
        vrt_disk_space_sweep(space, job);
    if (job->parts->disk.is_swept)
        vrt_job_store_cut_segments(space->store, job, 0);
    job->parts->disk.is_swept = false;
}

void vrt_disk_space_sweep_failed(struct vrt_disk_space *space)
{
    struct vrt_queue_context *context = space->context;
    int64_t kept_ns = context->params.failed_files_s * VRT_NS_PER_S;
    struct vrt_job *job;

    if (context->params.uploads)
        vrt_uploads_expire(context->params.uploads);
    VRT_LIST_FOREACH(job, &context->jobs.all, link) {
        if (job->info.state != VRT_JOB_FAILED || job->parts->disk.is_swept ||
            vrt_clock_now_ns() - job->ended_ns <= kept_ns)
            continue;
        if (job->n_segments > 0)
            vrt_log_info("job %" PRId64 " failed long ago: its working files go", job->info.id);
        vrt_disk_space_sweep(space, job);
        vrt_job_store_cut_segments(space->store, job, 0);
    }
}

/* Does without the segments of a job that has no run: they go, and are computed again. */
static void give_segments_back(struct vrt_disk_space *space, struct vrt_job *job)
{
    vrt_assert(!job->parts->run);
    vrt_job_store_cut_segments(space->store, job, 0);
    job->info.frames_done = 0;
    give_back(space, job, job->parts->disk.joined_bytes);
    job->parts->disk.joined_bytes = job->parts->disk.wanted_bytes = 0;
    /* A crash before they are forgotten finds them missing, which is the same. */
    remove_files(space, job->info.id, true);
    vrt_queue_tell(space->context, job);
    vrt_job_store_save(space->store, job, NULL);
}

static bool is_id(const char *id, enum vrt_api_error_index index)
{
    return strcmp(id, vrt_api_errors[index].id) == 0;
}

bool vrt_disk_space_is_lacking(const struct vrt_error *error)
{
    static const enum vrt_api_error_index ids[] = { VRT_API_E_SPOOL_FULL, VRT_API_E_OUTPUT_FULL,
                                                    VRT_API_E_STORE_FULL, VRT_API_E_SPOOL_QUOTA };

    for (size_t i = 0; error->id && i < VRT_ARRAY_SIZE(ids); i++)
        if (is_id(error->id, ids[i]))
            return true;
    return false;
}

/* Bytes that are free on the disk that the job's error is about. */
static int64_t free_bytes_for(const struct vrt_disk_space *space, const struct vrt_job *job)
{
    int spool_fd = space->context->params.spool_fd;
    int output_fd = job->parts->files.fds[VRT_JOB_OUTPUT];
    const char *id = job->info.error.id;

    if (is_id(id, VRT_API_E_OUTPUT_FULL))
        return output_fd < 0 ? INT64_MAX : vrt_spool_free_bytes(output_fd);
    return is_id(id, VRT_API_E_STORE_FULL) ? vrt_spool_free_above_bytes(spool_fd) :
           vrt_spool_free_bytes(spool_fd);
}

void vrt_disk_space_wait(struct vrt_disk_space *space, struct vrt_job *job,
                         const struct vrt_error *error)
{
    struct vrt_queue_context *context = space->context;

    vrt_assert(vrt_jobs_move(&context->jobs, job, VRT_JOB_FILL));
    vrt_job_report_error(job, error);
    job->parts->disk.free_bytes = free_bytes_for(space, job);
    job->parts->disk.filled_ns = vrt_clock_now_ns();
    job->n_fruitless = 0;
    vrt_log_warning("job %" PRId64 " waits for room: %s", job->info.id, error->message);
    vrt_queue_tell(context, job);
    vrt_job_store_save(space->store, job, NULL);
    vrt_queue_look_soon(context);
}

/* Whether there is enough on the disk that was full. */
static bool has_disk(const struct vrt_disk_space *space, const struct vrt_job *job)
{
    const struct vrt_job_disk *disk = &job->parts->disk;
    const char *id = job->info.error.id;
    bool is_late = vrt_clock_now_ns() - disk->filled_ns > DISK_AGAIN_S * VRT_NS_PER_S;
    int64_t free_bytes = free_bytes_for(space, job), needed = 0;
    int64_t next = VRT_MAX(DISK_MIN_BYTES, vrt_spool_next_bytes(job));

    if (is_late)
        return free_bytes >= next;
    if (is_id(id, VRT_API_E_SPOOL_FULL))
        needed = vrt_spool_needed_bytes(job);
    else if (is_id(id, VRT_API_E_OUTPUT_FULL))
        needed = vrt_spool_output_bytes(job) -
                 vrt_spool_held_bytes(job->parts->files.fds[VRT_JOB_OUTPUT]);
    /* An estimate that is too low must not start it again and again. */
    return free_bytes - disk->free_bytes >= next && free_bytes >= needed;
}

static bool waits_for_quota(const struct vrt_job *job)
{
    return job->info.state == VRT_JOB_DISK_FULL && job->info.has_error &&
           is_id(job->info.error.id, VRT_API_E_SPOOL_QUOTA);
}

/* Whether `a` stands before `b`, a job of the same user. */
static bool is_before(const struct vrt_job *a, const struct vrt_job *b)
{
    if (a->info.priority != b->info.priority)
        return a->info.priority > b->info.priority;
    return a->info.id < b->info.id;
}

/* Notes for each user which of his jobs that run, or wait for spool_per_user, is the first: those
 * behind one that runs must not take what it will need. */
static void note_first(struct vrt_jobs *jobs)
{
    struct vrt_job *job;

    for (size_t i = 0; i < jobs->n_users; i++)
        jobs->users[i]->first = NULL;
    VRT_LIST_FOREACH(job, &jobs->all, link)
        if ((waits_for_quota(job) || job->info.state == VRT_JOB_RUNNING ||
             job->info.state == VRT_JOB_FINISHING) &&
            (!job->user->first || is_before(job, job->user->first)))
            job->user->first = job;
}

/* The last of the user's jobs that wait for space, behind `first`, and have segments; or NULL. */
static struct vrt_job *find_giver(const struct vrt_jobs *jobs, const struct vrt_job *first)
{
    struct vrt_job *job, *last = NULL;

    VRT_LIST_FOREACH(job, &jobs->all, link)
        if (job->uid == first->uid && job->info.state == VRT_JOB_DISK_FULL &&
            job->n_segments > 0 && is_before(first, job) && (!last || is_before(last, job)))
            last = job;
    return last;
}

/* Lets the last ones give back what the first needs. Return: whether it can go on. */
static bool free_for(struct vrt_disk_space *space, const struct vrt_job *first, int64_t needed)
{
    const struct vrt_queue_context *context = space->context;
    struct vrt_job *giver;
    int64_t held;

    while (!may_take(space, first, needed)) {
        giver = find_giver(&context->jobs, first);
        if (!giver)
            break;
        vrt_log_warning("job %" PRId64 " gives its %zu segments back, which are computed again "
                        "later: job %" PRId64 " of the same user comes first, and none of his runs",
                        giver->info.id, giver->n_segments, first->info.id);
        give_segments_back(space, giver);
    }
    /* Alone it is done, or is told that it is too large. */
    held = vrt_quota_held(context->params.quota, VRT_QUOTA_SPOOL_BYTES, first->uid);
    return held <= first->parts->disk.charged_bytes || may_take(space, first, needed);
}

/* Whether the job may go on with what its user may have. */
static bool has_quota(struct vrt_disk_space *space, const struct vrt_job *job)
{
    /* What is stored is charged for being joined too. */
    int64_t rest = vrt_spool_needed_bytes(job) - vrt_spool_stored_bytes(job);
    int64_t next = VRT_MAX(VRT_MAX(vrt_spool_next_bytes(job), job->parts->disk.wanted_bytes), 1);

    /* Of one about which nothing is known nobody can say that there is space to its end. */
    if (job->user->first != job)
        return (rest > 0 || job->n_segments > 0) && may_take(space, job, VRT_MAX(rest, next));
    return may_take(space, job, next) ||
           (job->user->n_running == 0 && free_for(space, job, next));
}

bool vrt_disk_space_look(struct vrt_disk_space *space)
{
    struct vrt_queue_context *context = space->context;
    struct vrt_job *job;
    bool any = false;

    note_first(&context->jobs);
    VRT_LIST_FOREACH(job, &context->jobs.all, link) {
        vrt_disk_space_charge_pipe(space, job);
        if (job->info.state != VRT_JOB_DISK_FULL)
            continue;
        any = true;
        if (context->is_stopping ||
            !(waits_for_quota(job) ? has_quota(space, job) : has_disk(space, job)))
            continue;
        vrt_log_info("job %" PRId64 ": there is room again", job->info.id);
        job->info.has_error = false;
        vrt_assert(vrt_jobs_move(&context->jobs, job, VRT_JOB_REQUEUE));
        vrt_queue_tell(context, job);
    }
    return any;
}
