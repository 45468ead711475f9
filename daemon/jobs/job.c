/* SPDX-License-Identifier: MIT */

#include "daemon/jobs/job.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define TO(state) (VRT_JOB_##state + 1)     /* so that an entry left out, 0, is none */

#define MAY_END [VRT_JOB_FAIL] = TO(FAILED), [VRT_JOB_CANCEL] = TO(CANCELLED)

static const int next_states[VRT_JOB_STATE_COUNT][VRT_JOB_EVENT_COUNT] = {
    [VRT_JOB_QUEUED] = {
        [VRT_JOB_FETCH] = TO(FETCHING),
        [VRT_JOB_START] = TO(RUNNING),
        [VRT_JOB_PAUSE] = TO(PAUSED),
        [VRT_JOB_LOSE] = TO(NEEDS_INPUT),
        [VRT_JOB_FILL] = TO(DISK_FULL),
        MAY_END,
    },
    [VRT_JOB_FETCHING] = {
        [VRT_JOB_PAUSE] = TO(PAUSED),
        [VRT_JOB_LOSE] = TO(NEEDS_INPUT),
        [VRT_JOB_FILL] = TO(DISK_FULL),
        [VRT_JOB_REQUEUE] = TO(QUEUED),
        MAY_END,
    },
    [VRT_JOB_RUNNING] = {
        [VRT_JOB_FINISH] = TO(FINISHING),
        [VRT_JOB_SUCCEED] = TO(DONE),
        [VRT_JOB_PAUSE] = TO(PAUSED),
        [VRT_JOB_LOSE] = TO(NEEDS_INPUT),
        [VRT_JOB_FILL] = TO(DISK_FULL),
        [VRT_JOB_REQUEUE] = TO(QUEUED),
        MAY_END,
    },
    [VRT_JOB_FINISHING] = {
        [VRT_JOB_SUCCEED] = TO(DONE),
        [VRT_JOB_FILL] = TO(DISK_FULL),
        [VRT_JOB_REQUEUE] = TO(QUEUED),
        MAY_END,
    },
    [VRT_JOB_PAUSED] = {
        [VRT_JOB_FINISH] = TO(FINISHING),
        [VRT_JOB_LOSE] = TO(NEEDS_INPUT),
        [VRT_JOB_REQUEUE] = TO(QUEUED),
        MAY_END,
    },
    [VRT_JOB_NEEDS_INPUT] = {
        [VRT_JOB_REQUEUE] = TO(QUEUED),
        MAY_END,
    },
    [VRT_JOB_DISK_FULL] = {
        [VRT_JOB_PAUSE] = TO(PAUSED),
        [VRT_JOB_LOSE] = TO(NEEDS_INPUT),
        [VRT_JOB_REQUEUE] = TO(QUEUED),
        MAY_END,
    },
    [VRT_JOB_FAILED] = { [VRT_JOB_RETRY] = TO(QUEUED) },
    [VRT_JOB_CANCELLED] = { [VRT_JOB_RETRY] = TO(QUEUED) },
};

int vrt_job_state_after(int state, enum vrt_job_event event)
{
    return next_states[state][event] - 1;
}

int vrt_job_new(int64_t id, uid_t uid, struct vrt_job **ret_job)
{
    struct vrt_job *job = calloc(1, sizeof(*job));

    if (!job)
        return vrt_raise(-ENOMEM);
    vrt_list_init(&job->link);
    vrt_job_info_init(&job->info);
    job->uid = uid;
    job->output_bytes = -1;
    vrt_job_set_id(job, id);
    job->info.state = VRT_JOB_QUEUED;
    job->info.warnings_total = 0;
    *ret_job = job;
    return 0;
}

struct vrt_job *vrt_job_free(struct vrt_job *job)
{
    if (!job)
        return NULL;
    vrt_assert(vrt_list_is_empty(&job->link) && !job->pipeline && !job->parts);
    free(job->request);
    free(job->decision);
    free(job->segments);
    free(job->info.devices);
    free(job->info.warnings);
    vrt_job_history_done(&job->history);
    vrt_job_touch(job);
    free(job);
    return NULL;
}

void vrt_job_touch(struct vrt_job *job)
{
    struct vrt_job_info *info = &job->info;

    const double n_total = (double)info->frames_total;
    const double n_underway = isnan(info->frames_underway) ? 0 : info->frames_underway;

    /* An estimate of the total may be too low. */
    info->percent = n_total > 0 ? 100 * ((double)info->frames_done + n_underway) / n_total : NAN;
    if (info->percent > 99.9)
        info->percent = info->frames_done < info->frames_total ? 99.9 : 100;
    for (int i = 0; i < VRT_JOB_VIEW_COUNT; i++)
        vrt_buf_done(&job->short_texts[i]);
}

/* A sentence may name a file; what it is about in general, its id says. */
static void redact(const struct vrt_job *job, struct vrt_job_info *info)
{
    info->input_name[0] = info->output_name[0] = '\0';
    info->input_path[0] = info->output_path[0] = info->model_path[0] = '\0';
    info->reference_name[0] = info->reference_path[0] = '\0';
    info->input_bytes = info->result_bytes = VRT_UNKNOWN;
    if (!job->shows_model)
        info->model.name[0] = '\0';
    if (info->has_error)
        snprintf(info->error.message, sizeof(info->error.message), "%s",
                 vrt_api_error_meaning(info->error.id));
    info->n_warnings = 0;
    info->warnings_total = VRT_UNKNOWN;
}

static int print(const struct vrt_job *job, enum vrt_job_view view,
                 const struct vrt_field *fields, struct vrt_buf *buf)
{
    if (view == VRT_JOB_VIEW_FULL)
        return vrt_fold(vrt_fields_print(fields, &job->info, buf));
    struct vrt_job_info told = job->info;
    redact(job, &told);
    return vrt_fold(vrt_fields_print(fields, &told, buf));
}

const struct vrt_buf *vrt_job_short_text(struct vrt_job *job, enum vrt_job_view view)
{
    struct vrt_buf *text = &job->short_texts[view];

    if (!text->size_bytes && print(job, view, vrt_job_short_fields, text) < 0) {
        vrt_buf_done(text);
        return NULL;
    }
    return text;
}

int vrt_job_print(const struct vrt_job *job, enum vrt_job_view view, struct vrt_buf *buf)
{
    return print(job, view, vrt_job_fields, buf);
}

int vrt_job_add_warning(struct vrt_job *job, const char *text)
{
    size_t n = job->info.n_warnings;

    for (size_t i = 0; i < n; i++)
        if (strcmp(job->info.warnings[i], text) == 0)
            return 0;
    if (n == VRT_API_WARNINGS_MAX)
        return 0;
    char (*warnings)[VRT_API_TEXT_BYTES] = realloc(job->info.warnings,
                                                   (n + 1) * sizeof(*warnings));
    if (!warnings)
        return vrt_raise(-ENOMEM);
    job->info.warnings = warnings;
    snprintf(warnings[job->info.n_warnings++], sizeof(warnings[0]), "%s", text);
    job->info.warnings_total = (int64_t)job->info.n_warnings;
    vrt_job_touch(job);
    return 0;
}

int vrt_job_set_n_devices(struct vrt_job *job, size_t n)
{
    struct vrt_job_device *devices = realloc(job->info.devices,
                                             VRT_MAX(n, (size_t)1) * sizeof(*devices));
    if (!devices)
        return vrt_raise(-ENOMEM);
    for (size_t i = job->info.n_devices; i < n; i++)
        devices[i] = (struct vrt_job_device){
            .replica_bytes = VRT_UNKNOWN,
            .workspace_bytes = VRT_UNKNOWN,
            .peak_bytes = VRT_UNKNOWN,
        };
    job->info.devices = devices;
    job->info.n_devices = n;
    return 0;
}

void vrt_jobs_init(struct vrt_jobs *jobs)
{
    *jobs = (struct vrt_jobs){ .last_id = 0 };
    vrt_list_init(&jobs->all);
}

void vrt_jobs_done(struct vrt_jobs *jobs)
{
    vrt_assert(vrt_list_is_empty(&jobs->all) && jobs->n_users == 0);
    free(jobs->users);
    free(jobs->by_id);
    jobs->users = NULL;
    jobs->by_id = NULL;
}

/* The user's entry, made where there is none; NULL: no memory. Users are few. */
static struct vrt_job_user *find_user(struct vrt_jobs *jobs, uid_t uid)
{
    struct vrt_job_user **users, *user;

    for (size_t i = 0; i < jobs->n_users; i++)
        if (jobs->users[i]->uid == uid)
            return jobs->users[i];
    users = realloc(jobs->users, (jobs->n_users + 1) * sizeof(struct vrt_job_user *));
    if (!users)
        return NULL;
    jobs->users = users;
    user = calloc(1, sizeof(*user));
    if (!user)
        return NULL;
    user->uid = uid;
    return jobs->users[jobs->n_users++] = user;
}

static void drop_user(struct vrt_jobs *jobs, const struct vrt_job_user *user)
{
    size_t i = 0;

    while (jobs->users[i] != user)
        i++;
    free(jobs->users[i]);
    jobs->users[i] = jobs->users[--jobs->n_users];
}

static bool is_running(int state)
{
    return state == VRT_JOB_RUNNING || state == VRT_JOB_FINISHING;
}

/* Counts the job's state, by +1 or -1. */
static void count(struct vrt_jobs *jobs, const struct vrt_job *job, int by)
{
    int state = job->info.state;

    jobs->counts[state] += by;
    if (state == VRT_JOB_QUEUED)
        jobs->n_queued[job->info.priority - VRT_API_PRIORITY_MIN] += by;
    if (is_running(state))
        job->user->n_running += by;
    if (vrt_job_state_is_final(state))
        job->user->n_over += by;
}

/* Where the first job with this number or a higher one is. */
static size_t find_place(const struct vrt_jobs *jobs, int64_t id)
{
    size_t low = 0, high = jobs->n_jobs;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (jobs->by_id[middle]->info.id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Makes room for one more job. Return: 0, -ENOMEM. */
static int reserve(struct vrt_jobs *jobs)
{
    if (jobs->n_jobs < jobs->capacity)
        return 0;
    size_t capacity = jobs->capacity ? jobs->capacity * 2 : 64;
    struct vrt_job **by_id = reallocarray(jobs->by_id, capacity, sizeof(*by_id));
    if (!by_id)
        return vrt_raise(-ENOMEM);
    jobs->by_id = by_id;
    jobs->capacity = capacity;
    return 0;
}

int vrt_jobs_add(struct vrt_jobs *jobs, struct vrt_job *job)
{
    struct vrt_list *at = &jobs->all;

    int r = reserve(jobs);
    if (r < 0)
        return vrt_fold(r);
    job->user = find_user(jobs, job->uid);
    if (!job->user)
        return vrt_raise(-ENOMEM);
    job->user->n_jobs++;
    /* Admissions end in any order: those that began later stand behind. */
    size_t place = find_place(jobs, job->info.id);
    if (place < jobs->n_jobs)
        at = &jobs->by_id[place]->link;
    vrt_list_insert_before(at, &job->link);
    memmove(&jobs->by_id[place + 1], &jobs->by_id[place],
            (jobs->n_jobs++ - place) * sizeof(*jobs->by_id));
    jobs->by_id[place] = job;
    count(jobs, job, +1);
    return 0;
}

void vrt_jobs_remove(struct vrt_jobs *jobs, struct vrt_job *job)
{
    size_t place = find_place(jobs, job->info.id);

    vrt_assert(place < jobs->n_jobs && jobs->by_id[place] == job);
    memmove(&jobs->by_id[place], &jobs->by_id[place + 1],
            (--jobs->n_jobs - place) * sizeof(*jobs->by_id));
    vrt_list_remove(&job->link);
    count(jobs, job, -1);
    if (--job->user->n_jobs == 0)
        drop_user(jobs, job->user);
    job->user = NULL;
}

struct vrt_job *vrt_jobs_find(const struct vrt_jobs *jobs, int64_t id)
{
    size_t place = find_place(jobs, id);

    return place < jobs->n_jobs && jobs->by_id[place]->info.id == id ? jobs->by_id[place] : NULL;
}

/* The highest priority of queued jobs, or VRT_API_PRIORITY_MIN - 1. */
static int top_priority(const struct vrt_jobs *jobs)
{
    int priority = VRT_API_PRIORITY_MAX;

    while (priority >= VRT_API_PRIORITY_MIN && !jobs->n_queued[priority - VRT_API_PRIORITY_MIN])
        priority--;
    return priority;
}

/* Whether `a`, which is older than `b` and of the same priority, should start before it. */
static bool goes_first(const struct vrt_job *a, const struct vrt_job *b)
{
    if (a->user->n_running != b->user->n_running)
        return a->user->n_running < b->user->n_running;
    return a->user->turn <= b->user->turn;
}

struct vrt_job *vrt_jobs_after(const struct vrt_jobs *jobs, int64_t id)
{
    size_t place = id < INT64_MAX ? find_place(jobs, id + 1) : jobs->n_jobs;

    return place < jobs->n_jobs ? jobs->by_id[place] : NULL;
}

struct vrt_job *vrt_jobs_next(const struct vrt_jobs *jobs)
{
    int priority = top_priority(jobs);
    struct vrt_job *job, *best = NULL;

    VRT_LIST_FOREACH(job, &jobs->all, link)
        if (job->info.state == VRT_JOB_QUEUED && job->info.priority == priority &&
            (!best || !goes_first(best, job)))
            best = job;
    return best;
}

/* Jobs of this priority or a higher one that run; *ret_lowest is the one that should make room. */
static int count_running(const struct vrt_jobs *jobs, int64_t priority,
                         struct vrt_job **ret_lowest)
{
    struct vrt_job *job;
    int n = 0;

    *ret_lowest = NULL;
    VRT_LIST_FOREACH(job, &jobs->all, link) {
        if (!is_running(job->info.state))
            continue;
        n += job->info.priority >= priority;
        if (job->info.state == VRT_JOB_RUNNING &&
            (!*ret_lowest || job->info.priority <= (*ret_lowest)->info.priority))
            *ret_lowest = job;
    }
    return n;
}

/* Whether `b`, which is younger than `a`, should rather make room. */
static bool makes_room_first(const struct vrt_job *b, const struct vrt_job *a)
{
    if (b->user->n_running != a->user->n_running)
        return b->user->n_running > a->user->n_running;
    return b->user->turn <= a->user->turn;
}

/* Who has more jobs running than the user whose job is next, and of his jobs the one that goes. */
static struct vrt_jobs_room find_crowding(const struct vrt_jobs *jobs)
{
    const struct vrt_job *next = vrt_jobs_next(jobs);
    struct vrt_jobs_room room = { .job = NULL };
    struct vrt_job *job;

    VRT_LIST_FOREACH(job, &jobs->all, link)
        if (job->info.state == VRT_JOB_RUNNING && job->info.priority <= next->info.priority &&
            job->user->n_running > next->user->n_running &&
            (!room.job || makes_room_first(job, room.job)))
            room.job = job;
    room.at_once = room.job && room.job->user->n_running > next->user->n_running + 1;
    return room;
}

bool vrt_jobs_may_start(const struct vrt_jobs *jobs, int max_running,
                        struct vrt_jobs_room *ret_room)
{
    int priority = top_priority(jobs), n = vrt_jobs_n_running(jobs);
    struct vrt_job *lowest;

    *ret_room = (struct vrt_jobs_room){ .job = NULL };
    if (priority < VRT_API_PRIORITY_MIN)
        return false;
    if (n < max_running)
        return true;
    if (count_running(jobs, priority, &lowest) >= max_running) {
        *ret_room = find_crowding(jobs);
        return false;
    }
    if (n < 2 * max_running)
        return true;
    if (lowest && lowest->info.priority < priority)
        *ret_room = (struct vrt_jobs_room){ .job = lowest, .at_once = true };
    return false;
}

void vrt_jobs_set_priority(struct vrt_jobs *jobs, struct vrt_job *job, int priority)
{
    count(jobs, job, -1);
    job->info.priority = priority;
    count(jobs, job, +1);
    vrt_job_touch(job);
}

/* Of this user's jobs, or of all where he is NULL. */
static struct vrt_job *first_over(const struct vrt_jobs *jobs, const struct vrt_job_user *user)
{
    struct vrt_job *job, *first = NULL;

    VRT_LIST_FOREACH(job, &jobs->all, link)
        if (job->ended && (!user || job->user == user) && (!first || job->ended < first->ended))
            first = job;
    return first;
}

struct vrt_job *vrt_jobs_first_over(const struct vrt_jobs *jobs)
{
    return first_over(jobs, NULL);
}

struct vrt_job *vrt_jobs_expired(const struct vrt_jobs *jobs, int history)
{
    const struct vrt_job_user *most = NULL;
    int n_over = 0;

    for (size_t i = 0; i < jobs->n_users; i++) {
        n_over += jobs->users[i]->n_over;
        if (!most || jobs->users[i]->n_over > most->n_over)
            most = jobs->users[i];
    }
    return n_over > history ? first_over(jobs, most) : NULL;
}

bool vrt_jobs_move(struct vrt_jobs *jobs, struct vrt_job *job, enum vrt_job_event event)
{
    int next = vrt_job_state_after(job->info.state, event);

    if (next == VRT_UNKNOWN)
        return false;
    count(jobs, job, -1);
    job->info.state = next;
    count(jobs, job, +1);
    if (event == VRT_JOB_START)
        job->user->turn = ++jobs->n_starts;
    job->ended = vrt_job_state_is_final(next) ? ++jobs->n_ended : 0;
    jobs->n_over[next] += job->ended > 0;
    vrt_job_touch(job);
    return true;
}
