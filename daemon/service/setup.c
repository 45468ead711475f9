/* SPDX-License-Identifier: MIT */

#include "daemon/service/setup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backend/fault.h"
#include "backend/kind.h"
#include "base/clock.h"
#include "base/folder.h"
#include "base/log.h"
#include "daemon/access/media.h"
#include "daemon/log/output.h"
#include "daemon/models/models.h"
#include "daemon/service/paths.h"
#include "daemon/service/web.h"
#include "daemon/remote/remote.h"
#include "frames/encode/encoder.h"
#include "workers/plan/device-request.h"

int vrt_setup_read(const struct vrt_setup *setup, struct vrt_conf *ret_conf,
                   char ret_path[VRT_SETUP_PATH_BYTES], struct vrt_error *error)
{
    const struct vrt_options *options = &setup->options;
    char path[VRT_SETUP_PATH_BYTES];
    struct vrt_conf conf;
    int r = 0;

    vrt_conf_init(&conf, vrt_backend_section_at);
    if (options->config)
        snprintf(path, sizeof(path), "%s", options->config);
    else
        r = vrt_paths_config(path, sizeof(path), error);
    if (r < 0)
        return vrt_fold(r);
    if (path[0])
        r = vrt_conf_read(path, vrt_backend_section_at, &conf, error);
    if (r < 0)
        return vrt_fold(r);
    if (options->log_level) {
        struct vrt_log_levels levels;
        r = vrt_log_levels_parse(options->log_level, &levels, error);
        if (r < 0)
            return vrt_fold(r);
        r = snprintf(conf.log.level, sizeof(conf.log.level), "%s", options->log_level);
        if (r >= (int)sizeof(conf.log.level))
            return vrt_refuse(error, vrt_raise(-ENAMETOOLONG), "usage", "--log-level is too long: "
                              "at most %zu bytes", sizeof(conf.log.level) - 1);
    }
    *ret_conf = conf;
    if (ret_path)
        snprintf(ret_path, VRT_SETUP_PATH_BYTES, "%s", path);
    return 0;
}

/* A path that was given on the command line or configured; else `fallback` finds it. */
static int settle_path(const char *given, const char *configured, char path[VRT_SETUP_PATH_BYTES],
                       int (*fallback)(char *buffer, size_t size, struct vrt_error *error),
                       struct vrt_error *error)
{
    if (!given && configured[0])
        given = configured;
    if (!given)
        return vrt_fold(fallback(path, VRT_SETUP_PATH_BYTES, error));
    if (!given[0] || strlen(given) >= VRT_SETUP_PATH_BYTES)
        return vrt_refuse(error, vrt_raise(-EINVAL), "usage",
                          "a path must have from 1 to %d bytes", VRT_SETUP_PATH_BYTES - 1);
    snprintf(path, VRT_SETUP_PATH_BYTES, "%s", given);
    return 0;
}

int vrt_setup_folders(struct vrt_setup *setup, const struct vrt_conf *conf,
                      struct vrt_error *error)
{
    const char *models = conf->daemon.models_dir;

    int r = settle_path(setup->options.state_dir, conf->daemon.state_dir, setup->state_dir,
                        vrt_paths_state_dir, error);
    if (r < 0)
        return vrt_fold(r);
    int n = snprintf(setup->models_dir, sizeof(setup->models_dir), "%s%s",
                     models[0] ? models : setup->state_dir, models[0] ? "" : "/models");
    if (n >= (int)sizeof(setup->models_dir))
        return vrt_refuse(error, vrt_raise(-ENAMETOOLONG), "usage",
                          "the models' path is too long");
    if (conf->daemon.cache_dir[0])
        memcpy(setup->cache_dir, conf->daemon.cache_dir, sizeof(conf->daemon.cache_dir));
    else if (vrt_folder_of_cache(setup->cache_dir, sizeof(setup->cache_dir)))
        setup->cache_dir[0] = '\0';
    return 0;
}

int vrt_setup_socket(const struct vrt_setup *setup, const struct vrt_conf *conf,
                     char ret_path[VRT_SETUP_PATH_BYTES], struct vrt_error *error)
{
    return vrt_fold(settle_path(setup->options.socket, conf->daemon.socket, ret_path,
                                vrt_paths_socket, error));
}

struct vrt_log_target vrt_setup_log_target(const struct vrt_conf *conf)
{
    return (struct vrt_log_target){ .format = conf->log.format, .file = conf->log.file };
}

int vrt_setup_log(const struct vrt_conf *conf, struct vrt_error *error)
{
    const struct vrt_log_target target = vrt_setup_log_target(conf);
    struct vrt_log_levels levels;

    int r = vrt_log_levels_parse(conf->log.level, &levels, error);
    if (r < 0)
        return vrt_fold(r);
    vrt_log_set_levels(&levels);
    return vrt_fold(vrt_log_open(&target, error));
}

/* The checks. Each refuses with a sentence that begins with its option, unless that is in the table
 * of vrt_setup_check(). */

static int check_fault(const struct vrt_setup *setup, const struct vrt_conf *conf,
                       struct vrt_error *error)
{
    struct vrt_fault_schedule *schedule = NULL;
    const char *text = conf->devices.fault;

    (void)setup;
    int r = 0;
    if (text[0])
        r = vrt_fault_schedule_new(text, &schedule, error);
    vrt_fault_schedule_free(schedule);
    return vrt_fold(r);
}

static int check_wall_clock(const struct vrt_setup *setup, const struct vrt_conf *conf,
                            struct vrt_error *error)
{
    const char *text = conf->daemon.wall_clock;
    struct vrt_wall_error wrong;
    char shown[80];

    (void)setup;
    if (!text[0] || vrt_clock_parse_wall_error(text, &wrong) == 0)
        return 0;
    return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid", "\"%s\" is neither OFFSET nor "
                      "OFFSET,JUMP,PERIOD in seconds, up to a thousand million",
                      vrt_printable(text, shown, sizeof(shown)));
}

static int check_levels(const struct vrt_setup *setup, const struct vrt_conf *conf,
                        struct vrt_error *error)
{
    struct vrt_log_levels levels;

    (void)setup;
    return vrt_fold(vrt_log_levels_parse(conf->log.level, &levels, error));
}

static int check_log_file(const struct vrt_setup *setup, const struct vrt_conf *conf,
                          struct vrt_error *error)
{
    const struct vrt_log_target target = vrt_setup_log_target(conf);

    (void)setup;
    return vrt_fold(vrt_log_check(&target, error));
}

static int check_preset(const struct vrt_setup *setup, const struct vrt_conf *conf,
                        struct vrt_error *error)
{
    char shown[64];

    (void)setup;
    if (vrt_preset_find(conf->jobs.preset) >= 0)
        return 0;
    return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid", "there is no %s: they go from "
                      "ultrafast over medium to veryslow and placebo",
                      vrt_printable(conf->jobs.preset, shown, sizeof(shown)));
}

/* Whether there is such a device is another question, which jobs are told the answer to. */
static int check_device(const struct vrt_setup *setup, const struct vrt_conf *conf,
                        struct vrt_error *error)
{
    (void)setup;
    return vrt_fold(vrt_device_request_check(conf->jobs.device, error));
}

/* Shares are of single devices, of cards or of kinds, whether they are here or not. */
static int check_shares(const struct vrt_setup *setup, const struct vrt_conf *conf,
                        struct vrt_error *error)
{
    const struct vrt_conf_shares *shares = &conf->devices.memory_fraction;
    char shown[VRT_CONF_SHARE_NAME_BYTES];

    (void)setup;
    for (size_t i = 0; i < shares->n; i++) {
        const char *name = shares->some[i].name;
        const char *kind = vrt_device_kind_at(0)->name;
        bool is_device = vrt_device_kind_find(name, strcspn(name, ":")) &&
                         vrt_device_request_check(name, NULL) == 0;
        if (!is_device)
            return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid", "\"%s\" is neither a "
                              "kind of devices nor one of them: write %s=0.5 or %s:1=0.5",
                              vrt_printable(name, shown, sizeof(shown)), kind, kind);
    }
    return 0;
}

static int check_media_roots(const struct vrt_setup *setup, const struct vrt_conf *conf,
                             struct vrt_error *error)
{
    struct vrt_media *media = NULL;

    (void)setup;
    int r = vrt_media_new(conf->access.media_roots, &media, error);
    vrt_media_free(media);
    return vrt_fold(r);
}

static int check_remote(const struct vrt_setup *setup, const struct vrt_conf *conf,
                        struct vrt_error *error)
{
    struct vrt_error reason = { .id = NULL };

    (void)setup;
    int r = vrt_remote_check(&(struct vrt_remote_params){
        .catalogue = conf->remote.catalogue,
        .webhook_secret_file = conf->remote.webhook_secret_file,
        .proxy = conf->remote.proxy,
        .ca_file = conf->remote.ca_file,
        .webhooks = conf->remote.webhooks,
    }, &reason);
    return r < 0 ? vrt_refuse(error, vrt_fold(r), reason.id, "[remote] %s", reason.message) : 0;
}

static int check_web(const struct vrt_setup *setup, const struct vrt_conf *conf,
                     struct vrt_error *error)
{
    (void)setup;
    return vrt_fold(vrt_web_check(conf, error));
}

/* It is read, not only looked for: the first job would be a bad moment to learn of a bad file. */
static int check_model(const struct vrt_setup *setup, const struct vrt_conf *conf,
                       struct vrt_error *error)
{
    VRT_CLEANUP(vrt_models_freep) struct vrt_models *models = NULL;
    VRT_CLEANUP(vrt_network_unrefp) struct vrt_network *network = NULL;
    const char *name = conf->jobs.model;
    char shown[VRT_CONF_PATH_BYTES];

    if (!name[0])
        return 0;
    int r = vrt_models_new(&(struct vrt_models_params){
        .folder = setup->models_dir,
        .default_name = "",
    }, &models);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "looking for the model");
    r = vrt_models_find(models, name, &network, error);
    if (r != -ENOENT)
        return vrt_fold(r);
    *error = (struct vrt_error){ .id = NULL };
    return vrt_refuse(error, vrt_fold(r), "config.invalid", "there is no %s in %s, and none that "
                      "is built in has that name", vrt_printable(name, shown, sizeof(shown)),
                      setup->models_dir);
}

int vrt_setup_check(const struct vrt_setup *setup, const struct vrt_conf *conf,
                    struct vrt_error *error)
{
    static const struct {
        int (*check)(const struct vrt_setup *setup, const struct vrt_conf *conf,
                     struct vrt_error *error);
        const char *section, *key;      /* NULL: it says itself what it is about */
    } checks[] = {
        { check_fault }, { check_wall_clock, "daemon", "wall_clock" },
        { check_levels, "log", "level" }, { check_log_file, "log", "file" },
        { check_preset, "jobs", "preset" }, { check_device, "jobs", "device" },
        { check_shares, "devices", "memory_fraction" }, { check_media_roots }, { check_remote },
        { check_web, "web", "listen" }, { check_model, "jobs", "model" },
    };
    char place[VRT_SETUP_PATH_BYTES];

    for (size_t i = 0; i < VRT_ARRAY_SIZE(checks); i++) {
        struct vrt_error reason = { .id = NULL };
        int r = checks[i].check(setup, conf, &reason);
        if (r < 0 && !checks[i].section)
            return vrt_refuse(error, vrt_fold(r), reason.id, "%s", reason.message);
        if (r < 0)
            return vrt_refuse(error, vrt_fold(r), "config.invalid", "%s[%s] %s: %s",
                              vrt_conf_place(conf, checks[i].section, checks[i].key, place,
                                             sizeof(place)),
                              checks[i].section, checks[i].key, reason.message);
    }
    return 0;
}
