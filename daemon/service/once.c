/* SPDX-License-Identifier: MIT */

#include "daemon/service/once.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "daemon/cluster/task.h"
#include "daemon/service/server.h"
#include "daemon/service/setup.h"
#include "daemon/systemd/fd-store.h"
#include "frames/process/child.h"

#define VRT_LOG_TOPIC "main"

int vrt_once_check(const struct vrt_setup *setup, struct vrt_error *error)
{
    const struct vrt_options *options = &setup->options;
    char shown[80];

    if (!options->once && !options->part)
        return 0;
    if (!options->once || !options->part)
        return vrt_refuse(error, -EINVAL, "usage", "--once FOLDER and --part PART go together; see "
                          "vrtd --help");
    if (options->socket || options->state_dir)
        return vrt_refuse(error, -EINVAL, "usage", "--once has no clients and keeps no state: "
                          "leave --socket and --state-dir out");
    if (!vrt_task_is_one(options->part))
        return vrt_refuse(error, -EINVAL, "usage", "--part %s is no part: it is plan, join, or "
                          "such as 0/4, the first of four",
                          vrt_printable(options->part, shown, sizeof(shown)));
    return 0;
}

/* Runs a daemon without clients for the task. Return: as vrt_server_run(). */
static int serve(const struct vrt_setup *setup, const struct vrt_conf *conf,
                 struct vrt_task_state *task, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_fd_store_freep) struct vrt_fd_store *fd_store = NULL;
    const struct vrt_server_once once = {
        .part = vrt_task_part(task),
        .started = vrt_task_started,
        .job_changed = vrt_task_job_changed,
        .segment_stored = vrt_task_segment_stored,
        .ctx = task,
    };
    int r = vrt_fd_store_new(&fd_store);

    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "starting");
    r = vrt_task_store(task, fd_store, error);
    if (r < 0)
        return vrt_fold(r);
    vrt_child_keep_zygote(true);
    r = vrt_server_run(&(struct vrt_server_params){
        .conf = conf,
        .models_dir = setup->models_dir,
        .listen_fd = -1,
        .once = &once,
        .state_dir = vrt_task_state_dir(task),
        .cache_dir = setup->cache_dir,
        .spool_fd = vrt_task_spool_fd(task),
        .fd_store = fd_store,
    }, error);
    vrt_child_keep_zygote(false);
    return vrt_fold(r);
}

int vrt_once_run(const struct vrt_setup *setup, const struct vrt_conf *conf, bool *ret_at_once)
{
    struct vrt_task_state *task = NULL;
    struct vrt_error error = { .id = NULL };
    struct vrt_conf own = *conf;
    const char *part = setup->options.part;

    /* What it says goes where Slurm collects it; and it hears nobody. */
    own.log.file[0] = '\0';
    own.web.listen[0] = '\0';
    *ret_at_once = false;
    int r = vrt_setup_log(&own, &error);
    if (r == 0)
        r = vrt_task_begin(setup->options.once, part, &task, &error);
    if (r == 0 && vrt_task_is_due(task)) {
        vrt_log_info("vrtd %s begins %s of %s", VRT_VERSION, part, setup->options.once);
        r = serve(setup, &own, task, &error);
    }
    if (r == VRT_SERVER_E_HURRIED) {
        *ret_at_once = true;
        return VRT_CLUSTER_AGAIN;
    }
    *ret_at_once = r == VRT_SERVER_E_STUCK || r == VRT_SERVER_E_STUCK_FAILED;
    /* Its end says why by itself, where it has a folder to say it in. */
    if (r < 0)
        fprintf(stderr, "vrtd: %s\n", error.message);
    return vrt_task_end(task, &error);
}
