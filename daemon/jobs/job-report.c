/* SPDX-License-Identifier: MIT */

#include "daemon/jobs/job-report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/devices/pool.h"
#include "daemon/jobs/queue-context.h"
#include "daemon/pipeline/glimpse.h"

#define VRT_LOG_TOPIC "queue"

/* Seconds or a rate as the API has it: NAN where nobody knows. */
static double known(double value)
{
    return value < 0 ? NAN : value;
}

bool vrt_job_report_is_alpha_due(const struct vrt_job *job)
{
    return job->info.has_recipe && job->info.recipe.alpha == VRT_ALPHA_NETWORK &&
           !job->decision->is_alpha_made;
}

/* How large clips and tiles are, which a smaller recipe changes. */
static void report_size(struct vrt_job_recipe *told, const struct vrt_recipe *recipe)
{
    told->clip_frames = recipe->clip_frames;
    told->clip_overlap = recipe->clip_overlap;
    told->tile_width = recipe->tile_w;
    told->tile_height = recipe->tile_h;
    told->overlap = recipe->overlap;
}

static void take_warnings(struct vrt_job *job, const struct vrt_pipeline_snapshot *now)
{
    for (; job->n_told_warnings < now->n_warnings; job->n_told_warnings++)
        if (vrt_job_add_warning(job, vrt_pipeline_warning(job->pipeline,
                                                          job->n_told_warnings)) < 0)
            vrt_log_warning("job %" PRId64 ": no memory to tell of a warning, ignoring",
                            job->info.id);
}

void vrt_job_report_admitted(struct vrt_job *job)
{
    const struct vrt_pipeline_info *found = vrt_pipeline_info(job->pipeline);
    struct vrt_job_info *info = &job->info;
    struct vrt_pipeline_snapshot now;

    /* They are stored together with what they tell of. */
    vrt_pipeline_snapshot(job->pipeline, &now);
    take_warnings(job, &now);
    /* Of the video that only transparency becomes nobody is told. */
    if (vrt_job_report_is_alpha_due(job)) {
        report_size(&info->recipe, &found->recipe);
        return;
    }
    snprintf(info->model.architecture, sizeof(info->model.architecture), "%s",
             found->network->architecture);
    snprintf(info->model.checksum, sizeof(info->model.checksum), "%016" PRIx64,
             found->network_checksum);
    info->model.scale = found->network->scale;
    info->frames_total = found->frames_total;
    info->reproducible = found->reproducible;
    info->has_recipe = true;
    report_size(&info->recipe, &found->recipe);
    info->recipe.tiling = (int)found->recipe.tiling;
    info->recipe.scene_cuts = found->recipe.scene_threshold;
    info->recipe.strength = found->recipe.strength;
    info->recipe.sigma = found->network->takes_noise ? found->recipe.sigma : NAN;
    info->recipe.codec = (int)found->out_codec;
    info->recipe.quality = found->out_quality;
    info->recipe.bitrate = found->out_bitrate;
    info->recipe.hwaccel = (int)found->out_hwaccel;
    info->recipe.hwdec = (int)found->in_hwdec;
    if (!vrt_codec_facts(found->out_codec)->has_presets)
        info->recipe.preset[0] = '\0';
    info->recipe.deinterlace = (int)found->recipe.fields.deinterlace;
    info->recipe.times = found->recipe.times;
    info->recipe.times_every = found->recipe.every;
    info->recipe.alpha = found->out_alpha;
    info->recipe.tonemap = (int)found->recipe.tonemap;
    info->recipe.encoder_threads = found->recipe.encoder_threads;
    info->input_bytes = found->fingerprint.size_bytes;
    info->has_video = true;
    info->video.width = found->width;
    info->video.height = found->height;
    info->video.output_width = found->out_width;
    info->video.output_height = found->out_height;
    info->video.fps = found->fps > 0 ? found->fps : NAN;
    info->video.start_s = found->start_s;
    info->video.duration_s = known(found->duration_s);
    snprintf(info->video.codec, sizeof(info->video.codec), "%s", found->codec);
    snprintf(info->video.pixel_format, sizeof(info->video.pixel_format), "%s",
             found->pixel_format);
}

static void report_devices(struct vrt_job *job, const struct vrt_pipeline_snapshot *now)
{
    if (vrt_job_set_n_devices(job, now->n_devices) < 0) {
        vrt_log_warning("job %" PRId64 ": no memory to tell of its devices, ignoring",
                        job->info.id);
        return;
    }
    for (size_t i = 0; i < now->n_devices; i++) {
        const struct vrt_pipeline_device *share = &now->devices[i];
        struct vrt_job_device *told = &job->info.devices[i];
        snprintf(told->name, sizeof(told->name), "%s", share->info->name);
        told->shards_done = share->shards_done;
        told->shards_running = share->in_flight;
        told->frames_done = share->frames_done;
        told->frames_underway = share->frames_underway;
        told->fps = known(share->fps);
        told->replica_bytes = share->replica_bytes;
        told->workspace_bytes = share->planned_bytes < 0 ? VRT_UNKNOWN :
                                share->planned_bytes - share->replica_bytes;
        told->peak_bytes = VRT_MAX(told->peak_bytes, share->planned_bytes);
        if (share->precision != VRT_PRECISION_AUTO)
            job->info.recipe.precision = (int)share->precision;
    }
}

/* Times and rates, of a job that was started. */
static void report_pace(struct vrt_job_info *info, double ran_s,
                        const struct vrt_pipeline_snapshot *now)
{
    info->elapsed_s = known(now->elapsed_s) + ran_s;
    info->fps = known(now->fps);
    info->left_s = known(now->left_s);
    /* A pipeline that only joins what there is decodes nothing. */
    info->frames_repeated = VRT_MAX(info->frames_repeated, now->frames_repeated);
    info->stages = (struct vrt_job_stages){
        .decode = known(now->busy[VRT_STAGE_DECODE]),
        .upload = known(now->busy[VRT_STAGE_UPLOAD]),
        .compute = known(now->busy[VRT_STAGE_COMPUTE]),
        .download = known(now->busy[VRT_STAGE_DOWNLOAD]),
        .encode = known(now->busy[VRT_STAGE_ENCODE]),
    };
    snprintf(info->bottleneck, sizeof(info->bottleneck), "%s", vrt_stage_name(now->bottleneck));
}

double vrt_job_report_psnr(double psnr)
{
    return isinf(psnr) ? NAN : psnr;
}

void vrt_job_report_means(const struct vrt_compare_size *size,
                          const struct vrt_quality_means *means,
                          struct vrt_compare_report *report)
{
    report->width = size->width;
    report->height = size->height;
    report->frames_total = means->n_frames;
    report->frames_equal = means->n_equal;
    report->psnr_rgb = vrt_job_report_psnr(means->psnr_rgb);
    report->psnr_y = vrt_job_report_psnr(means->psnr_y);
    report->psnr_rgb_overall = vrt_job_report_psnr(means->psnr_rgb_overall);
    report->psnr_y_overall = vrt_job_report_psnr(means->psnr_y_overall);
    report->ssim_rgb = means->ssim_rgb;
    report->ssim_y = means->ssim_y;
    report->worst_s = (double)means->worst_ns / VRT_NS_PER_S;
    report->worst_psnr_y = vrt_job_report_psnr(means->worst_psnr_y);
}

/* What plots of the job are drawn from. */
static void note_history(struct vrt_job *job)
{
    const struct vrt_job_info *info = &job->info;
    int64_t bytes = VRT_UNKNOWN;

    for (size_t i = 0; i < info->n_devices; i++)
        if (info->devices[i].workspace_bytes >= 0)
            bytes = VRT_MAX(bytes, 0) + info->devices[i].workspace_bytes +
                    VRT_MAX(info->devices[i].replica_bytes, 0);
    if (info->elapsed_s >= 0)
        vrt_job_history_note(&job->history, &(struct vrt_job_look){
            .elapsed_s = info->elapsed_s,
            .frames = (double)VRT_MAX(info->frames_done, 0) +
                      (info->frames_underway > 0 ? info->frames_underway : 0),
            .memory_bytes = bytes,
        });
}

/* Whether the snapshot says anything that was not told yet. */
static bool is_news(const struct vrt_job *job, const struct vrt_pipeline_snapshot *now)
{
    const struct vrt_job_info *info = &job->info;

    /* A tenth of a frame is worth telling: of some networks it takes minutes. */
    if (now->frames_done != info->frames_done || now->frames_total != info->frames_total ||
        floor(10 * now->frames_underway) != floor(10 * info->frames_underway) ||
        now->n_devices != info->n_devices || now->n_warnings > job->n_told_warnings ||
        now->frames_compared != info->frames_compared ||
        (now->phase == VRT_PIPELINE_FINISHING && info->state != VRT_JOB_FINISHING))
        return true;
    for (size_t i = 0; i < now->n_devices; i++)
        if (now->devices[i].in_flight != info->devices[i].shards_running ||
            now->devices[i].shards_done != info->devices[i].shards_done)
            return true;
    return false;
}

bool vrt_job_report_progress(struct vrt_job *job, enum vrt_pipeline_phase *ret_phase)
{
    struct vrt_job_info *info = &job->info;
    struct vrt_pipeline_snapshot now;

    vrt_pipeline_snapshot(job->pipeline, &now);
    if (info->started_at)
        report_pace(info, job->ran_s, &now);
    /* The colours come behind it, and take as long. */
    if (vrt_job_report_is_alpha_due(job) && now.fps > 0 && now.frames_total >= 0)
        info->left_s += (double)now.frames_total / now.fps;
    bool news = is_news(job, &now);
    /* Before it has looked at the segments that it goes on from, what was told of them counts. */
    if (now.frames_done > 0)
        info->frames_done = now.frames_done;
    info->frames_underway = now.frames_underway;
    info->frames_total = now.frames_total;
    info->frames_estimated = now.is_estimated;
    info->frames_compared = now.frames_compared;
    if (now.is_compared) {
        info->has_comparison = true;
        vrt_job_report_means(&now.compared_size, &now.means, &info->comparison);
    }
    report_devices(job, &now);
    note_history(job);
    take_warnings(job, &now);
    vrt_job_touch(job);
    *ret_phase = now.phase;
    return news;
}

/* ", cuda:0 6.1, cuda:1 6.2": how many frames a second each device does. */
static void print_rates(const struct vrt_job_info *info, char *buffer, size_t size)
{
    size_t n = 0;

    buffer[0] = '\0';
    for (size_t i = 0; i < info->n_devices && n < size; i++)
        if (isnan(info->devices[i].fps))
            n += (size_t)snprintf(buffer + n, size - n, ", %s -", info->devices[i].name);
        else
            n += (size_t)snprintf(buffer + n, size - n, ", %s %.3g", info->devices[i].name,
                                  info->devices[i].fps);
}

void vrt_job_report_log_start(const struct vrt_job *job)
{
    bool goes_on = job->n_segments > 0 && !job->decision->wants_smaller;

    vrt_log_info("job %" PRId64 " starts%s%s%s", job->info.id,
                 vrt_job_report_is_alpha_due(job) ? " with its transparency" : "",
                 goes_on ? ", behind what is stored of it" : "",
                 job->n_fruitless > 1 ? ", alone: vrtd died when it had begun before" : "");
}

void vrt_job_report_log(const struct vrt_job *job)
{
    const struct vrt_job_info *info = &job->info;
    char of_total[64] = "", fps[32] = "-", left[32] = "", rates[400];

    if (info->frames_total > 0)
        snprintf(of_total, sizeof(of_total), " of %" PRId64 " frames (%.1f %%)",
                 info->frames_total, 100.0 * (double)info->frames_done /
                                     (double)info->frames_total);
    else
        snprintf(of_total, sizeof(of_total), " frames");
    if (!isnan(info->fps))
        snprintf(fps, sizeof(fps), "%.3g", info->fps);
    if (!isnan(info->left_s))
        snprintf(left, sizeof(left), "; %.0f s left", info->left_s);
    print_rates(info, rates, sizeof(rates));
    vrt_log_info("job %" PRId64 ": %" PRId64 "%s, %s fps%s%s", info->id, info->frames_done,
                 of_total, fps, rates, left);
}

void vrt_job_report_error(struct vrt_job *job, const struct vrt_error *error)
{
    struct vrt_job_error *told = &job->info.error;

    job->info.has_error = true;
    snprintf(told->id, sizeof(told->id), "%s", error->id ? error->id : VRT_E(INTERNAL));
    snprintf(told->message, sizeof(told->message), "%s", error->message);
    snprintf(told->field, sizeof(told->field), "%s", error->field);
}

void vrt_job_report_idle(struct vrt_job *job)
{
    struct vrt_job_info *info = &job->info;

    info->left_s = info->fps = info->frames_underway = NAN;
    info->elapsed_s = job->ran_s;
    for (size_t i = 0; i < info->n_devices; i++) {
        info->devices[i].shards_running = 0;
        info->devices[i].frames_underway = NAN;
    }
    vrt_job_touch(job);
}

void vrt_job_report_stored(struct vrt_job *job)
{
    const struct vrt_segment_record *last = job->n_segments ? &job->segments[job->n_segments - 1] :
                                            NULL;

    job->info.frames_done = 0;
    job->info.segments_done = (int64_t)job->n_segments;
    for (size_t i = 0; i < job->n_segments; i++)
        job->info.frames_done += job->segments[i].n_frames;
    /* A segment of an earlier version doesn't say it. */
    if (!last || last->ran_ms > 0)
        job->ran_s = last ? (double)last->ran_ms / 1000 : 0;
    vrt_job_report_idle(job);
}

void vrt_job_report_retried(struct vrt_job *job)
{
    struct vrt_job_info *info = &job->info;

    vrt_job_report_stored(job);
    info->n_devices = 0;
    info->has_comparison = false;
    info->stages = (struct vrt_job_stages){ NAN, NAN, NAN, NAN, NAN };
    info->bottleneck[0] = '\0';
}

/* How large the result is that is kept. */
static void note_result(struct vrt_job *job)
{
    struct stat result;

    if (job->keeps_result && fstat(job->parts->files.fds[VRT_JOB_OUTPUT], &result) == 0)
        job->info.result_bytes = result.st_size;
}

void vrt_job_report_end(struct vrt_job *job, const struct vrt_error *error)
{
    struct vrt_job_info *info = &job->info;

    info->finished_at = vrt_clock_wall_ns();
    job->ended_ns = vrt_clock_now_ns();
    info->left_s = NAN;
    info->cancelling = false;
    info->fps = info->frames_done > 0 && info->elapsed_s > 0 ?
                (double)info->frames_done / info->elapsed_s : NAN;
    /* All are in the result, though the store may be about to learn of the last ones. */
    if (info->state == VRT_JOB_DONE) {
        info->frames_total = info->frames_done;
        info->frames_estimated = false;
        info->segments_done = VRT_MAX(info->segments_done, job->n_made);
        note_result(job);
    } else if (info->state == VRT_JOB_CANCELLED) {
        info->segments_done = 0;
    }
    if (error)
        vrt_job_report_error(job, error);
}

void vrt_job_free_pipeline(struct vrt_job *job)
{
    job->pipeline = vrt_pipeline_free(job->pipeline);
    job->glimpse = vrt_glimpse_free(job->glimpse);
    job->n_told_warnings = 0;
}
