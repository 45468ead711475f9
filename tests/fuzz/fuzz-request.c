/* SPDX-License-Identifier: MIT */
/* The body of POST /v1/jobs: what is taken is printed, and must be taken again as the same. */

#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "msg_job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vrt_job_request first = { 0 }, second = { 0 };
    struct vrt_error error = { 0 };
    struct vrt_buf text = { 0 }, again = { 0 };

    int r = vrt_job_request_parse(data, size, &first, &error);
    vrt_assert(!r == !error.message[0]);
    if (!r) {
        r = vrt_fields_print(vrt_job_request_fields, &first, &text);
        vrt_assert(!r);
        r = vrt_job_request_parse(text.data, text.size_bytes, &second, &error);
        vrt_assert(!r);
        r = vrt_fields_print(vrt_job_request_fields, &second, &again);
        vrt_assert(!r && strcmp(text.data, again.data) == 0);
    }
    vrt_buf_done(&text);
    vrt_buf_done(&again);
    return 0;
}
