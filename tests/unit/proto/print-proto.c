/* SPDX-License-Identifier: MIT */
/* Prints the protocol's tables as JSON: check-openapi.py compares them with openapi.yaml. */

#include <jansson.h>
#include <stdio.h>

#include "api.h"
#include "fields.h"
#include "msg_codec.h"
#include "msg_device.h"
#include "msg_doctor.h"
#include "history/msg_history.h"
#include "msg_job.h"
#include "msg_log.h"
#include "msg_plan.h"
#include "compare/msg_compare.h"
#include "msg_preview.h"
#include "web/msg_token.h"
#include "web/msg_upload.h"

static const char *const type_names[VRT_FIELD_TYPE_COUNT] = {
    [VRT_FIELD_BOOL] = "boolean",
    [VRT_FIELD_INT] = "integer",
    [VRT_FIELD_DOUBLE] = "number",
    [VRT_FIELD_TIME] = "string",
    [VRT_FIELD_TEXT] = "string",
    [VRT_FIELD_ENUM] = "string",
    [VRT_FIELD_OBJECT] = "object",
    [VRT_FIELD_ARRAY] = "array",
    [VRT_FIELD_TEXTS] = "array",
};

static json_t *fields_json(const struct vrt_field *fields)
{
    json_t *table = json_array();

    for (const struct vrt_field *f = fields; f->key; f++) {
        json_t *line = json_pack("{s:s, s:s, s:b, s:b}", "key", f->key, "type",
                                 type_names[f->type], "required", f->flags & VRT_FIELD_REQUIRED,
                                 "nullable", f->flags & VRT_FIELD_NULLABLE);
        if (f->fields)
            json_object_set_new(line, "fields", fields_json(f->fields));
        if ((f->type == VRT_FIELD_INT || f->type == VRT_FIELD_DOUBLE) && f->max != INT64_MAX) {
            json_object_set_new(line, "minimum", json_integer(f->min));
            json_object_set_new(line, "maximum", json_integer(f->max));
        }
        if (f->type == VRT_FIELD_TEXT)
            json_object_set_new(line, "maxLength", json_integer((json_int_t)f->size - 1));
        for (int i = 0; f->names && f->names[i]; i++) {
            json_object_set_new(line, "enum", i ? json_incref(json_object_get(line, "enum"))
                                                : json_array());
            json_array_append_new(json_object_get(line, "enum"), json_string(f->names[i]));
        }
        json_array_append_new(table, line);
    }
    return table;
}

int main(void)
{
    json_t *routes = json_array(), *errors = json_array();

    for (int i = 0; i < VRT_API_ROUTE_COUNT; i++)
        json_array_append_new(routes, json_pack("[s,s]", vrt_api_routes[i].method,
                                                vrt_api_routes[i].path));
    for (int i = 0; i < VRT_API_ERROR_COUNT; i++)
        json_array_append_new(errors, json_pack("[s,i]", vrt_api_errors[i].id,
                                                vrt_api_errors[i].status));
    json_t *all = json_pack("{s:o, s:o}", "routes", routes, "errors", errors);
    static const struct {
        const char *name;
        const struct vrt_field *fields;
    } schemas[] = {
        { "JobRequest", vrt_job_request_fields },
        { "JobFilesRequest", vrt_job_files_request_fields },
        { "JobChangeRequest", vrt_job_change_fields },
        { "JobShort", vrt_job_short_fields },
        { "Job", vrt_job_fields },
        { "Plan", vrt_plan_fields },
        { "ProfileRequest", vrt_profile_request_fields },
        { "Profile", vrt_profile_fields },
        { "DoctorRequest", vrt_doctor_request_fields },
        { "Doctor", vrt_doctor_fields },
        { "Device", vrt_device_fields },
        { "DevicesRequest", vrt_devices_request_fields },
        { "TrimmedDevice", vrt_trimmed_fields },
        { "Model", vrt_model_fields },
        { "Codec", vrt_codec_fields },
        { "Replica", vrt_held_fields },
        { "ModelRequest", vrt_model_request_fields },
        { "CompareRequest", vrt_compare_request_fields },
        { "Comparison", vrt_compare_fields },
        { "PreviewRequest", vrt_preview_request_fields },
        { "Preview", vrt_preview_fields },
        { "Log", vrt_log_fields },
        { "History", vrt_history_fields },
        { "DevicesHistory", vrt_devices_history_fields },
        { "Status", vrt_status_fields },
        { "Upload", vrt_upload_fields },
        { "TokenRequest", vrt_token_request_fields },
        { "Token", vrt_token_fields },
        { "SessionRequest", vrt_session_request_fields },
        { "Session", vrt_session_fields },
    };
    for (size_t i = 0; i < sizeof(schemas) / sizeof(schemas[0]); i++)
        json_object_set_new(all, schemas[i].name, fields_json(schemas[i].fields));
    if (!all || json_dumpf(all, stdout, JSON_INDENT(1)) < 0)
        return 1;
    json_decref(all);
    return 0;
}
