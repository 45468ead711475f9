/* SPDX-License-Identifier: MIT */

#include "daemon/jobs/queue-context.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

int vrt_queue_make_job(int64_t id, uid_t uid, struct vrt_job **ret_job)
{
    VRT_CLEANUP(vrt_job_freep) struct vrt_job *job = NULL;
    int r = vrt_job_new(id, uid, &job);

    if (r < 0)
        return vrt_fold(r);
    job->parts = calloc(1, sizeof(*job->parts));
    if (!job->parts)
        return vrt_raise(-ENOMEM);
    vrt_job_files_init(&job->parts->files);
    vrt_list_init(&job->parts->writes.waits);
    *ret_job = VRT_STEAL(job);
    return 0;
}

struct vrt_job *vrt_queue_free_job(struct vrt_job *job)
{
    if (!job)
        return NULL;
    vrt_assert(!job->parts->run && !job->parts->writes.n_pending);
    vrt_job_files_close(job);
    free(job->parts);
    job->parts = NULL;
    return vrt_job_free(job);
}

void vrt_queue_tell(struct vrt_queue_context *context, struct vrt_job *job)
{
    vrt_job_touch(job);
    job->parts->is_untold = false;
    context->params.changed(context->params.ctx, job);
}

void vrt_queue_end_job(struct vrt_queue_context *context, struct vrt_job *job,
                       enum vrt_job_event event, const struct vrt_error *error)
{
    context->events.over(context, job, event, error);
}

void vrt_queue_wait_for_descriptors(struct vrt_queue_context *context, struct vrt_job *job,
                                    const struct vrt_error *error)
{
    context->events.wait_for_descriptors(context, job, error);
}

void vrt_queue_stop_run(struct vrt_queue_context *context, struct vrt_job *job,
                        const struct vrt_error *error)
{
    context->events.stop_run(context, job, error);
}

void vrt_queue_proceed(struct vrt_queue_context *context)
{
    context->events.proceed(context);
}

void vrt_queue_check_stopped(struct vrt_queue_context *context)
{
    context->events.check_stopped(context);
}

void vrt_queue_look_soon(struct vrt_queue_context *context)
{
    context->events.look_soon(context);
}
