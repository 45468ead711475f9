/* SPDX-License-Identifier: MIT */

#include "msg_log.h"

#define T struct vrt_log_entry
static const struct vrt_field log_entry_fields[] = {
    VRT_FIELD_TIME(T, at, 0),
    VRT_FIELD_ENUM(T, level, 0, vrt_log_level_names),
    VRT_FIELD_TEXT(T, topic, 0),
    VRT_FIELD_TEXT(T, text, 0),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_log_report
const struct vrt_field vrt_log_fields[] = {
    VRT_FIELD_ARRAY(T, lines, n_lines, VRT_API_LOG_LINES, log_entry_fields),
    VRT_FIELDS_END,
};
#undef T
