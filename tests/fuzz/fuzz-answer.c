/* SPDX-License-Identifier: MIT */
/*
 * What a client is sent: a stream of events, each taken as a job and as a device, and shown. What
 * was decoded can be printed, whatever it was.
 */

#include "tests/fuzz/fuzz.h"

#include <jansson.h>

#include "client/terminal/progress.h"
#include "msg_device.h"
#include "msg_event.h"
#include "msg_job.h"

static void take_job(const json_t *json)
{
    struct vrt_job_info job;
    struct vrt_error error = { 0 };
    struct vrt_buf buf = { 0 };

    int r = vrt_job_info_decode(json, &job, &error);
    vrt_assert(!r == !error.message[0]);
    if (r)
        return;
    r = vrt_fields_print(vrt_job_fields, &job, &buf);
    vrt_assert(!r);
    for (int width = 1; width < 200; width += 13) {
        const struct vrt_progress_style style = {
            .width = width, .bar_width = VRT_UNKNOWN, .utf8 = width & 1,
        };
        r = vrt_progress_bar(&job, &style, &buf);
        vrt_assert(!r);
    }
    r = vrt_progress_line(&job, &buf);
    vrt_assert(!r);
    r = vrt_progress_result(&job, "/", &buf);
    vrt_assert(!r);
    vrt_job_info_done(&job);
    vrt_buf_done(&buf);
}

static void take_status(const json_t *json)
{
    struct vrt_status_report status;
    struct vrt_error error = { 0 };

    vrt_status_report_init(&status);
    int r = vrt_fields_decode(vrt_status_fields, json, VRT_FIELDS_LENIENT, &status, &error);
    vrt_assert(!r == !error.message[0]);
    vrt_fields_done(vrt_status_fields, &status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vrt_buf stream = { 0 }, text = { 0 };
    enum vrt_event_kind kind;

    int r = vrt_buf_append(&stream, data, size);
    while (r == 0 && vrt_event_take(&stream, &text, &kind) == 1) {
        json_t *json = NULL;
        if (vrt_json_parse(text.data, text.size_bytes, &json, NULL) < 0)
            continue;
        take_job(json);
        take_status(json);
        json_decref(json);
    }
    vrt_buf_done(&stream);
    vrt_buf_done(&text);
    return 0;
}
