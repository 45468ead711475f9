/* SPDX-License-Identifier: MIT */
/*
 * The tables of api.h as arrays, and routing by them. There are so few routes that they are tried
 * in order; what costs is the socket, not this.
 */

#include "api.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

#define ROUTE(name, method, path) { method, path },
const struct vrt_api_route vrt_api_routes[VRT_API_ROUTE_COUNT] = { VRT_API_ROUTES(ROUTE) };

#define ERROR(name, id, status, meaning) { id, status, meaning },
const struct vrt_api_error vrt_api_errors[VRT_API_ERROR_COUNT] = { VRT_API_ERRORS(ERROR) };

enum vrt_api_error_index vrt_api_error_find(const char *id)
{
    for (size_t i = 0; id && i < VRT_API_ERROR_COUNT; i++)
        if (strcmp(vrt_api_errors[i].id, id) == 0)
            return (enum vrt_api_error_index)i;
    return VRT_API_E_INTERNAL;
}

int vrt_api_error_status(const char *id)
{
    return vrt_api_errors[vrt_api_error_find(id)].status;
}

const char *vrt_api_error_meaning(const char *id)
{
    for (size_t i = 0; id && i < VRT_API_ERROR_COUNT; i++)
        if (strcmp(vrt_api_errors[i].id, id) == 0)
            return vrt_api_errors[i].meaning;
    return "it failed";
}

/*
 * A job's number at the start of `text`, up to `rest`: 1 to 18 digits without sign or leading zero,
 * so that it has one spelling only. Return: -1: it isn't one.
 */
static long long job_id(const char *text, const char *rest)
{
    size_t n = strspn(text, "0123456789");

    if (n == 0 || n > 18 || strcmp(text + n, rest) != 0 || text[0] == '0')
        return -1;
    return strtoll(text, NULL, 10);
}

static bool path_matches(const char *pattern, const char *path, long long *ret_job_id)
{
    const char *hole = strchr(pattern, '{');

    if (!hole) {
        *ret_job_id = -1;
        return strcmp(pattern, path) == 0;
    }
    if (strncmp(pattern, path, (size_t)(hole - pattern)) != 0)
        return false;
    long long id = job_id(path + (hole - pattern), strchr(hole, '}') + 1);
    if (id < 0)
        return false;
    *ret_job_id = id;
    return true;
}

int vrt_api_route_find(const char *method, const char *path, enum vrt_api_route_id *ret_route,
                       long long *ret_job_id)
{
    bool path_known = false;

    for (int i = 0; i < VRT_API_ROUTE_COUNT; i++) {
        long long id;
        if (!path_matches(vrt_api_routes[i].path, path, &id))
            continue;
        path_known = true;
        if (strcmp(vrt_api_routes[i].method, method) != 0)
            continue;
        *ret_route = (enum vrt_api_route_id)i;
        *ret_job_id = id;
        return 0;
    }
    return path_known ? -EOPNOTSUPP : -ENOENT;
}

const char *vrt_api_route_allow(const char *path, char *buffer, size_t size)
{
    size_t n = 0;

    buffer[0] = '\0';
    for (int i = 0; i < VRT_API_ROUTE_COUNT; i++) {
        long long id;
        if (!path_matches(vrt_api_routes[i].path, path, &id) || n >= size)
            continue;
        n += (size_t)snprintf(buffer + n, size - n, "%s%s", n ? ", " : "",
                              vrt_api_routes[i].method);
    }
    return buffer;
}
