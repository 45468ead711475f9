/* SPDX-License-Identifier: MIT */

#include "daemon/service/limits.h"

#include "api.h"
#include "base/log.h"
#include "config/conf.h"
#include "daemon/devices/pool.h"

#define VRT_LOG_TOPIC "server"

/*
 * Of what all may hold together one user gets three quarters: the last quarter keeps the daemon
 * usable for others, whatever that user does.
 */
static int64_t share(int64_t all)
{
    return all - all / 4;
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

void vrt_limits_share_memory(const struct vrt_conf *conf, struct vrt_pool *pool)
{
    const struct vrt_conf_shares *shares = &conf->devices.memory_fraction;
    bool is_used[VRT_CONF_SHARES_MAX + 1] = { false };
    const struct vrt_device_info *const *infos;
    size_t n_infos, index;

    infos = vrt_pool_infos(pool, &n_infos);
    for (size_t d = 0; d < n_infos; d++) {
        const double share = vrt_conf_share_of(shares, infos[d]->name, infos[d]->kind, &index);
        vrt_pool_set_memory_fraction(pool, d, share);
        is_used[index] = true;
    }
    for (size_t i = 0; i < shares->n; i++)
        if (!is_used[i])
            vrt_log_warning("[devices] memory_fraction: there is no device that the share of %s is "
                            "for", shares->some[i].name);
}
