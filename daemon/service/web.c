/* SPDX-License-Identifier: MIT */

#include "daemon/service/web.h"

#include "config/conf.h"
#include "daemon/api/routes.h"
#include "daemon/jobs/spool.h"
#include "daemon/uploads/uploads.h"
#include "daemon/web/gate.h"
#include "daemon/web/tokens.h"

static struct vrt_gate_params params_of(const struct vrt_conf *conf)
{
    return (struct vrt_gate_params){
        .listen = conf->web.listen,
        .host = conf->web.host,
        .proxy = conf->web.proxy,
        .is_https = conf->web.https,
        .per_address = (int)conf->web.connections_per_address,
    };
}

int vrt_web_check(const struct vrt_conf *conf, struct vrt_error *error)
{
    const struct vrt_gate_params params = params_of(conf);

    return vrt_fold(vrt_gate_check(&params, conf->web.insecure, error));
}

int vrt_web_load(const struct vrt_conf *conf, struct vrt_store *store, struct vrt_api *api,
                 struct vrt_error *error)
{
    int r = vrt_tokens_new(store, &api->tokens, error);

    if (r < 0)
        return vrt_fold(r);
    r = vrt_uploads_new(&(struct vrt_uploads_params){
        .loop = api->loop,
        .quota = api->quota,
        .spool_fd = api->spool_fd,
        .free_bytes = vrt_spool_free_bytes,
        .max_bytes = conf->web.max_upload,
    }, &api->uploads);
    return r < 0 ? vrt_refuse_errno(error, vrt_fold(r), "starting") : 0;
}

int vrt_web_start(const struct vrt_conf *conf, struct vrt_api *api, struct vrt_error *error)
{
    struct vrt_gate_params params = params_of(conf);

    params.loop = api->loop;
    params.quota = api->quota;
    params.tokens = api->tokens;
    params.request = vrt_api_request;
    params.ctx = api;
    return vrt_fold(vrt_gate_new(&params, &api->gate, error));
}
