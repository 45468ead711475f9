/* SPDX-License-Identifier: MIT */

#include "msg_device.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

const char *const vrt_device_state_names[] = {
    [VRT_DEVICE_STARTING] = "starting",
    [VRT_DEVICE_READY] = "ready",
    [VRT_DEVICE_BUSY] = "busy",
    [VRT_DEVICE_LOST] = "lost",
    [VRT_DEVICE_QUARANTINED] = "quarantined",
    [VRT_DEVICE_STATE_COUNT] = NULL,
};

const char *const vrt_held_state_names[] = {
    [VRT_HELD_PACKING] = "packing",
    [VRT_HELD_COPYING] = "copying",
    [VRT_HELD_READY] = "ready",
    [VRT_HELD_IN_USE] = "in_use",
    [VRT_HELD_IDLE] = "idle",
    [VRT_HELD_STATE_COUNT] = NULL,
};

const char *const vrt_model_state_names[] = {
    [VRT_MODEL_READY] = "ready",
    [VRT_MODEL_AVAILABLE] = "available",
    [VRT_MODEL_PULLING] = "pulling",
    [VRT_MODEL_FAILED] = "failed",
    [VRT_MODEL_STATE_COUNT] = NULL,
};

#define NULLABLE VRT_FIELD_NULLABLE
#define COUNT(type, member, flags) VRT_FIELD_INT(type, member, flags, 0, INT64_MAX)

#define T struct vrt_device_usage
static const struct vrt_field usage_fields[] = {
    COUNT(T, total_bytes, NULLABLE),
    COUNT(T, free_bytes, NULLABLE),
    COUNT(T, replica_bytes, NULLABLE),
    COUNT(T, workspace_bytes, NULLABLE),
    COUNT(T, peak_bytes, NULLABLE),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_device_card
static const struct vrt_field card_fields[] = {
    COUNT(T, number, 0),
    VRT_FIELD_TEXT(T, uuid, NULLABLE),
    VRT_FIELD_TEXT(T, pci_address, NULLABLE),
    VRT_FIELD_TEXT(T, compute_capability, NULLABLE),
    VRT_FIELD_TEXT(T, driver_version, NULLABLE),
    VRT_FIELD_TEXT(T, runtime_version, NULLABLE),
    VRT_FIELDS_END,
};
#undef T

#define READING(member) VRT_FIELD_DOUBLE(T, member, NULLABLE, 0, INT32_MAX)
#define T struct vrt_device_readings
static const struct vrt_field reading_fields[] = {
    READING(utilization_percent),
    READING(memory_utilization_percent),
    READING(temperature_celsius),
    READING(power_watts),
    READING(power_limit_watts),
    VRT_FIELD_TEXT(T, throttling, NULLABLE),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_device_report
const struct vrt_field vrt_device_fields[] = {
    VRT_FIELD_TEXT(T, name, 0),
    VRT_FIELD_TEXT(T, kind, 0),
    VRT_FIELD_TEXT(T, description, 0),
    VRT_FIELD_ENUM(T, state, 0, vrt_device_state_names),
    COUNT(T, threads, NULLABLE),
    VRT_FIELD_OPTIONAL(T, card, has_card, card_fields),
    VRT_FIELD_OBJECT(T, memory, 0, usage_fields),
    VRT_FIELD_OPTIONAL(T, sensors, has_sensors, reading_fields),
    COUNT(T, shards_done, 0),
    COUNT(T, shards_failed, 0),
    VRT_FIELD_DOUBLE(T, seconds_per_shard, NULLABLE, 0, INT64_MAX),
    VRT_FIELD_DOUBLE(T, retry_in_s, NULLABLE, 0, INT64_MAX),
    VRT_FIELD_TEXT(T, last_error, NULLABLE),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_auto_report
const struct vrt_field vrt_auto_fields[] = {
    VRT_FIELD_TEXTS(T, devices, n_devices, VRT_API_DEVICES_MAX),
    VRT_FIELD_TEXT(T, reason, 0),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_devices_request
const struct vrt_field vrt_devices_request_fields[] = {
    VRT_FIELD_TEXT(T, device, NULLABLE),
    VRT_FIELD_BOOL(T, trim, 0),
    VRT_FIELD_BOOL(T, reset_peak, 0),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_trimmed_report
const struct vrt_field vrt_trimmed_fields[] = {
    VRT_FIELD_TEXT(T, name, 0),
    VRT_FIELD_ENUM(T, state, 0, vrt_device_state_names),
    VRT_FIELD_BOOL(T, done, 0),
    COUNT(T, freed_bytes, NULLABLE),
    COUNT(T, former_peak_bytes, NULLABLE),
    VRT_FIELD_OBJECT(T, memory, 0, usage_fields),
    VRT_FIELD_TEXT(T, message, NULLABLE),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_model_report
const struct vrt_field vrt_model_fields[] = {
    VRT_FIELD_TEXT(T, name, 0),
    VRT_FIELD_ENUM(T, state, 0, vrt_model_state_names),
    VRT_FIELD_TEXT(T, architecture, NULLABLE),
    COUNT(T, scale, NULLABLE),
    COUNT(T, parameters, NULLABLE),
    VRT_FIELD_TEXT(T, source, NULLABLE),
    VRT_FIELD_TEXT(T, checksum, NULLABLE),
    VRT_FIELD_BOOL(T, is_default, 0),
    VRT_FIELD_TEXT(T, description, NULLABLE),
    VRT_FIELD_TEXT(T, license, NULLABLE),
    VRT_FIELD_TEXT(T, url, NULLABLE),
    VRT_FIELD_TEXT(T, sha256, NULLABLE),
    VRT_FIELD_BOOL(T, verified, 0),
    COUNT(T, size_bytes, NULLABLE),
    COUNT(T, done_bytes, NULLABLE),
    VRT_FIELD_TEXT(T, error, NULLABLE),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_held_report
const struct vrt_field vrt_held_fields[] = {
    VRT_FIELD_TEXT(T, device, 0),
    VRT_FIELD_TEXT(T, model, NULLABLE),
    VRT_FIELD_TEXT(T, checksum, 0),
    VRT_FIELD_TEXT(T, precision, 0),
    COUNT(T, bytes, 0),
    VRT_FIELD_ENUM(T, state, 0, vrt_held_state_names),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_model_request
const struct vrt_field vrt_model_request_fields[] = {
    VRT_FIELD_TEXT(T, name, NULLABLE),
    VRT_FIELD_TEXT(T, url, NULLABLE),
    VRT_FIELD_TEXT(T, sha256, NULLABLE),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_status_jobs
static const struct vrt_field job_count_fields[] = {
    COUNT(T, queued, 0),
    COUNT(T, fetching, 0),
    COUNT(T, running, 0),
    COUNT(T, paused, 0),
    COUNT(T, needs_input, 0),
    COUNT(T, disk_full, 0),
    COUNT(T, done, 0),
    COUNT(T, failed, 0),
    COUNT(T, cancelled, 0),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_status_device
static const struct vrt_field device_state_fields[] = {
    VRT_FIELD_TEXT(T, name, 0),
    VRT_FIELD_ENUM(T, state, 0, vrt_device_state_names),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_status_report
const struct vrt_field vrt_status_fields[] = {
    VRT_FIELD_TEXT(T, version, 0),
    VRT_FIELD_TEXT(T, instance, VRT_FIELD_NULLABLE),
    COUNT(T, pid, 0),
    VRT_FIELD_DOUBLE(T, uptime_s, VRT_FIELD_NULLABLE, 0, INT64_MAX),
    VRT_FIELD_OBJECT(T, jobs, 0, job_count_fields),
    VRT_FIELD_ARRAY(T, devices, n_devices, VRT_API_DEVICES_MAX, device_state_fields),
    COUNT(T, requests, 0),
    COUNT(T, connections, 0),
    VRT_FIELDS_END,
};
#undef T

void vrt_device_report_init(struct vrt_device_report *report)
{
    *report = (struct vrt_device_report){ 0 };
    vrt_fields_reset(vrt_device_fields, report);
}

void vrt_trimmed_report_init(struct vrt_trimmed_report *report)
{
    *report = (struct vrt_trimmed_report){ 0 };
    vrt_fields_reset(vrt_trimmed_fields, report);
}

void vrt_held_report_init(struct vrt_held_report *report)
{
    *report = (struct vrt_held_report){ 0 };
    vrt_fields_reset(vrt_held_fields, report);
}

void vrt_model_report_init(struct vrt_model_report *report)
{
    *report = (struct vrt_model_report){ 0 };
    vrt_fields_reset(vrt_model_fields, report);
}

void vrt_status_report_init(struct vrt_status_report *report)
{
    *report = (struct vrt_status_report){ 0 };
    vrt_fields_reset(vrt_status_fields, report);
}

bool vrt_model_sha256_is_valid(const char *text)
{
    return strlen(text) == VRT_API_SHA256_BYTES - 1 &&
           strspn(text, "0123456789abcdef") == VRT_API_SHA256_BYTES - 1;
}

/* What no single field tells. */
static int check_model_request(struct vrt_model_request *request, struct vrt_error *error)
{
    if (!request->name[0] == !request->url[0]) {
        vrt_error_set_field(error, "name");
        return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REQUEST_FIELD),
                          "name: a model is fetched by its name or else by its url");
    }
    for (char *c = request->sha256; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (request->sha256[0] && !vrt_model_sha256_is_valid(request->sha256)) {
        vrt_error_set_field(error, "sha256");
        return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REQUEST_FIELD),
                          "sha256: expected 64 hexadecimal digits");
    }
    return 0;
}

/* Nothing says that what a daemon tells adds up to an int64_t. */
int64_t vrt_device_held_bytes(const struct vrt_device_usage *memory)
{
    bool adds_up = memory->replica_bytes >= 0 && memory->workspace_bytes >= 0 &&
                   memory->replica_bytes <= INT64_MAX - memory->workspace_bytes;

    return adds_up ? memory->replica_bytes + memory->workspace_bytes : VRT_UNKNOWN;
}

int vrt_devices_request_parse(const void *text, size_t size,
                              struct vrt_devices_request *ret_request, struct vrt_error *error)
{
    struct vrt_devices_request request = { 0 };

    int r = vrt_fields_parse(vrt_devices_request_fields, text, size, &request, error);
    if (r < 0)
        return vrt_fold(r);
    if (!request.trim && !request.reset_peak) {
        vrt_error_set_field(error, "trim");
        return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REQUEST_FIELD),
                          "trim: nothing is asked of the devices: set trim, reset_peak or both");
    }
    *ret_request = request;
    return 0;
}

int vrt_model_request_parse(const void *text, size_t size, struct vrt_model_request *ret_request,
                            struct vrt_error *error)
{
    struct vrt_model_request request = { 0 };

    int r = vrt_fields_parse(vrt_model_request_fields, text, size, &request, error);
    if (r < 0)
        return vrt_fold(r);
    r = check_model_request(&request, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_request = request;
    return 0;
}
