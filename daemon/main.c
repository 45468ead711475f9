/* SPDX-License-Identifier: MIT */
/*
 * vrtd: reads what it was told, claims what only one daemon may have, and serves.
 *
 * Exit status: 0; 1 where it could not start or was stopped in a hurry; 2 for a wrong command line;
 * as a task of a cluster (--once) also those of enum vrt_cluster_exit.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backend/kind.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/home.h"
#include "base/log.h"
#include "base/macro.h"
#include "config/conf.h"
#include "daemon/cluster/task.h"
#include "daemon/service/claim.h"
#include "daemon/service/once.h"
#include "daemon/service/paths.h"
#include "daemon/systemd/fd-store.h"
#include "daemon/systemd/notify.h"
#include "daemon/service/server.h"
#include "daemon/service/setup.h"
#include "frames/process/child.h"
#include "msg_log.h"

#define VRT_LOG_TOPIC "main"

/* Three for each of the 100000 jobs that may wait at most, and connections. */
#define DESCRIPTORS_WANTED 524288

/* Everything that is settled before the loop runs. */
struct start {
    struct vrt_setup setup;
    struct vrt_conf conf;
    char config[VRT_SETUP_PATH_BYTES], socket[VRT_SETUP_PATH_BYTES];
    int listen_fd, state_fd, spool_fd;
    bool socket_is_ours;            /* made here: to be removed at the end */
    struct vrt_claim state_claim, socket_claim;
    struct vrt_fd_store *fd_store;
};

/* For --check-config. */
static void print_checked(const char *config)
{
    char places[3 * VRT_SETUP_PATH_BYTES];

    if (config[0])
        printf("vrtd: %s is right\n", config);
    else
        printf("vrtd: there is no configuration, so all is as it is by default (looked for: %s)\n",
               vrt_paths_list_configs(places, sizeof(places)));
}

/* Reads and checks what the daemon is told; nothing is made or claimed yet. Return: 0, -errno. */
static int configure(struct start *start, struct vrt_error *error)
{
    struct vrt_log_levels levels;
    struct vrt_wall_error wrong;
    int r = vrt_setup_read(&start->setup, &start->conf, start->config, error);

    if (r < 0)
        return vrt_fold(r);
    if (vrt_log_levels_parse(start->conf.log.level, &levels, NULL) == 0)
        vrt_log_set_levels(&levels);
    r = vrt_setup_folders(&start->setup, &start->conf, error);
    if (r != 0)
        return vrt_fold(r);
    r = vrt_setup_check(&start->setup, &start->conf, error);
    if (r != 0)
        return vrt_fold(r);
    if (vrt_clock_parse_wall_error(start->conf.daemon.wall_clock, &wrong) == 0)
        vrt_clock_set_wall_error(&wrong);
    return 0;
}

/* The same again, while it runs. The folders stay where they are. */
static int configure_again(void *ctx, struct vrt_conf *ret_conf, struct vrt_error *error)
{
    const struct start *start = ctx;
    struct vrt_conf conf;

    int r = vrt_setup_read(&start->setup, &conf, NULL, error);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_setup_check(&start->setup, &conf, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_conf = conf;
    return 0;
}

static int claim_state(struct start *start, struct vrt_error *error)
{
    const char *state_dir = start->setup.state_dir;
    char path[320], what[340];

    int r = vrt_claim_folder(state_dir, &start->state_fd, error);
    if (r < 0)
        return vrt_fold(r);
    snprintf(path, sizeof(path), "%s/lock", state_dir);
    snprintf(what, sizeof(what), "the state folder %s", state_dir);
    r = vrt_claim_take(path, what, &start->state_claim, error);
    if (r < 0)
        return vrt_fold(r);
    return vrt_fold(vrt_claim_folder_in(start->state_fd, "spool", &start->spool_fd, error));
}

static int claim_socket(struct start *start, struct vrt_error *error)
{
    char path[320], what[340];

    int r = vrt_fd_store_new(&start->fd_store);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "starting");
    r = vrt_notify_take(vrt_fd_store_adopt, start->fd_store, &start->listen_fd, error);
    if (r < 0 || start->listen_fd >= 0)
        return vrt_fold(r);
    r = vrt_setup_socket(&start->setup, &start->conf, start->socket, error);
    if (r < 0)
        return vrt_fold(r);
    snprintf(path, sizeof(path), "%s.lock", start->socket);
    snprintf(what, sizeof(what), "the socket %s", start->socket);
    r = vrt_claim_take(path, what, &start->socket_claim, error);
    if (r == 0)
        r = vrt_claim_listen(start->socket, &start->listen_fd, error);
    start->socket_is_ours = r == 0;
    return vrt_fold(r);
}

/* macOS refuses more than it ever gives (kern.maxfilesperproc), and tells of no limit. */
static void raise_limits(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= DESCRIPTORS_WANTED)
        return;
    const rlim_t had = limit.rlim_cur;
    limit.rlim_cur = VRT_MIN(limit.rlim_max, (rlim_t)DESCRIPTORS_WANTED);
    int r = setrlimit(RLIMIT_NOFILE, &limit);
    while (r < 0 && errno == EINVAL && limit.rlim_cur / 2 > had) {
        limit.rlim_cur /= 2;
        r = setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (r < 0)
        vrt_log_warning("the limit of open files stays as it is: %s", strerror(errno));
}

/* Says what protects this process from the videos that it is given, where that isn't everything. */
static void try_media(void)
{
    VRT_CLEANUP(vrt_child_freep) struct vrt_child *child = NULL;
    struct vrt_error error = { .id = NULL };

    const char *missing = vrt_child_new(NULL, &child, &error) == 0 ?
                          vrt_child_missing(child, &error) : NULL;
    if (!missing)
        vrt_log_error("no video can be read or written: %s", error.message);
    else if (missing[0])
        vrt_log_warning("vrt-media, which decodes videos, locks itself in with %s, ignoring",
                        missing);
}

/* Claims what it needs and serves. Return: as vrt_server_run(). */
static int serve(struct start *start, struct vrt_error *error)
{
    int r = vrt_setup_log(&start->conf, error);

    if (r < 0)
        return vrt_fold(r);
    r = claim_state(start, error);
    if (r < 0)
        return vrt_fold(r);
    r = claim_socket(start, error);
    if (r < 0)
        return vrt_fold(r);
    vrt_log_info("vrtd %s starts, and keeps its files in %s", VRT_VERSION,
                 start->setup.state_dir);
    vrt_child_keep_zygote(true);
    try_media();
    r = vrt_server_run(&(struct vrt_server_params){
        .conf = &start->conf,
        .reread = configure_again,
        .reread_ctx = start,
        .models_dir = start->setup.models_dir,
        .listen_fd = VRT_STEAL_FD(start->listen_fd),
        .listen_name = start->socket[0] ? start->socket : "the socket that was handed over",
        .state_dir = start->setup.state_dir,
        .cache_dir = start->setup.cache_dir,
        .spool_fd = start->spool_fd,
        .fd_store = start->fd_store,
    }, error);
    vrt_child_keep_zygote(false);
    vrt_log_info("vrtd ends");
    vrt_log_keep(0);
    return vrt_fold(r);
}

/* Does one task of a cluster. Return: the exit status. */
static int do_once(const struct start *start, char **argv)
{
    char program[VRT_SETUP_PATH_BYTES];
    bool at_once;
    int exit = vrt_once_run(&start->setup, &start->conf, &at_once);

    /* What is left is another such task, and a process has one daemon at most. */
    if (exit == VRT_CLUSTER_MORE && vrt_program_path(program, sizeof(program)))
        execv(program, argv);
    if (exit == VRT_CLUSTER_MORE)
        exit = VRT_CLUSTER_AGAIN;
    if (at_once)
        _exit(exit);
    return exit;
}

static void give_up(struct start *start)
{
    if (start->socket_is_ours)
        unlink(start->socket);
    start->fd_store = vrt_fd_store_free(start->fd_store);
    vrt_claim_release(&start->socket_claim);
    vrt_claim_release(&start->state_claim);
    vrt_closep(&start->listen_fd);
    vrt_closep(&start->spool_fd);
    vrt_closep(&start->state_fd);
}

int main(int argc, char **argv)
{
    struct start start = {
        .listen_fd = -1,
        .state_fd = -1,
        .spool_fd = -1,
        .state_claim = VRT_CLAIM_NONE,
        .socket_claim = VRT_CLAIM_NONE,
    };
    struct vrt_error error = { .id = NULL };

    for (size_t i = 0; vrt_device_kind_at(i); i++)
        vrt_log_add_topic(vrt_device_kind_at(i)->name);
    vrt_log_set_level(VRT_LOG_INFO);
    vrt_log_keep(VRT_API_LOG_LINES);
    int r = vrt_options_parse(argc, argv, &start.setup.options, &error);
    if (r > 0)
        return 0;
    if (r == 0)
        r = vrt_once_check(&start.setup, &error);
    if (r < 0) {
        fprintf(stderr, "vrtd: %s\n", error.message);
        return 2;
    }
    /* Of both the write in question tells as well. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    /* Until there is somebody who reads it again. */
    signal(SIGHUP, SIG_IGN);
    r = configure(&start, &error);
    if (r == 0 && start.setup.options.check_config) {
        print_checked(start.config);
        return 0;
    }
    raise_limits();
    vrt_heap_return_large();
    if (r == 0 && start.setup.options.once)
        return do_once(&start, argv);
    if (r == 0)
        r = serve(&start, &error);
    give_up(&start);
    if (r < 0 || r == VRT_SERVER_E_STUCK_FAILED)
        fprintf(stderr, "vrtd: %s\n", error.message);
    /* In a hurry devices are still at work, and what is stuck never ends: nothing that they may use
     * is taken down. */
    if (r == VRT_SERVER_E_HURRIED || r == VRT_SERVER_E_STUCK_FAILED)
        _exit(1);
    if (r == VRT_SERVER_E_STUCK)
        _exit(0);
    return r == 0 ? 0 : 1;
}
