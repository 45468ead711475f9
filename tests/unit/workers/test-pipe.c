/* SPDX-License-Identifier: MIT */

/* What comes by a pipe is in the file, byte by byte, no sooner than it is asked for; and what is
 * spent of it is on the disk no more. */

#include "workers/media/files/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "tests/unit/test.h"

#define CHUNK_BYTES (1 << 20)

/* A pipe, and a file without a name. */
struct ends {
    int write_fd;
    struct vrt_pipe pipe;
};

static int make_file(void)
{
    char name[] = "/var/tmp/vrt-pipe-XXXXXX";
    int fd = mkstemp(name);

    expect_true(fd >= 0);
    unlink(name);
    return fd;
}

static struct ends make_ends(bool is_socket)
{
    int fds[2];

    if (is_socket)
        expect_int(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    else
        expect_int(pipe(fds), 0);
    expect_true(vrt_pipe_is_one(fds[0]));
    expect_int(vrt_pipe_prepare(fds[0]), 0);
    return (struct ends){ fds[1], { .fd = fds[0], .file_fd = make_file() } };
}

static void ends_done(struct ends *ends)
{
    vrt_pipe_done(&ends->pipe);
    close(ends->pipe.fd);
    close(ends->pipe.file_fd);
    if (ends->write_fd >= 0)
        close(ends->write_fd);
}

static void send_bytes(const struct ends *ends, const char *text)
{
    expect_int(write(ends->write_fd, text, strlen(text)), (int)strlen(text));
}

static void expect_content(const struct ends *ends, const char *wanted)
{
    char is[64] = "";

    expect_int(pread(ends->pipe.file_fd, is, sizeof(is) - 1, 0), (int)strlen(wanted));
    expect_str(is, wanted);
}

static void check_content(bool is_socket)
{
    struct ends ends = make_ends(is_socket);
    struct vrt_feed_state state = { .size_bytes = 0 }, other = { .size_bytes = 0 };
    struct vrt_error error = { 0 };

    /* Nothing came yet. */
    expect_int(vrt_pipe_more(&ends.pipe, &state, &error), 0);
    expect_true(state.size_bytes == 0 && !state.at_end);
    send_bytes(&ends, "one ");
    expect_int(vrt_pipe_more(&ends.pipe, &state, &error), 0);
    expect_int(state.size_bytes, 4);
    send_bytes(&ends, "two");
    /* Another who knows nothing is told what there is, and reads no further. */
    expect_int(vrt_pipe_more(&ends.pipe, &other, &error), 0);
    expect_int(other.size_bytes, 4);
    expect_content(&ends, "one ");
    expect_int(vrt_pipe_more(&ends.pipe, &other, &error), 0);
    expect_int(other.size_bytes, 7);
    expect_content(&ends, "one two");
    send_bytes(&ends, "!");
    close(ends.write_fd);
    ends.write_fd = -1;
    expect_int(vrt_pipe_more(&ends.pipe, &state, &error), 0);
    expect_int(state.size_bytes, 7);
    expect_int(vrt_pipe_more(&ends.pipe, &state, &error), 0);
    expect_true(state.size_bytes == 8 && !state.at_end);
    /* The end is found as often as it is asked for. */
    for (int i = 0; i < 3; i++) {
        state.at_end = false;
        expect_int(vrt_pipe_more(&ends.pipe, &state, &error), 0);
        expect_true(state.size_bytes == 8 && state.at_end);
    }
    expect_content(&ends, "one two!");
    ends_done(&ends);
}

static int64_t held_bytes(int fd)
{
    struct stat st;

    expect_int(fstat(fd, &st), 0);
    return (int64_t)st.st_blocks * 512;
}

/* Has 3 MiB behind the head, and tells which of them are spent. */
static void spend(struct ends *ends, bool is_freed)
{
    static char bytes[CHUNK_BYTES], is[CHUNK_BYTES];
    const int64_t head = VRT_PIPE_HEAD_BYTES;
    struct vrt_feed_state state = {
        .size_bytes = head + 3 * CHUNK_BYTES,
        .n_spent = 3,
        .spent = { { 0, 5000 }, { head - 10, head + CHUNK_BYTES + 10 },
                   { head + 2 * CHUNK_BYTES + 1, head + 3 * CHUNK_BYTES } },
    };
    struct vrt_error error = { 0 };

    ends->pipe.is_freed = is_freed;
    memset(bytes, 'x', sizeof(bytes));
    for (int64_t at = 0; at < head + 3 * CHUNK_BYTES; at += CHUNK_BYTES)
        expect_int(pwrite(ends->pipe.file_fd, bytes, sizeof(bytes), at), CHUNK_BYTES);
    int64_t before = held_bytes(ends->pipe.file_fd);
    expect_int(vrt_pipe_more(&ends->pipe, &state, &error), 0);
    int64_t freed = before - held_bytes(ends->pipe.file_fd);
    if (!is_freed)
        expect_int(freed, 0);
    else if (freed == 0)
        fprintf(stderr, "  this disk frees no parts of files\n");
    else
        expect_true(freed >= 2 * CHUNK_BYTES - 3 * 65536 && freed <= 2 * CHUNK_BYTES);
    /* What is not spent is as it was, and so is the head. */
    const int64_t kept[][2] = { { 0, CHUNK_BYTES }, { head - CHUNK_BYTES, CHUNK_BYTES },
                                { head + CHUNK_BYTES + 10, CHUNK_BYTES - 10 } };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(kept); i++) {
        expect_int(pread(ends->pipe.file_fd, is, (size_t)kept[i][1], kept[i][0]),
                   (int)kept[i][1]);
        expect_int(memcmp(is, bytes, (size_t)kept[i][1]), 0);
    }
    expect_int(lseek(ends->pipe.file_fd, 0, SEEK_END), head + 3 * CHUNK_BYTES);
}

static void test_spent(void)
{
    struct ends ends = make_ends(false);

    spend(&ends, false);
    spend(&ends, true);
    ends_done(&ends);
}

static void test_full_disk(void)
{
    struct ends ends = make_ends(false);
    struct vrt_feed_state state = { .size_bytes = 0 };
    struct vrt_error error = { 0 };

    close(ends.pipe.file_fd);
    ends.pipe.file_fd = open("/dev/full", O_RDWR | O_CLOEXEC);
    send_bytes(&ends, "too much");
    expect_int(vrt_pipe_more(&ends.pipe, &state, &error), -ENOSPC);
    expect_str(error.id, "spool.full");
    ends_done(&ends);
}

static void test_what_is_none(void)
{
    int file = make_file(), null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    expect_true(!vrt_pipe_is_one(file) && !vrt_pipe_is_one(null) && !vrt_pipe_is_one(-1));
    close(file);
    close(null);
}

static void test_content(void)
{
    check_content(false);
    check_content(true);
}

TEST_MAIN(
    { "content", test_content },           { "spent", test_spent },
    { "full disk", test_full_disk },       { "what is none", test_what_is_none },
)
