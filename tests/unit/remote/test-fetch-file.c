/* SPDX-License-Identifier: MIT */

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "api.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "daemon/remote/fetch-file.h"

#define PIECE_BYTES (60 * 1000)

#define OF_HELLO "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
#define OF_NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define X16 "xxxxxxxxxxxxxxxx"
#define X240 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16

struct play {
    uv_loop_t loop;
    char folder[64];
    int folder_fd;
    char url[VRT_API_LINK_BYTES];
    struct vrt_fetch_file *file;
    int n_steps, result;
    uint8_t piece[PIECE_BYTES];
    int64_t n_taken;
};

static void on_stepped(void *ctx, enum vrt_fetch_file_step step, int result)
{
    struct play *p = ctx;

    (void)step;
    p->result = result;
    p->n_steps++;
}

/* An empty folder, and the longest address there may be. */
static void set_up(struct play *p, bool keeps_any)
{
    *p = (struct play){ .folder = "/tmp/vrtd-test-XXXXXX" };
    memset(p->url, 'u', sizeof(p->url) - 1);
    expect_true(mkdtemp(p->folder));
    p->folder_fd = open(p->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    expect_true(p->folder_fd >= 0);
    expect_int(uv_loop_init(&p->loop), 0);
    expect_int(vrt_fetch_file_new(&(struct vrt_fetch_file_params){
        .loop = &p->loop,
        .folder_fd = p->folder_fd,
        .name = "x",
        .url = p->url,
        .mode = 0600,
        .wants_digest = true,
        .keeps_any = keeps_any,
        .stepped = on_stepped,
        .ctx = p,
    }, &p->file), 0);
}

/* One step, to its end. */
static void step(struct play *p, enum vrt_fetch_file_step step, const char *version, int wanted)
{
    int n_before = p->n_steps;

    vrt_fetch_file_step(p->file, step, version);
    expect_int(uv_run(&p->loop, UV_RUN_DEFAULT), 0);
    expect_int(p->n_steps, n_before + 1);
    expect_int(p->result, wanted);
}

static void tear_down(struct play *p)
{
    step(p, VRT_FETCH_FILE_REMOVE, NULL, 0);
    vrt_fetch_file_free(p->file);
    expect_int(uv_loop_close(&p->loop), 0);
    close(p->folder_fd);
    expect_int(rmdir(p->folder), 0);
}

/* Makes x or x.from, of a text in which %s is the address. */
static void put(const struct play *p, const char *name, const char *format)
{
    VRT_CLEANUP(vrt_closep) int fd = openat(p->folder_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC,
                                            0600);

    expect_true(dprintf(fd, format, p->url) >= 0);
}

/* All that is told of x, and what x.from says; NULL: it isn't there. */
static void expect_all(const struct play *p, int64_t size, const char *version, const char *note)
{
    char digest[VRT_DIGEST_TEXT_BYTES], text[VRT_API_LINK_BYTES + 512] = "", wanted[sizeof(text)];
    VRT_CLEANUP(vrt_closep) int fd = openat(p->folder_fd, "x.from", O_RDONLY | O_CLOEXEC);
    struct stat st;

    expect_int(vrt_fetch_file_size(p->file), size);
    expect_str(vrt_fetch_file_version(p->file), version);
    expect_str(vrt_fetch_file_digest(p->file, digest), size ? OF_HELLO : OF_NOTHING);
    expect_int(fstatat(p->folder_fd, "x", &st, 0), 0);
    expect_int(st.st_size, size);
    expect_int(fd >= 0, note != NULL);
    if (!note)
        return;
    snprintf(wanted, sizeof(wanted), note, p->url);
    expect_true(fstat(fd, &st) == 0 && read(fd, text, sizeof(text) - 1) >= 0);
    expect_int(st.st_mode, S_IFREG | 0600);
    expect_str(text, wanted);
}

/* What x.from says decides whether an earlier run's bytes are gone on with. */
static void test_notes(void)
{
    static const struct {
        const char *note;
        bool keeps_any;
        const char *version;        /* that is gone on with; NULL: nothing is */
    } rows[] = {
        { "%s\n1\n", false, "1" },
        { "%s\n" X240 "123456789012345\nrest", false, X240 "123456789012345" },
        { "%s\n" X240 "1234567890123456\n", false, NULL },
        { "%s\n1", false, NULL },
        { "%s\n\n", false, NULL },
        { "%su\n1\n", false, NULL },
        { "%.100s\n1\n", false, NULL },
        { "\n1\n", false, NULL },
        { "", false, NULL },
        { NULL, false, NULL },
        { NULL, true, "" },
        { "\n1\n", true, "" },
    };
    struct play p;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        const char *version = rows[i].version;
        set_up(&p, rows[i].keeps_any);
        put(&p, "x", "hello");
        if (rows[i].note)
            put(&p, "x.from", rows[i].note);
        step(&p, VRT_FETCH_FILE_OPEN, NULL, 0);
        expect_all(&p, version ? 5 : 0, version ? version : "", version ? rows[i].note : NULL);
        step(&p, VRT_FETCH_FILE_EMPTY, X240 "123456789012345", 0);
        expect_all(&p, 0, X240 "123456789012345", "%s\n" X240 "123456789012345\n");
        expect_int(vrt_fetch_file_append(p.file, "hello", 5), 0);
        step(&p, VRT_FETCH_FILE_WRITE, NULL, 0);
        expect_all(&p, 5, X240 "123456789012345", "%s\n" X240 "123456789012345\n");
        step(&p, VRT_FETCH_FILE_EMPTY, "", 0);
        expect_all(&p, 0, "", NULL);
        step(&p, VRT_FETCH_FILE_EMPTY, "2", 0);
        step(&p, VRT_FETCH_FILE_FINISH, NULL, 0);
        expect_all(&p, 0, "2", NULL);
        tear_down(&p);
    }
    for (int is_link = 0; is_link < 2; is_link++) {
        set_up(&p, false);
        expect_int(is_link ? symlinkat("y", p.folder_fd, "x") : mkfifoat(p.folder_fd, "x", 0600),
                   0);
        step(&p, VRT_FETCH_FILE_OPEN, NULL, is_link ? -ELOOP : -EEXIST);
        tear_down(&p);
    }
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

    set_up(&p, false);
    step(&p, VRT_FETCH_FILE_OPEN, NULL, 0);
    for (int i = 0; i < 40; i++) {
        int r;
        while ((r = append(&p)) == 0)
            continue;
        expect_int(r, VRT_FETCH_FILE_E_BUSY);
        expect_true(vrt_fetch_file_is_busy(p.file));
        expect_int(uv_run(&p.loop, UV_RUN_DEFAULT), 0);
    }
    if (vrt_fetch_file_has_rest(p.file))
        step(&p, VRT_FETCH_FILE_WRITE, NULL, 0);
    check_contents(&p);
    tear_down(&p);
}

/* The file is emptied, nearly a buffer full arrives meanwhile, and more only when that is done:
 * nothing is under way then that anybody could wait for. */
static void test_full_and_idle(void)
{
    struct play p;

    set_up(&p, false);
    step(&p, VRT_FETCH_FILE_OPEN, NULL, 0);
    vrt_fetch_file_step(p.file, VRT_FETCH_FILE_EMPTY, "\"1\"");
    while (append(&p) == 0)
        continue;
    expect_int(uv_run(&p.loop, UV_RUN_DEFAULT), 0);
    expect_int(p.n_steps, 2);
    expect_true(!vrt_fetch_file_is_busy(p.file) && vrt_fetch_file_has_rest(p.file));
    expect_int(append(&p), 0);
    expect_true(vrt_fetch_file_is_busy(p.file));
    expect_int(uv_run(&p.loop, UV_RUN_DEFAULT), 0);
    step(&p, VRT_FETCH_FILE_WRITE, NULL, 0);
    expect_int(vrt_fetch_file_size(p.file), p.n_taken * PIECE_BYTES);
    check_contents(&p);
    tear_down(&p);
}

TEST_MAIN(
    { "notes", test_notes },
    { "waits", test_waits },
    { "full-and-idle", test_full_and_idle },
)
