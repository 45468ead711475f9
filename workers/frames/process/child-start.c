/* SPDX-License-Identifier: MIT */

/*
 * Processes are started by posix_spawn(): drivers of cards don't survive a fork. Their one
 * descriptor is an end of a pair of sockets; what they work on comes with what they are asked.
 *
 * A program of so many libraries takes some 50 ms until it hears, nearly all of it the loader's.
 * One process, the zygote, is loaded once and never asked anything but to divide, which takes 4 ms
 * (os/zygote-linux.c); who is to have a driver, or finds no zygote, starts the program.
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

#include "base/clock.h"
#include "base/folder.h"
#include "base/log.h"
#include "base/thread.h"
#include "frames/process/child-spawn.h"
#include "frames/process/serve.h"
#include "frames/process/zygote.h"

#define VRT_LOG_TOPIC "media"

/* How long the zygote may take, which may have to be loaded first. */
#define DIVIDE_NS (10 * VRT_NS_PER_S)

/* So many zygotes in a row that never divided, and no more are started: they can't live here. */
#define VAIN_MAX 3

/* Killed ones that a disk, or much memory, held for longer than anybody waited; and groups. */
#define LINGERING_MAX 256

static struct {
    pthread_mutex_t lock;
    /* under lock */
    pid_t lingering[LINGERING_MAX];
    int n_lingering;
    int program;                        /* open on that of our version; -1: not yet */
} starts = { .lock = PTHREAD_MUTEX_INITIALIZER, .program = -1 };

static struct {
    pthread_mutex_t lock;               /* held while it is asked */
    /* under lock */
    bool is_wanted;
    pid_t pid;                          /* 0: there is none */
    int socket;
    bool has_divided;                   /* this one */
    int n_vain;                         /* that ended without, one after the other */
} zygote = { .lock = PTHREAD_MUTEX_INITIALIZER, .socket = -1 };

/* What the process gets: descriptors, and deaf ears for what a terminal or systemd sends to all of
 * vrtd's processes, which ends vrtd in order, and by that this one. */
static int spawn(const char *program, const char *last, int socket, pid_t *ret_pid)
{
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
    pthread_mutex_lock(&starts.lock);
    if (starts.program < 0)
        starts.program = open(path, O_RDONLY | O_CLOEXEC);
    const int fd = starts.program;
    pthread_mutex_unlock(&starts.lock);
    return fd < 0 ? path : vrt_child_path(fd, path, buffer, size);
}

/* `last` is the program's last argument; NULL: it has none. */
static int start(const char *last, int socket, pid_t *ret_pid, struct vrt_error *error)
{
    const char *program = getenv("VRTD_MEDIA_PROGRAM");
    char found[PATH_MAX], held[64];

    if (!program)
        program = vrt_folder_of_part("workers/frames/vrt-media", VRT_MEDIA_PROGRAM, found,
                                     sizeof(found));
    int r = spawn(hold(program, held, sizeof(held)), last, socket, ret_pid);
    if (r < 0)
        return vrt_refuse(error, vrt_raise(r), "internal", "%s, which reads and writes videos, "
                          "can't be started: %s", program, strerror(-r));
    return 0;
}

/* Has the zygote divide, and gives the new process its end. Under its lock. Return: the process;
 * -errno: there is none. */
static int divide(int socket)
{
    const struct vrt_message_fds fds = { .fds = { socket }, .n = 1 };
    const int64_t give_up_ns = vrt_clock_now_ns() + DIVIDE_NS;
    struct vrt_message_fds none;
    struct vrt_message message;

    vrt_message_init(&message, VRT_MESSAGE_DIVIDE);
    int r = vrt_message_send(zygote.socket, &message, offsetof(struct vrt_message, body), &fds);
    if (r < 0)
        return r;
    do {
        const int64_t left_ns = give_up_ns - vrt_clock_now_ns();
        if (left_ns <= 0)
            return -ETIMEDOUT;
        r = vrt_message_receive(zygote.socket, (int)(left_ns / VRT_NS_PER_MS), &message, &none);
    } while (r == -EAGAIN);
    if (r < 0)
        return r;
    vrt_message_fds_done(&none);
    return message.result;
}

/* It is gone, or is to go. Under its lock. */
static void note_end(void)
{
    /* What it was about to make. */
    vrt_child_linger(-zygote.pid);
    vrt_closep(&zygote.socket);
    zygote.n_vain = zygote.has_divided ? 0 : zygote.n_vain + 1;
    zygote.has_divided = false;
    zygote.pid = 0;
}

/* Under its lock. */
static void end_zygote(void)
{
    kill(zygote.pid, SIGKILL);
    if (waitpid(zygote.pid, NULL, WNOHANG) == 0)
        vrt_child_linger(zygote.pid);
    note_end();
}

/* Starts it where it isn't there, or not any more. Under its lock. */
static void renew_zygote(void)
{
    struct vrt_error error = { .id = NULL };
    int pair[2];

    if (zygote.pid && waitpid(zygote.pid, NULL, WNOHANG) != 0)
        note_end();
    if (zygote.pid || !zygote.is_wanted || zygote.n_vain == VAIN_MAX || !vrt_child_adopts() ||
        vrt_child_pair(pair) < 0)
        return;
    zygote.socket = pair[0];
    if (start(VRT_ZYGOTE, pair[1], &zygote.pid, &error) < 0) {
        vrt_log_debug("no process that divides, ignoring: %s", error.message);
        vrt_closep(&zygote.socket);
        zygote.pid = 0;
    }
    vrt_closep(&pair[1]);
}

/* Return: whether there is a zygote, and it made one. Where it failed, a process may have the other
 * end all the same: that pair is of no more use. */
static bool take(pid_t *ret_pid, int *ret_socket)
{
    int pair[2], r = 0;

    pthread_mutex_lock(&zygote.lock);
    if (zygote.pid && vrt_child_pair(pair) == 0) {
        r = divide(pair[1]);
        vrt_closep(&pair[1]);
        if (r <= 0) {
            vrt_log_warning("the process that divides into others is ended, for it didn't: %s, "
                            "ignoring", strerror(-r));
            vrt_closep(&pair[0]);
            end_zygote();
        }
        zygote.has_divided = r > 0;
    }
    pthread_mutex_unlock(&zygote.lock);
    if (r <= 0)
        return false;
    *ret_pid = r;
    *ret_socket = pair[0];
    return true;
}

int vrt_child_start(enum vrt_hwaccel hwaccel, pid_t *ret_pid, int *ret_socket,
                    struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int ours = -1, theirs = -1;
    int pair[2];

    if (!hwaccel && take(ret_pid, ret_socket)) {
        vrt_thread_share_priority(*ret_pid);
        return 0;
    }
    int r = vrt_child_pair(pair);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "vrt-media");
    ours = pair[0];
    theirs = pair[1];
    r = start(hwaccel ? vrt_hwaccel_names[hwaccel] : NULL, theirs, ret_pid, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_socket = VRT_STEAL_FD(ours);
    return 0;
}

void vrt_child_linger(pid_t pid)
{
    pthread_mutex_lock(&starts.lock);
    if (starts.n_lingering < LINGERING_MAX)
        starts.lingering[starts.n_lingering++] = pid;
    pthread_mutex_unlock(&starts.lock);
}

/* Takes leave of those that are gone meanwhile. Under the lock. */
static void reap_lingering(void)
{
    int n = 0;

    for (int i = 0; i < starts.n_lingering; i++) {
        pid_t pid;
        do
            pid = waitpid(starts.lingering[i], NULL, WNOHANG);
        while (pid > 0 && starts.lingering[i] < 0);
        if (pid == 0)
            starts.lingering[n++] = starts.lingering[i];
    }
    starts.n_lingering = n;
}

void vrt_child_keep_zygote(bool is_kept)
{
    pthread_mutex_lock(&zygote.lock);
    zygote.is_wanted = is_kept;
    zygote.n_vain = 0;
    if (zygote.pid && !is_kept)
        end_zygote();
    pthread_mutex_unlock(&zygote.lock);
    vrt_child_look_after();
}

void vrt_child_look_after(void)
{
    /* Who holds it asks the zygote, and finds out. */
    if (pthread_mutex_trylock(&zygote.lock) == 0) {
        renew_zygote();
        pthread_mutex_unlock(&zygote.lock);
    }
    pthread_mutex_lock(&starts.lock);
    reap_lingering();
    pthread_mutex_unlock(&starts.lock);
}
