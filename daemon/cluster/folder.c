/* SPDX-License-Identifier: MIT */

#include "daemon/cluster/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io/write.h"
#include "base/log.h"
#include "daemon/jobs/spool.h"
#include "fields.h"

#define VRT_LOG_TOPIC "cluster"

#define NAME_BYTES 64

/* A plan has a line for each segment of a film. */
#define FILE_BYTES_MAX (64 << 20)

#define T struct vrt_cluster_note
static const struct vrt_field note_fields[] = {
    VRT_FIELD_TEXT(T, state, 0),
    VRT_FIELD_TEXT(T, node, 0),
    VRT_FIELD_INT(T, starts, 0, 0, INT32_MAX),
    VRT_FIELD_TIME(T, updated_at, VRT_FIELD_NULLABLE),
    VRT_FIELD_TEXT(T, error_id, 0),
    VRT_FIELD_TEXT(T, error, 0),
    VRT_FIELD_TEXTS(T, warnings, n_warnings, 1000),
    VRT_FIELD_OPTIONAL(T, comparison, has_comparison, vrt_job_comparison_fields),
    VRT_FIELDS_END,
};
#undef T

/* Opens the folder `name`, which is made if need be. Return: 0; -errno with `error`. */
static int open_in(const struct vrt_cluster_folder *folder, const char *name, int *ret_fd,
                   struct vrt_error *error)
{
    int fd;

    if (mkdirat(folder->fd, name, 0700) < 0 && errno != EEXIST)
        fd = -1;
    else
        fd = openat(folder->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return vrt_refuse(error, vrt_raise(-errno), VRT_E(CLUSTER_FOLDER), "%s/%s can't be used: "
                          "%s", folder->path, name, strerror(errno));
    *ret_fd = fd;
    return 0;
}

static int check(const struct vrt_cluster_folder *folder, struct vrt_error *error)
{
    struct stat st;

    if (fstat(folder->fd, &st) < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), folder->path);
    if (st.st_uid != geteuid())
        return vrt_refuse(error, vrt_raise(-EPERM), VRT_E(CLUSTER_FOLDER), "%s is another user's: "
                          "tasks run as who submitted the film", folder->path);
    if (st.st_mode & 077)
        return vrt_refuse(error, vrt_raise(-EPERM), VRT_E(CLUSTER_FOLDER), "others may look into "
                          "%s, or write there: chmod 700 it", folder->path);
    return 0;
}

int vrt_cluster_folder_open(const char *path, struct vrt_cluster_folder *ret_folder,
                            struct vrt_error *error)
{
    VRT_CLEANUP(vrt_cluster_folder_done)
    struct vrt_cluster_folder folder = VRT_CLUSTER_FOLDER_NONE;
    const struct {
        const char *name;
        int *fd;
    } parts[] = { { "segments", &folder.segments_fd }, { "attempts", &folder.attempts_fd },
                  { "tasks", &folder.tasks_fd } };

    if (strlen(path) >= sizeof(folder.path))
        return vrt_refuse(error, vrt_raise(-ENAMETOOLONG), VRT_E(CLUSTER_FOLDER), "the path "
                          "%.100s... is too long", path);
    snprintf(folder.path, sizeof(folder.path), "%s", path);
    folder.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder.fd < 0)
        return vrt_refuse(error, vrt_raise(-errno), VRT_E(CLUSTER_FOLDER), "%s can't be opened: "
                          "%s; every node has to see it under this path", path, strerror(errno));
    int r = check(&folder, error);
    for (size_t i = 0; r == 0 && i < VRT_ARRAY_SIZE(parts); i++)
        r = open_in(&folder, parts[i].name, parts[i].fd, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_folder = folder;
    folder = (struct vrt_cluster_folder)VRT_CLUSTER_FOLDER_NONE;
    return 0;
}

void vrt_cluster_folder_done(struct vrt_cluster_folder *folder)
{
    int *const fds[] = { &folder->fd, &folder->segments_fd, &folder->attempts_fd,
                         &folder->tasks_fd };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(fds); i++) {
        vrt_closep(fds[i]);
        *fds[i] = -1;
    }
}

/* Reads all of a file. Return: 0; -errno. */
static int read_all(int fd, struct vrt_buf *text)
{
    char part[16384];
    ssize_t n;

    while ((n = read(fd, part, sizeof(part))) > 0) {
        int r = vrt_buf_append(text, part, (size_t)n);
        if (r < 0)
            return r;
    }
    return n < 0 ? vrt_raise(-errno) : 0;
}

int vrt_cluster_read(int fd, const char *name, json_t **ret_json, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int file = openat(fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct vrt_buf text = { .limit_bytes = FILE_BYTES_MAX };
    struct vrt_error why = { .id = NULL };

    if (file < 0)
        return vrt_refuse(error, vrt_raise(-errno), VRT_E(CLUSTER_FOLDER), "%s can't be read: %s",
                          name, strerror(errno));
    int r = read_all(file, &text);
    if (r == 0)
        r = vrt_json_parse(text.data, text.size_bytes, ret_json, &why);
    vrt_buf_done(&text);
    if (r < 0)
        return vrt_refuse(error, vrt_fold(r), VRT_E(CLUSTER_FOLDER), "%s can't be read: %s", name,
                          why.message[0] ? why.message : strerror(-r));
    return 0;
}

/* Writes the text aside, and then under its name. Return: 0; -errno. */
static int write_text(int fd, const char *name, const struct vrt_buf *text)
{
    char aside[2 * NAME_BYTES], host[NAME_BYTES] = "";
    int r;

    gethostname(host, sizeof(host) - 1);
    snprintf(aside, sizeof(aside), ".%.40s.%.40s.%ld", name, host, (long)getpid());
    VRT_CLEANUP(vrt_closep) int file = openat(fd, aside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW |
                                              O_CLOEXEC, 0600);
    if (file < 0)
        return vrt_raise(-errno);
    r = vrt_write_at(file, text->data, text->size_bytes, 0);
    if (r == 0 && (fsync(file) < 0 || renameat(fd, aside, fd, name) < 0 || fsync(fd) < 0))
        r = vrt_raise(-errno);
    if (r < 0)
        unlinkat(fd, aside, 0);
    return r;
}

int vrt_cluster_write(int fd, const char *name, json_t *json, struct vrt_error *error)
{
    struct vrt_buf text = { .limit_bytes = FILE_BYTES_MAX };
    int r = json ? vrt_json_print(json, &text) : vrt_raise(-ENOMEM);

    json_decref(json);
    if (r == 0)
        r = write_text(fd, name, &text);
    vrt_buf_done(&text);
    if (r < 0)
        return vrt_refuse(error, vrt_fold(r), vrt_is_disk_full(r) ? VRT_E(SPOOL_FULL) :
                          VRT_E(CLUSTER_FOLDER), "%s can't be written: %s", name, strerror(-r));
    return 0;
}

static void segment_name(int64_t number, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%05" PRId64 ".seg", number);
}

int64_t vrt_cluster_segment_bytes(const struct vrt_cluster_folder *folder, int64_t number)
{
    char name[NAME_BYTES];
    struct stat st;

    segment_name(number, name);
    return fstatat(folder->segments_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
           !S_ISREG(st.st_mode) ? -1 : (int64_t)st.st_size;
}

/* Gives a file of one folder its name in the other as well, for good. Return: 0, also where there
 * is one; -errno with `error`. */
static int link_segment(int from_fd, int to_fd, int64_t number, struct vrt_error *error)
{
    char name[NAME_BYTES];

    segment_name(number, name);
    if (linkat(from_fd, name, to_fd, name, 0) < 0 && errno != EEXIST)
        return vrt_refuse(error, vrt_raise(-errno), vrt_is_disk_full(-errno) ? VRT_E(SPOOL_FULL) :
                          VRT_E(CLUSTER_FOLDER), "segment %s can't be given "
                          "its place in the result: %s; the shared folder must be on a file system "
                          "that has hard links", name, strerror(errno));
    return fsync(to_fd) < 0 ? vrt_refuse_errno(error, vrt_raise(-errno), "the cluster's folder") :
           0;
}

int vrt_cluster_publish(const struct vrt_cluster_folder *folder, int from_fd, int64_t number,
                        struct vrt_error *error)
{
    return vrt_fold(link_segment(from_fd, folder->segments_fd, number, error));
}

int vrt_cluster_lend(const struct vrt_cluster_folder *folder, int to_fd, int64_t number,
                     struct vrt_error *error)
{
    return vrt_fold(link_segment(folder->segments_fd, to_fd, number, error));
}

void vrt_cluster_unpublish(const struct vrt_cluster_folder *folder, int64_t number)
{
    char name[NAME_BYTES];

    segment_name(number, name);
    if (unlinkat(folder->segments_fd, name, 0) < 0 && errno != ENOENT)
        vrt_log_warning("%s, which is damaged, stays in %s: %s, ignoring", name, folder->path,
                        strerror(errno));
}

void vrt_cluster_note_read(const struct vrt_cluster_folder *folder, const char *name,
                           struct vrt_cluster_note *ret_note)
{
    char file[NAME_BYTES];
    json_t *json = NULL;
    struct vrt_error error = { .id = NULL };

    *ret_note = (struct vrt_cluster_note){ .starts = 0 };
    snprintf(file, sizeof(file), "%.40s.json", name);
    int r = vrt_cluster_read(folder->tasks_fd, file, &json, &error);
    if (r == 0)
        r = vrt_fields_decode(note_fields, json, VRT_FIELDS_LENIENT, ret_note, &error);
    json_decref(json);
    if (r < 0)
        *ret_note = (struct vrt_cluster_note){ .starts = 0 };
}

/* Writes the text over the one that is there: where the disk is full, that has its room already.
 * Who reads it meanwhile may find neither. Return: 0; -errno. */
static int overwrite_text(int fd, const char *name, const struct vrt_buf *text)
{
    VRT_CLEANUP(vrt_closep) int file = openat(fd, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

    if (file < 0)
        return vrt_raise(-errno);
    int r = vrt_write_at(file, text->data, text->size_bytes, 0);
    if (r < 0)
        return r;
    return ftruncate(file, (off_t)text->size_bytes) < 0 || fsync(file) < 0 ? vrt_raise(-errno) : 0;
}

void vrt_cluster_note_write(const struct vrt_cluster_folder *folder, const char *name,
                            const struct vrt_cluster_note *note)
{
    struct vrt_buf text = { .limit_bytes = FILE_BYTES_MAX };
    struct vrt_cluster_note written = *note;
    char file[NAME_BYTES];

    snprintf(file, sizeof(file), "%.40s.json", name);
    const char *node = getenv("SLURMD_NODENAME");
    if (node)
        snprintf(written.node, sizeof(written.node), "%s", node);
    else
        gethostname(written.node, sizeof(written.node) - 1);
    written.updated_at = vrt_clock_wall_ns();
    int r = vrt_fields_print(note_fields, &written, &text);
    if (r == 0)
        r = write_text(folder->tasks_fd, file, &text);
    if (vrt_is_disk_full(r))
        r = overwrite_text(folder->tasks_fd, file, &text);
    vrt_buf_done(&text);
    if (r < 0)
        vrt_log_warning("what task %s has to say is lost: %s, ignoring", name, strerror(-r));
}

void vrt_cluster_note_done(struct vrt_cluster_note *note)
{
    vrt_fields_done(note_fields, note);
}
