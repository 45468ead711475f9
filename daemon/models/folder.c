/* SPDX-License-Identifier: MIT */

#include "daemon/models/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "daemon/models/models.h"

/* In the order in which a name without ending is tried. */
static const char *const endings[] = { ".safetensors", ".pth", ".pkl", ".onnx", ".param", ".ncnn" };

int vrt_models_folder_open(const char *folder, const char *name)
{
    VRT_CLEANUP(vrt_closep) int place = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (place < 0)
        return -errno;
    /* Never waits: what lies there may be a pipe. */
    int fd = openat(place, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

/* Whether the name is that of a checkpoint; *ret_length is its length without the ending. */
static bool has_ending(const char *name, size_t *ret_length)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < VRT_ARRAY_SIZE(endings); i++) {
        size_t m = strlen(endings[i]);
        if (n <= m || strcasecmp(name + n - m, endings[i]) != 0)
            continue;
        *ret_length = n - m;
        return true;
    }
    return false;
}

bool vrt_models_name_of(const char *file, char *buffer, size_t size)
{
    size_t length;

    if (file[0] == '.' || strchr(file, '/') || !has_ending(file, &length) || length >= size)
        return false;
    snprintf(buffer, size, "%.*s", (int)length, file);
    return true;
}

int vrt_models_folder_open_model(const char *folder, const char *name,
                                 char ret_file[VRT_MODELS_FILE_BYTES])
{
    size_t length;
    int fd = -ENOENT;

    /* The daemon may read more than its client: a name must not lead out of the folder. */
    if (name[0] == '.' || strchr(name, '/') || strlen(name) >= VRT_API_NAME_BYTES)
        return -ENOENT;
    snprintf(ret_file, VRT_MODELS_FILE_BYTES, "%s", name);
    if (has_ending(name, &length))
        return vrt_models_folder_open(folder, name);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(endings) && fd == -ENOENT; i++) {
        snprintf(ret_file, VRT_MODELS_FILE_BYTES, "%s%s", name, endings[i]);
        fd = vrt_models_folder_open(folder, ret_file);
    }
    return fd;
}
