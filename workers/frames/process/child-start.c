/* SPDX-License-Identifier: MIT */

/*
 * Processes are started by posix_spawn(): drivers of cards don't survive a fork. Their one
 * descriptor is an end of a pair of sockets; what they work on comes with what they are asked.
 *
 * A program of so many libraries takes some 40 ms until it hears: some are started before they are
 * needed, and wait locked in. Those that were taken are replaced when nobody waits.
 */

#include "frames/process/child-impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/log.h"
#include "base/thread.h"
#include "frames/process/child-spawn.h"
#include "frames/process/serve.h"

#define VRT_LOG_TOPIC "media"

#define SPARES_MAX 8

struct process {
    pid_t pid;
    int socket;
};

/* Killed ones that a disk, or much memory, held for longer than anybody waited. */
#define LINGERING_MAX 256

static struct {
    pthread_mutex_t lock;               /* never held while a process is started */
    /* under lock */
    struct process processes[SPARES_MAX];
    int n, n_wanted;
    pid_t lingering[LINGERING_MAX];
    int n_lingering;
    int program;                        /* open on that of our version; -1: not yet */
} spares = { .lock = PTHREAD_MUTEX_INITIALIZER, .program = -1 };

/* What the process gets: descriptors, and deaf ears for what a terminal or systemd sends to all of
 * vrtd's processes, which ends vrtd in order, and by that this one. */
static int spawn(const char *program, enum vrt_hwaccel hwaccel, int socket, pid_t *ret_pid)
{
    const char *last = hwaccel ? vrt_hwaccel_names[hwaccel] : NULL;
    char *const arguments[] = { (char *)"vrt-media", (char *)VRT_VERSION, (char *)(uintptr_t)last,
                                NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t blocked;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGHUP);
    int r = posix_spawn_file_actions_init(&files);
    if (r != 0)
        return -r;
    r = posix_spawnattr_init(&attributes);
    if (r != 0) {
        posix_spawn_file_actions_destroy(&files);
        return -r;
    }
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&files, 0, 1);
    if (!VRT_MEDIA_KEEPS_STDERR)
        posix_spawn_file_actions_adddup2(&files, 0, 2);
    posix_spawn_file_actions_adddup2(&files, socket, VRT_SERVE_SOCKET);
    posix_spawnattr_setsigmask(&attributes, &blocked);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    r = vrt_child_keep(&files, &attributes, VRT_SERVE_SOCKET);
    if (r == 0)
        r = posix_spawn(ret_pid, program, &files, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return -r;
}

/* A package that is upgraded puts another version in its place while we run, and its jobs with us.
 * Return: what is to be started. */
static const char *hold(const char *path, char *buffer, int size)
{
    pthread_mutex_lock(&spares.lock);
    if (spares.program < 0)
        spares.program = open(path, O_RDONLY | O_CLOEXEC);
    const int fd = spares.program;
    pthread_mutex_unlock(&spares.lock);
    return fd < 0 ? path : vrt_child_path(fd, path, buffer, size);
}

static int start(enum vrt_hwaccel hwaccel, struct process *ret_process, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int ours = -1, theirs = -1;
    const char *program = getenv("VRTD_MEDIA_PROGRAM");
    char found[PATH_MAX], held[64];
    int pair[2];

    int r = vrt_child_pair(pair);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "vrt-media");
    ours = pair[0];
    theirs = pair[1];
    if (!program)
        program = vrt_folder_of_part("workers/frames/vrt-media", VRT_MEDIA_PROGRAM, found,
                                     sizeof(found));
    r = spawn(hold(program, held, sizeof(held)), hwaccel, theirs, &ret_process->pid);
    if (r < 0)
        return vrt_refuse(error, vrt_raise(r), "internal", "%s, which reads and writes videos, "
                          "can't be started: %s", program, strerror(-r));
    ret_process->socket = VRT_STEAL_FD(ours);
    return 0;
}

/* The oldest, which hears soonest. Under the lock. Return: whether there is one that lives. */
static bool take(struct process *ret_process)
{
    while (spares.n > 0) {
        *ret_process = spares.processes[0];
        spares.n--;
        memmove(spares.processes, spares.processes + 1,
                (size_t)spares.n * sizeof(spares.processes[0]));
        if (waitpid(ret_process->pid, NULL, WNOHANG) == 0)
            return true;
        vrt_closep(&ret_process->socket);
    }
    return false;
}

int vrt_child_start(enum vrt_hwaccel hwaccel, pid_t *ret_pid, int *ret_socket,
                    struct vrt_error *error)
{
    struct process process = { .pid = 0 };
    int r = 0;

    pthread_mutex_lock(&spares.lock);
    const bool is_ready = !hwaccel && take(&process);
    pthread_mutex_unlock(&spares.lock);
    if (is_ready)
        vrt_thread_share_priority(process.pid);
    else
        r = start(hwaccel, &process, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_pid = process.pid;
    *ret_socket = process.socket;
    return 0;
}

void vrt_child_linger(pid_t pid)
{
    pthread_mutex_lock(&spares.lock);
    if (spares.n_lingering < LINGERING_MAX)
        spares.lingering[spares.n_lingering++] = pid;
    pthread_mutex_unlock(&spares.lock);
}

/* Takes leave of those that are gone meanwhile. Under the lock. */
static void reap_lingering(void)
{
    int n = 0;

    for (int i = 0; i < spares.n_lingering; i++)
        if (waitpid(spares.lingering[i], NULL, WNOHANG) == 0)
            spares.lingering[n++] = spares.lingering[i];
    spares.n_lingering = n;
}

/* Adds a process to those that stand ready, if one is wanted still. Under the lock. Return: whether
 * it was. */
static bool put(const struct process *process)
{
    if (spares.n >= spares.n_wanted)
        return false;
    spares.processes[spares.n++] = *process;
    return true;
}

static void end_spare(struct process *process)
{
    kill(process->pid, SIGKILL);
    vrt_closep(&process->socket);
    waitpid(process->pid, NULL, 0);
}

void vrt_child_keep_spares(int n)
{
    vrt_assert(n >= 0 && n <= SPARES_MAX);
    pthread_mutex_lock(&spares.lock);
    spares.n_wanted = n;
    while (spares.n > n)
        end_spare(&spares.processes[--spares.n]);
    pthread_mutex_unlock(&spares.lock);
    vrt_child_replace_spares();
}

void vrt_child_replace_spares(void)
{
    struct vrt_error error = { .id = NULL };
    struct process process;

    pthread_mutex_lock(&spares.lock);
    reap_lingering();
    int n = spares.n_wanted - spares.n;
    pthread_mutex_unlock(&spares.lock);
    for (; n > 0; n--) {
        if (start(VRT_HWACCEL_OFF, &process, &error) < 0) {
            vrt_log_debug("no process in reserve, ignoring: %s", error.message);
            return;
        }
        pthread_mutex_lock(&spares.lock);
        const bool is_wanted = put(&process);
        pthread_mutex_unlock(&spares.lock);
        if (!is_wanted)
            end_spare(&process);
    }
}
