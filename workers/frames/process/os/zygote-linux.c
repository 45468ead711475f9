/* SPDX-License-Identifier: MIT */

/*
 * What divides has loaded its libraries, and nothing else: no thread runs, no driver is there, and
 * nobody's bytes were seen. All that it makes have one layout of addresses.
 *
 * A new process is vrtd's to wait for and to end: that between it and the zygote ends at once, and
 * vrtd adopts what is left behind. Where the zygote is killed meanwhile that is one of which nobody
 * told: vrtd finds it by the zygote's group, in which no others are.
 */

#include "frames/process/zygote.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frames/process/message.h"

/* Whether no library has begun a thread when it was loaded: a fork would leave that out, with its
 * locks as they are. Nobody knows it without /proc. */
static bool is_alone(void)
{
    struct stat tasks;

    return stat("/proc/self/task", &tasks) < 0 || tasks.st_nlink <= 3;
}

/* Return: 0: this is the new process; its number, in the zygote; -errno. */
static pid_t divide(pid_t *shared)
{
    *shared = -ECHILD;
    const pid_t between = fork();
    if (between < 0)
        return vrt_raise(-errno);
    if (between == 0) {
        const pid_t pid = fork();
        if (pid == 0)
            return 0;
        *shared = pid < 0 ? -errno : pid;
        /* It is one that vrtd has heard of. */
        if (pid > 0)
            (void)setpgid(pid, pid);
        _exit(EXIT_SUCCESS);
    }
    while (waitpid(between, NULL, 0) < 0 && errno == EINTR)
        continue;
    return *shared;
}

int vrt_zygote_run(int socket)
{
    pid_t *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct vrt_message_fds fds;
    struct vrt_message message;
    int r = shared == MAP_FAILED ? vrt_raise(-errno) : is_alone() ? 0 : vrt_raise(-EBUSY);

    (void)prctl(PR_SET_NAME, "vrt-zygote");
    (void)setpgid(0, 0);
    while (r == 0) {
        r = vrt_message_receive(socket, -1, &message, &fds);
        if (r == -EPIPE)
            _exit(EXIT_SUCCESS);
        if (r == 0) {
            message.result = fds.n == 1 ? divide(shared) : -EBADMSG;
            if (message.result == 0)
                break;
            vrt_message_fds_done(&fds);
            r = vrt_message_send(socket, &message, offsetof(struct vrt_message, body), NULL);
        } else if (r == -EAGAIN) {
            r = 0;
        }
    }
    if (r < 0)
        return vrt_fold(r);
    (void)prctl(PR_SET_NAME, "vrt-media");
    munmap(shared, sizeof(*shared));
    r = dup2(fds.fds[0], socket) < 0 ? vrt_raise(-errno) : 0;
    vrt_message_fds_done(&fds);
    return r;
}
