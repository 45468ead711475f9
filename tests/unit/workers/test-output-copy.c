/* SPDX-License-Identifier: MIT */

/* The way of a finished file to the user's: of every length, over whatever was there, and where
 * there is no room. */

#include "workers/media/files/output-copy.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/unit/test.h"
#include "workers/media/files/fingerprint.h"

#define SIZE_MAX_BYTES (3 << 20)

static const atomic_bool goes_on;
static char folder[] = "/tmp/vrt-copy-XXXXXX";

static const char *path(const char *name)
{
    static char buffer[2][64];
    static int next;
    char *to = buffer[next++ % 2];

    snprintf(to, sizeof(buffer[0]), "%s/%s", folder, name);
    return to;
}

static void remove_folder(void)
{
    unlink(path("from"));
    unlink(path("to"));
    rmdir(folder);
}

/* A file with `size` bytes that depend on `seed`. */
static int make_file(const char *name, size_t size, unsigned seed)
{
    int fd = open(path(name), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    VRT_CLEANUP(vrt_freep) uint8_t *bytes = malloc(size + 1);

    expect_true(fd >= 0 && bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)((i * 2654435761U + seed) >> 13);
    expect_int(write(fd, bytes, size), (int)size);
    return fd;
}

static void expect_same(int a, int b)
{
    static uint8_t bytes[2][SIZE_MAX_BYTES + 1];
    ssize_t n = pread(a, bytes[0], sizeof(bytes[0]), 0);

    expect_int(pread(b, bytes[1], sizeof(bytes[1]), 0), (int)n);
    expect_true(memcmp(bytes[0], bytes[1], (size_t)n) == 0);
}

static int64_t size_of(int fd)
{
    struct stat st;

    expect_int(fstat(fd, &st), 0);
    return st.st_size;
}

static int copy(int from, int to, const atomic_bool *cancel, struct vrt_error *error)
{
    const struct vrt_output_copy params = {
        .from_fd = from, .to_fd = to, .to_name = "film.mp4", .cancel = cancel,
    };

    *error = (struct vrt_error){ .id = NULL };
    return vrt_output_copy(&params, error);
}

static void test_sizes(void)
{
    static const size_t sizes[] = { 0, 1, 4095, 4096, 4097, 8192, 1000000, SIZE_MAX_BYTES };
    struct vrt_error error;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(sizes); i++) {
        for (size_t before = 0; before <= 20000; before += 10000) {
            VRT_CLEANUP(vrt_closep) int from = make_file("from", sizes[i], 1);
            VRT_CLEANUP(vrt_closep) int to = make_file("to", before, 2);
            expect_int(copy(from, to, &goes_on, &error), 0);
            expect_same(from, to);
        }
    }
}

static void test_cancel(void)
{
    const atomic_bool cancel = true;
    VRT_CLEANUP(vrt_closep) int from = make_file("from", 100000, 1), to = make_file("to", 5000, 2);
    struct vrt_error error;

    expect_int(copy(from, to, &cancel, &error), -ECANCELED);
    expect_int(size_of(to), 0);
}

/* Whoever shares the descriptor has it append: what is written lands elsewhere, at the same length
 * in the end. */
static void test_append(void)
{
    VRT_CLEANUP(vrt_closep) int from = make_file("from", 100000, 1), to = make_file("to", 5000, 2);
    struct vrt_error error;

    expect_int(fcntl(to, F_SETFL, fcntl(to, F_GETFL) | O_APPEND), 0);
    expect_int(copy(from, to, &goes_on, &error), -ESTALE);
    expect_str(error.id, "output.write");
    expect_contains(error.message, "film.mp4 doesn't hold what was written to it");
    expect_int(size_of(to), 0);
}

/* What is only partly there doesn't stay. */
static void test_limit(void)
{
    VRT_CLEANUP(vrt_closep) int from = make_file("from", 100000, 1), to = make_file("to", 5000, 2);
    struct rlimit limit, small;
    struct vrt_error error;

    signal(SIGXFSZ, SIG_IGN);
    expect_int(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    small.rlim_cur = 50000;
    expect_int(setrlimit(RLIMIT_FSIZE, &small), 0);
    int r = copy(from, to, &goes_on, &error);
    expect_int(setrlimit(RLIMIT_FSIZE, &limit), 0);
    expect_int(r, -EFBIG);
    expect_str(error.id, "output.write");
    expect_contains(error.message, "film.mp4 cannot be written");
    expect_int(size_of(to), 0);
    close(to);
    to = open(path("to"), O_RDONLY | O_CLOEXEC);
    expect_true(copy(from, to, &goes_on, &error) < 0);
    expect_str(error.id, "output.write");
}

/* Where there clearly is no room, what was there before stays. */
static void test_full(void)
{
    VRT_CLEANUP(vrt_closep) int from = make_file("from", SIZE_MAX_BYTES, 1);
    struct vrt_error error;
    char disk[64], name[80];

    snprintf(disk, sizeof(disk), "%s/disk", folder);
    expect_int(mkdir(disk, 0700), 0);
    if (mount("none", disk, "tmpfs", 0, "size=1m") < 0) {
        fprintf(stderr, "  no disk of a size of its own can be made here, this case is left out\n");
        rmdir(disk);
        return;
    }
    snprintf(name, sizeof(name), "%s/to", disk);
    int to = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    expect_int(write(to, "precious", 8), 8);
    expect_int(copy(from, to, &goes_on, &error), -ENOSPC);
    expect_str(error.id, "output.full");
    expect_contains(error.message, "the disk of film.mp4 is full");
    expect_int(size_of(to), 8);
    close(to);
    expect_int(umount2(disk, MNT_DETACH), 0);
    rmdir(disk);
}

static struct vrt_fingerprint fingerprint_of(int fd)
{
    struct vrt_fingerprint found;

    expect_int(vrt_fingerprint_take(fd, &found), 0);
    return found;
}

/* Each byte of a small file counts, of a large one both ends and some between. */
static void test_fingerprint(void)
{
    static const size_t sizes[] = { 0, 1, 65535, 65536, 65537, 1000000 };
    struct vrt_fingerprint found;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(sizes); i++) {
        VRT_CLEANUP(vrt_closep) int fd = make_file("from", sizes[i], 1);
        VRT_CLEANUP(vrt_closep) int other = make_file("to", sizes[i], 1);
        const struct vrt_fingerprint a = fingerprint_of(fd), b = fingerprint_of(other);
        expect_true(vrt_fingerprint_is_same(&a, &b));
        expect_int(a.size_bytes, (int64_t)sizes[i]);
        for (size_t at = 0; at < sizes[i]; at += sizes[i] / 7 + 1) {
            expect_int(pwrite(other, "\x5a", 1, (off_t)at), 1);
            found = fingerprint_of(other);
            uint8_t was;
            expect_int(pread(fd, &was, 1, (off_t)at), 1);
            expect_int(vrt_fingerprint_is_same(&a, &found), was == 0x5a);
            expect_int(pwrite(other, &was, 1, (off_t)at), 1);
        }
        expect_int(pwrite(other, "x", 1, (off_t)sizes[i]), 1);
        found = fingerprint_of(other);
        expect_true(!vrt_fingerprint_is_same(&a, &found));
    }
    /* A hole of 4 GiB with something at its end. */
    VRT_CLEANUP(vrt_closep) int fd = make_file("from", 0, 1);
    expect_int(ftruncate(fd, (off_t)4 << 30), 0);
    const struct vrt_fingerprint hole = fingerprint_of(fd);
    expect_int(pwrite(fd, "x", 1, ((off_t)4 << 30) - 1), 1);
    found = fingerprint_of(fd);
    expect_true(!vrt_fingerprint_is_same(&hole, &found));
    expect_int(vrt_fingerprint_take(-1, &found), -EBADF);
}

static void set_up(void)
{
    expect_true(mkdtemp(folder));
    atexit(remove_folder);
}

TEST_MAIN_AFTER(set_up(),
    { "sizes", test_sizes },             { "cancel", test_cancel },
    { "append", test_append },           { "limit", test_limit },
    { "full", test_full },               { "fingerprint", test_fingerprint },
)
