/* SPDX-License-Identifier: MIT */
/* GET /v1/devices: what the pool knows of each, as the API says it, to the doctor's readers too.
 * POST: what administrators ask of devices. */

#include "daemon/api/device-report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "backend/kind.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "daemon/access/access.h"
#include "daemon/api/device-routes.h"
#include "daemon/api/routes.h"
#include "daemon/devices/pool.h"
#include "daemon/devices/trimming.h"

#define VRT_LOG_TOPIC "api"

static void fill_card(const struct vrt_device_info *info, struct vrt_device_card *card)
{
    card->number = info->card;
    snprintf(card->uuid, sizeof(card->uuid), "%s", info->uuid);
    snprintf(card->pci_address, sizeof(card->pci_address), "%s", info->pci_address);
    snprintf(card->compute_capability, sizeof(card->compute_capability), "%s",
             info->compute_capability);
    snprintf(card->driver_version, sizeof(card->driver_version), "%s", info->driver_version);
    snprintf(card->runtime_version, sizeof(card->runtime_version), "%s", info->runtime_version);
}

static void fill_sensors(const struct vrt_device_sensors *from, struct vrt_device_readings *to)
{
    to->utilization_percent = from->utilization_percent;
    to->memory_utilization_percent = from->memory_utilization_percent;
    to->temperature_celsius = from->temperature_celsius;
    to->power_watts = from->power_watts;
    to->power_limit_watts = from->power_limit_watts;
    snprintf(to->throttling, sizeof(to->throttling), "%s", from->throttling);
}

static void fill_usage(const struct vrt_device_snapshot *device, struct vrt_device_usage *usage)
{
    *usage = (struct vrt_device_usage){
        .total_bytes = device->memory_total_bytes,
        .free_bytes = device->memory_free_bytes,
        .replica_bytes = device->replica_bytes,
        .workspace_bytes = device->workspace_bytes,
        .peak_bytes = device->peak_bytes,
    };
}

void vrt_device_report_fill(const struct vrt_device_snapshot *device,
                            struct vrt_device_report *ret_report)
{
    const struct vrt_device_info *info = device->info;

    vrt_device_report_init(ret_report);
    snprintf(ret_report->name, sizeof(ret_report->name), "%s", info->name);
    snprintf(ret_report->kind, sizeof(ret_report->kind), "%s", info->kind);
    snprintf(ret_report->description, sizeof(ret_report->description), "%s", info->description);
    snprintf(ret_report->last_error, sizeof(ret_report->last_error), "%s", device->last_error);
    ret_report->state = device->state;
    ret_report->threads = info->n_threads > 0 ? info->n_threads : VRT_UNKNOWN;
    ret_report->has_card = vrt_device_kind_is_accelerator(info->kind);
    fill_card(info, &ret_report->card);
    fill_usage(device, &ret_report->memory);
    ret_report->has_sensors = device->sensors.are_known;
    fill_sensors(&device->sensors, &ret_report->sensors);
    ret_report->shards_done = device->shards_done;
    ret_report->shards_failed = device->shards_failed;
    ret_report->seconds_per_shard = device->shard_s > 0 ? device->shard_s : NAN;
    ret_report->retry_in_s = device->state == VRT_DEVICE_QUARANTINED && device->retry_in_s >= 0 ?
                             device->retry_in_s : NAN;
}

/* What a job that asks for `auto` would run on now. */
static void fill_auto(const struct vrt_api *api, struct vrt_auto_report *report)
{
    const struct vrt_pool_wish wish = { "auto", VRT_FALLBACK_WARN, .n_tries = 1 };
    struct vrt_device_choice choice = { .devices = 0 };
    struct vrt_error error = { .id = NULL };
    struct vrt_device_snapshot device;
    bool any_accelerator = false;

    int r = vrt_pool_choose(api->pool, &wish, &choice, &error);
    for (size_t d = 0; d < vrt_pool_n_devices(api->pool); d++) {
        if (!(choice.devices >> d & 1))
            continue;
        vrt_pool_device(api->pool, d, &device);
        any_accelerator |= vrt_device_kind_is_accelerator(device.info->kind);
        snprintf(report->devices[report->n_devices++], sizeof(report->devices[0]), "%s",
                 device.info->name);
    }
    snprintf(report->reason, sizeof(report->reason), "%s",
             r < 0 ? error.message : choice.n_warnings ? choice.warnings[0] :
             any_accelerator ? "accelerators go before the CPU" : "there is no accelerator");
}

static int print_devices(const struct vrt_api *api, const struct vrt_device_report *reports,
                         size_t n, struct vrt_buf *body)
{
    char names[VRT_DEVICES_MAX][VRT_API_DEVICE_BYTES];
    struct vrt_auto_report automatic = { .devices = names };

    int r = vrt_buf_printf(body, "{\"devices\":[");
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = vrt_buf_append(body, ",", i > 0);
        if (r == 0)
            r = vrt_fields_print(vrt_device_fields, &reports[i], body);
    }
    fill_auto(api, &automatic);
    if (r == 0)
        r = vrt_buf_printf(body, "],\"auto\":");
    if (r == 0)
        r = vrt_fields_print(vrt_auto_fields, &automatic, body);
    return r < 0 ? vrt_fold(r) : vrt_fold(vrt_buf_append(body, "}", 1));
}

void vrt_api_devices(const struct vrt_call *call)
{
    struct vrt_pool *pool = call->api->pool;
    size_t n = vrt_pool_n_devices(pool);
    VRT_CLEANUP(vrt_freep) struct vrt_device_report *reports = calloc(n + 1, sizeof(*reports));
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };
    struct vrt_device_snapshot device;
    struct vrt_error error = { .id = NULL };

    if (!reports) {
        vrt_refuse_errno(&error, vrt_raise(-ENOMEM), "listing the devices");
        vrt_conn_refuse(call->conn, &error);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        vrt_pool_device(pool, i, &device);
        vrt_device_report_fill(&device, &reports[i]);
    }
    vrt_api_reply(call->conn, print_devices(call->api, reports, n, &body), &body,
                  "printing the devices");
}

/* A client that waits for devices to be trimmed. */
struct trimmers {
    struct vrt_api *api;
    struct vrt_conn_watch watch;
};

static int print_trimmed(const struct vrt_pool *pool, const struct vrt_trimmed *devices, size_t n,
                         struct vrt_buf *body)
{
    struct vrt_device_snapshot snapshot;
    struct vrt_trimmed_report report;
    bool any = false;

    int r = vrt_buf_printf(body, "{\"devices\":[");
    for (size_t d = 0; r == 0 && d < n; d++) {
        if (!devices[d].is_meant)
            continue;
        vrt_pool_device(pool, d, &snapshot);
        report = (struct vrt_trimmed_report){
            .state = snapshot.state,
            .done = devices[d].is_done,
            .freed_bytes = devices[d].freed_bytes,
            .former_peak_bytes = devices[d].peak_bytes,
        };
        snprintf(report.name, sizeof(report.name), "%s", snapshot.info->name);
        fill_usage(&snapshot, &report.memory);
        snprintf(report.message, sizeof(report.message), "%s", devices[d].message);
        r = vrt_buf_append(body, ",", any);
        if (r == 0)
            r = vrt_fields_print(vrt_trimmed_fields, &report, body);
        any = true;
    }
    return r < 0 ? vrt_fold(r) : vrt_fold(vrt_buf_append(body, "]}", 2));
}

static void on_trimmed(void *ctx, const struct vrt_trimmed *devices, size_t n_devices)
{
    struct trimmers *trimmers = ctx;
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };

    if (trimmers->watch.conn)
        vrt_api_reply(trimmers->watch.conn,
                      print_trimmed(trimmers->api->pool, devices, n_devices, &body), &body,
                      "printing the devices");
    free(trimmers);
}

/* It is done all the same. */
static void on_gone(struct vrt_conn_watch *watch)
{
    (void)watch;
}

/* Return: 0, and the client waits; -errno. */
static int trim(const struct vrt_call *call, const struct vrt_devices_request *wanted,
                struct vrt_error *error)
{
    struct trimmers *trimmers = calloc(1, sizeof(*trimmers));

    if (!trimmers)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "asking the devices");
    trimmers->api = call->api;
    trimmers->watch.gone = on_gone;
    int r = vrt_trimming_begin(call->api->pool, &(struct vrt_trimming_params){
        .device = wanted->device,
        .trim = wanted->trim,
        .reset_peak = wanted->reset_peak,
        .patience_s = VRT_API_TRIM_PATIENCE_S,
        .done = on_trimmed,
        .ctx = trimmers,
    }, error);
    if (r < 0) {
        free(trimmers);
        return vrt_fold(r);
    }
    vrt_conn_watch(call->conn, &trimmers->watch);
    return 0;
}

void vrt_api_devices_trim(const struct vrt_call *call)
{
    const struct vrt_request *request = call->request;
    struct vrt_error error = { .id = NULL };
    struct vrt_devices_request wanted;
    char shown[VRT_API_REQUEST_DEVICE_BYTES];

    int r = vrt_devices_request_parse(request->body, request->body_bytes, &wanted, &error);
    if (r == 0 && !vrt_access_is_admin(call->api->access, request->peer))
        r = vrt_refuse(&error, vrt_raise(-EPERM), VRT_E(DEVICE_FORBIDDEN),
                       "devices are trimmed, and their peaks reset, by administrators only: root, "
                       "the user that vrtd runs as, and the admin group");
    if (r == 0)
        r = trim(call, &wanted, &error);
    if (r < 0) {
        vrt_refuse_errno(&error, r, "asking the devices");
        vrt_conn_refuse(call->conn, &error);
        return;
    }
    vrt_log_info("%s is asked to %s%s%s by uid %u",
                 wanted.device[0] ? vrt_printable(wanted.device, shown, sizeof(shown)) :
                                    "every device",
                 wanted.trim ? "give up what no job uses" : "",
                 wanted.trim && wanted.reset_peak ? " and " : "",
                 wanted.reset_peak ? "begin its peak anew" : "", (unsigned)request->peer->uid);
}
