/* SPDX-License-Identifier: MIT */
/* GET /healthz: whether work would be done, for who starts, watches or balances the daemon. */

#include <inttypes.h>

#include "api.h"
#include "base/buf.h"
#include "base/macro.h"
#include "daemon/api/routes.h"
#include "daemon/devices/pool.h"
#include "msg_device.h"

static bool takes_shards(const struct vrt_device_snapshot *device)
{
    return device->state == VRT_DEVICE_READY || device->state == VRT_DEVICE_BUSY;
}

/* Why one doesn't: "cuda:0 is quarantined, to be tried again in 12 s: it gave no sign of life". */
static int print_reason(const struct vrt_device_snapshot *device, struct vrt_buf *body)
{
    int r = vrt_buf_printf(body, "%s is %s", device->info->name,
                           vrt_device_state_names[device->state]);

    if (r == 0 && device->state == VRT_DEVICE_QUARANTINED && device->retry_in_s >= 0)
        r = vrt_buf_printf(body, ", to be tried again in %.0f s", device->retry_in_s);
    if (r == 0 && device->last_error[0])
        r = vrt_buf_printf(body, ": %s", device->last_error);
    return r < 0 ? r : vrt_buf_append(body, "\n", 1);
}

/* Appends "ok", or why not. Return: the HTTP status. */
static int print_health(const struct vrt_api *api, struct vrt_buf *body)
{
    struct vrt_device_snapshot device;
    size_t n = vrt_pool_n_devices(api->pool);
    int r = 0;

    for (size_t d = 0; d < n; d++) {
        vrt_pool_device(api->pool, d, &device);
        if (takes_shards(&device) && !api->is_ending)
            return vrt_buf_append(body, "ok\n", 3) < 0 ? 500 : 200;
    }
    if (api->is_ending)
        r = vrt_buf_printf(body, "vrtd is about to end\n");
    else
        r = vrt_buf_printf(body, "no device takes shards\n");
    for (size_t d = 0; r == 0 && d < n && !api->is_ending; d++) {
        vrt_pool_device(api->pool, d, &device);
        r = print_reason(&device, body);
    }
    return 503;
}

void vrt_api_health(const struct vrt_call *call)
{
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };
    int status = print_health(call->api, &body);

    vrt_api_reply_as(call->conn, 0, &body,
                     (struct vrt_response){ .status = status, .type = "text/plain" }, "health");
}
