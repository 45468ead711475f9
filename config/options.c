/* SPDX-License-Identifier: MIT */
/*
 * Every option of the configuration but for those that backends declare: where it is kept, what it
 * may be, what it is by default. What a new one touches: docs/adding-a-key.md
 */

#include "config/conf.h"

#include <stdbool.h>
#include <string.h>

#include "msg_job.h"

const char *const vrt_conf_fallback_names[] = {
    [VRT_CONF_FALLBACK_ALLOW] = "allow",
    [VRT_CONF_FALLBACK_WARN] = "warn",
    [VRT_CONF_FALLBACK_FORBID] = "forbid",
    [VRT_CONF_FALLBACK_COUNT] = NULL,
};

const char *const vrt_conf_log_format_names[] = {
    [VRT_CONF_LOG_AUTO] = "auto",
    [VRT_CONF_LOG_TEXT] = "text",
    [VRT_CONF_LOG_JSON] = "json",
    [VRT_CONF_LOG_JOURNAL] = "journal",
    [VRT_CONF_LOG_FORMAT_COUNT] = NULL,
};

/* A row ends with the default, perhaps followed by flags. */
#define OPTION(t, section, member, ...)                                                 \
    { #section, #member, VRT_CONF_##t, offsetof(struct vrt_conf, section.member),       \
      sizeof(((struct vrt_conf *)0)->section.member), __VA_ARGS__ }
#define TEXT(section, member, ...) OPTION(TEXT, section, member, 0, 0, NULL, __VA_ARGS__)
#define NEEDED_TEXT(section, member, ...) OPTION(TEXT, section, member, 1, 0, NULL, __VA_ARGS__)
#define INT(section, member, min, max, ...) \
    OPTION(INT, section, member, min, max, NULL, __VA_ARGS__)
#define SHARES(section, member, ...) OPTION(SHARES, section, member, 0, 0, NULL, __VA_ARGS__)
#define BYTES(section, member, ...) OPTION(BYTES, section, member, 0, 0, NULL, __VA_ARGS__)
#define BOOL(section, member, ...) OPTION(BOOL, section, member, 0, 0, NULL, __VA_ARGS__)
#define WORD(section, member, names, ...) \
    OPTION(WORD, section, member, 0, 0, names, __VA_ARGS__)
#define LIVE VRT_CONF_LIVE

const struct vrt_conf_option vrt_conf_options[] = {
    TEXT(daemon, socket, ""),
    TEXT(daemon, state_dir, ""),
    TEXT(daemon, models_dir, ""),
    TEXT(daemon, cache_dir, ""),
    INT(daemon, stop_timeout, 0, 3600, "20", LIVE),
    TEXT(daemon, wall_clock, ""),

    NEEDED_TEXT(log, level, "info", LIVE),
    WORD(log, format, vrt_conf_log_format_names, "auto", LIVE),
    TEXT(log, file, "", LIVE),

    TEXT(jobs, model, "", LIVE),
    NEEDED_TEXT(jobs, device, "auto", LIVE),
    WORD(jobs, precision, vrt_precision_names, "auto", LIVE),
    WORD(jobs, codec, vrt_codec_names, "h264", LIVE),
    INT(jobs, quality_h264, 0, 51, "18", LIVE),
    INT(jobs, quality_hevc, 0, 51, "20", LIVE),
    NEEDED_TEXT(jobs, preset, "medium", LIVE),
    WORD(jobs, hwaccel, vrt_hwaccel_names, "off", LIVE),
    BOOL(jobs, scene_cuts, "on", LIVE),
    INT(jobs, segment_frames, 1, 1000000, "96", LIVE),
    INT(jobs, decoder_threads, 0, 16, "0", LIVE),
    INT(jobs, max_running, 1, 64, "2", LIVE),
    INT(jobs, turn_s, 1, 31536000, "600", LIVE),
    INT(jobs, max_queued, 1, 100000, "1000", LIVE),
    INT(jobs, history, 0, 100000, "1000", LIVE),
    INT(jobs, failed_files_days, 0, 36500, "7", LIVE),
    INT(jobs, history_days, 0, 36500, "90", LIVE),

    WORD(devices, fallback, vrt_conf_fallback_names, "warn", LIVE),
    SHARES(devices, memory_fraction, "0.9", LIVE),
    BYTES(devices, memory_limit, "0"),
    INT(devices, backoff_s, 1, 86400, "30"),
    INT(devices, patience_s, 1, 31536000, "120"),
    INT(devices, silence_s, 1, 3600, "30"),
    BOOL(devices, keep_kernels, "on"),
    BOOL(devices, force_cpu, "off"),
    BOOL(devices, reference, "off"),
    TEXT(devices, fault, ""),

    TEXT(access, admin_group, "vrtd-admin", LIVE),
    TEXT(access, priority_group, "", LIVE),
    BOOL(access, hwaccel, "on", LIVE),
    INT(access, max_jobs_per_user, 0, 100000, "0", LIVE),
    BYTES(access, spool_per_user, "0", LIVE),
    TEXT(access, media_roots, ""),

    BOOL(remote, inputs, "off", LIVE),
    BYTES(remote, max_input, "20G", LIVE),
    BOOL(remote, models, "on", LIVE),
    TEXT(remote, catalogue, ""),
    BOOL(remote, webhooks, "off"),
    TEXT(remote, webhook_secret_file, ""),
    BOOL(remote, private_addresses, "off"),
    TEXT(remote, proxy, ""),
    TEXT(remote, ca_file, ""),

    TEXT(web, listen, ""),
    TEXT(web, host, ""),
    BOOL(web, https, "off"),
    TEXT(web, proxy, ""),
    INT(web, connections_per_address, 1, 1024, "128"),
    BYTES(web, max_upload, "20G", LIVE),
    BOOL(web, insecure, "off"),

    { .section = NULL },
};

static bool is_same(const struct vrt_conf_option *o, const void *a, const void *b)
{
    return o->type == VRT_CONF_TEXT ? strcmp(a, b) == 0 : memcmp(a, b, o->size) == 0;
}

size_t vrt_conf_apply(struct vrt_conf *conf, const struct vrt_conf *next,
                      void (*told)(void *ctx, const struct vrt_conf_option *option), void *ctx)
{
    size_t n = 0;

    for (const struct vrt_conf_option *o = vrt_conf_options; o->section; o++) {
        char *member = (char *)conf + o->offset;
        const char *wanted = (const char *)next + o->offset;
        if (is_same(o, member, wanted))
            continue;
        if (o->flags & VRT_CONF_LIVE)
            memcpy(member, wanted, o->size);
        told(ctx, o);
        n++;
    }
    for (size_t i = 0; conf->backend_values[i].backend; i++) {
        const struct vrt_backend_value *value = &conf->backend_values[i];
        if (value->value == next->backend_values[i].value)
            continue;
        told(ctx, &(struct vrt_conf_option){ value->backend, value->option });
        n++;
    }
    return n;
}
