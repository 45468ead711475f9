/* SPDX-License-Identifier: MIT */

#include "history/msg_history.h"

#define NULLABLE VRT_FIELD_NULLABLE

#define T struct vrt_history_point
static const struct vrt_field point_fields[] = {
    VRT_FIELD_DOUBLE(T, elapsed_s, 0, 0, INT64_MAX),
    VRT_FIELD_DOUBLE(T, frames, 0, 0, INT64_MAX),
    VRT_FIELD_DOUBLE(T, fps, NULLABLE, 0, INT64_MAX),
    VRT_FIELD_INT(T, memory_bytes, NULLABLE, 0, INT64_MAX),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_history_report
const struct vrt_field vrt_history_fields[] = {
    VRT_FIELD_DOUBLE(T, period_s, 0, 0, INT64_MAX),
    VRT_FIELD_ARRAY(T, points, n_points, VRT_API_HISTORY_POINTS, point_fields),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_device_history_point
static const struct vrt_field device_point_fields[] = {
    VRT_FIELD_INT(T, used_bytes, NULLABLE, 0, INT64_MAX),
    VRT_FIELD_INT(T, held_bytes, NULLABLE, 0, INT64_MAX),
    VRT_FIELD_DOUBLE(T, utilization_percent, NULLABLE, 0, INT64_MAX),
    VRT_FIELD_DOUBLE(T, busy_percent, 0, 0, INT64_MAX),
    VRT_FIELD_DOUBLE(T, fps, NULLABLE, 0, INT64_MAX),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_device_history_report
static const struct vrt_field device_history_fields[] = {
    VRT_FIELD_TEXT(T, name, 0),
    VRT_FIELD_ARRAY(T, points, n_points, VRT_API_DEVICE_HISTORY_POINTS, device_point_fields),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_devices_history_report
const struct vrt_field vrt_devices_history_fields[] = {
    VRT_FIELD_DOUBLE(T, period_s, 0, 0, INT64_MAX),
    VRT_FIELD_INT(T, last, 0, 0, INT64_MAX),
    VRT_FIELD_ARRAY(T, devices, n_devices, VRT_API_DEVICES_MAX, device_history_fields),
    VRT_FIELDS_END,
};
#undef T
