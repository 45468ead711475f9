/* SPDX-License-Identifier: MIT */

#include "client/folders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io/write.h"

#define NAME_BYTES 200             /* that a sentence shows of a path */
#define FOLDER_MODE 0777           /* less the umask */

static int refuse(const char *path, int r, const char *why, struct vrt_error *error)
{
    char name[NAME_BYTES];

    return vrt_refuse(error, vrt_raise(r), "client.file", "%s: %s",
                      vrt_printable(path, name, sizeof(name)), why);
}

static bool is_there(const char *path, struct stat *ret_st)
{
    return stat(path, ret_st) == 0;
}

int vrt_folder_parse(const char *operand, struct vrt_folder_input *ret_input)
{
    const char *slash = strrchr(operand, '/');
    const char *name = slash ? slash + 1 : operand;
    const char *percent = strchr(name, '%');
    struct stat st;

    *ret_input = (struct vrt_folder_input){ .pattern = "" };
    if (is_there(operand, &st) && S_ISDIR(st.st_mode)) {
        ret_input->path = strdup(operand);
    } else if (percent && strchr(percent, 'd') && !is_there(operand, &st)) {
        ret_input->path = slash ? strndup(operand, VRT_MAX((size_t)(slash - operand), 1)) :
                                  strdup(".");
        ret_input->pattern = name;
    } else {
        return 0;
    }
    if (!ret_input->path)
        return vrt_raise(-ENOMEM);
    for (size_t n = strlen(ret_input->path); n > 1 && ret_input->path[n - 1] == '/'; n--)
        ret_input->path[n - 1] = '\0';
    return 0;
}

int vrt_folder_open(const char *path, struct vrt_file *ret_file, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return refuse(path, -errno, strerror(errno), error);
    *ret_file = (struct vrt_file){ VRT_STEAL_FD(fd), st.st_dev, st.st_ino, false };
    return 0;
}

bool vrt_folder_is_empty(const char *path)
{
    DIR *list = opendir(path);
    bool has_some = false;

    for (const struct dirent *entry; list && !has_some && (entry = readdir(list));)
        has_some = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (list)
        closedir(list);
    return list && !has_some;
}

int vrt_folder_make_output(const char *folder, struct vrt_error *error)
{
    int r = vrt_folder_make(folder, FOLDER_MODE, FOLDER_MODE);

    return r < 0 ? refuse(folder, r, strerror(-r), error) : 0;
}

int vrt_folder_open_output(const char *path, bool overwrite, const struct vrt_file *input,
                           struct vrt_file *ret_file, struct vrt_error *error)
{
    struct vrt_file file = VRT_FILE_NONE;
    const bool is_made = mkdir(path, FOLDER_MODE) == 0;

    if (!is_made && errno == ENOENT)
        return refuse(path, -ENOENT, "the folder for it does not exist; make it first", error);
    if (!is_made && errno != EEXIST)
        return refuse(path, -errno, strerror(errno), error);
    int r = vrt_folder_open(path, &file, error);
    if (r < 0)
        return vrt_fold(r);
    file.created = is_made;
    if (file.device == input->device && file.inode == input->inode)
        r = refuse(path, -EINVAL, "this is the folder of the input; name another with --output",
                   error);
    else if (!overwrite && !vrt_folder_is_empty(path))
        r = refuse(path, -EEXIST, "this folder holds something; replace what is called alike with "
                   "--overwrite, or name another with --output", error);
    if (r < 0) {
        vrt_file_close(&file);
        return r;
    }
    if (is_made)
        vrt_sync_name(path);
    *ret_file = file;
    return 0;
}

/* The codec of pictures whose names end like this one's. */
static enum vrt_codec codec_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    enum vrt_container container;

    return dot && vrt_container_find(dot + 1, &container) && vrt_container_is_picture(container) ?
           vrt_container_own_codec(container) : VRT_CODEC_PNG;
}

enum vrt_codec vrt_folder_codec(const struct vrt_folder_input *input)
{
    DIR *list = input->pattern[0] ? NULL : opendir(input->path);
    char first[NAME_MAX + 1] = "";

    if (input->pattern[0])
        return codec_of(input->pattern);
    for (const struct dirent *entry; list && (entry = readdir(list));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot && entry->d_name[0] != '.' && vrt_ending_is_picture(dot + 1) &&
            (!first[0] || strcmp(entry->d_name, first) < 0))
            memcpy(first, entry->d_name, strlen(entry->d_name) + 1);
    }
    if (list)
        closedir(list);
    return codec_of(first);
}

bool vrt_folder_is_file_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    enum vrt_container container;
    struct stat st;

    return dot && vrt_container_find(dot + 1, &container) &&
           !(is_there(path, &st) && S_ISDIR(st.st_mode));
}

char *vrt_folder_default_output(const char *operand, const struct vrt_folder_input *input,
                                const char *output, bool is_one_of_several, int nth)
{
    const char *path = input->path ? input->path : operand;
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = input->path || nth > 0 ? NULL : strrchr(name, '.');
    const int n = dot && dot != name ? (int)(dot - name) : (int)strlen(name);
    const bool has_name = name[0] && strspn(name, ".") != strlen(name);
    char *made = NULL, number[16] = "";
    int r;

    if (nth > 1)
        snprintf(number, sizeof(number), ".%d", nth);
    size_t n_output = output ? strlen(output) : 0;
    while (n_output > 1 && output[n_output - 1] == '/')
        n_output--;
    if (output && !is_one_of_several)
        return strndup(output, n_output);
    if (output)
        r = asprintf(&made, "%.*s/%.*s%s", (int)n_output, output, n, name, number);
    else if (has_name)
        r = asprintf(&made, "%.*s%.*s%s.restored", (int)(name - path), path, n, name, number);
    else
        r = asprintf(&made, "%s/restored%s", path, number);
    return r < 0 ? NULL : made;
}
