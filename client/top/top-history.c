/* SPDX-License-Identifier: MIT */
/*
 * Of a device the daemon doesn't say how many frames a second it makes of late; of each job it says
 * what each device has done so far. What that grows by from one look to the next is added to a sum
 * of the device's, whose growth over some seconds is its rate: frames come by shards, not evenly.
 */

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "client/conn.h"
#include "client/terminal/progress.h"
#include "client/top/top.h"

#define PERIOD_NS VRT_NS_PER_S
#define RATE_S 5                /* that a rate is the mean of; less than struct vrt_rate keeps */

const char *const vrt_top_sort_names[] = { "state", "priority", "progress", NULL };

static void seen_done(struct vrt_top_job *job)
{
    free(job->devices);
}

void vrt_top_forget(struct vrt_top *top)
{
    for (size_t i = 0; i < top->n_seen; i++)
        seen_done(&top->seen[i]);
    free(top->seen);
    free(top->devices);
    free(top->jobs);
    vrt_buf_done(&top->drawn);
    top->n_seen = top->n_devices = top->n_jobs = top->capacity = 0;
    top->seen = NULL;
    top->devices = NULL;
    top->jobs = NULL;
}

static int rank_of(const struct vrt_job_info *job)
{
    static const int ranks[VRT_JOB_STATE_COUNT] = {
        [VRT_JOB_FINISHING] = 0, [VRT_JOB_RUNNING] = 1, [VRT_JOB_FETCHING] = 2,
        [VRT_JOB_QUEUED] = 3, [VRT_JOB_PAUSED] = 4, [VRT_JOB_NEEDS_INPUT] = 5,
        [VRT_JOB_DISK_FULL] = 6, [VRT_JOB_DONE] = 7, [VRT_JOB_FAILED] = 7,
        [VRT_JOB_CANCELLED] = 7,
    };

    return job->state >= 0 ? ranks[job->state] : VRT_JOB_STATE_COUNT;
}

static double share_of(const struct vrt_job_info *job)
{
    return job->frames_total > 0 ? vrt_progress_frames(job) / (double)job->frames_total : -1;
}

static int by_number(const struct vrt_job_info *a, const struct vrt_job_info *b)
{
    return (a->id > b->id) - (a->id < b->id);
}

static int by_state(const void *one, const void *other)
{
    const struct vrt_job_info *a = *(const struct vrt_job_info *const *)one;
    const struct vrt_job_info *b = *(const struct vrt_job_info *const *)other;

    const int order = rank_of(a) - rank_of(b);
    return order ? order : by_number(a, b);
}

static int by_priority(const void *one, const void *other)
{
    const struct vrt_job_info *a = *(const struct vrt_job_info *const *)one;
    const struct vrt_job_info *b = *(const struct vrt_job_info *const *)other;

    const int order = (a->priority < b->priority) - (a->priority > b->priority);
    return order ? order : by_number(a, b);
}

static int by_progress(const void *one, const void *other)
{
    const struct vrt_job_info *a = *(const struct vrt_job_info *const *)one;
    const struct vrt_job_info *b = *(const struct vrt_job_info *const *)other;

    const int order = (share_of(a) < share_of(b)) - (share_of(a) > share_of(b));
    return order ? order : by_number(a, b);
}

void vrt_top_arrange(struct vrt_top *top)
{
    static int (*const orders[VRT_TOP_SORT_COUNT])(const void *, const void *) = {
        [VRT_TOP_BY_STATE] = by_state,
        [VRT_TOP_BY_PRIORITY] = by_priority,
        [VRT_TOP_BY_PROGRESS] = by_progress,
    };

    if (top->n_jobs)
        qsort(top->jobs, top->n_jobs, sizeof(*top->jobs), orders[top->sort]);
    if (!top->has_typed || vrt_top_selected(top) == top->n_jobs)
        top->selected_id = top->n_jobs ? top->jobs[0]->id : 0;
}

size_t vrt_top_selected(const struct vrt_top *top)
{
    size_t i = 0;

    while (i < top->n_jobs && top->jobs[i]->id != top->selected_id)
        i++;
    return i;
}

const struct vrt_top_job *vrt_top_seen(const struct vrt_top *top, int64_t id)
{
    for (size_t i = 0; i < top->n_seen; i++)
        if (top->seen[i].id == id)
            return &top->seen[i];
    return NULL;
}

static bool is_at_work(const struct vrt_job_info *job)
{
    return job->state == VRT_JOB_RUNNING || job->state == VRT_JOB_FINISHING;
}

int64_t vrt_top_job_bytes(const struct vrt_job_info *job)
{
    int64_t sum = VRT_UNKNOWN;

    /* Of another it is what it will have. */
    if (!is_at_work(job))
        return VRT_UNKNOWN;
    for (size_t i = 0; i < job->n_devices; i++) {
        const struct vrt_device_usage held = {
            .replica_bytes = VRT_MAX(job->devices[i].replica_bytes, 0),
            .workspace_bytes = VRT_MAX(job->devices[i].workspace_bytes, 0),
        };
        const int64_t bytes = vrt_device_held_bytes(&held);
        if (bytes > 0 && VRT_MAX(sum, 0) <= INT64_MAX - bytes)
            sum = VRT_MAX(sum, 0) + bytes;
    }
    return sum;
}

static void add_frames(struct vrt_top *top, const char *device, double frames)
{
    for (size_t i = 0; i < top->n_devices; i++)
        if (strcmp(top->devices[i].report.name, device) == 0)
            top->devices[i].frames.total += frames;
}

/* What each device has done of the job since the last look. Return: 0; -ENOMEM. */
static int take_frames(struct vrt_top *top, struct vrt_top_job *seen,
                       const struct vrt_job_info *job)
{
    for (size_t i = 0; i < job->n_devices; i++) {
        const struct vrt_job_device *d = &job->devices[i];
        const double underway = isnan(d->frames_underway) ? 0 : d->frames_underway;
        const double frames = (double)VRT_MAX(d->frames_done, 0) + underway;
        size_t k = 0;
        while (k < seen->n_devices && strcmp(seen->devices[k].name, d->name) != 0)
            k++;
        if (k < seen->n_devices) {
            add_frames(top, d->name, frames - seen->devices[k].frames);
        } else {
            void *devices = reallocarray(seen->devices, k + 1, sizeof(*seen->devices));
            if (!devices)
                return vrt_raise(-ENOMEM);
            seen->devices = devices;
            memcpy(seen->devices[seen->n_devices++].name, d->name, sizeof(d->name));
        }
        seen->devices[k].frames = frames;
    }
    return 0;
}

static int take_job(struct vrt_top *top, const struct vrt_job_info *job)
{
    struct vrt_top_job *seen = (struct vrt_top_job *)vrt_top_seen(top, job->id);
    const bool at_work = is_at_work(job);
    const int64_t bytes = vrt_top_job_bytes(job);

    if (!seen && !at_work)
        return 0;
    if (!seen) {
        void *all = reallocarray(top->seen, top->n_seen + 1, sizeof(*top->seen));
        if (!all)
            return vrt_raise(-ENOMEM);
        top->seen = all;
        seen = &top->seen[top->n_seen++];
        *seen = (struct vrt_top_job){ .id = job->id };
    }
    seen->is_there = true;
    vrt_series_add(&seen->fps, at_work ? job->fps : 0);
    vrt_series_add(&seen->memory, bytes < 0 ? NAN : (double)bytes);
    return vrt_fold(take_frames(top, seen, job));
}

/* Forgets jobs that are over. */
static void drop_jobs(struct vrt_top *top)
{
    size_t n = 0;

    for (size_t i = 0; i < top->n_seen; i++) {
        if (top->seen[i].is_there)
            top->seen[n++] = top->seen[i];
        else
            seen_done(&top->seen[i]);
    }
    top->n_seen = n;
}

/* Frames a second, over RATE_S of them, or as many as there were. */
static double take_rate(struct vrt_rate *rate)
{
    const size_t n = VRT_MIN(rate->n_before, (size_t)RATE_S);
    const size_t places = VRT_ARRAY_SIZE(rate->before);
    double fps = NAN;

    if (n > 0)
        fps = (rate->total - rate->before[(rate->n_before - n) % places]) / (double)n;
    rate->before[rate->n_before++ % places] = rate->total;
    return fps < 0 ? 0 : fps;           /* a shard that failed is done again */
}

/* The devices as they are now; a device goes and comes only with the daemon. */
static int take_devices(struct vrt_top *top, const json_t *reports, struct vrt_error *error)
{
    const size_t n = json_array_size(reports);
    VRT_CLEANUP(vrt_freep) struct vrt_top_device *devices = calloc(n + 1, sizeof(*devices));

    if (!devices)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "listing devices");
    for (size_t i = 0; i < n; i++) {
        struct vrt_device_report report;
        vrt_device_report_init(&report);
        int r = vrt_fields_decode(vrt_device_fields, json_array_get(reports, i),
                                  VRT_FIELDS_LENIENT, &report, error);
        if (r < 0)
            return VRT_CONN_E_BROKEN;
        for (size_t k = 0; k < top->n_devices; k++)
            if (strcmp(top->devices[k].report.name, report.name) == 0)
                devices[i] = top->devices[k];
        devices[i].report = report;
    }
    free(top->devices);
    top->devices = VRT_STEAL(devices);
    top->n_devices = n;
    return 0;
}

/* A card's driver knows what others hold of it, too. */
static double bytes_in_use(const struct vrt_device_report *report)
{
    const struct vrt_device_usage *memory = &report->memory;
    const int64_t held = vrt_device_held_bytes(memory);

    if (report->has_card && memory->total_bytes > 0 && memory->free_bytes >= 0)
        return (double)VRT_MAX(memory->total_bytes - memory->free_bytes, 0);
    return held < 0 ? NAN : (double)held;
}

int vrt_top_take_look(struct vrt_top *top, const json_t *reports, struct vrt_error *error)
{
    int r = reports ? take_devices(top, reports, error) : 0;

    for (size_t i = 0; i < top->n_seen; i++)
        top->seen[i].is_there = !reports;
    for (size_t i = 0; i < top->n_jobs && r == 0 && reports; i++)
        r = take_job(top, top->jobs[i]);
    for (size_t i = 0; i < top->n_devices; i++) {
        struct vrt_top_device *d = &top->devices[i];
        vrt_series_add(&d->fps, reports ? take_rate(&d->frames) : NAN);
        vrt_series_add(&d->memory, reports ? bytes_in_use(&d->report) : NAN);
    }
    for (size_t i = 0; i < top->n_seen && !reports; i++) {
        vrt_series_add(&top->seen[i].fps, NAN);
        vrt_series_add(&top->seen[i].memory, NAN);
    }
    drop_jobs(top);
    return vrt_fold(r);
}

void vrt_top_look(struct vrt_top *top)
{
    const int64_t now_ns = vrt_clock_now_ns();
    struct vrt_error error = { 0 };
    json_t *json = NULL;
    int r = 0;

    if (top->looked_ns && now_ns - top->looked_ns < PERIOD_NS)
        return;
    top->looked_ns = now_ns;
    if (top->is_there)
        r = vrt_conn_get(top->cli->conn, &json, &error, "/v1/devices");
    /* A daemon that is gone by now is found out, and told of, by the stream of events. */
    if (r == 0)
        r = vrt_top_take_look(top, json_object_get(json, "devices"), &error);
    if (r != 0 && r != VRT_CONN_E_UNREACHABLE && r != VRT_CONN_E_INTERRUPTED)
        vrt_top_say(top, error.message);
    json_decref(json);
}
