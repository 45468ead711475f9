/* SPDX-License-Identifier: MIT */

/*
 * The walk holds one folder at a time, by an O_PATH descriptor. A step is: may he enter this
 * folder? then open the next name in it. Whether a name exists is therefore told to nobody who
 * could not have found out himself. A file is opened as O_PATH too, judged, and only then opened
 * for reading or writing through /proc/self/fd, which leads to that very file and no other: devices
 * and pipes, where open() alone does something, never get so far.
 */

#include "daemon/access/media.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api.h"
#include "base/macro.h"
#include "daemon/access/descriptors.h"
#include "daemon/access/media-step.h"
#include "daemon/access/rights.h"

#define ROOTS_MAX 16               /* folders that an administrator lists by hand */
#define RACES_MAX 3             /* how often a file may come or go between two looks at it */

struct root {
    char *given;                /* as configured, without slashes at its end */
    char *path;                 /* the same without links */
};

struct vrt_media {
    struct root roots[ROOTS_MAX];
    size_t n_roots;
};

/* One opening. */
struct walk {
    const struct vrt_peer *peer;
    char path[2 * VRT_API_PATH_BYTES];  /* without links, as it is walked */
    char shown[VRT_API_PATH_BYTES];     /* as it was given, printable */
    struct vrt_error *error;
};

static int refuse(const struct walk *walk, int r, const char *id, const char *why)
{
    return vrt_refuse(walk->error, vrt_raise(r), id, "%.300s: %s", walk->shown, why);
}

static int refuse_system(const struct walk *walk, int r)
{
    switch (r) {
    case -ENOENT:
        return refuse(walk, r, VRT_E(PATH_NOT_FOUND), "there is no such file");
    case -ENOTDIR:
        return refuse(walk, r, VRT_E(PATH_NOT_FOUND), "what should be a folder on the way isn't");
    case -ELOOP:
        return refuse(walk, r, VRT_E(PATH_FORBIDDEN),
                      "a symbolic link is on the way: give the path without links");
    case -EACCES:
    case -EPERM:
    case -EROFS:
        return refuse(walk, r, VRT_E(PATH_FORBIDDEN),
                      "vrtd itself may not: let its user, or hand over a descriptor");
    case -EMFILE:
    case -ENFILE:
        return vrt_descriptors_refuse(walk->error);
    default:
        return refuse(walk, r, VRT_E(INTERNAL), strerror(-r));
    }
}

/* Whether the peer may do that to what `fd` is open for; `ret_stat` is what it is. */
static int judge(const struct walk *walk, int fd, unsigned wanted, struct stat *ret_stat)
{
    if (fstat(fd, ret_stat) < 0)
        return refuse_system(walk, -errno);
    if (ret_stat->st_uid != walk->peer->uid && vrt_media_has_acl(fd))
        return refuse(walk, -EACCES, VRT_E(PATH_FORBIDDEN), "an access control list is on the way, "
                      "by which vrtd doesn't judge: hand over a descriptor");
    const struct vrt_rights_target target = {
        .uid = ret_stat->st_uid,
        .gid = ret_stat->st_gid,
        .mode = ret_stat->st_mode,
    };
    if (!vrt_rights_allow(walk->peer, &target, wanted))
        return refuse(walk, -EACCES, VRT_E(PATH_FORBIDDEN), "you may not open it");
    return 0;
}

/*
 * Goes to the folder of the last name. Return: 0, *ret_fd is that folder, which may be entered, and
 * *ret_name the name, a part of walk->path; -errno.
 */
static int go(struct walk *walk, int *ret_fd, const char **ret_name)
{
    VRT_CLEANUP(vrt_closep) int folder_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *rest = walk->path + 1;
    struct stat st;

    if (folder_fd < 0)
        return refuse_system(walk, -errno);
    for (;;) {
        int r = judge(walk, folder_fd, VRT_RIGHTS_ENTER, &st);
        if (r < 0)
            return vrt_fold(r);
        char *slash = strchr(rest, '/');
        if (!slash)
            break;
        *slash = '\0';
        int next_fd = vrt_media_step(folder_fd, rest, O_PATH | O_DIRECTORY);
        /* A link is no folder to the kernel, which is true and helps nobody. */
        if (next_fd == -ENOTDIR && fstatat(folder_fd, rest, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISLNK(st.st_mode))
            next_fd = -ELOOP;
        if (next_fd < 0)
            return refuse_system(walk, next_fd);
        vrt_closep(&folder_fd);
        folder_fd = next_fd;
        rest = slash + 1;
    }
    *ret_fd = VRT_STEAL_FD(folder_fd);
    *ret_name = rest;
    return 0;
}

/* The file that was judged, as it is wanted. Return: a descriptor, -errno. */
static int reopen(const struct walk *walk, int path_fd, int flags)
{
    char link[40];

    snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
    int fd = open(link, flags | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? refuse_system(walk, -errno) : fd;
}

/* Opens what is there. Return: a descriptor; -ENOENT without a word; -errno. */
static int open_old(const struct walk *walk, int folder_fd, const char *name,
                    enum vrt_media_mode mode)
{
    bool writes = mode == VRT_MEDIA_WRITE;
    struct stat st;
    VRT_CLEANUP(vrt_closep) int path_fd = vrt_media_step(folder_fd, name, O_PATH);

    if (path_fd == -ENOENT)
        return -ENOENT;
    if (path_fd < 0)
        return refuse_system(walk, path_fd);
    int r = judge(walk, path_fd, VRT_RIGHTS_READ | (writes ? VRT_RIGHTS_WRITE : 0), &st);
    if (r < 0)
        return vrt_fold(r);
    if (S_ISLNK(st.st_mode))
        return refuse(walk, -EINVAL, VRT_E(PATH_FORBIDDEN), "it is a symbolic link, which vrtd "
                      "doesn't follow: give the file itself");
    if (!S_ISREG(st.st_mode))
        return refuse(walk, -EINVAL, VRT_E(INPUT_NOT_REGULAR), "it is no regular file");
    return reopen(walk, path_fd, writes ? O_RDWR : O_RDONLY);
}

/* Has the disk know what was made in the folder: what is done is still there after a crash. What
 * can't be synced is none the worse for it. */
static void keep_names(int folder_fd)
{
    VRT_CLEANUP(vrt_closep) int fd = vrt_media_step(folder_fd, ".", O_RDONLY | O_DIRECTORY);

    if (fd >= 0)
        fsync(fd);
}

/* Makes the file. Return: a descriptor; -EEXIST without a word: somebody was faster; -errno. */
static int open_new(const struct walk *walk, int folder_fd, const char *name)
{
    struct stat folder;

    int r = judge(walk, folder_fd, VRT_RIGHTS_WRITE | VRT_RIGHTS_ENTER, &folder);
    if (r < 0)
        return vrt_fold(r);
    int fd = vrt_media_step(folder_fd, name, O_RDWR | O_CREAT | O_EXCL);
    if (fd == -EEXIST)
        return -EEXIST;
    if (fd < 0)
        return refuse_system(walk, fd);
    /* Only root may give a file away: from anybody else's daemon he gets one that he can read. */
    if (fchown(fd, walk->peer->uid, (gid_t)-1) < 0 &&
        fchmod(fd, S_IRUSR | S_IWUSR | (folder.st_mode & (S_IRGRP | S_IROTH))) < 0)
        r = -errno;
    if (r < 0) {
        close(fd);
        return refuse_system(walk, r);
    }
    keep_names(folder_fd);
    return fd;
}

/* A root of the media in which `path` lies: the length of the root's name in it; 0: none. */
static size_t find_root(const struct vrt_media *media, const char *path, const char **ret_root)
{
    for (size_t i = 0; i < media->n_roots; i++) {
        const struct root *root = &media->roots[i];
        const char *const names[] = { root->given, root->path };
        for (size_t k = 0; k < VRT_ARRAY_SIZE(names); k++) {
            size_t n = strlen(names[k]);
            if (strncmp(path, names[k], n) != 0 || path[n] != '/')
                continue;
            *ret_root = root->path;
            return n;
        }
    }
    return 0;
}

/* Whether the path has "." or ".." in it, or ends without a name. */
static bool is_odd(const char *path)
{
    size_t n;

    for (const char *at = path; *at; at += n) {
        at += strspn(at, "/");
        n = strcspn(at, "/");
        if (n == 0 || (n <= 2 && strncmp(at, "..", n) == 0))
            return true;
    }
    return !path[0];
}

static int plan_walk(const struct vrt_media *media, const char *path, struct walk *walk)
{
    const char *root = NULL;

    vrt_printable(path, walk->shown, sizeof(walk->shown));
    if (media->n_roots == 0)
        return refuse(walk, -EACCES, VRT_E(PATH_FORBIDDEN), "vrtd opens no file by its path here: "
                      "hand over a descriptor, as vrtctl does");
    if (path[0] != '/' || is_odd(path))
        return refuse(walk, -EINVAL, VRT_E(PATH_FORBIDDEN),
                      "give an absolute path of a file, without . and ..");
    size_t n = find_root(media, path, &root);
    if (n == 0)
        return refuse(walk, -EACCES, VRT_E(PATH_FORBIDDEN),
                      "it lies in none of the folders that vrtd's media_roots lists");
    /* Each name has one slash before it. */
    size_t used = (size_t)snprintf(walk->path, sizeof(walk->path), "%s", root);
    for (size_t i = n, length; path[i] && used < sizeof(walk->path); i += length) {
        i += strspn(path + i, "/");
        length = strcspn(path + i, "/");
        used += (size_t)snprintf(walk->path + used, sizeof(walk->path) - used, "/%.*s",
                                 (int)length, &path[i]);
    }
    if (used >= sizeof(walk->path))
        return refuse(walk, -ENAMETOOLONG, VRT_E(PATH_FORBIDDEN), "the path is too long");
    return 0;
}

/* A walk of one step. */
static struct walk beneath(const struct vrt_peer *peer, const char *name, struct vrt_error *error)
{
    struct walk walk = { .peer = peer, .error = error };

    vrt_printable(name, walk.shown, sizeof(walk.shown));
    return walk;
}

/* Whether the peer may make files in the folder `fd`, and replace those that are called alike:
 * where the sticky bit keeps users from each other's files, the folder's owner alone. */
static int judge_output(const struct walk *walk, int fd, struct stat *ret_stat)
{
    int r = judge(walk, fd, VRT_RIGHTS_WRITE | VRT_RIGHTS_ENTER, ret_stat);

    if (r < 0)
        return vrt_fold(r);
    if (ret_stat->st_mode & S_ISVTX && ret_stat->st_uid != walk->peer->uid)
        return refuse(walk, -EACCES, VRT_E(PATH_FORBIDDEN), "the folder is shared (its sticky bit "
                      "is set), and others' files in it are not yours to replace: name a folder of "
                      "your own");
    return 0;
}

int vrt_media_check_folder(const struct vrt_peer *peer, int folder_fd, const char *name,
                           struct vrt_error *error)
{
    const struct walk walk = beneath(peer, name, error);
    struct stat st;
    int r = judge_output(&walk, folder_fd, &st);

    if (r < 0)
        return vrt_fold(r);
    r = faccessat(folder_fd, ".", W_OK | X_OK, AT_EACCESS) < 0 ? -errno : 0;
    if (r == -EROFS)
        return refuse(&walk, r, VRT_E(PATH_FORBIDDEN), "its disk can only be read: name a folder "
                      "elsewhere");
    if (r < 0)
        return refuse(&walk, r, VRT_E(PATH_FORBIDDEN), "vrtd's own user may not make files in "
                      "this folder: let it (setfacl -m u:vrtd:rwx), or start a vrtd of your own");
    return 0;
}

int vrt_media_open_beneath(const struct vrt_peer *peer, int folder_fd, const char *name,
                           enum vrt_media_mode mode, struct vrt_error *error)
{
    const struct walk walk = beneath(peer, name, error);
    struct stat folder;

    if (is_odd(name) || strchr(name, '/'))
        return refuse(&walk, -EINVAL, VRT_E(PATH_FORBIDDEN), "this is no name of a file");
    int r = mode == VRT_MEDIA_WRITE ? judge_output(&walk, folder_fd, &folder)
                                    : judge(&walk, folder_fd, VRT_RIGHTS_ENTER, &folder);
    if (r < 0)
        return vrt_fold(r);
    int fd = mode == VRT_MEDIA_WRITE ? open_new(&walk, folder_fd, name)
                                     : open_old(&walk, folder_fd, name, mode);
    if (fd < 0)
        return refuse_system(&walk, fd);    /* says nothing where something was said already */
    /* Those who can't enter the folder can't get at it, and its owner may be one of the others. */
    const mode_t others = folder.st_mode & S_IXOTH ? folder.st_mode & S_IROTH : S_IROTH;
    if (mode == VRT_MEDIA_WRITE &&
        fchmod(fd, S_IRUSR | S_IWUSR | (folder.st_mode & S_IRGRP) | others) < 0 && errno != EPERM) {
        r = -errno;
        close(fd);
        return refuse_system(&walk, r);
    }
    return fd;
}

int vrt_media_open(const struct vrt_media *media, const struct vrt_media_request *request,
                   int *ret_fd, bool *ret_is_new, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int folder_fd = -1;
    struct walk walk = { .peer = request->peer, .error = error };
    const char *name = NULL;
    bool is_new = false;
    int fd = -EEXIST;

    int r = plan_walk(media, request->path, &walk);
    if (r < 0)
        return vrt_fold(r);
    r = go(&walk, &folder_fd, &name);
    if (r < 0)
        return vrt_fold(r);
    for (int i = 0; i < RACES_MAX && (fd == -ENOENT || fd == -EEXIST); i++) {
        fd = open_old(&walk, folder_fd, name, request->mode);
        is_new = fd == -ENOENT && request->mode == VRT_MEDIA_WRITE;
        if (is_new)
            fd = open_new(&walk, folder_fd, name);
        else if (fd == -ENOENT)
            break;
    }
    if (fd < 0)
        return refuse_system(&walk, fd);    /* says nothing where something was said already */
    *ret_fd = fd;
    if (ret_is_new)
        *ret_is_new = is_new;
    return 0;
}

void vrt_media_remove(const struct vrt_media *media, const struct vrt_media_request *request,
                      int fd)
{
    VRT_CLEANUP(vrt_closep) int folder_fd = -1;
    struct walk walk = { .peer = request->peer };
    struct stat mine, there;
    const char *name = NULL;

    if (plan_walk(media, request->path, &walk) < 0 || go(&walk, &folder_fd, &name) < 0)
        return;
    if (fstat(fd, &mine) == 0 && mine.st_size == 0 &&
        fstatat(folder_fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        mine.st_dev == there.st_dev && mine.st_ino == there.st_ino)
        unlinkat(folder_fd, name, 0);
}

/* Takes one folder of the list. */
static int add_root(struct vrt_media *media, const char *given, struct vrt_error *error)
{
    char shown[300];
    struct stat st;
    struct root *root = &media->roots[media->n_roots];

    vrt_printable(given, shown, sizeof(shown));
    if (media->n_roots == ROOTS_MAX || given[0] != '/')
        return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid", "media_roots: %s: %s", shown,
                          given[0] == '/' ? "there are more than 16" : "a path must begin with /");
    root->path = realpath(given, NULL);
    root->given = strdup(given);
    int r = root->path && root->given ? 0 : -errno;
    if (r == 0 && (stat(root->path, &st) < 0 || !S_ISDIR(st.st_mode)))
        r = -ENOTDIR;
    if (r == 0 && strcmp(root->path, "/") == 0)
        r = -EINVAL;
    media->n_roots++;
    if (r < 0)
        return vrt_refuse(error, vrt_raise(r), "config.invalid", "media_roots: %s: %s", shown,
                          r == -EINVAL ? "the root of all can't be one" : strerror(-r));
    for (size_t n = strlen(root->given); n > 1 && root->given[n - 1] == '/'; n--)
        root->given[n - 1] = '\0';
    return 0;
}

int vrt_media_new(const char *roots, struct vrt_media **ret_media, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_media_freep) struct vrt_media *media = calloc(1, sizeof(*media));
    VRT_CLEANUP(vrt_freep) char *list = strdup(roots);
    int r = media && list ? 0 : -ENOMEM;

    for (char *next = list, *root; r == 0 && (root = strsep(&next, ":"));)
        if (root[0])
            r = add_root(media, root, error);
    if (r == 0 && media->n_roots > 0)
        r = vrt_media_check_steps();
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "media_roots: opening files safely");
    *ret_media = VRT_STEAL(media);
    return 0;
}

struct vrt_media *vrt_media_free(struct vrt_media *media)
{
    for (size_t i = 0; media && i < media->n_roots; i++) {
        free(media->roots[i].given);
        free(media->roots[i].path);
    }
    free(media);
    return NULL;
}
