/* SPDX-License-Identifier: MIT */

#include "backend/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backend/backend-impl.h"
#include "base/io/write.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "cache"

/* "conv2d-0123456789abcdef.bin"; while it is written ".new" stands behind that. */
#define NAME_BYTES 96
#define KEPT ".bin"
#define BEGUN ".bin.new"

/* Nobody writes a file for so long: its process has died. */
#define BEGUN_S 600

/* Files that make room for one, at most: the next one goes on. */
#define DROPS_MAX 64

/* At the head of a file; the key's text and what is kept follow. */
struct head {
    char magic[8];
    uint64_t checksum;              /* of all that follows it */
    uint32_t key_bytes, item_bytes;
};

static const char magic[8] = { 'v', 'r', 't', '-', 'k', 'e', 'p', 't' };

/* What is in the folder. */
struct census {
    size_t n_files, n_bytes;
    char oldest[NAME_BYTES];        /* "": there is none */
    struct timespec used;           /* that one, last */
};

uint64_t vrt_cache_hash(const void *data, size_t size_bytes)
{
    const unsigned char *bytes = data;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < size_bytes; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static void print_name(const struct vrt_cache_key *key, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%s-%016llx" KEPT, key->name,
             (unsigned long long)vrt_cache_hash(key->text, strlen(key->text)));
}

/* Whether nobody but this user may have written to it. An access control list that lets others do
 * so shows in the group's bits. */
static bool is_ours(const struct stat *st)
{
    return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* Return: 0; -EPERM: somebody else may write to it; another -errno. */
static int open_folder(const char *folder, int *ret_fd)
{
    VRT_CLEANUP(vrt_closep) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!is_ours(&st))
        return -EPERM;
    *ret_fd = VRT_STEAL_FD(fd);
    return 0;
}

/* Makes the folder, and looks whether it is fit. Return: 0; -errno, and `error` says why not. */
static int check_folder(const char *folder, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int fd = -1;

    /* What fails shows when it is opened. */
    (void)!vrt_folder_make(folder, 0700, 0700);
    int r = open_folder(folder, &fd);
    if (r == -EPERM)
        return vrt_refuse(error, r, "device.failed", "%s must be of vrtd's own user, and nobody "
                          "else may write to it", folder);
    if (r == 0 && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
        r = -errno;
    if (r == -ENOTDIR)
        return vrt_refuse(error, r, "device.failed", "%s must be a folder; a link isn't followed",
                          folder);
    return r < 0 ? vrt_refuse(error, r, "device.failed", "%s: %s", folder, strerror(-r)) : 0;
}

static const char cure[] =
    "make it a folder of that user's own (chown, chmod 700), remove it, or set cache_dir in "
    "vrtd.conf; without one they are compiled at every start";

void vrt_cache_find_folder(const char *cache_dir, const char *backend,
                           struct vrt_findings *findings, char ret_folder[VRT_DEVICE_FOLDER_BYTES])
{
    struct vrt_finding finding = { .what = "kernels", .kind = VRT_FINDING_THERE };
    struct vrt_error error = { 0 };
    int r = 0;

    ret_folder[0] = '\0';
    if (!cache_dir)
        return;
    snprintf(finding.backend, sizeof(finding.backend), "%s", backend);
    if (snprintf(ret_folder, VRT_DEVICE_FOLDER_BYTES, "%s/%s", cache_dir, backend) >=
        VRT_DEVICE_FOLDER_BYTES)
        r = vrt_refuse(&error, -ENAMETOOLONG, "device.failed", "%.100s... is too long", cache_dir);
    if (r == 0)
        r = check_folder(ret_folder, &error);
    if (r == 0) {
        vrt_finding_add(findings, &finding, "compiled kernels are kept in %s", ret_folder);
        return;
    }
    finding.kind = VRT_FINDING_UNFIT;
    snprintf(finding.cure, sizeof(finding.cure), "%s", cure);
    vrt_finding_add(findings, &finding, "compiled kernels aren't kept: %s", error.message);
    ret_folder[0] = '\0';
}

/* The sum of a file with this head. */
static uint64_t checksum_of(const void *file, size_t size_bytes)
{
    const size_t first = offsetof(struct head, key_bytes);

    return vrt_cache_hash((const char *)file + first, size_bytes - first);
}

/* Finds what is kept in a file. Return: 0; -EBADMSG: it isn't one of this key. */
static int parse(void *file, size_t size_bytes, const struct vrt_cache_key *key,
                 struct vrt_cache_item *ret_item)
{
    const size_t key_bytes = strlen(key->text);
    struct head head;

    if (size_bytes <= sizeof(head) || size_bytes - sizeof(head) <= key_bytes)
        return -EBADMSG;
    memcpy(&head, file, sizeof(head));
    const size_t item_bytes = size_bytes - sizeof(head) - key_bytes;
    if (memcmp(head.magic, magic, sizeof(magic)) != 0 ||
        head.checksum != checksum_of(file, size_bytes) || head.key_bytes != key_bytes ||
        head.item_bytes != item_bytes ||
        memcmp((const char *)file + sizeof(head), key->text, key_bytes) != 0)
        return -EBADMSG;
    *ret_item = (struct vrt_cache_item){
        .file = file,
        .data = (const unsigned char *)file + sizeof(head) + key_bytes,
        .size_bytes = item_bytes,
    };
    return 0;
}

int vrt_cache_load(const struct vrt_cache *cache, const struct vrt_cache_key *key,
                   struct vrt_cache_item *ret_item)
{
    VRT_CLEANUP(vrt_closep) int folder = -1, fd = -1;
    VRT_CLEANUP(vrt_freep) char *file = NULL;
    char name[NAME_BYTES];
    struct stat st;

    if (!cache->folder[0])
        return -ENOENT;
    int r = open_folder(cache->folder, &folder);
    if (r < 0)
        return r;
    print_name(key, name);
    /* Whatever is there may be opened without waiting, and is looked at before it is read. */
    fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || !is_ours(&st))
        return -EPERM;
    if (st.st_size <= 0 || (uint64_t)st.st_size > VRT_CACHE_ITEM_BYTES)
        return -EBADMSG;
    file = malloc((size_t)st.st_size);
    if (!file)
        return -ENOMEM;
    r = vrt_read_at(fd, file, (size_t)st.st_size, 0);
    if (r < 0)
        return r;
    r = parse(file, (size_t)st.st_size, key, ret_item);
    if (r < 0)
        return r;
    /* By this the longest unused is known. */
    if (futimens(fd, NULL) < 0)
        vrt_log_debug("%s keeps its time: %s, ignoring", name, strerror(errno));
    ret_item->file = VRT_STEAL(file);
    return 0;
}

static bool ends_with(const char *name, const char *end)
{
    const size_t n = strlen(name), n_end = strlen(end);

    return n > n_end && n < NAME_BYTES && strcmp(name + n - n_end, end) == 0;
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* Counts one file of the folder; one that somebody died of writing is removed. What has other names
 * is none of ours. */
static void count(int folder, const char *name, struct census *census)
{
    struct stat st;

    if ((!ends_with(name, KEPT) && !ends_with(name, BEGUN)) ||
        fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
        return;
    const int64_t age_s = (int64_t)time(NULL) - st.st_mtim.tv_sec;
    if (ends_with(name, BEGUN) && (age_s > BEGUN_S || age_s < -BEGUN_S)) {
        unlinkat(folder, name, 0);
        return;
    }
    census->n_files++;
    census->n_bytes += (size_t)st.st_size;
    if (ends_with(name, KEPT) && (!census->oldest[0] || is_before(&st.st_mtim, &census->used))) {
        memcpy(census->oldest, name, strlen(name) + 1);
        census->used = st.st_mtim;
    }
}

static int look(int folder, struct census *ret_census)
{
    const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct census census = { 0 };
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (!dir) {
        const int r = -errno;
        vrt_closep(&fd);
        return r;
    }
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
        count(folder, entry->d_name, &census);
    closedir(dir);
    *ret_census = census;
    return 0;
}

/* Removes what was used longest ago, until there is room for so many bytes more. */
static int make_room(int folder, size_t size_bytes)
{
    struct census census;
    int r = look(folder, &census);

    for (int i = 0; r == 0 && i < DROPS_MAX && census.oldest[0] &&
         (census.n_bytes > VRT_CACHE_BYTES - size_bytes ||
          census.n_files >= VRT_CACHE_FILES); i++) {
        unlinkat(folder, census.oldest, 0);
        r = look(folder, &census);
    }
    return r;
}

/*
 * Writes a file under another name, then gives it its own: nobody ever finds half of one, save
 * where the power fails, which its checksum shows.
 * Return: 0; -EEXIST: somebody else is writing the same; -errno.
 */
static int write_file(int folder, const struct vrt_cache_key *key, const void *file,
                      size_t size_bytes)
{
    VRT_CLEANUP(vrt_closep) int fd = -1;
    char name[NAME_BYTES], begun[NAME_BYTES + 8];

    print_name(key, name);
    snprintf(begun, sizeof(begun), "%s.new", name);
    fd = openat(folder, begun, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int r = vrt_write_at(fd, file, size_bytes, 0);
    if (r == 0 && renameat(folder, begun, folder, name) < 0)
        r = -errno;
    if (r < 0)
        unlinkat(folder, begun, 0);
    return r;
}

static int store(const char *path, const struct vrt_cache_key *key, const void *data,
                size_t size_bytes)
{
    VRT_CLEANUP(vrt_closep) int folder = -1;
    VRT_CLEANUP(vrt_freep) char *file = NULL;
    const size_t key_bytes = strlen(key->text);
    const size_t file_bytes = sizeof(struct head) + key_bytes + size_bytes;
    struct head head = { .key_bytes = (uint32_t)key_bytes, .item_bytes = (uint32_t)size_bytes };

    int r = open_folder(path, &folder);
    if (r < 0)
        return r;
    r = make_room(folder, file_bytes);
    if (r < 0)
        return r;
    file = malloc(file_bytes);
    if (!file)
        return -ENOMEM;
    memcpy(head.magic, magic, sizeof(magic));
    memcpy(file, &head, sizeof(head));
    memcpy(file + sizeof(head), key->text, key_bytes);
    memcpy(file + sizeof(head) + key_bytes, data, size_bytes);
    head.checksum = checksum_of(file, file_bytes);
    memcpy(file, &head, sizeof(head));
    return write_file(folder, key, file, file_bytes);
}

void vrt_cache_store(struct vrt_cache *cache, const struct vrt_cache_key *key, const void *data,
                     size_t size_bytes)
{
    const size_t most = VRT_CACHE_ITEM_BYTES - sizeof(struct head) - sizeof(key->text);

    if (!cache->folder[0] || cache->has_failed || size_bytes == 0 || size_bytes > most)
        return;
    const int r = store(cache->folder, key, data, size_bytes);
    cache->has_failed = r && r != -EEXIST;
    if (cache->has_failed)
        vrt_log_warning("compiled kernels can't be kept in %s: %s, ignoring", cache->folder,
                        r == -EPERM ? "others may write to it" : strerror(-r));
}

void vrt_cache_drop(const struct vrt_cache *cache, const struct vrt_cache_key *key)
{
    VRT_CLEANUP(vrt_closep) int folder = -1;
    char name[NAME_BYTES];

    if (!cache->folder[0] || open_folder(cache->folder, &folder))
        return;
    print_name(key, name);
    if (unlinkat(folder, name, 0) < 0)
        vrt_log_debug("%s stays: %s, ignoring", name, strerror(errno));
}
