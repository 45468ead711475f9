/* SPDX-License-Identifier: MIT */

#include "daemon/service/configured.h"

#include "base/codecs.h"
#include "base/error.h"
#include "config/conf.h"
#include "daemon/jobs/queue.h"
#include "daemon/remote/remote.h"

enum vrt_fallback vrt_configured_fallback(int configured)
{
    enum vrt_fallback fallback = VRT_FALLBACK_WARN;
    int r = vrt_fallback_from_name(vrt_conf_fallback_names[configured], &fallback);

    vrt_assert(r == 0);
    return fallback;
}

void vrt_configured_remote(const struct vrt_conf *conf, struct vrt_remote_params *params)
{
    params->catalogue = conf->remote.catalogue;
    params->webhook_secret_file = conf->remote.webhook_secret_file;
    params->proxy = conf->remote.proxy;
    params->ca_file = conf->remote.ca_file;
    params->inputs = conf->remote.inputs;
    params->pulls = conf->remote.models;
    params->webhooks = conf->remote.webhooks;
    params->private_addresses = conf->remote.private_addresses;
    params->max_input_bytes = conf->remote.max_input;
}

void vrt_configured_queue(const struct vrt_conf *conf, struct vrt_queue_params *params)
{
    params->left_open.segment_frames = conf->jobs.segment_frames;
    params->left_open.decoder_threads = conf->jobs.decoder_threads;
    params->turn_s = conf->jobs.turn_s;
    params->max_running = (int)conf->jobs.max_running;
    params->history = (int)conf->jobs.history;
    params->failed_files_s = conf->jobs.failed_files_days * 86400;
    params->history_s = conf->jobs.history_days * 86400;
    params->fallback = vrt_configured_fallback(conf->devices.fallback);
    params->left_open.device = conf->jobs.device;
    params->left_open.precision = conf->jobs.precision;
    params->left_open.scene_cuts = conf->jobs.scene_cuts;
    params->left_open.codec = conf->jobs.codec;
    params->left_open.quality_h264 = conf->jobs.quality_h264;
    params->left_open.quality_hevc = conf->jobs.quality_hevc;
    params->left_open.preset = conf->jobs.preset;
    params->left_open.hwaccel = conf->access.hwaccel ? conf->jobs.hwaccel : VRT_HWACCEL_OFF;
}
