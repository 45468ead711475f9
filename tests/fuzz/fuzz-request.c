/* SPDX-License-Identifier: MIT */
/* Bodies of requests: what is taken is printed, and must be taken again as the same. */

#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "msg_device.h"
#include "msg_doctor.h"
#include "msg_job.h"

struct message {
    int (*parse)(const void *text, size_t size, void *message, struct vrt_error *error);
    const struct vrt_field *fields;
};

union any {
    struct vrt_job_request job;
    struct vrt_job_files_request files;
    struct vrt_job_change change;
    struct vrt_doctor_request doctor;
    struct vrt_devices_request devices;
};

static int parse_job(const void *text, size_t size, void *message, struct vrt_error *error)
{
    return vrt_job_request_parse(text, size, message, error);
}

static int parse_files(const void *text, size_t size, void *message, struct vrt_error *error)
{
    return vrt_job_files_request_parse(text, size, message, error);
}

static int parse_change(const void *text, size_t size, void *message, struct vrt_error *error)
{
    return vrt_job_change_parse(text, size, message, error);
}

static int parse_doctor(const void *text, size_t size, void *message, struct vrt_error *error)
{
    return vrt_doctor_request_parse(text, size, message, error);
}

static int parse_devices(const void *text, size_t size, void *message, struct vrt_error *error)
{
    return vrt_devices_request_parse(text, size, message, error);
}

static const struct message messages[] = {
    { parse_job, vrt_job_request_fields },
    { parse_files, vrt_job_files_request_fields },
    { parse_change, vrt_job_change_fields },
    { parse_doctor, vrt_doctor_request_fields },
    { parse_devices, vrt_devices_request_fields },
};

static void try(const struct message *message, const uint8_t *data, size_t size)
{
    union any first = { 0 }, second = { 0 };
    struct vrt_error error = { 0 };
    struct vrt_buf text = { 0 }, again = { 0 };

    int r = message->parse(data, size, &first, &error);
    vrt_assert(!r == !error.message[0]);
    if (!r) {
        r = vrt_fields_print(message->fields, &first, &text);
        vrt_assert(!r);
        r = message->parse(text.data, text.size_bytes, &second, &error);
        vrt_assert(!r);
        r = vrt_fields_print(message->fields, &second, &again);
        vrt_assert(!r && strcmp(text.data, again.data) == 0);
    }
    vrt_buf_done(&text);
    vrt_buf_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
        try(&messages[i], data, size);
    return 0;
}
