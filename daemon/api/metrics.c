/* SPDX-License-Identifier: MIT */
/*
 * GET /metrics: what GET /v1/status and GET /v1/devices tell, and what has been counted since the
 * start, as Prometheus scrapes it. Names follow its rules (base units, _total for what only grows):
 * https://prometheus.io/docs/practices/naming/. Labels are of what there are few of: devices,
 * states, ids of errors; no job, user, or file is one. What nobody knows has no sample.
 */

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api.h"
#include "backend/kind.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "daemon/api/exposition.h"
#include "daemon/api/routes.h"
#include "daemon/devices/pool.h"
#include "daemon/http/listener.h"
#include "daemon/jobs/admission.h"
#include "daemon/jobs/queue.h"
#include "msg_device.h"

/* What the families are printed of. */
struct scrape {
    const struct vrt_api *api;
    const struct vrt_device_snapshot *devices;
    size_t n_devices;
    struct vrt_exposition to;
};

/* A number as it is told: -1 is unknown. */
static double known(double value)
{
    return value < 0 ? NAN : value;
}

static void add(struct scrape *scrape, double value)
{
    vrt_exposition_add(&scrape->to, &(struct vrt_sample){ .suffix = NULL }, value);
}

static void add_labelled(struct scrape *scrape, const char *label, const char *label_value,
                         double value)
{
    vrt_exposition_add(&scrape->to, &(struct vrt_sample){ .labels = { { label, label_value } } },
                       value);
}

/* Of the process. */

static void print_build(struct scrape *scrape)
{
    add_labelled(scrape, "version", VRT_VERSION, 1);
}

static void print_started(struct scrape *scrape)
{
    add(scrape, (double)scrape->api->started_at / VRT_NS_PER_S);
}

static void print_cpu(struct scrape *scrape)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    add(scrape, (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
}

/* Linux's /proc tells it; elsewhere it is unknown. */
static void print_resident(struct scrape *scrape)
{
    FILE *file = fopen("/proc/self/statm", "re");
    long long pages;

    if (!file)
        return;
    if (fscanf(file, "%*d %lld", &pages) == 1)
        add(scrape, (double)pages * (double)sysconf(_SC_PAGESIZE));
    fclose(file);
}

/* Of jobs. */

static void print_jobs(struct scrape *scrape)
{
    struct vrt_status_jobs jobs;

    vrt_api_count_jobs(scrape->api, &jobs);
    const struct {
        enum vrt_job_state state;
        int64_t n;
    } states[] = {
        { VRT_JOB_QUEUED, jobs.queued }, { VRT_JOB_FETCHING, jobs.fetching },
        { VRT_JOB_RUNNING, jobs.running }, { VRT_JOB_PAUSED, jobs.paused },
        { VRT_JOB_NEEDS_INPUT, jobs.needs_input }, { VRT_JOB_DISK_FULL, jobs.disk_full },
        { VRT_JOB_DONE, jobs.done }, { VRT_JOB_FAILED, jobs.failed },
        { VRT_JOB_CANCELLED, jobs.cancelled },
    };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(states); i++)
        add_labelled(scrape, "state", vrt_job_state_names[states[i].state], (double)states[i].n);
}

static void print_admissions(struct scrape *scrape)
{
    const struct vrt_admission *admission = vrt_queue_admission(scrape->api->queue);
    const struct vrt_list *link;
    int n = 0;

    for (link = admission->jobs.next; link != &admission->jobs; link = link->next)
        n++;
    add(scrape, n);
}

static void print_accepted(struct scrape *scrape)
{
    add(scrape, (double)scrape->api->n_accepted);
}

/* Those ids that were met: a series for each of the others would say nothing. */
static void print_errors(struct scrape *scrape, const int64_t n[VRT_API_ERROR_COUNT])
{
    for (size_t i = 0; i < VRT_API_ERROR_COUNT; i++)
        if (n[i] > 0)
            add_labelled(scrape, "error", vrt_api_errors[i].id, (double)n[i]);
}

static void print_refused(struct scrape *scrape)
{
    print_errors(scrape, scrape->api->n_refused);
}

static void print_ended(struct scrape *scrape)
{
    const struct vrt_jobs *jobs = vrt_queue_jobs(scrape->api->queue);

    for (int state = 0; state < VRT_JOB_STATE_COUNT; state++)
        if (vrt_job_state_is_final(state))
            add_labelled(scrape, "state", vrt_job_state_names[state], (double)jobs->n_over[state]);
}

static void print_failed(struct scrape *scrape)
{
    print_errors(scrape, vrt_queue_jobs(scrape->api->queue)->n_failed);
}

static void print_frames(struct scrape *scrape)
{
    add(scrape, (double)scrape->api->totals.frames_done);
}

static void print_stages(struct scrape *scrape)
{
    for (int stage = 0; stage < VRT_STAGE_COUNT; stage++)
        add_labelled(scrape, "stage", vrt_stage_name((enum vrt_stage)stage),
                     (double)scrape->api->totals.busy_ns[stage] / VRT_NS_PER_S);
}

static void print_ready_shards(struct scrape *scrape)
{
    add(scrape, (double)vrt_pool_n_ready(scrape->api->pool));
}

/* Of the API. */

static void print_requests(struct scrape *scrape)
{
    add(scrape, (double)scrape->api->n_requests);
}

static void print_connections(struct scrape *scrape)
{
    add(scrape, (double)vrt_api_n_conns(scrape->api));
}

static void print_log(struct scrape *scrape)
{
    for (int level = 0; level < VRT_LOG_LEVEL_COUNT; level++)
        add_labelled(scrape, "level", vrt_log_level_names[level],
                     (double)vrt_log_count((enum vrt_log_level)level));
}

/* Of devices: more than a number each. */

static void print_device_infos(struct scrape *scrape)
{
    for (size_t d = 0; d < scrape->n_devices; d++) {
        const struct vrt_device_info *info = scrape->devices[d].info;
        vrt_exposition_add(&scrape->to, &(struct vrt_sample){
            .labels = { { "device", info->name }, { "kind", info->kind },
                        { "description", info->description } },
        }, 1);
    }
}

static void print_device_states(struct scrape *scrape)
{
    for (size_t d = 0; d < scrape->n_devices; d++)
        for (int state = 0; state < VRT_DEVICE_STATE_COUNT; state++)
            vrt_exposition_add(&scrape->to, &(struct vrt_sample){
                .labels = { { "device", scrape->devices[d].info->name },
                            { "state", vrt_device_state_names[state] } },
            }, (int)scrape->devices[d].state == state);
}

static void print_shard_times(struct scrape *scrape)
{
    for (size_t d = 0; d < scrape->n_devices; d++) {
        const struct vrt_histogram *times = &scrape->devices[d].shard_times;
        const char *name = scrape->devices[d].info->name;
        char step[16];
        int64_t n = 0;

        for (size_t i = 0; i <= VRT_HISTOGRAM_N_STEPS; i++) {
            n += times->counts[i];
            if (i < VRT_HISTOGRAM_N_STEPS)
                snprintf(step, sizeof(step), "%g", vrt_histogram_steps_s[i]);
            else
                snprintf(step, sizeof(step), "+Inf");
            vrt_exposition_add(&scrape->to, &(struct vrt_sample){
                .suffix = "_bucket", .labels = { { "device", name }, { "le", step } } }, (double)n);
        }
        vrt_exposition_add(&scrape->to, &(struct vrt_sample){
            .suffix = "_sum", .labels = { { "device", name } } }, times->sum_s);
        vrt_exposition_add(&scrape->to, &(struct vrt_sample){
            .suffix = "_count", .labels = { { "device", name } } }, (double)n);
    }
}

#define HELP_BUSY "Seconds that each stage of jobs worked, of all devices together."

static const struct {
    const char *name, *type, *help;
    void (*print)(struct scrape *scrape);
} families[] = {
    { "vrtd_build_info", "gauge", "Of which version vrtd is.", print_build },
    { "process_start_time_seconds", "gauge", "When vrtd began, in seconds since 1970.",
      print_started },
    { "process_cpu_seconds_total", "counter", "Processor time of vrtd, without vrt-media's.",
      print_cpu },
    { "process_resident_memory_bytes", "gauge", "Host memory of vrtd, without vrt-media's.",
      print_resident },
    { "vrtd_jobs", "gauge", "Jobs in the list, by state; running ones may be finishing.",
      print_jobs },
    { "vrtd_admissions", "gauge", "Submissions that are being looked at.", print_admissions },
    { "vrtd_jobs_accepted_total", "counter", "Submissions that became jobs.", print_accepted },
    { "vrtd_jobs_refused_total", "counter", "Submissions that did not, by error.", print_refused },
    { "vrtd_jobs_ended_total", "counter", "Jobs that ended, by how; those retried count again.",
      print_ended },
    { "vrtd_jobs_failed_total", "counter", "Jobs that failed, by error.", print_failed },
    { "vrtd_frames_done_total", "counter",
      "Frames encoded; those made anew after an interruption count again.", print_frames },
    { "vrtd_stage_busy_seconds_total", "counter", HELP_BUSY, print_stages },
    { "vrtd_shards_ready", "gauge", "Shards that wait for a device.", print_ready_shards },
    { "vrtd_http_requests_total", "counter", "Requests that came.", print_requests },
    { "vrtd_http_connections", "gauge", "Connections that are open.", print_connections },
    { "vrtd_log_lines_total", "counter", "Lines of the log, by level.", print_log },
    { "vrtd_device_info", "gauge", "What each device is.", print_device_infos },
    { "vrtd_device_state", "gauge", "1 for the state that a device is in.", print_device_states },
    { "vrtd_device_shard_duration_seconds", "histogram",
      "How long a device was at each shard that it did.", print_shard_times },
};

/* Of devices: a number each. */
#define VALUE(name, expression)                                     \
    static double value_##name(const struct vrt_device_snapshot *d) \
    {                                                               \
        return expression;                                          \
    }
VALUE(shards_done, (double)d->shards_done)
VALUE(shards_failed, (double)d->shards_failed)
VALUE(frames_done, (double)d->frames_done)
VALUE(quarantined, (double)d->n_quarantined)
VALUE(in_flight, d->in_flight)
VALUE(networks, d->n_replicas)
VALUE(memory_total, known((double)d->memory_total_bytes))
VALUE(memory_free, known((double)d->memory_free_bytes))
VALUE(memory_used, known((double)d->used_bytes))
VALUE(memory_weights, known((double)d->replica_bytes))
VALUE(memory_workspace, known((double)d->workspace_bytes))
VALUE(memory_peak, known((double)d->peak_bytes))
VALUE(utilization, d->sensors.utilization_percent / 100)
VALUE(memory_utilization, d->sensors.memory_utilization_percent / 100)
VALUE(temperature, d->sensors.temperature_celsius)
VALUE(power, d->sensors.power_watts)
VALUE(power_limit, d->sensors.power_limit_watts)

static const struct {
    const char *name, *type, *help;
    double (*value)(const struct vrt_device_snapshot *device);
    bool is_sensor;                 /* known where the device has sensors */
} device_families[] = {
    { "vrtd_device_shards_done_total", "counter", "Shards that a device did.", value_shards_done },
    { "vrtd_device_shards_failed_total", "counter", "Shards that failed on a device.",
      value_shards_failed },
    { "vrtd_device_frames_done_total", "counter",
      "Frames of these shards; those that shards share, and that two devices did, count twice.",
      value_frames_done },
    { "vrtd_device_quarantines_total", "counter", "How often a device was quarantined.",
      value_quarantined },
    { "vrtd_device_shards_in_flight", "gauge", "Shards that a device holds.", value_in_flight },
    { "vrtd_device_networks", "gauge", "Networks whose weights a device holds.", value_networks },
    { "vrtd_device_memory_total_bytes", "gauge", "Memory of a device, by its driver.",
      value_memory_total },
    { "vrtd_device_memory_free_bytes", "gauge", "Of that free, by its driver.",
      value_memory_free },
    { "vrtd_device_memory_used_bytes", "gauge", "Of that held by vrtd, by its own accounting.",
      value_memory_used },
    { "vrtd_device_memory_weights_bytes", "gauge", "Of what vrtd holds: weights of networks.",
      value_memory_weights },
    { "vrtd_device_memory_workspace_bytes", "gauge", "Of what vrtd holds: for jobs' frames.",
      value_memory_workspace },
    { "vrtd_device_memory_peak_bytes", "gauge", "The most that vrtd held since the last reset.",
      value_memory_peak },
    { "vrtd_device_utilization_ratio", "gauge", "How busy a device is, 0 to 1, whoever uses it.",
      value_utilization, true },
    { "vrtd_device_memory_utilization_ratio", "gauge", "Likewise its memory's bus.",
      value_memory_utilization, true },
    { "vrtd_device_temperature_celsius", "gauge", "How warm a device is.", value_temperature,
      true },
    { "vrtd_device_power_watts", "gauge", "What power a device takes.", value_power, true },
    { "vrtd_device_power_limit_watts", "gauge", "What power it may take.", value_power_limit,
      true },
};

static void print_device_values(struct scrape *scrape)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(device_families); i++) {
        vrt_exposition_begin(&scrape->to, device_families[i].name, device_families[i].type,
                             device_families[i].help);
        for (size_t d = 0; d < scrape->n_devices; d++) {
            const struct vrt_device_snapshot *device = &scrape->devices[d];
            if (device->sensors.are_known || !device_families[i].is_sensor)
                add_labelled(scrape, "device", device->info->name,
                             device_families[i].value(device));
        }
    }
}

void vrt_api_metrics(const struct vrt_call *call)
{
    struct vrt_device_snapshot devices[VRT_DEVICES_MAX];
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };
    struct scrape scrape = {
        .api = call->api,
        .devices = devices,
        .n_devices = VRT_MIN(vrt_pool_n_devices(call->api->pool), VRT_ARRAY_SIZE(devices)),
        .to = { .buf = &body },
    };

    for (size_t d = 0; d < scrape.n_devices; d++)
        vrt_pool_device(call->api->pool, d, &devices[d]);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(families); i++) {
        vrt_exposition_begin(&scrape.to, families[i].name, families[i].type, families[i].help);
        families[i].print(&scrape);
    }
    print_device_values(&scrape);
    vrt_api_reply_as(call->conn, scrape.to.r, &body,
                     (struct vrt_response){ .status = 200, .type = VRT_EXPOSITION_TYPE },
                     "printing metrics");
}
