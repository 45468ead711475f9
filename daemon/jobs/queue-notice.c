/* SPDX-License-Identifier: MIT */

/*
 * Notices of jobs' ends. That one is due is stored with the job's end, and that it isn't any more
 * with its receipt: in between the daemon may end as often as it likes. A job that is forgotten
 * meanwhile takes nothing away from its notice, which has its own text.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "daemon/jobs/queue-impl.h"
#include "daemon/remote/remote.h"

#define VRT_LOG_TOPIC "queue"

struct notice {
    struct vrt_queue *queue;            /* ends after all notices */
    int64_t job_id;
};

static void on_sent(void *ctx, enum vrt_webhook_outcome outcome)
{
    struct notice *notice = ctx;
    struct vrt_queue *queue = notice->queue;
    struct vrt_job *job = vrt_jobs_find(&queue->jobs, notice->job_id);

    free(notice);
    if (outcome == VRT_WEBHOOK_STOPPED || !job || !job->work->notice_due)
        return;
    job->work->notice_due = false;
    vrt_queue_save(queue, job, NULL);
}

/* Return: 0; -errno. */
static int send_notice(struct vrt_queue *queue, struct vrt_job *job)
{
    const struct vrt_buf *text = vrt_job_short_text(job, VRT_JOB_VIEW_FULL);
    struct vrt_buf body = { .limit_bytes = 0 };
    struct notice *notice = calloc(1, sizeof(*notice));
    struct vrt_job_request request;
    int r = notice && text ? 0 : vrt_raise(-ENOMEM);

    if (r == 0)
        r = vrt_job_record_request(job, &request, NULL);
    if (r == 0)
        r = vrt_buf_printf(&body, "{\"event\":\"%s\",\"job\":",
                           vrt_job_state_names[job->info.state]);
    if (r == 0)
        r = vrt_buf_append(&body, text->data, text->size_bytes);
    if (r == 0)
        r = vrt_buf_append(&body, "}", 1);
    if (r == 0) {
        notice->queue = queue;
        notice->job_id = job->info.id;
        r = vrt_remote_send_webhook(queue->params.remote, &(struct vrt_webhook){
            .job_id = job->info.id,
            .url = request.webhook,
            .body = body.data,
            .done = on_sent,
            .ctx = notice,
        });
    }
    if (r < 0)
        free(notice);
    vrt_buf_done(&body);
    return vrt_fold(r);
}

void vrt_queue_send_notice(struct vrt_queue *queue, struct vrt_job *job)
{
    int r = job->work->notice_due ? send_notice(queue, job) : 0;

    if (r < 0)
        vrt_log_warning("job %" PRId64 ": its webhook can't be sent before the next start: %s",
                        job->info.id, strerror(-r));
}
