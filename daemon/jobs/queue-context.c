/* SPDX-License-Identifier: MIT */

#include "daemon/jobs/queue-context.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/log.h"
#include "daemon/devices/pool.h"
#include "daemon/jobs/job-report.h"
#include "daemon/pipeline/pipeline.h"
#include "workers/media/encode-thread.h"

#define VRT_LOG_TOPIC "queue"

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

void vrt_queue_check_device(const struct vrt_queue_params *params)
{
    const struct vrt_pool_wish wish = {
        params->left_open.device, (enum vrt_fallback)params->fallback, .n_tries = 0,
    };
    struct vrt_device_choice choice;
    struct vrt_error error = { .id = NULL };

    if (vrt_pool_choose(params->pool, &wish, &choice, &error) < 0)
        vrt_log_warning("[jobs] device: jobs that name no device are refused: %s", error.message);
}

void vrt_queue_settle_device(const struct vrt_queue_params *params,
                             struct vrt_job_request *request)
{
    if (!request->device[0])
        snprintf(request->device, sizeof(request->device), "%s", params->left_open.device);
    if (request->settings.precision == VRT_UNKNOWN)
        request->settings.precision = params->left_open.precision;
}

/* The codec of an output that nobody chose one for: pictures have theirs. */
static int pick_codec(const struct vrt_queue_params *params, const char *output_name)
{
    const char *dot = strrchr(output_name, '.');
    enum vrt_container container;

    return dot && vrt_container_find(dot + 1, &container) &&
           vrt_container_has_own_codec(container) ?
           (int)vrt_container_own_codec(container) : params->left_open.codec;
}

/* The configured hardware, or none where there is no such for the codec: who didn't ask for any
 * needn't be told that nobody makes it. What VRT_CODEC_AUTO will be isn't known yet. */
static int pick_hwaccel(int hwaccel, int codec)
{
    if (codec == VRT_CODEC_AUTO)
        return hwaccel;
    for (int i = VRT_HWACCEL_AUTO + 1; i < VRT_HWACCEL_COUNT; i++)
        if ((hwaccel == VRT_HWACCEL_AUTO || hwaccel == i) &&
            vrt_hwaccel_encoder((enum vrt_hwaccel)i, (enum vrt_codec)codec))
            return hwaccel;
    return VRT_HWACCEL_OFF;
}

void vrt_queue_settle(const struct vrt_queue_params *params, const char *output_name,
                      struct vrt_job_settings *settings)
{
    if (settings->codec == VRT_UNKNOWN)
        settings->codec = pick_codec(params, output_name);
    settings->quality_h264 = params->left_open.quality_h264;
    settings->quality_hevc = params->left_open.quality_hevc;
    if (!settings->preset[0])
        snprintf(settings->preset, sizeof(settings->preset), "%s", params->left_open.preset);
    if (settings->hwdec == VRT_UNKNOWN)
        settings->hwdec = vrt_hwdec_of(settings->hwaccel == VRT_UNKNOWN ?
                                       (enum vrt_hwaccel)params->left_open.hwaccel :
                                       (enum vrt_hwaccel)settings->hwaccel);
    if (settings->hwaccel == VRT_UNKNOWN)
        settings->hwaccel = pick_hwaccel(params->left_open.hwaccel, settings->codec);
    if (isnan(settings->scene_cuts) && !params->left_open.scene_cuts)
        settings->scene_cuts = 0;
    if (settings->segment_frames == VRT_UNKNOWN)
        settings->segment_frames = params->left_open.segment_frames;
    if (settings->decoder_threads == VRT_UNKNOWN)
        settings->decoder_threads = params->left_open.decoder_threads;
}

/* What transparency becomes on its way: a gray video, in which nothing is lost. */
static void fill_alpha_pass(struct vrt_job_settings *settings, struct vrt_pipeline_params *params)
{
    settings->codec = VRT_CODEC_FFV1;
    settings->hwaccel = VRT_HWACCEL_OFF;
    settings->hwdec = VRT_HWDEC_OFF;
    settings->quality = settings->bitrate = settings->target_size_bytes = VRT_UNKNOWN;
    settings->pixel_format[0] = settings->encoder_options[0] = '\0';
    params->is_alpha_pass = true;
    params->output_fd = -1;
    params->output_name = VRT_ALPHA_FILE;
    params->reference_name = NULL;
}

void vrt_queue_fill_params(const struct vrt_queue_context *context, struct vrt_job *job,
                           struct vrt_job_request *request, struct vrt_network *network,
                           struct vrt_pipeline_params *ret_params)
{
    const struct vrt_queue_params *params = &context->params;
    const struct vrt_job_recipe *recipe = &job->info.recipe;
    struct vrt_job_settings *settings = &request->settings;

    /* As it was when the job was submitted. */
    settings->codec = recipe->codec;
    settings->quality = recipe->quality;
    snprintf(settings->preset, sizeof(settings->preset), "%s", recipe->preset);
    settings->bitrate = recipe->bitrate;
    settings->target_size_bytes = recipe->target_size_bytes;
    settings->hwaccel = VRT_MAX(recipe->hwaccel, VRT_HWACCEL_OFF);
    settings->hwdec = VRT_MAX(recipe->hwdec, VRT_HWDEC_OFF);
    snprintf(settings->pixel_format, sizeof(settings->pixel_format), "%s", recipe->pixel_format);
    snprintf(settings->encoder_options, sizeof(settings->encoder_options), "%s",
             recipe->encoder_options);
    vrt_queue_settle(params, request->output.name, settings);
    *ret_params = (struct vrt_pipeline_params){
        .job_id = job->name,
        .uid = job->uid,
        .access = vrt_job_files_access(job),
        .priority = (int)job->info.priority,
        .input_fd = job->parts->files.fds[VRT_JOB_INPUT],
        .pipe_fd = job->parts->files.pipe_fd,
        .input_name = request->input.name,
        .output_fd = job->parts->files.fds[VRT_JOB_OUTPUT],
        .may_replace = request->overwrite,
        .output_name = request->output.name,
        .reference_fd = job->parts->files.fds[VRT_JOB_REFERENCE],
        .reference_name = request->reference.name[0] ? request->reference.name : NULL,
        .spool_fd = params->spool_fd,
        .part = params->part,
        .network = network,
        .model_fd = -1,
        .model_name = job->info.model.name,
        .devices = job->decision->uses_cpu_instead ? "cpu" : request->device,
        .fallback = (enum vrt_fallback)params->fallback,
        .settings = settings,
        .ctx = job,
    };
    if (vrt_job_report_is_alpha_due(job))
        fill_alpha_pass(settings, ret_params);
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
    if (event == VRT_JOB_FAIL)
        context->jobs.n_failed[vrt_api_error_find(error ? error->id : NULL)]++;
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
