/* SPDX-License-Identifier: MIT */

#include "msg_device.h"

const char *const vrt_device_state_names[] = {
    [VRT_DEVICE_STARTING] = "starting",
    [VRT_DEVICE_READY] = "ready",
    [VRT_DEVICE_BUSY] = "busy",
    [VRT_DEVICE_LOST] = "lost",
    [VRT_DEVICE_QUARANTINED] = "quarantined",
    [VRT_DEVICE_STATE_COUNT] = NULL,
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

#define T struct vrt_device_report
const struct vrt_field vrt_device_fields[] = {
    VRT_FIELD_TEXT(T, name, 0),
    VRT_FIELD_TEXT(T, kind, 0),
    VRT_FIELD_TEXT(T, description, 0),
    VRT_FIELD_ENUM(T, state, 0, vrt_device_state_names),
    COUNT(T, threads, NULLABLE),
    VRT_FIELD_OBJECT(T, memory, 0, usage_fields),
    COUNT(T, shards_done, 0),
    COUNT(T, shards_failed, 0),
    VRT_FIELD_DOUBLE(T, seconds_per_shard, NULLABLE, 0, INT64_MAX),
    VRT_FIELD_TEXT(T, last_error, NULLABLE),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_model_report
const struct vrt_field vrt_model_fields[] = {
    VRT_FIELD_TEXT(T, name, 0),
    VRT_FIELD_TEXT(T, architecture, NULLABLE),
    COUNT(T, scale, NULLABLE),
    COUNT(T, parameters, NULLABLE),
    VRT_FIELD_TEXT(T, source, NULLABLE),
    VRT_FIELD_TEXT(T, checksum, NULLABLE),
    VRT_FIELD_BOOL(T, is_default, 0),
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
