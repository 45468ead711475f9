/* SPDX-License-Identifier: MIT */

/*
 * A task knows of what others did by the film's folder alone, and others know of it by that: by
 * segments that have their names there, and by its note. Each start is counted in the note before
 * anything is done, and forgotten with each segment: what has begun three times and got nowhere is
 * not begun again.
 */

#include "daemon/cluster/task-impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "daemon/jobs/job-store.h"
#include "daemon/jobs/job.h"

#define VRT_LOG_TOPIC "cluster"

/* As of jobs of one machine. */
#define STARTS_MAX 3

/* Reads a task's name. Return: whether it is one. */
static bool parse_name(const char *text, struct vrt_task_state *task)
{
    long long i, n;
    int end = 0;

    if (strcmp(text, "plan") == 0 || strcmp(text, "join") == 0) {
        task->kind = text[0] == 'p' ? VRT_PIPELINE_SURVEY : VRT_PIPELINE_JOIN;
        snprintf(task->note_name, sizeof(task->note_name), "%s", text);
        return true;
    }
    if (text[0] < '0' || text[0] > '9' || sscanf(text, "%lld/%lld%n", &i, &n, &end) != 2 ||
        text[end] || n < 1 || n > INT32_MAX || i >= n)
        return false;
    task->kind = VRT_PIPELINE_RANGE;
    task->i = i;
    task->n = n;
    /* That of all is what is done before they are joined. */
    if (n == 1)
        snprintf(task->note_name, sizeof(task->note_name), "rest");
    else
        snprintf(task->note_name, sizeof(task->note_name), "%lld", i);
    return true;
}

bool vrt_task_is_one(const char *text)
{
    struct vrt_task_state task;

    return parse_name(text, &task);
}

static int read_plan(struct vrt_task_state *task, struct vrt_error *error)
{
    struct vrt_cluster_note note;
    int r = vrt_cluster_plan_read(&task->folder, &task->plan, error);

    if (r != -ENOENT)
        return vrt_fold(r);
    *error = (struct vrt_error){ .id = NULL };
    vrt_cluster_note_read(&task->folder, "plan", &note);
    vrt_refuse(error, r, note.error[0] ? vrt_api_errors[vrt_api_error_find(note.error_id)].id :
               VRT_E(CLUSTER_FOLDER), "the film has no plan: %s", note.error[0] ? note.error :
               "its first task hasn't made it");
    vrt_cluster_note_done(&note);
    return r;
}

/* The request of which the plan was made, or is to be. */
static int read_request(struct vrt_task_state *task, struct vrt_error *error)
{
    json_t *json = NULL;
    int r = task->kind == VRT_PIPELINE_SURVEY ?
            vrt_cluster_read(task->folder.fd, VRT_CLUSTER_REQUEST, &json, error) :
            vrt_json_parse(task->plan.request, strlen(task->plan.request), &json, error);

    vrt_job_request_init(&task->request);
    if (r == 0)
        r = vrt_fields_decode(vrt_job_request_fields, json, VRT_FIELDS_LENIENT, &task->request,
                              error);
    json_decref(json);
    return vrt_fold(r);
}

/* The first segments in a row of the task's part that are missing. Return: whether any are. */
static bool find_missing(struct vrt_task_state *task)
{
    const struct vrt_cluster_plan *plan = &task->plan;
    const struct vrt_cluster_range part = vrt_cluster_part(plan->segments, plan->n_segments,
                                                           plan->read_share, task->i, task->n);
    int64_t first = part.first, end;

    while (first < part.end && vrt_cluster_segment_bytes(&task->folder, first) >= 0)
        first++;
    for (end = first; end < part.end; end++)
        if (vrt_cluster_segment_bytes(&task->folder, end) >= 0)
            break;
    task->range = (struct vrt_cluster_range){ first, end };
    return first < end;
}

/* What is to be done of the job. Return: 0; -errno with `error`. */
static int choose(struct vrt_task_state *task, struct vrt_error *error)
{
    const struct vrt_cluster_plan *plan = &task->plan;
    int64_t n_missing = 0, first = -1;

    task->part.kind = task->kind;
    if (task->kind == VRT_PIPELINE_RANGE) {
        task->is_due = find_missing(task);
        task->part.end_segment = task->range.end;
        if (task->range.first) {
            task->part.prime_shard = plan->segments[task->range.first - 1].prime_shard;
            task->part.prime = plan->segments[task->range.first - 1].prime;
        }
        return 0;
    }
    task->is_due = strcmp(task->note.state, "done") != 0;
    task->part.span_ns = plan->span_ns;
    for (int64_t i = 0; task->is_due && i < (int64_t)plan->n_segments; i++)
        if (vrt_cluster_segment_bytes(&task->folder, i) < 0 && n_missing++ == 0)
            first = i;
    if (n_missing)
        return vrt_refuse(error, vrt_raise(-ENOENT), VRT_E(CLUSTER_SEGMENT), "segment %" PRId64
                          "%s of the result %s not there: see what its task says in %s/tasks",
                          first, n_missing > 1 ? " and others" : "", n_missing > 1 ? "are" : "is",
                          task->folder.path);
    return 0;
}

/* Counts the start. Return: 0; -ELOOP with `error`. */
static int count_start(struct vrt_task_state *task, struct vrt_error *error)
{
    char last[VRT_API_TEXT_BYTES];

    snprintf(last, sizeof(last), "%.300s", task->note.error[0] ? task->note.error :
             "its node or its process ended without a word");
    if (task->note.starts >= STARTS_MAX)
        return vrt_refuse(error, vrt_raise(-ELOOP), VRT_E(JOB_CRASH_LOOP), "task %s was begun %d "
                          "times and got nothing done; last: %s", task->note_name, STARTS_MAX,
                          last);
    task->note.starts++;
    task->note.error[0] = task->note.error_id[0] = '\0';
    task->is_counted = true;
    snprintf(task->note.state, sizeof(task->note.state), "running");
    vrt_cluster_note_write(&task->folder, task->note_name, &task->note);
    return 0;
}

/* What reading a frame took, of what making one takes here; 0: how long that is nobody knows. */
static int64_t read_share(const struct vrt_task_state *task)
{
    int64_t n_frames = 0;

    for (size_t i = 0; i < task->plan.n_segments; i++)
        n_frames += task->plan.segments[i].n_frames;
    if (!n_frames || !(task->frames_per_s > 0))
        return 0;
    const double read_s = (double)(vrt_clock_now_ns() - task->begun_ns) / VRT_NS_PER_S;
    const double share = read_s / (double)n_frames * task->frames_per_s;
    return (int64_t)(VRT_MIN(share, 1) * VRT_CLUSTER_READ_WHOLE);
}

static void surveyed(void *ctx, const struct vrt_segment_plan *segment, int64_t span_ns)
{
    struct vrt_task_state *task = ctx;

    if (!segment) {
        task->plan.span_ns = span_ns;
        task->plan.read_share = read_share(task);
    } else if (vrt_cluster_plan_add(&task->plan, segment) < 0)
        vrt_refuse_errno(&task->error, -ENOMEM, "the film's plan");
}

int vrt_task_begin(const char *folder, const char *name, struct vrt_task_state **ret_task,
                   struct vrt_error *error)
{
    struct vrt_task_state *task = calloc(1, sizeof(*task));

    *ret_task = task;
    if (!task)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the task");
    task->folder = (struct vrt_cluster_folder)VRT_CLUSTER_FOLDER_NONE;
    task->attempt_fd = -1;
    vrt_assert(parse_name(name, task));
    int r = vrt_cluster_folder_open(folder, &task->folder, error);
    if (r < 0)
        return vrt_fold(r);
    vrt_cluster_note_read(&task->folder, task->note_name, &task->note);
    task->part.surveyed = surveyed;
    task->part.ctx = task;
    if (task->kind == VRT_PIPELINE_SURVEY) {
        task->part.kind = task->kind;
        task->is_due = faccessat(task->folder.fd, VRT_CLUSTER_PLAN, F_OK, 0) < 0;
    } else {
        r = read_plan(task, error);
        if (r == 0)
            r = choose(task, error);
    }
    if (r < 0 || !task->is_due)
        return vrt_fold(r);
    r = read_request(task, error);
    if (r < 0)
        return vrt_fold(r);
    r = count_start(task, error);
    return r < 0 ? vrt_fold(r) : vrt_fold(vrt_task_make_folders(task, error));
}

bool vrt_task_is_due(const struct vrt_task_state *task)
{
    return task->is_due;
}

const struct vrt_pipeline_part *vrt_task_part(const struct vrt_task_state *task)
{
    return &task->part;
}

const char *vrt_task_state_dir(const struct vrt_task_state *task)
{
    return task->state_dir;
}

int vrt_task_spool_fd(const struct vrt_task_state *task)
{
    return task->attempt_fd;
}

/* Nothing is left to do, or can be: the server ends. */
static void be_over(struct vrt_task_state *task)
{
    task->is_over = true;
    if (task->over)
        uv_async_send(task->over);
}

void vrt_task_segment_stored(void *ctx, struct vrt_job *job,
                             const struct vrt_segment_record *segment)
{
    struct vrt_task_state *task = ctx;
    const struct vrt_segment_plan *expected = &task->plan.segments[segment->number];
    VRT_CLEANUP(vrt_closep) int fd = -1;
    int r;

    (void)job;
    if (task->kind != VRT_PIPELINE_RANGE || task->is_over)
        return;
    if (segment->number >= (int64_t)task->plan.n_segments ||
        segment->n_frames != expected->n_frames || segment->next_shard != expected->next_shard) {
        vrt_refuse(&task->error, -ESTALE, VRT_E(INPUT_OTHER), "segment %" PRId64 " isn't what was "
                   "planned: the video, or the version of vrtd or FFmpeg, is another here",
                   segment->number);
        be_over(task);
        return;
    }
    fd = openat(task->attempt_fd, VRT_TASK_JOB_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    r = fd < 0 ? vrt_refuse_errno(&task->error, -errno, "the attempt's folder") :
        vrt_cluster_publish(&task->folder, fd, segment->number, &task->error);
    if (r < 0) {
        be_over(task);
        return;
    }
    vrt_log_info("segment %" PRId64 " of the film is there", segment->number);
    task->note.starts = 0;
    vrt_cluster_note_write(&task->folder, task->note_name, &task->note);
}

/* Keeps the warnings of the job, where an earlier attempt told of none. */
static void take_warnings(struct vrt_task_state *task, const struct vrt_job_info *info)
{
    const size_t bytes = info->n_warnings * sizeof(*info->warnings);

    if (!info->n_warnings || task->note.n_warnings)
        return;
    free(task->note.warnings);
    task->note.warnings = malloc(bytes);
    if (!task->note.warnings)
        return;
    memcpy(task->note.warnings, info->warnings, bytes);
    task->note.n_warnings = info->n_warnings;
}

/* How many frames a second the devices make that were found: as far as they were measured. */
static double frames_per_s(const struct vrt_job *job)
{
    struct vrt_pipeline_snapshot now;
    double flops_per_s = 0;

    vrt_pipeline_snapshot(job->pipeline, &now);
    for (size_t i = 0; i < now.n_devices; i++)
        flops_per_s += now.devices[i].flops_per_s;
    const double rate = flops_per_s / (double)vrt_pipeline_info(job->pipeline)->frame_flops;
    return rate > 0 ? rate : 0;
}

void vrt_task_job_changed(void *ctx, struct vrt_job *job)
{
    struct vrt_task_state *task = ctx;
    const struct vrt_job_info *info = &job->info;

    if (task->is_over)
        return;
    if (info->state == VRT_JOB_RUNNING && job->pipeline && !task->begun_ns) {
        task->begun_ns = vrt_clock_now_ns();
        task->frames_per_s = frames_per_s(job);
    }
    switch (info->state) {
    case VRT_JOB_DONE:
        task->is_done = !task->error.message[0];
        task->note.has_comparison = info->has_comparison;
        task->note.comparison = info->comparison;
        take_warnings(task, info);
        be_over(task);
        break;
    case VRT_JOB_DISK_FULL:
    case VRT_JOB_NEEDS_INPUT:
    case VRT_JOB_FAILED:
    case VRT_JOB_CANCELLED:
        if (info->has_error)
            vrt_refuse(&task->error, -EIO, vrt_api_errors[vrt_api_error_find(info->error.id)].id,
                       "%s", info->error.message);
        if (vrt_error_is(&task->error, VRT_E(CLUSTER_SEGMENT)))
            vrt_cluster_unpublish(&task->folder, (int64_t)job->n_segments);
        take_warnings(task, info);
        be_over(task);
        break;
    default:
        break;
    }
}

/* Whether another node, or another time, may do what this one can't. */
static bool may_be_otherwise(const struct vrt_error *error)
{
    static const char *const beginnings[] = {
        "device.", "media.", "spool.", "store.", "output.full", "out_of_", "cluster.",
        "shutting_down",
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(beginnings); i++)
        if (error->id && strncmp(error->id, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

/* What becomes of it. Return: as vrt_task_end(). */
static enum vrt_cluster_exit conclude(struct vrt_task_state *task, struct vrt_error *error)
{
    if (!error->message[0] && task->is_done && task->kind == VRT_PIPELINE_SURVEY)
        (void)!vrt_cluster_plan_write(&task->folder, &task->plan, error);
    if (!error->message[0] && (task->is_done || !task->is_due)) {
        if (task->kind == VRT_PIPELINE_RANGE && task->is_due && find_missing(task))
            return VRT_CLUSTER_MORE;
        return VRT_CLUSTER_DONE;
    }
    if (!error->message[0])
        vrt_refuse(error, -EINTR, VRT_E(JOB_PARKED), "it was ended before it was done, and goes on "
                   "behind its last segment");
    else if (!task->is_counted || !may_be_otherwise(error))
        return VRT_CLUSTER_FAILED;
    return task->note.starts < STARTS_MAX ? VRT_CLUSTER_AGAIN : VRT_CLUSTER_FAILED;
}

/* Whether another attempt at the task has done it since this one began, and said so. */
static bool is_done_elsewhere(const struct vrt_task_state *task)
{
    struct vrt_cluster_note note;

    vrt_cluster_note_read(&task->folder, task->note_name, &note);
    const bool is_done = strcmp(note.state, "done") == 0;
    vrt_cluster_note_done(&note);
    return is_done;
}

enum vrt_cluster_exit vrt_task_end(struct vrt_task_state *task, const struct vrt_error *error)
{
    struct vrt_error why = error && error->message[0] ? *error :
                           task ? task->error : (struct vrt_error){ .id = NULL };
    enum vrt_cluster_exit exit;

    if (!task || task->folder.fd < 0) {
        free(task);
        return VRT_CLUSTER_FAILED;
    }
    exit = conclude(task, &why);
    vrt_task_remove_folders(task);
    if (exit != VRT_CLUSTER_DONE && task->is_counted && is_done_elsewhere(task)) {
        exit = VRT_CLUSTER_DONE;
        why = (struct vrt_error){ .id = NULL };
    }
    snprintf(task->note.state, sizeof(task->note.state), "%s", exit == VRT_CLUSTER_DONE ? "done" :
             exit == VRT_CLUSTER_FAILED ? "failed" : "interrupted");
    snprintf(task->note.error_id, sizeof(task->note.error_id), "%s", why.id ? why.id : "");
    snprintf(task->note.error, sizeof(task->note.error), "%s", why.message);
    if (exit == VRT_CLUSTER_DONE && task->kind == VRT_PIPELINE_JOIN)
        vrt_task_remove_all(task);
    if (exit != VRT_CLUSTER_MORE)
        vrt_cluster_note_write(&task->folder, task->note_name, &task->note);
    if (why.message[0])
        vrt_log_error("task %s: %s", task->note_name, why.message);
    else
        vrt_log_info("task %s is done", task->note_name);
    vrt_cluster_note_done(&task->note);
    vrt_cluster_plan_done(&task->plan);
    vrt_closep(&task->attempt_fd);
    vrt_cluster_folder_done(&task->folder);
    free(task);
    return exit;
}
