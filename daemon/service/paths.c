/* SPDX-License-Identifier: MIT */

#include "daemon/service/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.h"
#include "base/folder.h"

#define CONFIG_NAME "vrtd/vrtd.conf"
#define SYSTEM_CONFIG "/etc"
#define N_CONFIG_PLACES 3
#define PATH_BYTES 4096        /* of a path, as the system has it */
#define SYSTEM_STATE "/var/lib/vrtd"

/* A variable of the environment that holds an absolute path, or NULL. */
static const char *absolute(const char *variable)
{
    const char *value = getenv(variable);

    return value && value[0] == '/' ? value : NULL;
}

static int join(const char *folder, const char *name, char *buffer, size_t size,
                struct vrt_error *error)
{
    int n = snprintf(buffer, size, "%s%s%s", folder, name[0] ? "/" : "", name);

    if (n < 0 || (size_t)n >= size)
        return vrt_refuse(error, vrt_raise(-ENAMETOOLONG), "usage",
                          "the path %.100s... has over %zu bytes", folder, size - 1);
    return 0;
}

int vrt_paths_socket(char *buffer, size_t size, struct vrt_error *error)
{
    const char *variable = absolute(VRT_API_SOCKET_VARIABLE);
    const char *runtime = absolute("XDG_RUNTIME_DIR");
    char state[PATH_BYTES];

    if (variable)
        return join(variable, "", buffer, size, error);
    if (runtime)
        return join(runtime, VRT_API_SOCKET_USER, buffer, size, error);
    if (geteuid() == 0)
        return join(VRT_API_SOCKET_SYSTEM, "", buffer, size, error);
    if (vrt_folder_of_state(state, sizeof(state)) == 0)
        return join(state, VRT_API_SOCKET_USER, buffer, size, error);
    return vrt_refuse(error, vrt_raise(-ENOENT), "usage",
                      "it is not known where to listen, because neither $XDG_RUNTIME_DIR nor $HOME "
                      "is set: give --socket PATH, and clients $%s", VRT_API_SOCKET_VARIABLE);
}

int vrt_paths_state_dir(char *buffer, size_t size, struct vrt_error *error)
{
    const char *given = absolute("STATE_DIRECTORY");
    char state[PATH_BYTES];

    if (given) {
        /* Several, where the unit names several: the first is ours. */
        int r = join(given, "", buffer, size, error);
        if (r < 0)
            return r;
        buffer[strcspn(buffer, ":")] = '\0';
        return 0;
    }
    if (vrt_folder_of_state(state, sizeof(state)) == 0)
        return join(state, "", buffer, size, error);
    if (geteuid() == 0)
        return join(SYSTEM_STATE, "", buffer, size, error);
    return vrt_refuse(error, vrt_raise(-ENOENT), "usage",
                      "it is not known where to keep files, because neither $XDG_STATE_HOME nor "
                      "$HOME is set: give --state-dir PATH");
}

/* Where a configuration may be, the first that exists counts: the user's own, where one is
 * installed, and the system's. "" where place `i` isn't one. Return: 0; -ENAMETOOLONG. */
static int config_place(int i, char *buffer, size_t size, struct vrt_error *error)
{
    const char *config = absolute("XDG_CONFIG_HOME"), *home = absolute("HOME");

    buffer[0] = '\0';
    if (i == 0 && config)
        return join(config, CONFIG_NAME, buffer, size, error);
    if (i == 0 && home)
        return join(home, ".config/" CONFIG_NAME, buffer, size, error);
    if (i == 1 && strcmp(VRT_SYSCONFDIR, SYSTEM_CONFIG) != 0)
        return join(VRT_SYSCONFDIR, CONFIG_NAME, buffer, size, error);
    return i == 2 ? join(SYSTEM_CONFIG, CONFIG_NAME, buffer, size, error) : 0;
}

int vrt_paths_config(char *buffer, size_t size, struct vrt_error *error)
{
    for (int i = 0; i < N_CONFIG_PLACES; i++) {
        int r = config_place(i, buffer, size, error);
        if (r < 0)
            return vrt_fold(r);
        if (buffer[0] && access(buffer, F_OK) == 0)
            return 0;
    }
    buffer[0] = '\0';
    return 0;
}

const char *vrt_paths_list_configs(char *buffer, size_t size)
{
    struct vrt_error error = { .id = NULL };
    char path[4096];
    size_t used = 0;

    buffer[0] = '\0';
    for (int i = 0; i < N_CONFIG_PLACES; i++) {
        if (config_place(i, path, sizeof(path), &error) < 0 || !path[0])
            continue;
        int n = snprintf(buffer + used, size - used, "%s%s", used ? ", " : "", path);
        if (n < 0 || used + (size_t)n >= size) {
            buffer[used] = '\0';
            break;
        }
        used += (size_t)n;
    }
    return buffer;
}
