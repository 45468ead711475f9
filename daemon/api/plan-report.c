/* SPDX-License-Identifier: MIT */

/*
 * The estimate is the fluid bound: devices take shards at the speed that was measured, and are done
 * at the same time. Decoding and encoding go on beside that on the host and aren't in it.
 */

#include "daemon/api/plan-report.h"

#include <math.h>
#include <stdio.h>

#include "daemon/jobs/job-report.h"
#include "daemon/pipeline/pipeline.h"

/* Shards a second of all devices; NAN where one of them was never measured. */
static double fill_devices(const struct vrt_pipeline_info *info,
                           const struct vrt_pipeline_snapshot *now,
                           struct vrt_plan_device *devices)
{
    /* A frame's share of the clips that it is in: a shard is worth what no other has of it. */
    const struct vrt_clip_rule rule = vrt_recipe_rule(&info->recipe, info->network);
    double flops = (double)info->frame_flops * vrt_clip_n_new(&rule), rate = 0;

    for (size_t i = 0; i < now->n_devices; i++) {
        const struct vrt_pipeline_device *share = &now->devices[i];
        struct vrt_plan_device *told = &devices[i];
        *told = (struct vrt_plan_device){
            .precision = (int)share->precision,
            .replica_bytes = share->replica_bytes,
            .workspace_bytes = share->planned_bytes < 0 ? VRT_UNKNOWN :
                               share->planned_bytes - share->replica_bytes,
            .peak_bytes = share->planned_bytes,
            .allowed_bytes = share->allowed_bytes,
            .gflop_per_s = share->flops_per_s / 1e9,
            .seconds_per_shard = flops / share->flops_per_s,
        };
        snprintf(told->name, sizeof(told->name), "%s", share->info->name);
        rate += share->flops_per_s / flops;
    }
    return rate;
}

static int64_t known(int64_t number)
{
    return number > 0 ? number : VRT_UNKNOWN;
}

/* Return: how many there are in `told`, which has room for VRT_STREAMS_MAX. */
static size_t fill_streams(const struct vrt_stream_list *list, struct vrt_plan_stream *told)
{
    const size_t n = (size_t)vrt_stream_list_n(list);

    for (size_t i = 0; i < n; i++) {
        const struct vrt_stream_info *info = &list->streams[i];
        told[i] = (struct vrt_plan_stream){
            .index = (int64_t)i,
            .kind = info->kind,
            .fate = info->fate,
            .width = known(info->width),
            .height = known(info->height),
            .fps = info->fps_num > 0 ? (double)info->fps_num / info->fps_den : NAN,
            .sample_rate = known(info->sample_rate),
            .channels = known(info->channels),
            .bitrate = known(info->bitrate),
        };
        snprintf(told[i].codec, sizeof(told[i].codec), "%s", info->codec);
        snprintf(told[i].language, sizeof(told[i].language), "%s", info->language);
        snprintf(told[i].title, sizeof(told[i].title), "%s", info->title);
        snprintf(told[i].disposition, sizeof(told[i].disposition), "%s", info->disposition);
    }
    return n;
}

void vrt_plan_report_fill(const struct vrt_job *job, struct vrt_plan_parts *parts,
                          struct vrt_plan_report *ret_report)
{
    const struct vrt_pipeline_info *info = vrt_pipeline_info(job->pipeline);
    struct vrt_plan_report *report = ret_report;
    struct vrt_pipeline_snapshot now;

    vrt_pipeline_snapshot(job->pipeline, &now);
    *report = (struct vrt_plan_report){
        .model = job->info.model,
        .video = job->info.video,
        .recipe = job->info.recipe,
        .frames_total = job->info.frames_total,
        .shards = info->n_shards,
        .tiles = info->n_tiles,
        .gflop = NAN,
        .estimated_s = NAN,
        .devices = parts->devices,
        .n_devices = now.n_devices,
        .streams = parts->streams,
        .n_streams = fill_streams(info->streams, parts->streams),
        .streams_total = info->streams->n_all,
        .reproducible = job->info.reproducible,
        .warnings = job->info.warnings,
        .n_warnings = job->info.n_warnings,
    };
    snprintf(report->input_name, sizeof(report->input_name), "%s", job->info.input_name);
    snprintf(report->output_name, sizeof(report->output_name), "%s", job->info.output_name);
    snprintf(report->reference_name, sizeof(report->reference_name), "%s",
             job->info.reference_name);
    snprintf(report->device, sizeof(report->device), "%s", job->info.device);
    double rate = fill_devices(info, &now, parts->devices);
    if (info->frames_total < 0)
        return;
    /* Transparency that the network restores goes through it as well. */
    const double n_times = info->out_alpha == VRT_ALPHA_NETWORK ? 2 : 1;
    report->gflop = n_times * (double)info->frame_flops * (double)info->frames_total / 1e9;
    if (rate > 0)
        report->estimated_s = n_times * (double)report->shards / rate;
}
