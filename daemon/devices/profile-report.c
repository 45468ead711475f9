/* SPDX-License-Identifier: MIT */

#include "daemon/devices/profile-report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/op/precision.h"
#include "base/clock.h"
#include "workers/device/speed.h"

int vrt_profile_found_add(struct vrt_profile_found *found, const struct vrt_session_times *times,
                          int n)
{
    int64_t ns = times->upload_ns + times->compute_ns + times->download_ns;

    while (found->n_frames + (size_t)n > found->capacity) {
        size_t capacity = found->capacity ? found->capacity * 2 : 64;
        double *frame_s = realloc(found->frame_s, capacity * sizeof(*frame_s));
        if (!frame_s)
            return vrt_raise(-ENOMEM);
        found->frame_s = frame_s;
        found->capacity = capacity;
    }
    /* The frames of a shard come out together: each has its part of the shard's time. */
    for (int i = 0; i < n; i++)
        found->frame_s[found->n_frames++] = (double)ns / VRT_NS_PER_S / n;
    found->times.upload_ns += times->upload_ns;
    found->times.compute_ns += times->compute_ns;
    found->times.download_ns += times->download_ns;
    found->total_ns += ns;
    return 0;
}

void vrt_profile_found_done(struct vrt_profile_found *found)
{
    free(found->frame_s);
    found->frame_s = NULL;
    found->n_frames = found->capacity = 0;
}

static int by_value(const void *p, const void *q)
{
    const double a = *(const double *)p, b = *(const double *)q;

    return (a > b) - (a < b);
}

/* The smallest value that `share` of the sorted ones don't exceed. */
static double percentile(const double *sorted, size_t n, double share)
{
    size_t rank = (size_t)ceil(share * (double)n);

    return sorted[rank > 0 ? rank - 1 : 0];
}

static void fill_times(struct vrt_profile_found *found, const struct vrt_job_spec *spec,
                       struct vrt_profile_report *report)
{
    double n = (double)found->n_frames;
    double flops = (double)vrt_speed_frame_flops(spec, found->probe.tile_flops);

    qsort(found->frame_s, found->n_frames, sizeof(*found->frame_s), by_value);
    report->frames = (int64_t)found->n_frames;
    report->frame_mean_s = (double)found->total_ns / VRT_NS_PER_S / n;
    report->frame_p50_s = percentile(found->frame_s, found->n_frames, 0.5);
    report->frame_p95_s = percentile(found->frame_s, found->n_frames, 0.95);
    report->frame_p99_s = percentile(found->frame_s, found->n_frames, 0.99);
    report->upload_s = (double)found->times.upload_ns / VRT_NS_PER_S / n;
    report->compute_s = (double)found->times.compute_ns / VRT_NS_PER_S / n;
    report->download_s = (double)found->times.download_ns / VRT_NS_PER_S / n;
    report->fps = 1 / report->frame_mean_s;
    report->gflop_per_frame = flops / 1e9;
    report->gflop_per_s = flops / 1e9 / report->frame_mean_s;
}

static int by_time(const void *p, const void *q)
{
    const struct vrt_profile_op *a = p, *b = q;

    return (a->seconds < b->seconds) - (a->seconds > b->seconds);
}

static void fill_ops(struct vrt_profile_found *found, struct vrt_profile_report *report)
{
    const struct vrt_op_times *times = &found->op_times;
    double total_ns = 0;
    size_t n = 0;

    for (int kind = 0; kind < VRT_OP_KIND_COUNT; kind++)
        total_ns += (double)times->ns[kind];
    for (int kind = 0; kind < VRT_OP_KIND_COUNT; kind++) {
        double ns = (double)times->ns[kind];
        if (!times->n_ops[kind])
            continue;
        found->ops[n] = (struct vrt_profile_op){
            .count = times->n_ops[kind],
            .seconds = ns / VRT_NS_PER_S,
            .share = total_ns > 0 ? ns / total_ns : NAN,
            .gflop_per_s = ns > 0 ? (double)times->flops[kind] / ns : NAN,
        };
        snprintf(found->ops[n].kind, sizeof(found->ops[n].kind), "%s",
                 vrt_op_kind_name((enum vrt_op_kind)kind));
        n++;
    }
    qsort(found->ops, n, sizeof(found->ops[0]), by_time);
    report->ops = found->ops;
    report->n_ops = n;
}

static void fill_warnings(struct vrt_profile_found *found, struct vrt_profile_report *report)
{
    size_t n = 0;

    for (; n < found->choice.n_warnings; n++)
        snprintf(found->warnings[n], sizeof(found->warnings[0]), "%s", found->choice.warnings[n]);
    if (found->had_company)
        snprintf(found->warnings[n++], sizeof(found->warnings[0]),
                 "jobs ran meanwhile: on an idle machine the times may be shorter");
    if (found->doubt.message[0])
        snprintf(found->warnings[n++], sizeof(found->warnings[0]),
                 "what the network makes of a made-up picture looks wrong: %.400s",
                 found->doubt.message);
    report->warnings = found->warnings;
    report->n_warnings = n;
}

static void fill_model(const struct vrt_profile_found *found, const struct vrt_network *network,
                       struct vrt_profile_report *report)
{
    const struct vrt_network_info *info = vrt_network_info(network);
    struct vrt_job_model *model = &report->model;

    snprintf(model->name, sizeof(model->name), "%s", found->model_name);
    snprintf(model->architecture, sizeof(model->architecture), "%s", info->architecture);
    snprintf(model->checksum, sizeof(model->checksum), "%016" PRIx64,
             vrt_network_checksum(network));
    model->scale = info->scale;
    snprintf(report->description, sizeof(report->description), "%s", info->description);
    report->parameters = info->n_parameters;
}

void vrt_profile_report_fill(struct vrt_profile_found *found, const struct vrt_job_spec *spec,
                             struct vrt_profile_report *ret_report)
{
    const struct vrt_probe *probe = &found->probe;
    struct vrt_profile_report *report = ret_report;

    vrt_profile_report_init(report);
    fill_model(found, spec->network, report);
    snprintf(report->device, sizeof(report->device), "%s", found->info->name);
    snprintf(report->device_description, sizeof(report->device_description), "%s",
             found->info->description);
    report->precision = (int)vrt_precision_of(probe->dtype);
    report->width = spec->in.width;
    report->height = spec->in.height;
    report->output_width = spec->out.width;
    report->output_height = spec->out.height;
    report->clip_frames = found->recipe.clip_frames;
    report->clip_overlap = found->recipe.clip_overlap;
    report->tile_width = spec->grid.x.size;
    report->tile_height = spec->grid.y.size;
    report->tiles = (int64_t)spec->grid.x.n * spec->grid.y.n;
    report->overlap = found->recipe.overlap;
    report->batch = spec->rule.temporal ? VRT_UNKNOWN : probe->batch;
    report->replica_bytes = probe->replica_bytes;
    report->peak_bytes = found->job_bytes;
    if (found->job_bytes >= 0)
        report->workspace_bytes = found->job_bytes - probe->replica_bytes;
    report->allowed_bytes = probe->allowed_bytes;
    if (probe->dtype != VRT_DTYPE_F32)
        report->fidelity_db = probe->fidelity_db[probe->dtype];
    fill_times(found, spec, report);
    fill_ops(found, report);
    fill_warnings(found, report);
}
