/* SPDX-License-Identifier: MIT */

#include "daemon/access/descriptors.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>

#include "api.h"
#include "base/cleanup.h"
#include "base/settings.h"
#include "daemon/access/peer.h"

/* Enough for all connections, and as many files again for jobs that run. */
#define RESERVE_MAX (2 * VRT_API_CONNECTIONS_MAX)

/* The lowest number that is not for files that stay. */
static int first_reserved(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= INT_MAX)
        return INT_MAX;
    int n = (int)limit.rlim_cur;
    return n - VRT_MIN(n / 4, RESERVE_MAX);
}

int vrt_descriptors_take(struct vrt_peer_files *files, int64_t index, const char *field,
                         int *ret_fd, struct vrt_error *error)
{
    if (index == VRT_UNKNOWN)
        return 0;
    if (index >= files->n || files->fds[index] < 0) {
        vrt_error_set_field(error, field);
        return vrt_refuse(error, vrt_raise(-EBADF), VRT_E(REQUEST_DESCRIPTORS),
                          "no descriptor %" PRId64 " for %s: %d came with the request, each for "
                          "one file", index, field, files->n);
    }
    vrt_closep(ret_fd);
    /* Leaves -1, so that no two files of a request share a descriptor. */
    *ret_fd = VRT_STEAL_FD(files->fds[index]);
    return 0;
}

int vrt_descriptors_check(const int *fds, int n, struct vrt_error *error)
{
    int first = first_reserved();

    for (int i = 0; i < n; i++)
        if (fds[i] >= first)
            return vrt_descriptors_refuse(error);
    return 0;
}

int vrt_descriptors_refuse(struct vrt_error *error)
{
    return vrt_refuse(error, vrt_raise(-EMFILE), VRT_E(OUT_OF_DESCRIPTORS),
                      "vrtd has as many files open as it may: try again when some jobs are done, "
                      "or raise LimitNOFILE");
}

bool vrt_descriptors_are_out(const struct vrt_error *error)
{
    return vrt_error_is(error, VRT_E(OUT_OF_DESCRIPTORS));
}
