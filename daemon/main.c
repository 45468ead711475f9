/* SPDX-License-Identifier: MIT */
/*
 * vrtd: reads what it was told, claims what only one daemon may have, and serves.
 *
 * Exit status: 0; 1 where it could not start or was stopped in a hurry; 2 for a wrong command line.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/macro.h"
#include "config/conf.h"
#include "daemon/claim.h"
#include "daemon/keep.h"
#include "daemon/notify.h"
#include "daemon/options.h"
#include "daemon/paths.h"
#include "daemon/server.h"
#include "backend/fault.h"

#define VRT_LOG_TOPIC "main"

#define DESCRIPTORS_WANTED 65536    /* connections, and the files of jobs that wait */

/* Everything that is settled before the loop runs. */
struct setup {
    struct vrt_conf conf;
    char config[300], socket[300], state_dir[300], models_dir[300];
    int listen_fd, state_fd, spool_fd;
    bool socket_is_ours;            /* made here: to be removed at the end */
    struct vrt_claim state_claim, socket_claim;
    struct vrt_keep *keep;
};

/* The devices would find out too, but only after --check-config had said that all is right. */
static int check_fault(const char *text, struct vrt_error *error)
{
    struct vrt_fault_schedule *schedule = NULL;
    int r = text[0] ? vrt_fault_schedule_new(text, &schedule, error) : 0;

    vrt_fault_schedule_free(schedule);
    return vrt_fold(r);
}

/* The configuration, and what the command line says instead. Return: 0, -errno. */
static int configure(const struct vrt_options *options, struct setup *setup,
                     struct vrt_error *error)
{
    enum vrt_log_level level;
    int r = 0;

    vrt_conf_init(&setup->conf);
    if (options->config)
        snprintf(setup->config, sizeof(setup->config), "%s", options->config);
    else
        r = vrt_paths_config(setup->config, sizeof(setup->config), error);
    if (r == 0 && setup->config[0])
        r = vrt_conf_read(setup->config, &setup->conf, error);
    if (r < 0)
        return vrt_fold(r);
    level = (enum vrt_log_level)setup->conf.daemon.log_level;
    if (options->log_level && vrt_log_level_from_name(options->log_level, &level) < 0)
        return vrt_refuse(error, -EINVAL, "usage", "there is no log level %.20s, only error, "
                          "warning, info and debug", options->log_level);
    vrt_log_set_level(level);
    return vrt_fold(check_fault(setup->conf.devices.fault, error));
}

/* A path that was given on the command line or configured; else `fallback` finds it. */
static int settle_path(const char *given, const char *configured, char *buffer, size_t size,
                       int (*fallback)(char *buffer, size_t size, struct vrt_error *error),
                       struct vrt_error *error)
{
    if (!given && configured[0])
        given = configured;
    if (!given)
        return vrt_fold(fallback(buffer, size, error));
    if (!given[0] || strlen(given) >= size)
        return vrt_refuse(error, vrt_raise(-EINVAL), "usage",
                          "a path must have from 1 to %zu bytes", size - 1);
    snprintf(buffer, size, "%s", given);
    return 0;
}

static int claim_state(const struct vrt_options *options, struct setup *setup,
                       struct vrt_error *error)
{
    char path[320], what[340];
    const char *models = setup->conf.daemon.models_dir;

    int r = settle_path(options->state_dir, setup->conf.daemon.state_dir, setup->state_dir,
                        sizeof(setup->state_dir), vrt_paths_state_dir, error);
    if (r == 0)
        r = vrt_claim_folder(setup->state_dir, &setup->state_fd, error);
    if (r < 0)
        return vrt_fold(r);
    snprintf(path, sizeof(path), "%s/lock", setup->state_dir);
    snprintf(what, sizeof(what), "the state folder %s", setup->state_dir);
    r = vrt_claim_take(path, what, &setup->state_claim, error);
    if (r == 0)
        r = vrt_claim_empty_folder(setup->state_fd, "spool", &setup->spool_fd, error);
    if (snprintf(setup->models_dir, sizeof(setup->models_dir), "%s%s",
                 models[0] ? models : setup->state_dir, models[0] ? "" : "/models") >=
        (int)sizeof(setup->models_dir))
        r = vrt_refuse(error, vrt_raise(-ENAMETOOLONG), "usage", "the models' path is too long");
    return vrt_fold(r);
}

static int claim_socket(const struct vrt_options *options, struct setup *setup,
                        struct vrt_error *error)
{
    char path[320], what[340];

    int r = vrt_keep_new(&setup->keep);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "starting");
    r = vrt_notify_take(vrt_keep_adopt, setup->keep, &setup->listen_fd, error);
    if (r < 0 || setup->listen_fd >= 0)
        return vrt_fold(r);
    r = settle_path(options->socket, setup->conf.daemon.socket, setup->socket,
                    sizeof(setup->socket), vrt_paths_socket, error);
    if (r < 0)
        return vrt_fold(r);
    snprintf(path, sizeof(path), "%s.lock", setup->socket);
    snprintf(what, sizeof(what), "the socket %s", setup->socket);
    r = vrt_claim_take(path, what, &setup->socket_claim, error);
    if (r == 0)
        r = vrt_claim_listen(setup->socket, &setup->listen_fd, error);
    setup->socket_is_ours = r == 0;
    return vrt_fold(r);
}

static void raise_limits(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= DESCRIPTORS_WANTED)
        return;
    limit.rlim_cur = VRT_MIN(limit.rlim_max, (rlim_t)DESCRIPTORS_WANTED);
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        vrt_log_warning("the limit of open files stays as it is: %s", strerror(errno));
}

/* Claims what it needs and serves. Return: as vrt_server_run(). */
static int serve(const struct vrt_options *options, struct setup *setup, struct vrt_error *error)
{
    int r = claim_state(options, setup, error);

    if (r == 0)
        r = claim_socket(options, setup, error);
    if (r < 0)
        return vrt_fold(r);
    vrt_log_info("vrtd %s serves %s, and keeps its files in %s", VRT_VERSION,
                 setup->socket[0] ? setup->socket : "the socket of systemd", setup->state_dir);
    r = vrt_server_run(&(struct vrt_server_params){
        .conf = &setup->conf,
        .models_dir = setup->models_dir,
        .listen_fd = VRT_STEAL_FD(setup->listen_fd),
        .spool_fd = setup->spool_fd,
        .keep = setup->keep,
    }, error);
    vrt_log_info("vrtd ends");
    return vrt_fold(r);
}

static void give_up(struct setup *setup)
{
    if (setup->socket_is_ours)
        unlink(setup->socket);
    setup->keep = vrt_keep_free(setup->keep);
    vrt_claim_release(&setup->socket_claim);
    vrt_claim_release(&setup->state_claim);
    vrt_closep(&setup->listen_fd);
    vrt_closep(&setup->spool_fd);
    vrt_closep(&setup->state_fd);
}

int main(int argc, char **argv)
{
    struct setup setup = {
        .listen_fd = -1,
        .state_fd = -1,
        .spool_fd = -1,
        .state_claim = VRT_CLAIM_NONE,
        .socket_claim = VRT_CLAIM_NONE,
    };
    struct vrt_options options = { .socket = NULL };
    struct vrt_error error = { .id = NULL };

    vrt_log_set_level(VRT_LOG_INFO);
    int r = vrt_options_parse(argc, argv, &options, &error);
    if (r > 0)
        return 0;
    if (r < 0) {
        fprintf(stderr, "vrtd: %s\n", error.message);
        return 2;
    }
    /* Of both the write in question tells as well. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    r = configure(&options, &setup, &error);
    if (r == 0 && options.check_config) {
        printf("vrtd: %s is right\n", setup.config[0] ? setup.config : "no configuration");
        return 0;
    }
    raise_limits();
    vrt_heap_return_large();
    if (r == 0)
        r = serve(&options, &setup, &error);
    give_up(&setup);
    if (r < 0)
        fprintf(stderr, "vrtd: %s\n", error.message);
    /* In a hurry devices are still at work: nothing that they may use is taken down. */
    if (r == VRT_SERVER_E_HURRIED)
        _exit(1);
    return r == 0 ? 0 : 1;
}
