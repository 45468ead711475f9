/* SPDX-License-Identifier: MIT */

#include "workers/media/files/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/io/write.h"

#define POLL_MS 100
#define CHUNK_BYTES ((size_t)1 << 20)

/* Of most disks: parts of one can't be freed. */
#define BLOCK_BYTES 4096

bool vrt_pipe_is_one(int fd)
{
    struct stat st;

    return fd >= 0 && fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

int vrt_pipe_prepare(int fd)
{
    const int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return vrt_raise(-errno);
    vrt_pipe_enlarge(fd, (int)CHUNK_BYTES);
    return 0;
}

static void free_spent(const struct vrt_pipe *pipe, const struct vrt_feed_state *state)
{
    for (int i = 0; pipe->is_freed && i < state->n_spent; i++) {
        int64_t from = VRT_MAX(state->spent[i].from, VRT_PIPE_HEAD_BYTES);
        int64_t to = state->spent[i].to / BLOCK_BYTES * BLOCK_BYTES;
        from = (from + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
        if (from < to)
            vrt_pipe_free_bytes(pipe->file_fd, from, to - from);
    }
}

/* Reads what there is, up to a chunk. Return: bytes; 0: the end; -EAGAIN: nothing yet; -errno. */
static ssize_t read_chunk(const struct vrt_pipe *pipe)
{
    struct pollfd poll_fd = { .fd = pipe->fd, .events = POLLIN };
    size_t n = 0;
    ssize_t got;

    if (poll(&poll_fd, 1, POLL_MS) <= 0)
        return -EAGAIN;
    do {
        got = read(pipe->fd, pipe->buffer + n, CHUNK_BYTES - n);
        n += (size_t)VRT_MAX(got, 0);
    } while ((got > 0 && n < CHUNK_BYTES) || (got < 0 && errno == EINTR));
    /* A second look finds the end, or what is wrong, again. */
    return n > 0 || got == 0 ? (ssize_t)n : errno == EWOULDBLOCK ? -EAGAIN : -errno;
}

static int refuse_write(int r, struct vrt_error *error)
{
    if (vrt_is_disk_full(r) || r == -EFBIG)
        return vrt_refuse(error, r, "spool.full", "the disk of vrtd's working files is full, and "
                          "what comes by a pipe can't wait for room: free some space, and run "
                          "the command again");
    return vrt_refuse_errno(error, r, "storing what comes by the pipe");
}

int vrt_pipe_more(void *ctx, struct vrt_feed_state *state, struct vrt_error *error)
{
    struct vrt_pipe *pipe = ctx;
    struct stat st;

    free_spent(pipe, state);
    if (fstat(pipe->file_fd, &st) < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), "the pipe's file");
    /* An earlier reader had it read. */
    if (state->size_bytes < st.st_size) {
        state->size_bytes = st.st_size;
        return 0;
    }
    state->size_bytes = st.st_size;
    if (!pipe->buffer)
        pipe->buffer = malloc(CHUNK_BYTES);
    if (!pipe->buffer)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the pipe");
    ssize_t n = read_chunk(pipe);
    if (n < 0 && n != -EAGAIN)
        return vrt_refuse_errno(error, vrt_raise((int)n), "the pipe");
    state->at_end = n == 0;
    int r = n > 0 ? vrt_write_at(pipe->file_fd, pipe->buffer, (size_t)n, st.st_size) : 0;
    if (r < 0)
        return refuse_write(r, error);
    state->size_bytes += VRT_MAX(n, 0);
    return 0;
}

void vrt_pipe_done(struct vrt_pipe *pipe)
{
    free(pipe->buffer);
    pipe->buffer = NULL;
}
