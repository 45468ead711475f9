/* SPDX-License-Identifier: MIT */

#include "daemon/service/limits.h"

#include "api.h"
#include "config/conf.h"

/*
 * Of what all may hold together one user gets three quarters: the last quarter keeps the daemon
 * usable for others, whatever that user does.
 */
static int64_t share(int64_t all)
{
    return VRT_MAX(all - all / 4, 1);
}

void vrt_limits_fill(const struct vrt_conf *conf,
                     struct vrt_quota_limit ret_limits[VRT_QUOTA_KIND_COUNT])
{
    int64_t jobs = conf->jobs.max_queued + conf->jobs.max_running;
    int64_t jobs_per_user = conf->access.max_jobs_per_user;
    int64_t spool = conf->access.spool_per_user;

    ret_limits[VRT_QUOTA_CONNECTIONS] = (struct vrt_quota_limit){
        .per_uid = VRT_API_CONNECTIONS_PER_UID_MAX,
        .all = VRT_API_CONNECTIONS_MAX,
    };
    ret_limits[VRT_QUOTA_STREAMS] = (struct vrt_quota_limit){
        .per_uid = VRT_API_STREAMS_PER_UID_MAX,
        .all = VRT_API_CONNECTIONS_MAX,
    };
    ret_limits[VRT_QUOTA_UNREAD_BYTES] = (struct vrt_quota_limit){
        .per_uid = VRT_API_UNREAD_PER_UID_MAX_BYTES,
        .all = VRT_API_UNREAD_MAX_BYTES,
    };
    ret_limits[VRT_QUOTA_JOBS] = (struct vrt_quota_limit){
        .per_uid = jobs_per_user ? VRT_MIN(jobs_per_user, jobs) : share(jobs),
        .all = jobs,
    };
    ret_limits[VRT_QUOTA_SPOOL_BYTES] = (struct vrt_quota_limit){
        .per_uid = spool ? spool : INT64_MAX,
        .all = INT64_MAX,
    };
}
