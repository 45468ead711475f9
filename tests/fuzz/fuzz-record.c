/* SPDX-License-Identifier: MIT */
/*
 * A row of the store, its four texts one after the other, a byte between them: refused with a
 * sentence, or a job. What a job prints is a row again, and that one means the same.
 */

#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "daemon/jobs/job-store.h"

/* Between the texts: ASCII's record separator, which no JSON holds. */
#define SEPARATOR '\x1e'

/* Prints the job and reads it again. */
static struct vrt_job *print_and_read(const struct vrt_job *job, struct vrt_job_texts *texts)
{
    struct vrt_error error = { .id = NULL };
    struct vrt_store_job row;
    struct vrt_job *again = NULL;

    vrt_assert(vrt_job_record_print(job, texts, &row) == 0);
    vrt_assert(vrt_job_new(row.id, row.uid, &again) == 0);
    vrt_assert(vrt_job_record_read(&row, again, &error) == 0);
    return again;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    VRT_CLEANUP(vrt_freep) char *text = malloc(size + 1);
    struct vrt_error error = { .id = NULL };
    const char *parts[4] = { "", "", "", "" };
    struct vrt_job *job = NULL;

    vrt_log_set_level(VRT_LOG_ERROR);
    vrt_assert(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    char *next = text;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(parts) && next; i++) {
        parts[i] = next;
        next = strchr(next, SEPARATOR);
        if (next)
            *next++ = '\0';
    }
    const struct vrt_store_job row = {
        .id = 7,
        .uid = 1000,
        .state = (int)(size % VRT_JOB_STATE_COUNT),
        .starts = 1,
        .request = parts[0],
        .info = parts[1],
        .work = parts[2],
        .history = parts[3],
    };
    vrt_assert(vrt_job_new(row.id, row.uid, &job) == 0);
    int r = vrt_job_record_read(&row, job, &error);
    if (r < 0) {
        vrt_assert(error.message[0]);
        vrt_job_free(job);
        return 0;
    }
    vrt_assert(job->info.id == 7 && job->info.state == row.state && job->n_fruitless == 1);
    vrt_assert(job->decision->n_groups <= VRT_JOB_GROUPS_MAX);
    vrt_assert(!job->decision->is_admitted || job->decision->recipe.segment_frames >= 1);

    struct vrt_job_texts once, twice;
    struct vrt_job *second = print_and_read(job, &once);
    struct vrt_job *third = print_and_read(second, &twice);
    vrt_assert(strcmp(once.info.data, twice.info.data) == 0);
    vrt_assert(strcmp(once.work.data, twice.work.data) == 0);
    vrt_job_texts_done(&once);
    vrt_job_texts_done(&twice);
    vrt_job_free(job);
    vrt_job_free(second);
    vrt_job_free(third);
    return 0;
}
