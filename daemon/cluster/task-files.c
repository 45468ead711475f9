/* SPDX-License-Identifier: MIT */

/* The folders and files of a task. What it keeps while it works is in the film's folder, so that a
 * segment gets its place there by a link; the database, which file systems of a network don't lock
 * well, is the node's own. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io/model-file.h"
#include "base/io/write.h"
#include "base/log.h"
#include "daemon/cluster/task-impl.h"
#include "daemon/jobs/spool.h"

#define VRT_LOG_TOPIC "cluster"

int vrt_task_make_folders(struct vrt_task_state *task, struct vrt_error *error)
{
    const char *temporary = getenv("TMPDIR");
    char host[48] = "", path[sizeof(task->state_dir)];

    gethostname(host, sizeof(host) - 1);
    snprintf(task->attempt, sizeof(task->attempt), "%s.%s.%ld.%lld", task->note_name, host,
             (long)getpid(), (long long)vrt_clock_wall_ns());
    if (mkdirat(task->folder.attempts_fd, task->attempt, 0700) < 0) {
        task->attempt[0] = '\0';
        return vrt_refuse(error, vrt_raise(-errno), vrt_is_disk_full(-errno) ? VRT_E(SPOOL_FULL) :
                          VRT_E(CLUSTER_FOLDER), "no folder can be made in "
                          "%s/attempts: %s", task->folder.path, strerror(errno));
    }
    task->attempt_fd = openat(task->folder.attempts_fd, task->attempt,
                              O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (task->attempt_fd < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), task->attempt);
    snprintf(path, sizeof(path), "%.900s/vrtd-task-XXXXXX",
             temporary && temporary[0] ? temporary : "/tmp");
    if (!mkdtemp(path))
        return vrt_refuse(error, vrt_raise(-errno), errno == ENOSPC ? VRT_E(STORE_FULL) :
                          VRT_E(STORE_FAILED), "no folder can be made as %.400s: %s", path,
                          strerror(errno));
    /* Only what was made is removed. */
    snprintf(task->state_dir, sizeof(task->state_dir), "%s", path);
    return 0;
}

/* Removes a folder, and those in it with their files. */
static void remove_folder(int parent_fd, const char *name)
{
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    if (!entries) {
        vrt_closep(&fd);
        return;
    }
    while ((entry = readdir(entries)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            vrt_spool_remove(dirfd(entries), entry->d_name);
    closedir(entries);
    if (unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        vrt_log_warning("%s stays where it is: %s, ignoring", name, strerror(errno));
}

void vrt_task_remove_folders(struct vrt_task_state *task)
{
    if (task->attempt[0])
        remove_folder(task->folder.attempts_fd, task->attempt);
    if (task->state_dir[0])
        remove_folder(AT_FDCWD, task->state_dir);
}

void vrt_task_remove_all(const struct vrt_task_state *task)
{
    DIR *entries = fdopendir(openat(task->folder.fd, "attempts", O_RDONLY | O_DIRECTORY |
                                    O_NOFOLLOW | O_CLOEXEC));
    const struct dirent *entry;

    while (entries && (entry = readdir(entries)))
        if (entry->d_name[0] != '.')
            remove_folder(task->folder.attempts_fd, entry->d_name);
    if (entries)
        closedir(entries);
    vrt_spool_remove(task->folder.fd, "segments");
}

static int open_model(const char *path, int *ret_fd, struct vrt_error *error)
{
    if (vrt_model_file_is_pair(path))
        return vrt_fold(vrt_model_file_join(AT_FDCWD, path, ret_fd, error));
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC);
    return *ret_fd < 0 ? vrt_raise(-errno) : 0;
}

int vrt_task_open_files(const struct vrt_task_state *task, int ret_fds[VRT_JOB_FILE_COUNT],
                        struct vrt_error *error)
{
    int r = 0;

    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++)
        ret_fds[i] = -1;
    for (int i = 0; r == 0 && i < VRT_JOB_FILE_COUNT; i++) {
        const char *path = task->request.files[i].path;
        const bool may_lack = i == VRT_JOB_REFERENCE && task->kind != VRT_PIPELINE_SURVEY;
        if ((i == VRT_JOB_MODEL || i == VRT_JOB_REFERENCE) && !path[0])
            continue;
        if (i == VRT_JOB_MODEL)
            r = open_model(path, &ret_fds[i], error);
        else
            ret_fds[i] = open(path, i == VRT_JOB_OUTPUT ? O_RDWR | O_CREAT | O_CLOEXEC :
                                                          O_RDONLY | O_CLOEXEC, 0666);
        if (ret_fds[i] < 0 && r == 0 && !may_lack)
            r = vrt_raise(-errno);
        if (r == 0 && i == VRT_JOB_OUTPUT)
            vrt_sync_name(path);
        if (r < 0)
            vrt_refuse(error, r, i == VRT_JOB_OUTPUT ? VRT_E(JOB_OUTPUT) : VRT_E(JOB_INPUT),
                       "%.300s can't be opened: %s; every node has to see it under this path",
                       path, strerror(-r));
    }
    for (int i = 0; r < 0 && i < VRT_JOB_FILE_COUNT; i++)
        vrt_closep(&ret_fds[i]);
    return vrt_fold(r);
}
