/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A pipe as a job's input: a file that grows
 *
 * What is read of the pipe is appended to a file in the spool, from which all others read it: the
 * look at admission, the one at the start, the decoder, and at last the joiner, which copies sound
 * and subtitles. Nothing is read that nobody asked for, so a pipe runs no further ahead than a
 * decoder wants it, and whoever writes waits. While the decoder reads, the bytes of the video are
 * taken out of the file again behind it, where the file system can do that; its beginning stays,
 * as every opening reads it.
 *
 * Thread: any, one at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "frames/feed/feed.h"

/* That stay at the beginning of the file: more than FFmpeg reads to know its streams. */
#define VRT_PIPE_HEAD_BYTES (INT64_C(64) << 20)

struct vrt_pipe {
    int fd;                     /* the pipe, or a socket; it doesn't block; the caller's */
    int file_fd;                /* what was read of it so far; open for writing; the caller's */
    bool is_freed;              /* what the reader tells to be spent is taken out of the file */
    uint8_t *buffer;            /* NULL: not needed yet */
};

/*
 * A struct vrt_feed's function, whose context is the pipe: waits a tenth of a second at most.
 * Return: 0; -errno with a sentence: -ENOSPC ("spool.full"), ...
 */
int vrt_pipe_more(void *ctx, struct vrt_feed_state *state, struct vrt_error *error);

/* Frees the buffer. */
void vrt_pipe_done(struct vrt_pipe *pipe);

/* Whether a descriptor is a pipe or a socket, of which every byte is read once. */
bool vrt_pipe_is_one(int fd);

/* Has a read of the pipe wait for nothing, and writers less often. Return: 0; -errno. */
int vrt_pipe_prepare(int fd) VRT_MUST_CHECK;

/* Asks the system for a larger pipe; where it has none, or gives none, it stays as it is. */
void vrt_pipe_enlarge(int fd, int size_bytes);

/* Takes bytes out of the file, where the system can: they are read as zeros then. */
void vrt_pipe_free_bytes(int file_fd, int64_t offset, int64_t size_bytes);
