/* SPDX-License-Identifier: MIT */

#include "daemon/service/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.h"

#define CONFIG_NAME "vrtd/vrtd.conf"
#define SYSTEM_CONFIG "/etc/" CONFIG_NAME
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

    if (variable)
        return join(variable, "", buffer, size, error);
    if (runtime)
        return join(runtime, VRT_API_SOCKET_USER, buffer, size, error);
    if (geteuid() == 0)
        return join(VRT_API_SOCKET_SYSTEM, "", buffer, size, error);
    return vrt_refuse(error, vrt_raise(-ENOENT), "usage",
                      "it is not known where to listen, because $XDG_RUNTIME_DIR is not set: "
                      "give --socket PATH, and clients $%s", VRT_API_SOCKET_VARIABLE);
}

int vrt_paths_state_dir(char *buffer, size_t size, struct vrt_error *error)
{
    const char *given = absolute("STATE_DIRECTORY");
    const char *state = absolute("XDG_STATE_HOME"), *home = absolute("HOME");

    if (given) {
        /* Several, where the unit names several: the first is ours. */
        int r = join(given, "", buffer, size, error);
        if (r < 0)
            return r;
        buffer[strcspn(buffer, ":")] = '\0';
        return 0;
    }
    if (state)
        return join(state, "vrtd", buffer, size, error);
    if (home)
        return join(home, ".local/state/vrtd", buffer, size, error);
    if (geteuid() == 0)
        return join(SYSTEM_STATE, "", buffer, size, error);
    return vrt_refuse(error, vrt_raise(-ENOENT), "usage",
                      "it is not known where to keep files, because neither $XDG_STATE_HOME nor "
                      "$HOME is set: give --state-dir PATH");
}

int vrt_paths_config(char *buffer, size_t size, struct vrt_error *error)
{
    const char *config = absolute("XDG_CONFIG_HOME"), *home = absolute("HOME");
    char folder[4096] = "";
    int r = 0;

    if (config)
        r = join(config, "", folder, sizeof(folder), error);
    else if (home)
        r = join(home, ".config", folder, sizeof(folder), error);
    if (r < 0)
        return r;
    if (folder[0])
        r = join(folder, CONFIG_NAME, buffer, size, error);
    if (r < 0)
        return r;
    if (folder[0] && access(buffer, F_OK) == 0)
        return 0;
    r = join(SYSTEM_CONFIG, "", buffer, size, error);
    if (r < 0)
        return r;
    if (access(buffer, F_OK) != 0)
        buffer[0] = '\0';
    return 0;
}
