/* SPDX-License-Identifier: MIT */
/*
 * What happens to the user's files when something goes wrong is decided here: nothing that was
 * there before is emptied or removed, and what we made is removed only while it is still ours and
 * still empty. Files are recognised by device and inode, so that a link or another spelling of the
 * input's path is found out too.
 */

#include "client/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "api.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io/model-file.h"
#include "base/io/write.h"
#include "base/macro.h"
#include "msg_job.h"

#define NAME_BYTES 200             /* that a sentence shows of a path */
#define OUTPUT_MODE 0666        /* less the umask */
#define UNFINISHED_BYTES 4096   /* that the daemon writes last */
#define PLACEHOLDER_S 2         /* between an output's making and its job's */

void vrt_file_close(struct vrt_file *file)
{
    vrt_closep(&file->fd);
    file->fd = -1;
}

static int refuse_errno(const char *path, int r, struct vrt_error *error)
{
    char name[NAME_BYTES];

    return vrt_refuse(error, vrt_raise(r), "client.file", "%s: %s",
                      path[0] ? vrt_printable(path, name, sizeof(name)) : "\"\"", strerror(-r));
}

static int refuse(const char *path, const char *why, struct vrt_error *error)
{
    char name[NAME_BYTES];

    return vrt_refuse(error, vrt_raise(-EINVAL), "client.file", "%s: %s",
                      vrt_printable(path, name, sizeof(name)), why);
}

/* There is nothing by this name: where it was looked for, since that may be the wrong folder. */
static int refuse_missing(const char *path, struct vrt_error *error)
{
    const char *slash = strrchr(path, '/');
    VRT_CLEANUP(vrt_freep) char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) :
                                                  getcwd(NULL, 0);
    char name[NAME_BYTES], place[NAME_BYTES];

    if (!path[0] || !folder)
        return refuse_errno(path, -ENOENT, error);
    return vrt_refuse(error, vrt_raise(-ENOENT), "client.file", "%s: %s; %s %s",
                      vrt_printable(path, name, sizeof(name)), strerror(ENOENT),
                      access(folder, F_OK) == 0 ? "nothing is called so in" : "there is no folder",
                      vrt_printable(folder, place, sizeof(place)));
}

/* Nothing can be written at this place: there may be another. */
static int refuse_unwritable(const char *path, int r, struct vrt_error *error)
{
    char name[NAME_BYTES];

    if (r != -EACCES && r != -EPERM && r != -EROFS)
        return refuse_errno(path, r, error);
    return vrt_refuse(error, vrt_raise(r), "client.file",
                      "%s can't be written: %s; name another place: -o FILE, or -o FOLDER/",
                      vrt_printable(path, name, sizeof(name)), strerror(-r));
}

/* What stat() says, and that it is a regular file. */
static int examine(const char *path, int fd, struct stat *ret_st, struct vrt_error *error)
{
    if (fstat(fd, ret_st) < 0)
        return refuse_errno(path, -errno, error);
    if (S_ISDIR(ret_st->st_mode))
        return refuse(path, "this is a folder, not a file", error);
    if (!S_ISREG(ret_st->st_mode))
        return refuse(path, "this is not a regular file", error);
    return 0;
}

int vrt_file_open_input(const char *path, struct vrt_file *ret_file, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int fd = -1;
    struct stat st;

    /* Without waiting: a pipe without a writer would hold us here. */
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT && strstr(path, "://"))
        return refuse(path, "there is no such file, and only http:// and https:// are fetched",
                      error);
    if (fd < 0 && errno == ENOENT)
        return refuse_missing(path, error);
    if (fd < 0)
        return refuse_errno(path, -errno, error);
    int r = examine(path, fd, &st, error);
    if (r < 0)
        return r;
    if (st.st_size == 0)
        return refuse(path, "the file is empty", error);
    *ret_file = (struct vrt_file){ VRT_STEAL_FD(fd), st.st_dev, st.st_ino, false };
    return 0;
}

int vrt_file_open_model(const char *path, struct vrt_file *ret_file, struct vrt_error *error)
{
    int fd;

    if (!vrt_model_file_is_pair(path))
        return vrt_fold(vrt_file_open_input(path, ret_file, error));
    int r = vrt_model_file_join(AT_FDCWD, path, &fd, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_file = VRT_FILE_NONE;
    ret_file->fd = fd;
    return 0;
}

static bool is_same(const struct stat *st, const struct vrt_file *file)
{
    return st->st_dev == file->device && st->st_ino == file->inode;
}

/* Sees what is there already, before anything is made. */
static int check_existing(const char *path, bool overwrite, const struct vrt_file *input,
                          struct vrt_error *error)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return 0;
    if (is_same(&st, input))
        return refuse(path, "this is the same file as the input; name another with --output",
                      error);
    if (S_ISDIR(st.st_mode))
        return refuse(path, "this is a folder, not a file", error);
    /* An empty one holds nothing that could be lost: a job that was cancelled leaves it. */
    if (!overwrite && !(S_ISREG(st.st_mode) && st.st_size == 0))
        return refuse(path, "this file exists; replace it with --overwrite, or name another with "
                            "--output", error);
    return 0;
}

/* Return: the descriptor; -1 with errno. A link that leads nowhere exists all the same. */
static int open_existing(const char *path, int flags, bool overwrite)
{
    int fd = open(path, flags | (overwrite ? O_CREAT : 0), OUTPUT_MODE);

    if (fd < 0 && errno == ENOENT)
        errno = EEXIST;
    return fd;
}

int vrt_file_open_output(const char *path, bool overwrite, const struct vrt_file *input,
                         struct vrt_file *ret_file, struct vrt_error *error)
{
    const int flags = O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    VRT_CLEANUP(vrt_closep) int fd = -1;
    struct stat st;

    int r = check_existing(path, overwrite, input, error);
    if (r < 0)
        return r;
    fd = open(path, flags | O_CREAT | O_EXCL, OUTPUT_MODE);
    bool created = fd >= 0;
    if (fd < 0 && errno == EEXIST)
        fd = open_existing(path, flags, overwrite);
    if (fd < 0 && errno == ENOENT && path[0])
        return refuse(path, "the folder for it does not exist; make it first", error);
    if (fd < 0 && errno == ENAMETOOLONG)
        return refuse(path, "this name is too long for the output; name another with --output",
                      error);
    if (fd < 0)
        return refuse_unwritable(path, -errno, error);
    r = examine(path, fd, &st, error);
    if (r < 0)
        return r;
    if (is_same(&st, input))
        return refuse(path, "this is the same file as the input", error);
    if (!overwrite && st.st_size > 0)
        return refuse(path, "this file was made just now by another", error);
    if (created)
        vrt_sync_name(path);
    *ret_file = (struct vrt_file){ VRT_STEAL_FD(fd), st.st_dev, st.st_ino, created };
    return 0;
}

/* Whether all there is of its beginning is 0, as in a result that isn't complete. */
static bool is_unfinished(int fd)
{
    char beginning[UNFINISHED_BYTES];

    ssize_t n = pread(fd, beginning, sizeof(beginning), 0);
    for (ssize_t i = 0; i < n; i++)
        if (beginning[i])
            return false;
    return n >= 0;
}

int vrt_file_open_output_again(const char *path, bool overwrite, const struct vrt_file *input,
                               struct vrt_file *ret_file, struct vrt_error *error)
{
    struct vrt_file file = VRT_FILE_NONE;

    int r = vrt_file_open_output(path, true, input, &file, error);
    if (r < 0)
        return vrt_fold(r);
    if (!overwrite && !is_unfinished(file.fd)) {
        vrt_file_close(&file);
        return refuse(path, "this file holds something by now; replace it with --overwrite, or "
                            "name another with --output", error);
    }
    *ret_file = file;
    return 0;
}

const char *vrt_file_absolute(const char *path, char *buffer, int size)
{
    VRT_CLEANUP(vrt_freep) char *folder = path[0] == '/' ? NULL : getcwd(NULL, 0);
    VRT_CLEANUP(vrt_freep) char *whole = NULL, *shown = NULL;

    buffer[0] = '\0';
    if ((path[0] != '/' && !folder) ||
        asprintf(&whole, "%s%s%s", folder ? folder : "", folder ? "/" : "", path) < 0)
        return buffer;
    size_t n = strlen(whole) + 1;
    shown = malloc(n + 4);
    if (shown && n <= (size_t)size &&
        strcmp(vrt_printable(whole, shown, (int)n + 4), whole) == 0)
        memcpy(buffer, whole, n);
    return buffer;
}

int vrt_file_check_output(const char *path, bool overwrite, const struct vrt_file *input,
                          struct vrt_error *error)
{
    const char *slash = strrchr(path, '/');
    VRT_CLEANUP(vrt_freep) char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) :
                                                  strdup(".");

    int r = check_existing(path, overwrite, input, error);
    if (r < 0)
        return r;
    if (!folder)
        return refuse_errno(path, -ENOMEM, error);
    if (access(path, F_OK) == 0)
        return access(path, R_OK | W_OK) == 0 ? 0 : refuse_unwritable(path, -errno, error);
    if (access(folder, F_OK) < 0 && errno == ENOENT)
        return refuse(path, "the folder for it does not exist; make it first", error);
    return access(folder, W_OK | X_OK) == 0 ? 0 : refuse_unwritable(path, -errno, error);
}

void vrt_file_remove_created(const char *path, const struct vrt_file *file)
{
    struct stat st;

    if (!file->created || lstat(path, &st) < 0 || st.st_dev != file->device ||
        st.st_ino != file->inode)
        return;
    if (S_ISDIR(st.st_mode))
        rmdir(path);    /* which it does only where the folder is empty */
    else if (S_ISREG(st.st_mode) && st.st_size == 0)
        unlink(path);
}

void vrt_file_remove_placeholder(const char *path, int64_t since_ns)
{
    struct stat st;

    if (path[0] == '/' && lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0 &&
        st.st_nlink == 1 && st.st_uid == geteuid() &&
        llabs(st.st_mtim.tv_sec - since_ns / VRT_NS_PER_S) <= PLACEHOLDER_S)
        unlink(path);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

const char *vrt_file_name(const char *path, char *buffer, int size)
{
    return vrt_printable(base_name(path), buffer, size);
}

bool vrt_file_is_url(const char *text)
{
    return strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0;
}

const char *vrt_file_url_name(const char *url, char *buffer, int size)
{
    const char *begin = strstr(url, "://"), *path;
    char name[VRT_API_NAME_BYTES];

    begin = begin ? begin + 3 : url;
    size_t n = strcspn(begin, "?#");
    path = memrchr(begin, '/', n);
    if (!path || path + 1 == begin + n || path[1] == '.')
        return vrt_printable("input", buffer, size);
    snprintf(name, sizeof(name), "%.*s", (int)(begin + n - path - 1), path + 1);
    return vrt_printable(name, buffer, size);
}

bool vrt_file_is_folder(const char *path)
{
    size_t n = strlen(path);
    struct stat st;

    return (n > 0 && path[n - 1] == '/') || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* By the input's ending ("" or with its dot), for a result of the codec. */
static const char *pick_ending(const char *dot, int codec)
{
    const bool is_auto = codec == VRT_CODEC_AUTO;
    const enum vrt_codec likely = codec == VRT_UNKNOWN || is_auto ? VRT_CODEC_H264
                                                                  : (enum vrt_codec)codec;

    enum vrt_container container;

    if (dot[0] && vrt_container_find(dot + 1, &container) &&
        (is_auto || vrt_container_holds(container, likely) ||
         (codec == VRT_UNKNOWN && vrt_container_has_own_codec(container))))
        return vrt_container_names[container];
    if (dot[0] && codec == VRT_UNKNOWN && vrt_ending_is_picture(dot + 1))
        return vrt_container_names[VRT_CONTAINER_PNG];
    return vrt_container_names[vrt_codec_facts(likely)->container];
}

char *vrt_file_default_output(const char *input, const char *folder, const char *word,
                              int nth, int codec)
{
    char fetched[VRT_API_NAME_BYTES], number[16] = "";
    char *path = NULL;
    int r;

    if (vrt_file_is_url(input))
        input = vrt_file_url_name(input, fetched, sizeof(fetched));
    const char *name = base_name(input), *dot = strrchr(name, '.');

    if (!dot || dot == name)
        dot = name + strlen(name);
    const char *begin = folder ? name : input;
    const char *end = nth > 0 ? name + strlen(name) : dot;
    if (nth > 1)
        snprintf(number, sizeof(number), ".%d", nth);
    size_t n = folder ? strlen(folder) : 0;
    r = asprintf(&path, "%s%s%.*s%s.%s.%s", folder ? folder : "",
                 n > 0 && folder[n - 1] != '/' ? "/" : "", (int)(end - begin), begin, number,
                 word, pick_ending(dot, codec));
    return r < 0 ? NULL : path;
}

bool vrt_file_is_model_path(const char *model)
{
    struct stat st;

    return strchr(model, '/') || (stat(model, &st) == 0 && S_ISREG(st.st_mode));
}
