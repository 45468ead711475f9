/* SPDX-License-Identifier: MIT */

#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/cleanup.h"
#include "daemon/remote/fetch-file.h"

#define PIECE_BYTES (60 * 1000)

struct play {
    uv_loop_t loop;
    char folder[64];
    int folder_fd;
    struct vrt_fetch_file *file;
    int n_steps[VRT_FETCH_FILE_REMOVE + 1];
    uint8_t piece[PIECE_BYTES];
    int64_t n_taken;
};

static void on_stepped(void *ctx, enum vrt_fetch_file_step step, int result)
{
    struct play *p = ctx;

    expect_int(result, 0);
    p->n_steps[step]++;
}

static void set_up(struct play *p)
{
    *p = (struct play){ .folder = "/tmp/vrtd-test-XXXXXX" };
    expect_true(mkdtemp(p->folder));
    p->folder_fd = open(p->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    expect_true(p->folder_fd >= 0);
    expect_int(uv_loop_init(&p->loop), 0);
    expect_int(vrt_fetch_file_new(&(struct vrt_fetch_file_params){
        .loop = &p->loop,
        .folder_fd = p->folder_fd,
        .name = "x",
        .url = "https://example.org/x",
        .mode = 0600,
        .stepped = on_stepped,
        .ctx = p,
    }, &p->file), 0);
    vrt_fetch_file_step(p->file, VRT_FETCH_FILE_OPEN, NULL);
    expect_int(uv_run(&p->loop, UV_RUN_DEFAULT), 0);
    expect_int(p->n_steps[VRT_FETCH_FILE_OPEN], 1);
}

static void tear_down(struct play *p)
{
    vrt_fetch_file_step(p->file, VRT_FETCH_FILE_REMOVE, NULL);
    expect_int(uv_run(&p->loop, UV_RUN_DEFAULT), 0);
    vrt_fetch_file_free(p->file);
    expect_int(uv_loop_close(&p->loop), 0);
    close(p->folder_fd);
    expect_int(rmdir(p->folder), 0);
}

/* Return: as vrt_fetch_file_append(). Each piece is of other bytes. */
static int append(struct play *p)
{
    memset(p->piece, (int)(p->n_taken + 1), sizeof(p->piece));
    int r = vrt_fetch_file_append(p->file, p->piece, sizeof(p->piece));
    p->n_taken += r == 0;
    return r;
}

static void check_contents(const struct play *p)
{
    VRT_CLEANUP(vrt_closep) int fd = openat(p->folder_fd, "x", O_RDONLY | O_CLOEXEC);
    uint8_t found[PIECE_BYTES];

    for (int64_t i = 0; i < p->n_taken; i++) {
        expect_int(read(fd, found, sizeof(found)), sizeof(found));
        for (size_t k = 0; k < sizeof(found); k++)
            if (found[k] != (uint8_t)(i + 1))
                test_fail("byte %zu of piece %d is %d", k, (int)i, found[k]);
    }
    expect_int(read(fd, found, sizeof(found)), 0);
}

/* What arrives while a step goes on is kept, up to a limit; whoever is told to wait is told when
 * to go on. */
static void test_waits(void)
{
    struct play p;

    set_up(&p);
    for (int i = 0; i < 40; i++) {
        int r;
        while ((r = append(&p)) == 0)
            continue;
        expect_int(r, VRT_FETCH_FILE_E_BUSY);
        expect_true(vrt_fetch_file_is_busy(p.file));
        expect_int(uv_run(&p.loop, UV_RUN_DEFAULT), 0);
    }
    if (vrt_fetch_file_has_rest(p.file))
        vrt_fetch_file_step(p.file, VRT_FETCH_FILE_WRITE, NULL);
    expect_int(uv_run(&p.loop, UV_RUN_DEFAULT), 0);
    check_contents(&p);
    tear_down(&p);
}

/* The file is emptied, nearly a buffer full arrives meanwhile, and more only when that is done:
 * nothing is under way then that anybody could wait for. */
static void test_full_and_idle(void)
{
    struct play p;

    set_up(&p);
    vrt_fetch_file_step(p.file, VRT_FETCH_FILE_EMPTY, "\"1\"");
    while (append(&p) == 0)
        continue;
    expect_int(uv_run(&p.loop, UV_RUN_DEFAULT), 0);
    expect_int(p.n_steps[VRT_FETCH_FILE_EMPTY], 1);
    expect_true(!vrt_fetch_file_is_busy(p.file) && vrt_fetch_file_has_rest(p.file));
    expect_int(append(&p), 0);
    expect_true(vrt_fetch_file_is_busy(p.file));
    expect_int(uv_run(&p.loop, UV_RUN_DEFAULT), 0);
    vrt_fetch_file_step(p.file, VRT_FETCH_FILE_WRITE, NULL);
    expect_int(uv_run(&p.loop, UV_RUN_DEFAULT), 0);
    expect_int(vrt_fetch_file_size(p.file), p.n_taken * PIECE_BYTES);
    check_contents(&p);
    tear_down(&p);
}

TEST_MAIN(
    { "waits", test_waits },
    { "full-and-idle", test_full_and_idle },
)
