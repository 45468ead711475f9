/* SPDX-License-Identifier: MIT */

#include "daemon/service/web.h"

#include "config/conf.h"
#include "daemon/api/routes.h"
#include "daemon/web/gate.h"

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
