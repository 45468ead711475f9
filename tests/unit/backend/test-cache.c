/* SPDX-License-Identifier: MIT */

/* The folder of compiled kernels: what goes in comes out, and nothing else does. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/cache.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/macro.h"
#include "tests/unit/test.h"

static const struct vrt_cache_key conv = { "conv2d", "driver 1; device 2" };

/* A folder of each case's own, "a/gpu" in a temporary one. */
static char top[64], cache_dir[80], folder[VRT_DEVICE_FOLDER_BYTES];

static struct vrt_cache begin(void)
{
    struct vrt_findings findings = { .n = 0 };

    snprintf(top, sizeof(top), "/tmp/vrt-cache.XXXXXX");
    expect_true(mkdtemp(top) != NULL);
    snprintf(cache_dir, sizeof(cache_dir), "%s/a", top);
    vrt_cache_find_folder(cache_dir, "gpu", &findings, folder);
    expect_int(findings.n, 1);
    expect_int(findings.list[0].kind, VRT_FINDING_THERE);
    expect_str(findings.list[0].backend, "gpu");
    expect_contains(findings.list[0].text, folder);
    expect_contains(folder, "/a/gpu");
    return (struct vrt_cache){ .folder = folder };
}

/* That nothing is kept in `dir`, for a reason that the one finding says. */
static void expect_unfit(const char *dir, const char *why)
{
    struct vrt_findings findings = { .n = 0 };
    char found[VRT_DEVICE_FOLDER_BYTES] = "?";

    vrt_cache_find_folder(dir, "gpu", &findings, found);
    expect_str(found, "");
    expect_int(findings.n, 1);
    expect_int(findings.list[0].kind, VRT_FINDING_UNFIT);
    expect_contains(findings.list[0].text, why);
    expect_contains(findings.list[0].cure, "cache_dir");
}

/* The files that there are; the last one's path is in `path`. */
static int list(char path[512])
{
    DIR *dir = opendir(folder);
    int n = 0;

    expect_true(dir != NULL);
    for (struct dirent *e = readdir(dir); e; e = readdir(dir))
        if (e->d_name[0] != '.') {
            if (path)
                snprintf(path, 512, "%.240s/%.256s", folder, e->d_name);
            n++;
        }
    closedir(dir);
    return n;
}

static void end(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s", top);
    expect_int(system(command), 0);
}

/* Whether the binary of the key is this text. */
static bool holds(const struct vrt_cache *cache, const struct vrt_cache_key *key,
                  const char *text)
{
    struct vrt_cache_item binary;

    if (vrt_cache_load(cache, key, &binary))
        return false;
    const bool same = binary.size_bytes == strlen(text) &&
                      memcmp(binary.data, text, binary.size_bytes) == 0;
    free(binary.file);
    return same;
}

static int load(const struct vrt_cache *cache, const struct vrt_cache_key *key)
{
    struct vrt_cache_item binary;
    const int r = vrt_cache_load(cache, key, &binary);

    if (!r)
        free(binary.file);
    return r;
}

static void keep(struct vrt_cache *cache, const struct vrt_cache_key *key,
                 const char *text)
{
    vrt_cache_store(cache, key, text, strlen(text));
}

static void test_keep(void)
{
    static const struct vrt_cache_key others[] = {
        { "conv2d", "driver 2; device 2" }, { "conv2d", "driver 1; device 2 " },
        { "linear", "driver 1; device 2" },
    };
    struct vrt_cache cache = begin();
    struct stat st;
    char path[512];

    expect_int(load(&cache, &conv), -ENOENT);
    keep(&cache, &conv, "a binary");
    expect_true(holds(&cache, &conv, "a binary"));
    expect_int(list(path), 1);
    expect_int(stat(path, &st), 0);
    expect_int(st.st_mode & 07777, 0600);
    expect_int(stat(folder, &st), 0);
    expect_int(st.st_mode & 07777, 0700);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(others); i++)
        expect_int(load(&cache, &others[i]), -ENOENT);
    keep(&cache, &others[0], "another");
    keep(&cache, &conv, "a newer one");
    expect_true(holds(&cache, &conv, "a newer one"));
    expect_true(holds(&cache, &others[0], "another"));
    vrt_cache_drop(&cache, &conv);
    expect_int(load(&cache, &conv), -ENOENT);
    expect_int(list(NULL), 1);
    expect_true(!cache.has_failed);
    end();
}

static size_t read_file(const char *path, char *data, size_t size)
{
    VRT_CLEANUP(vrt_closep) const int fd = open(path, O_RDONLY);
    const ssize_t n = read(fd, data, size);

    expect_true(fd >= 0 && n > 0);
    return (size_t)n;
}

static void write_file(const char *path, const char *data, size_t size)
{
    VRT_CLEANUP(vrt_closep) const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    expect_true(fd >= 0);
    expect_int(write(fd, data, size), size);
}

/* Torn at every byte, each bit turned, something behind it; and what a key's file may be else. */
static void test_damage(void)
{
    struct vrt_cache cache = begin();
    char path[512], data[512], damaged[513];

    keep(&cache, &conv, "a binary");
    expect_int(list(path), 1);
    const size_t n = read_file(path, data, sizeof(data));
    for (size_t i = 0; i < n; i++) {
        write_file(path, data, i);
        expect_int(load(&cache, &conv), -EBADMSG);
    }
    for (size_t i = 0; i < n * 8; i++) {
        memcpy(damaged, data, n);
        damaged[i / 8] ^= (char)(1 << i % 8);
        write_file(path, damaged, n);
        expect_int(load(&cache, &conv), -EBADMSG);
    }
    memcpy(damaged, data, n);
    damaged[n] = 0;
    write_file(path, damaged, n + 1);
    expect_int(load(&cache, &conv), -EBADMSG);
    write_file(path, data, n);
    expect_true(holds(&cache, &conv, "a binary"));

    /* What another key's file is called so. */
    keep(&cache, &(struct vrt_cache_key){ "conv2d", "driver 9; device 2" }, "a binary");
    vrt_cache_drop(&cache, &conv);
    char other[512];
    expect_int(list(other), 1);
    expect_int(rename(other, path), 0);
    expect_int(load(&cache, &conv), -EBADMSG);

    /* Larger than any. */
    expect_int(truncate(path, (off_t)1 << 40), 0);
    expect_int(load(&cache, &conv), -EBADMSG);
    keep(&cache, &conv, "a binary");
    expect_true(holds(&cache, &conv, "a binary"));
    end();
}

/* Folders and files that others may have written to, and what is no file. */
static void test_trust(void)
{
    struct vrt_cache cache = begin();
    char path[512], elsewhere[128];

    keep(&cache, &conv, "a binary");
    expect_int(list(path), 1);
    for (int mode = 02; mode <= 020; mode *= 8) {
        expect_int(chmod(path, (mode_t)(0600 | mode)), 0);
        expect_int(load(&cache, &conv), -EPERM);
    }
    expect_int(chmod(path, 0644), 0);
    expect_int(load(&cache, &conv), 0);
    for (int mode = 02; mode <= 020; mode *= 8) {
        expect_int(chmod(folder, (mode_t)(0700 | mode)), 0);
        expect_int(load(&cache, &conv), -EPERM);
        expect_unfit(cache_dir, "nobody else may write to it");
    }
    struct vrt_cache refused = cache;
    keep(&refused, &conv, "a newer one");
    expect_true(refused.has_failed);
    expect_int(chmod(folder, 0755), 0);
    expect_true(holds(&cache, &conv, "a binary"));
    if (geteuid() == 0) {
        expect_int(chown(path, 1, (gid_t)-1), 0);
        expect_int(load(&cache, &conv), -EPERM);
        expect_int(chown(path, 0, (gid_t)-1), 0);
        expect_int(chown(folder, 1, (gid_t)-1), 0);
        expect_int(load(&cache, &conv), -EPERM);
        expect_int(chown(folder, 0, (gid_t)-1), 0);
    }

    /* A link to a file that is as it should be, a pipe, a folder. */
    snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", top);
    expect_int(rename(path, elsewhere), 0);
    expect_int(symlink(elsewhere, path), 0);
    expect_int(load(&cache, &conv), -ELOOP);
    expect_int(unlink(path), 0);
    expect_int(mkfifo(path, 0600), 0);
    expect_int(load(&cache, &conv), -EPERM);
    expect_int(unlink(path), 0);
    expect_int(mkdir(path, 0700), 0);
    expect_int(load(&cache, &conv), -EPERM);
    end();

    /* The folder is a link. */
    begin();
    snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", top);
    expect_int(rename(folder, elsewhere), 0);
    expect_int(symlink(elsewhere, folder), 0);
    expect_unfit(cache_dir, "a link isn't followed");
    end();
}

/* A folder that can't be made, or is a file; one that vanishes while it is in use. */
static void test_no_folder(void)
{
    struct vrt_cache cache = begin();
    char path[400] = "/";

    memset(path + 1, 'x', sizeof(path) - 2);
    expect_unfit(path, "is too long");
    snprintf(path, sizeof(path), "%s/file", top);
    write_file(path, "x", 1);
    expect_unfit(path, path);
    snprintf(path, sizeof(path), "%s/gpu", top);
    write_file(path, "x", 1);
    expect_unfit(top, "must be a folder");
    vrt_cache_find_folder(NULL, "gpu", NULL, path);
    expect_str(path, "");
    struct vrt_cache nowhere = { .folder = path };
    keep(&nowhere, &conv, "a binary");
    expect_int(load(&nowhere, &conv), -ENOENT);
    vrt_cache_drop(&nowhere, &conv);
    expect_int(rmdir(folder), 0);
    keep(&cache, &conv, "a binary");
    expect_true(cache.has_failed);
    expect_int(load(&cache, &conv), -ENOENT);
    end();
}

/* In a process whose files may have no more than 50 bytes: as where the disk is full. */
static int fill_the_disk(void)
{
    struct vrt_cache cache = { .folder = folder };
    const struct rlimit limit = { 50, 50 };

    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
        return 1;
    keep(&cache, &conv, "a binary that there is no room for");
    return cache.has_failed ? 0 : 2;
}

static void test_full_disk(void)
{
    struct vrt_cache cache = begin();
    int status;

    keep(&cache, &conv, "a binary");
    const pid_t pid = fork();
    if (pid == 0)
        _exit(fill_the_disk());
    expect_int(waitpid(pid, &status, 0), pid);
    expect_int(status, 0);
    /* Neither half a file is left, nor has the old one gone. */
    expect_int(list(NULL), 1);
    expect_true(holds(&cache, &conv, "a binary"));
    end();
}

/* What one who was killed left behind hinders nobody for long; what another writes stays. */
static void test_left_behind(void)
{
    struct vrt_cache cache = begin();
    const struct timespec long_ago[2] = { { 1000, 0 }, { 1000, 0 } };
    char path[512], begun[520], foreign[384];

    keep(&cache, &conv, "a binary");
    expect_int(list(path), 1);
    snprintf(begun, sizeof(begun), "%s.new", path);
    snprintf(foreign, sizeof(foreign), "%s/notes.txt", folder);
    write_file(begun, "half of", 7);
    write_file(foreign, "x", 1);
    expect_int(utimensat(AT_FDCWD, foreign, long_ago, 0), 0);
    keep(&cache, &conv, "a newer one");
    expect_true(!cache.has_failed);
    expect_true(holds(&cache, &conv, "a binary"));
    expect_int(utimensat(AT_FDCWD, begun, long_ago, 0), 0);
    keep(&cache, &conv, "a newer one");
    expect_true(holds(&cache, &conv, "a newer one"));
    expect_true(access(begun, F_OK) != 0);
    expect_int(access(foreign, F_OK), 0);
    end();
}

/* What was used longest ago goes first, and as much as must. */
static void test_bounded(void)
{
    struct vrt_cache cache = begin();
    const size_t n_bytes = (size_t)15 << 20;
    char *data = calloc(1, VRT_CACHE_ITEM_BYTES);
    struct vrt_cache_key key = { "conv2d", "" };

    expect_true(data != NULL);
    vrt_cache_store(&cache, &key, data, VRT_CACHE_ITEM_BYTES);
    expect_int(list(NULL), 0);
    for (int i = 0; i < 6; i++) {
        snprintf(key.text, sizeof(key.text), "driver %d", i);
        vrt_cache_store(&cache, &key, data, n_bytes);
        /* The first one is used all the time. */
        usleep(2000);
        snprintf(key.text, sizeof(key.text), "driver 0");
        expect_int(load(&cache, &key), 0);
        usleep(2000);
    }
    expect_int(list(NULL), 4);
    for (int i = 0; i < 6; i++) {
        snprintf(key.text, sizeof(key.text), "driver %d", i);
        expect_int(load(&cache, &key), i == 0 || i >= 3 ? 0 : -ENOENT);
    }
    free(data);
    end();
}

#define N_WRITES 200

/* Writes texts of one letter under one key, and reads them: any of the writers', but whole. */
static int write_and_read(char letter)
{
    struct vrt_cache cache = { .folder = folder };
    char text[5000];

    memset(text, letter, sizeof(text));
    for (int i = 0; i < N_WRITES; i++) {
        struct vrt_cache_item binary;
        vrt_cache_store(&cache, &conv, text, sizeof(text) - (size_t)i);
        if (i % 10 == 9)
            vrt_cache_drop(&cache, &conv);
        const int r = vrt_cache_load(&cache, &conv, &binary);
        if (r == -ENOENT)
            continue;
        if (r)
            return 1;
        for (size_t k = 1; k < binary.size_bytes; k++)
            if (binary.data[k] != binary.data[0])
                return 2;
        free(binary.file);
    }
    return cache.has_failed ? 3 : 0;
}

static void test_two_at_once(void)
{
    pid_t pids[3];
    int status;

    begin();
    for (int i = 0; i < 3; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            _exit(write_and_read((char)('a' + i)));
    }
    for (int i = 0; i < 3; i++) {
        expect_int(waitpid(pids[i], &status, 0), pids[i]);
        expect_int(status, 0);
    }
    end();
}

TEST_MAIN(
    { "keep", test_keep },               { "damage", test_damage },
    { "trust", test_trust },             { "no-folder", test_no_folder },
    { "full-disk", test_full_disk },     { "left-behind", test_left_behind },
    { "bounded", test_bounded },         { "two-at-once", test_two_at_once },
)
