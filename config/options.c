/* SPDX-License-Identifier: MIT */
/* Every option of the configuration: where it is kept, what it may be, what it is by default. */

#include "config/conf.h"

#include "base/log.h"
#include "msg_job.h"

const char *const vrt_conf_fallback_names[] = {
    [VRT_CONF_FALLBACK_ALLOW] = "allow",
    [VRT_CONF_FALLBACK_WARN] = "warn",
    [VRT_CONF_FALLBACK_FORBID] = "forbid",
    [VRT_CONF_FALLBACK_COUNT] = NULL,
};

static const char *const log_level_names[] = {
    [VRT_LOG_ERROR] = "error",
    [VRT_LOG_WARNING] = "warning",
    [VRT_LOG_INFO] = "info",
    [VRT_LOG_DEBUG] = "debug",
    [VRT_LOG_LEVEL_COUNT] = NULL,
};

#define OPTION(t, section, member, ...)                                                 \
    { #section, #member, VRT_CONF_##t, offsetof(struct vrt_conf, section.member),       \
      sizeof(((struct vrt_conf *)0)->section.member), __VA_ARGS__ }
#define TEXT(section, member, fallback) OPTION(TEXT, section, member, 0, 0, NULL, fallback)
#define INT(section, member, min, max, fallback) \
    OPTION(INT, section, member, min, max, NULL, fallback)
#define FRACTION(section, member, fallback) OPTION(FRACTION, section, member, 0, 0, NULL, fallback)
#define BYTES(section, member, fallback) OPTION(BYTES, section, member, 0, 0, NULL, fallback)
#define BOOL(section, member, fallback) OPTION(BOOL, section, member, 0, 0, NULL, fallback)
#define WORD(section, member, names, fallback) \
    OPTION(WORD, section, member, 0, 0, names, fallback)

const struct vrt_conf_option vrt_conf_options[] = {
    TEXT(daemon, socket, ""),
    TEXT(daemon, state_dir, ""),
    TEXT(daemon, models_dir, ""),
    WORD(daemon, log_level, log_level_names, "info"),

    TEXT(jobs, model, ""),
    WORD(jobs, codec, vrt_job_codec_names, "h264"),
    INT(jobs, quality_h264, 0, 51, "18"),
    INT(jobs, quality_hevc, 0, 51, "20"),
    TEXT(jobs, preset, "medium"),
    BOOL(jobs, scene_cuts, "on"),
    INT(jobs, segment_frames, 1, 1000000, "96"),
    INT(jobs, max_running, 1, 64, "2"),
    INT(jobs, max_queued, 1, 100000, "1000"),
    INT(jobs, history, 0, 100000, "1000"),

    WORD(devices, fallback, vrt_conf_fallback_names, "warn"),
    FRACTION(devices, memory_fraction, "0.9"),
    BYTES(devices, memory_limit, "0"),
    INT(devices, backoff_s, 1, 86400, "30"),
    BOOL(devices, reference, "off"),
    TEXT(devices, fault, ""),

    INT(cpu, devices, 1, 64, "1"),
    INT(cpu, threads, 0, 1024, "0"),

    { .section = NULL },
};
